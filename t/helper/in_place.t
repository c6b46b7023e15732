#!/usr/bin/env perl

# A PDB in a folder of this machine is converted where it lies, if nothing but
# its SymCache is wanted: it is not copied, not touched, and not believed if it
# changes meanwhile.

use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
chomp(my $type = `stat -f -c %T @{[ $t->dir ]}`);
plan skip_all => "the temporary folder is on $type, of which files are copied"
    unless $type =~ m{^(ext2/ext3|xfs|btrfs|f2fs|tmpfs)$};
my $id = $Test::Symcache::key{'crash.pdb'};
my $crash = $t->read_file($t->data('pdb/crash.pdb'));

# what symbolic makes of it
my ($oracle) = map { (split /\t/)[5] =~ /(\w+)/ }
    grep { m{\tt/data/pdb/crash\.pdb\t} }
    split /^/, $t->read_file("$FindBin::Bin/../convert/manifest.tsv");

sub place { "$_[0].pdb/$id/$_[0].pdb" }
sub download { $t->path("downloads/$_[0]/" . place($_[1])) }

# Old in its content, and changed before the present second.
sub put {
    my ($root, $name, $body) = @_;
    my $file = $t->write_file("$root/" . place($name), $body);
    utime 0, 0, $file or die "$file: $!";
    chmod 0640, $file or die "$file: $!";
    return $file;
}

my %file = map { $_ => put('sym', $_, $crash) } qw(plain other bad held swapped);
# as llvm-dwarfdump --uuid prints it
my $uuid = '4C4C448955553144A18069A34E2AD5E10';
my $fat = $t->write_file("sym/arm64/$uuid/arm64",
                         $t->read_file($t->data('convert/macho/fat.dwarf')));
utime 0, 0, $fat or die "$fat: $!";
put('another', 'swapped', substr $crash, 0, 500000);
my $young = $t->write_file('sym/' . place('young'), $crash);
$t->wait_until('the second of the last change is over', sub {
    time > (stat $young)[10];
});

my $config = $t->default_config('http://127.0.0.1:1', gated => 1,
                                limits => { transcodes => 1 });
my $gated = $config->{stores}{default}{transcoders}[0];
my ($program, @arguments) = @{ $gated->{command} }[3 .. 5];
my $ours = [$program, '--like-symbolic', @arguments];
$config->{sources} = {
    sym => { type => 'filesystem', path => $t->path('sym'),
             layout => 'symstore' },
};
$config->{stores} = {
    ours => { root => $t->path('ours'), sources => ['sym'],
        transcoders => [{ version => '9.0.0', command => $ours }] },
    modules => { root => $t->path('modules'), sources => ['sym'],
        transcoders => [{ version => '9.0.0', inputs => ['macho'],
            command => $ours }] },
    fails => { root => $t->path('fails'), sources => ['sym'],
        transcoders => [{ version => '9.0.0', command =>
            [@$ours, '--kind', 'ppdbcache'] }] },
    other => { root => $t->path('other'), sources => ['sym'],
        transcoders => [{ version => '9.0.0', profile => 'none', command =>
            ['/bin/sh', '-c', 'cp "$0" "$1/$(basename "$0")-v9.0.0.symcache"',
             '{pdb}', '{out}'] }] },
    gated => { root => $t->path('gated'), sources => ['sym'],
        transcoders => [{ %$gated, profile => 'none' }] },
};
$t->start_symcached($config);

sub lookup {
    my ($store, $name, $kind, $wait) = @_;
    return $t->helper('GET', '/v1/' . ($kind // 'symcache')
        . "/$store/$name.pdb/$id?version=" . ($kind ? '1.0.0' : '9.0.0')
        . '&wait=' . ($wait // 60))->{status};
}

is lookup('ours', 'plain'), 200, 'a PDB that lies there for long';
ok !-e download('ours', 'plain'), 'is not copied';
my @st = stat $file{plain};
is $st[9], 0, 'nor used, by its time';
is $st[2] & 07777, 0640, 'nor made public';
is sha256_hex($t->read_file('ours/' . place('plain') . '-v9.0.0.symcache')),
    $oracle, 'and its SymCache is stored';
is lookup('ours', 'plain', 'debuginfo'), 200, 'the PDB itself is asked for';
ok -e download('ours', 'plain'), 'and now it is copied';

is lookup('ours', 'young'), 200, 'one that was just written';
ok -e download('ours', 'young'), 'is copied, as it may not be complete';

is lookup('other', 'other'), 200, 'a program that is not ours';
ok -e download('other', 'other'), 'has a copy';

is $t->helper('GET',
    "/v1/symcache/modules/arm64/$uuid?version=9.0.0&wait=60")->{status}, 200,
    'one of several images';
ok -e $t->path("downloads/modules/arm64/$uuid/arm64"), 'is copied out';
is sha256_hex($t->read_file("modules/arm64/$uuid/arm64-v9.0.0.symcache") // ''),
    '7ed6b0915e1dbc831cf5ede1e94dc92725ada384e32aa3c97a7525a0d8db8488',
    'as in t/convert/slices.t';

is lookup('fails', 'bad'), 404, 'a PDB of which nothing can be made';
is $t->helper_json("/v1/why/fails/bad.pdb/$id")->{attempts}[0]{outcome},
    'unusable', 'is malformed';
ok -e $file{bad}, 'and is left alone';

lookup('gated', 'held', undef, 0);
$t->wait_until('the transcoder runs', sub { $t->runs == 1 });
ok !-e download('gated', 'held'), 'a PDB that is being converted';
utime 0, 0, $file{held} or die;
$t->write_file('gate', '');
is lookup('gated', 'held'), 503, 'and changes meanwhile is not believed';
like $t->read_file('symcached.log'),
    qr/key=held\.pdb\S* outcome=error .*the file of the source changed/,
    'and the log says so';
ok -e $file{held}, 'it is left alone';

unlink $t->path('gate') or die;
lookup('gated', 'swapped', undef, 0);
$t->wait_until('the transcoder runs', sub { $t->runs == 2 });
rename $t->path('sym/swapped.pdb'), $t->path('former') or die;
rename $t->path('another/swapped.pdb'), $t->path('sym/swapped.pdb') or die;
$t->write_file('gate', '');
is lookup('gated', 'swapped'), 503,
    'nor is one that is as old, but not the same';

# --- whatever comes of it, nothing is done to the file, or to its folder

my $aside = put('sym', 'strange', $t->read_file($t->data('pdb/omap_reorder_funcs.pdb')));
my @mine = (@file{qw(plain bad)}, $aside,
    map { put('sym', $_, $crash) } 'UPPER', 'a b&c', 'gone');
my $now = time;
$t->wait_until('the second of the last change is over', sub { time > $now });
sub state_of { join ' ', (lstat $_[0])[0, 1, 2, 3, 7, 9, 10] }
my %before = map { $_ => state_of($_) } @mine;
is lookup('ours', $_), 200, "$_: made" for 'upper', 'a%20b&c';
is lookup('ours', 'strange'), 503, 'another one is not';
isnt lookup('fails', 'gone'), 200, 'nor one of which nothing can be made';
isnt lookup('fails', $_), 200, "$_: nor here" for 'plain', 'strange';
is sha256_hex($t->read_file('ours/' . place($_) . '-v9.0.0.symcache')),
    $oracle, "$_: the same" for 'upper', 'a b&c';
$t->wait_until('what the jobs had is removed', sub {
    !grep { /\/\d+$/ } glob $t->path('*/.tmp/run-*/*') });
is state_of($_), $before{$_}, "$_ is as it was" for @mine;

$t->finish;
done_testing;
