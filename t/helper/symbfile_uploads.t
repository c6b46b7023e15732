#!/usr/bin/env perl

# Symbfiles that profilers' tools send: parts cut at any byte, in any order, more
# than once and by two clients at a time; what is refused, and how; who may; and
# that SymCaches are made of what is stored.  Answers are as the description of
# Elastic's API has them.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib qw(memGzip);
use List::Util qw(shuffle);
use MIME::Base64 qw(decode_base64 encode_base64 encode_base64url);
use Test::Example;
use Test::More;
use Test::Symcache;
use Test::Uploads;

# the format's description has this id for "abc"
my $id = 'p-eeioXaabrVw_6iCTQqyQ';
my $hex = 'a7e79e8a85da69bad5c3fea209342ac9';

my $u = Test::Uploads->new(inputs => ['pdb', 'symbfile'],
                           uploads => { parts_kept => '1h' });
my $t = $u->t;
my $dir = $t->dir;
my $ranges = $t->read_file($t->data('convert/symbfile/ranges.symbfile'));
my $pads = $t->read_file($t->data('convert/symbfile/return-pads.symbfile'));
my $secret = '0123456789abcdef0123456789abcdef';
my $folder = "$dir/uploads/_/hash-$hex";

sub key { 'Authorization: APIKey ' . encode_base64("ci:$_[0]", '') }

sub begin {
    my ($part, $parts, $body, %o) = @_;
    my $page = $o{page} // 'ranges';
    return $u->begin('POST', "/api/symbols-$page", $body,
        'FileID: ' . ($o{id} // $id), "FilePart: $part", "FileParts: $parts",
        exists $o{key} ? $o{key} : key($secret));
}
sub push_part { return $u->read(begin(@_), 'POST') }
sub whole { push_part(0, 1, @_) }
sub stored { $t->read_file("uploads/_/hash-$hex/_.symbfile") }
sub clear { system 'rm', '-rf', "$dir/uploads/_" }

sub refused {
    my ($r, $status, $like, $name) = @_;
    my $j = $r->{json} // {};
    ok $r->{status} == $status && !$j->{success} && $j->{status} == $status &&
        $j->{error}{Code} eq $status && $j->{error}{Text} =~ $like,
        "$name: $status" or diag $r->{raw};
    like $t->helper_log, qr/status=$status uuid=\Q$j->{uuid}\E /,
        "... which the log has with its uuid";
}

# --- what is missing

my $path = "/v1/symcache/default/_/hash-$hex";
my $build = '9a2b77f0c1d35ec6a86f0ba5aa3cde21f2a7a001';
sub missing {
    my ($query, $key) = @_;
    return $u->request('GET', "/api/symbols/missing$query", '',
                       $key // key($secret));
}
sub listed { map { join ' ', $_->{file_id} // $_->{build_id}, $_->{count},
                   $_->{name} } @{ missing(@_)->{json}{missing} } }

is_deeply missing('')->{json}, { success => JSON::PP::true(), status => 200,
    missing => [] }, 'nothing is missing';
for (1 .. 3) {
    is $t->helper('GET', "$path?version=9.0.0&wait=30")->{status}, 404,
        'nobody has the file id';
}
$t->helper('GET', "/v1/debuginfo/default/_/buildid-$build?version=1.0.0&wait=30");
$t->helper('GET', '/v1/symcache/default/libx.so/' .
    uc('f0772b9ad3c1c65ea86f0ba5aa3cde210') .
    "?version=9.0.0&wait=30&code_id=buildid-$build");
$t->helper('GET', '/v1/symcache/default/crash.pdb/'
    . "$Test::Symcache::key{'crash.pdb'}?version=9.0.0&wait=30");
is_deeply [listed('')], ["$build 2 libx.so", "$id 3 "],
    'by file ids and build ids, the latest first, with how often';
is_deeply [listed('?since=1h')], ["$build 2 libx.so", "$id 3 "], 'since an hour ago';
is $t->helper_json('/v1/status')->{jobs}{missing}, 2, '... and how many, in the status';
$t->wait_until('nothing was asked for lately', sub { !listed('?since=1s') });
is_deeply [listed('?since=' . (time - 3600))], ["$build 2 libx.so", "$id 3 "],
    'since a time';
$t->wait_until('what was asked for since', sub {
    $t->helper('GET', "$path?version=9.0.0&wait=30");
    join('|', listed('?since=2s')) =~ /^$id \d+ $/;
});
pass 'what was asked for longer ago is left out';
refused(missing("?since=$_"), 400, qr/since=/, "since=$_")
    for '', 'x', time + 3600;
refused(missing('?x=1'), 400, qr/since=/, 'another query');
refused(missing('', 'X: 1'), 401, qr/APIKey/, 'without a key');

# --- a whole one

my $r = whole($ranges);
is $r->{status}, 200, 'a whole file: 200' or diag $r->{raw};
is_deeply $r->{json}, { success => JSON::PP::true(), status => 200 },
    '... and the answer';
is stored(), $ranges, '... is stored';
is whole($ranges)->{status}, 200, 'the same again';
is whole(memGzip($ranges))->{status}, 200, 'gzip';
is stored(), $ranges, '... is unpacked';
is whole($pads, page => 'returnpads')->{status}, 200, 'return pads';
is $t->read_file("uploads/_/hash-$hex/_.returnpads"), $pads, '... are stored';
is whole($ranges, id => "$id==")->{status}, 200, 'an id with its padding';

# --- read as from Elastic's symbol store

my ($ab, $cd) = $id =~ /^(..)(..)/;
$r = $u->request('GET', "/symbfiles/$ab/$cd/$id/metadata.json", '');
is_deeply $r->{json}, { version => 1, symbolFileReferences => { dwarfFileID => $id } },
    'metadata.json names the file' or diag $r->{raw};
SKIP: {
    my ($zstd) = grep { -x } map { "$_/zstd" } split /:/, $ENV{PATH};
    skip 'there is no zstd', 1 unless $zstd;
    $r = $u->request('GET', "/symbfiles/$ab/$cd/$id/ranges", '');
    $t->write_file('ranges.zst', $r->{body});
    is scalar qx{'$zstd' -dqc '$dir/ranges.zst'}, $ranges, 'ranges are packed with zstd';
}
for ("$ab/$cd/r1Vw9aGBC3r3jK9LxwpmDw/metadata.json", 'r1/Vw/r1Vw9aGBC3r3jK9LxwpmDw/metadata.json',
     'r1/Vw/r1Vw9aGBC3r3jK9LxwpmDw/ranges', "$ab/$cd/$id/other", "$ab/$cd/$id",
     "$ab/$cd/$id==/ranges", "$ab/$cd/../../ranges") {
    is $u->request('GET', "/symbfiles/$_", '')->{status}, 404, "$_: 404";
}

# --- and its SymCache

is_deeply [listed('')], ["$build 2 libx.so"], 'it is no longer missing';
$t->wait_until('a SymCache', sub {
    $t->helper('GET', "$path?version=9.0.0&wait=30")->{status} == 200
});
my ($symcache) = glob "$dir/store/_/hash-$hex/*.symcache";
my $out = qx{'@{[$t->program('symcachectl')]}' lookup '$symcache' 0x2024};
like $out, qr/vec_push.*run_loop/s, 'names are found by the id';
is whole($pads)->{status}, 200, 'a later upload replaces';
ok !-e $symcache, '... and the SymCache of the former goes';
is stored(), $pads, '... with what it was made of';

# --- cut at any byte, in any order, twice

clear();
my @wrong;
for my $cut (1 .. length($ranges) - 1) {
    my @part = (substr($ranges, 0, $cut), substr $ranges, $cut);
    clear();
    my @order = $cut % 2 ? (1, 0) : (0, 1);
    unshift @order, $order[0] if $cut % 8 == 0;
    my @wanted = map { push_part($_, 2, $part[$_])->{status} } @order;
    push @wrong, $cut if grep({ $_ != 200 } @wanted) || stored() ne $ranges;
}
is "@wrong", '', 'two parts, cut at any byte, some of them twice';

# two clients at once, each with all parts in an order of its own
srand 35;
clear();
# a part can have one byte
my @ends = (1, 2, 8, 9, 10, 11, 33, 34, 59, 73, 99, 100, length $ranges);
sub parts { map { my $from = $_ > 0 ? $ends[$_ - 1] : 0;
                  substr $_[0], $from, $ends[$_] - $from } 0 .. $#ends }
my @bytes = parts($ranges);
my @queue = map { [shuffle(0 .. $#bytes)] } 1, 2;
while (@{ $queue[0] }) {
    my @sent = map { my $part = shift @$_; [$part, begin($part, scalar @bytes,
        $bytes[$part])] } @queue;
    for (@sent) {
        my ($part, $socket) = @$_;
        $r = $u->read($socket, 'POST');
        push @wrong, "$part: $r->{status}" if $r->{status} != 200;
    }
}
is "@wrong", '', 'two clients at once';
is stored(), $ranges, '... nothing lost, nothing doubled';

# parts of another file of as many parts, one after the other
my @other = parts(substr($ranges, 0, 42) . 'X' . substr($ranges, 43));
push_part($_, scalar @bytes, $other[$_]) for shuffle(0 .. $#other);
is stored(), join('', @other), 'another file replaces it part by part';

# files of their own
clear();
is push_part(1, 3, $pads)->{status}, 200, 'parts that are files: one';
is push_part(2, 3, $ranges)->{status}, 200, '... two';
ok !-e "$folder/_.symbfile", '... of which not all are there';
is push_part(0, 3, $ranges)->{status}, 200, '... three';
is stored(), $ranges . substr($pads, 10) . substr($ranges, 10),
    '... become one file, of all records';

# --- refusals

clear();
is push_part(0, 3, substr $ranges, 0, 9)->{status}, 200, 'a part of three';
refused(push_part(0, 2, substr $ranges, 0, 9), 409, qr/in 3 parts/,
        'and one of two');
is whole($ranges)->{status}, 200, 'but a whole file replaces what there is';
is stored(), $ranges, '... at once';
is push_part(1, 3, substr $pads, 9, 9)->{status}, 200, '... and the parts go on:';
is push_part(0, 3, substr $pads, 0, 9)->{status}, 200, '... one more';
is push_part(2, 3, substr $pads, 18)->{status}, 200, '... and the last';
is stored(), $pads, '... replace it';
clear();
push_part(0, 2, substr $ranges, 0, 50);
refused(push_part(1, 2, substr $ranges, 50, 50), 400, qr/a record is cut/,
        'parts of which the last is cut');
is push_part(1, 2, substr $ranges, 50)->{status}, 200, '... and whole';
is stored(), $ranges, '... are joined';
clear();
refused(whole($ranges, id => $_), 400, qr/FileID/, "FileID \"$_\"")
    for '', 'abc', "$id=", "${id}A", substr($id, 0, 21) . '*',
    substr($id, 0, 21) . 'R';
$r = $u->request('POST', '/api/symbols-ranges', $ranges, key($secret));
refused($r, 400, qr/FileID/, 'no FileID');
refused(push_part(@$_, $ranges), 400, qr/FilePart/, "part $_->[0] of $_->[1]")
    for [2, 2], [0, 0], [0, 10001], ['x', 2], [0, 'x'], [-1, 2], ['', 2];
refused(whole(''), 400, qr/no body/, 'an empty body');
refused(whole('symbol'), 400, qr/is not a symbfile/, 'no symbfile');
refused(push_part(0, 2, 'MZ'), 400, qr/is not a symbfile/, 'no begin of one');
refused(whole(substr $ranges, 0, 60), 400, qr/offset \d+: a record is cut/,
        'a cut body');
refused(whole(substr memGzip($ranges), 0, 60), 400, qr/\w/, 'cut gzip');
refused(whole($ranges, key => undef), 401, qr/APIKey/, 'no key');
refused(whole($ranges, key => key('f' x 32)), 403, qr/unknown/, 'another key');
refused(whole($ranges, key => "Authorization: APIKey $_"), 403, qr/the API key must be "ID:SECRET"/, "key $_")
    for '?', encode_base64($secret, '');
is whole($ranges, key => 'Authorization: ' . lc('APIKEY ') .
         encode_base64("ci:$secret", ''))->{status}, 200,
    'the scheme in any case';
is whole($ranges, key => $Test::Uploads::token[0])->{status}, 200,
    'a token of other uploads';
clear();
is whole($ranges, key => key('try0123456789abcdef'))->{status}, 200,
    'a key for try builds';
ok -e "$dir/uploads/.try/_/hash-$hex/_.symbfile" &&
    !-e "$folder/_.symbfile", '... stores there';
refused(whole("symbfile\0\1" . "\x80\x80\x80\x04\x09" . "\0" x (17 << 20)),
        413, qr/max_size/, 'too much');
clear();
is push_part(0, 2, $ranges . "\0" x (9 << 20))->{status}, 200, 'half of it';
refused(push_part(1, 2, "\0" x (9 << 20)), 413, qr/together.*max_size/,
        'parts that are too much together');

# two clients at once that cut the file differently
clear();
my @sets = ([substr($ranges, 0, 9), substr $ranges, 9],
    [substr($ranges, 0, 9), substr($ranges, 9, 9), substr $ranges, 18]);
my @codes = map { $u->read($_, 'POST')->{status} }
    map { begin(0, scalar @$_, $_->[0]) } @sets;
is "@{[sort @codes]}", '200 409', 'one of two numbers of parts is refused';
my ($set) = map { $sets[$_] } grep { $codes[$_] == 200 } 0, 1;
is push_part($_, scalar @$set, $set->[$_])->{status}, 200, '... and not both'
    for 1 .. $#$set;
is stored(), $ranges, '... for good';

# --- parts that nobody completes

my $config = $u->config;
$config->{cache} = { clean_every => '1s' };
$config->{uploads}{parts_kept} = '1s';
$t->reload_symcached($config);
clear();
is push_part(0, 2, substr $ranges, 0, 50)->{status}, 200, 'a part that stays alone';
$t->wait_until('it is gone after parts_kept', sub { !-e "$folder/_.symbfile.2-0" });
$config->{uploads}{parts_kept} = '1h';
$t->reload_symcached($config);
is push_part(1, 2, substr $ranges, 50)->{status}, 200, '... the other one';
ok !-e "$folder/_.symbfile", '... makes no file';
is push_part(0, 2, substr $ranges, 0, 50)->{status}, 200, '... until the first is sent again';
is stored(), $ranges, '... then it is whole';

# --- what another machine of a fleet has taken

sub read_symbfile { $u->request('GET', "/symbfiles/$ab/$cd/$id/$_[0]", '') }
sub machine {
    my ($root) = @_;
    $config->{uploads}{root} = "$dir/$root";
    $config->{stores}{default}{root} = "$dir/store-of-$root";
    $config->{downloads} = "$dir/downloads-of-$root";
    $t->stop_symcached;
    $t->start_symcached($config);
}

clear();
mkdir "$dir/$_" or die for qw(fleet other third);
$config->{stores}{default}{tier} = 'fleet';
$config->{tiers} = { fleet => { type => 'filesystem', path => "$dir/fleet" } };
$config->{cache} = { retry_errors_after => '1s' };
$config->{uploads}{spool} = "$dir/uploads/.spool";
machine('uploads');
is whole($ranges)->{status}, 200, 'with a tier';
machine('other');
is read_symbfile('metadata.json')->{status}, 200, 'another machine says that it is there';
$r = read_symbfile('ranges');
is $r->{status}, 200, '... and has it';
SKIP: {
    my ($zstd) = grep { -x } map { "$_/zstd" } split /:/, $ENV{PATH};
    skip 'there is no zstd', 1 unless $zstd;
    $t->write_file('ranges.zst', $r->{body});
    is scalar qx{'$zstd' -dqc '$dir/ranges.zst'}, $ranges, '... as it was sent';
}
rename "$dir/fleet", "$dir/away" or die;
machine('third');
is read_symbfile('metadata.json')->{status}, 503, 'a tier that cannot be read: not absent';
rename "$dir/away", "$dir/fleet" or die;
system 'rm', '-rf', "$dir/fleet/uploads";
$t->wait_until('what is nowhere', sub { read_symbfile('metadata.json')->{status} == 404 });
machine('uploads');

# --- our own client

my $port = Test::Symcache::free_port();
$t->stop_nginx;
Test::Example::start($t, 'uploads.conf', address => "127.0.0.1:$port", put => {
    'listen 80;' => "listen 127.0.0.1:$port;",
    '/run/symcached/uploads.sock' => "$dir/u.sock",
    '/srv/uploads' => "$dir/uploads" });
clear();
$t->write_file('abc', 'abc');
$t->write_file('example.sym', <<'SYM');
MODULE Linux x86_64 000000000000000000000000000000000 app
FILE 0 /src/app.c
FUNC 2000 40 0 run_loop
2000 40 18 0
SYM
my $log = qx{'@{[$t->program('symcachectl')]}' symbfile push \\
    --url http://127.0.0.1:$port --api-key ci:$secret --parts 3 \\
    --debug-file '$dir/example.sym' '$dir/abc' 2>&1};
is $?, 0, 'symcachectl symbfile push' or diag $log;
is qx{'@{[$t->program('symcachectl')]}' symbfile lookup \\
    '$folder/_.symbfile' 0x2000}, "run_loop at /src/app.c:18\n",
    '... names that can be looked up';

ok $u->nothing_left, 'bodies and work files are gone';
$t->finish;
done_testing;
