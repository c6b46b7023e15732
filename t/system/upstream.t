#!/usr/bin/perl

# The table of upstream.md: a hundred kinds of upstream misbehaviour, what
# clients see, and what is remembered for how long.  Every row is run: no row
# ends in a final 404 that is not true, or in a wrong file.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use JSON::PP ();
use POSIX ();
use Test::Cabinet;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $other = $t->read_file($t->data('pdb/basic32-min.pdb'));
my $id = $Test::Symcache::key{'crash.pdb'};
my ($guid) = $id =~ /^(.{32})/;
my $size = length $crash;
my $half = int $size / 2;
my $html = '<!DOCTYPE html><html><body>Not here</body></html>';

# --- what servers do

sub whole  { my %h = @_; sub { $_[0]->reply(200, {%h}, $crash) } }
sub body   { my ($b, %h) = @_; sub { $_[0]->reply(200, {%h}, $b) } }
sub status { my ($s, $b, %h) = @_; sub { $_[0]->reply($s, {%h}, $b // '') } }
sub raw    { my ($text) = @_; sub { $_[0]->send($text); $_[0]->close } }
sub moved  { my ($to, $s) = @_;
             sub { $_[0]->reply($s // 302, { Location => $to }, '') } }

# Sends that much of a good answer; then $end: close, reset or wait.
sub part {
    my ($n, $end, %h) = @_;
    return sub {
        my ($c) = @_;
        my $text = $c->reply_text(200, {%h}, $crash);
        $n += length($text) - $size if $n < 0 || $n > 200;
        $c->send(substr $text, 0, $n);
        $c->wait_for_peer(60) if $end eq 'wait';
        $end eq 'reset' ? $c->reset : $c->close;
    };
}

# file.ptr with a text; the PDB itself is not there.
sub pointer {
    my ($text, %h) = @_;
    return sub {
        $_[1]{path} =~ m{/file\.ptr$} ? $_[0]->reply(200, {%h}, $text)
                                      : $_[0]->reply(404, {}, '');
    };
}

sub http_date {
    return POSIX::strftime('%a, %d %b %Y %H:%M:%S GMT', gmtime(time + $_[0]));
}

my %strong = (ETag => '"1"', 'Accept-Ranges' => 'bytes');
my $gz = Compress::Zlib::memGzip($crash);
my $chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

my %script = (
    (map { ("status$_" => status($_)) } 201, 202, 203, 205, 206, 300, 304,
        400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 412, 415, 416,
        418, 421, 423, 451, 500, 501, 502, 503, 504, 505, 507, 511, 520, 204),
    page404 => status(404, $html, 'Content-Type' => 'text/html'),
    endless404 => sub {
        $_[0]->send("HTTP/1.0 404 No\r\n\r\n");
        for (1 .. 1000) { $_[0]->send('no such file ' x 1000) or last }
        $_[0]->close;
    },
    page500 => status(500, $html), page403 => status(403, '<Error/>'),
    nonsense => status(999),

    nolocation => status(302), emptylocation => moved(''),
    badlocation => moved('http://[/'), ftp => moved('ftp://127.0.0.1/x'),
    local => moved('file:///etc/passwd'),
    loop => sub { $_[0]->reply(302, { Location => $_[1]{uri} }, '') },
    twoloop => sub { $_[0]->reply(302, { Location => $_[1]{uri} =~ /\?/
        ? $_[1]{path} : "$_[1]{path}?n=2" }, '') },
    growing => sub { $_[0]->reply(307, { Location => "$_[1]{uri}x" }, '') },
    signin => moved('/_signin?realm=x'), oauth => moved('/oauth2/authorize'),
    website => moved('/website/'), moved404 => moved('/status404.pdb/x'),
    moved500 => moved('/status500.pdb/x'), movedhome => moved('/html.pdb/x'),
    moveddead => moved('http://127.0.0.1:1/x'),

    empty => body(''), html => body($html, 'Content-Type' => 'text/html'),
    shout => body("\r\n<HTML>", 'Content-Type' => 'text/plain'),
    xml => body('<?xml version="1.0"?><Error/>'),
    json => body('{"error":"not found"}'), text => body("Not found\n"),
    zeros => body("\0" x 65536), noise => body("\xa5" x 65536),
    wrongpdb => body($other), image => body("MZ\x90\0" . "\0" x 4096),
    elf => body("\x7fELF" . "\0" x 4096), zip => body("PK\3\4" . "x" x 500),
    oldpdb => body("Microsoft C/C++ program database 2.00\r\n\032JG\0\0"
                   . "\0" x 4096),
    portable => body('BSJB' . "\0" x 4096),
    msfz => body("Microsoft MSFZ Container\r\n\032ALD\0\0" . "\0" x 4096),
    headonly => body(substr $crash, 0, 5000),
    halffile => body(substr $crash, 0, $half),
    badgz => body(substr $gz, 0, length($gz) / 2),
    otherzip => body(Compress::Zlib::memGzip($other)),
    twice => body(Compress::Zlib::memGzip($gz)),
    badcab => body(substr Test::Cabinet::cabinet($crash), 0, $half),
    manycab => body(Test::Cabinet::cabinet($crash, files => 2)),
    coded => whole('Content-Encoding' => 'gzip'),
    gzbody => body($gz, 'Content-Encoding' => 'gzip'),
    typed => whole('Content-Type' => 'text/html'),
    cab => body(Test::Cabinet::cabinet($crash)),

    cut => part($half, 'close'), cutreset => part($half, 'reset'),
    cuthead => part(10, 'close'), nobody => part(-$size, 'close'),
    cutstrong => part($half, 'close', %strong),
    cutchunk => raw("${chunked}ffff\r\nMicrosoft"),
    badchunk => raw("${chunked}zz\r\nMicrosoft"),
    chunks => sub {
        $_[0]->send($chunked);
        $_[0]->send(sprintf "%x\r\n%s\r\n", length, $_)
            for unpack '(a100000)*', $crash;
        $_[0]->send("0\r\n\r\n");
    },
    noend => raw("HTTP/1.0 200 OK\r\n\r\n$crash"),
    shortlength => raw("HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n$crash"),
    twolengths => raw("HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n"
                      . "Content-Length: $size\r\n\r\n$crash"),
    badlength => raw("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n$crash"),
    huge => raw("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nM"),
    endless => sub {
        $_[0]->send("HTTP/1.0 200 OK\r\n\r\n");
        for (1 .. 1000) { $_[0]->send("\0" x 65536) or last }
        $_[0]->close;
    },

    closed => sub { $_[0]->close }, reset => sub { $_[0]->reset },
    noise1 => raw("\0\1\2\3 garbage\r\n\r\n"), http9 => raw($crash),
    smtp => raw("220 mail ESMTP\r\n"), badstatus => raw("HTTP/1.1 xx\r\n\r\n"),
    bigheader => raw("HTTP/1.1 200 OK\r\nX: " . 'x' x 400_000 . "\r\n\r\n"),
    manyheaders => sub {
        $_[0]->send("HTTP/1.1 200 OK\r\n");
        for (1 .. 2000) { $_[0]->send("X-$_: " . 'x' x 1000 . "\r\n") or last }
        $_[0]->close;
    },
    silent => sub { $_[0]->wait_for_peer(60); $_[0]->close },
    continues => sub { $_[0]->send("HTTP/1.1 100 Continue\r\n\r\n") ;
                       $_[0]->wait_for_peer(60); $_[0]->close },
    slowhead => sub { $_[0]->send("HTTP/1.1 200 OK\r\nX: ");
                      $_[0]->wait_for_peer(60); $_[0]->close },
    stall => part($half, 'wait'),
    drip => sub {
        $_[0]->send("HTTP/1.1 200 OK\r\nContent-Length: $size\r\n\r\n");
        for (unpack '(a1)*', substr $crash, 0, 200) {
            $_[0]->send($_) or last;
            last if $_[0]->wait_for_peer(0.1);
        }
        $_[0]->close;
    },

    message => pointer('MSG: not kept'), nomap => pointer('PATH:\\\\s\\t\\x'),
    etc => pointer('PATH:/etc/passwd'), outside => pointer('PATH:..\\..\\x'),
    ptrhtml => pointer($html), ptrempty => pointer(''),
    ptrhuge => pointer('x' x 100_000),
    ptrdead => pointer('PATH:http://127.0.0.1:1/x.pdb'),

    # each of a host of its own, as it tells the host to be left alone
    after503 => status(503, '', 'Retry-After' => 90),
    after429 => status(429, '', 'Retry-After' => 90),
    date429 => sub { $_[0]->reply(429,
        { 'Retry-After' => http_date(90) }, '') },
    century => status(429, '', 'Retry-After' => 1 << 40),
    past => status(503, '', 'Retry-After' => http_date(-3600)),
    word => status(429, '', 'Retry-After' => 'soon'),
    minus => status(503, '', 'Retry-After' => -5),
    index500 => sub { $_[0]->reply($_[1]{path} =~ /index2/ ? 500 : 404,
                                   {}, '') },
    indexhtml => sub { $_[1]{path} =~ /index2/
        ? $_[0]->reply(200, {}, $html) : $_[0]->reply(404, {}, '') },
);

my @own = qw(after503 after429 date429 century past word minus index500
             indexhtml);
my %up = map {
    my $own = $_;
    $_ => Test::ScriptedServer->new(log => $t->path("up.$_"), script => sub {
        my ($c, $req) = @_;
        my ($name) = $req->{path} =~ m{^/(\w+)[.]pdb/};
        return $c->reply(200, { 'Content-Type' => 'text/html' }, $html)
            if $req->{path} =~ m{^/(website|_signin|oauth2)};
        my $do = $own ne 'main' ? $script{$own}
            : defined $name ? $script{$name} : undef;
        return $do ? $do->($c, $req) : $c->reply(404, {}, '');
    });
} 'main', @own;

# Not reached, or not asked as they want to be.
my $yes = JSON::PP::true();
my %special = (
    refused => { url => 'http://127.0.0.1:1' },
    noname => { url => 'http://no-such-host.invalid' },
    tlsplain => { url => $up{main}->url =~ s/http:/https:/r },
    reserved => { url => $up{main}->url, internal => JSON::PP::false() },
    deadproxy => { url => 'http://symbols.test',
                   proxy => 'http://127.0.0.1:1' },
    wrongproxy => { url => 'https://symbols.test',
                    proxy => $up{main}->url },
    (map { $_ => { url => $up{$_}->url } } @own),
    nodirectory => { type => 'filesystem', path => "$dir/nowhere" },
    nofolder => { type => 'filesystem', path => "$dir/main.file" },
);
$t->write_file('main.file', 'no directory');

# --- the table

my (@rows, %row);
for (split /\n/, Test::Symcache->read_file("$FindBin::Bin/upstream.md")) {
    my ($kind, $what, $client, $kept) = /^\| `(\w+)` \| (.*) \| (.*) \| (.*) \|$/
        or next;
    push @rows, $kind;
    $row{$kind} = [$client, $kept];
}
cmp_ok scalar @rows, '>=', 100, 'a hundred kinds';
is_deeply [sort @rows], [sort keys %script, grep { !$script{$_} }
                         keys %special], 'the table has every kind, once';

my $not = join '|', sort keys %special;
$t->start_symcached({
    stores => { default => {
        root => $t->path('store'), sources => ['main', sort keys %special],
        transcoders => [{ version => '9.0.0', command => ['/bin/sh', '-c',
            'cp "$0" "$1/$(basename "$0")-v9.0.0.symcache"', '{pdb}',
            '{out}'] }],
    } },
    sources => {
        main => { type => 'http', url => $up{main}->url, internal => $yes,
                  except => "^($not)[.]pdb\$" },
        map { my $s = $special{$_};
              $_ => { type => 'http', only => "^$_\[.]pdb\$",
                      (($s->{type} // 'http') eq 'http' && !exists
                       $s->{internal} ? (internal => $yes) : ()), %$s }
        } keys %special,
    },
    limits => { downloads => 200, downloads_per_host => 200, attempts => 2,
                download_size => '4m', download_time => '20s',
                first_byte_time => '3s', stall_time => '3s',
                breaker_failures => 0 },
    cache => { retry_errors_after => '10m', min_free => '0' },
});
$t->start_nginx($t->default_locations('symcache_hold_timeout 60s;'));

my %held = map {
    $_ => $t->open_http($t->nginx_socket, 'GET', "/hold/v9.0.0/$_.pdb/$guid")
} @rows;

# What is remembered of a key, and for how long, in the words of the table.
sub remembered {
    my ($kind) = @_;
    my $r = $t->helper('GET',
                       "/v1/symcache/default/$kind.pdb/$id?version=9.0.0");
    if ($r->{status} == 200) {
        my $path = Test::Symcache::header($r, 'X-Symcache-Path');
        return ($t->read_file("store/$path") // '') eq $crash
            ? 'the right file' : 'a wrong file';
    }
    my ($entry) = glob "$dir/store/$kind.pdb/*/*.absent";
    if ($r->{status} == 404) {
        my $valid = Test::Symcache::header($r, 'X-Symcache-Valid') // 0;
        return 'an unsaved absence' unless $entry;
        return $valid > 3500 && $valid <= 3600
            ? 'absence, `retry_misses_after`' : "absence, $valid s";
    }
    return 'failure, with an entry of absence' if $entry;
    my $after = Test::Symcache::header($r, 'Retry-After') // 0;
    return $after > 500 && $after <= 600
        ? 'failure, `retry_errors_after`' : "failure, $after s";
}

for my $kind (@rows) {
    my ($client, $kept) = @{ $row{$kind} };
    my $r = $t->read_response($held{$kind});
    my $poll = $t->get("/poll/v9.0.0/$kind.pdb/$guid");
    my $again = defined Test::Symcache::header($poll, 'Retry-After');
    is join(', ', map { $_->{status} . (defined
        Test::Symcache::header($_, 'Retry-After') ? ' again' : '') }
        $r, $poll),
        { '200' => '200, 200', '404' => '404, 404',
          'later' => '503 again, 404 again' }->{$client}, "$kind: $client"
        or diag $t->helper('GET', "/v1/why/default/$kind.pdb/$id")->{body};
    is remembered($kind), $kept, "$kind: $kept";
}

$t->finish;
done_testing;
