#!/usr/bin/perl

# Real clients of debuginfod before nginx and symcached: what they make of a
# file that is there, one that comes while they wait, one that comes later than
# that, of one that nobody has, and of a helper that is dead.  Behind us is a
# server that has the files as they are, one that has them in cabinets only, and
# one that has pointers only.  A client that this machine lacks is skipped.
# Those of symbol servers run on Windows and .NET: here their requests are sent
# as they were seen.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX ();
use Test::Cabinet;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $port = Test::Symcache::free_port();

sub found_in_path { (grep { -x "$_/$_[0]" } split /:/, $ENV{PATH})[0] }

plan skip_all => "$_ is not installed"
    for grep { !found_in_path($_) } qw(cc objcopy strip);

# --- a program without its debug information

my $build = '5e1f0c7a9b3d48260e75c1a4f2896bd03d51e7f4'; # of no package
$t->write_file('p.c', "int f(int i)\n{\n    return i + 1;\n}\n\n"
    . "int main(void)\n{\n    return f(-1);\n}\n");
for my $c ("cc -g -rdynamic -Wl,--build-id=0x$build -o full p.c",
           'objcopy --only-keep-debug full debug', 'strip -o prog full')
{
    system("cd $dir && $c") == 0 or die "$c: $?";
}
my ($address) = `nm $dir/full` =~ /^(\w+) T main$/m or die 'no main';
my $debug = $t->read_file('debug');

$t->write_file('find.py', <<"PYTHON");
import drgn
program = drgn.Program()
module = program.extra_module('prog', create=True)
module.build_id = bytes.fromhex('$build')
try:
    program.load_module_debug_info(module)
except drgn.MissingDebugInfoError as error:
    print(error)
print(module.debug_file_path)
PYTHON

# --- the clients: command, what it says when it has the debug information, and
# whether it is one of elfutils, which asks three times

my %clients = (
    'debuginfod-find' => ['debuginfod-find -v debuginfo ' . $build,
                          qr{/debuginfo$}m, 1],
    'gdb' => ["gdb -nx -batch -iex 'set debuginfod enabled on' "
              . "-ex 'info line main' $dir/prog", qr/Line 7 of "p\.c"/, 1],
    'eu-addr2line' => ["eu-addr2line -e $dir/prog 0x$address", qr{p\.c:7}, 1],
    'dlv' => ["sh -c \"printf 'funcs main\\nexit\\n' | dlv exec $dir/prog "
              . '--allow-non-terminal-interactive=true"', qr/C\.main/, 1],
    'abidw' => ["abidw $dir/prog", qr/<abi-instr [^>]*path='p\.c'/, 1],
    'drgn' => ["python3 $dir/find.py", qr{/debuginfo$}m, 1],
    # memcheck of 3.24 asks only for names that it prints
    'valgrind' => ["valgrind -v --tool=callgrind --callgrind-out-file=/dev/null "
                   . "$dir/prog",
                   qr/Successfully downloaded debug file for \S*prog/, 1],
);
# what older ones lack, find.py calls
my %lacks = system("python3 -c 'import drgn; drgn.Program.extra_module' 2>/dev/null") == 0
    ? () : (drgn => 'drgn 0.0.31 or newer, as on PyPI');
# it has that ask for it
delete $clients{valgrind} unless found_in_path('debuginfod-find');
for my $v (14 .. 23) {
    my $find = "/usr/lib/llvm-$v/bin/llvm-debuginfod-find";
    $clients{"llvm-debuginfod-find-$v"} = ["$find --debuginfo $build",
        qr{/llvmcache-\S+$}m, 0, $find] if -x $find;
    # from 19 on it asks
    my $lldb = "/usr/lib/llvm-$v/bin/lldb";
    $clients{"lldb-$v"} = ["$lldb --no-lldbinit --batch -o 'settings set "
        . "plugin.symbol-locator.debuginfod.server-urls http://127.0.0.1:$port' "
        . "-o 'target create $dir/prog' -o 'image lookup -n main'",
        qr/prog`main at p\.c:7/, 0, $lldb] if $v >= 19 && -x $lldb;
}

# --- the files, by their places

my $id = $Test::Symcache::key{'crash.pdb'};
my $image = $t->read_file($t->data('pdb/basic32.dll'));
my $pe = unpack 'V', substr $image, 60, 4;
my ($stamp, $size) = (unpack('V', substr $image, $pe + 8, 4),
                      unpack 'V', substr $image, $pe + 24 + 56, 4);
my %files = (
    "_.debug/elf-buildid-sym-$build/_.debug" => $debug,
    "crash.pdb/$id/crash.pdb" => $t->read_file($t->data('pdb/crash.pdb')),
    sprintf('basic32.dll/%08X%x/basic32.dll', $stamp, $size) => $image,
    "prog/elf-buildid-$build/prog" => $t->read_file('prog'),
);

# --- the servers behind us, of which a configuration has one

# What the servers have, by form and path: whether it waits until it may be had,
# and the body.
my %there = (debuginfod => { "buildid/$build/debuginfo" => [1, $debug],
    "buildid/$build/source/src/A%20b.c" => [0, "int a;\n"] });
for my $file (keys %files) {
    my ($folder) = $file =~ m{^(.*)/};
    $there{plain}{$file} = [1, $files{$file}];
    $there{packed}{ $file =~ s/.$/_/r } =
        [1, Test::Cabinet::cabinet($files{$file})];
    $there{pointers}{"$folder/file.ptr"} = [0, "PATH:http://HOST/plain/$file"];
}

my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my ($form, $path) = $req->{path} =~ m{^/(\w+)/(.*)$};
    my ($waits, $body) = @{ $there{$form}{$path} // [] };
    return $c->reply(404, {}, '') if !defined $body || -e $t->path('gone');
    until (!$waits || -e $t->path('open')) {
        return $c->close if $c->wait_for_peer(0.01);
    }
    $body =~ s/HOST/$req->{headers}{host}/ if $form eq 'pointers';
    $c->reply(200, {}, $body);
});
my $config = $t->default_config($web->url, cache => { retry_errors_after => '1s' });
my %upstream = %{ delete $config->{sources}{upstream} };
for my $form (qw(debuginfod plain packed pointers)) {
    $config->{sources}{$form} = { %upstream, url => $web->url . "/$form",
        layout => $form eq 'debuginfod' ? $form : 'symstore' };
}
my $n = 0;

# Who is behind us from now on.
sub behind { $config->{stores}{default}{sources} = [@_] }

# Everything is as if nobody had asked yet; a hold is as long as told.
sub begin {
    my ($hold, @files) = @_;
    $n++;
    unlink map { $t->path($_) } qw(open gone);
    $t->write_file($_, '') for @files;
    $config->{stores}{default}{root} = $t->path("store$n");
    $config->{downloads} = $t->path("downloads$n");
    $t->start_symcached($config);
    $t->start_nginx("location / {
        symcache_symbols $dir/downloads$n;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_hold_timeout $hold;
    }", listen => "listen 127.0.0.1:$port;", address => "127.0.0.1:$port",
        http => "access_log $dir/access$n.log;");
}

sub end {
    $t->stop_nginx;
    $t->stop_symcached;
}

sub logged { $t->read_file("access$n.log") // '' }

sub asked { scalar grep { $_->{path} =~ /$build/ } $web->requests }

# A client in a folder of its own: its process and where its output goes.
sub start {
    my ($name, $home) = @_;
    my $out = "$home.out";
    mkdir $t->path($home);
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        $ENV{HOME} = $ENV{TMPDIR} = $ENV{XDG_CACHE_HOME} = $t->path($home);
        $ENV{DEBUGINFOD_URLS} = "http://127.0.0.1:$port";
        $ENV{DEBUGINFOD_CACHE_PATH} = $t->path("$home/cache");
        delete @ENV{grep { /_proxy$/i } keys %ENV};
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', $t->path($out);
        open STDERR, '>&', \*STDOUT;
        exec $clients{$name}[0] or POSIX::_exit(127);
    }
    return [$pid, $out, $name];
}

# Does it have the file?
sub finds {
    my ($run) = @_;
    my ($pid, $out, $name) = @$run;
    waitpid $pid, 0;
    return ($t->read_file($out) // '') =~ $clients{$name}[1] ? 'found'
        : 'not found';
}

# A client and its home, when files come in one form.
sub try_client {
    my ($name, $form) = @_;
    my $elfutils = $clients{$name}[2];
    my $home = "$form-$name" =~ s/\W/_/gr;
    my $what = "$form: $name";
    my $run;

    begin('60s', 'open');
    is finds(start($name, "${home}1")), 'found', "$what: what is there";
    end();

    begin('60s');
    my $before = asked();
    $run = start($name, "${home}2");
    $t->wait_until('the source is asked', sub { asked() > $before });
    $t->write_file('open', '');
    is finds($run), 'found', "$what: what comes while it waits";
    end();

    begin('1s');
    $run = start($name, "${home}3");
    $t->wait_until('a hold ended', sub { logged() =~ / 444 / });
    $t->write_file('open', '');
    is finds($run), $elfutils ? 'found' : 'not found',
        "$what: what comes later" . ($elfutils ? ', as it asks again' : '');
    is finds(start($name, "${home}3")), 'found', '- its next start';
    end();

    begin('60s', 'open', 'gone');
    is finds(start($name, "${home}4")), 'not found', "$what: no such file";
    ok $t->wait_until('404', sub { logged() =~ / 404 / }),
        '- is a plain 404';
    end();
}

for my $name (sort keys %clients) {
    SKIP: {
        my ($program) = $clients{$name}[3] // found_in_path($name);
        skip "$name is not installed", 1 unless $program;
        skip "no $lacks{$name}", 1 if $lacks{$name};
        for my $form (qw(debuginfod plain packed pointers)) {
            behind($form);
            try_client($name, $form);
        }
        my $home = $name =~ s/\W/_/gr;

        behind('debuginfod');
        begin('1s', 'open');
        $t->stop_symcached;
        is finds(start($name, $home)), 'not found', "$name: no helper";
        $t->wait_until('a reset', sub { logged() =~ / 444 / });
        unlike logged(), qr/ (?:404|50.) /,
            '- no answer says that it is absent';
        $t->start_symcached($config);
        is finds(start($name, $home)), 'found',
            '- and nothing was kept of that';
        end();
    }
}

# --- a program: its name is not told, so that only a directory can be searched

SKIP: {
    skip 'debuginfod-find is not installed', 6
        unless found_in_path('debuginfod-find');
    my $in_folder = "prog/elf-buildid-$build";
    for my $form (qw(plain packed pointers)) {
        $config->{sources}{"only-$form"} = { type => 'filesystem',
            path => $t->path("only-$form"), internal => JSON::PP::true() };
        for my $file (grep { m{^$in_folder/} } keys %{ $there{$form} }) {
            my $body = $there{$form}{$file}[1] =~ s{http://HOST}{$web->url}er;
            $t->write_file("only-$form/$file", $body);
        }
        behind("only-$form");
        begin('60s', 'open');
        $clients{program} = ["debuginfod-find executable $build",
                             qr{/executable$}m];
        is finds(start('program', "program-$form")), 'found',
            "a directory, $form: a program";
        $clients{program}[0] =~ s/.{4}$/0000/;
        is finds(start('program', "none-$form")), 'not found',
            '- no such program';
        end();
    }
}

# --- a source file

SKIP: {
    skip 'debuginfod-find is not installed', 2
        unless found_in_path('debuginfod-find');
    behind('debuginfod');
    begin('60s', 'open');
    $clients{source} = ["debuginfod-find source $build '/src/A b.c'",
                        qr{^/.*A.b\.c$}m];
    is finds(start('source', 'source1')), 'found', 'a source file';
    $clients{source}[0] =~ s/A b/none/;
    is finds(start('source', 'source2')), 'not found', 'no such source file';
    end();
}

# --- what clients of symbol servers ask, one after the other, until 200

# The places of a file, one by one: as it is, packed, as a pointer.
sub forms {
    my ($folder, $name) = @_;
    return ("$folder/$name", "$folder/" . ($name =~ s/.$/_/r),
            "$folder/file.ptr");
}
my ($pdb, $dll) = ("crash.pdb/$id", 'basic32.dll/');
my @traceevent = ('Accept: application/msfz0',
                  'User-Agent: Microsoft-Symbol-Server/6.13.0009.1140');
my @symsrv = 'User-Agent: Microsoft-Symbol-Server/10.0.10036.206';
my @keys = (sprintf('%08x%x', $stamp, $size), sprintf '%08X%x', $stamp, $size);
my @sequences = (
    ['TraceEvent, PDB', 'crash.pdb', \@traceevent,
     map { forms($_, 'crash.pdb') } $pdb, "cr/$pdb"],
    ['TraceEvent, PE', 'basic32.dll', \@traceevent,
     map { forms($_, 'basic32.dll') } "$dll$keys[0]", "ba/$dll$keys[0]"],
    ['ClrMD, PE', 'basic32.dll', [], "$dll$keys[0]/basic32.dll"],
    ['dotnet-symbol, PDB', 'crash.pdb', ['X-TFS-FedAuthRedirect: Suppress'],
     lc "$pdb/crash.pdb"],
    ['dotnet-symbol, PE', 'basic32.dll', ['X-TFS-FedAuthRedirect: Suppress'],
     "$dll$keys[1]/basic32.dll"],
    ['symsrv', 'crash.pdb', \@symsrv, forms($pdb, 'crash.pdb')],
    ['symsrv, packed first', 'crash.pdb', \@symsrv,
     (forms($pdb, 'crash.pdb'))[1, 0, 2]],
    ['symsrv, pointer first', 'crash.pdb', \@symsrv, 'index2.txt',
     (forms($pdb, 'crash.pdb'))[2, 0, 1]],
);

# The status of each answer, and whether the last one is the file, or the cabinet
# of it where a packed one was asked for.
sub ask_for {
    my ($what, $name, $headers, @paths) = @_;
    my ($file) = grep { m{/\Q$name\E$} } keys %files;
    my ($all, $body, $r) = '';
    for my $path (@paths) {
        $r = $t->http("127.0.0.1:$port", 'GET', "/$path", @$headers);
        $all .= "$r->{status} ";
        $body = $path =~ /_$/ ? $there{packed}{$path}[1] : $files{$file};
        last if $r->{status} == 200;
    }
    return $all . ($r->{body} eq $body ? 'found' : 'not found');
}

for my $form (qw(plain packed pointers)) {
    behind($form);
    for my $c (@sequences) {
        my ($what, $name, undef, @paths) = @$c;
        # a packed one is answered where the source has it so
        my $had = $form eq 'packed' ? qr/(?:\Q$name\E|_)$/ : qr/\Q$name\E$/;
        my ($at) = grep { $paths[$_] =~ $had } 0 .. $#paths;
        begin('60s', 'open');
        is ask_for(@$c), '404 ' x $at . '200 found', "$form: $what";
        end();
        begin('60s', 'open', 'gone');
        is ask_for(@$c), '404 ' x @paths . 'not found', '- no such file';
        end();
    }
}

# --- sections: debuginfod itself says what is to be answered

SKIP: {
    skip "$_ is not installed", 1
        for grep { !found_in_path($_) } qw(debuginfod debuginfod-find readelf);
    my $other = Test::Symcache::free_port();
    mkdir $t->path($_) for qw(files folder);
    $t->write_file('files/debug', $debug);
    $t->write_file('files/prog', $t->read_file('prog'));
    $t->write_file("folder/_.debug/elf-buildid-sym-$build/_.debug", $debug);
    $t->write_file("folder/prog/elf-buildid-$build/prog",
                   $t->read_file('prog'));
    $config->{sources}{folder} = { type => 'filesystem',
                                   path => $t->path('folder') };
    $config->{stores}{default}{sources} = ['folder'];
    begin('60s');
    my $pid = $t->spawn('debuginfod.log',
        {}, found_in_path('debuginfod') . '/debuginfod', '-d', ':memory:', '-p',
         $other, '-F', $t->path('files'));

    # what a server gives of a section, or undef
    my $n = 0;
    my $find = sub {
        my ($port, @what) = @_;
        my $cache = $t->path('finds' . $n++);
        local $ENV{DEBUGINFOD_URLS} = "http://127.0.0.1:$port";
        local $ENV{DEBUGINFOD_CACHE_PATH} = $cache;
        my $file = `debuginfod-find @what 2>/dev/null`;
        chomp $file;
        return $file ne '' ? $t->read_file($file =~ s{^\Q$dir\E/}{}r) : undef;
    };
    $t->wait_until('debuginfod has both files', sub {
        $find->($other, 'debuginfo', $build)
            && $find->($other, 'executable', $build);
    });
    my %names = map { $_ => 1 } qw(.gdb_index .none .TEXT);
    for my $file (qw(debug prog)) {
        $names{$_} = 1 for `LC_ALL=C readelf -SW $dir/$file 2>/dev/null`
            =~ /^\s*\[\s*\d+\]\s+(\.\S+)/mg;
    }
    cmp_ok scalar(keys %names), '>', 25, 'many sections';
    my @section = map { [ $_, $find->($other, 'section', $build, $_) ] }
        sort keys %names;
    cmp_ok scalar(grep { defined $_->[1] } @section), '>', 20, '- it has most';
    is_deeply [ map { [ $_->[0], $find->($port, 'section', $build, $_->[0]) ] }
                @section ], \@section, 'the same as debuginfod gives';
    $t->stop_pid($pid, 'TERM');
    end();
}

$t->finish;
done_testing;
