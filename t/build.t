#!/usr/bin/perl

# make on a machine where packages are missing: what is said of them, when,
# and that nothing is installed unasked.  dpkg-query, apt-get and the compiler
# are stand-ins that write down how they were called.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Temp;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::File;
use Test::More;

my $top = abs_path("$Bin/..");
my $dir = File::Temp->newdir('symcache-build-XXXXXX', TMPDIR => 1);

sub program {
    my ($name, $text) = @_;
    open my $f, '>', "$dir/bin/$name" or die "$name: $!";
    print $f "#!/bin/sh\n$text";
    close $f;
    chmod 0755, "$dir/bin/$name";
}

mkdir "$dir/bin";
program('dpkg-query', <<'SH');
for p; do
    case " $MISSING " in *" $p "*) continue ;; esac
    echo "$p installed"
done
SH
program('compiler', "echo compiles >>$dir/called; exit 1\n");
program('apt-get', "echo apt-get \"\$@\" >>$dir/called\n");
# dwz is unknown; of a name that others only provide, as chromium in Ubuntu, apt
# says nothing, and no error
program('apt-cache', <<'SH');
case $2 in
dwz) exit 100 ;;
chromium) ;;
*) echo "Package: $2" ;;
esac
SH
program('sudo', 'exec "$@"' . "\n");

delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL PACKAGES)};
$ENV{PATH} = "$dir/bin:$ENV{PATH}";

# Exit code, output, and what was called meanwhile.
sub run {
    my ($missing, $command) = @_;
    local $ENV{MISSING} = $missing;
    unlink "$dir/called";
    system("cd $top && $command >$dir/out 2>&1 </dev/null");
    return ($? >> 8, slurp("$dir/out"), -e "$dir/called" ? slurp("$dir/called") : '');
}

# --- make, many jobs at a time

my $make = "make B=$dir/build CC=$dir/bin/compiler";
my ($code, $out, $called) = run('libevent-dev zlib1g-dev', "$make -k -j4 all unit");
isnt $code, 0, 'make with a package missing fails';
like $out, qr/missing packages: libevent-dev zlib1g-dev$/m, 'names it';
like $out, qr/apt-get install libevent-dev zlib1g-dev$/m, 'and how to get it';
is $called, '', 'before anything is compiled';

(undef, undef, $called) = run('chromium', "$make -j4 all");
like $called, qr/^compiles$/m, 'it goes on without what only tests need';

# --- make test: what is done first

is((split /\n/, `make -C $top -n -s test`)[0],
   'tools/packages install build test', 'make test installs');
is((split /\n/, `make -C $top -n -s test PACKAGES=no`)[0],
   'tools/packages check build test', 'and not with PACKAGES=no');
($code, $out) = run('', "$make PACKAGES=not test");
isnt $code, 0, 'PACKAGES is another word';
like $out, qr/PACKAGES is yes or no, and not "not"/, 'which is refused';

# --- tools/packages

($code, $out, $called) = run('chromium libcmocka-dev clang dwz krb5-kdc krb5-user',
                             'tools/packages install build test');
is $code, 0, 'install';
is $out, <<"OUT", 'says what, and what for';
tools/packages: to be installed@{[$> == 0 ? '' : ', with sudo']}:
  for test: libcmocka-dev
  for t/fuzz.t: clang
  for t/helper/altlink.t: dwz
  for t/system/status_page.t: chromium
  for t/helper/negotiate.t,t/system/kerberos.t: krb5-kdc krb5-user
PACKAGES=no installs nothing, and leaves out what needs what is missing
not in this distribution: dwz
not in this distribution: chromium
OUT
like $called, qr/^apt-get .*install .* libcmocka-dev clang krb5-kdc krb5-user$/m,
    'and installs that';

($code, $out, $called) = run('', 'tools/packages install build test');
is "$code $out $called", '0  ', 'nothing is missing: not a word';

($code, $out, $called) = run('chromium krb5-kdc',
                             'tools/packages check build test');
is $code, 0, 'check';
is $out, <<'OUT', 'names what is skipped';
tools/packages: not installed: chromium: all or a part of t/system/status_page.t is skipped
tools/packages: not installed: krb5-kdc: all or a part of t/helper/negotiate.t,t/system/kerberos.t is skipped
OUT
is $called, '', 'and installs nothing';

($code, $out, $called) = run('zstd chromium', 'tools/packages check test');
is $code, 1, 'check: something that is needed';
like $out, qr/missing packages: zstd$/m, 'is named';

# a test that is named as skipped is there
my $packages = slurp("$top/tools/packages");
is_deeply [grep { !-e "$top/$_" } map { split /,/ }
        $packages =~ m{:(t/[\w./,]+)}g], [], 'the tests that it names';

done_testing;
