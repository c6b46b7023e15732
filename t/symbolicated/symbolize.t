#!/usr/bin/env perl

# POST /symbolize/v1: addresses of many files, answered in parts.  The names
# are those of the worked example of the symbfile format, and those of the
# PDB's own page for crash.pdb.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib qw(memGzip memGunzip);
use File::Copy qw(copy);
use File::Path qw(make_path);
use MIME::Base64 qw(encode_base64);
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $json = JSON::PP->new->canonical;
my $id = 'p-eeioXaabrVw_6iCTQqyQ';
my $hex = 'a7e79e8a85da69bad5c3fea209342ac9';
my $build = '9a2b77f0c1d35ec6a86f0ba5aa3cde21f2a7a001';

my $u = Test::Uploads->new(inputs => ['pdb', 'symbfile']);
my $t = $u->t;
my $ranges = $t->read_file($t->data('convert/symbfile/ranges.symbfile'));
my $config = $u->config;
$config->{symbolication}{limits} = { batch_files => 3000, modules => 300,
    batch_pairs => 100000, body_size => '2m' };
$t->start_symbolicated($config);

sub lines { join '', map { ref $_ ? $json->encode($_) . "\n" : "$_\n" } @_ }
sub question { +{ file => $_[0], addrs => [@_[1 .. $#_]] } }
sub ask {
    my ($body, @headers) = @_;
    return $t->post($t->symbolicated_socket, '/symbolize/v1', $body, @headers);
}

# The answers with names in place of numbers; and the last line.
sub named {
    my ($body) = @_;
    my (@strings, @answers, $end);
    for my $line (split /\n/, $body) {
        my $v = $json->decode($line);
        if (my $new = $v->{strings}) {
            @strings = () if $v->{first} == 0;
            $v->{first} == @strings or die "strings begin at $v->{first}\n";
            push @strings, @$new;
        } elsif ($v->{counts}) {
            $end = $v;
        } else {
            for my $address (@{ $v->{frames} // [] }) {
                my @n = @$address;
                my @frames;
                while (my ($function, $file, $line) = splice @n, 0, 3) {
                    push @frames, "$strings[$function] $strings[$file]:$line";
                }
                $address = join '; ', @frames;
            }
            push @answers, $v;
        }
    }
    return \@answers, $end;
}

# --- a file that is being made, and then is there

my $r = ask(lines(question($id, 0x2000)));
my ($answers, $end) = named($r->{body});
is_deeply $answers, [{ file => $id, state => 'missing', retry_after => 5 }],
    'a file that symcached is asked for' or diag $r->{raw};
$t->wait_until('it is known to be absent', sub {
    ($answers) = named(ask(lines(question($id, 0x2000)))->{body});
    !exists $answers->[0]{retry_after};
});
is_deeply $answers, [{ file => $id, state => 'missing' }],
    '... and that nobody has';

is $u->request('POST', '/api/symbols-ranges', $ranges, "FileID: $id",
               'Authorization: APIKey ' . encode_base64(
                   'ci:0123456789abcdef0123456789abcdef', ''))->{status},
    200, 'it is uploaded';
$t->wait_until('its names', sub {
    ($answers, $end) = named(ask(lines(question($id, 0x2000)))->{body});
    exists $answers->[0]{frames};
});
is_deeply $answers, [{ file => $id, frames => ['run_loop /src/app.c:18'] }],
    '... and has names';
is_deeply $end, { counts => { lines => 1, pairs => 1, found => 1,
                              missing => 0, refused => 0 } },
    '... which are counted';

# --- the worked example, in any order, and in two ids

my @example = (
    [0x203b => 'run_loop /src/app.c:24'],
    [0x1fff => ''], [0x2040 => ''], [0x2000 => 'run_loop /src/app.c:18'],
    [0x200f => 'run_loop /src/app.c:19'],
    [0x2024 => 'run_loop /src/app.c:21; vec_push /src/vec.h:44'],
    [0x2010 => 'run_loop /src/app.c:21; vec_push /src/vec.h:40'],
    [0x2027 => 'run_loop /src/app.c:21; vec_push /src/vec.h:44'],
    [0x2028 => 'run_loop /src/app.c:24'], [2 ** 32 + 0x2000 => ''],
);
my @addresses = map { $_->[0] } @example;
my @names = map { $_->[1] } @example;
for my $text ($id, "$id==", "hash-$hex") {
    ($answers) = named(ask(lines(question($text, @addresses)))->{body});
    is_deeply $answers, [{ file => $text, frames => \@names }],
        "addresses of $text, in the order of the question";
}

# --- by build ids, many files

my $store = $t->path('store');
my ($symcache) = glob "$store/_/hash-$hex/*.symcache";
sub place {
    my ($key) = @_;
    make_path("$store/_/$key");
    my ($name) = $symcache =~ m{([^/]+)$};
    copy($symcache, "$store/_/$key/$name") or die "copy: $!";
}
my @builds = map { sprintf '%08x%032x', $_, $_ } 1 .. 1000;
# the debug id that is made of a build id of ELF
sub debug_id {
    my ($guid) = map { uc } substr $_[0], 0, 32;
    $guid =~ s/^(..)(..)(..)(..)(..)(..)(..)(..)/$4$3$2$1$6$5$8$7/;
    return "${guid}0";
}
place(debug_id($_)) for $build, @builds;
($answers) = named(ask(lines(question($build, 0x2024), question(uc $build, 0x2028),
                             question("buildid-$build", 0x2000)))->{body});
is_deeply [map { $_->{frames}[0] } @$answers], [@names[5, 8, 3]],
    'a build id, in any case, and as it stands in a key';

$r = ask(lines(map { question($_, @addresses) } @builds));
($answers, $end) = named($r->{body});
is_deeply [map { $_->{file} } @$answers], \@builds,
    'a thousand files, more than are held at a time, in order';
is_deeply [grep { "@{ $_->{frames} }" ne "@names" } @$answers], [],
    '... with their names';
is $end->{counts}{found}, 7000, '... which are counted';
is scalar(() = $r->{body} =~ /run_loop/g), 1, 'a string stands there once';
$t->wait_until('the log has all of it in a line', sub {
    $t->symbolicated_log =~ /protocol=symbolize status=200 frames=10000 modules=1000 missing=0 /
});

# --- lines that are none

my @bad = ('{"file": "x"}', 'x', '{"file": "x", "addrs": [1]}',
           '{"file": 1, "addrs": [1]}', "{\"file\": \"$id\", \"addrs\": [-1]}",
           "{\"file\": \"$id\", \"addrs\": {}}",
           "{\"file\": \"$id\", \"addrs\": [" . join(',', (1) x 16385) . ']}');
($answers, $end) = named(ask(lines(@bad, question($id, 0x2000)))->{body});
is_deeply [map { $_->{state} // 'found' } @$answers],
    [('refused') x @bad, 'found'], 'bad lines are refused, and the others not';
is scalar(grep { $_->{error} } @$answers), scalar @bad, '... each with a reason';
is $end->{counts}{refused}, @bad, '... and counted';
is_deeply [named(ask('')->{body})]->[1]{counts}{lines}, 0, 'no lines';
($answers, $end) = named(ask("\r\n\n" . $json->encode(question($id, 0x2000)))->{body});
is_deeply $answers, [{ file => $id, frames => [$names[3]] }],
    'empty lines, and a last one without an end';

# --- limits

($answers, $end) = named(ask(lines(map { question($id, 0x2000) } 1 .. 3001))->{body});
is scalar @$answers, 3000, 'more files than batch_files: so many are answered';
like $end->{error}, qr/limits\.batch_files/, '... and the last line says why';
($answers, $end) = named(ask(lines(map { question($id, (0x2000) x 10001) } 1 .. 10))->{body});
is scalar @$answers, 9, 'more addresses than batch_pairs';
like $end->{error}, qr/limits\.batch_pairs/, '... and the last line says why';
like ask(' ' x (2 << 20) . 'x')->{raw}, qr/^HTTP\S+ 413 /, 'a large body';
($answers, $end) = named(ask('x' x 600000)->{body});
like $end->{error}, qr/512 KiB/, 'a line of 600,000 bytes';
is $t->http($t->symbolicated_socket, 'GET', '/symbolize/v1')->{status}, 405, 'GET';

# --- packed, both ways

my $body = lines(map { question($_, @addresses) } @builds);
my $plain = ask($body)->{body};
is ask(memGzip($body), 'Content-Encoding: gzip')->{body}, $plain, 'gzip';
is ask(memGzip(substr $body, 0, 5000) . memGzip(substr $body, 5000),
       'Content-Encoding: gzip')->{body}, $plain, '... of two members';
($answers, $end) = named(ask(substr(memGzip($body), 0, 500),
                             'Content-Encoding: gzip')->{body});
like $end->{error}, qr/cut short/, '... that is cut short';
($answers, $end) = named(ask("\x1f\x8bxxxxxxxxxxxxxxxxxx", 'Content-Encoding: gzip')->{body});
like $end->{error}, qr/damaged gzip/, '... that is none';
($answers, $end) = named(ask(memGzip("\n" x (3 << 20)),
                             'Content-Encoding: gzip')->{body});
like $end->{error}, qr/limits\.body_size/, '... that becomes too large';
is ask($body, 'Content-Encoding: br')->{status}, 415, 'another coding';
$r = ask($body, 'Accept-Encoding: br, gzip');
is_deeply $r->{headers}{'content-encoding'}, ['gzip'], 'an answer in gzip';
is memGunzip($r->{body}), $plain, '... is the same';
for ('gzip;q=0', 'gzip; q=0.000', 'gzipx', 'identity') {
    is ask($body, "Accept-Encoding: $_")->{body}, $plain, "none for $_";
}
SKIP: {
    my ($zstd) = grep { -x } map { "$_/zstd" } split /:/, $ENV{PATH};
    skip 'there is no zstd', 3 unless $zstd;
    my $pack = sub {
        my ($text, @options) = @_;
        $t->write_file('zstd.in', $text);
        return scalar qx{'$zstd' -q @options -c < '@{[$t->path('zstd.in')]}'};
    };
    is ask($pack->($body), 'Content-Encoding: zstd')->{body}, $plain, 'zstd';
    $r = ask($body, 'Accept-Encoding: gzip, zstd');
    is_deeply $r->{headers}{'content-encoding'}, ['zstd'], 'an answer in zstd';
    is $pack->($r->{body}, '-d'), $plain, '... is the same';
}

# --- messages

sub varint {
    my ($n) = @_;
    my $out = '';
    for (; $n > 127; $n >>= 7) { $out .= chr($n & 127 | 128) }
    return $out . chr $n;
}
sub field { varint($_[0] << 3 | 2) . varint(length $_[1]) . $_[1] }
sub message { field(1, join '', @_) }
sub packed { field(3, join '', map { varint($_) } @_) }

# Fields of a message: [number, value], as the wire has them.
sub fields {
    my ($bytes) = @_;
    my @fields;
    my $read = sub {
        my ($n, $shift) = (0, 0);
        while (1) {
            my $b = ord substr $bytes, 0, 1, '';
            $n |= ($b & 127) << $shift;
            return $n if $b < 128;
            $shift += 7;
        }
    };
    while (length $bytes) {
        my $tag = $read->();
        my $value = $read->();
        $value = substr $bytes, 0, $value, '' if ($tag & 7) == 2;
        push @fields, [$tag >> 3, $value];
    }
    return @fields;
}
sub numbers { my ($b) = @_; my @n = (0); my $shift = 0;
    for my $byte (unpack 'C*', $b) {
        $n[-1] |= ($byte & 127) << $shift;
        $shift += 7;
        if ($byte < 128) { push @n, 0; $shift = 0 }
    }
    pop @n;
    return @n;
}
sub named_parts {
    my ($body) = @_;
    my (@strings, @answers, %end);
    for (fields($body)) {
        my ($part) = fields($_->[1]);
        my ($kind, @f) = ($part->[0], fields($part->[1]));
        if ($kind == 1) {
            push @strings, map { $_->[1] } grep { $_->[0] == 2 } @f;
        } elsif ($kind == 3) {
            %end = map { @$_ } @f;
        } else {
            my %f = map { @$_ } @f;
            my @n = numbers($f{6} // '');
            push @answers, { %f, names => [map { join '; ', map {
                my ($function, $file, $line) = splice @n, 0, 3;
                "$strings[$function] $strings[$file]:$line" } 1 .. $_ }
                numbers($f{5} // '')] };
        }
    }
    return \@answers, \%end;
}
my @type = 'Content-Type: application/x-protobuf';
my $bytes = pack 'H*', $hex;
$r = ask(message(field(1, $bytes), packed(@addresses)) .
         message(field(2, pack 'H*', $build), varint(3 << 3) . varint(0x2024),
                 varint(3 << 3) . varint(0x2000), field(9, 'unknown')) .
         message(field(2, 'x'), packed(1)) . message(packed(1)), @type);
is_deeply $r->{headers}{'content-type'}, ['application/x-protobuf'], 'messages';
($answers, $end) = named_parts($r->{body});
is_deeply [map { $_->{names} } @$answers], [\@names, [@names[5, 3]], [], []],
    '... have the same names';
is_deeply [map { $_->{1} } @$answers], [1, 2, 3, 4], '... and their numbers';
is_deeply [map { $_->{2} // 0 } @$answers], [0, 0, 1, 4],
    '... found, found, missing, refused';
is_deeply $end, { 1 => 4, 2 => 13, 3 => 9, 4 => 1, 5 => 1 }, '... and counts';
($answers, $end) = named_parts(ask(message(field(1, $bytes), packed(1)) . 'x', @type)->{body});
is scalar @$answers, 1, 'behind what is no message, nothing is read';
like $end->{6}, qr/SymbolizeRequest/, '... and the end says so';

# --- clients

my $s = Test::Symcache::connect_to($t->symbolicated_socket);
binmode $s;
print $s "POST /symbolize/v1 HTTP/1.0\r\nContent-Length: ", length $body,
    "\r\n\r\n$body";
$s->flush;
{
    local $/;
    my $raw = <$s>;
    my ($head, $got) = split /\r\n\r\n/, $raw, 2;
    ok $head !~ /chunked|content-length/i && $got eq $plain,
        'HTTP/1.0: up to the end of the connection';
}
$s = Test::Symcache::connect_to($t->symbolicated_socket);
binmode $s;
my $twice = "POST /symbolize/v1 HTTP/1.1\r\nHost: h\r\nContent-Length: "
    . length($body) . "\r\n\r\n$body";
print $s $twice, "GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
$s->flush;
{
    local $/;
    my $raw = <$s>;
    like $raw, qr/\r\n0\r\n\r\nHTTP\/1.1 200 OK/, 'the connection is kept';
}
# one that goes in the middle keeps no place
$body = lines(map { question($id, @addresses, (0x2024) x 50) } 1 .. 1500);
for (1 .. 25) {
    $s = Test::Symcache::connect_to($t->symbolicated_socket);
    binmode $s;
    print $s "POST /symbolize/v1 HTTP/1.1\r\nHost: h\r\nContent-Length: ",
        length $body, "\r\n\r\n$body";
    $s->flush;
    sysread $s, my $some, 100;
    close $s;
}
$t->wait_until('their places are free', sub {
    ($t->symbolicated_metric('symbolicated_requests_running') // 1) == 0
});
is ask(lines(question($id, 0x2000)))->{status}, 200, 'clients that go leave nothing';
is $t->symbolicated_metric('symbolicated_requests_total{protocol="symbolize",status="5xx"}'),
    0, 'no request has failed';

# A file is cut short when a request has read the last that it needs of it, and
# before that is sent: another request, which still reads it, notices.

my @many = map { 0x2010 + $_ % 24 } 0 .. 16383;
sub slow {
    my ($body) = @_;
    my $client = Test::Symcache::connect_to($t->symbolicated_socket) or die $!;
    binmode $client;
    print $client Test::Symcache::request_text('POST', '/symbolize/v1',
        'Content-Length: ' . length $body), $body;
    $client->flush;
    return $client;
}
sub rest {
    my ($client, $raw) = (@_, '');
    while (sysread $client, $raw, 1 << 20, length $raw) {}
    return Test::Symcache::parse_response($raw, 'POST');
}

my $reader = slow(lines((question($id, @many)) x 4));
my $last = slow(lines((question($id, @many)) x 4,
    map { question(sprintf('%08x', $_) . 'ab' x 16, 1) } 1 .. 290));
my $raw = '';
my $begun = 4096;    # of the last of four parts, each of which has a question
while (length $raw < $begun) {
    sysread $last, $raw, $begun - length $raw, length $raw or die "it ends: $raw";
    $begun = 3 * hex($1) + 4096 if $raw =~ /\r\n\r\n([0-9a-f]+)\r\n/;
}
truncate $symcache, 0 or die $!;
is rest($reader)->{status}, 200, 'one that reads a file that was cut short';
(undef, $end) = named(rest($last, $raw)->{body});
is $end->{counts}{lines}, 294, '... and one that has read it, and goes on';
ok Test::Symcache::alive($t->{symbolicated}), 'symbolicated lives';

$t->finish;
done_testing;
