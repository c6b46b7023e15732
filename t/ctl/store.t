#!/usr/bin/env perl

# symcachectl import, ls and clean: a folder from Windows into a store that a
# real helper then serves; what is never taken, and never replaced.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(make_path);
use File::Temp ();
use Test::Ctl;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = Test::Ctl->new($t);
my $id = $Test::Symcache::key{'crash.pdb'};
my $day = 86400;

# --- a folder as WPA keeps it: any case, what is opaque, what is none

make_path($t->path('made'));
system("_NT_SYMCACHE_PATH='" . $t->path('made') . "' '"
    . $t->program('pdb2symcache') . "' -pdb '" . $t->data('pdb/crash.pdb')
    . "'") == 0 or die 'pdb2symcache';
my $symc = $t->read_file("made/crash.pdb/$id/crash.pdb-v9.0.0.symcache");
my $opaque = "\x01\x02 opaque " x 1000;
my ($low, $other) = (lc $id, '0123456789ABCDEF0123456789ABCDEF2');
my %files = (
    "Crash.PDB/$low/Crash.PDB-v9.0.0.symcache" => $symc,
    "ntdll.pdb/$other/ntdll.pdb-v3.1.0.symcache" => $opaque,
    "NTDLL.pdb/\L$other\E/ntdll.PDB-V3.2.0.SymCache" => $opaque,
    "crash.pdb/$other/crash.pdb-v9.0.0.symcache" => $symc,
    "crash.pdb/$id/crash.pdb-v8.0.0.symcache" => substr($symc, 0, -10),
    "html.pdb/$other/html.pdb-v3.1.0.symcache" => '<html>',
    "zero.pdb/$other/zero.pdb-v3.1.0.symcache" => "\0" x 5000,
    "empty.pdb/$other/empty.pdb-v3.1.0.symcache" => '',
    "pdb.pdb/$other/pdb.pdb-v3.1.0.symcache" =>
        $t->read_file($t->data('pdb/crash.pdb')),
    "ntdll.pdb/$other/other.pdb-v3.1.0.symcache" => $opaque,
    "ntdll.pdb/$other/ntdll.pdb-v3.1.0.symcache.gz" => $opaque,
    "ntdll.pdb/$other/deeper/ntdll.pdb-v3.1.0.symcache" => $opaque,
    "ntdll.pdb/12/ntdll.pdb-v3.1.0.symcache" => $opaque,
    "ntdll.dll-${low}v2.symcache" => $opaque,
    "a\e[2Jb" => 'hostile',
);
$t->write_file("win/$_", $files{$_}) for keys %files;
utime time - 100 * $day, time - 100 * $day,
    $t->path("win/ntdll.pdb/$other/ntdll.pdb-v3.1.0.symcache") or die;
symlink $t->path('win/ntdll.pdb'), $t->path('win/link') or die;
make_path($t->path('store'));
chown 65534, 65534, $t->path('store') if $> == 0;
$t->write_file("store/ntdll.pdb/$other/ntdll.pdb-v3.2.0.absent",
    "notfound 1\nx\n");
my @root = ('--root', $t->path('store'));
my $config = { stores => { default => { root => $t->path('store') },
                           import => { root => $t->path('other') } } };
$t->write_helper_config($config);

my $r = $ctl->run('import', '--dry-run', @root, $t->path('win'));
$ctl->is($r, 1, qr/^would be: 3 imported, 0 replaced, 0 kept, 7 skipped, 6 refused, 0 failed$/m,
    undef, 'import --dry-run');
is_deeply [grep { !/ntdll/ } glob $t->path('store/*')], [], 'writes nothing';
ok !-e $t->path('store/.tmp'), 'nowhere';

$r = $ctl->run('import', '-c', $t->path('symcached.json'), $t->path('win'));
$ctl->is($r, 1, qr/^3 imported, 0 replaced, 0 kept, 7 skipped, 6 refused, 0 failed$/m,
    undef, 'import');
my %told = $r->{out} =~ m{^(\w+: [^:]+): (.*)$}mg;
my $win = quotemeta $t->path('win');
for (["refused: crash.pdb/$other/crash.pdb-v9.0.0.symcache",
      qr/of another build/],
     ["refused: crash.pdb/$id/crash.pdb-v8.0.0.symcache", qr/truncated/],
     ["refused: html.pdb/$other/html.pdb-v3.1.0.symcache", qr/HTML/],
     ["refused: zero.pdb/$other/zero.pdb-v3.1.0.symcache", qr/zeroes/],
     ["refused: empty.pdb/$other/empty.pdb-v3.1.0.symcache", qr/empty/],
     ["refused: pdb.pdb/$other/pdb.pdb-v3.1.0.symcache", qr/is a PDB/],
     ["skipped: ntdll.pdb/$other/other.pdb-v3.1.0.symcache", qr/not called/],
     ["skipped: ntdll.pdb/$other/ntdll.pdb-v3.1.0.symcache.gz",
      qr/made by symcached/],
     ["skipped: ntdll.pdb/$other/deeper/ntdll.pdb-v3.1.0.symcache",
      qr/not in a folder/],
     ["skipped: ntdll.pdb/12/ntdll.pdb-v3.1.0.symcache", qr/GUID and age/],
     ["skipped: ntdll.dll-${low}v2.symcache", qr/not in a folder/],
     ['skipped: link', qr/no regular file/],
     ['skipped: a\x1b[2Jb', qr/not in a folder/]) {
    my ($what, $reason) = @$_;
    my ($word, $name) = split /: /, $what, 2;
    like $told{"$word: " . $t->path("win/$name")}, $reason, "names: $what";
}

my @there = map { "store/$_" } "crash.pdb/$id/crash.pdb-v9.0.0.symcache",
    "ntdll.pdb/$other/ntdll.pdb-v3.1.0.symcache",
    "ntdll.pdb/$other/ntdll.pdb-v3.2.0.symcache";
ok $t->read_file($there[0]) eq $symc, 'a file in the open format, in lower case';
ok $t->read_file($there[1]) eq $opaque, 'an opaque file';
ok time - (stat $t->path($there[1]))[9] < 3600, 'an import is a use';
ok !-e $t->path("store/ntdll.pdb/$other/ntdll.pdb-v3.2.0.absent"),
    'what was known to be absent is there';
SKIP: {
    skip 'not root', 1 if $> != 0;
    is_deeply [map { (stat $t->path($_))[4] } @there, 'store/crash.pdb',
        "store/crash.pdb/$id"], [(65534) x 5], 'all belong to whom the root does';
}
is_deeply [glob $t->path('store/.tmp/*')], [], 'nothing is left of the work';

# --- what is there

$t->write_file($there[1], 'better');
$t->write_file($there[0], 'SYMC damaged');
$t->write_file("$there[0].gz", 'of the former');
$r = $ctl->run('import', '--json', @root, $t->path('win'));
my @lines = $ctl->json($r);
is_deeply { map { $_->{path} => $_->{outcome} } grep { $_->{path}
        && $_->{outcome} ne 'refused' } @lines },
    { map { s{^store/}{}r => $_ eq $there[0] ? 'replaced' : 'kept' } @there },
    'only what is no good is replaced';
ok $t->read_file($there[1]) eq 'better', 'what is there stays';
ok $t->read_file($there[0]) eq $symc, 'what was damaged is whole';
ok !-e $t->path("$there[0].gz"), 'and nothing is beside it';
is $lines[-1]{kept}, 2, '--json: sums';

SKIP: {
    skip 'no other file system', 1 unless -d '/dev/shm' && -w _
        && (stat '/dev/shm')[0] != (stat $t->dir)[0];
    my $shm = File::Temp->newdir('sc-import-XXXXXX', DIR => '/dev/shm');
    $t->write_file("$shm/far.pdb/$other/far.pdb-v3.1.0.symcache", $opaque);
    $ctl->is($ctl->run('import', @root, "$shm"), 0, qr/^1 imported/, undef,
        'from another file system');
}
make_path($t->path('other'));
$ctl->is($ctl->run('import', '--store=import', '-c', $t->path('symcached.json'),
    $t->path('made')), 0, qr/^1 imported/, undef, 'into another store');
SKIP: {
    skip 'needs script(1) for a terminal', 1 unless Test::Ctl::has_script();
    like $ctl->on_terminal('import', @root, $t->path('made')),
        qr/\r0 imported, \d there before.*\r\e\[K0 imported/,
        'progress on a terminal';
}

# killed in the middle of a file

$t->write_file("big/big.pdb/$other/big.pdb-v3.1.0.symcache", $opaque x 100);
$ctl->{wrapper} = ['/bin/sh', '-c', 'ulimit -f 100; exec "$0" "$@"'];
$r = $ctl->run('import', @root, $t->path('big'));
delete $ctl->{wrapper};
is $r->{code}, 'signal 25', 'killed in the middle';
is_deeply [glob $t->path('store/big.pdb/*/*')], [], 'nothing partial is seen';
ok scalar(my @left = glob $t->path('store/.tmp/run-*/*')), 'work is left';

# interrupted

$t->write_file(sprintf('many/m.pdb/%032X1/m.pdb-v3.1.0.symcache', $_), 'many')
    for 1 .. 3000;
make_path($t->path('few'));
pipe my $from, my $to or die;
$ctl->{out} = $to;
my $run = $ctl->begin('', 'import', '--json', '--root', $t->path('few'),
    $t->path('many'));
delete $ctl->{out};
close $to;
$t->wait_until('nobody reads what it prints', sub {
    ioctl $from, 0x541B, my $n = pack 'i', 0;    # FIONREAD
    return unpack('i', $n) > 60000;
});
kill 'INT', $run->{pid};
my $printed = do { local $/; <$from> };
$r = $ctl->end($run);
is $r->{code}, 130, 'an interrupt';
@lines = $ctl->json({ out => $printed });
is $lines[-1]{imported}, () = glob($t->path('few/m.pdb/*/*')),
    'ends with the sum';
cmp_ok $lines[-1]{imported}, '<', 3000, 'of a part';

# --- a real helper serves it, and removes what was left

$t->start_symcached($config);
my $served = $t->helper('GET',
    "/v1/symcache/default/ntdll.pdb/$other?version=3.1.0");
is $served->{status}, 200, 'an imported file is served';
$t->wait_until('the work of the dead is removed',
    sub { !(() = glob $t->path('store/.tmp/run-import-*')) });
$t->stop_symcached;

# --- ls

my ($crash, $ntdll, $ntdll2) = map { $t->path($_) } @there;
utime time - 3 * $day, time - 3 * $day, $crash;
$t->write_file("$crash.gz", 'z' x 24);
$t->write_file("store/gone.pdb/$id/gone.pdb-v9.0.0.absent",
    "notfound 1700000000 0000000000000000\nup: not found (404\e[2J)\n");
$t->write_file('store/Upper.pdb/x/y', '');
$t->write_file("store/crash.pdb/\L$id\E/crash.pdb-v9.0.0.symcache", 'x');
my $time = qr/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/;
$r = $ctl->run('ls', @root, '*CRASH*', 'g?ne.pdb');
$ctl->is($r, 0, qr/./, undef, 'ls');
is_deeply [sort map { s/$time/TIME/r } split /\n/, $r->{out}], [sort
    sprintf('%-28s %s %-8s %10s  TIME  gz', 'crash.pdb', $id, '9.0.0',
        sprintf '%.1f KiB', length($symc) / 1024),
    sprintf('%-28s %s %-8s %10s  TIME  notfound: up: not found (404\x1b[2J)',
        'gone.pdb', $id, '9.0.0', 'absent'),
    sprintf('1 file, %.1f KiB; 1 absent', (length($symc) + 24) / 1024)],
    'ls: patterns without case; files, entries, sums';
@lines = $ctl->json($ctl->run('ls', '--json', @root));
my $sums = pop @lines;
is_deeply [sort map { "$_->{pdb} $_->{version}" } @lines],
    [sort 'crash.pdb 9.0.0', 'ntdll.pdb 3.1.0', 'ntdll.pdb 3.2.0',
     'gone.pdb 9.0.0', (-d $t->path('store/far.pdb') ? 'far.pdb 3.1.0' : ())],
    'ls --json: what a store holds, and nothing else';
is $sums->{absent}, 1, 'ls --json: sums';
my ($gone) = grep { $_->{pdb} eq 'gone.pdb' } @lines;
is "$gone->{absent} $gone->{since} $gone->{reason}",
    "notfound 1700000000 up: not found (404\e[2J)", 'ls --json: absent';
for (['--absent', 'gone.pdb'], ['--unused-for=2d', 'crash.pdb']) {
    my ($option, $name) = @$_;
    @lines = $ctl->json($ctl->run('ls', '--json', @root, $option));
    is_deeply [map { $_->{pdb} // () } @lines], [$name], "ls $option";
}
@lines = $ctl->json($ctl->run('ls', '--json', '--present', @root));
ok !(grep { ($_->{pdb} // '') eq 'gone.pdb' } @lines), 'ls --present';
$ctl->is($ctl->run('ls', @root, 'nothing*'), 1,
    qr/^0 files, 0 bytes; 0 absent$/, undef, 'ls: nothing');
my $rtl = "a\xe2\x80\xaeb.pdb";
$t->write_file("store/$rtl/$id/$rtl-v9.0.0.symcache", 'x');
$r = $ctl->run('ls', @root, 'a*');
like $r->{out}, qr/^a\\u202eb\.pdb /, 'ls: a hostile name';

# --- clean

utime time - 30 * $day, time - 30 * $day, $ntdll2;
my @config = ('-c', $t->path('symcached.json'));
$r = $ctl->run('clean', '--dry-run', @config);
$ctl->is($r, 0, qr/^would remove \(not used for long\): 1 file,/m, undef,
    'clean --dry-run');
ok -e $ntdll2, 'has not';
($r) = $ctl->json($ctl->run('clean', '--json', @config));
is $r->{removed}{unused}{files}, 1, 'clean --json';
ok !-e $ntdll2, 'has';
# --- clean --unknown, after a step back: t/full/step_back.t has a later release

my @later = map { $t->write_file($_, 'later') }
    "store/crash.pdb/$id/crash.pdb-v1.0.0.laterkind",
    "store/crash.pdb/$id/crash.pdb-v1.0.0.laterkind.gz",
    'store/crash.pdb/later-0123456789abcdef/crash.pdb-v9.0.0.symcache',
    "downloads/default/crash.pdb/$id/crash.pdb.later";
my @stay = ($t->write_file("store/crash.pdb/$id/crash.pdb.later", 'x'),
    $t->path("store/crash.pdb/$id/crash.pdb-v9.0.0.symcache"));
utime time - 30 * $day, time - 30 * $day, @stay, @later;
$r = $ctl->run('clean', '--unknown', '--dry-run', @config);
$ctl->is($r, 0, qr/^would remove \(not known to this release\): 4 files, 20 bytes$/m,
    undef, 'clean --unknown --dry-run');
unlike $r->{out}, qr/not used/, 'no other rule applies';
is scalar(grep { -e } @later), 4, 'nothing is removed';
($r) = $ctl->json($ctl->run('clean', '--json', '--unknown', @config));
is $r->{removed}{unknown}{files}, 4, 'clean --unknown --json';
is scalar(grep { -e } @later), 0, 'they are gone';
is scalar(grep { -e } @stay), 2, 'and no others, however old';
utime undef, undef, @stay;
$ctl->is($ctl->run('clean', '-c', $t->path('none')), 1, undef, qr/none/,
    'clean: no configuration');
SKIP: {
    skip 'needs script(1) for a terminal', 1 unless Test::Ctl::has_script();
    like $ctl->on_terminal('clean', @config), qr/\[#+\] 100 %/,
        'clean: a bar on a terminal';
}

# --- refused

for ([2, qr/one FOLDER/, 'import', @root],
     [2, qr/one FOLDER/, 'import', @root, 'a', 'b'],
     [3, qr/none: No such file/, 'import', @root, $t->path('none')],
     [2, qr/no folder: /, 'import', @root, $t->path('symcached.json')],
     [3, qr/none: No such file/, 'import', '--root', $t->path('none'),
      $t->path('win')],
     [2, qr/has no store "none"/, 'import', '--store=none', @config,
      $t->path('win')],
     [2, qr/has no store "none"/, 'ls', '--store=none', @config],
     [3, qr/none: No such file.*--root/s, 'ls', '-c', $t->path('none')],
     [3, qr/none: No such file/, 'ls', '--root', $t->path('none')],
     [2, qr/12h or 7d: 7/, 'ls', @root, '--unused-for', '7'],
     [2, qr/12h or 7d: d/, 'ls', @root, '--unused-for=d'],
     [2, qr/no operands: x/, 'clean', 'x'],
     [2, qr/unknown option: --frob/, 'clean', '--frob']) {
    my ($code, $err, @args) = @$_;
    $ctl->is($ctl->run(@args), $code, undef, $err, "refused: @args[0, 1]");
}

$t->finish;
done_testing;
