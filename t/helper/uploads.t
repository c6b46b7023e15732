#!/usr/bin/env perl

# Uploads through nginx as conf-examples/uploads.conf has it: which files are
# taken, what becomes of those that are there, who may, and what is known of
# their keys afterwards.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP qw(decode_json);
use Test::Example;
use Test::More;
use Test::Symcache;
use Test::Zip;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $key = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my @token = ('Auth-Token: 0123456789abcdef0123456789abcdef-build 7');
my @try = ('Auth-Token: try0123456789abcdef');

$t->write_file('tokens', <<'TOKENS');
# token, right, user

0123456789abcdef0123456789abcdef upload ci@example.com
try0123456789abcdef              try    try@example.com
TOKENS

sub config {
    my (%uploads) = @_;
    my $config = $t->default_config('http://127.0.0.1:1');
    $config->{admin_listen} = "unix:$dir/a.sock";
    $config->{uploads} = { root => "$dir/uploads", tokens => "\@$dir/tokens",
                           max_size => '16m', %uploads };
    # there, so that a miss is final
    mkdir "$dir/empty";
    $config->{sources} = { empty => { type => 'filesystem',
                                      path => "$dir/empty" } };
    $config->{stores}{default}{sources} = ['empty', 'uploads'];
    return $config;
}

sub nginx {
    Test::Example::start($t, 'uploads.conf', put => {
        '/run/symcached/admin.sock' => "$dir/a.sock",
        '/srv/uploads' => "$dir/uploads",
        'client_max_body_size     2g' => 'client_max_body_size 64m',
    });
}

sub request {
    my ($method, $uri, $body, @headers) = @_;
    my $s = Test::Symcache::connect_to($t->nginx_socket) or die "nginx: $!";
    binmode $s;
    local $SIG{PIPE} = 'IGNORE';
    print $s Test::Symcache::request_text($method, $uri, @headers,
        'Content-Length: ' . length $body), $body;
    $s->flush;
    my $r = $t->read_response($s, $method);
    $r->{json} = eval { decode_json($r->{body}) };
    return $r;
}

sub put { my ($path, $body, @h) = @_; request('PUT', "/symbols/$path", $body, @h ? @h : @token) }

sub upload {
    my ($zip, @o) = @_;
    my @auth = ref $o[0] ? @{ shift @o } : @token;
    my ($body, $type) = Test::Zip::form('symbols.zip', $zip, @o);
    return request('POST', '/upload/', $body, $type, @auth);
}

sub stored { join ' ', sort map { s{^\Q$dir\E/uploads/}{}r } grep { -f }
    glob("$dir/uploads/*/*/*"), glob("$dir/uploads/.try/*/*/*") }
sub clear { system 'rm', '-rf', glob("$dir/uploads/[a-z]*"), "$dir/uploads/.try" }
sub lookup { $t->get('/symcache/' . $t->request_path('crash.pdb')) }
sub final { my $r = lookup(); $r->{status} == 404 && !header($r, 'Retry-After') }
sub header { Test::Symcache::header(@_) }
sub made { $t->wait_until('a SymCache', sub { !final() && lookup()->{status} == 200 }) }

# A PDB of the same identity and other bytes: the last page is not used.
sub other { my $x = $pdb; substr $x, -1, 1, chr(1 ^ ord substr $x, -1); $x }

mkdir "$dir/uploads"; # nginx makes the last folder only
$t->start_symcached(config());
nginx();

# --- one file

my $path = "crash.pdb/$key/crash.pdb";
$t->wait_until('nobody has it', \&final);
my $r = put($path, $pdb);
is $r->{status}, 201, 'PUT: 201' or diag $r->{raw};
is $r->{json}{result}, 'stored', 'PUT: said so';
is $t->read_file("uploads/$path"), $pdb, 'PUT: the file';
ok !final(), 'the next request knows of it';
ok made(), 'and gets its SymCache';
$r = put("CRASH.pdb/\L$key\E/Crash.PDB", $pdb);
is $r->{status}, 200, 'the same bytes: 200';
is $r->{json}{result}, 'same', 'in whatever case';
$r = put($path, other());
is $r->{status}, 409, 'other bytes: 409';
is $r->{json}{error}, 'conflict', 'and a word';
is $t->read_file("uploads/$path"), $pdb, 'and what is there stays';
is stored(), $path, 'and nothing else is there';
my $file = "$dir/store/crash.pdb/$key/crash.pdb-v9.0.0.symcache";
ok -f $file, 'a SymCache was made';
$r = put("$path?force=1", other());
is $r->{status}, 201, 'with force: 201';
is $r->{json}{result}, 'replaced', 'said so';
ok !-f $file, 'the SymCache of the former file is gone';
is $t->read_file("uploads/$path"), other(), 'the new file';
ok !final(), 'which the next request knows';
ok made(), 'and its SymCache';
is_deeply [glob "$dir/uploads/.spool/*"], [], 'no body is left';

for (['?force=2', 'force'], ['?x=1', 'an unknown key'],
     ['?expires=', 'no time'], ['?expires=1y', 'no such unit'],
     ['?force=1&force', 'no value']) {
    is put("$path$_->[0]", $pdb)->{status}, 400, "query refused: $_->[1]";
}

# --- what it is, is read from the file

clear();
for (["crash.pdb/${\ ($key =~ s/.$/2/r)}/crash.pdb", qr/has the id $key, and/],
     ["crash.pdb/xyz/crash.pdb", qr/has the id $key, and/],
     ["crash.pdb/$key/other.pdb", qr/is called crash\.pdb there/],
     ["crash.pdb/$key/crash.pd_", qr/is called crash\.pdb there/],
     ["crash.pdb/$key/.pdb", qr/not allowed/],
     [".crash.pdb/$key/.crash.pdb", qr/not allowed/],
     ["crash.pdb/$key", qr{the path is}],
     ["crash.pdb/..%2F$key/crash.pdb", qr/not allowed|the path is/]) {
    my ($to, $why) = @$_;
    $r = put($to, $pdb);
    is $r->{status}, 400, "$to: 400" or diag $r->{raw};
    like $r->{json}{detail} // '', $why, "$to: why";
}
is put("../../../v1/drain", $pdb)->{status}, 400, 'no way out of the path';
is put("x/%2e%2e/%2e%2e/drain", $pdb)->{status}, 405, 'nor a hidden one';
for (['', qr/no body/, 'nothing'], ["MZ\0\0", qr/identity/, 'an image'],
     [substr($pdb, 0, 5000), qr/crash\.pdb /, 'half of it'],
     ['<!DOCTYPE html>', qr/identity/, 'a page']) {
    my ($body, $why, $what) = @$_;
    $r = put($path, $body);
    is $r->{status}, 400, "$what: 400";
    like $r->{json}{detail}, $why, "$what: why";
}
my $basic = $Test::Symcache::key{'basic32.pdb'};
$r = put("basic32.pdb/$basic/basic32.pd_",
         $t->read_file($t->data('pdb/basic32.pd_')));
is $r->{status}, 201, 'a cabinet' or diag $r->{raw};
my $sym = "MODULE windows x86_64 $key crash.pdb\nPUBLIC 1000 0 main\n";
$r = put("crash.pdb/$key/crash.sym", $sym);
is $r->{status}, 201, 'Breakpad text' or diag $r->{raw};
is put("other.pdb/$key/other.sym", $sym)->{status}, 400, 'of another module';
is stored(), "basic32.pdb/$basic/basic32.pdb crash.pdb/$key/crash.sym",
    'files are stored unpacked, the wrong ones not at all';
is put($path, 'x' x (17 << 20))->{status}, 413, 'larger than max_size';

# --- archives

clear();
my @files = (["crash.pdb/$key/crash.pdb", $pdb],
             ["crash.pdb/$key/crash.sym", $sym, method => 0]);
$r = upload(Test::Zip::zip(@files, ['build-symbols.txt', "x\n"],
                           ['crash.pdb/', ''], ['a/b/.DS_Store', 'x']));
is $r->{status}, 201, 'an archive: 201' or diag $r->{raw};
my $u = $r->{json}{upload};
is_deeply [sort keys %$u], [qw(bucket completed_at created_at download_url
    filename id redirect_urls size skipped_keys try_symbols user)],
    'what Tecken answers';
is $u->{user}, 'ci@example.com', 'the user';
is $u->{filename}, 'symbols.zip', 'the archive';
is stored(), "crash.pdb/$key/crash.pdb crash.pdb/$key/crash.sym", 'its files';
$r = upload(Test::Zip::zip(@files));
is_deeply [sort @{ $r->{json}{upload}{skipped_keys} }], [sort map { $_->[0] } @files],
    'again: all is skipped';
is upload(Test::Zip::zip([$path, other()]))->{status}, 201, 'other bytes: 201';
is $t->read_file("uploads/$path"), other(), 'replace what was there';
is upload(Test::Zip::zip())->{status}, 400, 'an empty archive is none';
$r = upload(Test::Zip::zip(map { [@$_, zip64 => 1] } @files));
ok $r->{status} == 201 || $r->{body} =~ /field of zip64/,
    'zip64, as far as minizip has it' or diag $r->{raw};

my %sym = map { my $id = sprintf '%032X1', $_;
    ("m$_.pdb/$id/m$_.sym" => "MODULE windows x86 $id m$_.pdb\nFILE 0 a\n") }
    1 .. 100;
clear();
$r = upload(Test::Zip::zip(map { [$_, $sym{$_}] } sort keys %sym));
is $r->{status}, 201, 'a hundred files' or diag $r->{raw};
is stored(), join(' ', sort keys %sym), 'all of them';

# --- try builds

clear();
$r = upload(Test::Zip::zip(@files), try => '1');
ok $r->{json}{upload}{try_symbols}, 'try: said so';
like stored(), qr{^\.try/crash.pdb/$key/crash.pdb }, 'try: apart';
clear();
$r = upload(Test::Zip::zip(@files), [@try]);
ok $r->{json}{upload}{try_symbols}, 'a token for try builds';
$r = upload(Test::Zip::zip(@files), [@try], try => '');
ok $r->{json}{upload}{try_symbols}, 'whatever the form says';
unlike stored(), qr{(?:^| )crash}, 'nothing of them elsewhere';

# --- who

for ([['Auth-Token: wrong'], 'API Token not matched'],
     [['X: y'], 'This requires an Auth-Token to authenticate the request'],
     [['Auth-Token: '], 'This requires an Auth-Token to authenticate the request|API Token not matched']) {
    my ($auth, $text) = @$_;
    $r = upload(Test::Zip::zip(@files), $auth);
    is $r->{status}, 403, "@$auth: 403";
    like $r->{json}{error} // '', qr/^(?:$text)$/, "@$auth: why";
    is put($path, $pdb, @$auth)->{status}, 403, "@$auth: PUT";
}
for my $body ("$dir/tokens", '/etc/passwd', "$dir/uploads/.spool/../../tokens",
              "$dir/uploads/.spool/", "$dir/uploads/.spool/x", '') {
    $r = $t->http("$dir/a.sock", 'PUT', "/v1/uploads/$path", @token,
                  'Content-Length: 0', "X-Symcached-Body: $body");
    is $r->{status}, 400, "body $body: refused";
}
symlink "$dir/tokens", "$dir/uploads/.spool/77";
$r = $t->http("$dir/a.sock", 'PUT', "/v1/uploads/$path", @token,
              'Content-Length: 0', "X-Symcached-Body: $dir/uploads/.spool/77");
is $r->{status}, 400, 'body by a symbolic link: refused';
unlink "$dir/uploads/.spool/77";
is put($path, $pdb, @token, "X-Symcached-Body: $dir/tokens")->{status}, 201,
    "a client's header is replaced";
is $t->helper('PUT', "/v1/uploads/$path", 'Content-Length: 0')->{status}, 403,
    'not on the socket for everybody';
is $t->http("$dir/a.sock", 'GET', '/v1/uploads')->{status}, 405, 'no GET';

$t->finish;
done_testing;
