#!/usr/bin/env perl

# Names that Apple hides and lines of Unity's il2cpp: the UUID map, the
# BCSymbolMap and the line mapping of a dSYM are found in the layout unified, at
# a Sentry and among the uploads, and one that comes later is used at once.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Digest::SHA qw(sha1_hex);
use JSON::PP qw(encode_json decode_json);
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;
use Test::Uploads;

my $u = Test::Uploads->new(inputs => ['macho', 'breakpad'], uploads => { parts_kept => '1h' });
my $t = $u->t;
my $dir = $t->dir;
my @bearer = ('Authorization: Bearer 0123456789abcdef0123456789abcdef');

# A dSYM whose names are hidden, as in t/convert/auxiliary.t.
my $plain = qx(zstd -dcq '@{[$t->data('convert/macho/arm64.dwarf.zst')]}');
my (%number, @names);
(my $dsym = $plain) =~ s{\0([\w.:/<>,~()\@ +-]{13,})(?=\0)}{
    my $name = $1;
    my $hide = $name =~ /^_+Z|\.(?:cpp|h)$/;
    my $original = $name =~ s/^_(?=_Z)//r;
    push @names, $original if $hide && !defined $number{$name};
    $number{$name} //= $#names if $hide;
    $hide ? "\0__hidden#" . sprintf('%0*d', length($name) - 10, $number{$name}) . '_'
          : "\0$name";
}ge;
my $map = join "\n", 'BCSymbolMap Version: 2.0', @names;
my $id = uc unpack 'H*', ($plain =~ /\x1b\0\0\0\x18\0\0\0(.{16})/s)[0];
my $original = 'C0FFEE00111122223333444455556666';
sub dashed { lc $_[0] =~ s/^(.{8})(.{4})(.{4})(.{4})/$1-$2-$3-$4-/r }
my $plist = '<?xml version="1.0" encoding="UTF-8"?>' . "\n"
    . '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">'
    . "\n<plist version=\"1.0\"><dict><key>DBGOriginalUUID</key><string>\U@{[dashed($original)]}\E"
    . "</string></dict></plist>\n";

# What the converter makes of the file when it is told what the map is.
sub expected {
    my (@options) = @_;
    $t->write_file('dsym', $dsym);
    $t->write_file('map', $map);
    my $said = join ' ', map { "'$_'" } $t->program('pdb2symcache'), @options, '-o', "$dir/out", "$dir/dsym";
    qx($said 2>&1);
    return $t->read_file('out');
}
my $with = expected('--symbol-map', "$dir/map");
my $without = expected();
ok $with ne $without, 'the map has names';
my $said = `@{[$t->program('pdb2symcache')]} -o '$dir/out' '$dir/dsym' 2>&1`;
like $said, qr/note: names are hidden, and there is no UUID map$/, 'the converter tells of hidden names';

sub lookup {
    my ($store, $key) = @_;
    my ($name, $file) = ('arm64', $key // "${id}0");
    my $r = $t->http("$dir/h.sock", 'GET', "/v1/symcache/$store/$name/$file?version=9.0.0&wait=60");
    return $r->{status} unless $r->{status} == 200;
    return $t->read_file($t->path(($store eq 'default' ? 'store' : "stores/$store")
        . "/$name/$file/$name-v9.0.0.symcache"));
}
sub unified { my ($of, $what) = @_; return lc(substr($of, 0, 2) . '/' . substr($of, 2)) . "/$what" }

# --- stores beside that of the uploads: two folders, and a Sentry

my $config = $u->config;
my $transcoders = [{ version => '9.0.0', inputs => ['macho', 'breakpad'], command => ['pdb2symcache', '-pdb', '{pdb}'] }];
local $ENV{PATH} = $t->program('') . ":$ENV{PATH}";
for ('whole', 'half') {
    $config->{sources}{$_} = { type => 'filesystem', layout => 'unified', path => $t->path($_) };
    $t->write_file("$_/" . unified($id, 'debuginfo'), $dsym);
    $t->write_file("$_/" . unified($id, 'uuidmap'), $plist);
}
$t->write_file('whole/' . unified($original, 'bcsymbolmap'), $map);
my %held = (1 => [macho => $dsym], 2 => [uuidmap => $plist], 3 => [bcsymbolmap => $map],
            4 => [il2cpp => '{}']);
my %has = (dashed($id) => [1, 2], dashed($original) => [3]);
my $sentry = Test::ScriptedServer->new(log => "$dir/sentry.log", script => sub {
    my ($c, $req) = @_;
    my ($of) = $req->{uri} =~ /[?&]debug_id=([0-9a-f-]{36})/;
    my ($file) = $req->{uri} =~ /[?&]id=(\d+)/;
    $c->reply(200, {}, $file ? $held{$file}[1] : encode_json([map {
        { id => "$_", symbolType => $held{$_}[0] } } @{ $has{ $of // '' } // [] }]));
});
$config->{sources}{sentry} = { type => 'sentry', url => $sentry->url . '/files/dsyms/', token => 'x',
    internal => JSON::PP::true };
$config->{stores}{$_} = { root => $t->path("stores/$_"), sources => [$_], transcoders => $transcoders }
    for 'whole', 'half', 'sentry';
$config->{stores}{default}{transcoders} = $transcoders;
$config->{cache}{retry_misses_after} = '1s';
$t->stop_symcached;
$t->start_symcached($config);

ok lookup('whole') eq $with, 'unified: the map is found by the UUID map, and has the names';
ok -s $t->path("downloads/whole/bcsymbolmap/${original}0/bcsymbolmap.bcsymbolmap"),
    '... and is among the downloads';
ok lookup('half') eq $without, 'where there is no map, names stay hidden';
like $t->helper_log, qr/job half\S*: the BCSymbolMap of the dSYM is not to be had/, '... and the log says why';
ok lookup('sentry') eq $with, 'a Sentry has the same files, by their types' or diag $t->read_file('sentry.log'), $t->helper_log;

$t->write_file('half/' . unified($original, 'bcsymbolmap'), $map);
$t->wait_until('a later map of a source is used', sub { lookup('half') eq $with });
pass 'a map that a source has later is asked for when the SymCache is used';

# --- uploads, in each order

sub sent {
    my ($name, $data) = @_;
    my $sum = sha1_hex($data);
    my $r = $u->request('POST', '/api/0/organizations/acme/chunk-upload/',
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"$sum\"\r\n\r\n$data\r\n--b--\r\n",
        'Content-Type: multipart/form-data; boundary=b', @bearer);
    $t->wait_until("$name is assembled", sub {
        $r = $u->request('POST', '/api/0/projects/acme/web/files/difs/assemble/',
            encode_json({ $sum => { name => $name, chunks => [$sum] } }), @bearer);
        return ($r->{json}{$sum}{state} // '') !~ /^(?:created|assembling)$/;
    });
    return $r->{json}{$sum};
}

is sent('arm64', $dsym)->{state}, 'ok', 'a dSYM is uploaded';
ok lookup('default') eq $without, '... and names are hidden';
my $file = sent(dashed($original) . '.bcsymbolmap', $map);
is_deeply [@{ $file->{dif} // {} }{qw(uuid symbolType id)}],
    [dashed($original), 'bcsymbolmap', "bcsymbolmap/${original}0/bcsymbolmap"],
    'its BCSymbolMap' or diag explain $file;
ok lookup('default') eq $without, '... which nothing leads to';
$file = sent("Contents/Resources/\U@{[dashed($id)]}\E.plist", $plist);
is $file->{dif}{symbolType}, 'uuidmap', 'its UUID map' or diag explain $file;
ok lookup('default') eq $with, '... and the names are there at once';

# the map comes last, and again with another name
my $other = $map =~ s/\n_Z/\n_ZN1a/r;
is sent(dashed($original) . '.bcsymbolmap', $other)->{state}, 'ok', 'another map';
$t->write_file('map', $other);
my $again = do { system($t->program('pdb2symcache'), '--symbol-map', "$dir/map", '-o', "$dir/out",
    "$dir/dsym"); $t->read_file('out') };
ok $again ne $with && lookup('default') eq $again, '... replaces the names of the first at once';

for (['x.bcsymbolmap', $map], ['x.plist', $plist]) {
    like sent(@$_)->{detail} // '', qr/needs a UUID in its name/, "$_->[0]: a name without a UUID";
}
like sent(dashed($id) . '.plist', $plist =~ s/DBGOriginalUUID/Other/r)->{detail} // '', qr/not a file whose identity can be read/,
    'a property list of something else';

# by their paths, as other files are uploaded
my $new = 'ABCD' x 8;
for (["bcsymbolmap/${new}0/bcsymbolmap", $map, 201, 'stored'],
     ["uuidmap/${new}0/uuidmap", $plist, 201, 'stored'],
     ["uuidmap/${new}0/uuidmap", $plist, 200, 'same'],
     ["uuidmap/${new}0/uuidmap", $map, 400, qr/is called bcsymbolmap there, and not uuidmap/],
     ["bcsymbolmap/${new}0/other", $map, 400, qr/is called bcsymbolmap there, and not other/],
     ["bcsymbolmap/x0/bcsymbolmap", $map, 400, qr/needs a UUID/]) {
    my ($path, $body, $status, $said) = @$_;
    my $r = $u->put($path, $body);
    is $r->{status}, $status, "PUT $path" or diag $r->{raw};
    ref $said ? like $r->{raw}, $said, '... and why' : is $r->{json}{result}, $said, "... $said";
}

my $options = $u->request('GET', '/api/0/organizations/acme/chunk-upload/', '', @bearer)->{json}{accept};
ok scalar(grep { $_ eq 'bcsymbolmaps' } @$options) && scalar(grep { $_ eq 'il2cpp' } @$options),
    'clients are told that maps are taken';
my %listed = map { $_->{id} => $_->{symbolType} } map {
    @{ $u->request('GET', "/api/0/projects/acme/web/files/dsyms/?debug_id=" . dashed($_), '', @bearer)->{json} }
} $id, $original;
is_deeply \%listed, { "_.dwarf/mach-uuid-sym-\L$id\E/_.dwarf" => 'macho', "uuidmap/${id}0/uuidmap" => 'uuidmap',
    "bcsymbolmap/${original}0/bcsymbolmap" => 'bcsymbolmap' }, 'a Symbolicator is told of each by its type'
    or diag explain \%listed;

# --- il2cpp

my $unity = 'AAAABBBBCCCCDDDDEEEEFFFF000011112';
my $sym = "MODULE windows x86_64 $unity game.pdb\nFILE 0 C:\\game\\Il2CppOutputProject\\Source\\il2cppOutput\\A.cpp\n"
    . "FUNC 1000 10 0 A_run\n1000 10 12 0\n";
my $mapping = encode_json({ 'C:\\game\\Il2CppOutputProject\\Source\\il2cppOutput\\A.cpp' => {
    '/u/Assets/A.cs' => { 10 => 3 } }, '__debug-id__' => { dashed(substr $unity, 0, 32) . '-2' => {} } });
sub line_of {
    my $r = $t->http("$dir/h.sock", 'GET', "/v1/symcache/default/game.pdb/$unity?version=9.0.0&wait=60");
    my $path = $t->path("store/game.pdb/$unity/game.pdb-v9.0.0.symcache");
    my $frame = decode_json(`@{[$t->program('symcachectl')]} lookup --json '$path' 1000`)->{frames}[0];
    return "$frame->{file}:$frame->{line}";
}
is sent('game.sym', $sym)->{state}, 'ok', 'a module of il2cpp is uploaded';
like line_of(), qr/A\.cpp:12$/, '... and its lines are those of C++';
$file = sent('il2cpp.json', $mapping);
is_deeply [@{ $file->{dif} // {} }{qw(debugId symbolType)}], [dashed(substr $unity, 0, 32) . '-2', 'il2cpp'],
    'its line mapping says itself whose it is' or diag explain $file;
is line_of(), '/u/Assets/A.cs:3', '... and its lines are those of C# at once';
like sent('il2cpp.json', $mapping =~ s/aaaabbbb/zzzz/r)->{detail} // '', qr/needs a UUID in its name/,
    'a mapping of no module';

$t->finish;
done_testing;
