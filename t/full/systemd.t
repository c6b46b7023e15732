#!/usr/bin/perl

# The units under systemd, and the mistakes of operators: a configuration that
# is wrong at a reload and at the start, what fails under traffic, folders that
# the sandbox keeps closed.

use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::File;
use Test::Init;
use Test::More;
use Test::Packages ();

my ($init, $why) = Test::Init->new;
plan skip_all => $why unless $init;

# The output of a script that succeeds.
sub ok_sh {
    my ($name, $script) = @_;
    my ($code, $said) = $init->sh($script);
    is $code, 0, $name or diag $said;
    return $said;
}

my $sockets = '/run/symcached';
my $shop = '/usr/share/doc/ngx_symcache/conf-examples/symcached.json';
ok_sh('users, folders, services', <<"SH");
mkdir -p /srv/symbols /etc/systemd/system
cp $shop /etc/symcached.json
systemctl daemon-reload
systemd-sysusers
systemd-tmpfiles --create symcached.conf
systemctl start symcached.socket symcached symbolicated.socket symbolicated
SH

# --- each work of symbolicated-worker, under what its unit allows

my $data = "$Test::Symcache::top/t/data";
my $ring = '0200b1bd7eae221944eb39646c85574ccd840e9f';
my $named = '1111111122223333444444444444444455555555';
my $socket = "--unix-socket $sockets/symbolicated.sock http://h";
ok_sh('programs', <<"SH");
set -e
mkdir -p /srv/builds/buildid/{$ring,$named}
cd /srv/builds/buildid/$named
echo 'int work(int n) __asm__("_ZN5outer4workEi"); int work(int n) { return n; }' |
    cc -shared -fPIC -Wl,--build-id=0x$named -xc - -o debuginfo
cp debuginfo executable
cd ../$ring
cp $data/minidump/ring/libring.so debuginfo
cp debuginfo executable
cat >/etc/symcached.json <<'JSON'
{ "stores": { "default": { "root": "/var/cache/symcached/default", "sources": ["builds"],
    "transcoders": [ { "version": "9.0.0", "command": ["pdb2symcache", "-pdb", "{pdb}"],
                       "inputs": ["pdb", "elf"] } ] } },
  "sources": { "builds": { "type": "filesystem", "path": "/srv/builds", "layout": "debuginfod" } },
  "symbolication": { "mozilla": { "code": true, "wait": "30s" } } }
JSON
systemctl reload symcached symbolicated
SH
my $ring_id = $ring =~ s/^(..)(..)(..)(..)(..)(..)(..)(..)(.{16}).*/uc "$4$3$2$1$6$5$8$7${9}0"/er;
like ok_sh('a minidump', "curl -sf -m 50 $socket/minidump -F upload_file_minidump=\@$data/minidump/ring/libring.dmp"),
    qr/"crash_reason":"SIGSEGV.*ringlib\.c","lineno":19\b.*"trust":"cfi"/,
    'is walked by CFI, with lines';
like ok_sh('a crash report of Apple', "curl -sf -m 50 $socket/applecrashreport"
    . " -F apple_crash_report=\@$data/apple/own-0.txt"),
    qr/"status": ?"completed"/, 'is read';
like ok_sh('a profile', <<"SH"), qr/ring_crash/, 'gets names';
curl -sf -m 50 $socket/profile --data-binary \@- <<'PERF'
$ring /usr/lib/libring.so
app   12/13 [000]  1.000000: PERF_RECORD_MMAP2 12/13: [0x55551000(0x1000) \@ 0x1000 fd:01 12 0]: r-xp /usr/lib/libring.so
app   12/13 [000]  1.100000:     250000 cpu-clock:
\t        55551254 [unknown] (/usr/lib/libring.so)

PERF
SH
like ok_sh('machine code', "curl -sf -m 50 $socket/asm/v1 -d '"
    . qq({"debugName": "libring.so", "debugId": "$ring_id", "codeId": "$ring", )
    . q("startAddress": "0x1250", "size": "0x10"}')),
    qr/"instructions":\[\[0,".*"arch":"x86_64"/, 'is disassembled';
like ok_sh('a name of C++', <<"SH"), qr/"function": ?"outer::work\(int\)"/, 'is readable';
at=\$(nm /srv/builds/buildid/$named/debuginfo | sed -n 's/ T _ZN.*//p')
curl -sf -m 50 -H 'Content-Type: application/json' $socket/symbolicate?timeout=30 -d '{ "stacktraces": [
    { "frames": [ { "instruction_addr": "'\$((0x10000 + 0x\$at + 4))'" } ] } ], "modules": [
    { "type": "elf", "code_id": "$named", "image_addr": "0x10000", "image_size": 65536 } ] }'
SH
like ok_sh('the workers', "curl -sf $socket/metrics; journalctl -o cat -u symbolicated"),
    qr/^symbolicated_workers_died_total 0$/m, 'none of them has died';
is ok_sh('their rights', <<"SH"), "000 1 2\n" x 2, 'are those of the unit';
for name in symbolicated symbolicated-wo; do
    pid=\$(grep -lx \$name /proc/[0-9]*/comm | head -n 1)
    sed -n 's/^NoNewPrivs:\\s*//p; s/^Seccomp:\\s*//p; s/^CapBnd:\\s*0*/000/p' \${pid%comm}status |
        sort | xargs
done
SH
ok_sh('the example', "cp $shop /etc/symcached.json; systemctl reload symcached symbolicated");

# --- a wrong configuration at a reload

my %log;
for my $name (qw(symcached symbolicated)) {
    my ($code, $said) = $init->sh(<<"SH");
echo '{ "bogus": 1 }' >/etc/symcached.json
systemctl reload $name
code=\$?
cp $shop /etc/symcached.json
exit \$code
SH
    isnt $code, 0, "$name: the reload fails" or diag $said;
    $said = ok_sh("$name: goes on", "systemctl is-active $name;"
        . " journalctl -o cat -u $name");
    like $said, qr/^active$/m, "$name: is active";
    like $said, qr{^\Q$name\E: /etc/symcached\.json:1: bogus: unknown key$}m,
        "$name: the journal has the reason";
    ok_sh("$name: a good one is taken", "systemctl reload $name");
}

my $said = ok_sh('a wrong file is noticed', <<"SH");
echo '{ "bogus": 1 }' >/etc/symcached.json
for name in symcached symbolicated; do
    until systemctl show -p StatusText \$name | grep bogus; do sleep 0.1; done
done
until symcachectl status | grep -A 2 bogus | grep "not the file's"; do sleep 0.1; done
cp $shop /etc/symcached.json
until ! systemctl show -p StatusText symcached symbolicated | grep bogus; do sleep 0.1; done
SH

# --- at the start, under traffic

for my $name (qw(symcached symbolicated)) {
    my ($code, $more) = $init->sh(<<"SH");
systemctl stop $name 2>/dev/null
systemctl start $name.socket
echo '{ "bogus": 1 }' >/etc/symcached.json
date +'%F %T' >/tmp/since
systemctl start $name
SH
    isnt $code, 0, "$name: does not start";
    like $more, qr/^Job for $name\.service failed/, "$name: and says so";
    ok_sh("$name: clients come", <<"SH");
for i in \$(seq 20); do
    timeout 1 curl -s --unix-socket $sockets/$name.sock http://h/healthz
done
true
SH
    $more = ok_sh("$name: what it has done", "systemctl is-active $name;"
        . ' systemctl is-failed symcached.socket symbolicated.socket;'
        . " journalctl -o cat -u $name --since \"\$(cat /tmp/since)\"");
    my $tries = () = $more =~ /bogus: unknown key/g;
    is $tries, 1, "$name: it was tried once" or diag $more;
    unlike $more, qr/too quickly/, "$name: the manager does not give up";
    ok_sh("$name: corrected, it starts at once", <<"SH");
cp $shop /etc/symcached.json
systemctl start $name
systemctl is-active $name $name.socket
curl -sf --max-time 9 --unix-socket $sockets/$name.sock http://h/healthz
SH
}

# --- what fails for another reason is tried again, however many clients come

ok_sh('a store that cannot be made', <<"SH");
sed 's|/var/cache/symcached/default|/proc/none|' $shop >/etc/symcached.json
! systemctl restart symcached
for i in \$(seq 30); do
    timeout 0.1 curl -s --unix-socket $sockets/symcached.sock http://h/healthz
done
systemctl show -p ActiveState -p SubState -p StatusText symcached
test "\$(systemctl is-active symcached.socket)" = active
systemctl show -p Result symcached | grep -v start-limit-hit
cp $shop /etc/symcached.json
systemctl restart symcached
systemctl is-active symcached symcached.socket
SH

# --- folders that the sandbox keeps closed: what -t says, and what helps

my $examples = dirname($shop);
my $test = 'symcached -t; true';
ok_sh('folders elsewhere', <<"SH");
sed 's|/var/cache/symcached/default|/srv/symcached/store|' $shop >/etc/symcached.json
SH
like ok_sh('a folder that the unit sees read-only', $test),
    qr{warning:\ stores\.default\.root:\ "/srv/symcached/store"\ cannot\ be
       \ written\ to:\ symcached\.service\ sees\ it\ read-only:\ .*
       ReadWritePaths=}x, '-t warns of it, although root could write there';
my (undef, $start) = $init->sh('systemctl restart symcached;'
    . ' journalctl -o cat -n 9 -u symcached');
like $start, qr{"/srv/symcached/store"\ cannot\ be\ used:\ Read-only\ file
    \ system;\ .*ReadWritePaths=}x, 'and the start fails with the remedy';
$init->sh('systemctl stop symcached symcached.socket');
ok_sh('its drop-in', <<"SH");
mkdir -p /etc/systemd/system/symcached.service.d
cp $examples/symcached.service.d/folders.conf /etc/systemd/system/symcached.service.d/
systemctl daemon-reload
SH
like ok_sh('a folder of root', "install -d /srv/symcached; $test"),
    qr{user\ symcached\ of\ symcached\.service\ cannot\ write\ to
       \ /srv/symcached:\ install\ -d\ -o\ symcached}x, '-t warns of its owner';
$said = ok_sh('the drop-in helps', 'systemctl start symcached && symcached -t'
    . ' && systemctl reload symcached && test -d /srv/symcached/store');
unlike $said, qr/cannot be written/, '-t has no complaint';
ok_sh('a folder in /home', <<"SH");
sed 's|/var/cache/symcached/default|/home/store|' $shop >/etc/symcached.json
SH
like ok_sh('which the unit does not see', $test),
    qr/symcached\.service sees nothing of it/, '-t warns of it';

# uploads.conf by its own comment
my ($needs) = slurp("$Test::Symcache::top/conf-examples/uploads.conf")
    =~ /^# needs:(.*?)^# gives:/ms;
my @commands = $needs =~ /^#\s+(install .*)$/mg;
is scalar @commands, 2, 'uploads.conf: commands';
ok_sh('uploads.conf works by its comment', <<"SH");
set -e
cd $examples/symcached.service.d
sed 's|/srv/symcached|/srv/uploads|g' folders.conf >/etc/systemd/system/symcached.service.d/folders.conf
systemctl daemon-reload
@{[join "\n", @commands]}
mkdir -p /etc/symcached
echo '0123456789abcdefghij upload builder' >/etc/symcached/tokens
cat >/etc/symcached.json <<'JSON'
{ "uploads": { "root": "/srv/uploads", "listen": "unix:$sockets/uploads.sock",
    "tokens": "@/etc/symcached/tokens" },
  "stores": { "default": { "root": "/var/cache/symcached/default", "sources": ["uploads"],
    "transcoders": [ { "version": "9.0.0", "command": ["pdb2symcache", "-pdb", "{pdb}"] } ] } } }
JSON
symcached -t
systemctl restart symcached
curl -sf --max-time 9 --unix-socket $sockets/symcached.sock http://h/healthz
test -S $sockets/uploads.sock
test -g /srv/uploads/.spool
SH

# the socket of fleet-machine.conf by its comment
my ($folder) = slurp("$Test::Symcache::top/conf-examples/fleet-machine.conf")
    =~ /^#\s+(RuntimeDirectory=.*)$/m;
ok_sh('a socket elsewhere',
    qq(sed '0,/{\$/s|{\$|{ "admin_listen": "unix:/run/symcached-admin/admin.sock",|' )
    . "$shop >/etc/symcached.json");
like ok_sh('in a folder that nothing makes', $test),
    qr{warning:\ admin_listen:\ "/run/symcached-admin/":\ No\ such\ file\ .*
       RuntimeDirectory=}x, '-t warns of it';
$said = ok_sh('the drop-in makes it', <<"SH");
set -e
printf '[Service]\n$folder\n' >/etc/systemd/system/symcached.service.d/admin.conf
systemctl daemon-reload
symcached -t
systemctl restart symcached
test -S /run/symcached-admin/admin.sock
SH
unlike $said, qr/admin_listen/, '-t has no complaint, although it is not there yet';

# --- the commands of README for nginx, and an nginx without its module

my $package = "$Test::Symcache::top/packaging/nginx";
my @use = map { s/^sudo //r =~ s/\s+#.*//r }
    grep { /nginx/ && !/apt install/ } Test::Packages::commands('README.md', 'Install');
ok_sh('nginx with the module, then without', <<"SH");
set -e
mkdir -p /usr/share/doc/symcached /usr/share/nginx/symcache /var/log/nginx
ln -sfn $examples /usr/share/doc/symcached/examples
cp $package/http.conf $package/locations.conf /usr/share/nginx/symcache/
cp $package/symcache.conf /etc/nginx/conf.d/
echo 'load_module modules/ngx_symcache_module.so;' >/etc/nginx/modules-enabled/50-mod-symcache.conf
printf 'server {\n listen 80 default_server;\n server_name _;\n}\n' >/etc/nginx/sites-available/default
ln -sf ../sites-available/default /etc/nginx/sites-enabled/default
systemctl restart nginx
@{[join "\n", @use]}
mkdir -p /etc/nginx/symcache.d/http
echo 'symcache_zone symcache:16m;' >/etc/nginx/symcache.d/http/zone.conf
nginx -T 2>/dev/null >/tmp/whole
grep 'symcache_pass ' /tmp/whole
grep '^symcache_zone ' /tmp/whole
rm -r /etc/nginx/modules-enabled/50-mod-symcache.conf /usr/share/nginx/symcache
nginx -t
systemctl restart nginx
SH

# --- what they leave behind

unlike ok_sh('the journal', 'journalctl -b -o cat --no-pager'),
    qr/code=(?:killed|dumped)|exited on signal|\[(?:alert|emerg)\]/,
    'no process has died, and there is no alert';

done_testing;
