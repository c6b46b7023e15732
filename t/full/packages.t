#!/usr/bin/perl

# The Debian packages, built and used in fresh roots of two releases: lintian,
# the commands of README up to the first SymCache, by the distribution's nginx
# on port 80, an upgrade under a held request, remove and purge.  A root has no
# systemd; so the same once more in a machine under qemu, with what only systemd
# does: sockets, restarts, the watchdog.
#
#   SUITES   releases, "bookworm trixie"

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Copy qw(copy);
use File::Path qw(make_path);
use Test::File;
use Test::More;
use Test::Machine;
use Test::Packages;
use Test::Root;
use Test::Symcache;

my $top = $Test::Symcache::top;
my $key = $Test::Symcache::key{'crash.pdb'};
my $uri = '/symcache/v9.0.0/crash.pdb/' . substr($key, 0, 32) . '/1';

my @commands = Test::Packages::commands('README.md', 'Install');
cmp_ok scalar @commands, '<', 10, 'README: under ten commands';

# A configuration that was edited: the transcoder waits for a file.
my $gated = <<'JSON';
{ "stores": { "default": { "root": "/var/cache/symcached/default",
  "transcoders": [ { "version": "9.0.0", "profile": "none", "command": ["sh", "-c",
    "echo run >/var/cache/symcached/runs; until [ -e /srv/gate ]; do sleep 0.1; done; exec pdb2symcache -pdb $1",
    "sh", "{pdb}"] } ], "sources": ["local"] } },
  "sources": { "local": { "type": "filesystem", "path": "/srv/symbols" } } }
JSON

# Another version of the same package.
sub repack {
    my ($deb, $to, $version) = @_;
    my $dir = "$to/unpacked";
    system('rm', '-rf', $dir);
    system('dpkg-deb', '-R', $deb, $dir) == 0 or die;
    system('sed', '-i', "s/^Version: .*/Version: $version/",
        "$dir/DEBIAN/control") == 0 or die;
    system("dpkg-deb --root-owner-group -b '$dir' '$to' >/dev/null") == 0 or die;
    system('rm', '-rf', $dir);
}

# Puts a folder of symbols, the packages and an older version of them into a
# root.
sub stock {
    my ($root, $debs) = @_;
    my $symbols = $root->path("root/symbols/crash.pdb/$key");
    make_path($symbols, map { $root->path($_) } qw(debs debs-old));
    copy("$top/t/data/pdb/crash.pdb", $symbols) or die $!;
    copy("$top/t/data/apple/own-0.txt", $root->path('debs/report.txt')) or die $!;
    for my $deb (glob "$debs/*.deb") {
        copy($deb, $root->path('debs/')) or die $!;
        repack($deb, $root->path('debs-old'), '0.0.1-1');
    }
}

# The commands of README that are neither make, apt nor curl.
sub commands {
    return join "\n", map { s{/path/to/symbols}{/root/symbols}r }
        grep { !/apt install|^make|^curl/ } @commands;
}

sub first_symcache {
    my ($suite, $root) = @_;
    my $use = commands();
    my $said = ok_sh("$suite: the commands of README, and a SymCache",
                     $root->offline(<<"SH"));
$Test::Packages::daemons
sudo() { "\$@"; }
ip link set lo up
start symcached
nginx
$use
for i in \$(seq 600); do
    ! curl -sf -o /tmp/first http://localhost$uri || break
    sleep 0.1
done
head -c 4 /tmp/first; echo
symcachectl verify /tmp/first
# systemd makes its socket
chmod o+w /run/symcached
start symbolicated
chmod o-w /run/symcached
curl -s --unix-socket /run/symcached/symbolicated.sock http://h/symbolicate/v5 \\
    -d '{"memoryMap": [["crash.pdb", "$key"]], "stacks": [[[0, 10515]]]}'
curl -s --unix-socket /run/symcached/symbolicated.sock \\
    -F apple_crash_report=@/debs/report.txt 'http://h/applecrashreport?timeout=30'
cat /proc/[0-9]*/comm | sed -n 's/^symbolicated-w.*/a worker/p'
stat -c '%U %a %n' /run/symcached /run/symcached/symcached.sock /var/cache/symcached
SH
    like $said, qr/^(?:SYMC|CMYS)$/m, "$suite: it is one";
    like $said, qr/"function": "main\(int, char\*\*\)"/,
        "$suite: symbolicated reads the store" or diag $said;
    like $said, qr/"status": ?"completed".*^a worker$/ms,
        "$suite: and its worker a crash report" or diag $said;
    like $said, qr{^symcached 755 /run/symcached$}m, "$suite: folder of the socket";
    like $said, qr{^symcached 755 /var/cache/symcached$}m, "$suite: of the stores";
}

sub upgrade {
    my ($suite, $root) = @_;
    $root->write('etc/symcached.json', $gated);
    my $said = ok_sh("$suite: upgrade", $root->offline(<<"SH"));
$Test::Packages::daemons
ip link set lo up
rm -rf /var/cache/symcached/default
sed -i 's|symcache_pass .*|& symcache_async_after 65535.65535.65535;|' \\
    /etc/nginx/symcache.d/symcache.conf
start symcached
nginx
curl -s -o /tmp/held -w 'held %{http_code}\\n' http://localhost$uri &
held=\$!
for i in \$(seq 600); do [ ! -e /var/cache/symcached/runs ] || break; sleep 0.1; done
dpkg -i --force-confdef --force-confold /debs/*.deb >/tmp/dpkg.log 2>&1
kill \$(cat /tmp/symcached.pid)
while kill -0 \$(cat /tmp/symcached.pid) 2>/dev/null; do sleep 0.1; done
touch /srv/gate
start symcached
wait \$held
dpkg-query -W symcached libnginx-mod-symcache
nginx -t
head -c 4 /tmp/held; echo
SH
    like $said, qr/^held 200$/m, "$suite: a held request is answered";
    like $said, qr/^symcached\s+(?!0\.0\.1)/m, "$suite: another version";
    is slurp($root->path('etc/symcached.json')), $gated,
        "$suite: what was edited stays";
}

# What is in a root, but for what apt, dpkg and nginx note.
sub listing {
    my ($root) = @_;
    my ($code, $said) = $root->sh(q{find / -xdev \( -path /proc -o -path /tmp
        -o -path /debs -o -path /debs-old -o -path /srv -o -path /root
        -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache/apt
        -o -path /var/cache/debconf -o -path /var/cache/ldconfig
        -o -path /var/log/apt -o -path /var/log/nginx -o -path /var/lib/nginx
        -o -path /run/nginx.pid \) -prune -o -print} =~ s/\n/ /gr);
    die $said if $code;
    return split /\n/, $said;
}

sub leave {
    my ($suite, $root, @before) = @_;
    my $said = ok_sh("$suite: remove", $root->sh(<<'SH'));
apt-get -q -y remove symcached libnginx-mod-symcache
nginx -t
rm -r /etc/nginx/symcache.d
ls /etc/symcached.json
SH
    ok_sh("$suite: purge", $root->sh(
        'apt-get -q -y purge symcached libnginx-mod-symcache'));
    my %before = map { $_ => 1 } @before;
    is_deeply [grep { !$before{$_} && !m{^/etc/(?:passwd|group|shadow|gshadow)-?$} }
               listing($root)], [], "$suite: nothing is left";
    ok_sh("$suite: but the users", $root->sh(
        'getent passwd symcached symbolicated'));
}

# --- with systemd

sub machine {
    my ($suite, $debs) = @_;
    my ($root) = Test::Root->new($suite, 'machine');
    ok_sh("$suite: a machine", Test::Machine::prepare($root));
    stock($root, $debs);
    ok_sh("$suite: nginx and what packages need", $root->sh(<<'SH'));
apt-get -q -y --no-install-recommends install nginx curl iproute2 bubblewrap
apt-get -q -y --no-install-recommends install /debs/*.deb
apt-get -q -y purge symcached libnginx-mod-symcache
SH
    $root->write('root/gated.json', $gated);
    my $use = commands();
    my $script = slurp("$top/t/full/machine.sh") =~ s/^COMMANDS$/$use/mr;
    my $said = Test::Machine::run($root, "URI=$uri KEY=$key\n$script", 1800);
    my %said = $said =~ /== (.*?): (.*)$/mg;
    my ($version) = (glob "$debs/symcached_*.deb")[0] =~ m{_([^_/]*)_[^/]*$};
    for (
        [installed => '0.0.1-1 0.0.1-1 '],
        [sockets => 'active active'],
        [services => 'active active inactive', 'symbolicated waits'],
        [first => '200', 'the commands of README, and a SymCache'],
        [symbolicated => '200 active', 'is started by its socket'],
        [frame => '"function": "main(int, char**)"', 'reads the store'],
        [reload => 'active'],
        [restarts => qr/^\d+ 404$/, 'nobody is refused meanwhile'],
        [hung => '200', 'is started again'],
        [result => "result 'watchdog'", 'by the watchdog'],
        [wrong => qr/^failed 0 [1-9]/, 'a configuration: not tried again'],
        [mended => 'active'],
        [strict => qr/^(?!200)/, 'bubblewrap is refused by the unit'],
        [dropin => '200', 'which foreign-transcoder.conf changes'],
        [upgraded => "$version $version  restarted"],
        [held => '200', 'over the upgrade'],
        [edited => 'kept', 'configuration'],
        [journal => qr/^[1-9]/, 'has jobs, with a priority'],
        [purged => '0 ', 'no unit, no folder'],
        [nginx => '1', 'its configuration is good'],
    ) {
        my ($what, $want, $name) = @$_;
        like $said{$what} // 'nothing', ref $want ? $want : qr/^\Q$want\E$/,
            "$suite: $what" . ($name ? ": $name" : '') or diag $said;
    }
    for my $unit (qw(symcached symbolicated)) {
        cmp_ok $said{"exposed $unit"} // 10, '<=', 2,
            "$suite: exposed $unit: " . ($said{"exposed $unit"} // $said);
    }
    $root->remove;
}

my @suites = split / /, $ENV{SUITES} // 'bookworm trixie';
for my $suite (@suites) {
    SKIP: {
        my ($debs, $why) = Test::Packages::build($suite);
        skip $why, 1 unless $debs;
        my ($root) = Test::Root->new($suite, 'use');
        stock($root, $debs);
        ok_sh("$suite: nginx and what packages need", $root->sh(<<'SH'));
apt-get -q update
apt-get -q -y --no-install-recommends install nginx curl iproute2 logrotate
apt-get -q -y --no-install-recommends install /debs-old/*.deb
apt-get -q -y purge symcached libnginx-mod-symcache
SH
        my @before = listing($root);
        ok_sh("$suite: apt install", $root->sh(
            'apt-get -q -y --no-install-recommends install /debs-old/*.deb'));
        first_symcache($suite, $root);
        upgrade($suite, $root);
        leave($suite, $root, @before);
        $root->remove;

        $why = $suite eq $suites[0] ? Test::Machine::missing()
            : "a machine of $suites[0] is enough";
        skip $why, 1 if $why;
        machine($suite, $debs);
    }
}

done_testing;
