#!/usr/bin/env perl

# Original files for debuggers: images by time stamp and size, ELF and Mach-O
# by build id, in each layout that has them; and that nothing is taken for one
# that is not.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Compress::Gzip qw(gzip);
use Test::Cabinet;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;

# --- a program, its debug file, its image for Windows, one for macOS

my $build = '93ac61ec5a8eb1396f9fbd350e3169a558528a40';
my $short = '0123456789abcdef';
$t->write_file('p.c', "int f(int i)\n{\n    return i + 1;\n}\n\n"
    . "int main(void)\n{\n    return f(-1);\n}\n");
my $dir = $t->dir;
for my $c (
    "cc -g -Wl,--build-id=0x$build -o full p.c",
    'objcopy --only-keep-debug full debug',
    'strip -o program full',
    "cc -g -Wl,--build-id=0x$short -o full8 p.c",
    'cc -g -Wl,--build-id=none -o none p.c',
) {
    system("cd $dir && $c") == 0 or die "$c: $?";
}
my %elf = map { $_ => $t->read_file($_) } qw(full debug program full8 none);
my $image = $t->read_file($t->data('pdb/basic32.dll'));
my $pe = unpack 'V', substr $image, 60, 4;
my $key = sprintf '%08X%x', unpack('V', substr $image, $pe + 8, 4),
    unpack('V', substr $image, $pe + 24 + 56, 4);
my $uuid = '67e9247c814e392ba027dbde6748fcbf';

# The header and LC_UUID, which is all that has an identity.
sub macho {
    my ($type) = @_;
    return pack('V8', 0xfeedfacf, 0x01000007, 3, $type, 1, 24, 0, 0)
        . pack('VV H32', 0x1b, 24, $uuid);
}

sub gzipped { my ($data) = @_; gzip(\$data => \my $out); return $out }

# --- sources: path => body

my %web;
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my $file = $t->path("web$req->{path}");
    return $c->reply(404, {}, '') unless -f $file;
    $c->reply(200, {}, $t->read_file("web$req->{path}"));
});
sub put { my ($path, $body) = @_; $t->write_file("web/$path", $body) }
sub asked { map { $_->{path} } $web->requests }

my $config = $t->default_config($web->url);
my %sources = (
    symstore => { url => $web->url . '/s', layout => 'symstore',
                  forms => ['plain', 'packed'] },
    ssqp => { url => $web->url . '/q', layout => 'ssqp', forms => ['plain'] },
    debuginfod => { url => $web->url . '/d', layout => 'debuginfod' },
    unified => { url => $web->url . '/u', layout => 'unified' },
);
for my $name (keys %sources) {
    $config->{sources}{$name} = { type => 'http', internal => JSON::PP::true(),
                                  %{ $sources{$name} } };
    $config->{stores}{$name} = { root => $t->path("stores/$name"),
        transcoders => $config->{stores}{default}{transcoders},
        sources => [$name] };
}
$config->{sources}{folder} = { type => 'filesystem', layout => 'symstore',
                               path => $t->path('folder') };
$config->{stores}{folder} = { %{ $config->{stores}{ssqp} },
    root => $t->path('stores/folder'), sources => ['folder'] };
$config->{sources}{tree} = { type => 'filesystem', layout => 'debuginfod',
                             path => $t->path('tree') };
$config->{sources}{gdb} = { type => 'filesystem', layout => 'build_id',
                            path => $t->path('usr/.build-id') };
$config->{stores}{gdb} = { %{ $config->{stores}{ssqp} },
    root => $t->path('stores/gdb'), sources => ['gdb'] };
$config->{stores}{tree} = { %{ $config->{stores}{ssqp} },
    root => $t->path('stores/tree'), sources => ['tree'] };
for my $n (1 .. 4) {
    $config->{sources}{"only$n"} = { %{ $config->{sources}{folder} },
        layout => $n == 2 ? 'ssqp' : 'symstore', path => $t->path("only$n"),
        internal => JSON::PP::true() };
    $config->{stores}{"only$n"} = { %{ $config->{stores}{ssqp} },
        root => $t->path("stores/only$n"), sources => ["only$n"] };
}
$t->start_symcached($config);

# kind, store, name, id: "status file or reason"
sub lookup {
    my ($kind, $store, $name, $id) = @_;
    my $r = $t->helper('GET', "/v1/$kind/$store/$name/$id?version=1.0.0&wait=60");
    my $h = sub { scalar Test::Symcache::header($r, "X-Symcache-$_[0]") };
    return ($r->{status}, $h->('Path'), $h->('Reason'));
}

sub served {
    my ($what, $body, $kind, $store, @key) = @_;
    my ($status, $path, $reason) = lookup($kind, $store, @key);
    is $status, 200, "$what: found" or diag $reason;
    ok defined $path && $t->read_file("downloads/$store/$path") eq $body,
        '- and it is the file';
}

sub why {
    my ($kind, $store, $name, $id) = @_;
    my $why = $t->helper_json("/v1/why/$store/$name/$id?kind=$kind");
    return join '; ', map { "$_->{outcome}: $_->{detail}" } @{ $why->{attempts} };
}

# An upstream that has another file there is at fault: that says nothing of the
# file, so it is no 404.
sub refused {
    my ($what, $detail, $kind, $store, @key) = @_;
    my ($status) = lookup($kind, $store, @key);
    is $status, 503, "$what: not taken, and no final answer";
    like why($kind, $store, @key), $detail, '- and it is said why';
}

# --- images

put("s/Basic32.dll/$key/Basic32.dll", $image);
served('an image', $image, 'executable', 'symstore', 'Basic32.dll', $key);
put("s/packed.dll/$key/packed.dl_", gzipped($image));
served('a packed image', $image, 'executable', 'symstore', 'packed.dll', $key);
put("q/basic32.dll/$key/basic32.dll", $image);
served('SSQP', $image, 'executable', 'ssqp', 'BASIC32.dll', $key);
$t->write_file("folder/BASIC32.DLL/\U$key\E/basic32.dll", $image);
served('a folder in any case', $image, 'executable', 'folder', 'Basic32.dll',
       $key);
put("s/other.dll/5DDC1E9B6c000/other.dll", $image);
refused('another image', qr/another image: time stamp and size are $key/,
        'executable', 'symstore', 'other.dll', '5DDC1E9B6c000');
put("s/cut.dll/$key/cut.dll", substr $image, 0, length($image) / 2);
refused('half an image', qr/cut off/, 'executable', 'symstore', 'cut.dll',
        $key);
put("s/elf.dll/$key/elf.dll", $elf{full});
refused('an ELF file', qr/wrong build id/, 'executable', 'symstore', 'elf.dll',
        $key);
put("s/html.dll/$key/html.dll", '<html>nothing here</html>');
refused('a page', qr/HTML page/, 'executable', 'symstore', 'html.dll', $key);
my ($status, undef, $reason) = lookup('executable', 'symstore', 'no.dll', $key);
is "$status $reason", '404 notfound', 'no image there';
($status, undef, $reason) = lookup('executable', 'unified', 'no.dll', $key);
is "$status $reason", '404 notfound', 'a layout that has none';
is scalar(grep { m{^/u/} } asked()), 0, '- whose source is not asked';

# --- ELF

my ($debug, $code) = map { "buildid/$build/$_" } qw(debuginfo executable);
my @id = ('_', "buildid-$build");
put("d/$debug", $elf{debug});
put("d/$code", $elf{program});
served('debuginfod, debug file', $elf{debug}, 'debuginfo', 'debuginfod', @id);
served('- executable', $elf{program}, 'executable', 'debuginfod', @id);
is_deeply [ grep { m{^/d/} } asked() ], ["/d/$debug", "/d/$code"],
    '- each is asked for once';
put("q/_.debug/elf-buildid-sym-$build/_.debug", $elf{debug});
put("q/program/elf-buildid-$build/program", $elf{program});
served('SSQP, debug file', $elf{debug}, 'debuginfo', 'ssqp', @id);
served('- executable', $elf{program}, 'executable', 'ssqp', 'Program', $id[1]);
put('u/93/' . substr($build, 2) . '/debuginfo', $elf{full});
served('unified, a program with debug information', $elf{full}, 'debuginfo',
       'unified', @id);
put("q/_.debug/elf-buildid-sym-$short" . '0' x 24 . '/_.debug', $elf{full8});
served('a short build id', $elf{full8}, 'debuginfo', 'ssqp', '_',
       "buildid-$short");
$t->write_file("folder/_.debug/elf-buildid-sym-$build/_.debug", $elf{debug});
served('a folder', $elf{debug}, 'debuginfo', 'folder', @id);

$t->write_file("folder/Prog.so/elf-buildid-$build/prog.so", $elf{program});
served('a program in a folder, without its name', $elf{program}, 'executable',
       'folder', @id);

# The same where the directory has no file as it is.  Another folder with the
# same id that lacks the file hides nothing.
my $other_id = '5e1f0c7a9b3d48260e75c1a4f2896bd03d51e7f4';
system("cd $dir && cc -Wl,--build-id=0x$other_id -o other p.c") == 0 or die;
my $other = $t->read_file('other');
mkdir $t->path("only$_") for 1 .. 4;
for my $n (1 .. 4) {
    $t->write_file("only$n/$_/elf-buildid-$other_id/readme", '') for qw(a z);
}
my $only = "m.so.1/elf-buildid-$other_id";
$t->write_file("only1/$only/m.so._", gzipped($other));
$t->write_file("only2/\U$only\E/M.SO._", Test::Cabinet::cabinet($other));
put("at/other", $other);
$t->write_file("only3/$only/File.ptr", 'PATH:' . $web->url . '/at/other');
served("a program in a folder, only $_->[1], without its name", $other,
       'executable', "only$_->[0]", '_', "buildid-$other_id")
    for [ 1, 'gzipped' ], [ 2, 'in a cabinet' ], [ 3, 'as a pointer' ];
like why('executable', 'only1', '_', "buildid-$other_id"),
    qr/^not found: no such file; found: \d+ bytes$/, '- in its second place';
($status, undef, $reason) = lookup('executable', 'only4', '_',
                                   "buildid-$other_id");
is "$status $reason", '404 notfound', '- and in none of these forms';

my $at_gdb = 'usr/.build-id/93/' . substr $build, 2;
$t->write_file("$at_gdb.debug", $elf{debug});
$t->write_file('bin/program', $elf{program});
symlink '../../../bin/program', $t->path($at_gdb) or die;
served("gdb's folder", $elf{debug}, 'debuginfo', 'gdb', @id);
served('- and a link to the program', $elf{program}, 'executable', 'gdb', @id);
($status, undef, $reason) = lookup('executable', 'gdb', 'no.dll', $key);
is "$status $reason", '404 notfound', '- which has no images';

# Without a build id a program has the id of its code, and its debug file none:
# whatever .gnu_debuglink says, nobody could ask for that.
my %made_of;
for my $file (qw(none none.debug)) {
    system("cd $dir && objcopy --only-keep-debug none none.debug && "
        . $t->program('symcachectl') . " convert $file -o $file.symcache")
        == 0 or die;
    ($made_of{$file}) = `@{[ $t->program('symcachectl') ]} dump $dir/$file.symcache`
        =~ /^id\s+(\S+)/m;
}
like $made_of{none}, qr/[1-9a-f]/, 'a program without a build id';
unlike $made_of{'none.debug'}, qr/[1-9a-f]/, '- its debug file has no id';

put("s/_.debug/elf-buildid-sym-$build/_.debug", $elf{program});
refused('a stripped program for its debug file',
        qr/a program without debug information/, 'debuginfo', 'symstore', @id);
put("s/a.so/elf-buildid-$build/a.so", $elf{debug});
refused('a debug file for its program', qr/a debug file, without code/,
        'executable', 'symstore', 'a.so', $id[1]);
put("s/b.so/elf-buildid-$build/b.so", $elf{full8});
refused('another program', qr/wrong build id: $short/, 'executable',
        'symstore', 'b.so', $id[1]);
put("s/c.so/elf-buildid-$build/c.so", $elf{none});
refused('a program without a build id', qr/wrong build id: none/,
        'executable', 'symstore', 'c.so', $id[1]);
put("s/d.so/elf-buildid-$build/d.so",
    substr $elf{full}, 0, length($elf{full}) - 64);
refused('a program that is cut off', qr/ends before/, 'executable', 'symstore',
        'd.so', $id[1]);

# --- sources and sections of debuginfod, which are taken as they are

my $at = "/buildid/$build";
for ([ 'source', '/usr/src/A%20b%23.c', "int a;\n", '%2fusr%2fsrc%2f%41%20b%23.c' ],
     [ 'source', '/p.html', '<!doctype html>', '%2fp.html' ],
     [ 'source', '/p.gz', gzipped('x'), '%2fp.gz' ],
     [ 'section', '.gdb_index', "\0\1", '%2egdb_index' ]) {
    my ($kind, $path, $body, $as) = @$_;
    put("d$at/$kind" . ($kind eq 'section' ? '/' : '') . $path, $body);
    served("$kind $path", $body, $kind, 'debuginfod', $as =~ s/%/%25/gr,
           $id[1]);
}
is_deeply [ map { s/.*$build//r } grep { /source|section/ } asked() ],
    [ '/source/usr/src/A%20b%23.c', '/source/p.html', '/source/p.gz',
      '/section/.gdb_index' ], '- each is asked for once';
($status, undef, $reason) = lookup('source', 'debuginfod', '%252fno.c', $id[1]);
is "$status $reason", '404 notfound', 'no such source file';
my $n = () = asked();
for my $name ('a.c', '%252fa%252f..%252fb', '%252f%252e%252e', '%252f',
              '%2561', '_') {
    ($status) = lookup('source', 'debuginfod', $name, $id[1]);
    is $status, 404, "no path: $name";
}
($status, undef, $reason) = lookup('source', 'ssqp', '%252fa.c', $id[1]);
is "$status $reason", '404 no-source', 'sources that have none';
is scalar(() = asked()), $n, '- are not asked';
$t->write_file("tree$at/source/a.c", 'a');
served('a source file in a folder', 'a', 'source', 'tree', '%252fa.c', $id[1]);
($status) = lookup('source', 'tree', '%252f%2541.c', $id[1]);
is $status, 404, '- and A.c is another';

# --- Mach-O

put("q/_.dwarf/mach-uuid-sym-$uuid/_.dwarf", macho(10));
put("q/tool/mach-uuid-$uuid/tool", macho(2));
served('a dSYM', macho(10), 'debuginfo', 'ssqp', '_', "buildid-$uuid");
served('a program', macho(2), 'executable', 'ssqp', 'tool', "buildid-$uuid");
$t->write_file("folder/_.dwarf/mach-uuid-sym-$uuid/_.dwarf", macho(10));
$t->write_file("folder/Tool/MACH-UUID-$uuid/tool", macho(2));
served('a dSYM in a folder', macho(10), 'debuginfo', 'folder', '_',
       "buildid-$uuid");
served('a program in a folder', macho(2), 'executable', 'folder', 'tool',
       "buildid-$uuid");
served('- without its name', macho(2), 'executable', 'folder', '_',
       "buildid-$uuid");
put("u/67/" . substr($uuid, 2) . '/debuginfo', macho(2));
refused('a program for its dSYM', qr/a program, not its debug information/,
        'debuginfo', 'unified', '_', "buildid-$uuid");

# --- Breakpad's text has a kind of its own

$t->stop_symcached;
$config->{stores}{sym} = { %{ $config->{stores}{ssqp} },
    root => $t->path('stores/sym'), sources => ['text'] };
$config->{sources}{text} = { type => 'filesystem', layout => 'breakpad',
                             path => $t->path('sym') };
$t->start_symcached($config);
my $text = $t->read_file($t->data('convert/breakpad/crlf.sym'));
my ($so, $name) = $text =~ /^MODULE \S+ \S+ (\w+) (\S+)/;
$t->write_file("sym/$name/$so/$name.sym", $text);
served("Breakpad's text", $text, 'sym', 'sym', $name, $so);

# --- what nobody asked for is removed, of each kind of id

my %path = (
    used => "ssqp/_/buildid-$build/_",
    elf => "debuginfod/_/buildid-$build/_",
    program => "debuginfod/_/buildid-$build/_.executable",
    image => "symstore/basic32.dll/$key/basic32.dll.executable",
    sym => "sym/\L$name\E/$so/\L$name\E.sym",
);
for (values %path) {
    my $file = $t->path("downloads/$_");
    ok -e $file, "$_ is there";
    utime time - 30 * 86400, time - 30 * 86400, $file or die "$file: $!";
}
is((lookup('debuginfo', 'ssqp', @id))[0], 200, 'one of them is asked for');
$t->stop_symcached;
my $file = $t->write_helper_config($config);
my %env = $t->sanitizer_env(0);
is system({ 'env' } 'env', (map { "$_=$env{$_}" } keys %env),
    $t->program('symcached'), '--clean', '-c', $file), 0, 'cleaning';
is_deeply [ grep { -e $t->path("downloads/$path{$_}") } sort keys %path ],
    ['used'], 'leaves what was used';
ok !-e $t->path('downloads/debuginfod/_'), 'and no empty folder';

$t->finish;
done_testing;
