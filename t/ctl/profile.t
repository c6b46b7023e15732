#!/usr/bin/env perl

# symcachectl symbolicate of a profile: with a store, a daemon, or neither.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib qw(memGzip memGunzip);
use File::Copy qw(copy);
use File::Path qw(make_path);
use Test::More;
use Test::Symcache;
use Test::Wire qw(field fields number);

my $t = Test::Symcache->new;
my $ctl = $t->program('symcachectl');
my $build = '9a2b77f0c1d35ec6a86f0ba5aa3cde21f2a7a001';
my $folder = $t->path('store/_/F0772B9AD3C1C65EA86F0BA5AA3CDE210');
make_path($folder);
system($ctl, 'convert', '-o', "$folder/_-v9.0.0.symcache",
       $t->data('convert/symbfile/ranges.symbfile')) == 0 or die;

my $perf = "$build /app\napp 1 1.0: cycles:\n"
    . "\t  2024 [unknown] (/app)\n\t  9999 [unknown] (/app)\n";
my $named = "$build /app\napp 1 1.0: cycles:\n"
    . "\t  2024 vec_push (inlined)\n\t  2024 run_loop (/app)\n\t  9999 [unknown] (/app)\n";
my $file = $t->write_file('perf.txt', $perf);
my $packed = $t->write_file('perf.gz', memGzip($perf));

sub run {
    my ($options, $in) = @_;
    my $err = $t->path('err');
    my $out = qx{'$ctl' symbolicate $options 2> '$err'};
    return [$? >> 8, $out, $t->read_file('err')];
}

is_deeply run("--root '@{[$t->path('store')]}' '$file'"), [0, $named, ''],
    'with a store';
is_deeply run("--root '@{[$t->path('store')]}' '$packed'"), [0, $named, ''],
    '... a packed one';
is_deeply run("--root '@{[$t->path('store')]}' - < '$packed'"), [0, $named, ''],
    '... on standard input';

# larger than a request may be
my $large = $t->write_file('large.txt', '# ' . 'x' x (56 << 20) . "\n$perf");
my $got = run("--root '@{[$t->path('store')]}' '$large' | tail -n 5");
is $got->[1], $named, '... one of 56 MiB' or diag $got->[2];
$large = $t->write_file('large.json', sprintf '{"meta":{"x":"%s"},"threads":[]}', 'x' x (56 << 20));
like run("--root '@{[$t->path('store')]}' '$large'")->[2], qr/no "libs"/, '... in JSON';
$large = $t->write_file('large.none', 'x' x (56 << 20));
is_deeply run("'$large'"), [3, '', "symcachectl: $large: larger than 55 MiB\n"],
    'what is none of that size';
copy($t->data('minidump/test_app.dmp'), $large) or die;
truncate $large, 56 << 20 or die;
like run("--root '@{[$t->path('store')]}' '$large'")->[1], qr/^thread /m, '... a minidump of that size';

# one with all names is one, too; and another form of the Firefox Profiler is said to be none
my $all = "app 1 1.0: cycles:\n\t    aaaac1479980 _RINvNtC+0x144 (/app)\n";
is_deeply run("--root '@{[$t->path('store')]}' '@{[$t->write_file('all.txt', $all)]}'"), [0, $all, ''],
    'a profile of perf with all names';
mkdir $t->path('nothing');
is_deeply run("--root '@{[$t->path('nothing')]}' '$file'"),
    [0, $perf, "symcachectl: nothing got a name: modules without a build id or a debug file get none\n"],
    'no names: that is said';
my $older = run("--root '@{[$t->path('store')]}' '"
    . $t->write_file('older.json', '{"meta":{"version":3},"threads":[{"libs":[]}]}') . "'");
ok $older->[0] == 4 && $older->[2] =~ /this JSON has no "libs" and no tables of frames/,
    'an older form of the Firefox Profiler' or diag "@$older";

my $config = $t->write_helper_config({ stores => {
    default => { root => $t->path('store') } } });
is_deeply run("-c '$config' '$file'"),
    [0, $perf, 'symcachectl: unix:' . $t->symbolicated_socket
        . ": cannot connect: No such file or directory: the profile gets no names\n"],
    'without a daemon it stays as it is';
my $cut = $t->write_file('cut.gz', substr memGzip($perf), 0, -9);
my $no_profile = $t->write_file('hello.gz', memGzip("hello\n"));
for ([$packed, 0, memGzip($perf), qr/no names$/, 'a packed one'],
     [$no_profile, 4, '', qr/hello\.gz: this text has no frames of perf script$/,
      'not something else that is packed'],
     [$cut, 4, '', qr/cut\.gz: the packed profile is damaged$/, 'not one that is cut']) {
    my ($in, $code, $out, $err, $name) = @$_;
    my $r = run("-c '$config' '$in'");
    ok $r->[0] == $code && $r->[1] eq $out && $r->[2] =~ $err, "... $name" or diag "@$r";
}
$t->start_symbolicated;
is_deeply run("-c '$config' '$file'"), [0, $named, ''], 'with a daemon';
is memGunzip(run("-c '$config' '$packed'")->[1]), $named,
    '... which packs what was packed';
is_deeply run("$_ '$cut'"), [4, '', "symcachectl: $cut: the packed profile is damaged\n"],
    "a cut one: $_" for "-c '$config'", "--root '@{[$t->path('store')]}'";
$t->write_file('bad.gz', "\x1f\x8bxxxx");
my $r = run("-c '$config' '@{[$t->path('bad.gz')]}'");
ok $r->[0] == 4 && $r->[2] =~ /damaged/, 'a damaged one: 4' or diag "@$r";
$r = run("--root '@{[$t->path('store')]}' '@{[$t->path('bad.gz')]}'");
ok $r->[0] == 4 && $r->[2] =~ /damaged/, '... with a store, too' or diag "@$r";
my $recorded = $t->write_file('perf.data', "PERFILE2\x68\1\2\3");
$r = run("'$recorded'");
ok $r->[0] == 4 && $r->[1] eq '' && $r->[2] =~ /of perf record: give the text/,
    'what perf record writes: 4' or diag "@$r";
# without a daemon it would be printed
$r = run("'@{[$t->write_file('a.pdb', qq{Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0})]}'");
ok $r->[0] == 2 && $r->[1] eq '' && $r->[2] =~ /not a request/, 'a PDB: 2' or diag "@$r";
# fields of pprof's format without a byte that no text has but NUL
my $short = $t->write_file('short.pb', "\x32\0\x32\0");
is_deeply run("--root '@{[$t->path('store')]}' '$short'"),
    [0, "\x32\0\x32\0", ''], 'NUL is no character of a text';

# what is in a profile often is not looked for one by one: each command has ten
# seconds of processor time, and took over 20
sub quickly {
    my ($what, $profile) = @_;
    $t->write_file('often', $profile);
    my $out = $t->path('often.named');
    is system("ulimit -t 10; exec '$ctl' symbolicate --root '@{[$t->path('store')]}' "
              . "'@{[$t->path('often')]}' > '$out'"), 0, $what;
    return $t->read_file('often.named');
}
my $often = join '', map { field(6, $_) } '', $build;
$often .= field(3, number(1, $_) . number(2, $_ << 16) . number(3, ($_ + 1) << 16)
                . number(6, 1))
        . field(4, number(1, $_) . number(2, $_) . number(3, ($_ << 16) + 0x2000))
    for 1 .. 100_000;
is scalar(grep { $_->[0] == 4 && field_of($_->[1], 4) }
          fields(quickly('a file that is mapped a hundred thousand times', $often))),
    100_000, '... and each place has its name';
my $library = "{\"debugName\":\"_\",\"breakpadId\":\"F0772B9AD3C1C65EA86F0BA5AA3CDE210\"}";
my $n = 200_000;
my $wide = '{' . join('', map { qq("$_":0,) } 1 .. 100_000) . substr $library, 1;
my $named_last = quickly('fifty thousand libraries, whose last has the code and many members',
    '{"libs":[' . join(',', ($library) x 49_999, $wide) . '],"threads":[{"stringArray":['
    . join(',', map { sprintf '"0x%x"', $_ } 1 .. $n) . '],"funcTable":{"name":['
    . join(',', 0 .. $n - 1) . '],"resource":[' . join(',', (0) x $n)
    . ']},"frameTable":{"func":[' . join(',', 0 .. $n - 1) . '],"address":['
    . join(',', (0x2000) x $n) . ']},"resourceTable":{"lib":[49999]}}]}');
like $named_last, qr/"name":\[(?:$n,){10}.*"run_loop"|"run_loop".*"name":\[(?:$n,){10}/,
    '... and each function has its name';
my $code = join '', (map { sprintf "app 1/1 1.0: PERF_RECORD_MMAP2 1/1: [0x%x(0x1000) \@ 0 "
                          . "00:00 0 0]: rwxp //anon\n", 0x1000 * $_ } 1 .. 50_000),
    "app 1/1 1.0: cycles:\n", "\t1000 [unknown] (//anon)\n" x 200_000;
is quickly('code that was made while the program ran, mapped fifty thousand times', $code),
    $code, '... stays without names';
sub field_of { grep { $_->[0] == $_[1] } fields($_[0]) }
$t->finish;
done_testing;
