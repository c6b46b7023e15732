#!/usr/bin/env perl

# Version 2 of Tecken's uploads, as its client upload-symbols speaks it: the
# requests are those of its source (crates/upload-symbols/src/v2.rs of
# mozilla-services/upload-symbols), and the answers have what it reads.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib qw(memGzip);
use Digest::MD5 qw(md5_hex);
use JSON::PP ();
use Test::Clock;
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $u = Test::Uploads->new;
my $t = $u->t;
my $dir = $t->dir;
my $id = $Test::Symcache::key{'crash.pdb'};
my $key = "crash.pdb/$id/crash.pdb";
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $sym = "MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 libx.so\nPUBLIC 1000 0 f\n";
my $text = 'libx.so/0123456789ABCDEF0123456789ABCDEF0/libx.so.sym';
sub header { Test::Symcache::header(@_) }
sub spec { +{ key => $_[0], size => length $_[1], md5_hash => md5_hex($_[1]) } }

sub order {
    my ($files, @headers) = @_;
    return $u->request('POST', '/upload/v2/',
        JSON::PP->new->canonical->encode({ files => $files }), 'Content-Type: application/json',
        @headers ? @headers : @Test::Uploads::token);
}
sub action { my ($r, $n) = @_; $r->{json}{files}[$n // 0]{action} }
sub session { my ($url) = action(@_)->{url} =~ m{^http://[^/]+(/\S+)}; $url }

# A piece of $bytes, from $first on.
sub piece {
    my ($url, $bytes, $first, $size, @headers) = @_;
    my $last = $first + $size - 1;
    return $u->request('PUT', $url, substr($bytes, $first, $size),
        "Content-Range: bytes $first-$last/${\ length $bytes}", @headers);
}

# --- who may

my $r = $u->request('POST', '/upload/auth_info/', '', @Test::Uploads::token);
is $r->{status}, 200, 'auth_info' or diag $r->{raw};
is_deeply [@{ $r->{json} }{qw(email upload_api_version)}], ['ci@example.com', 2],
    'the user, and the version to use';
ok !$r->{json}{try_symbols}, 'no try builds';
cmp_ok $r->{json}{token_expires_at}, '>', time, 'the token does not expire';
ok $u->request('POST', '/upload/auth_info/', '', @Test::Uploads::try)->{json}{try_symbols},
    'a token of try builds';
for my $path ('auth_info', 'v2') {
    $r = $u->request('POST', "/upload/$path/", '{}', 'Auth-Token: none');
    is $r->{status}, 403, "$path: an unknown token";
    is $r->{json}{error}, 'API Token not matched', "$path: said so";
}

# --- files in one piece

$r = order([spec($key, $pdb), spec($text, $sym)]);
is $r->{status}, 201, 'v2: 201' or diag $r->{raw};
is $r->{json}{upload_protocol}, 'gcs-resumable', 'the protocol';
is $r->{json}{user}, 'ci@example.com', 'the user';
is_deeply [map { $_->{key} } @{ $r->{json}{files} }], [$key, $text], 'in the same order';
is action($r)->{type}, 'upload', 'a file is to be sent';
is action($r)->{content_encoding}, undef, 'as it is';
is action($r, 1)->{content_encoding}, 'gzip', 'a text packed';
my $url = session($r);
my $done = piece($url, $pdb, 0, length $pdb);
is $done->{status}, 200, 'sent' or diag $done->{raw};
is_deeply [@{ $done->{json} }{qw(name size)}], [$key, '' . length $pdb], 'an object comes back';
is $t->read_file("uploads/$key"), $pdb, 'it is there';
my $packed = memGzip($sym);
is piece(session($r, 1), $packed, 0, length $packed, 'Content-Encoding: gzip')->{status}, 200,
    'a packed text';
is $t->read_file("uploads/$text"), $sym, 'is stored unpacked';
is piece($url, $pdb, 0, length $pdb)->{status}, 404, 'a session ends with its file';

$r = order([spec($key, $pdb), spec($text, $sym), spec($key, "$pdb ")]);
is_deeply [map { action($r, $_)->{type} } 0 .. 2], ['skip', 'skip', 'upload'],
    'files that are there with the same bytes are skipped';
sub bytes_read { ($t->read_file("/proc/$t->{helper}/io") =~ /^rchar: (\d+)/m)[0] }
my $before = bytes_read();
$r = order([(spec($key, $pdb)) x 1000, spec($key, "$pdb ")]);
is join(' ', map { action($r, $_)->{type} } 0 .. 1000), 'skip ' x 1000 . 'upload',
    'one that is named many times';
cmp_ok bytes_read() - $before, '<', 2 * length $pdb, 'is read once';
$r = order([{ %{ spec($key, $pdb) }, md5_hash => md5_hex('other') }, spec($key, $pdb)]);
is_deeply [map { action($r, $_)->{type} } 0, 1], ['upload', 'skip'],
    'each digest that it is named with is compared';

# --- in pieces

system 'rm', '-rf', glob "$dir/uploads/[a-z]*";
$r = order([spec($key, $pdb)]);
$url = session($r);
my $n = 400_000;
$done = piece($url, $pdb, 0, $n);
is "$done->{status} $done->{reason}", '308 Permanent Redirect', 'a piece: 308'
    or diag $done->{raw};
is header($done, 'Range'), 'bytes=0-' . ($n - 1), 'which says how much has come';
$done = piece($url, $pdb, $n + 7, 100);
is $done->{status}, 308, 'one that does not follow';
is header($done, 'Range'), 'bytes=0-' . ($n - 1), 'is not taken';
$done = $u->request('PUT', $url, '', "Content-Range: bytes */${\ length $pdb}");
is $done->{status}, 308, 'the client can ask how much has come';
is header($done, 'Range'), 'bytes=0-' . ($n - 1), 'and goes on there';
is piece($url, $pdb, $n, $n)->{status}, 308, 'the next piece';
is $u->stored, '', 'nothing is stored yet';
$done = piece($url, $pdb, 2 * $n, length($pdb) - 2 * $n);
is $done->{status}, 200, 'the last one' or diag $done->{raw};
is $t->read_file("uploads/$key"), $pdb, 'the file is whole';
ok $u->nothing_left, 'and nothing else is left';

# --- what is refused

$r = order([spec('a/b', ''), spec('a%/1/a', ''), spec('../1/a', ''),
    { %{ spec('a/1/a', '') }, md5_hash => 'D' x 32 },
    { %{ spec('a/1/a', '') }, size => 17 << 20 }]);
is_deeply [map { action($r, $_)->{msg} } 0 .. 4],
    [('invalid key') x 3, 'invalid MD5 hex digest',
     'the file: more than "uploads.max_size" allows, which is 16777216 bytes'], 'errors of single files';
for (['not JSON', 'no JSON'], ['{"files": "x"}', 'no list'], ['{}', 'none'],
     ['{"files": [{"key": "a/1/a", "size": 1}]}', 'no MD5'],
     ['{"files": [{"key": "a/1/a", "size": -1, "md5_hash": ""}]}', 'a negative size']) {
    $r = $u->request('POST', '/upload/v2/', $_->[0], @Test::Uploads::token);
    is $r->{status}, 400, "$_->[1]: 400";
    is $r->{json}{error}, 'malformed JSON request body', "$_->[1]: said so";
}
$r = order([map { spec("a/1/a$_", '') } 0 .. 1024]);
is_deeply [$r->{status}, $r->{json}{error}], [400, 'too many files'], 'too many files';
$r = order([spec('other.pdb/' . ('A' x 32) . '1/other.pdb', $pdb)]);
$done = piece(session($r), $pdb, 0, length $pdb);
is $done->{status}, 400, 'a file that is another one';
like $done->{json}{error}, qr/crash\.pdb|\Q$id\E|3249D99D/i, 'said by the core';
for (['', 'no range'], ['bytes 0-1', 'no total'], ['bytes 5-1/9', 'a negative one'],
     ['bytes 0-9/9', 'beyond the end'], ['bytes 0-x/9', 'no number']) {
    is $u->request('PUT', session($r), 'xx', $_->[0] ? "Content-Range: $_->[0]" : ())
        ->{status}, 400, "$_->[1]: 400";
}
is $u->request('PUT', session($r), 'xx', 'Content-Range: bytes 0-2/9')->{status}, 400,
    'a body of another length';
is $u->request('PUT', '/upload/v2/' . '0' x 32, 'xx', 'Content-Range: bytes 0-1/2')->{status},
    404, 'an unknown session';

# --- try builds and labels

$r = order([spec($text, $sym)], @Test::Uploads::try);
piece(session($r), $sym, 0, length $sym);
is $t->read_file("uploads/.try/$text"), $sym, 'a try build';
$r = order([spec($key, $pdb)], @Test::Uploads::token, 'X-Symcached-Labels: build=7');
is action($r)->{type}, 'upload', 'with labels nothing is skipped';
is piece(session($r), $pdb, 0, length $pdb)->{status}, 200, 'sent';
is $t->read_file('uploads/.builds/%/%/7'), "\L$key\E\n" =~ s/\L$id/$id/r,
    'and the build has it';

# --- pieces that no client goes on with, and a disk without room for them

SKIP: {
    my $clock = Test::Clock->new($t) or skip Test::Clock::why(), 4;
    sub pieces { grep { (readlink // '') =~ m{^\Q$dir\E/uploads/.*\(deleted\)} }
        glob "/proc/$t->{helper}/fd/*" }
    $t->stop_symcached;
    $t->start_symcached($u->config, env => $clock->env(all => 1));
    system 'rm', '-rf', glob "$dir/uploads/[a-z]*";
    $url = session(order([spec($key, $pdb)]));
    is piece($url, $pdb, 0, $n)->{status}, 308, 'a piece';
    # what nginx had of it may be open for a moment, too
    ok $t->wait_until('one file is left', sub { pieces() == 1 }),
        'is kept in a file without a name';
    $clock->set(3700);
    ok $t->wait_until('it is closed', sub { $t->metric('x'); !pieces() }),
        'for an hour, also if nobody begins another upload';
    is piece($url, $pdb, $n, $n)->{status}, 404, 'and the session has ended';
}
$t->stop_symcached;
my $config = $u->config;
$config->{cache}{min_free} = '1024t';
$t->start_symcached($config);
$done = piece(session(order([spec($key, $pdb)])), $pdb, 0, $n);
is $done->{status}, 507, 'pieces leave cache.min_free';
is $done->{json}{error},
    'the piece cannot be kept: no room: would leave less than cache.min_free', 'which it says';
is header($done, 'Retry-After'), 15, 'and when to send it again';
like $t->helper_log, qr{\[error\] .*user=ci\@example.com file=\Q$key\E bytes=0-399999: the piece cannot be kept: no room.*; the client can send it again},
    'and the log';

# --- a file that has come, and could not be stored

$t->stop_symcached;
$config = $u->config;
$config->{uploads}{replace} = JSON::PP::false;
$t->start_symcached($config);
$t->write_file("uploads/$text", "$sym\n");
$url = session(order([spec($text, $sym)]));
is piece($url, $sym, 0, 10)->{status}, 308, 'a piece of a file, in whose place is another one';
is piece($url, $sym, 10, length($sym) - 10)->{status}, 409, 'which stays';
unlink "$dir/uploads/$text" or die $!;
is piece($url, $sym, 10, length($sym) - 10)->{status}, 200,
    'when that has gone, the last piece is sent again';
is $t->read_file("uploads/$text"), $sym, 'and the file is there';

for (1 .. 64) {
    $t->write_file("uploads/$text", "$sym\n") if $_ == 1;
    $url = session(order([spec($text, $sym)]));
    piece($url, $sym, 0, 10);
    piece($url, $sym, 10, length($sym) - 10)->{status} == 409 or last;
    $n = $_;
}
is $n, 64, 'as many files as can be incomplete were refused';
$url = session(order([spec($key, $pdb)]));
is piece($url, $pdb, 0, 400_000)->{status}, 308, 'which do not keep another one from being sent';

# --- a token that is revoked meanwhile

my $tokens = $t->read_file('tokens');
$t->write_file('tokens', "fedcba9876543210fedcba9876543210 upload other\@example.com\n");
$t->reload_symcached($u->config);
$done = piece($url, $pdb, 400_000, length($pdb) - 400_000);
is $done->{status}, 403, 'a file that a revoked token has begun is not taken' or diag $done->{raw};
$t->write_file('tokens', $tokens);
$t->reload_symcached($u->config);
is piece($url, $pdb, 400_000, length($pdb) - 400_000)->{status}, 200, '... but a valid one';
system 'rm', '-rf', glob "$dir/uploads/[a-z]*";

# --- a spool on another file system

SKIP: {
    my $spool = "/dev/shm/symcached-spool.$$";
    mkdir $spool or skip "/dev/shm: $!", 3;
    if ((stat $spool)[0] == (stat "$dir/uploads")[0]) {
        rmdir $spool;
        skip '/dev/shm is no other file system', 3;
    }
    $t->stop_symcached;
    $t->stop_nginx;
    $config = $u->config;
    $config->{uploads}{spool} = "$spool/.spool";
    $t->start_symcached($config);
    $u->start_nginx('/srv/uploads' => "$spool/"); # "//" in the paths of bodies
    $url = session(order([spec($key, $pdb)]));
    is piece($url, $pdb, 0, $n)->{status}, 308, 'a piece from another file system';
    is piece($url, $pdb, $n, length($pdb) - $n)->{status}, 200, 'and the rest';
    is $t->read_file("uploads/$key"), $pdb, 'make the file';
    $t->stop_nginx;
    system 'rm', '-rf', $spool;
}

$t->finish;
done_testing;
