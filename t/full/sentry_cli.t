#!/usr/bin/perl

# sentry-cli itself uploads debug files through nginx (conf-examples/uploads.conf):
# 200 of them, interrupted and repeated, then names, and the files themselves.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::Example;
use Test::More;
use Test::Peer;
use Test::Symcache;
use Test::Uploads;

my $cli = Test::Peer::folder('sentry-cli')
    . '/node_modules/@sentry/cli-linux-x64/bin/sentry-cli';
my $files = 200;
my $u = Test::Uploads->new(inputs => ['pdb', 'elf'],
                           uploads => { parts_kept => '1h', max_size => '64m' });
my $t = $u->t;
my $dir = $t->dir;
my $listen = '127.0.0.1:' . Test::Symcache::free_port();
$t->stop_nginx;
unlink $t->nginx_socket;
Test::Example::start($t, 'uploads.conf', address => $listen,
    put => { 'listen 80;' => "listen $listen; listen unix:$dir/n.sock;",
             '/run/symcached/uploads.sock' => "$dir/u.sock",
             '/srv/uploads' => "$dir/uploads" });

# programs that differ in their build id alone
mkdir "$dir/build" or die $!;
$t->write_file('p.c', 'int twice(int n) { return 2 * n; } int main(void) { return twice(0); }');
system('cc', '-g', '-O0', '-Wl,--build-id=0x' . '0' x 40, '-o', "$dir/p", "$dir/p.c") == 0 or die $?;
my $program = $t->read_file('p');
my $zero = pack 'H*', '0' x 40;
my $at = index $program, "GNU\0$zero";
die 'no build id' if $at < 0;
for my $i (1 .. $files) {
    my $copy = $program;
    substr($copy, $at + 4, 20) = pack 'N5', (0xabcdef00 + $i) x 5;
    $t->write_file("build/p$i", $copy);
}
my $pdb = $t->data('pdb/crash.pdb');
system('cp', $pdb, "$dir/build") == 0 or die $?;

@ENV{qw(SENTRY_URL SENTRY_AUTH_TOKEN SENTRY_ORG SENTRY_PROJECT)} =
    ("http://$listen", '0123456789abcdef0123456789abcdef', 'acme', 'web');

# what Sentry's SDK of .NET asks before it uploads anything
my $said = `'$cli' info 2>&1`;
is $?, 0, 'the client finds its settings right' or diag $said;
like $said, qr/User: ci\@example\.com/, '... and prints whose token it is';

sub stored { scalar grep { !/_\.chunk$/ } split ' ', $u->stored }
sub run_cli { return `timeout 300 '$cli' @_ 2>&1` }

# killed as soon as something has come
my $pid = fork // die $!;
if ($pid == 0) {
    open STDOUT, '>', '/dev/null';
    open STDERR, '>', '/dev/null';
    exec $cli, 'debug-files', 'upload', '--wait', "$dir/build";
    die $!;
}
$t->wait_until('chunks have come', sub { $u->stored =~ /_\.chunk/ });
kill 'KILL', $pid;
waitpid $pid, 0;
cmp_ok stored(), '<', $files + 1, 'the first run was interrupted';

$said = run_cli('debug-files', 'upload', '--wait', "$dir/build");
is $?, 0, 'the second one ends well' or diag $said;
is stored(), $files + 1, '... and all files are there';
like $said, qr/OK [0-9a-f]{8}-[0-9a-f-]{27}/,
    '... of which the client prints ids';
$said = run_cli('debug-files', 'upload', '--wait', "$dir/build");
like $said, qr/Nothing to upload, all files are on the server/,
    'the third one has nothing to send';

my $key = '3249D99D0C4049318610F4E4FB0B69361';
is $t->http("$dir/h.sock", 'GET',
    "/v1/symcache/default/crash.pdb/$key?version=9.0.0&wait=60")->{status}, 200,
    'a SymCache is made of an upload';
ok $t->read_file("uploads/crash.pdb/$key/crash.pdb") eq $t->read_file($pdb),
    'the file is as it was';

$said = run_cli('debug-files', 'upload', '--include-sources', '--wait', "$dir/build/p1");
is $?, 0, 'a program comes with its sources' or diag $said;
like $u->stored, qr{\bp1/\S+/p1\.src\.zip\b}, '... which are a bundle';

# scripts, by a debug id that the client injects, and by a release
mkdir "$dir/js" or die $!;
my $shop = $t->data('javascript/shop');
my ($line) = $t->read_file("$shop/terser.js") =~ /^(.*)\n/;
system('cp', "$shop/terser.js", "$shop/terser.js.map", "$dir/js") == 0 or die $?;
$said = run_cli('sourcemaps', 'inject', "$dir/js");
is $?, 0, 'debug ids are injected' or diag $said;
my ($script_id) = $t->read_file('js/terser.js') =~ /debugId=([0-9a-f-]{36})/;
$said = run_cli('sourcemaps', 'upload', '--release', 'web@1', '--wait', "$dir/js");
is $?, 0, 'scripts and maps come' or diag $said;
my $lookup = '/api/0/projects/acme/web/artifact-lookup/';
for ("debug_id=$script_id", 'release=web%401') {
    my $r = $u->request('GET', "$lookup?$_", '',
        "Authorization: Bearer $ENV{SENTRY_AUTH_TOKEN}");
    is scalar @{ $r->{json} // [] }, 1, "... and are found by $_";
}

# ... as the last client of version 1 sends them
my $old = Test::Peer::folder('sentry-cli-1')
    . '/node_modules/@sentry/cli-linux-x64/bin/sentry-cli';
$said = `timeout 300 '$old' releases files web\@0 upload-sourcemaps --wait --dist 7 '$dir/js' 2>&1`;
is $?, 0, 'scripts and maps of an old client come' or diag $said;
my $listed = $u->request('GET', "$lookup?release=web%400&dist=7", '',
    "Authorization: Bearer $ENV{SENTRY_AUTH_TOKEN}");
is scalar @{ $listed->{json} // [] }, 1, '... and are found by release and dist';

# ... and POST /symbolicate-js of this server answers with their names
SKIP: {
    skip 'no extended attributes here, so files have no digest', 5
        if !$t->has_attributes;
    my $with = $u->config;
    $with->{stores}{default}{transcoders}[0] =
        { version => '9.0.0', command => ['pdb2symcache', '-pdb', '{pdb}'] };
    $t->stop_symcached;
    $t->start_symcached($with);
    $t->start_symbolicated;
    my $json = JSON::PP->new->utf8;
    my ($place) = grep { $_->[0] == 0 && ($_->[5] // '') eq 'Cart.of' } @{
        $json->decode($t->read_file("$shop/terser.positions.json"))->{peer} };
    my $injected = $t->read_file('js/terser.js');
    my $before = substr $injected, 0, index $injected, $line;
    like $before, qr/\n\z/, 'the client has put lines before the script';
    my $url = 'https://cdn.example.com/terser.js';
    for ([release => 'web@1'], [release => 'web@0', dist => '7'], [modules => [{ type => 'sourcemap',
            code_file => $url, debug_id => $script_id }]]) {
        my $r = $t->post($t->symbolicated_socket, '/symbolicate-js',
            $json->encode({ source => { id => 'x', token => 'x',
                url => 'http://127.0.0.1:1/' }, @$_, stacktraces => [{ frames => [{
                abs_path => $url, lineno => 1 + ($before =~ tr/\n//),
                colno => $place->[1] + 1 }] }] }), 'Content-Type: application/json');
        my $f = $json->decode($r->{body})->{stacktraces}[0]{frames}[0];
        is_deeply [@$f{qw(filename lineno colno function)}],
            [$place->[2], $place->[3] + 1, $place->[4] + 1, $place->[5]],
            "... and the server names its frames by $_->[0]" or diag $r->{body};
    }
    is $t->stop_symbolicated, 0, 'symbolicated stops';
}

# the steps of a release, which commands of a build end with
system("cd '$dir' && git init -q . && git add p.c && git -c user.name=a -c user.email=a\@b.example"
    . ' commit -qm one') == 0 or die $?;
for (['releases', 'new', 'web@1'], ['releases', 'set-commits', 'web@1', '--auto'],
    ['releases', 'finalize', 'web@1'], ['deploys', 'new', '--release', 'web@1', '-e', 'production']) {
    $said = `cd '$dir' && timeout 100 '$cli' @$_ 2>&1`;
    is $?, 0, "@$_" or diag $said;
}

# mappings: under a UUID that is given, and under that of their content, which
# is UUIDv5 of "guardsquare.com" and the bytes
$t->write_file('mapping.txt',
    "org.example.Main -> a.a:\n    1:3:void run():10:12 -> a\n");
for (['5c1d3f3a-0000-4000-8000-0123456789ab', '--uuid',
        '5c1d3f3a-0000-4000-8000-0123456789ab'],
    ['b90d0a12-ecfb-5aa0-a477-1cfa9d4484b3']) {
    my ($id, @args) = @$_;
    $said = run_cli('upload-proguard', @args, "$dir/mapping.txt");
    is $?, 0, 'a mapping is sent' or diag $said;
    my $key = uc($id =~ tr/-//dr) . '0';
    $t->wait_until("$id is stored", sub {
        -f "$dir/uploads/mapping.txt/$key/mapping.txt" });
}

# a refusal reaches the client, which asks once
$t->write_file('notes.txt', "no mapping\n");
for my $time ('at first', 'and again') {
    $said = run_cli('upload-proguard', "$dir/notes.txt");
    isnt $?, 0, "a text that is no mapping: the client fails, $time";
    like $said, qr/is not a file whose identity can be read/, '... and says why';
}

# a build from Apple's bitcode: a dSYM whose names are hidden, the map of its UUID
# and the symbol map, in folders as Xcode lays them down
SKIP: {
    my $plain = qx(zstd -dcq '@{[$t->data('convert/macho/arm64.dwarf.zst')]}');
    skip 'no zstd', 10 if $? != 0;
    my (%number, @names);
    (my $dsym = $plain) =~ s{\0(_+Z[\w.]{11,})(?=\0)}{
        my $name = $1;
        push @names, $name =~ s/^_(?=_Z)//r if !defined $number{$name};
        $number{$name} //= $#names;
        "\0__hidden#" . sprintf('%0*d', length($name) - 10, $number{$name}) . '_'}ge;
    my $id = unpack 'H*', ($plain =~ /\x1b\0\0\0\x18\0\0\0(.{16})/s)[0];
    my ($uuid, $original) = map { s/^(.{8})(.{4})(.{4})(.{4})/$1-$2-$3-$4-/r }
        uc $id, 'C0FFEE00111122223333444455556666';
    my $resources = 'xcode/dSYMs/App.dSYM/Contents/Resources';
    $t->write_file("$resources/DWARF/App", $dsym);
    $t->write_file("$resources/$uuid.plist", '<?xml version="1.0" encoding="UTF-8"?>' . "\n"
        . '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">'
        . "\n<plist version=\"1.0\"><dict><key>DBGOriginalUUID</key><string>$original</string></dict></plist>\n");
    $t->write_file("xcode/BCSymbolMaps/$original.bcsymbolmap",
        join "\n", 'BCSymbolMap Version: 2.0', @names, '');
    $said = run_cli('debug-files', 'upload', '--wait', "$dir/xcode");
    is $?, 0, 'a dSYM and its maps are sent' or diag $said;
    my $key = uc($id) . '0';
    for ("_.dwarf/mach-uuid-sym-\L$id\E/_.dwarf", "uuidmap/$key/uuidmap",
         'bcsymbolmap/' . ($original =~ tr/-//dr) . '0/bcsymbolmap') {
        ok -f "$dir/uploads/$_", "... $_" or diag $said;
    }
    my $apple = $u->config;
    $apple->{stores}{default}{transcoders} = [{ version => '9.0.0', inputs => ['elf', 'macho'],
        command => ['pdb2symcache', '-pdb', '{pdb}'] }];
    $t->stop_symcached;
    $t->start_symcached($apple);
    is $t->http("$dir/h.sock", 'GET', "/v1/symcache/default/App/$key?version=9.0.0&wait=60")
        ->{status}, 200, 'a SymCache is made';
    unlike $t->read_file("store/App/$key/App-v9.0.0.symcache"), qr/__hidden#/, '... with the names';
    for ($uuid, $original) {
        my $r = $u->request('GET', "/api/0/projects/acme/web/files/dsyms/?debug_id=\L$_", '',
            "Authorization: Bearer $ENV{SENTRY_AUTH_TOKEN}");
        like join(' ', sort map { $_->{symbolType} } @{ $r->{json} }),
            $_ eq $uuid ? qr/^macho uuidmap$/ : qr/^bcsymbolmap$/, "... and listed, $_";
    }
    $said = run_cli('debug-files', 'upload', '--wait', "$dir/xcode");
    like $said, qr/processing complete:.*OK .*\(App;|Nothing to upload/s,
        'after a restart all of it is looked at again';
    $said = run_cli('debug-files', 'upload', '--wait', "$dir/xcode");
    like $said, qr/Nothing to upload, all files are on the server/, '... and known then';
}

# Unity's il2cpp: C++ that says of which C# it was made
$t->write_file('unity/il2cppOutput/Game.cpp', "//<source_info:/u/Assets/Game.cs:30>\n"
    . "int twice(int n) { return 2 * n; }\nint main(void) { return twice(0); }\n");
$said = run_cli('debug-files', 'check', "$dir/build/p1");
like $said, qr/Usable: yes/, 'the client can use our program';
SKIP: {
    skip 'no g++', 4 if system('sh', '-c', "cd '$dir/unity' && g++ -g -Wl,--build-id -o game"
        . " '$dir/unity/il2cppOutput/Game.cpp'") != 0;
    $said = run_cli('debug-files', 'upload', '--il2cpp-mapping', '--wait', "$dir/unity/game");
    is $?, 0, 'a program comes with its line mapping' or diag $said;
    my ($path) = glob "$dir/uploads/il2cpp/*/il2cpp";
    ok $path, '... which is stored' or diag $said;
    my ($key) = ($path // '') =~ m{/il2cpp/(\w+)/};
    is $t->http("$dir/h.sock", 'GET', "/v1/symcache/default/game/$key?version=9.0.0&wait=60")
        ->{status}, 200, 'a SymCache is made' or diag $t->helper_log;
    like $t->read_file("store/game/$key/game-v9.0.0.symcache"), qr{/u/Assets/Game\.cs}, '... with files of C#';
}

# our files, looked at by the client
my $bundle = "$dir/p1.src.zip";
is system($t->program('symcachectl'), 'bundle-sources', '-o', $bundle, "$dir/build/p1"), 0,
    'symcachectl makes a source bundle';
$said = run_cli('debug-files', 'check', $bundle);
like $said, qr/Usable: yes/, '... which the client can use' or diag $said;
my ($p1) = $said =~ /\b([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/;
$said = run_cli('debug-files', 'find', '--path', $dir, '--no-well-known', '--no-cwd', $p1 // '-');
like $said, qr/\Q$bundle/, '... and finds by its id' or diag $said;
$said = run_cli('debug-files', 'bundle-sources', '--output', "$dir/theirs", "$dir/build/p1");
is $?, 0, 'the client makes a bundle of the same program' or diag $said;
my ($theirs) = glob "$dir/theirs/*.src.zip";
is_deeply [map { [sort grep { $_ ne 'manifest.json' } split /\n/, qx(unzip -Z1 '$_' 2>/dev/null)] } $theirs // '-'],
    [[sort grep { $_ ne 'manifest.json' } split /\n/, qx(unzip -Z1 '$bundle' 2>/dev/null)]],
    '... with the same files' if system('unzip -v >/dev/null 2>&1') == 0;

$ENV{SENTRY_AUTH_TOKEN} = 'wrong';
$said = run_cli('debug-files', 'upload', "$dir/build");
ok $? != 0, 'another token is refused';
like $said, qr/Invalid token/, '... with the reason';

$t->finish;
done_testing;
