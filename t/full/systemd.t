#!/usr/bin/perl

# The units under systemd, and the mistakes of operators: a configuration that
# is wrong at a reload and at the start, what fails under traffic, folders that
# the sandbox keeps closed.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Init;
use Test::More;

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

done_testing;
