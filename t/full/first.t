#!/usr/bin/perl

# From the packages to the first SymCache on a fresh machine, with the commands
# of README, and with Kerberos with those of docs/authentication.md, as they
# stand there.  Says how many they are and how long they take.
#
# The machine is a root of debootstrap, in which a few things are replaced:
# - make deb: the packages are built beforehand, in another root;
# - apt has the network and starts nothing: its commands run first, then the
#   others without a network but loopback, where ports 80 and 443 are free, and
#   nginx and symcached are running, as apt would have left them;
# - sudo, as all is done by root;
# - systemctl: there is no systemd, so it runs ExecStart of the unit;
# - kinit asks nobody for the password.
# The realm, with its KDC in the root, and the server's certificate are there
# before, and count neither as commands nor as time.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Copy qw(copy);
use File::Path qw(make_path);
use Test::More;
use Test::Packages;
use Test::Root;
use Test::Symcache;

my $suite = 'bookworm';
my $name = 'symcache.example.com';
my $key = $Test::Symcache::key{'crash.pdb'};
my ($guid, $age) = $key =~ /^(.{32})(.*)$/;

my @readme = Test::Packages::commands('README.md', 'Install');
my @kerberos = (@readme[0 .. 2], Test::Packages::commands(
    'docs/authentication.md', 'From a keytab to the first SymCache'));
cmp_ok scalar @readme, '<', 10, 'README: under ten commands';
cmp_ok scalar @kerberos, '<', 20, 'with Kerberos: under twenty';

my ($debs, $why) = Test::Packages::build($suite);
if (!$debs) {
    SKIP: { skip $why, 1 }
    done_testing;
    exit;
}

# What the lists take for granted: PDBs and packages, a name for the server.
sub machine {
    my ($list) = @_;
    my ($root) = Test::Root->new($suite, "first-$list");
    my @folders = ("root/symbols/crash.pdb/$key", 'root/build/deb');
    make_path(map { $root->path($_) } @folders);
    copy("$Test::Symcache::top/t/data/pdb/crash.pdb",
         $root->path($folders[0])) or die $!;
    copy($_, $root->path($folders[1])) or die $! for glob "$debs/*.deb";
    $root->write('etc/hosts', "127.0.0.1 localhost $name\n");
    $root->write('etc/apt/apt.conf.d/yes', 'APT::Get::Assume-Yes "true";');
    ok_sh("$list: lists of packages", $root->sh(
        'apt-get -q update; apt-get -q install iproute2'));
    return $root;
}

# Runs a list; $before is done by the script when apt has run and the servers
# are up, and $after at its end.
sub run {
    my ($list, $root, $lines, $before, $after) = @_;
    my @lines = map { s{/path/to/symbols}{/root/symbols}r } @$lines;
    my ($curl) = map { s{NAME\.pdb/GUID/AGE}{crash.pdb/$guid/$age}r }
        pop @lines;
    my $apt = join "\n", grep { / apt install / } @lines;
    my $rest = join "\n", grep { !/ apt install |^make / } @lines;
    my $said = ok_sh("$list: apt install", $root->sh(<<"SH"));
sudo() { "\$@"; }
cd
begun=\$(date +%s%N)
$apt
echo "took \$(((\$(date +%s%N) - begun) / 1000000)) ms"
SH
    my ($installed) = $said =~ /^took (\d+) ms$/m;
    if ($list eq 'Kerberos') {
        ok_sh('a realm', $root->sh('apt-get -q --no-install-recommends install '
            . 'krb5-kdc krb5-admin-server'));
    }

    $said = ok_sh("$list: the other commands", $root->offline(<<"SH"));
$Test::Packages::daemons
sudo() { "\$@"; }
systemctl() { \$(sed -n 's/^ExecStart=//p' /lib/systemd/system/\$2.service); }
kinit() { command kinit "\$@" <<< userpw; }
ask() { $curl
}
cd
ip link set lo up
start symcached
nginx
$before
begun=\$(date +%s%N)
$rest
for i in \$(seq 600); do
    ask >/tmp/first
    ! grep -aq '^HTTP/[^ ]* 200' /tmp/first || break
    sleep 0.1
done
echo "took \$(((\$(date +%s%N) - begun) / 1000000)) ms"
grep -a '^HTTP' /tmp/first
grep -aci '^content-type: application/vnd.ms-symcache' /tmp/first
$after
SH
    like $said, qr/^HTTP\S+ 200.*\n1$/m, "$list: a SymCache";
    my ($used) = $said =~ /^took (\d+) ms$/m;
    diag sprintf '%s: %d commands, %.1f s: %.1f s of apt install, %.1f s to '
        . 'the first 200', $list, scalar @$lines,
        map { ($_ // 'NaN') / 1000 } $installed + $used, $installed, $used
        if $used;
    return $said;
}

my $root = machine('README');
run('README', $root, \@readme, '', '');
$root->remove;

# --- Kerberos

$root = machine('Kerberos');
system("openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=$name "
    . "-addext subjectAltName=DNS:$name -keyout " . $root->path('root/tls.key')
    . ' -out ' . $root->path('root/tls.crt') . ' 2>/dev/null') == 0 or die;
$root->write('etc/krb5.conf', <<"CONF");
[libdefaults]
    default_realm = EXAMPLE.COM
    dns_lookup_kdc = false
    dns_canonicalize_hostname = false
[realms]
    EXAMPLE.COM = {
        kdc = 127.0.0.1
    }
CONF
my $said = run('Kerberos', $root, \@kerberos, <<'SH', <<"SH");
kdb5_util create -s -r EXAMPLE.COM -P master
kadmin.local -q 'addprinc -pw userpw alice'
kadmin.local -q 'addprinc -randkey HTTP/symcache.example.com'
kadmin.local -q 'ktadd -k http.keytab HTTP/symcache.example.com'
krb5kdc
export CURL_CA_BUNDLE=/root/tls.crt
apachectl start || echo "Apache leaves port 80"
SH
status() { curl -s -o /dev/null -w '%{http_code}' "\$@"; }
echo "without: \$(status https://$name/symcache/v9.0.0/crash.pdb/$guid/$age)"
echo "on 80: \$(status http://localhost/) \$(status http://$name/symcache/)"
SH
like $said, qr/^Apache leaves port 80$/m, 'Apache does not start with nginx';
like $said, qr/^without: 401$/m, 'without a ticket: 401';
like $said, qr/^on 80: 200 404$/m, 'port 80 has what it had';
$root->remove;

done_testing;
