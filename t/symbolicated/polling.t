#!/usr/bin/env perl

# Symbolicator's protocol while a module is on its way: the connection ends,
# the request stays, and its answer is fetched.  And what a request may say of
# sources.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(remove_tree);
use POSIX ();
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;
my $main = 'main(int, char**)';

$t->symbol_store('local');
my $config = $t->default_config('http://127.0.0.1:1', gated => 1);
$config->{stores}{default}{sources} = ['empty', 'local'];
$config->{sources} = { map { $_ => { type => 'filesystem',
    layout => 'symstore', path => $t->path($_) } } 'empty', 'local' };
mkdir $t->path('empty');
$config->{symbolication}{symbolicator} = { node => 0xbeef, requests => 1 };

# The transcoder waits until it may go on.
sub open_gate { $t->write_file('gate', '') }

# Everything anew, with nothing in the store.
sub start {
    if ($t->{helper}) {
        is $t->stop_symbolicated, 0, 'symbolicated stops';
        is $t->stop_symcached, 0, 'symcached stops';
    }
    unlink $t->path('gate'), $t->path('runs');
    remove_tree($t->path('store'));
    $t->start_symcached($config);
    $t->start_symbolicated(undef);
}

sub body {
    my (%members) = @_;
    return $json->encode({ stacktraces => [{ frames =>
            [{ instruction_addr => '0x402913' }] }],
        modules => [{ type => 'pe', debug_file => 'crash.pdb',
            debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1',
            image_addr => '0x400000' }], %members });
}


sub post {
    my ($query, $body) = @_;
    return decoded($t->post($t->symbolicated_socket, "/symbolicate$query",
        $body, 'Content-Type: application/json'));
}

sub ask {
    my ($path) = @_;
    return decoded($t->http($t->symbolicated_socket, 'GET', $path));
}

sub decoded {
    my ($r) = @_;
    return { http => $r->{status}, text => $r->{body}, reply => $r,
             %{ +eval { $json->decode($r->{body}) } // {} } };
}

sub function {
    my ($answer) = @_;
    return $answer->{stacktraces}[0]{frames}[0]{function}
        // $answer->{stacktraces}[0]{frames}[0]{status} // $answer->{text};
}

start();
my $answer = post('?timeout=0', body());
is $answer->{status}, 'pending', 'timeout=0: the module is on its way';
is $answer->{retry_after}, 30, 'ask again';
my $id = $answer->{request_id};
is Test::Symcache::header($answer->{reply}, 'Cache-Control'), 'no-store',
    'each answer is another';
is Test::Symcache::header(ask("/requests/$id?timeout=0")->{reply},
    'Cache-Control'), 'no-store', 'of the same URL, too';
like $id, qr/^beef[0-9a-f]{4}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    'a UUID that begins with the node';
is_deeply [@{ ask("/requests/$id?timeout=0") }{qw(status request_id)}],
    ['pending', $id], 'it is still';
is ask('/requests/' . 'x' . substr $id, 1)->{http}, 404, 'another id';
is $t->post($t->symbolicated_socket, "/requests/$id", '')->{status}, 405,
    'it is only fetched';
open_gate();
is function(ask("/requests/$id")), $main, 'without a timeout it waits';
is function(ask("/requests/$id?timeout=0")), $main, 'and it may be read again';
# the place of the one before is free once its end has been seen
$t->wait_until('it has ended',
    sub { $t->symbolicated_metric('symbolicated_requests_running') == 0 });
is function(post('?timeout=0', body())), $main, 'what is there needs no id';

# as many requests as may run

start();
my $pid = fork() // die "fork: $!";
if (!$pid) {
    POSIX::_exit(function(post('', body())) eq $main ? 0 : 1);
}
$t->wait_until('one waits', sub { $t->runs });
is $t->symbolicated_metric('symbolicated_requests_running'), 1, 'and runs';
my $second = post('?timeout=0', $json->encode({}));
is $second->{http}, 503, 'a second one is refused meanwhile';
is $second->{detail}, 'maximum number of concurrent requests reached', 'so';
is Test::Symcache::header($second->{reply}, 'Retry-After'), 1, 'for a moment';
is ask('/healthcheck')->{text}, 'ok', '/healthcheck';
open_gate();
waitpid $pid, 0;
is $?, 0, 'the first one was answered';

# who waits when the daemon stops is not told an id that is forgotten

start();
$pid = fork() // die "fork: $!";
if (!$pid) {
    my $last = post('?timeout=60', body());
    POSIX::_exit($last->{http} == 503
        && $last->{detail} eq 'the server is stopping' ? 0 : 1);
}
$t->wait_until('one waits', sub { $t->runs });
is $t->stop_symbolicated, 0, 'stops while a request waits';
waitpid $pid, 0;
is $?, 0, 'which may be sent to another';
open_gate();
$t->start_symbolicated;

# a body that would have to be unpacked first

for my $path ('/symbolicate', '/symbolicate/v5') {
    is $t->post($t->symbolicated_socket, $path, "\x1f\x8b",
        'Content-Type: application/json', 'Content-Encoding: gzip')->{status},
        415, "$path: a Content-Encoding";
}

# sources

is function(post('', body(sources => [{ id => 'local', type => 'x' }]))), $main,
    'a source of the configuration';
is function(post('', body(sources => []))), 'missing', 'none';
SKIP: {
    my $key = $Test::Symcache::key{'crash.pdb'};
    skip 'no extended attributes: where a file came from is not known', 2
        unless $t->helper_json("/v1/why/default/crash.pdb/$key")
            ->{files}[0]{source};
    is function(post('', body(sources => [{ id => 'empty' }]))), 'missing',
        'a source that did not have it';
    is function(post('', body(sources => [map { { id => $_ } }
        'empty', 'local']))), $main, 'and one that had';
}
is scalar(grep { post('', body())->{http} != 200 } 1 .. 200), 0,
    'who has an answer is not one of those that run any more';
my $r = post('', body(sources => [{ id => 'local' }, { id => 'foreign' }]));
is $r->{http}, 422, 'another one';
like $r->{text}, qr/: sources\[1\]\.id: no source of this name/, 'is named';
$r = post('', body(sources => [{ type => 'http' }]));
like $r->{text}, qr/: sources\[0\]: missing field `id`/, 'one without an id';
is function(post('', body(sources => [({ id => 'local' }) x 256]))), $main,
    'as many as are allowed';
$r = post('', body(sources => [({ id => 'local' }) x 257]));
is $r->{http}, 422, 'more of them';
like $r->{text}, qr/: sources: more than 256/, '... and why';
for (['ignore', 200, 'are ignored'], ['refuse', 422, 'are refused']) {
    my ($mode, $status, $what) = @$_;
    $t->stop_symbolicated;
    $config->{symbolication}{symbolicator}{sources} = $mode;
    $t->start_symbolicated($config);
    is post('', body(sources => [{ id => 'foreign' }]))->{http}, $status,
        "sources $what";
    is post('', body(sources => undef))->{http}, 200, 'null says nothing';
}

# limits

for (['frames', qr/: stacktraces\[1\]\.frames: too many frames/],
     ['modules', qr/: modules: too many that frames use/],
     ['answer_size', qr/^the answer is too large/]) {
    my ($limit, $sentence) = @$_;
    $t->stop_symbolicated;
    $config->{symbolication}{limits} =
        { $limit => $limit eq 'answer_size' ? '1k' : 1 };
    $t->start_symbolicated($config);
    my @frames = map { { instruction_addr => $_ } } '0x402913', '0x502913';
    $r = post('', body(stacktraces => [{ frames => [$frames[0]] },
        { frames => [$frames[1]] }], modules => [map { { type => 'pe',
            debug_file => 'x' x 1000, image_addr => $_->{instruction_addr} }
        } @frames]));
    is $r->{http}, 422, "symbolication.limits.$limit";
    like $r->{text}, $sentence, 'is what was too much';
}
delete $config->{symbolication}{limits};

# no room for what is to be fetched

$config->{symbolication}{symbolicator}{kept_size} = '0';
start();
is post('?timeout=0', body())->{http}, 503, 'nothing can be kept';
open_gate();

# a store behind one whose file does not count

delete $config->{symbolication}{symbolicator};
$config->{stores}{other} = { %{ $config->{stores}{default} },
    root => $t->path('other'), sources => ['copy'] };
$config->{sources}{copy} = { type => 'filesystem',
    path => $t->path('local') };
start();
open_gate();
is function(post('', body())), $main, 'the first store has it';
SKIP: {
    my $key = $Test::Symcache::key{'crash.pdb'};
    skip 'no extended attributes: where a file came from is not known', 3
        unless $t->helper_json("/v1/why/default/crash.pdb/$key")
            ->{files}[0]{source};
    for my $what ('made', 'on disk') {
        is function(post('', body(sources => [{ id => 'copy' }]))), $main,
            "the second one's file counts: it is $what";
    }
    is function(post('', body(sources => [{ id => 'empty' }]))), 'missing',
        'nobody has it from the third source';
}

$t->finish;
done_testing;
