#!/usr/bin/perl

# A SymCache in a format that is not public, from another server: nobody here
# can see whether it is whole.  So only an answer is believed that says what
# it is, comes to its end, and was asked for.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use Digest::SHA ();
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $guid = '3249D99D0C4049318610F4E4FB0B6936';
my $id = $guid . '1';
my $body = "\1\2no format that is known" . "\xa5\0\x5a" x 33_326;
my $size = length $body;
my $half = 50_000;
my $type = 'application/vnd.ms-symcache; version=3.1.0';
my %type = ('Content-Type' => $type);
my %strong = (%type, ETag => '"v1"', 'Accept-Ranges' => 'bytes');

# One of the open format, made from the fixture.
mkdir $t->path('made');
system($t->program('pdb2symcache'), '-pdb', $t->data('pdb/crash.pdb'), '-o',
       $t->path('made/own')) == 0 or die;
my $own = $t->read_file('made/own');

my $sum = 'sha-256=:' . Digest::SHA::sha256_base64($body) . '=:';
my $wrong = 'sha-256=:' . Digest::SHA::sha256_base64('x') . '=:';
my $sum512 = 'sha-512=:' . Digest::SHA::sha512_base64('x') . '==:';

sub head {
    my ($status, $headers) = @_;
    return "HTTP/1.$status\r\n" . join('', map { "$_: $headers->{$_}\r\n" }
        sort keys %$headers) . "\r\n";
}

sub cut {
    my ($c) = @_;
    $c->send(head('1 200 OK', { %strong, 'Content-Length' => $size })
             . substr $body, 0, $half);
    $c->close;
}

sub bytes {
    my @bytes = @_;
    return sub { $_[0]->send(join '', @bytes); $_[0]->close };
}

sub reply {
    my @answer = @_;
    return sub { $_[0]->reply(@answer); $_[0]->close };
}

sub chunks {
    return join '', (map { sprintf "%x\r\n%s\r\n", length, $_ }
                     unpack '(a30000)*', $_[0]), "0\r\n\r\n";
}

my $before = $t->path('n');
mkdir $before;

# The n-th request for a name.
sub nth {
    open my $fh, '>>', "$before/$_[0]" or die $!;
    syswrite $fh, '.';
    close $fh;
    return -s "$before/$_[0]";
}

# name => what is sent at each request, or [at the first, at the next ...]
my %script = (
    # framed, each in its way
    length => reply(200, \%type, $body),
    chunked => bytes(head('1 200 OK', { %type, 'Transfer-Encoding' =>
        'chunked' }), chunks($body)),
    length10 => bytes(head('0 200 OK', { %type, 'Content-Length' => $size }),
                      $body),
    identity => reply(200, { %type, 'Content-Encoding' => 'identity' }, $body),
    resumed => [\&cut, sub { $_[0]->reply(206, { 'Content-Range' => sprintf
        'bytes %u-%u/%u', $half, $size - 1, $size }, substr $body, $half) }],
    again => [\&cut, reply(200, \%type, $body)],

    # with the digest of the file, or of the answer
    repr => reply(200, { %type, 'Repr-Digest' => $sum }, $body),
    content => reply(200, { %type, 'Content-Digest' => "$sum512, $sum" },
                     $body),
    both => reply(200, { %type, 'Content-Digest' => $sum, 'Repr-Digest' =>
        $sum }, $body),
    unread => reply(200, { %type, 'Repr-Digest' => $sum512 }, $body),
    nodigest => reply(200, { %type, 'Repr-Digest' => 'sha-256=:AAAA:' },
                      $body),
    # whose end can be known, then
    unframedrepr => bytes(head('1 200 OK', { %type, 'Repr-Digest' => $sum }),
                          $body),
    resumedrepr => [
        bytes(head('1 200 OK', { %strong, 'Content-Length' => $size,
                                 'Repr-Digest' => $sum }),
              substr $body, 0, $half),
        sub { $_[0]->reply(206, { 'Repr-Digest' => $sum,
            'Content-Digest' => $wrong, 'Content-Range' => sprintf
            'bytes %u-%u/%u', $half, $size - 1, $size }, substr $body, $half)
        }],
    mended => [reply(200, { %strong, 'Repr-Digest' => $sum },
                     'x' . substr $body, 1),
               reply(200, { %strong, 'Repr-Digest' => $sum }, $body)],
    # the file has been replaced meanwhile
    otherrest => [
        bytes(head('1 200 OK', { %strong, 'Content-Length' => $size,
                                 'Repr-Digest' => $wrong }),
              substr $body, 0, $half),
        sub { $_[0]->reply(206, { 'Repr-Digest' => $sum, 'Content-Range' =>
            sprintf 'bytes %u-%u/%u', $half, $size - 1, $size },
            substr $body, $half) },
        reply(200, { %type, 'Repr-Digest' => $sum }, $body)],

    # and with another one
    damaged => reply(200, { %type, 'Repr-Digest' => $sum },
                     substr($body, 0, -1) . 'x'),
    damaged2 => reply(200, { %type, 'Content-Digest' => $sum },
                      substr($body, 0, -1) . 'x'),
    quarrel => reply(200, { %type, 'Content-Digest' => $wrong,
                            'Repr-Digest' => $sum }, $body),
    cutrepr => bytes(head('1 200 OK', { %type, 'Repr-Digest' => $sum }),
                     substr $body, 0, $half),
    halves => [
        bytes(head('1 200 OK', { %strong, 'Content-Length' => $size,
                                 'Repr-Digest' => $sum }),
              substr $body, 0, $half),
        sub { $_[0]->reply(206, { 'Content-Range' => sprintf
            'bytes %u-%u/%u', $half, $size - 1, $size },
            "\xee" x ($size - $half)) },
        bytes(head('1 200 OK', { %strong, 'Repr-Digest' => $sum }), '')],

    # a part for the whole
    emptied => [\&cut, reply(200, \%strong, '')],
    emptied2 => [\&cut, bytes(head('1 200 OK', { %strong,
        'Transfer-Encoding' => 'chunked' }), "0\r\n\r\n")],
    shorter => [\&cut, sub { $_[0]->reply(206, { 'Content-Range' => sprintf
        'bytes %u-%u/%u', $half, $size - 1, $size }, substr $body, $half, 9)
    }],
    unframed => bytes(head('1 200 OK', { %type, Connection => 'close' }),
                      substr $body, 0, $half),
    unframed10 => bytes(head('0 200 OK', \%type), substr $body, 0, $half),
    chunked10 => bytes(head('0 200 OK', { %type, 'Transfer-Encoding' =>
        'chunked' }), chunks($body)),
    notchunked => bytes(head('1 200 OK', { %type, 'Transfer-Encoding' =>
        'identity' }), $body),
    cutchunk => bytes(head('1 200 OK', { %type, 'Transfer-Encoding' =>
        'chunked' }), substr chunks($body), 0, $half),
    nolastchunk => bytes(head('1 200 OK', { %type, 'Transfer-Encoding' =>
        'chunked' }), substr chunks($body), 0, -5),
    part => reply(206, { %type, 'Content-Range' =>
        sprintf 'bytes 0-%u/%u', $half - 1, $size }, substr $body, 0, $half),
    multipart => reply(206, { 'Content-Type' =>
        'multipart/byteranges; version=3.1.0; boundary=x' },
        "--x\r\n\r\n$body\r\n--x--\r\n"),
    multipart200 => reply(200, { 'Content-Type' =>
        'multipart/byteranges; version=3.1.0; boundary=x' },
        "--x\r\n\r\n$body\r\n--x--\r\n"),
    part200 => reply(200, { %type, 'Content-Range' =>
        sprintf 'bytes 0-%u/%u', $half - 1, $size }, substr $body, 0, $half),

    # of which the first said what it is, and the last does not
    forgets => [\&cut, reply(200, {}, $body)],
    forgets2 => [sub { $_[0]->reply(302, { %type, Location => '/cut' }, '') },
                 reply(200, {}, $body)],

    # something else
    gzip => reply(200, { %type, 'Content-Encoding' => 'gzip' },
                  Compress::Zlib::memGzip($body)),
    brotli => reply(200, { %type, 'Content-Encoding' => 'br' }, $body),
    html => reply(200, { 'Content-Type' => 'text/html; version=3.1.0' },
                  $body),
    json => reply(200, { 'Content-Type' =>
        'application/json;version=3.1.0' }, $body),
    other203 => reply(203, \%type, $body),
    longer => reply(200, \%type, $own . "\0"),
    hinted => bytes("HTTP/1.1 103 Early Hints\r\nContent-Type: $type\r\n\r\n",
                    head('1 200 OK', { 'Content-Length' => $size }), $body),
    trailed => bytes(head('1 200 OK', { 'Transfer-Encoding' => 'chunked',
        Trailer => 'Content-Type' }), chunks($body) =~
        s/\r\n\z/Content-Type: $type\r\n\r\n/r),
);

# a header that breaks off, a body that does: whatever it is, it is no answer
my %broken = map {
    my ($status, @lines) = @$_;
    my $h = join '', map { "$_\r\n" } @lines;
    ("head$status" => bytes("HTTP/1.1 $status Scripted\r\n$h"),
     "midline$status" => bytes("HTTP/1.1 $status Scripted\r\n${h}Retry-Af"),
     "body$status" => bytes("HTTP/1.1 $status Scripted\r\n"
         . "Content-Length: 100\r\n${h}\r\nSorry"));
} [404], [401], [302, 'Location: /length'], [304], [503, 'Retry-After: 1'];
delete $broken{body304};   # has none
%script = (%script, %broken);

# for who has 3.0.5 already
my %upgrade = (
    nothing => bytes("HTTP/1.1 304 Scripted\r\n\r\n"),
    broken => $broken{head304},
    same => reply(200, { 'Content-Type' => $type =~ s/3\.1\.0/3.0.5/r },
                  $body),
);

my $s = Test::ScriptedServer->new(log => $t->path('requests'), script => sub {
    my ($c, $req) = @_;
    return cut($c) if $req->{path} eq '/cut';
    my ($name) = $req->{path} =~ m{^/v3\.1\.0/(\w+)\.pdb/}
        or return $c->reply(404, {}, '');
    my $n = nth($name);
    my $do = $script{$name} // $upgrade{$name};
    $do = $do->[$n > @$do ? -1 : $n - 1] if ref $do eq 'ARRAY';
    $do->($c, $req);
});

# --- HTTP/2, frame by frame: the end of a body is a flag there

sub frame {
    my ($kind, $flags, $stream, $payload) = @_;
    return substr(pack('N', length $payload), 1)
        . pack('CCN', $kind, $flags, $stream) . $payload;
}

my $h2head = frame(4, 0, 0, '') . frame(4, 1, 0, '') . frame(1, 4, 1,
    "\x88\x0f\x10" . pack('C/a*', $type));
my %h2 = (
    h2 => frame(0, 1, 1, substr $body, 0, 9000),
    h2eof => frame(0, 0, 1, substr $body, 0, 9000),
    h2reset => frame(0, 0, 1, substr $body, 0, 9000)
        . frame(3, 0, 1, pack 'N', 0),
    h2cancel => frame(0, 0, 1, substr $body, 0, 9000)
        . frame(3, 0, 1, pack 'N', 8),
    h2goaway => frame(0, 0, 1, substr $body, 0, 9000)
        . frame(7, 0, 0, pack 'NN', 1, 0),
);
my %h2server = map {
    my $name = $_;
    $name => Test::ScriptedServer->new(log => $t->path("$name.log"),
        script => sub {
            my ($c) = @_;
            $c->send($h2head . $h2{$name});
            # to close with frames of the client unread would be a reset, by
            # which it loses what it has not read yet
            shutdown $c->{fh}, 1;
            while ($c->wait_for_peer && sysread $c->{fh}, my $frames, 4096) {}
            $c->close;
        });
} sort keys %h2;

# ---

my $yes = JSON::PP::true();
$t->start_symcached({
    stores => {
        default => { root => $t->path('s'), sources => ['box', keys %h2] },
    },
    sources => {
        box => { type => 'symcache', internal => $yes, url => $s->url,
                 only => '^(?!h2)' },
        map { $_ => { type => 'symcache', internal => $yes, only => "^$_\\.",
                      url => $h2server{$_}->url, http_version => '2' } }
            keys %h2,
    },
    limits => { attempts => 3, breaker_failures => 1000,
                downloads_per_host => 100, downloads => 100 },
    cache => { retry_errors_after => '1s' },
});

# What becomes of all of them, at once.
sub ask_all {
    my %held = map { $_ => $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/$_.pdb/$id?version=3.1.0&wait=60") }
        keys %script, keys %h2;
    return map { $_ => $t->read_response($held{$_})->{status} } keys %held;
}

sub why {
    my ($name) = @_;
    my $why = $t->helper_json("/v1/why/default/$name.pdb/$id");
    my ($last) = reverse @{ $why->{attempts} } or return 'nothing';
    return "$last->{outcome} ($last->{detail})";
}

sub published {
    my ($name) = @_;
    my $file = "s/$name.pdb/$id/$name.pdb-v3.1.0.symcache";
    return -e $t->path($file) ? $t->read_file($file) : undef;
}

my %first = ask_all();
my %second = ask_all();

my @digests = qw(repr content both unframedrepr resumedrepr mended otherrest);
# With the libcurl of these versions a reset without an error ends a stream.
my $reset_ends = Test::Symcache::libcurl() >= 0x080300;
for (qw(length chunked length10 identity resumed again unread nodigest),
     $reset_ends ? () : 'h2', @digests) {
    is "$first{$_} $second{$_}", '200 200', "$_: believed";
    ok published($_) eq ($_ eq 'h2' ? substr $body, 0, 9000 : $body),
        "$_: all of it" or diag why($_);
}

sub refused {
    my ($name, $reason) = @_;
    is "$first{$name} $second{$name}", '503 503', "$name: not believed";
    ok !defined published($name), "$name: nothing is published";
    like why($name), $reason, "$name: and why says that";
}

refused('emptied', qr/^unusable \(200, empty body\)/);
refused('emptied2', qr/^unusable \(200, empty body\)/);
refused('shorter', qr/^failed \(206, /);
refused($_, qr/^failed \(damaged on the way: its SHA-256 is another one\)/)
    for qw(damaged damaged2 quarrel cutrepr);
refused('halves', qr/./);
refused($_, qr/^unusable \(200 without a length/)
    for qw(unframed unframed10 notchunked);
refused('chunked10', qr/^(?:unusable|failed) \(./);
refused($_, qr/^failed \(./)
    for qw(cutchunk nolastchunk h2eof h2cancel h2goaway);
SKIP: {
    skip 'libcurl 8.3.0 and later do not tell a stream that was reset without '
        . 'an error from one that has ended: without a length, none is '
        . 'believed', 3 if $reset_ends;
    refused('h2reset', qr/^failed \(./);
}
refused($_, qr/^unusable \(200 without a length/)
    for $reset_ends ? qw(h2 h2reset) : ();
refused($_, qr/^failed \(206, which was not asked for\)/)
    for qw(part multipart);
refused($_, qr/^unusable \(200 with a page/) for qw(multipart200 html json);
refused('part200', qr/^unusable \(200 with a part: Content-Range/);
refused($_->[0], qr/^unusable \(200 with Content-Encoding.*"$_->[1]"/)
    for ['gzip', 'gzip'], ['brotli', 'br'];
refused('other203', qr/^failed \(203\)/);
refused('longer', qr/^unusable .*something else follows/);
refused($_, qr/^unusable \(200 with no version/) for qw(hinted trailed forgets forgets2);

for (sort keys %broken) {
    my ($status) = /(\d+)/;
    refused($_, qr/^failed \($status, truncated (?:header|body)\)/);
}

is $t->metric('symcached_digests_total{result="match"}'), scalar @digests,
    'digests are counted';
cmp_ok $t->metric('symcached_digests_total{result="differ"}'), '>=', 10,
    'and those that are another one';
my ($asked) = grep { $_->{path} =~ /repr/ } $s->requests;
is $asked->{headers}{'want-repr-digest'}, 'sha-256=10', 'they are asked for';

# --- an older file is here, and its server has nothing newer

for my $name (sort keys %upgrade) {
    my $file = "s/$name.pdb/$id/$name.pdb-v3.0.5.symcache";
    $t->write_file($file, "old\n");
    my $r = $t->helper('GET',
                       "/v1/symcache/default/$name.pdb/$id?version=3.1.0");
    is $r->{status}, 200, "$name: the older one is served";
    $t->wait_until("$name: the server was asked", sub {
        why($name) ne 'nothing'
    });
    is $t->read_file($file), "old\n", "$name: and stays";
}
like why('nothing'), qr/^not found \(304, nothing newer\)/, '304 is believed';
like why('broken'), qr/^failed \(304, truncated header\)/,
    'but not half of one';
like why('same'), qr/^not found \(200 with nothing newer\)/,
    'nor is the same fetched again and again';
is $t->metric('symcached_symcache_answers_total{answer="not_modified"}'), 2,
    'counted as such';

$_->stop for $s, values %h2server;
$t->finish;
done_testing;
