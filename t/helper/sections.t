#!/usr/bin/env perl

# Sections of ELF files: those of a server of debuginfod, and what is cut out of
# debug files and programs of other sources, or of what lies among the
# downloads.  What is in a section is what objcopy and readelf say.

use strict;
use warnings;

use File::Path qw(remove_tree);
use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Compress::Gzip qw(gzip);
use IO::Select;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;

# --- a program and its debug file, as an oracle takes them apart

my $build = '93ac61ec5a8eb1396f9fbd350e3169a558528a40';
$t->write_file('p.c', "int f(int i)\n{\n    return i + 1;\n}\n\n"
    . "int main(void)\n{\n    return f(-1);\n}\n");
$t->write_file('none', '');
for my $c (
    "cc -g -gz=zlib -Wl,--build-id=0x$build -o first p.c",
    "objcopy --add-section .none=none --add-section 'A b%=p.c' first full",
    'objcopy --only-keep-debug full debug',
    'strip -o program full',
) {
    system("cd $dir && $c") == 0 or die "$c: $?";
}
my %elf = map { $_ => $t->read_file($_) } qw(full debug program);

# The bytes of a section as they lie in the file, by its section header.
sub section {
    my ($file, $name) = @_;
    my ($offset, $size) =
        `cd $dir && LC_ALL=C readelf -SW $file 2>/dev/null` =~
            /^\s*\[\s*\d+\]\s+\Q$name\E\s+[A-Z_]+\s+\w+\s+(\w+)\s+(\w+)/m
        or die "$file has no $name";
    return substr $elf{$file}, hex $offset, hex $size;
}
my %section = (
    '.text' => section('program', '.text'),
    '.interp' => section('program', '.interp'),
    '.debug_info' => section('debug', '.debug_info'),
    '.debug_str' => section('debug', '.debug_str'),
    '.symtab' => section('debug', '.symtab'),
    'A b%' => $t->read_file('p.c'),
);
system("cd $dir && objcopy -O binary --only-section=.text program text") == 0
    or die;
is $section{'.text'}, $t->read_file('text'), 'objcopy says the same of .text';
like `cd $dir && LC_ALL=C readelf -SW debug 2>/dev/null`,
    qr/\.debug_info(?:\s+\w+){5}\s+C/, 'one of them is compressed';

# --- sources

my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    return $c->reply(404, {}, '') unless -f $t->path("web$req->{path}");
    $c->reply(200, {}, $t->read_file("web$req->{path}"));
});
sub put { my ($path, $body) = @_; $t->write_file("web/$path", $body) }
sub asked { map { $_->{path} } $web->requests }

my $config = $t->default_config($web->url);
my %sources = (
    server => { type => 'http', url => $web->url . '/d',
                layout => 'debuginfod' },
    bucket => { type => 'http', url => $web->url . '/u', layout => 'unified' },
    folder => { type => 'filesystem', path => $t->path('folder'),
                layout => 'symstore' },
    bad => { type => 'filesystem', path => $t->path('bad'),
             layout => 'symstore' },
    tree => { type => 'filesystem', path => $t->path('tree'),
              layout => 'debuginfod' },
);
for my $name (keys %sources) {
    $config->{sources}{$name} = $sources{$name};
    $config->{sources}{$name}{internal} = JSON::PP::true()
        if $sources{$name}{url};
    $config->{stores}{$name} = { root => $t->path("stores/$name"),
        transcoders => $config->{stores}{default}{transcoders},
        sources => [$name] };
}
mkdir $t->path($_) for qw(folder tree bad);
$config->{stores}{both} = { root => $t->path('stores/both'),
    transcoders => $config->{stores}{default}{transcoders},
    sources => ['folder', 'server'] };
$config->{stores}{ahead} = { root => $t->path('stores/ahead'),
    transcoders => $config->{stores}{default}{transcoders},
    sources => ['bucket', 'tree'] };
$t->start_symcached($config);

sub escape {
    my ($name) = @_;
    return $name =~ s/^([._])|([^a-z0-9\-+~_.])/sprintf '%%%02x', ord($1 \/\/ $2)/ger;
}

sub lookup {
    my ($store, $name, $kind, $id) = @_;
    $kind //= 'section';
    $name = $kind eq 'section' ? escape($name) =~ s/%/%25/gr : $name;
    my $r = $t->helper('GET', "/v1/$kind/$store/$name/buildid-"
        . ($id // $build) . '?version=1.0.0&wait=60');
    my $h = sub { scalar Test::Symcache::header($r, "X-Symcache-$_[0]") };
    return ($r->{status}, $h->('Path') // $h->('Reason'));
}

sub served {
    my ($what, $store, $name, $body) = @_;
    my ($status, $path) = lookup($store, $name);
    is $status, 200, "$what: $name" or diag why($store, $name), return;
    is $t->read_file("downloads/$store/$path"), $body // $section{$name},
        '- and its bytes';
}

sub absent {
    my ($what, $store, $name) = @_;
    is join(' ', lookup($store, $name)), '404 notfound', "$what: no $name"
        or diag why($store, $name);
}

sub why {
    my ($store, $name) = @_;
    my $at = escape($name) =~ s/%/%25/gr;
    my $why = $t->helper_json("/v1/why/$store/$at/buildid-$build?kind=section");
    return join '; ', map { "$_->{source} $_->{outcome}: $_->{detail}" }
        @{ $why->{attempts} };
}

# --- in a folder

my $debug = "_.debug/elf-buildid-sym-$build/_.debug";
my $program = "prog.so/elf-buildid-$build/prog.so";
absent('an empty folder', 'folder', '.text');
$t->write_file("folder/$debug", $elf{debug});
$t->write_file("folder/$program", $elf{program});
my $old = time - 2 * 3600;
utime $old, $old, map { $t->path("folder/$_") } $debug, $program or die;
is $t->helper('POST', "/v1/forget/folder/_/buildid-$build")->{status}, 200,
    'forget, by the build id';
served('a folder', 'folder', $_) for sort keys %section;
absent('a folder', 'folder', $_) for '.none', '.bss', '.gdb_index', '.TEXT';
# the file is among the downloads a moment after its first section was answered
like why('folder', '.gdb_index'),
    qr/(?:downloads|folder) not found: no such section/, 'it is said why';
like why('folder', '.bss'), qr/no data in this file/, '- of one without bytes';

# --- of files by build id, in a folder and at a server

$t->write_file("tree/buildid/$build/executable", $elf{program});
served('a tree, its program', 'tree', '.text');
absent('- without its debug file', 'tree', '.debug_str');
put('u/93/' . substr($build, 2) . '/debuginfo', $elf{debug});
put('u/93/' . substr($build, 2) . '/executable', $elf{program});
served('a bucket', 'bucket', $_) for '.symtab', '.text', '.debug_info';
absent('a bucket', 'bucket', '.gdb_index');
is_deeply [ map { s{.*/}{}r } grep { m{^/u/} } asked() ],
    [qw(debuginfo executable)], 'each of its files is fetched once';
is((lookup('bucket', '_', 'debuginfo'))[0], 200, 'and is there for debuggers');
is scalar(grep { m{/debuginfo$} } asked()), 1, '- without another request';

# --- a server of debuginfod cuts by itself

put("d/buildid/$build/section/.text", 'what it says');
put("d/buildid/$build/debuginfo", $elf{debug});
served('a server', 'server', '.text', 'what it says');
absent('a server', 'server', '.gdb_index');
is scalar(grep { m{^/d/.*/debuginfo$} } asked()), 0,
    '- and its files are not fetched for that';
is((lookup('server', '_', 'debuginfo'))[0], 200, 'its debug file is fetched');
served('from the downloads', 'server', '.debug_info');
is scalar(grep { m{^/d/.*/section/\.debug_info} } asked()), 0,
    '- without a request';
unlink map { $t->path("folder/$_") } $debug, $program or die;
served('the second of two sources', 'both', '.text', 'what it says');

# --- files that are not what they should be

sub unsure {
    my ($what, $body, $detail) = @_;
    $t->write_file("bad/$debug", $body);
    $t->helper('POST', "/v1/forget/bad/_/buildid-$build");
    is +(lookup('bad', '.other'))[0], 503, "$what: no final answer";
    like why('bad', '.other'), $detail, '- and it is said why';
}
my $other = $elf{debug};
substr $other, index($other, pack 'H*', $build), 20, 'x' x 20;
unsure('another build', $other, qr/wrong build id/);
unsure('half a file', substr($elf{debug}, 0, length($elf{debug}) / 2),
       qr/ends before|cut off/);
unsure('a page', '<html>nothing</html>', qr/HTML/);

# --- what is asked for while it is forgotten, and by many at once

my @many = map { $t->open_http($t->helper_socket, 'GET',
    "/v1/section/bucket/%25$_/buildid-$build?version=1.0.0&wait=60") }
    ('2edynsym') x 8, ('2edynstr') x 8;
is_deeply [ map { $t->read_response($_)->{status} } @many ], [ (200) x 16 ],
    'many at once';

# --- one that is cut for longer than limits.look_ahead_after

sub cutter {
    open my $fh, '<', "/proc/$t->{helper}/task/$t->{helper}/children"
        or return;
    for my $pid (split ' ', <$fh> // '') {
        return $pid if ($t->read_file("/proc/$pid/cmdline") // '')
            =~ /\0--unpack(?:\0[^\0]*){3}\0[^\0]*debug_info\0\z/;
    }
    return;
}

# Begins and holds the process that cuts; it may be through before that.
sub held {
    return $t->wait_until('a cut that can be held', sub {
        remove_tree($t->path('downloads/ahead'));
        my $s = $t->open_http($t->helper_socket, 'GET', '/v1/section/ahead/'
            . "%252edebug_info/buildid-$build?version=1.0.0&wait=60");
        my ($answer, $pid) = IO::Select->new($s);
        $pid = cutter() until $pid || $answer->can_read(0);
        if ($pid && kill('STOP', $pid)) {
            $t->wait_until('it is held', sub {
                ($t->read_file("/proc/$pid/stat") // ') X ') =~ /\) [TXZ] /;
            });
            return [$s, $pid]
                if ($t->read_file("/proc/$pid/stat") // '') =~ /\) T /;
        }
        $t->read_response($s);
        return;
    });
}

my ($cut, $pid) = @{ held() };
my $since = time;
$t->wait_until('two seconds', sub { time - $since > 2 });
kill 'CONT', $pid;
my $r = $t->read_response($cut);
is $r->{status}, 200, 'a section that is cut while a source could be asked';
is $t->read_file('downloads/ahead/'
    . Test::Symcache::header($r, 'X-Symcache-Path')), $section{'.debug_info'},
    '- and its bytes';

# --- more sections than the header can count

my $long = '5' x 40;
$t->write_file('many.s', ".globl _start\n_start: nop\n"
    . join '', map { ".section s$_, \"\"\n.long $_\n" } 1 .. 66000);
system("cd $dir && cc -nostdlib -static -Wl,--build-id=0x$long -o many many.s") == 0
    or die "cc: $?";
$t->write_file("tree/buildid/$long/executable", $t->read_file('many'));
my ($status, $path) = lookup('tree', 's66000', 'section', $long);
is $status, 200, 'the last of 66,000 sections';
is unpack('V', $t->read_file("downloads/tree/$path")), 66000, '- and its bytes';

# --- a name that is not UTF-8 is the name of one section

my $odd = '6' x 40;
system("cd $dir && cc -Wl,--build-id=0x$odd -o even p.c"
    . " && objcopy --add-section '\xff\x80=p.c' even odd"
    . ' && objcopy -O binary --only-section=.text even text') == 0 or die "odd: $?";
$t->write_file("tree/buildid/$odd/executable", $t->read_file('odd'));
($status, $path) = lookup('tree', '.text', 'section', $odd);
is $status, 200, 'a file that has a section whose name is not UTF-8';
is $t->read_file("downloads/tree/$path"), $t->read_file('text'), '- has others';
($status, $path) = lookup('tree', "\xff\x80", 'section', $odd);
is $status, 200, '- and this one';
is $t->read_file("downloads/tree/$path"), $t->read_file('p.c'), '- are served';

$t->finish;
done_testing;
