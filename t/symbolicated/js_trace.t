#!/usr/bin/env perl

# symcachectl symbolicate, with a stack trace of JavaScript, asks a server: it
# gets scripts and maps from the web.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::File qw(slurp);
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $data = $t->data('javascript');
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my ($name) = $req->{path} =~ m{^/([\w.-]+)$};
    return $c->reply(404) if !defined $name || !-e "$data/shop/$name";
    $c->reply(200, {}, slurp("$data/shop/$name"));
});
$t->start_symcached({
    stores => { default => { root => $t->path('store') } },
    limits => { attempts => 1 },
    symbolication => {
        javascript => { scraping => JSON::PP::true() },
        symbolicator => { sources => 'allow', tenants => {
            root => $t->path('tenants'), count => 4,
            hosts => ['127.0.0.1:' . $web->port] } },
    },
});
$t->start_symbolicated;

my $url = $web->url . '/terser.js';
my $trace = $t->write_file('trace', <<"EOT");
RangeError: negative price of hole
    at $url:1:224
    at $url:1:296
    at Array.reduce (<anonymous>)
    at get total [as total] ($url:1:163)
Error: x
t.add\@$url:1:475
    at f ($url:9:1)
EOT
my $socket = 'unix:' . $t->symbolicated_socket;
my @command = ($t->program('symcachectl'), 'symbolicate', '--socket', $socket);
my $out = qx(@command '$trace');
is $? >> 8, 0, 'exit code' or diag slurp($t->path('web.log'));
is $out, <<"EOT", 'frames have their sources';
RangeError: negative price of hole
    at check (src/money.js:11:29)
    at <anonymous> (src/money.js:8:65)
    at Array.reduce (<anonymous>)
    at get Cart.total (src/money.js:8:15)
Error: x
Cart.add\@src/cart.js:9:20
    at f ($url:9:1)
EOT
my @json = map { JSON::PP::decode_json($_) }
    split /\n/, qx(@command --json '$trace');
is_deeply [map { $_->{filename} } @json],
    [('src/money.js') x 3, 'src/cart.js', $url], '--json';
$trace = $t->write_file('trace', "    at f ($url.none:1:1)\n");
is qx(@command '$trace'), "    at f ($url.none:1:1)\n", 'nothing is found';
is $? >> 8, 1, 'exit code';
$t->wait_until('the log has a script that is missing', sub {
    $t->symbolicated_log =~ /protocol=js status=200 frames=1 modules=1 missing=1 failed=0 / });
like $t->symbolicated_log, qr/protocol=js status=200 frames=5 modules=1 missing=0 /, '... of the others none'
    or diag $t->symbolicated_log;
my $module = "    at f (wasm://wasm/9670072a:wasm-function[3]:0xc8)\n";
$trace = $t->write_file('trace', $module);
like qx(@command '$trace' 2>&1), qr/no frame was found: a server names no frames of WebAssembly in a text; --maps FOLDER does$/m,
    'of a module';
$trace = $t->write_file('trace', "$module    at f ($url:1:224)\n");
like qx(@command '$trace' 2>&1), qr/^symcachectl: note: a server names no frames of WebAssembly/m,
    '... beside a script';
is $t->stop_symbolicated, 0, 'symbolicated stops';
is $t->stop_symcached, 0, 'symcached stops';
$t->finish;
done_testing;
