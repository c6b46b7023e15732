#!/usr/bin/env perl

# Sources that clients bring: what Symbolicator answered to such requests, and
# what no client may reach by them.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Pairs;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->allow_nonref;

# A unified source has no packed form here, so that place is not asked for.
my %asks_less = ('sources-unified' => qr{/debuginf_$});

my $id = '31985172-45d8-44ed-b92b-943840f8c3d8';
my $key = '3198517245D844EDB92B943840F8C3D81';
my $pairs = Test::Pairs->new($t, $id => 'win32-x64/winpty.pdb');
my $winpty = $pairs->{pdbs}{$id} && $t->read_file($pairs->{pdbs}{$id});
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $crash_key = $Test::Symcache::key{'crash.pdb'};

my $elsewhere = Test::ScriptedServer->new(log => $t->path('elsewhere.log'),
    script => sub { $_[0]->reply(404) });

# The server of that run, which is asked for one PDB.
my $server = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my $path = $req->{path};
    return $c->reply(401) if $path =~ m{^/unauth/};
    return $c->reply(403) if $path =~ m{^/forbidden/};
    return $c->reply(500) if $path =~ m{^/error/};
    return $c->reply(200, { 'Content-Type' => 'text/html' },
        "<!DOCTYPE html><html><form>Sign in</form></html>\n")
        if $path =~ m{^/html/};
    return $c->reply(302, { Location => $elsewhere->url . "/x" })
        if $path =~ m{^/away/};
    return $c->reply(200, {}, $winpty)
        if $winpty && $path eq "/ok/winpty.pdb/$key/winpty.pdb";
    if ($path =~ m{^/large/.*\.pdb$}) {
        $c->send("HTTP/1.1 200 OK\r\nContent-Length: 600000\r\n\r\n"
                 . substr $crash, 0, 1000);
        $t->wait_until('the rest may come', sub { -e $t->path('gate') });
        return $c->close;
    }
    if ($path =~ m{^/delay/}) {
        $t->wait_until('the answer may come', sub { -e $t->path('gate') });
        return $c->reply(200, {}, $winpty)
            if $winpty && $path eq "/delay/winpty.pdb/$key/winpty.pdb";
    }
    return $c->reply(200, {}, $crash)
        if $path eq "/ok/crash.pdb/$crash_key/crash.pdb";
    return $c->reply(200, {}, $t->read_file($t->data('ppdb/weave.pdb')))
        if $path =~ m{^/ok/weave\.pdb/6022e78b4bf44d048f9e21d7790ece60FFFFFFFF/weave\.pdb$};
    return $c->reply(404);
});
my $port = $server->port;
my $closed = Test::Symcache::free_port();

my $config = {
    stores => { default => { root => $t->path('store') } },
    limits => { attempts => 1 },
    symbolication => { symbolicator => { sources => 'allow', tenants => {
        root => $t->path('tenants'), count => 100,
        hosts => ["127.0.0.1:$port", "127.0.0.1:$closed"] } } },
};
$t->start_symcached($config);
$t->start_symbolicated;

sub post {
    my ($body, $query) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate' . ($query // ''),
        $body, 'Content-Type: application/json');
    return $r->{status} == 200 ? $json->decode($r->{body}) : $r->{status};
}

# --- the captured pairs

open my $file, '<', $t->data('vectors/symbolicator.jsonl') or die $!;
my $replayed = 0;
my %polls;
while (my $line = <$file>) {
    $line =~ s{http://127\.0\.0\.1:8102}{http://127.0.0.1:$port}g;
    $line =~ s{http://127\.0\.0\.1:9/}{http://127.0.0.1:$closed/}g;
    my $pair = $json->decode($line);
    my ($name, $q, $w) = @$pair{qw(name request response)};
    $polls{$name} = $pair;
    next if $name !~ /^sources-/;
    SKIP: {
        skip "$name: no winpty.pdb", 1 if !$winpty && $name eq 'sources-http-ok';
        my $less = $asks_less{$name};
        $w->{body}{modules}[0]{candidates} = [grep { $_->{location} !~ $less }
            @{ $w->{body}{modules}[0]{candidates} }] if $less;
        is_deeply post($q->{body_text}), $w->{body} // $w->{status}, $name;
        $replayed++;
    }
}
cmp_ok $replayed, '>', 10, 'pairs were replayed';

# One that takes its time: the id is another, and all else is the same.
SKIP: {
    skip 'no winpty.pdb', 4 if !$winpty;
    my $request_id;
    for my $name (qw(poll-1-start poll-2-pending poll-3-wait poll-4-again)) {
        my ($q, $w) = @{ $polls{$name} }{qw(request response)};
        my $path = $q->{path} =~ s{(?<=/requests/)[-0-9a-f]{36}}{$request_id}r;
        my $r = $q->{method} eq 'POST'
            ? $t->post($t->symbolicated_socket, $path, $q->{body_text},
                'Content-Type: application/json')
            : $t->http($t->symbolicated_socket, 'GET', $path);
        my $got = $json->decode($r->{body});
        $request_id //= $got->{request_id};
        $w->{body}{request_id} = $request_id if $w->{body}{request_id};
        is_deeply [$r->{status}, $got], [$w->{status}, $w->{body}], $name;
        $t->write_file('gate', '') if $name eq 'poll-2-pending';
    }
}

# --- what is allowed

my $main = 'main(int, char**)';
sub request {
    my (@sources) = @_;
    return $json->encode({
        stacktraces => [{ frames => [{ instruction_addr => '0x402913' }] }],
        modules => [{ type => 'pe', debug_file => 'crash.pdb',
                      debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1',
                      image_addr => '0x400000' }],
        sources => \@sources,
        options => { dif_candidates => \1, apply_source_context => \0 },
    });
}
sub web {
    my ($url, %more) = @_;
    return { type => 'http', id => 'web', url => $url,
             layout => { type => 'symstore' }, %more };
}
sub function { my $r = post(@_);
    ref $r ? $r->{stacktraces}[0]{frames}[0]{function} // $r->{modules}[0]{debug_status} : $r }

my $ok = "http://127.0.0.1:$port/ok/";
is function(request(web($ok))), $main, 'a source of a client';
sub asked { scalar grep { $_->{path} =~ m{/crash\.pdb$} } $server->requests }
my $asked = asked();
is function(request(web($ok))), $main, 'again';
is asked(), $asked, 'the server is not asked again';
is function(request(web($ok)), '?scope=b'), $main, 'another scope';
cmp_ok asked(), '>', $asked, 'for which it is';
sub folders { return grep { m{/[0-9a-f]{32}$} } glob $t->path('tenants/*') }
is function(request(web("http://127.0.0.1:$port/none/"))), 'missing',
    'another list does not see that file';
is function(request()), 'missing', 'no source';
is function(request(web($ok, filters => { filetypes => ['pe'] }))), 'missing',
    'a source without PDBs';

# .NET, which servers such as NuGet's know by the checksum
{
    my $r = post($json->encode({
        stacktraces => [{ frames => [{ function_id => '0x45', addr_mode => 'rel:0',
            instruction_addr => '0x0' }] }],
        modules => [{ type => 'pe_dotnet', debug_file => 'weave.pdb',
            debug_id => '6022e78b-4bf4-4d04-8f9e-21d7790ece60-ed5a93bd' }],
        sources => [web($ok, layout => { type => 'ssqp' },
            filters => { filetypes => ['portablepdb'] })] }));
    is $r->{stacktraces}[0]{frames}[0]{filename}, 'Weave.cs', 'a portable PDB';
}

# "A source without any path for the module: one entry notfound"
is_deeply post(request(web($ok), web($ok, id => 'x', filters => { filetypes => ['proguard'] })))
    ->{modules}[0]{candidates}[-1],
    { source => 'x', location => 'No object files listed on this source',
      download => { status => 'notfound' } }, 'which is told';

# --- what is not

my %s3 = (type => 's3', id => 'x', bucket => 'b', region => 'r');
for (['a folder', { type => 'filesystem', id => 'x', path => '/' }],
     ["Sentry's own server without a token", { type => 'sentry', id => 'x', url => $ok }],
     ['no URL of it', { type => 'sentry', id => 'x', token => 't' }],
     ['one with a user', { type => 'sentry', id => 'x', token => 't', url => 'http://u@h/' }],
     ['cookies that are a file', { type => 'sentry', id => 'x', url => $ok, cookies => '@/etc/hosts' }],
     ['no text as a token', { type => 'sentry', id => 'x', url => $ok, token => '' }],
     ['another type', { type => 'ftp', id => 'x', url => $ok }],
     ['no URL', { type => 'http', id => 'x' }],
     ['no id', { type => 'http', url => $ok }],
     ['no bucket', { type => 's3', id => 'x', region => 'r' }],
     ['no region', { type => 's3', id => 'x', bucket => 'b' }],
     ['no region', { %s3, region => 'a.b' }],
     ['half an endpoint', { %s3, region => ['r'] }],
     ['an endpoint with a user', { %s3, region => ['r', 'http://u@h/'] }],
     ['no name of a bucket', { %s3, bucket => 'a/../b' }],
     map({ ["a prefix with dots, $_", { %s3, prefix => $_ }] } '..', '../x', 'a/./b', '/a/..'),
     ['half of the keys', { %s3, access_key => 'a' }],
     ['the name of a file', { %s3, access_key => 'a', secret_key => '@/etc/hosts' }],
     ["this machine's keys", { %s3, aws_credentials_provider => 'container' }],
     ['half of an account', { type => 'gcs', id => 'x', bucket => 'b', client_email => 'a@b' }],
     map({ ["a key that is none, '$_'", { type => 'gcs', id => 'x', bucket => 'b', client_email => 'a@b',
        private_key => $_ }] } '', 'MIIEvQIBADANBgkq', '@/etc/hosts',
        '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq')) {
    my ($what, $source) = @$_;
    is function(request($source)), 422, $what;
}
for (['a name', { 'a b' => 'x' }], ['a line end', { a => "x\r\nb: c" }],
     ['a number', { a => 1 }], ['twice', { 'X-A' => 'b', 'x-a' => 'c' }],
     ['a file', { a => '@/etc/hosts' }], ['another host', { Host => 'h' }],
     ['framing', { 'Transfer-Encoding' => 'chunked' }],
     ['a condition, so that 304 is no answer to ours', { 'If-None-Match' => '*' }], ['long', { a => 'x' x 5000 }],
     ['many', { map { ("h$_" => 'x') } 1 .. 40 }]) {
    is function(request(web($ok, headers => $_->[1]))), 422, "headers: $_->[0]";
}
my $before = $server->requests;
my @hosts = ("localhost:$port", "[::1]:$port", "127.1:$port", "0.0.0.0:$port",
    "127.0.0.2:$port", "[::ffff:127.0.0.1]:$port", "2130706433:$port",
    "0x7f000001:$port", "10.0.0.1", "169.254.169.254", "[fe80::1]",
    "127.0.0.1:$port\@127.0.0.2:$port");
my $answer = post(request(map { web("http://$_/ok/", id => $_) } @hosts));
is $answer->{modules}[0]{debug_status}, 'fetching_failed', 'internal hosts';
my %said = map { $_->{source} => $_->{download}{details} }
    @{ $answer->{modules}[0]{candidates} };
like $said{$_} // 'not asked', qr/address is reserved/, "not reached: $_"
    for @hosts;
is scalar($server->requests), $before, 'the server was not asked';
my @started = folders();
for my $url ('file:///etc/', 'ftp://h/', 'http://', 'http:///s', 'http://h/a b',
             "http://h/\n", 'http://h/#a', 'http://:80/', '$HOME', '@/etc/passwd', '',
             "${ok}?a=b", 'http://' . 'u' x 3000 . '@h/',
             'http://h:65536/', 'http://h:x/', 'http://[::1/', 'http://[h]/',
             'http://' . 'h' x 300 . '/') {
    is post(request(web($ok), web($url))), 422, "no URL: \"$url\"";
}
is_deeply [folders()], \@started, 'nothing was started';
for ([{ layout => { type => 'nonsense' } }, 'layout.type: unknown variant'],
     [{ filters => { filetypes => ['x'] } }, 'filters.filetypes: unknown variant'],
     [{ headers => { a => "secret\n" } }, 'headers: has a control character']) {
    my ($wrong, $said) = @$_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate',
        request(web($ok, %$wrong)), 'Content-Type: application/json');
    like $r->{body}, qr/: sources\[0\]\.\Q$said\E$/, "the place: $said";
}
# a host that the operator has let in cannot let in another one
like post(request(web("http://127.0.0.1:$port/away/")))
        ->{modules}[0]{candidates}[0]{download}{details} // 'not asked',
    qr/address is reserved/, 'a redirect into the network';
is scalar($elsewhere->requests), 0, 'is not followed';

# --- who is there

{
    my @there = sort map { m{([^/]+)$} } folders();
    my %told;
    $t->wait_until('the status has each tenant', sub {
        %told = map { $_->{name} => $_ } @{ $t->helper_json('/v1/status')->{tenants} };
        return "@there" eq join ' ', sort keys %told });
    my ($b) = grep { $_->{scope} eq 'b' } values %told;
    is $b->{sources}, 1, 'its sources';
    cmp_ok $b->{started}, '<=', $b->{asked}, 'when it was asked for first, and last';
    cmp_ok abs($b->{asked} - time), '<', 600, 'in Unix time';
    my $ctl = "$Test::Symcache::build/symcachectl";
    my $status = qx($ctl status --socket unix:@{[ $t->helper_socket ]});
    like $status, qr/^TENANT +SCOPE.*^$b->{name} +b +1 .*\Q$b->{listen}\E$/ms,
        'symcachectl status has them, too';
    like qx($ctl jobs --socket $b->{listen}), qr/^jobs 0:/, 'its jobs, by its socket';
    like qx($ctl why --socket $b->{listen} --store $b->{name} crash.pdb $crash_key), qr/s0.*found/,
        'where it looked';
    # a job of a tenant, which waits for its server
    unlink $t->path('gate');
    is post(request(web("http://127.0.0.1:$port/delay/")), '?timeout=0&scope=busy')
        ->{status}, 'pending', 'a slow server';
    my $jobs = "$ctl jobs --socket unix:@{[ $t->helper_socket ]}";
    $t->wait_until('symcachectl jobs shows the job of a tenant', sub {
        qx($jobs) =~ /^jobs 0:.*^tenant \w{32}, scope "busy":\n.*crash\.pdb.*^jobs 1:/ms });
    my ($busy) = grep { $_->{scope} eq 'busy' }
        @{ $json->decode(qx($jobs --json))->{tenants} };
    is_deeply [map { $_->{key} } @{ $busy->{jobs}{jobs} }], ["crash.pdb/$crash_key"],
        'as JSON, too';
    $t->write_file('gate', '');
    $t->wait_until('and no longer when it has ended', sub { qx($jobs) !~ /busy/ });
    my $store = $t->path("tenants/$b->{name}/store");
    like qx($ctl ls --root $store), qr/crash\.pdb/, 'its files';
}

# --- a restart keeps the stores

my @before = folders();
$t->stop_symbolicated;
$t->stop_symcached;
is_deeply [folders()], \@before, 'they stay when symcached stops';
$t->start_symcached($config);
$t->start_symbolicated;
$asked = asked();
is function(request(web($ok))), $main, 'what was there is there after a restart';
is asked(), $asked, 'and is not asked for again';
is_deeply [folders()], \@before, 'in the same folder';
is function(request(web($ok, headers => { 'X-Other' => 'x' }))), $main, 'another list';
cmp_ok asked(), '>', $asked, 'does not see it';

# --- limits

sub limited {
    $config->{symbolication}{symbolicator}{tenants}{$_[0]} = $_[1];
    $t->stop_symbolicated;
    $t->stop_symcached;
    system 'rm', '-rf', $t->path('tenants');
    $t->start_symcached($config);
    $t->start_symbolicated;
}
sub tenants_total { return $t->metric("symcached_tenants_total{result=\"$_[0]\"}") // 0 }
limited(count => 1);
is function(request(web($ok))), $main, 'one tenant';
is function(request(web($ok)), '?scope=b'), $main, 'another one takes its place';
$t->wait_until('two started, one removed', sub {
    tenants_total('started') == 2 && tenants_total('removed') == 1 });
$t->wait_until('its files are gone', sub { folders() == 1 });
$t->wait_until('the log tells of both', sub {
    $t->read_file('symcached.log') =~
        /tenant \w{32} started, 1 of 1\n.*tenant \w{32} removed: there are more than "tenants\.count"/s
});
is function(request(web($ok))), $main, 'the first one comes again';

# the attack that holds all places: one scope makes up lists

limited(count => 8);
is function(request(web($ok)), '?scope=b'), $main, 'a scope has a tenant';
is function(request(web($ok, is_public => \1)), "?scope=$_"), $main, 'and a public one'
    for 'b', 'c';
my @others = sort(folders());
is scalar(@others), 2, 'two places are used';
$asked = asked();
my @lists = map { request(web($ok, headers => { 'X-List' => "$_" }, is_public => $_ % 3 ? \0 : \1)) } 1 .. 12;
is function($_, '?scope=a'), $main, 'a list that was made up' for @lists;
my %there = map { $_ => 1 } folders();
is scalar(keys %there), 4, 'the scope has two of eight places';
ok $there{$_}, 'what others use stays' for @others;
like $t->read_file('symcached.log'),
    qr/removed: the scope has more than a quarter of "tenants\.count"/,
    'the log names the limit';
$asked = asked();
is function(request(web($ok)), '?scope=b'), $main, 'the others are answered';
is function(request(web($ok, is_public => \1)), '?scope=b'), $main, 'from what they have';
is asked(), $asked, 'without their servers';

# bodies that a tenant receives at the same time count together

limited(size => '1m');
unlink $t->path('gate');
is $json->decode($t->post($t->symbolicated_socket,
    '/symbolicate?timeout=0&scope=full', $json->encode({
        stacktraces => [{ frames => [map {
            { instruction_addr => sprintf '0x%x', 0x402913 + $_ * 0x1000000 } }
            1 .. 3] }],
        modules => [map { { type => 'pe', debug_file => "large$_.pdb",
            debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1',
            image_addr => sprintf '0x%x', 0x400000 + $_ * 0x1000000 } } 1 .. 3],
        sources => [web("http://127.0.0.1:$port/large/")],
    }), 'Content-Type: application/json')->{body})->{status}, 'pending',
    'three bodies of 600 KB where a tenant has 1 MB';
my $socket = $t->wait_until('the tenant runs', sub {
    my ($full) = @{ $t->helper_json('/v1/status')->{tenants} };
    return $full && $full->{listen} =~ s/^unix://r;
});
$t->wait_until('two of them are refused', sub {
    my $body = $t->http($socket, 'GET', '/metrics')->{body};
    $body =~ /^symcached_fetch_no_room_total (\d+)/m && $1 >= 2 });
is function(request(web($ok)), '?scope=b'), $main, 'another tenant has room';
$t->write_file('gate', '');

$t->finish;
done_testing;
