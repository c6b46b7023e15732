#!/usr/bin/env perl

# Somebody removes the folder of tenants, or what is in it, or that of large
# bodies, while all runs: symcached makes its folder ready again, and
# symbolicated can open no new folder from its sandbox.  So it ends with 71 once
# there is one of tenants, to be started again, and keeps bodies in memory once
# there is another folder for them.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(remove_tree);
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->utf8;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $key = $Test::Symcache::key{'crash.pdb'};
my $server = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    $req->{path} =~ m{/crash\.pdb/\Q$key\E/crash\.pdb$} ? $c->reply(200, {}, $crash)
        : $c->reply(404);
});
my ($tenants, $bodies) = ($t->path('tenants'), $t->path('bodies'));
mkdir $bodies;
my %config = (
    stores => { default => { root => $t->path('store') } },
    symbolication => { threads => 1, spool => $bodies, symbolicator => {
        sources => 'allow', tenants => {
            root => $tenants, hosts => ['127.0.0.1:' . $server->port] } } },
);
$t->allow_log(qr/somebody has removed/);
$t->allow_log(qr/the helper of clients' sources ended/);
$t->allow_log(qr/is another one than at the start/);
$t->allow_log(qr/is another folder than at the start/);
$t->allow_log(qr/a request's body cannot be kept/);
$t->start_symcached(\%config);
$t->start_symbolicated;

# What a client with a source of its own is told of its module.
sub ask {
    my $r = $t->post($t->symbolicated_socket, '/symbolicate?scope=a', $json->encode({
        stacktraces => [{ frames => [{ instruction_addr => '0x402913' }] }],
        modules => [{ type => 'pe', debug_file => 'crash.pdb', image_addr => '0x400000',
            debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1' }],
        sources => [{ type => 'http', id => 'own', layout => { type => 'symstore' },
                      url => $server->url . '/private/' }] }), 'Content-Type: application/json');
    my $answer = ($r->{status} // 0) == 200 ? $json->decode($r->{body}) : {};
    return ($answer->{modules} // [])->[0]{debug_status} // $r->{status} // "nothing";
}
sub log_count { my ($pattern) = @_; return scalar(() = $t->helper_log =~ /$pattern/g) }

is ask(), 'found', 'a client has a source of its own';

# --- what is in the folder

remove_tree($tenants, { keep_root => 1 });
$t->wait_until('the socket is there again', sub { -S "$tenants/sock" });
is log_count(qr/somebody has removed \Q$tenants\E\/sock/), 1, 'one line tells who did it';
$t->wait_until('clients have their sources again', sub { ask() eq 'found' });
pass 'what was in the folder of tenants is made again, without a restart';

# --- the folder

rename $tenants, "$tenants-gone" or die $!;   # at once, as the helper writes to it
remove_tree("$tenants-gone");
$t->wait_until('the folder is there again', sub { -S "$tenants/sock" });
is log_count(qr/somebody has removed \Q$tenants\E\/sock/), 2, 'another line';
# it knows the folder by what it opened
$t->wait_until('a call finds another folder', sub {
    ask() if kill 0, $t->{symbolicated};
    return $t->symbolicated_log =~ /is another one than at the start/;
});
my $pid = delete $t->{symbolicated};
my $status;
$t->wait_until('symbolicated ends', sub {
    my $ended = waitpid $pid, 1;
    $status = $?;
    return $ended == $pid;
});
is $status >> 8, 71, 'symbolicated ends with 71, which has it started again';
like $t->symbolicated_log, qr/\[emerg\] .*is another one than at the start/, '... and says why';
$t->start_symbolicated;
$t->wait_until('clients have their sources again', sub { ask() eq 'found' });
pass '... and clients have their sources again';

# --- that of large bodies

my $profile = "app   12/13 [000]  1.100000:     250000 cpu-clock:\n"
    . "\t        55552024 [unknown] (/usr/bin/app)\n\n";
$profile x= 2 + 2 ** 21 / length $profile;
sub send_profile { return $t->post($t->symbolicated_socket, '/profile', $profile)->{status} }
is send_profile(), 200, 'a large body';
my $type = `stat -f -c %T '$bodies'`;
rmdir $bodies or die $!;
SKIP: {
    skip 'tmpfs, whose folders have files when they are removed', 2 if $type eq "tmpfs\n";
    is send_profile(), 503, 'without the folder it has no place';
    like $t->symbolicated_log,
        qr/\[error\] .*a request's body cannot be kept in "symbolication.spool": answered 503/,
        '... a line tells why';
}
mkdir $bodies or die $!;
my $told = qr/"symbolication.spool": \Q$bodies\E is another folder than at the start.*kept in memory/;
$t->wait_until('another folder is seen', sub { $t->symbolicated_log =~ $told });
is send_profile(), 200, 'another folder is there, and large bodies are kept in memory';
is kill(0, $t->{symbolicated}), 1, '... by the process that began';

$t->finish;
done_testing;
