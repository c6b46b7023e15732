#!/usr/bin/env perl

# Requests that no client sends: each has an answer, costs no more than its
# limits allow, and harms nobody.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;
my $key = $Test::Symcache::key{'crash.pdb'};
my $invalid = 'Payload is not valid JSON';

$t->fill_store('store', $t->data('pdb/crash.pdb'));
$t->start_symbolicated({
    stores => { default => { root => $t->path('store') } },
    symbolication => { limits => { body_size => '64k', answer_size => '8k',
        frames => 1000, modules => 10 } },
});

# (status, title) of an answer
sub answer {
    my ($body, @headers) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate/v5', $body,
                     @headers);
    my $said = eval { $json->decode($r->{body}) } // {};
    return [$r->{status}, $said->{title}];
}

sub job {
    my ($map, $stacks) = @_;
    return qq({"memoryMap": $map, "stacks": $stacks});
}

my $map = qq([["crash.pdb", "$key"]]);
my $path = 'a' x 4096;
my @refused = (
    ['depth' => '[' x 100, $invalid],
    ['a NUL' => job($map, "[[[0, 1]]]") . "\0", $invalid],
    ['invalid UTF-8' => job(qq([["\xff\xfe", "$key"]]), '[[]]'), $invalid],
    ['half a surrogate' => job(qq([["\\ud800", "$key"]]), '[[]]'), $invalid],
    ['nothing but blanks' => "  \n ", $invalid],
    ['more than one value' => '{} {}', $invalid],
    ['a NUL in a name' => job(qq([["a\\u0000b", "$key"]]), '[[]]'),
     'job 0 has invalid modules: module index 0 has an invalid debug_filename'],
    ['an offset of 65 bits' => job($map, '[[[0, 18446744073709551616]]]'),
     'job 0 has invalid stacks: stack 0 frame 0 has an invalid module_offset'],
    ['an index of 65 bits' => job($map, '[[[18446744073709551616, 0]]]'),
     'job 0 has invalid stacks: stack 0 frame 0 has a module_index that '
         . "isn't in modules"],
    ['minus 2^64' => job($map, '[[[0, -18446744073709551616]]]'),
     'job 0 has invalid stacks: stack 0 frame 0 has an invalid module_offset'],
    ['too many frames' => job($map, '[[' . join(',', ('[0,1]') x 1001) . ']]'),
     'please limit number of frames in a single request to <= 1000'],
    ['too many modules' => job(
        '[' . join(',', map { qq(["m$_.pdb","$key"]) } 0 .. 10) . ']',
        '[[' . join(',', map { "[$_,1]" } 0 .. 10) . ']]'),
     'please limit number of modules in a single request to <= 10'],
    ['a name of 4097 bytes' => job(qq([["${path}a", "$key"]]), '[[]]'),
     'job 0 has invalid modules: module index 0 has an invalid debug_filename'],
    ['too many values' => '{"jobs": [], "x": [' . join(',', (0) x 20000) . ']}',
     'please limit number of JSON values in a single request to <= 17160'],
    ['too long an answer' => job($map, '[[' . join(',', ('[0,10515]') x 100)
        . ']]'),
     'please ask for less: the answer has more than 8192 bytes'],
);
for (@refused) {
    my ($name, $body, $title) = @$_;
    is_deeply answer($body), [400, $title], $name;
}

is_deeply answer(job($map, '[[[0, 18446744073709551615]]]')), [200, undef],
    'an offset of 64 bits';
is_deeply answer('{"stacks": 1, "stacks": [[]], "memoryMap": []}'),
    [200, undef], 'of members that come twice the last one counts';
is_deeply answer('{"jobs": [], "x": ' . '[' x 60 . ']' x 60 . '}'),
    [200, undef], 'what is not known is passed over';
is_deeply answer("\xef\xbb\xbf" . '{"jobs": []}'), [200, undef],
    'a byte order mark';
is_deeply answer(job(qq([["$path", "$key"]]), '[[]]')),
    [200, undef], 'a name of 4096 bytes';
my $r = $t->post($t->symbolicated_socket, '/symbolicate',
    qq({"modules": [{"type": "pe", "code_file": "${path}a"}]}),
    'Content-Type: application/json');
is $r->{status}, 422, 'a code_file of 4097 bytes';
like $r->{body}, qr/: modules\[0\]: code_file: too long$/, 'and why';
is_deeply answer('x' x 65537),
    [413, 'please send less: the body has more than 65536 bytes'],
    'a body that is too long';
my $long = $t->post($t->symbolicated_socket, '/symbolicate/v4', 'x' x 131072,
                    'Origin: http://profiler');
is $long->{status}, 413, 'twice as long';
is Test::Symcache::header($long, 'Access-Control-Allow-Origin'), '*',
    'which every page may read';
$long = $t->post($t->symbolicated_socket, '/symbolicate', 'x' x 65537,
                 'Content-Type: application/json');
is "$long->{status} $long->{body}", '413 Failed to buffer the request body: '
    . 'length limit exceeded', "in Symbolicator's protocol";
is answer('x' x 131073)->[0], 413, 'and longer by far';

# names lead nowhere

for my $name ('..', '.', '.tmp', 'a' x 300, ' ', '-') {
    is_deeply answer(job(qq([["$name", "$key"]]), '[[[0, 1]]]')),
        [200, undef], 'name ' . substr $name, 0, 10;
}

# bodies in parts, and connections that end early

my $s = Test::Symcache::connect_to($t->symbolicated_socket);
print $s "POST /symbolicate/v5 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
    . "Transfer-Encoding: chunked\r\n\r\nc\r\n{\"jobs\": []}\r\n0\r\n\r\n";
$s->flush;
is $t->read_response($s, 'POST')->{status}, 200, 'a body in chunks';
for my $part ('', 'POST /symbolicate/v5 HTTP/1.1', "POST /symbolicate/v5 "
              . "HTTP/1.1\r\nContent-Length: 100\r\n\r\n{") {
    $s = Test::Symcache::connect_to($t->symbolicated_socket);
    print $s $part;
    close $s;
}
for my $line ("GARBAGE\r\n\r\n", "POST /symbolicate/v5 HTTP/1.1\r\n"
              . "Content-Length: -1\r\n\r\n", "\0\0\0\0\r\n\r\n") {
    $s = Test::Symcache::connect_to($t->symbolicated_socket);
    print $s $line;
    shutdown $s, 1;
    $r = $t->read_response($s, 'POST');
    cmp_ok $r->{status}, '!=', 200, 'no HTTP';
}
is_deeply answer('{"jobs": []}'), [200, undef], 'and it goes on';

$t->finish;
done_testing;
