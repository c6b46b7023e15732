#!/usr/bin/perl

# What each misbehaviour of a symbol server is taken for, how often it is
# asked again, and that nothing of it becomes a final 404.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use JSON::PP ();
use POSIX ();
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;
use Time::HiRes qw(time);

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $srcsrv = $t->read_file($t->data('pdb/crash_with_srcsrv.pdb'));
my $id = $Test::SourceCase::id;
my $half = length($crash) / 2;

# once: the first request for a name fails, the second succeeds
my $tries = $t->path('tries');
mkdir $tries;
sub first_try { return mkdir "$tries/$_[0]" }

my %script = (
    # transient at first
    'once500' => sub { first_try('500') ? $_[0]->reply(500, {}, '')
                                        : $_[0]->reply(200, {}, $crash) },
    'oncereset' => sub { first_try('reset') ? $_[0]->reset
                                            : $_[0]->reply(200, {}, $crash) },
    'oncecut' => sub {
        return $_[0]->reply(200, {}, $crash) unless first_try('cut');
        $_[0]->send(substr $_[0]->reply_text(200, {}, $crash), 0, $half);
        $_[0]->close;
    },
    # forms of bodies
    'chunked' => sub {
        my ($c) = @_;
        $c->send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        $c->send(sprintf "%x\r\n%s\r\n", length, $_)
            for unpack '(a100000)*', $crash;
        $c->send("0\r\n\r\n");
    },
    'noend' => sub {
        $_[0]->send("HTTP/1.0 200 OK\r\n\r\n$crash");
        $_[0]->close;
    },
    'coded' => sub { $_[0]->reply(200, { 'Content-Encoding' => 'gzip' },
                                  Compress::Zlib::memGzip($crash)) },
    'srcsrv' => sub { $_[0]->reply(200, {}, $srcsrv) },
    'odd name' => sub { $_[0]->reply(400, {}, 'bad name') },
    'odd hop' => sub { $_[0]->reply(302,
        { Location => '/status400.pdb/x' }, '') },
    # for good
    'cut' => sub {
        $_[0]->send(substr $_[0]->reply_text(200, {}, $crash), 0, $half);
        $_[0]->close;
    },
    'cutchunk' => sub {
        $_[0]->send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    . "ffff\r\nMicrosoft");
        $_[0]->close;
    },
    'stall' => sub {
        $_[0]->send(substr $_[0]->reply_text(200, {}, $crash), 0, $half);
        $_[0]->wait_for_peer(30);
        $_[0]->close;
    },
    'silent' => sub { $_[0]->wait_for_peer(30); $_[0]->close },
    'huge' => sub { $_[0]->send("HTTP/1.1 200 OK\r\n"
                    . "Content-Length: 99999999999\r\n\r\nMicrosoft");
                    $_[0]->close },
    'endless' => sub {
        my ($c) = @_;
        $c->send("HTTP/1.0 200 OK\r\n\r\n");
        my $block = substr($crash, 0, 32) . "\0" x 65536;
        for (1 .. 1000) { $c->send($block) or last }
        $c->close;
    },
    'endless404' => sub {
        my ($c) = @_;
        $c->send("HTTP/1.0 404 Not Found\r\n\r\n");
        for (1 .. 1000) { $c->send('no such file ' x 1000) or last }
        $c->close;
    },
    'after' => sub { $_[0]->reply(503, { 'Retry-After' => 7 }, '') },
    'date' => sub { $_[0]->reply(429, { 'Retry-After' =>
        POSIX::strftime('%a, %d %b %Y %H:%M:%S GMT', gmtime(time + 90)) },
        '') },
    'century' => sub { $_[0]->reply(429, { 'Retry-After' => 1 << 40 }, '') },
    # what an earlier answer said is not what the last one says
    'hopafter' => sub { $_[0]->reply($_[1]{path} =~ /x$/
        ? (429, {}, '') : (302, { 'Retry-After' => 77,
                                  Location => '/hopafter.pdb/x' }, '')) },
    'tryafter' => sub { $_[0]->reply(first_try('after')
        ? (500, { 'Retry-After' => 77 }, '') : (429, {}, '')) },
    'hint' => sub { $_[0]->send("HTTP/1.1 103 Early Hints\r\n"
                                . "Retry-After: 77\r\n\r\n");
                    $_[0]->reply(404, {}, '') },
    'fat404' => sub { $_[0]->reply(404, {}, 'no such file ' x 1000) },
    'fat404after' => sub {
        return $_[0]->reply(404, {}, '') if $_[1]{path} !~ /ptr$/;
        $_[0]->send("HTTP/1.1 404 Not Found\r\nContent-Length: 13000\r\n"
                    . "Retry-After: 77\r\n\r\n" . 'no such file ' x 1000) },
    'nowhere' => sub { $_[0]->reply(302, {}, '') },
    'empty' => sub { $_[0]->reply(200, {}, '') },
    'html' => sub { $_[0]->reply(200, {}, '<!doctype html>') },
);

# An answer that does not come to its end, though all that there is of it is
# in order.
sub broken {
    my ($c, $how, $status) = @_;
    my $line = "HTTP/1.1 $status Scripted\r\n";
    my $moved = $status =~ /^3/ ? "Location: /status404.pdb/x\r\n" : '';
    $c->send({
        brokenline => "HTTP/1.1 $status",
        brokenhead => "$line$moved",
        brokenend => "$line${moved}Content-Length: 0\r\n",
        brokenbody => "$line${moved}Content-Length: 100\r\n\r\nSorry",
        brokenchunk => "$line${moved}Transfer-Encoding: chunked\r\n\r\n"
            . "ff\r\nSorry",
        brokenreset => "$line${moved}Content-Length: 100\r\n\r\nSorry",
    }->{$how});
    return $c->close if $how ne 'brokenreset';
    sleep 0.05;     # or what was sent may be lost on the way
    $c->reset;
}

my $up = Test::ScriptedServer->new(log => $t->path('up.log'), script => sub {
    my ($c, $req) = @_;
    my ($name) = $req->{path} =~ m{^/([^/]+)\.pdb/};
    $name =~ s/%20/ /;
    return $c->reply($1, {}, '') if $name =~ /^status(\d+)$/;
    return broken($c, $1, $2) if $name =~ /^(broken\D+)(\d+)$/;
    $script{$name}->($c, $req);
});

sub count {
    my ($name) = @_;
    return scalar grep { $_->{path} eq "/$name.pdb/$id/$name.pdb" }
        $up->requests;
}

my $c = Test::SourceCase->new($t, sources => { up => {
    type => 'http', url => $up->url, layout => 'symstore',
    internal => JSON::PP::true(),
} }, limits => { download_time => '20s', download_size => '4m',
               breaker_failures => 0, downloads_per_host => 100,
               downloads => 100 });

my $r;
for (qw(once500 oncereset oncecut)) {
    $r = $c->found("$_.pdb", "$_: succeeds at the second try");
    ok $c->published($r) eq $crash, "$_: the body is that of the second";
    is count($_), 2, "$_: two requests";
}
for (qw(chunked noend coded)) {
    $r = $c->found("$_.pdb", "$_ body");
    ok $c->published($r) eq $crash, "$_: whole";
}
$c->found('srcsrv.pdb', 'an info-stream age that tools have raised');

$c->absent("status$_.pdb", qr/^$_$/, "$_ is \"there is none\"")
    for 404, 410, 204;
$c->absent('odd name.pdb', qr/^400$/, '400 for an odd name');
$c->undecided('odd hop.pdb', 'failed', qr/^400$/,
              'but not where a redirect leads to');
$c->absent('endless404.pdb', qr/^404$/, 'a 404 whose body never ends');

for (400, 401, 403, 405, 203, 206, 501) {
    $c->undecided("status$_.pdb", 'failed', qr/^$_\b/,
                  "$_ is no answer");
    is count("status$_"), 1, "$_ is not tried again";
}
for (408, 503, 429) {
    $c->undecided("status$_.pdb", 'failed', qr/^$_$/,
                  "$_ is no answer");
    is count("status$_"), 3, "$_ is tried three times";
}

my %broken = map { my $status = $_; map { ("broken$_$status" => $status) }
    qw(line head end body chunk reset) } qw(404 410 204 304 302 401 403 500 503);
delete @broken{ grep { /(?:body|chunk|reset)[23]04/ } keys %broken };   # none
my %held = map { $_ => $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/$_.pdb/$id?version=9.0.0&wait=60") } keys %broken;
for (sort keys %broken) {
    is $t->read_response($held{$_})->{status}, 503, "$_: no answer";
    my $why = $t->helper_json("/v1/why/default/$_.pdb/$id");
    my ($last) = reverse @{ $why->{attempts} };
    like "$last->{outcome} ($last->{detail})",
        /line/ ? qr/^failed \(./ : qr/^failed \($broken{$_}, ./, "$_: why";
}
is count('brokenhead404'), 3, 'and is tried three times';
$c->absent($_->[0] . '.pdb', qr/^404$/, $_->[1])
    for ['hint', '404 behind a hint with a Retry-After'],
        ['fat404', 'a 404 with a long page'];
$c->undecided('fat404after.pdb', 'failed', qr/^404, and to be asked again/,
              'but not where a Retry-After follows its length');
for (qw(hopafter tryafter)) {
    $r = $c->undecided("$_.pdb", 'failed', qr/^429$/, "$_: the last answer");
    is $r->{retry}, 1, "$_: and not what the one before it asked for";
}

$c->undecided('cut.pdb', 'failed', qr/truncated/, 'a truncated body');
is count('cut'), 3, 'is fetched three times';
$c->undecided('cutchunk.pdb', 'failed', qr/./, 'a truncated chunked body');
$c->undecided('nowhere.pdb', 'failed', qr/^302$/, '302 without Location');
$c->undecided('empty.pdb', 'unusable', qr/empty/, '200 with an empty body');
$c->undecided('html.pdb', 'unusable', qr/HTML/, '200 with HTML');
for (qw(huge endless)) {
    $c->undecided("$_.pdb", 'unusable', qr/larger than/, "$_: over the limit");
    is count($_), 1, "$_: is not tried again";
}

sub restart {
    $t->stop_symcached;
    return Test::SourceCase->new($t, sources => { up => {
        type => 'http', url => $_[0], layout => 'symstore',
        internal => JSON::PP::true(),
    } }, limits => { download_time => '2s' });
}

# limits
$c = restart($up->url);
for (['stall', 'a body that stalls'], ['silent', 'no answer at all']) {
    $c->undecided("$_->[0].pdb", 'failed', qr/download_time|in time|timed out/,
                  $_->[1]);
}

# what the server asked for is obeyed, and reaches the one who waits
$r = $c->undecided('after.pdb', 'failed', qr/^503$/, '503 with Retry-After');
is $r->{retry}, 7, 'and with its number';
is count('after'), 1, 'is not tried again';
my $asked = () = $up->requests;
$r = $c->undecided('chunked2.pdb', 'failed', qr/wants a pause/,
                   'another file of that server');
cmp_ok $r->{retry}, '>=', 1, 'has to wait as well';
is scalar(() = $up->requests), $asked, 'and is not asked for';

$c = restart($up->url);
$r = $c->undecided('date.pdb', 'failed', qr/^429$/, '429 with a date');
cmp_ok $r->{retry}, '>', 60, 'is understood';
cmp_ok $r->{retry}, '<=', 91, 'as the time from now';
is count('date'), 1, 'and not tried again';

$c = restart($up->url);
$r = $c->undecided('century.pdb', 'failed', qr/^429$/,
                   '429 with a large number');
cmp_ok $r->{retry}, '<=', 600, 'is held within bounds';

# a server that is not there
my $dead = Test::Symcache::free_port();
$c = restart("http://127.0.0.1:$dead");
$c->undecided('gone.pdb', 'failed', qr/./, 'a server that is not there');

$t->finish;
done_testing;
