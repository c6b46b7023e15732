#!/usr/bin/env perl

# Uploads through nginx as conf-examples/uploads.conf has it: which files are
# taken, what becomes of those that are there, who may, and what is known of
# their keys afterwards.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Digest::SHA qw(sha256);
use MIME::Base64 qw(encode_base64);
use Test::Clock;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;
use Time::Piece ();

my $u = Test::Uploads->new;
my $t = $u->t;
my $dir = $t->dir;
my $key = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my @token = @Test::Uploads::token;
my @try = @Test::Uploads::try;

sub put { $u->put(@_) }
sub upload { $u->upload(@_) }
sub stored { $u->stored }
sub clear { $u->clear }
sub lookup { $t->get('/symcache/' . $t->request_path('crash.pdb')) }
sub final { my $r = lookup(); $r->{status} == 404 && !header($r, 'Retry-After') }
sub header { Test::Symcache::header(@_) }
sub made { $t->wait_until('a SymCache', sub { !final() && lookup()->{status} == 200 }) }

# A PDB of the same identity and other bytes: the last page is not used.
sub other { my $x = $pdb; substr $x, -1, 1, chr(1 ^ ord substr $x, -1); $x }

ok -d "$dir/uploads/.try", 'the source of try builds is a folder, and empty';

# --- one file

my $path = "crash.pdb/$key/crash.pdb";
$t->wait_until('nobody has it', \&final);
like $t->helper_log, qr{uploads: \S+/$path not found}, 'it is looked for';
like $t->helper_log, qr{ listens on .*, for uploads on unix:\Q$dir\E/u\.sock$}m, 'the log says where';
unlike $t->helper_log, qr{/uploads/\S+(?:pd_|file\.ptr)}, 'and for no form that is not stored';
my $r = put($path, $pdb);
is $r->{status}, 201, 'PUT: 201' or diag $r->{raw};
is $r->{json}{result}, 'stored', 'PUT: said so';
is $t->read_file("uploads/$path"), $pdb, 'PUT: the file';
ok !final(), 'the next request knows of it';
ok made(), 'and gets its SymCache';
my $file = "$dir/store/crash.pdb/$key/crash.pdb-v9.0.0.symcache";
my $inode = (stat $file)[1];
unlink "$dir/store/.forgotten" or die;
$r = put("CRASH.pdb/\L$key\E/Crash.PDB", $pdb);
is $r->{status}, 200, 'the same bytes: 200';
is $r->{json}{result}, 'same', 'in whatever case';
$r = put($path, other());
is $r->{status}, 409, 'other bytes: 409';
is $r->{json}{error}, 'conflict', 'and a word';
is $t->read_file("uploads/$path"), $pdb, 'and what is there stays';
is stored(), $path, 'and nothing else is there';
is +(stat $file)[1], $inode, 'the SymCache of these bytes stays';
ok -e "$dir/store/.forgotten", 'absences of its keys go';
$r = put("$path?force=1", other());
is $r->{status}, 201, 'with force: 201';
is $r->{json}{result}, 'replaced', 'said so';
ok !-f $file, 'the SymCache of the former file is gone';
is $t->read_file("uploads/$path"), other(), 'the new file';
ok !final(), 'which the next request knows';
ok made(), 'and its SymCache';

# --- what is there

my @want = (@Test::Uploads::token, 'Want-Repr-Digest: sha-256=1');
sub digest_of { Test::Symcache::header($u->request('HEAD',
    "/symbols/$_[0]", '', @want), 'Repr-Digest') }
sub sha256_of { 'sha-256=:' . encode_base64(sha256($_[0]), '') . ':' }
$r = $u->request('HEAD', "/symbols/$path", '', @Test::Uploads::token);
is $r->{status}, 200, 'HEAD: 200';
is Test::Symcache::header($r, 'Content-Length'), length other(), 'its size';
is Test::Symcache::header($r, 'Repr-Digest'), undef, 'no digest, unasked';
is digest_of($path), sha256_of(other()), "its digest ($_)" for 'read', 'noted';
substr(my $changed = other(), 0, 1, 'x');
open my $in_place, '+<', "$dir/uploads/$path" or die;
syswrite $in_place, 'x';
close $in_place;
is digest_of($path), sha256_of($changed), 'of what somebody has written there';
is put("$path?force=1", other())->{status}, 201, 'replaced';
is digest_of($path), sha256_of(other()), 'and of what has replaced it';
is $u->request('HEAD', "/symbols/CRASH.pdb/\L$key\E/Crash.PDB", '', @want)
    ->{status}, 200, 'HEAD in another case, as PUT takes it';
is $u->request('HEAD', "/symbols/.try/$key/crash.pdb", '', @want)->{status},
    400, 'HEAD of a hidden name';
is $u->request('HEAD', "/symbols/none.pdb/$key/none.pdb", '', @want)->{status},
    404, 'HEAD of what is not there: 404';
ok made(), 'a SymCache of it';
ok $u->nothing_left, 'no body is left';

# --- sent by several, who want it for different times

SKIP: {
    my $sid = 'C' x 32 . '1';
    my $short = "sun.pdb/$sid/sun.sym";
    my $text = "MODULE windows x86 $sid sun.pdb\n";
    my $when = sub { Time::Piece->strptime($_[0],
        '%a, %d %b %Y %H:%M:%S GMT')->epoch };
    my $sunset = sub { Test::Symcache::header($u->request('HEAD',
        "/symbols/$short", '', @Test::Uploads::token), 'Sunset') };
    # not every file system has attributes of users
    skip 'no extended attributes here', 6
        if put("$short?expires=1h", $text)->{status} == 500;
    my $until = $when->($sunset->());
    cmp_ok abs($until - time - 3600), '<', 60, 'HEAD tells when it goes';
    put("$short?expires=1m", $text);
    is $when->($sunset->()), $until, 'sent for less: it stays as long';
    put("$short?expires=2h", $text);
    cmp_ok $when->($sunset->()), '>', $until, 'sent for more: longer';
    put($short, $text);
    is $sunset->(), undef, 'sent for ever';
    put("$short?expires=1h", $text);
    is $sunset->(), undef, 'nobody makes it less';
    put("$short?expires=1h&force=1", $text);
    ok $sunset->(), 'unless he insists';
}

# --- an archive of which only the first file gets its name

my $bid = 'B' x 32 . '1';
my @half = ([$path, $pdb],
    ["half.pdb/$bid/half.sym", "MODULE windows x86 $bid half.pdb\n"]);
my $way = $t->write_file('uploads/half.pdb', '');
is upload(Test::Zip::zip(@half))->{status}, 500, 'a half archive: 500';
is $t->read_file("uploads/$path"), $pdb, 'one file has its name';
unlink $way or die;
is upload(Test::Zip::zip(@half))->{status}, 201, 'sent again: 201';
ok !-f $file, 'the SymCache of the former file is gone then';
$u->clear;
is put($path, other())->{status}, 201, 'as before';

for (['?force=2', qr/^"force", .* must be 1$/],
     ['?expiress=1d', qr/^a key of the query is unknown: it has force=1, .*/],
     ['?expires=', qr/^"expires" must be a duration/],
     ['?expires=1y', qr/^"expires" must be a duration/],
     ['?force=1&force', qr/^the query .* cannot be read$/]) {
    my $r = put("$path$_->[0]", $pdb);
    is $r->{status}, 400, "query refused: $_->[0]";
    like $r->{json}{detail}, $_->[1], '... and why';
}

# --- what it is, is read from the file

clear();
for (["crash.pdb/${\ ($key =~ s/.$/2/r)}/crash.pdb", qr/has the id $key, and/],
     ["crash.pdb/xyz/crash.pdb", qr/has the id $key, and/],
     ["crash.pdb/$key/other.pdb", qr/is called crash\.pdb there/],
     ["crash.pdb/$key/crash.pd_", qr/is called crash\.pdb there/],
     ["crash.pdb/$key/.pdb", qr/not allowed/],
     [".crash.pdb/$key/.crash.pdb", qr/not allowed/],
     (map { ["crash.pdb/$_/crash.pdb", qr/not allowed/],
            ["$_.pdb/$key/$_.pdb", qr/not allowed/] } "a%09b", "a%01", "%7f"),
     ["crash.pdb/$key", qr{the path is}],
     ["crash.pdb/..%2F$key/crash.pdb", qr/not allowed|the path is/]) {
    my ($to, $why) = @$_;
    $r = put($to, $pdb);
    is $r->{status}, 400, "$to: 400" or diag $r->{raw};
    like $r->{json}{detail} // '', $why, "$to: why";
}
is put("../../../v1/drain", $pdb)->{status}, 400, 'no way out of the path';
is put("x/%2e%2e/%2e%2e/drain", $pdb)->{status}, 405, 'nor a hidden one';
for (['', qr/no body/, 'nothing'], ["MZ\0\0", qr/not a PE image/, 'a part of an image'],
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
my $none = '0' x 33;
is put("app/$none/app.sym", "MODULE Linux x86_64 $none app\n")->{status}, 201,
    'with an id of zeros, as in the path';
is stored(), "app/$none/app.sym basic32.pdb/$basic/basic32.pdb crash.pdb/$key/crash.sym",
    'files are stored unpacked, the wrong ones not at all';
is put($path, 'x' x (17 << 20))->{status}, 413, 'larger than max_size';

# --- images, and files with build ids

# The COFF header has the stamp, the optional header the size, for both widths
# at the same place.
my $dll = $t->read_file($t->data('pdb/basic32.dll'));
my $coff = 4 + unpack 'x60 V', $dll;
my $code = sprintf '%08X%x', unpack("x$coff x4 V", $dll),
    unpack 'x' . ($coff + 20 + 56) . ' V', $dll;
clear();
$r = put("Basic32.dll/\L$code\E/basic32.dll", $dll);
is $r->{status}, 201, 'PE: stored' or diag $r->{raw};
is stored(), "basic32.dll/$code/basic32.dll", 'PE: in its place';
$r = put("basic32.dll/$code/basic32.dll?force=1", substr $dll, 0, -600);
is $r->{status}, 400, 'PE: one that is cut off would be served as it is';
like $r->{json}{detail}, qr/basic32\.dll is truncated: /, 'PE: ... why';
like put('basic32.dll/1234567811000/basic32.dll', $dll)->{json}{detail},
    qr/has the id $code, and/, 'PE: another id';

my $build = '0123456789abcdef0123456789abcdef01234567';
$t->write_file('x.c', "int seven(int a) { return a + 7; }\n"
    . 'const char what[] = WHAT;'
    . '__attribute__((section("kept"))) const char copy[] = WHAT;');
my $gcc = "gcc -g -shared -nostdlib -Wl,--build-id=0x$build";
system("cd $dir && $gcc '-DWHAT=\"uploaded\"' -o x.so x.c"
    . " && $gcc -s '-DWHAT=\"replaced\"' -o y.so x.c"
    . ' && objcopy --only-keep-debug x.so x.dbg && strip -g x.so') == 0
    or BAIL_OUT('gcc');
my ($so, $dbg, $other) = map { $t->read_file($_) } qw(x.so x.dbg y.so);
# the first 16 bytes as a GUID, and the age 0, as Breakpad has it
my $guid = '67452301AB89EFCD0123456789ABCDEF0';
clear();
# A section that is cut out of an uploaded file: its bytes, or the status.
sub section {
    my $name = $_[0] =~ s/^\./%252e/r;
    my $got = $t->helper('GET', "/v1/section/default/$name/buildid-$build?"
        . 'version=1.0.0&wait=20');
    return $got->{status} if $got->{status} != 200;
    return $t->read_file('downloads/default/'
        . header($got, 'X-Symcache-Path'));
}
is section($_), 404, "ELF: nobody has $_" for qw(.rodata .debug_str kept);
is put("libx.so/elf-buildid-$build/libx.so", $so)->{status}, 201, 'ELF: code';
is put("_.debug/elf-buildid-sym-$build/_.debug", $dbg)->{status}, 201,
    'ELF: debug information';
is put("libx.so/$guid/libx.so.dbg", $dbg)->{status}, 200,
    'ELF: the same, by its debug id';
like put("libx.so/elf-buildid-$build/libx.so", $dbg)->{json}{detail},
    qr/has no code/, 'ELF: no code';
like put("libx.so/elf-buildid-${build}00/libx.so", $so)->{json}{detail},
    qr/has the id elf-buildid-$build, and/, 'ELF: another id';
is $u->request('HEAD', "/symbols/libx.so/\UELF-buildid-$build\E/LIBX.so", '',
    @Test::Uploads::token)->{status}, 200, 'ELF: HEAD in another case';
is stored(), "_.debug/elf-buildid-sym-$build/_.debug "
    . "libx.so/elf-buildid-$build/libx.so", 'ELF: in their places';

sub original {
    my ($kind) = @_;
    my $got = $t->helper('GET', "/v1/$kind/default/_/buildid-$build?"
        . 'version=1.0.0&wait=60');
    my $at = header($got, 'X-Symcache-Path') // '';
    return $got->{status} == 200 ? $t->read_file("downloads/default/$at") : '';
}
isnt section($_), 404, "ELF: $_ at once" for qw(.rodata .debug_str);
like section($_), qr/uploaded/, "ELF: $_, which is in the code"
    for qw(.rodata kept);
ok original('executable') eq $so, 'ELF: a debugger gets the code';
ok original('debuginfo') eq $dbg, '- and the debug information';
my $names = 'downloads/default/.sections';
$t->write_file($names, "\0\0\n" . $t->read_file($names)); # as after a crash
is put("libx.so/elf-buildid-$build/libx.so?force=1", $other)->{json}{result},
    'replaced', 'ELF: other code';
like section($_), qr/replaced/, "- which $_ is cut out of"
    for qw(.rodata kept);
ok original('executable') eq $other, '- and a debugger gets';
is_deeply [sort grep { /\w/ } split /\n/, $t->read_file($names)],
    [sort map { s/^\./%2e/r } qw(.rodata .debug_str kept)],
    'ELF: the sections to look for are known, without all folders';

# --- archives

clear();
my @files = (["crash.pdb/$key/crash.pdb", $pdb],
             ["crash.pdb/$key/crash.sym", $sym, method => 0]);
$r = upload(Test::Zip::zip(@files, ['build-symbols.txt', "x\n"],
                           ['crash.pdb/', ''], ['a/b/.DS_Store', 'x']));
is $r->{status}, 201, 'an archive: 201' or diag $r->{raw};
my $said = $r->{json}{upload};
is_deeply [sort keys %$said], [qw(bucket completed_at created_at download_url
    filename id redirect_urls size skipped_keys try_symbols user)],
    'what Tecken answers';
is $said->{user}, 'ci@example.com', 'the user';
is $said->{filename}, 'symbols.zip', 'the archive';
is stored(), "crash.pdb/$key/crash.pdb crash.pdb/$key/crash.sym", 'its files';
$r = $u->request('POST', '/upload', Test::Zip::form('symbols.zip',
    Test::Zip::zip(@files)), @token);
is $r->{status}, 201, 'without the last slash: no redirect';
$r = upload(Test::Zip::zip(@files));
is_deeply [sort @{ $r->{json}{upload}{skipped_keys} }], [sort map { $_->[0] } @files],
    'again: all is skipped';
$r = upload(Test::Zip::zip(["Crash.pdb/\L$key\E/CRASH.sym", $sym]));
is_deeply $r->{json}{upload}{skipped_keys}, ["Crash.pdb/\L$key\E/CRASH.sym"],
    'under the paths that the archive has';
my $small = Test::Zip::zip($files[1]);
is_deeply [grep { !/"id":\s*\d{16},/ } map { upload($small)->{body} } 1 .. 60], [],
    'ids are integers, those with a 0 at the end as well';
is upload(Test::Zip::zip([$path, other()]))->{status}, 201, 'other bytes: 201';
is $t->read_file("uploads/$path"), other(), 'replace what was there';
for (['', 'an empty archive'], ['with a head', 'one after a head'],
     ["PK", 'no archive', 'File is not a zip file']) {
    my ($head, $name, $error) = @$_;
    $r = upload($head . ($error ? '' : Test::Zip::zip()));
    is $r->{status}, 400, "$name: 400";
    is $r->{json}{error}, $error // 'the archive has no files', "$name: said so";
}
$r = upload(Test::Zip::zip(['folder/', '']));
is "$r->{status} $r->{json}{error}", '400 the archive has no files', 'a folder alone';
is upload(Test::Zip::zip(['old-symbols.txt', 'x']))->{status}, 201,
    'a list that is left out is a file';
$r = upload(Test::Zip::zip(map { [@$_, zip64 => 1] } @files));
ok $r->{status} == 201 || $r->{body} =~ /field of zip64/,
    'zip64, as far as minizip has it' or diag $r->{raw};

clear();
$r = upload(Test::Zip::zip(@files, ["CRASH.PDB/$key/crash.pdb", $pdb]));
is $r->{status}, 201, 'a member twice' or diag $r->{raw};
is_deeply $r->{json}{upload}{skipped_keys}, ["CRASH.PDB/$key/crash.pdb"],
    'is stored once';
is $t->read_file("uploads/$path"), $pdb, 'as it is';

my %sym = map { my $id = sprintf '%032X1', $_;
    ("m$_.pdb/$id/m$_.sym" => "MODULE windows x86 $id m$_.pdb\nFILE 0 a\n") }
    1 .. 100;
clear();
$r = upload(Test::Zip::zip(map { [$_, $sym{$_}] } sort keys %sym));
is $r->{status}, 201, 'a hundred files' or diag $r->{raw};
is stored(), join(' ', sort keys %sym), 'all of them';

# --- portable PDBs, and packages of NuGet

# The GUID is at the beginning of the stream "#Pdb" (portable PDB, section
# "#Pdb stream"); its first three fields are numbers.
my $portable = $t->read_file($t->data('ppdb/weave.pdb'));
$portable =~ /(....)....#Pdb\0/s or die;
my $id = uc join '', unpack('H*', pack 'N n n', unpack 'V v v',
    substr $portable, unpack('V', $1), 8),
    unpack('H*', substr $portable, 8 + unpack('V', $1), 8), 'FFFFFFFF';
# Debuggers ask for the age FFFFFFFF, or for 1.
sub asks {
    my ($age) = @_;
    my $path = 'weave.pdb/' . $id =~ s/F{8}$/$age/r;
    return $t->helper('GET',
        "/v1/debuginfo/default/$path?version=1.0.0&wait=60")->{status};
}
clear();
is asks($_), 404, "nobody has a portable PDB: $_" for 'FFFFFFFF', '1';
is put("Weave.pdb/$id/Weave.pdb", $portable)->{status}, 201, 'a portable PDB';
is stored(), "weave.pdb/$id/weave.pdb", 'in its place';
is asks($_), 200, "now it is there: $_" for 'FFFFFFFF', '1';
clear();
my $package = Test::Zip::zip(['Weave.nuspec', '<package/>'],
    ['_rels/.rels', 'x'], ['lib/net8.0/Weave.pdb', $portable],
    ['lib/net8.0/Weave.dll', 'MZ']);
my ($body, $type) = Test::Zip::form('package', $package);
my @nuget = ('PUT', '/api/v2/symbolpackage/', $body, $type);
is $u->request(@nuget)->{status}, 403, 'a package without a key';
$r = $u->request(@nuget, 'X-NuGet-ApiKey: 0123456789abcdef0123456789abcdef');
is $r->{status}, 201, 'a package' or diag $r->{raw};
is stored(), "weave.pdb/$id/weave.pdb", 'its PDB, and nothing else';
($body, $type) = Test::Zip::form('package', Test::Zip::zip(
    ["lib/n\tet/We\tave.pdb", $portable]));
is $u->request('PUT', '/api/v2/symbolpackage/', $body, $type,
    'X-NuGet-ApiKey: 0123456789abcdef0123456789abcdef')->{status}, 400,
    'but none with a TAB in its name';
($body, $type) = Test::Zip::form('package', Test::Zip::zip(['lib/', '']));
$r = $u->request('PUT', '/api/v2/symbolpackage/', $body, $type,
    'X-NuGet-ApiKey: 0123456789abcdef0123456789abcdef');
is "$r->{status} $r->{json}{error}", '400 the archive has no files', 'a package with a folder alone';

# --- jobs that begin at once

sub warmed { $t->wait_until('a SymCache that nobody asked for', sub { -f $file }) }
clear();
is put("$path?warm=1&force=1", $pdb)->{status}, 201, 'warm=1';
ok warmed(), 'its SymCache is made';
clear();
$r = $u->request('POST', '/upload/?warm=1', Test::Zip::form('symbols.zip',
    Test::Zip::zip([$path, other()])), @token);
is $r->{status}, 201, 'an archive with warm=1' or diag $r->{raw};
is $r->{json}{upload}{skipped_keys}[0], undef, 'which is another file';
ok warmed(), 'its SymCache is made';

# --- archives that replace nothing

$t->reload_symcached({ %{ $u->config },
    uploads => { %{ $u->config->{uploads} }, replace => JSON::PP::false() } });
clear();
is upload(Test::Zip::zip(@files))->{status}, 201, 'replace: false, what is new';
my @new = ("new.pdb/$key/new.sym", $sym =~ s/crash/new/r);
$r = upload(Test::Zip::zip([@new], [$path, other()]));
is $r->{status}, 400, 'other bytes: 400' or diag $r->{raw};
is $r->{json}{error}, "$path is there with other content", 'names the member';
is stored(), "crash.pdb/$key/crash.pdb crash.pdb/$key/crash.sym",
    'nothing of the archive is stored';
is $t->read_file("uploads/$path"), $pdb, 'what is there stays';
is upload(Test::Zip::zip(@files, [@new]))->{status}, 201, 'the same bytes: 201';
is put("$path?force=1", other())->{status}, 201, 'a single file by force';
$t->reload_symcached($u->config);

# --- while a job waits for a source behind the uploads, which has another file

my $far_gate = $t->write_file('gate.far', '');
my $far = Test::ScriptedServer->new(log => $t->path('far.log'), script => sub {
    my ($c, $req) = @_;
    return $c->reply(404, {}, '') if $req->{path} !~ m{/crash\.pdb$};
    $t->wait_until('the gate opens', sub { !-e $far_gate });
    $c->reply(200, {}, $pdb);
});
my $with_far = $u->config;
$with_far->{sources}{far} = { type => 'http', url => $far->url,
    internal => JSON::PP::true() };
$with_far->{stores}{default}{sources} = ['uploads', 'far'];
clear();
system 'rm', '-rf', "$dir/downloads/default/crash.pdb";
$t->reload_symcached($with_far);
system 'rm', '-rf', "$dir/store/crash.pdb";
my $wants = "/v1/symcache/default/crash.pdb/$key?version=9.0.0&wait=60";
my $waits = $t->open_http($t->helper_socket, 'GET', $wants);
$t->wait_until('the other source is asked', sub {
    grep { $_->{path} =~ m{/crash\.pdb$} } $far->requests });
is put($path, other())->{status}, 201, 'the file is uploaded meanwhile';
my $asks = $t->open_http($t->helper_socket, 'GET', $wants);
unlink $far_gate;
is $t->read_response($_)->{status}, 200, 'found' for $waits, $asks;
is $t->helper('GET', "/v1/debuginfo/default/crash.pdb/$key?version=1.0.0&wait=60")
    ->{status}, 200, 'as is the original';
ok $t->read_file("downloads/default/$path") eq other(), 'which is that one';
$t->reload_symcached($u->config);

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
    $r = $u->admin('PUT', "/v1/uploads/$path", @token,
                  'Content-Length: 0', "X-Symcached-Body: $body");
    is $r->{status}, 400, "body $body: refused";
}
symlink "$dir/tokens", "$dir/uploads/.spool/77";
$r = $u->admin('PUT', "/v1/uploads/$path", @token,
              'Content-Length: 0', "X-Symcached-Body: $dir/uploads/.spool/77");
is $r->{status}, 400, 'body by a symbolic link: refused';
unlink "$dir/uploads/.spool/77";
is put($path, $pdb, @token, "X-Symcached-Body: $dir/tokens")->{status}, 201,
    "a client's header is replaced";
is $t->helper('PUT', "/v1/uploads/$path", 'Content-Length: 0')->{status}, 403,
    'not on the socket for everybody';
for (['/v1/uploads', 'POST, PUT'], ["/v1/uploads/$path", 'HEAD, PUT']) {
    my ($page, $methods) = @$_;
    for my $method ('GET', 'DELETE') {
        $r = $u->admin($method, $page, @token);
        is $r->{status}, 405, "$page: no $method";
        is header($r, 'Allow'), $methods, '... and what it takes instead';
        like $r->{body}, qr/this address takes $methods; files are fetched in a location of symcache_symbols/, '... in words';
    }
}

# --- what a stranger reaches who gets to the socket of uploads

for (['POST', '/v1/drain'], ['POST', '/v1/undrain'], ['POST', '/v1/forget'],
     ['POST', "/v1/discard/$path"], ['GET', '/v1/status'], ['GET', '/v1/jobs'],
     ['GET', '/v1/sources'], ['GET', '/v1/misses'], ['GET', '/metrics'],
     ['GET', '/version'], ['GET', '/healthz'], ['POST', '/v1/tenants'],
     ['GET', "/v1/why/default/crash.pdb/$key"],
     ['GET', "/v1/symcache/default/crash.pdb/$key?version=9.0.0"],
     ['POST', '/v1/lookups?store=default&version=9.0.0']) {
    $r = $t->http("$dir/u.sock", @$_, 'Content-Length: 0', @token);
    is $r->{status}, 403, "socket of uploads: no @$_";
}
$r = $t->http("$dir/u.sock", 'PUT', "/v1/uploads/$path", 'Content-Length: 0');
is $r->{status}, 403, 'socket of uploads: not without a token';
for my $way ("../../v1/drain", '..%2f..%2fv1%2fdrain', '%2e%2e/drain',
             "$path/../../../../drain", "x//../drain", '..;/drain') {
    for my $method ('POST', 'PUT', 'GET') {
        $r = $u->request($method, "/symbols/$way", '', @token);
        cmp_ok $r->{status}, '>=', 400, "nginx: no way by $method $way";
    }
}
is $t->metric('symcached_draining'), 0, 'nothing drains';

# --- bodies of an nginx that was killed

my $spool = "$dir/uploads/.spool";
$t->allow_log(qr/exited on signal 9/);
my $half = Test::Symcache::connect_to($t->nginx_socket);
print $half "PUT /symbols/$path HTTP/1.1\r\nHost: localhost\r\n$token[0]\r\n"
    . "Content-Length: 100000\r\n\r\n", 'x' x 50000;
$half->flush;
my @left = $t->wait_until('a body in the spool', sub { glob "$spool/*" });
@left = glob "$spool/*";
kill 'KILL', ($t->workers)[0];
$t->wait_until('a new worker', sub { $t->head('/')->{status} });
ok -e $left[0], 'a worker that is killed leaves a body';
mkdir "$spool/$_" for 1, 12, '1/23', 1234;
my @stay = map { $t->write_file("$spool/$_", 'x') } qw(0000000077 x000000078 123456789 1234/0000000079);
utime time - 90000, time - 90000, $left[0], @stay[1 .. 3],
    map { $t->write_file("$spool/$_", 'x') } '12/0000000080', '1/23/0000000081';
my $cleaning = $u->config;
$cleaning->{cache}{clean_every} = '1s';
$t->stop_symcached;
$t->start_symcached($cleaning);
$t->wait_until('bodies that are old are removed', sub { $t->helper_log =~ /clean uploads\.spool / });
like $t->helper_log, qr/clean uploads\.spool files=3 bytes=\d+: bodies that nginx has left\n/,
    'said so';
is join(' ', grep { -f } glob "$spool/* $spool/*/* $spool/*/*/*"), join(' ', sort(@stay[0 .. 2]), $stay[3]),
    'and nothing that nginx may still have, or has not made';

# --- a clock that jumps removes no upload

SKIP: {
    my $clock = Test::Clock->new($t) or skip Test::Clock::why(), 4;
    my $sid = 'D' x 32 . '1';
    my $text = "MODULE windows x86 $sid day.pdb\n";
    my $file = "$dir/uploads/day.pdb/$sid/day.sym";
    skip 'no extended attributes here', 4
        if put("day.pdb/$sid/day.sym?expires=1d", $text)->{status} == 500;
    my $jumps = sub { scalar(() = $t->helper_log =~
        /clean: uploads: .* the clock went on by \d+ s more .*: none is removed/g) };
    $t->stop_symcached;
    $t->start_symcached($cleaning, env => $clock->env);
    $clock->set(30 * 86400);
    $t->wait_until('a pass sees it', sub { $jumps->() == 1 });
    ok -e $file, 'a file that is to go tomorrow stays';
    $t->stop_symcached;
    $t->start_symcached($cleaning, env => $clock->env(all => 1));
    my $passes = sub { (stat "$dir/uploads/.clock")[9] };
    utime 1, 1, "$dir/uploads/.clock";
    $t->wait_until('a pass', sub { $passes->() > 1 });
    ok -e $file, 'after a restart, too';
    $clock->set(30 * 86400 + 7 * 3600);
    $t->wait_until('it goes, seven hours later', sub { !-e $file });
    pass 'it goes, seven hours later';
    is $jumps->(), 1, 'that is said once';
    $t->stop_symcached;
    unlink "$dir/uploads/.clock";
    $t->start_symcached($cleaning);
}

# --- a client that has gone, with its body, before its upload was looked at

my $pending = sub { scalar grep { /\Q$dir\E\/u\.sock$/ } split /\n/, $t->read_file('/proc/net/unix') };
my $others = $pending->();
kill 'STOP', $t->{helper};
my $leaves = $u->begin('PUT', '/symbols/gone.pdb/' . 'E' x 32 . '1/gone.sym',
    "MODULE windows x86 ${\('E' x 32)}1 gone.pdb\n", @Test::Uploads::token);
$t->wait_until('nginx asks for it', sub { $pending->() > $others });
my %bodies = map { $_ => 1 } glob "$spool/0*";
close $leaves;
$t->wait_until('nginx removes the body', sub { keys %bodies > grep { -e } keys %bodies });
kill 'CONT', $t->{helper};
$t->wait_until('that is no error', sub {
    $t->helper_log =~ m{\[info\].* status=503 file=gone\.pdb/\S+ the client has gone\n} });
unlike $t->helper_log, qr/gone\.sym: the body cannot be opened/, 'that is no error';

# --- a folder that nobody can write to is told before the first upload

$t->reload_symcached({ %{ $u->config },
    uploads => { %{ $u->config->{uploads} }, root => "$dir/tokens/x" } });
like $t->helper_log, qr{"\Q$dir\E/tokens/x" cannot be written to: no upload is},
    'a root below a file';

$t->finish;
done_testing;
