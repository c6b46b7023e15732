package Test::Packages;

# The Debian packages for tests in fresh roots, and the commands with which
# documents have them used.
#
#   my ($debs, $why) = Test::Packages::build('bookworm');
#   skip $why, 1 unless $debs;
#   my @commands = Test::Packages::commands('README.md', 'Install');
#   ok_sh('installed', $root->sh('apt-get -y install /debs/*.deb'));

use strict;
use warnings;

use Exporter qw(import);
use File::Copy qw(copy);
use Test::More;
use Test::Root;
use Test::Symcache;

our @EXPORT = qw(ok_sh);

my $top = $Test::Symcache::top;

# The daemons as their units start them, for scripts in a root, which has no
# systemd: start NAME.  A script that fails has the last lines of their logs.
our $daemons = <<'SH';
trap '[ $? = 0 ] || tail -n 20 /tmp/sym*.log' EXIT
start() {
    setpriv --reuid="$1" --regid="$1" --clear-groups --no-new-privs \
        env -i PATH=/usr/bin:/bin "/usr/sbin/$1" >/tmp/$1.log 2>&1 & echo $! >/tmp/$1.pid
    for i in $(seq 600); do
        ! grep -q ' listens on ' /tmp/$1.log || return 0
        sleep 0.1
    done
    return 1
}
SH

sub ok_sh {
    my ($name, $code, $said) = @_;
    ok !$code, $name or diag "code $code\n", substr($said, -4000);
    return $said;
}

# The lines of the first list of commands below a heading of a document.
sub commands {
    my ($file, $heading) = @_;
    my ($text) = Test::Symcache::read_file(undef, "$top/$file")
        =~ /^#+ \Q$heading\E\n.*?```sh\n(.*?)```/ms;
    return split /\n/, $text;
}

# Builds in a root of its own, if there is something new; returns the folder
# with the packages, or undef and the reason.
sub build {
    my ($suite) = @_;
    my $debs = "$Test::Root::folder/$suite-debs";
    my ($old) = glob "$debs/symcached_*.deb";
    return $debs if $old && !qx(find '$top' -path '$top/build*' -prune -o \\
        -path '$top/.git' -prune -o -type f -newer '$old' -print -quit);
    my ($root, $why) = Test::Root->new($suite, 'build');
    return (undef, $why) unless $root;
    mkdir $root->path('src');
    system(qq(tar -C '$top' --exclude-vcs --exclude=./build --exclude='./build-*' )
        . "-cf - . | tar -C '" . $root->path('src') . "' -xf -") == 0 or die;
    ok_sh("$suite: packages to build with", $root->sh(<<'SH'));
apt-get -q update
ln -s packaging/debian /src/debian
apt-get -q -y --no-install-recommends install build-essential lintian fakeroot
cd /src && apt-get -q -y --no-install-recommends build-dep .
rm /src/debian
SH
    ok_sh("$suite: built", $root->sh('cd /src && tools/build-deb /out'));
    my ($code, $said) = $root->sh(
        'lintian --allow-root --fail-on error,warning /out/*.changes');
    is $code, 0, "$suite: lintian" or diag $said;
    system 'rm', '-rf', $debs;
    mkdir $debs;
    copy($_, $debs) for grep { !/-dbgsym_/ } glob $root->path('out/*.deb');
    $root->remove;
    return $debs;
}

1;
