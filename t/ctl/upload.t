#!/usr/bin/env perl

# symcachectl upload: what is sent and skipped, and the exit code that a build
# can trust.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Copy qw(copy);
use File::Path qw(make_path);
use JSON::PP qw(decode_json);
use Test::Ctl;
use Test::More;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;

my $u = Test::Uploads->new;
my $t = $u->t;
my $dir = $t->dir;
my $ctl = Test::Ctl->new($t);
my $key = $Test::Symcache::key{'crash.pdb'};

$t->write_file('token', "0123456789abcdef0123456789abcdef\n");
my $nginx = $u->start_nginx_on_port;
my @upload = ('upload', '--url', "$nginx/symbols",
              '--token', "\@$dir/token");

make_path("$dir/build/deep");
copy($t->data('pdb/crash.pdb'), "$dir/build/deep/Crash.pdb");
copy($t->data('pdb/basic32.dll'), "$dir/build/basic32.dll");
$t->write_file('build/any.sym',
               "MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 libx.so\n");
$t->write_file('build/main.o', "no symbols\n");
$t->write_file('build/empty', '');

my $r = $ctl->run(@upload, "$dir/build");
is $r->{code}, 0, 'a folder' or diag "$r->{out}$r->{err}";
is $r->{out}, "3 stored, 0 skipped, 0 refused, 0 failed, 2 left out\n", 'told';
like $u->stored, qr{^basic32\.dll/[0-9A-F]{8}[0-9a-f]+/basic32\.dll
    \ crash\.pdb/$key/crash\.pdb
    \ libx\.so/0123456789ABCDEF0123456789ABCDEF0/libx\.so\.sym$}x,
    'each where it belongs';
$r = $ctl->run(@upload, "$dir/build");
is $r->{code}, 0, 'again';
is $r->{out}, "0 stored, 3 skipped, 0 refused, 0 failed, 2 left out\n",
    'skipped';
$r = $ctl->run('upload', '--url', "$nginx/elsewhere",
               "$dir/build/any.sym");
is $r->{code}, 1, 'an address that takes no uploads: 1';
like $r->{err}, qr{nothing at this address takes uploads: --url ends as .* such as /symbols, and its host is a server_name there \(HTTP 40[45]\)}, 'why';

# a mapping of ProGuard, under the UUID in its name
make_path("$dir/mapping");
$t->write_file("mapping/$_.txt", "org.A -> a:\n    int b -> c\n")
    for '5C1D3F3A-0000-4000-8000-0123456789AB', 'mapping';
$r = $ctl->run(@upload, "$dir/mapping");
is $r->{out}, "1 stored, 0 skipped, 0 refused, 0 failed, 1 left out\n",
    'a mapping without a UUID is left out';
like $r->{err}, qr{mapping/mapping\.txt: left out: is a mapping, which needs a UUID},
    'and named';
ok -f "$dir/uploads/mapping.txt/5C1D3F3A0000400080000123456789AB0/mapping.txt",
    'one with a UUID is stored under it';

# ... in UTF-16, as PowerShell writes it
make_path("$dir/wide");
my $wide = '5C1D3F3A-0000-4000-8000-0123456789AC.txt';
$t->write_file("wide/$wide", "\xff\xfe" . join '', map { "$_\0" } split //,
    "org.A -> a:\n    int b -> c\n");
$r = $ctl->run(@upload, "$dir/wide");
is $r->{out}, "0 stored, 0 skipped, 0 refused, 0 failed, 1 left out\n", 'a mapping in UTF-16 is left out';
like $r->{err}, qr{/\Q$wide\E: left out: is in UTF-16, which is not read: convert it to UTF-8$},
    'and named';

# a debug file that cannot be sent under its name
make_path("$dir/names");
copy($t->data('pdb/crash.pdb'), "$dir/names/a:b.pdb");
$r = $ctl->run(@upload, "$dir/names");
is $r->{out}, "0 stored, 0 skipped, 0 refused, 0 failed, 1 left out\n",
    'a name that no path can have is left out';
like $r->{err}, qr{names/a:b\.pdb: left out: has a name that is not allowed$},
    'and named';

# a text of a program that had no build id
make_path("$dir/zeros");
my $none = '0' x 33;
$t->write_file("zeros/$_.sym", "MODULE Linux x86_64 $none app\nPUBLIC $_ 0 main\n") for 1, 2;
$r = $ctl->run(@upload, "$dir/zeros");
is $r->{out}, "0 stored, 0 skipped, 0 refused, 0 failed, 2 left out\n",
    'texts with an id of zeros are left out';
like $r->{err}, qr{zeros/1\.sym: left out: has an id of zeros, as all modules without one have$}m,
    'and named';
ok !-e "$dir/uploads/app", '... and not sent';

# what is left of a debug file
make_path("$dir/cut");
$t->write_file('cut/crash.pdb', substr $t->read_file($t->data('pdb/crash.pdb')), 0, 40000);
$t->write_file('cut/no symbols.txt', "hello\n");
$r = $ctl->run(@upload, "$dir/cut");
is $r->{out}, "0 stored, 0 skipped, 0 refused, 0 failed, 2 left out\n",
    'a file that is cut is left out';
like $r->{err}, qr{/cut/crash\.pdb: left out: is truncated: }, 'and named';
unlike $r->{err}, qr/no symbols/, 'what is none is not';
make_path("$dir/cut/text");
$t->write_file('cut/text/app.sym', "MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 app\nFUNC 1000 10 0 ma");
$r = $ctl->run(@upload, "$dir/cut/text");
is $r->{out}, "0 stored, 0 skipped, 0 refused, 0 failed, 1 left out\n", 'nor is a text that is cut sent';
like $r->{err}, qr{/app\.sym: left out: is cut off in its last line$}, 'and it is named';

make_path("$dir/empty");
$t->write_file("empty/$_", '') for 'App.PDB', '__init__.py', 'pdb';
$r = $ctl->run(@upload, "$dir/empty");
is $r->{out}, "0 stored, 0 skipped, 0 refused, 0 failed, 3 left out\n", 'files without bytes';
is $r->{err}, "symcachectl upload: $dir/empty/App.PDB: left out: is damaged: it is empty\n",
    '... are named if their name is that of a debug file';
$t->write_file('empties.zip', Test::Zip::zip(map { [$_, ''] } 'bin/', 'bin/a.so', 'bin/a.txt'));
$r = $ctl->run(@upload, $t->path('empties.zip'));
like $r->{err}, qr{\A[^\n]*/empties\.zip \(bin/a\.so\): left out: is damaged: it is empty\n},
    '... in an archive, too';

make_path("$dir/cut2");
$t->write_file('cut2/basic32.dll', substr $t->read_file($t->data('pdb/basic32.dll')), 0, -600);
$t->write_file('cut2/fat', substr $t->read_file($t->data('convert/macho/fat.dwarf')), 0, 5000);
$r = $ctl->run(@upload, "$dir/cut2");
is $r->{out}, "0 stored, 0 skipped, 0 refused, 0 failed, 3 left out\n",
    'nor an image or parts of a fat file that are';
like $r->{err}, qr{/cut2/basic32\.dll: left out: is truncated: .*
[^\n]*/cut2/fat \(x86_64\): left out: is truncated: .*
[^\n]*/cut2/fat \(arm64\): left out: is truncated: [^\n]*
\z}, '... and each is named';

# scripts and maps, which another client sends
make_path("$dir/dist");
$t->write_file("dist/$_", '{"version":3}') for 'app.min.js', 'app.min.js.map';
$ctl->is($ctl->run(@upload, "$dir/dist"), 0, qr/^0 stored, 0 skipped, 0 refused, 0 failed, 2 left out$/,
    qr/^symcachectl upload: note: no file there is a debug file or image; "sentry-cli sourcemaps upload" sends/,
    'a folder without debug files');
make_path("$dir/hollow");
$ctl->is($ctl->run(@upload, "$dir/hollow"), 0, qr/^0 stored, .* 0 left out$/,
    qr/^symcachectl upload: note: no file there is a debug file or image; /, '... and one without files');

# programs with debug information, which can be linked with a build id; objects cannot
sub elf { my ($type) = @_;
    my $names = "\0.debug_info\0.text\0.shstrtab\0";
    return "\x7fELF\2\1\1" . "\0" x 9 . pack('v2VQ3Vv6', $type, 62, 1, 0, 0, 100, 0, 64, 56, 0, 64, 4, 3)
        . "abcd$names" . "\0" x (100 - 64 - 4 - length $names) . "\0" x 64
        . pack('V2Q4V2Q2', 1, 1, 0, 0, 64, 4, 0, 0, 1, 0)
        . pack('V2Q4V2Q2', 13, 1, 6, 0, 64, 4, 0, 0, 1, 0)
        . pack('V2Q4V2Q2', 19, 3, 0, 0, 68, length $names, 0, 0, 1, 0);
}
$t->write_file("idless/$_", elf(3)) for map { "app$_" } 1 .. 6;
$t->write_file('idless/app.o', elf(1));
for my $good (0, 1) {
    copy($t->data('pdb/crash.pdb'), "$dir/idless/crash.pdb") if $good;
    $r = $ctl->run(@upload, "$dir/idless");
    is $r->{out}, "0 stored, $good skipped, 0 refused, 0 failed, 7 left out\n", 'programs without build ids';
    is scalar(() = $r->{err} =~ m{/app\d: left out: is an ELF file without a build id: link it with -Wl,--build-id$}mg), 5,
        '... of which five are named';
    like $r->{err}, qr{5: left out: .*\nsymcachectl upload: note: 6 files with debug information left out for want of a build id\n\z},
        '... and counted';
}

# packed files are not looked into
make_path("$dir/packed");
$t->write_file("packed/$_->[0]", "$_->[1]rest of the file")
    for ['a.sym.gz', "\x1f\x8b"], ['b.pd_', 'MSCF'], ['c.debug.zst', "\x28\xb5\x2f\xfd"];
$r = $ctl->run(@upload, "$dir/packed");
is $r->{out}, "0 stored, 0 skipped, 0 refused, 0 failed, 3 left out\n",
    'packed files are left out';
like $r->{err}, qr{/\Q$_\E: left out: is packed: unpack it first$}m, "and named: $_"
    for qw(a.sym.gz b.pd_ c.debug.zst);
$r = $ctl->run(@upload, "$dir/packed/b.pd_");
is $r->{code}, 1, 'a packed file alone: 1';
like $r->{err}, qr/b\.pd_: refused: is packed: unpack it first$/m, 'why';

# the same size, other bytes
my $pdb = $t->read_file('build/deep/Crash.pdb');
substr $pdb, -1, 1, chr(1 ^ ord substr $pdb, -1);
$t->write_file('build/deep/Crash.pdb', $pdb);
$r = $ctl->run(@upload, '--force', '--json', "$dir/build/deep/Crash.pdb");
is $r->{code}, 0, 'force';
my ($file, $sum) = map { decode_json($_) } split /\n/, $r->{out};
is $file->{outcome}, 'stored', 'force: stored';
is $file->{path}, "crash.pdb/$key/crash.pdb", 'force: where';
is $sum->{stored}, 1, 'the sum';
ok $t->read_file("uploads/crash.pdb/$key/crash.pdb") eq $pdb, 'replaced';

# of the same size, and not ours to replace
substr $pdb, -1, 1, chr(1 ^ ord substr $pdb, -1);
$t->write_file('build/deep/Crash.pdb', $pdb);
$r = $ctl->run(@upload, "$dir/build/deep/Crash.pdb");
is $r->{code}, 1, 'other bytes of the same size there: 1' or diag $r->{out};
like $r->{err}, qr/refused: .*is there with other content \(HTTP 409\), and stays: --force replaces it$/, 'why';

# of another size
$t->write_file("uploads/crash.pdb/$key/crash.pdb", 'x');
$r = $ctl->run(@upload, "$dir/build/deep/Crash.pdb");
is $r->{code}, 1, 'other content there: 1';
like $r->{err}, qr/refused: .*is there with other content \(HTTP 409\)/, 'why';

$r = $ctl->run(@upload, "$dir/build/main.o");
is $r->{code}, 1, 'a file that is none: 1';
like $r->{err}, qr{main\.o: refused: is not a file whose identity}, 'why';
$r = $ctl->run(@upload, "$dir/nothing");
is $r->{code}, 3, 'a file that is not there: 3';
make_path("$dir/web");
$t->write_file('web/app.wasm', "\0asm\1\0\0\0");
for my $web ("$dir/web/app.wasm", "$dir/web") {
    $r = $ctl->run(@upload, $web);
    like $r->{err}, qr{app\.wasm: (?:refused|left out): is a WebAssembly module, .*"symcachectl sort"},
        'a module of WebAssembly has no path, but a place';
}
$r = $ctl->run('upload', '--url', "$nginx/my symbols", "$dir/build/basic32.dll");
like $r->{err}, qr{failed: --url is not a valid URL; a blank in one is %20}, 'a blank in --url';
$r = $ctl->run(@upload[0 .. 2], '--token', 'wrong', "$dir/build/basic32.dll",
               '--force');
is $r->{code}, 1, 'a wrong token: 1';
like $r->{err}, qr/API Token not matched/, 'why';
like `curl -sI -H 'Auth-Token: wrong' $nginx/symbols/crash.pdb/$key/crash.pdb`,
    qr/^HTTP\S+ 403 /, 'HEAD is refused, so that no body is sent for the refusal';
$ctl->is($ctl->run(@upload[0 .. 2], '--token', 'wrong', "$dir/build"), 1,
         qr/^0 stored, 0 skipped, 3 refused, 0 failed, 2 left out$/,
         qr/stopped: 2 more files were not sent, as the server takes none with this token, .*API Token not matched \(HTTP 403\)\.\n\z/,
         'a wrong token is refused once');
{
    local $ctl->{wrapper} = ['env', '-C', $dir];
    $ctl->is($ctl->run(@upload[0 .. 2], '--token', '@token',
                       "$dir/build/basic32.dll"), 0, qr/^0 stored, 1 skipped/,
             undef, 'a relative path of a token');
    $ctl->is($ctl->run(@upload[0 .. 2], '--token', '@none',
                       "$dir/build/basic32.dll"), 3, undef,
             qr/"none" cannot be read/, 'no such file of a token');
}

# a debug file is sent before its program, whatever their names are
make_path("$dir/order");
$t->write_file('x.c', "int seven(int a) { return a + 7; }\n");
system("cd $dir && cc -g -shared -nostdlib -Wl,--build-id=0x" . 'ab' x 20
    . ' -o order/libx.so x.c && objcopy --only-keep-debug order/libx.so '
    . 'order/libx.so.debug && strip order/libx.so') == 0 or BAIL_OUT('cc');
$r = $ctl->run(@upload, '--json', "$dir/order");
is $r->{code}, 0, 'a program and its debug file' or diag $r->{err};
is_deeply [map { (decode_json($_)->{file} // '') =~ m{([^/]+)$} } split /\n/,
           $r->{out}], ['libx.so.debug', 'libx.so'], 'the debug file first';
for my $sent (split ' ', $u->stored) {
    $ctl->run('uploads', 'rm', '-c', "$dir/symcached.json", $sent)
        if $sent =~ /abab/i;
}

# of a program and its stripped copy, which have one place, the program is there
make_path("$dir/tree/dist", "$dir/tree/obj");
system("cd $dir && cc -g -shared -nostdlib -Wl,--build-id=0x" . 'cd' x 20
    . ' -o tree/obj/liby.so x.c && strip -o tree/dist/liby.so tree/obj/liby.so') == 0
    or BAIL_OUT('cc');
$r = $ctl->run(@upload, "$dir/tree");
$ctl->is($r, 1, qr/^1 stored, 0 skipped, 1 refused/,
    qr{dist/liby\.so: refused: .* is there with other content \(HTTP 409\)\n}, 'a program and its copy');
for my $sent (grep { /cdcd/i } split ' ', $u->stored) {
    is -s "$dir/uploads/$sent", -s "$dir/tree/obj/liby.so", '... the one with names is there';
    $ctl->run('uploads', 'rm', '-c', "$dir/symcached.json", $sent);
}

is $ctl->run('upload', "$dir/build")->{code}, 2, 'without --url: 2';
is $ctl->run(@upload)->{code}, 2, 'without a file: 2';
$ctl->is($ctl->run(@upload[0 .. 2], '--token', "$dir/tokens", $dir), 2, undef,
    qr/\Asymcachectl: --token: is a file: with \@ in front, the token is read from it\n\z/,
    'a file of tokens without @');
$ctl->is($ctl->run(@upload[0 .. 2], '--token', "\@$dir/tokens", $dir), 2, undef,
    qr/\Asymcachectl: --token: has blanks: .*alone in its first line\n\z/,
    q{the server's file of tokens});
is $ctl->run(@upload[0 .. 2], '--token', '$NO_SUCH_VARIABLE', $dir)->{code}, 3,
    'a token that there is not: 3';

rmdir "$dir/uploads/.spool" or die;
$r = $ctl->run(@upload, '--force', "$dir/build/any.sym");
is $r->{code}, 3, 'nginx cannot take the body: 3';
like $r->{err}, qr/failed: the web server cannot take the file.* \(HTTP 500\)/, 'why';
unlike $r->{err}, qr/again in a while/, 'which is not repeated';
$t->reload_nginx;

# --- uploads

my @on = ('-c', "$dir/symcached.json");
my $path = (split ' ', $u->stored)[0];
my $size = -s "$dir/uploads/$path";
sub listed { [map { decode_json($_) } split /\n/,
              $ctl->run('uploads', 'ls', '--json', @on)->{out}] }
is_deeply [map { $_->{file} } @{ listed() }], [split ' ', $u->stored],
    'ls: all files';
is listed()->[0]{size}, $size, 'ls: size';
$t->write_file("uploads/$_", '') for '.index/1/x', '.try/.index/1/x';
is_deeply [map { $_->{file} } @{ listed() }], [split ' ', $u->stored],
    'ls: without the index';
like $ctl->run('uploads', 'ls', @on)->{out}, qr/ \Q$path\E(?:  by \S+)?$/m, 'ls: as text';
symlink "$dir/uploads", "$dir/link" or die "symlink: $!";
$ctl->is($ctl->run('uploads', 'ls', '--root', "$dir/$_"), 0,
         qr/ \Q$path\E(?:  by \S+)?$/m, undef, "ls: of $_") for 'uploads/', 'link', 'link//';
$ctl->is($ctl->run('uploads', 'ls', '--root', $_), 3, undef, qr/: No such file/,
         "ls: of '$_'") for "$dir/none", '';
$ctl->is($ctl->run('uploads', 'ls', '--root', "$dir/token"), 3, undef,
         qr/token: Not a directory/, 'ls: of a file');
$ctl->is($ctl->run('uploads', @$_, '--root', "$dir/none"), 3, qr/\A\z/,
         qr{^symcachectl: \Q$dir\E/none: No such file or directory$}, "@$_: the root is lost")
    for ['builds'], ['forget', '--build', 1], ['forget', '--release', 1], ['ls', '--release', 1],
        ['ls', '--build', 1];

for my $bad ('1x', '', '0s', '-1d', '101y', '99999w') {
    my $r = $ctl->run(@upload, '--expires', $bad, "$dir/build/any.sym");
    $ctl->is($r, 2, undef, qr/--expires wants a duration such as "30d": \Q$bad\E$/m,
        "--expires $bad: nothing is sent");
}

SKIP: {
    # not every file system has attributes of users
    skip 'no extended attributes here', 8
        if $ctl->run('uploads', 'pin', @on, $path)->{code} != 0;
    ok listed()->[0]{pinned}, 'pin';
    $t->write_file('sun.sym', "MODULE Linux x86_64 ${\ ('D' x 32)}0 sun\n");
    $ctl->run(@upload, '--expires', '1h', "$dir/sun.sym");
    $ctl->run(@upload, "$dir/sun.sym");
    is_deeply [grep { $_->{expires} } @{ listed() }], [],
        'what was to go, and is sent for ever, stays';
    $ctl->run('uploads', 'rm', @on, "sun/${\ ('D' x 32)}0/sun.sym");
    $t->reload_symcached({ %{ $u->config }, cache => { clean_every => '1s' },
        uploads => { %{ $u->config->{uploads} }, max_unused_for => '1s' } });
    is $ctl->run(@upload[0 .. 2], '--token', '0123456789abcdef0123456789abcdef',
        '--force', '--expires', '1s', "$dir/build/any.sym")->{code}, 0, 'expires';
    $t->wait_until('what has expired is removed', sub { $u->stored !~ /libx/ });
    pass('expired');
    $t->wait_until('what nobody has read is removed',
                   sub { $u->stored !~ /crash/ });
    pass('unused');
    is $u->stored, $path, 'what is pinned stays';
    # of the two times that count this one can be set
    utime time + 86400, time, "$dir/uploads/$path" or die "utime: $!";
    is $ctl->run('uploads', 'unpin', @on, $path)->{code}, 0, 'unpin';
    ok !listed()->[0]{pinned}, 'unpinned';
    $t->reload_symcached($u->config);
}
$ctl->is($ctl->run('uploads', 'rm', @on, $path), 0, qr/^removed  \Q$path\E$/, undef, 'rm');
unlike $u->stored, qr/\Q$path\E/, 'removed';
$r = $ctl->run('uploads', 'rm', @on, $path);
is $r->{code}, 3, 'rm: not there';
like $r->{err}, qr/: \Q$path\E: No such file/, 'rm: which';
$ctl->is($ctl->run('uploads', 'rm', @on, $_), 2, undef,
    qr{^symcachectl uploads: not <name>/<id>/<file>: \Q$_\E$}m, "rm: no path, $_")
    for 'crash.pdb/ID', 'crash.pdb', 'a/b/c/d', 'a//c', 'a/b/', '.try/a/b';
is $ctl->run('uploads', @on)->{code}, 2, 'no command';

# --- labels

my @labels = ('--product', 'app', '--branch', 'a/b', '--build', '1 & 2');
is $ctl->run(@upload, @labels, "$dir/build/any.sym")->{code}, 0, 'with labels';
$r = $ctl->run(@upload, @labels[0 .. 3], '--build', 3, "$dir/build/any.sym");
is $r->{code}, 0, 'for another build';
like $ctl->run('uploads', 'builds', @on)->{out}, qr{  app  a/b  3\n.*  app  a/b  1 & 2\n\z},
    'both have the file';
$ctl->is($ctl->run(@upload, '--branch', 'x', "$dir/build/any.sym"), 2, undef,
    qr/^symcachectl upload: --product and --branch need --build$/m,
    'a branch without a build: 2');

# --- a drop folder, and transactions of symstore.exe

$t->write_file('ready/any.sym',
               "MODULE Linux x86_64 AAAABBBBCCCCDDDD0123456789ABCDEF0 libz.so\n");
my $watch = $ctl->begin('', @upload[0 .. 2],
    '--token', '0123456789abcdef0123456789abcdef', '--watch', "$dir/drop");
make_path("$dir/drop");
$t->write_file('drop/any.sym',
               "MODULE Linux x86_64 AAAABBBBCCCCDDDD0123456789ABCDEF0 liby.so\n");
$t->wait_until('a drop folder is followed', sub { $u->stored =~ /liby/ });
pass('a drop folder is followed');

# the files of a folder that is moved have the times that they had
rename "$dir/ready", "$dir/drop/ready" or die "rename: $!";
$t->wait_until('a folder that is moved there is seen',
               sub { $u->stored =~ /libz/ });
pass('a folder that is moved there is seen');
kill 'TERM', $watch->{pid};
waitpid $watch->{pid}, 0;

my $absent = sub { $t->write_file("store/$_[0]/$key/$_[0]-v9.0.0.absent",
    sprintf "notfound %d 0123456789abcdef\nwhy\n", time) };
my @absent = map { $absent->("t$_.pdb") } 1 .. 3;
$t->write_file('share/000Admin/lastid.txt', "0000000002\r\n");
$t->write_file("share/000Admin/000000000$_",
    qq("t$_.pdb\\$key","c:\\build\\t$_.pdb"\r\n"no key","x"\r\n)) for 1 .. 3;
my $w = $ctl->run('watch', @on, '--once', '--after', 1, "$dir/share");
is $w->{code}, 0, 'watch' or diag $w->{err};
is $w->{out}, "t2.pdb $key: 1 entry forgotten\n", 'what was forgotten';
is_deeply [map { -e $_ ? 1 : 0 } @absent], [1, 0, 1],
    'behind the number, up to lastid.txt';
is $ctl->run('watch', @on, '--once', "$dir/share")->{out}, '', 'nothing new';
$ctl->is($ctl->run('watch', @on, '--once', $dir), 3, undef,
    qr{^symcachectl: \Q$dir\E/000Admin/lastid\.txt: No such file or directory; the folder must be a symbol store of symstore\.exe$}, 'no store of symstore.exe');

# --- a server that is not whole

$t->stop_symcached;
my $waits = $ctl->begin('', @upload, "$dir/build/basic32.dll");
$t->wait_until('symcached is gone, and that is said', sub {
    ($t->read_file("ctl.$waits->{n}.err") // '') =~
        /does not reach symcached: .* \(HTTP 502\); again in a while/ });
pass('502 is explained');
kill 'TERM', $waits->{pid};
waitpid $waits->{pid}, 0;

$t->finish;
done_testing;
