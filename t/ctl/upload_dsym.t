#!/usr/bin/env perl

# symcachectl upload: dSYM bundles as folders and as zip archives, each
# architecture of which has a place of its own; and what addresses in a crash
# report are called then.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(make_path);
use JSON::PP qw(decode_json);
use Test::Ctl;
use Test::File;
use Test::More;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;

my $u = Test::Uploads->new(inputs => ['macho']);
my $t = $u->t;
my $dir = $t->dir;
my $ctl = Test::Ctl->new($t);

$t->write_file('token', "0123456789abcdef0123456789abcdef\n");
my $nginx = $u->start_nginx_on_port;
my @upload = ('upload', '--url', "$nginx/symbols",
              '--token', "\@$dir/token");

my $fat = slurp($t->data('convert/macho/fat.dwarf'));
my $dylib = `zstd -dc $FindBin::Bin/../data/convert/macho/arm64.dylib.zst`;
# as llvm-dwarfdump --uuid prints them
my %uuid = (x86_64 => '4c4c442955553144a1eb1f03cb7b5573',
            arm64 => '4c4c448955553144a18069a34e2ad5e1');
my %place = map { $_ => "_.dwarf/mach-uuid-sym-$uuid{$_}/_.dwarf" } keys %uuid;

my $inner = 'Tiny.dSYM/Contents';
$t->write_file("build/$inner/Info.plist", '<plist/>');
$t->write_file("build/$inner/Resources/DWARF/Tiny", $fat);

# --- a folder

my $r = $ctl->run(@upload, '--json', "$dir/build");
is $r->{code}, 0, 'a folder' or diag "$r->{out}$r->{err}";
my @told = map { decode_json($_) } split /\n/, $r->{out};
is_deeply { map { ($_->{file} =~ m{(Tiny \(\w+\)|Info.plist)$})[0] =>
        [@$_{qw(outcome path)}] } @told[0 .. $#told - 1] },
    { 'Info.plist' => ['left out', undef],
      map { ("Tiny ($_)" => ['stored', $place{$_}]) } keys %place },
    'each architecture has a place';
is_deeply [split ' ', $u->stored], [sort values %place], 'where it is';

# the bytes at the offset that the table in front of a fat file has
my %slice;
for (0, 1) {
    my ($cpu, $sub, $offset, $size) = unpack 'N4', substr $fat, 8 + 20 * $_;
    my $arch = $cpu == 0x01000007 ? 'x86_64' : 'arm64';
    $slice{$arch} = substr $fat, $offset, $size;
    ok slurp("$dir/uploads/$place{$arch}") eq $slice{$arch},
        "$arch: its part alone";
}
$r = $ctl->run(@upload, "$dir/build");
is $r->{out}, "0 stored, 2 skipped, 0 refused, 0 failed, 1 left out\n",
    'again: skipped';

# --- a build from bitcode: the UUID map in the dSYM, the symbol map beside it, as
# Xcode's archives have them

my $original = 'C0FFEE00-1111-2222-3333-444455556666';
my $dashed = uc $uuid{arm64} =~ s/^(.{8})(.{4})(.{4})(.{4})/$1-$2-$3-$4-/r;
$t->write_file("archive/dSYMs/$inner/Info.plist", '<?xml version="1.0"?><plist version="1.0"><dict/></plist>');
$t->write_file("archive/dSYMs/$inner/Resources/$dashed.plist", '<?xml version="1.0" encoding="UTF-8"?>'
    . "\n<plist version=\"1.0\"><dict><key>DBGOriginalUUID</key><string>$original</string></dict></plist>\n");
$t->write_file("archive/BCSymbolMaps/$original.bcsymbolmap", "BCSymbolMap Version: 2.0\n_main\n");
$r = $ctl->run(@upload, "$dir/archive");
is $r->{code}, 0, 'maps of names' or diag "$r->{out}$r->{err}";
is $r->{out}, "2 stored, 0 skipped, 0 refused, 0 failed, 1 left out\n", '... are sent, other property lists are not';
ok -f "$dir/uploads/$_", "... $_" for "uuidmap/\U$uuid{arm64}\E0/uuidmap",
    'bcsymbolmap/' . ($original =~ tr/-//dr) . '0/bcsymbolmap';
system('rm', '-r', "$dir/uploads/uuidmap", "$dir/uploads/bcsymbolmap");

# --- zip archives

sub archive {
    my ($name, @members) = @_;
    $t->write_file($name, Test::Zip::zip(@members));
    return $ctl->run(@upload, "$dir/$name");
}

my @bundle = (["$inner/", '', method => 0], ["$inner/Info.plist", '<plist/>'],
    ["$inner/Resources/DWARF/Tiny", $fat]);
$ctl->is(archive('dsym.zip', @bundle), 0,
    qr/^0 stored, 2 skipped, 0 refused, 0 failed, \d left out$/, undef,
    'the same in an archive');
$ctl->is(archive('program.zip', ['App.app/libtiny.dylib', $dylib], @bundle), 0,
    qr/^1 stored, 2 skipped, 0 refused, 0 failed/, undef,
    'with a program, whose name is that of the member');
like $u->stored, qr{(^| )libtiny\.dylib/mach-uuid-[0-9a-f]{32}/libtiny\.dylib},
    'where that is';
$ctl->is(archive('thin.zip', ['Tiny', $slice{arm64}, method => 0]), 0,
    qr/^0 stored, 1 skipped/, undef, 'one architecture, stored');

# --- archives that are none, or hostile

for my $case (['no debug file', [['a.txt', 'x']], qr/no debug file in it/],
    ['a size that is too small', [['Tiny', $slice{arm64}, size => 5000]],
        qr/Tiny\): refused: /],
    ['a wrong checksum', [['Tiny', $slice{arm64}, crc => 1]],
        qr/Tiny\): refused: /],
    ['an encrypted member', [['Tiny', $slice{arm64}, flags => 1]],
        qr/no debug file in it/],
    ['too many members', [map { ["$_", '', method => 0] } 0 .. 20_000],
        qr/more than 20,000 members/]) {
    my ($name, $members, $reason) = @$case;
    $ctl->is(archive('bad.zip', @$members), 1,
        qr/^0 stored, 0 skipped, [12] refused/, $reason, $name);
}
my $zip = Test::Zip::zip(@bundle);
for my $cut (30, length($zip) / 2, length($zip) - 10) {
    $t->write_file('cut.zip', substr $zip, 0, $cut);
    is $ctl->run(@upload, "$dir/cut.zip")->{code}, 1, "cut after $cut bytes";
}
$t->write_file('cut.dwarf', substr $fat, 0, length($fat) / 2);
isnt $ctl->run(@upload, "$dir/cut.dwarf")->{code}, 3, 'half a fat file';

# --- a crash report after the upload

my $config = $u->config;
$t->start_symbolicated($config);
$r = $ctl->run('symbolicate', '--socket', 'unix:' . $t->symbolicated_socket,
    $t->data('apple/ips/macos.ips'));
like $r->{out}, qr{^\#0 .* in twice\(int\) at /src/tiny\.cpp:3 from Tiny}m,
    'arm64: a report has names' or diag $r->{out} . $r->{err};
$r = $ctl->run('symbolicate', '--socket', 'unix:' . $t->symbolicated_socket,
    $t->data('apple/ips/x86_64.ips'));
like $r->{out}, qr{^\#1 .* in tiny at /src/tiny\.cpp:7 from tiny86}m,
    'x86_64: the same';

$t->finish;
done_testing;
