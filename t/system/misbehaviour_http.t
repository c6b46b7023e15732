#!/usr/bin/perl

# The table of what upstreams do wrong, its first part: symbol servers over
# HTTP.  What the clients see, what is cached, and for how long: no row ends
# in a final 404 that is not true, or in a wrong file.  docs/internals/misbehaviour.md
# has the same rows.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use IO::Socket::INET;
use JSON::PP ();
use POSIX ();
use Test::Cabinet;
use Test::Misbehaviour;
use Test::More;
use Test::Symcache;

my $m = Test::Misbehaviour->new;
my ($t, $id, $pdb, $other, $html) = $m->given;
my $yes = JSON::PP::true();

sub head {
    my (%h) = @_;
    return "HTTP/1.1 200 OK\r\n" . join('', map { "$_: $h{$_}\r\n" }
        sort keys %h) . "\r\n";
}

sub whole { head('Content-Length' => length $pdb) }

# After the first bytes, bytes at a pace, until the peer has enough.
sub drip {
    my ($c, $first, $piece, $pause) = @_;
    $c->send($first);
    while (!$c->{closed} && $c->send($piece)) {
        last if $c->wait_for_peer($pause);
    }
    $c->close;
}

# --- connections

$m->section('Connections');

sub nowhere {
    my ($kind, $class, $why, $url, %o) = @_;
    $m->source($kind, $class, $why,
               { type => 'http', url => $url, internal => $yes }, %o);
}

nowhere('refuses connections', error => qr/^failed .*connect/mi,
        'http://127.0.0.1:' . Test::Symcache::free_port());
nowhere('has a name that nobody resolves', error => qr/^failed .*resolv|timed/mi,
        'http://no-such-host.invalid', slow => 1);

# a listener whose queue is full takes no more SYN
my $full = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1)
    or die "listen: $!";
listen $full, 0;
my @queued = map {
    IO::Socket::INET->new(PeerAddr => '127.0.0.1', Blocking => 0,
                          PeerPort => $full->sockport)
} 1 .. 4;
nowhere('does not answer to SYN', error => qr/^failed .*(?:timed|timeout)/mi,
        'http://127.0.0.1:' . $full->sockport, slow => 1);
nowhere('is at a private address, and the source is not `internal`',
        error => qr/^failed .*(?:reserved|private)/mi,
        'http://127.0.0.1:' . $full->sockport);
$m->{sources}{sprintf 'row%03da', scalar $m->rows}{internal} =
    JSON::PP::false();

my @broken = (
    ['closes without an answer', sub { $_[0]->close }],
    ['resets without an answer', sub { $_[0]->reset }],
    ['closes within the header', sub {
        $_[0]->send("HTTP/1.1 200 OK\r\nContent-Le"); $_[0]->close },
     qr/^(?:failed|unusable) ./m],
    ['closes behind the header', sub { $_[0]->send(whole()); $_[0]->close }],
    ['resets within the header', sub {
        $_[0]->send("HTTP/1.1 200 OK\r\nContent-Le"); $_[0]->reset }],
    ['closes within the body', sub {
        $_[0]->send(whole() . substr $pdb, 0, 300000); $_[0]->close }],
    ['resets within the body', sub {
        $_[0]->send(whole() . substr $pdb, 0, 300000); $_[0]->reset }],
    ['cuts a chunked body', sub {
        $_[0]->send(head('Transfer-Encoding' => 'chunked') . "10000\r\n"
                    . substr $pdb, 0, 40000);
        $_[0]->close }],
    ['ends a body whose length it did not tell too early', sub {
        $_[0]->send(head() . substr $pdb, 0, 300000); $_[0]->close },
     qr/^unusable .*(?:truncated|damaged)/m],
);
$m->web($_->[0], error => $_->[2] // qr/^failed ./m, $_->[1]) for @broken;
$m->web('never answers', error => qr/^failed (?:no answer in time|not asked: .* no first byte)/m,
        sub { $_[0]->wait_for_peer(60); $_[0]->close }, slow => 1);
$m->web('says 100 Continue, and nothing more', error => qr/^failed ./m, sub {
    $_[0]->send("HTTP/1.1 100 Continue\r\n\r\n"); $_[0]->wait_for_peer(60);
    $_[0]->close }, slow => 1);
$m->web('stalls within the header', error => qr/^failed ./m, sub {
    $_[0]->send("HTTP/1.1 200 OK\r\n"); $_[0]->wait_for_peer(60);
    $_[0]->close }, slow => 1);
$m->web('stalls within the body', error => qr/^failed stalled/m, sub {
    $_[0]->send(whole() . substr $pdb, 0, 3000); $_[0]->wait_for_peer(60);
    $_[0]->close }, slow => 1);
$m->web('drips the body, byte by byte', error => qr/^failed stalled/m,
        sub { drip($_[0], whole() . substr($pdb, 0, 3000), 'x', 0.1) },
        slow => 1);
$m->web('drips the header without end', error => qr/^failed ./m,
        sub { drip($_[0], "HTTP/1.1 200 OK\r\n", "X: y\r\n", 0.1) },
        slow => 1);
$m->web('sends steadily, for longer than `download_time`',
        error => qr/^failed took longer than download_time/m,
        sub { drip($_[0], whole(), substr($pdb, 0, 2000), 0.2) }, slow => 1);

# --- HTTP

$m->section('HTTP');

my @http = (
    ['sends garbage instead of HTTP', "\0\1\2 garbage\r\n\r\n"],
    ['is an SSH server', "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"],
    ['is an SMTP server', "220 mail.example.com ESMTP ready\r\n"],
    ['answers as HTTP/0.9 did, without a header', $html],
    ['has a status that is not a number', "HTTP/1.1 abc OK\r\n\r\n"],
    ['has a status of two digits', "HTTP/1.1 20 OK\r\n\r\n"],
    ['speaks a version that there is not', "HTTP/7.3 200 OK\r\n\r\n"],
    ['has a Content-Length that is not a number',
     head('Content-Length' => 'many') . $pdb],
    ['has a negative Content-Length', head('Content-Length' => -5) . $pdb],
    ['has a line of a header that never ends',
     "HTTP/1.1 200 OK\r\nX: " . 'y' x 400_000,
     qr/^failed .*(?:a line of the header is too long|grew larger than allowed)/m],
    ['has a header of half a megabyte', "HTTP/1.1 200 OK\r\n"
        . ('X-Filler: ' . 'y' x 1000 . "\r\n") x 500 . "\r\n"],
    ['has a chunk size that is not a number',
     head('Transfer-Encoding' => 'chunked') . "xyz\r\nabc\r\n"],
    ['has a chunk size beyond all numbers',
     head('Transfer-Encoding' => 'chunked') . 'f' x 40 . "\r\nabc\r\n"],
    ['has a transfer encoding that nobody knows',
     head('Transfer-Encoding' => 'rot13') . 'abc'],
);
for (@http) {
    my ($what, $bytes, $error) = @$_;
    $m->web($what, error => $error // qr/^(?:failed|unusable) ./m,
            sub { $_[0]->send($bytes); $_[0]->close });
}
$m->web('says fewer bytes than it sends', error => qr/^unusable ./m, sub {
    $_[0]->send(head('Content-Length' => 5000, Connection => 'close') . $pdb);
    $_[0]->close });
$m->web('sends 100 Continue without end', error => qr/^failed ./m, sub {
    my $c = $_[0];
    1 while $c->send("HTTP/1.1 100 Continue\r\n\r\n" x 100); $c->close },
    slow => 1);
$m->web('sends a body without end', error => qr/^unusable larger than/m, sub {
    my $c = $_[0];
    $c->send(head());
    1 while $c->send("\0" x 65536);
    $c->close });
$m->web("sends trailers without end, $_->[0]",
        # libcurl counts them since 8.14, and stops first where they are short
        error => qr/^failed .*(?:header and trailers too large|Too many response headers)/m, do {
    my ($body, $trailer) = @$_[1, 2];
    sub {
        my ($c) = @_;
        $c->send(head('Transfer-Encoding' => 'chunked') . "${body}0\r\n");
        for (1 .. 320) {
            last if !$c->send($trailer x (100_000 / length $trailer));
        }
        $c->close;
    } }) for ['behind a body', "1\r\nx\r\n", 'X-Filler: ' . 'y' x 88 . "\r\n"],
             ['which look like answers', '', "HTTP/1.1: 200\r\n"];
$m->web('announces more than `download_size`',
        error => qr/^unusable larger than/m, sub {
    $_[0]->send(head('Content-Length' => 1 << 40) . 'x' x 100_000);
    $_[0]->wait_for_peer(60); $_[0]->close });
$m->web('sends the end of the page of an error for ever',
        error => qr/^failed 500/m, sub {
    my $c = $_[0];
    $c->send("HTTP/1.1 500 Oops\r\n\r\n");
    1 while $c->send($html x 100);
    $c->close });
$m->web('answers 404 with a page without end', miss => qr/^not found 404/m,
        sub {
    my $c = $_[0];
    $c->send("HTTP/1.0 404 No\r\n\r\n");
    1 while $c->send($html x 100);
    $c->close });
$m->web('sends 103 Early Hints before the PDB', file => qr//, sub {
    $_[0]->send("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
    $_[0]->reply(200, {}, $pdb) });
$m->web('does not tell the length of the PDB', file => qr//,
        sub { $_[0]->send(head() . $pdb); $_[0]->close });
$m->web('sends the PDB in chunks', file => qr//, sub {
    $_[0]->send(head('Transfer-Encoding' => 'chunked') . join '',
        (map { sprintf "%x\r\n%s\r\n", length, $_ }
         unpack '(a100000)*', $pdb), "0\r\n\r\n") });
$m->web('fails once with 500, and then has the PDB', file => qr//, sub {
    $_[0]->reply($_[2] == 1 ? (500, {}, '') : (200, {}, $pdb)) });
$m->web('resets once within the body, and then has the PDB', file => qr//,
        sub {
    return $_[0]->reply(200, {}, $pdb) if $_[2] > 1;
    $_[0]->send(whole() . substr $pdb, 0, 300000);
    $_[0]->reset });

my $etag = '"one"';
sub cut_with_etag {
    $_[0]->send(head('Content-Length' => length $pdb,
        'Accept-Ranges' => 'bytes', ETag => $etag) . substr $pdb, 0, 300000);
    $_[0]->close;
}
$m->web('breaks off, and goes on with another file than it began with',
        file => qr//, sub {
    return cut_with_etag($_[0]) if $_[2] == 1;
    # If-Range does not hold: the whole of the other version
    $_[0]->reply(200, { ETag => '"two"' }, $pdb) });
$m->web('breaks off, and then has nothing',
        error => qr/^unusable 200, empty body/m, sub {
    return cut_with_etag($_[0]) if $_[2] % 2;
    $_[0]->reply(200, { ETag => $etag }, '') });
$m->web('breaks off each time, and gives no ranges',
        error => qr/^failed truncated body/m, sub { cut_with_etag($_[0]) });
$m->web('breaks off, and the rest has another ETag', file => qr//, sub {
    return cut_with_etag($_[0]) if $_[2] == 1;
    my ($from) = ($_[1]{headers}{range} // '') =~ /^bytes=(\d+)-$/
        or return $_[0]->reply(200, { ETag => '"two"' }, $pdb);
    my $size = length $pdb;
    $_[0]->reply(206, { ETag => '"two"', 'Content-Range' =>
        sprintf 'bytes %d-%d/%d', $from, $size - 1, $size },
        'x' x ($size - $from)) });
$m->web('breaks off, and the rest begins elsewhere', file => qr//, sub {
    return cut_with_etag($_[0]) if $_[2] == 1;
    return $_[0]->reply(200, { ETag => $etag }, $pdb)
        if !$_[1]{headers}{range};
    my $size = length $pdb;
    $_[0]->reply(206, { ETag => $etag, 'Content-Range' =>
        sprintf 'bytes %d-%d/%d', 5, $size - 1, $size }, substr $pdb, 5) });

# --- statuses

$m->section('Statuses, for whatever is asked');

$m->answers("$_ with the PDB as its body", error => qr/^failed $_\b/m, $_, {},
            $pdb) for 201, 202, 203, 206, 299;
$m->answers('204', miss => qr/^not found 204$/m, 204, {}, undef);
$m->answers($_, error => qr/^failed $_$/m, $_, {}, '')
    for 205, 300, 304, 305, 306;
$m->answers('404', miss => qr/^not found 404$/m, 404, {}, '');
$m->answers('404 with a page of HTML', miss => qr/^not found 404$/m, 404,
            { 'Content-Type' => 'text/html' }, $html);
$m->answers('404 with the PDB as its body', miss => qr/^not found 404$/m, 404,
            {}, $pdb);
for (['the header', 'Content-'], ['the page', "Content-Length: 99\r\n\r\nNo"],
     ['the page in chunks', "Transfer-Encoding: chunked\r\n\r\n99\r\nNo"]) {
    my ($what, $text) = @$_;
    $m->web("404, and $what breaks off", error => qr/^failed 404, ./m,
            sub { $_[0]->send("HTTP/1.1 404 No\r\n$text"); $_[0]->close });
}
$m->web('304, and the header breaks off', error => qr/^failed 304, trunc/m,
        sub { $_[0]->send("HTTP/1.1 304 Same\r\nDate"); $_[0]->close });
$m->answers('410', miss => qr/^not found 410$/m, 410, {}, '');
$m->answers('400', error => qr/^failed 400$/m, 400, {}, '');
$m->answers('400 for a name with odd characters',
            error => qr/^failed 400, no plain answer$/m, 400, {}, '',
            name => ' #1');
$m->web('400 for a name with odd characters, where others were found',
        error => qr/^failed 400, no plain answer$/m, sub {
    $_[0]->reply($_[1]{path} =~ /before/ ? (200, {}, $pdb) : (400, {}, ''));
}, name => ' #1', before => 1);
$m->web('400 for a name with odd characters, and 404 for `index2.txt`',
        miss => qr/^not found 400$/m, sub {
    $_[0]->reply($_[1]{path} =~ /index2/ ? 404 : 400, {}, '');
}, name => ' #1');
$m->answers('401 with Basic', error => qr/^failed 401$/m, 401,
            { 'WWW-Authenticate' => 'Basic realm="x"' }, '');
$m->answers('401 with Negotiate', error => qr/^failed 401$/m, 401,
            { 'WWW-Authenticate' => 'Negotiate' }, '');
$m->answers('401 with a password given', error => qr/^failed 401$/m, 401,
            { 'WWW-Authenticate' => 'Basic realm="x"' }, '',
            source => { auth => { type => 'basic', user => 'u',
                                  password => 'wrong' } });
$m->answers($_, error => qr/^failed $_$/m, $_, {}, $html)
    for 402, 403, 405 .. 409, 411 .. 418, 421 .. 426, 428, 429, 431, 440,
        444, 451, 498, 499;
$m->answers($_, error => qr/^failed $_$/m, $_, {}, '')
    for 500 .. 511, 520 .. 527, 530, 599;
$m->answers($_, error => qr/^failed ./m, $_, {}, '') for 600, 999;

# --- wishes

$m->section('Retry-After');

sub later {
    my ($kind, $status, $value, $seconds, %o) = @_;
    $m->answers($kind, error => qr/^failed ./m, $status,
        { 'Retry-After' => $value }, '', seconds => $seconds, %o);
}

for (429, 503) {
    later("$_ with Retry-After: 2", $_, 2, 60);
    later("$_ with Retry-After: 240", $_, 240, 240);
    later("$_ with Retry-After: 999999999", $_, 999_999_999, 600);
    later("$_ with Retry-After of 35,000 years", $_, 1 << 40, 600);
    later("$_ with Retry-After of 40 digits", $_, '9' x 40, 60);
    later("$_ with Retry-After: -5", $_, -5, 60);
    later("$_ with Retry-After: soon", $_, 'soon', 60);
    later("$_ with a date in four minutes", $_, POSIX::strftime(
        '%a, %d %b %Y %H:%M:%S GMT', gmtime(time + 245)), 240);
    later("$_ with a date that is over", $_, 'Sat, 01 Jan 2000 00:00:00 GMT',
          60);
}
later('429 with Retry-After: 240 for another PDB', 429, 240, 240,
      before => 1);
later('500 with Retry-After: 240', 500, 240, 60);
later("404 with Retry-After: $_", 404, $_, 60) for 0, 240;
later('410 with Retry-After: 240', 410, 240, 60);

# --- redirects

$m->section('Redirects');

sub to {
    my ($kind, $class, $why, $status, $location, %o) = @_;
    $m->web($kind, $class, $why, sub {
        my ($c, $req, $n) = @_;
        return $c->reply(200, {}, $pdb) if $req->{path} eq '/right';
        return $c->reply(200, {}, $html) if $req->{path} =~ m{^/(?:sign|page)};
        return $c->reply(404, {}, '') if $req->{path} eq '/missing';
        return $c->reply(503, {}, '') if $req->{path} eq '/down';
        return $c->reply(401, {}, '') if $req->{path} eq '/locked'
            && !$req->{headers}{authorization};
        my $to = ref $location ? $location->($req, $n) : $location;
        $c->reply($status, { Location => $to }, '');
    }, %o);
}

to("$_ to the PDB", file => qr//, $_, '/right')
    for 301, 302, 303, 307, 308;
$m->web('302 to the PDB, with a page of 200 KB', file => qr//, sub {
    return $_[0]->reply(200, {}, $pdb) if $_[1]{path} eq '/file';
    $_[0]->reply(302, { Location => '/file' }, 'x' x 200_000);
});
$m->web('302 to the PDB, with a page without end', error => qr/^failed 302$/m,
        sub {
    my $c = $_[0];
    $c->send("HTTP/1.1 302 Moved\r\nLocation: /file\r\n\r\n");
    1 while $c->send($html x 100);
    $c->close });
to("$_ to a sign-in page", error => qr/^failed redirect to a login page/m, $_,
   '/signin?back=x') for 301, 302;
to('302 to an OAuth server', error => qr/^failed redirect to a login page/m,
   302, '/oauth2/authorize');
to('302 to another host that has the PDB', file => qr//, 302,
   sub { "http://other.localhost:" . ($_[0]{headers}{host} =~ /(\d+)$/)[0]
         . '/other.pdb' });
to('302 to a page of HTML', error => qr/^unusable .*HTML/m, 302, '/page');
$m->web('302 to where it is missing, and the header breaks off',
        error => qr/^failed 302, truncated header/m, sub {
    return $_[0]->reply(404, {}, '') if $_[1]{path} eq '/missing';
    $_[0]->send("HTTP/1.1 302 Found\r\nLocation: /missing\r\n");
    $_[0]->close });
to('302 to where it is missing', miss => qr/^not found 404/m, 302,
   '/missing');
to('302 to where the server fails', error => qr/^failed 503/m, 302, '/down');
to('302 to itself', error => qr/^failed too many redirects/m, 302,
   sub { $_[0]{uri} });
to('302 to and fro', error => qr/^failed too many redirects/m, 302,
   sub { $_[0]{path} eq '/a' ? '/b' : '/a' });
to('302 to another path each time', error => qr/^failed too many redirects/m,
   302, sub { "/next$_[1]" });
to('307 to a longer URL each time', error => qr/^failed too many redirects/m,
   307, sub { "$_[0]{uri}x" });
to('302 without a Location', error => qr/^failed 302/m, 302, undef);
to('302 with an empty Location', error => qr/^failed ./m, 302, '');
to('302 to no URL', error => qr/^failed ./m, 302, 'http://[::zz/');
to("302 to $_->[0]", error => qr/^failed redirect to another protocol/m, 302,
   $_->[1])
    for ['a file of the machine', 'file:///etc/passwd'],
        ['FTP', 'ftp://127.0.0.1/x'], ['Gopher', 'gopher://127.0.0.1/x'],
        ['a script', 'javascript:alert(1)'], ['data', 'data:,x'];
to('302 to a host that is not there', error => qr/^failed .*connect/mi, 302,
   'http://localhost:' . Test::Symcache::free_port() . '/');
to('302 with a password in the URL, which is not sent',
   error => qr/^failed 401/m, 302,
   sub { "http://u:p\@$_[0]{headers}{host}/locked" });

# --- bodies

$m->section('200 with something else than the PDB');

sub body {
    my ($kind, $why, $bytes, %o) = @_;
    $m->answers($kind, error => $why, 200, $o{type}
        ? { 'Content-Type' => $o{type} } : {}, $bytes, %o);
}

body('nothing', qr/^unusable 200, empty body/m, '');
body('a sign-in page', qr/^unusable .*HTML/m, $html);
body('a sign-in page behind a byte order mark', qr/^unusable .*HTML/m,
     "\xef\xbb\xbf\r\n$html");
body('a sign-in page that is said to be a PDB', qr/^unusable .*HTML/m, $html,
     type => 'application/octet-stream');
body('a page in UTF-16', qr/^unusable ./m,
     "\xff\xfe" . join '', map { "$_\0" } split //, $html);
body('an error in JSON', qr/^unusable ./m, '{"error":"not signed in"}',
     type => 'application/json');
body('an error in XML', qr/^unusable .*XML/m,
     '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>');
body('"Not Found" as text', qr/^unusable ./m, "Not Found\n");
body('a picture', qr/^unusable ./m, "\x89PNG\r\n\x1a\n" . "\0" x 100);
body('one byte', qr/^unusable ./m, 'M');
body('zeros', qr/^unusable ./m, "\0" x 100_000);
body('a PE image', qr/^unusable .*PE/m, "MZ" . "\0" x 1000);
body('an ELF file', qr/^unusable .*ELF/m, "\x7fELF" . "\0" x 1000);
body('a zip archive', qr/^unusable .*zip/m, "PK\3\4" . "\0" x 1000);
body('a PDB 2.0', qr/^unusable .*2\.0/m,
     "Microsoft C/C++ program database 2.00\r\n\x1aJG\0\0" . "\0" x 1000);
body('a portable PDB', qr/^unusable .*portable/m, 'BSJB' . "\0" x 1000);
body('an MSFZ container of an unknown version', qr/^unusable .*MSFZ/m,
     "Microsoft MSFZ Container\r\n\x1aALD\0\0\1" . "\0" x 1000);
body('the text of a `file.ptr`', qr/^unusable .*file\.ptr/m,
     'PATH:\\\\server\\share\\x.pdb');
body('the PDB of another build', qr/^unusable wrong GUID/m, $other);
body('the PDB with another age', qr/^unusable wrong age/m, $pdb,
     key => substr($id, 0, 32) . '2');
body('the PDB cut to a third, of that length', qr/^unusable ./m,
     substr $pdb, 0, 340_000);
body('the first block of the PDB', qr/^unusable ./m, substr $pdb, 0, 4096);
body('the signature of a PDB', qr/^unusable ./m, substr $pdb, 0, 32);
my $blocks = $pdb;
substr $blocks, 32, 4, pack 'V', 3;
body('a PDB with an odd size of blocks', qr/^unusable ./m, $blocks);
my $directory = $pdb;
substr $directory, 52, 4, pack 'V', 0xfffffff0;
body('a PDB whose directory is nowhere', qr/^unusable ./m, $directory);

$m->section('200 with something packed');

my $gzip = Compress::Zlib::memGzip($pdb);
body('a cabinet with nothing in it', qr/^unusable ./m,
     Test::Cabinet::cabinet(''));
body('a cabinet with another file', qr/^unusable ./m,
     Test::Cabinet::cabinet("readme\n" x 100));
body('a cabinet with the PDB of another build', qr/^unusable wrong GUID/m,
     Test::Cabinet::cabinet($other));
body('a cabinet with two files', qr/^unusable ./m,
     Test::Cabinet::cabinet($pdb, files => 2));
body('a cabinet that is cut', qr/^unusable ./m,
     substr Test::Cabinet::cabinet($pdb), 0, 300_000);
body('a cabinet that says more than `download_size`', qr/^unusable ./m,
     Test::Cabinet::cabinet($pdb, size => 1 << 30));
body('a cabinet in a cabinet', qr/^unusable .*inside/m,
     Test::Cabinet::cabinet(Test::Cabinet::cabinet($pdb)));
body('gzip that is cut', qr/^unusable truncated gzip/m,
     substr $gzip, 0, 100_000);
my $damaged = $gzip;
substr $damaged, 50_000, 1000, "\0" x 1000;
body('gzip that is damaged', qr/^unusable ./m, $damaged);
body('gzip whose checksum is wrong', qr/^unusable damaged gzip/m,
     substr($gzip, 0, -8) . "\0" x 8);
body('gzip of zeros, more than `download_size`', qr/^unusable larger than/m,
     Compress::Zlib::memGzip("\0" x 8_000_000));
body('gzip of a page', qr/^unusable .*HTML/m,
     Compress::Zlib::memGzip($html));
body('gzip of gzip', qr/^unusable .*inside/m,
     Compress::Zlib::memGzip($gzip));
body('zlib that is cut', qr/^unusable truncated zlib/m,
     substr Compress::Zlib::compress($pdb), 0, 100_000);
body('zstd that is damaged', qr/^unusable ./m,
     "\x28\xb5\x2f\xfd" . 'x' x 1000);
$m->answers('the PDB in gzip, as a plain file', file => qr//, 200, {}, $gzip);
$m->answers('the PDB in gzip, as a Content-Encoding that nobody wanted',
            file => qr//, 200, { 'Content-Encoding' => 'gzip' }, $gzip);
$m->answers('the PDB, plain, said to be gzip', file => qr//, 200,
            { 'Content-Encoding' => 'gzip' }, $pdb);
$m->answers('the PDB, and the SHA-256 of something else',
            error => qr/^failed damaged on the way/m, 200,
            { 'Repr-Digest' => 'sha-256=:' . 'A' x 43 . '=:' }, $pdb);
$m->answers('the PDB, said to be HTML', file => qr//, 200,
            { 'Content-Type' => 'text/html' }, $pdb);

# --- index2.txt

$m->section('`index2.txt`, where all else is 404');

sub index2 {
    my ($kind, $class, $why, @answer) = @_;
    $m->web($kind, $class, $why, sub {
        my ($c, $req) = @_;
        return $c->reply(404, {}, '') if $req->{path} !~ m{/index2\.txt$};
        ref $answer[0] ? $answer[0]->($c) : $c->reply(@answer);
    });
}

index2('500', miss => qr/^failed 500, no plain answer/m, 500, {}, '');
index2('reset', miss => qr/^failed .*, no plain answer/m,
       sub { $_[0]->reset });
index2('a page', miss => qr/^failed 200, no plain answer/m, 200, {}, $html);
index2('JSON', miss => qr/^failed 200, no plain answer/m, 200, {},
       '{"error":"try later"}');
index2('403', miss => qr/^failed 403, no plain answer/m, 403, {}, '');
index2('a redirect to a sign-in page',
       miss => qr/^failed .*, no plain answer/m, 302,
       { Location => '/signin' }, '');

# ---

cmp_ok scalar($m->rows), '>=', 100, 'kinds of misbehaviour';
$m->start;
$m->run;
$m->recover;
$m->document('Symbol servers over HTTP');
$m->finish;
done_testing;
