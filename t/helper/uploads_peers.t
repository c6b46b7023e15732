#!/usr/bin/env perl

# Two machines of a fleet that tell each other of uploads: what one has taken
# or removed before it answers, the other one sees with its next request; and a
# machine that is away hears of it when it is back.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Ctl;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;

my $id = $Test::Symcache::key{'crash.pdb'};
my $key = "crash.pdb/$id";
my $path = "$key/crash.pdb";
my $u = Test::Uploads->new;
my $m1 = $u->t;
my $m2 = Test::Symcache->new;
my $pdb = $m1->read_file($m1->data('pdb/crash.pdb'));
my $tier = $m1->path('tier');
mkdir $tier or die;
mkdir $m2->path($_) or die for qw(uploads empty);
my $peers = [map { 'unix:' . $_->path('a.sock') } $m1, $m2];

# PDBs of the same identity and other bytes: the last page is not used.
sub other { substr($pdb, 0, -1) . chr $_[0] }

sub start {
    my ($m, $has_tier, @more) = @_;
    my $c = $u->config_of($m);
    delete $c->{uploads}{tokens};
    $c->{uploads}{peers} = [@$peers, @more];
    $c->{stores}{default}{transcoders}[0]{inputs} = [qw(pdb elf)];
    if ($has_tier) {
        $c->{tiers}{fleet} = { type => 'filesystem', path => $tier };
        $c->{stores}{default}{tier} = 'fleet';
    }
    $m->start_symcached($c);
}

sub admin {
    my ($m, $method, $uri, @headers) = @_;
    return $m->http($m->path('a.sock'), $method, $uri, 'Content-Length: 0',
        @headers);
}

# An upload at the second machine.
my $n = 0;
sub put2 {
    my ($bytes, $query) = @_;
    my $file = $m1->write_file('uploads/.spool/' . ++$n, $bytes);
    return admin($m2, 'PUT', "/v1/uploads/$path" . ($query // ''),
        "X-Symcached-Body: $file")->{status};
}

sub ask {
    my ($m, $kind, $version) = @_;
    return $m->helper('GET',
        "/v1/$kind/default/$key?version=$version&wait=60");
}

sub final {
    my ($m) = @_;
    my $r = ask($m, 'debuginfo', '1.0.0');
    return $r->{status} == 404 && !Test::Symcache::header($r, 'Retry-After');
}

sub downloaded { $m2->read_file("downloads/default/$path") }
sub made { ask($_[0], 'symcache', '9.0.0')->{status} == 200 }
my $object = "$tier/uploads/$path";
my $symcache = "store/$key/crash.pdb-v9.0.0.symcache";

# --- what one machine takes, the next request at the other sees

$m1->stop_symcached;
start($_, 1) for $m1, $m2;
ok final($_), 'nobody has it' for $m1, $m2;
my $r = $u->put($path, $pdb);
is $r->{status}, 201, 'uploaded at one machine' or diag $r->{raw};
is $r->{json}{untold}, undef, 'all know';
is ask($m2, 'debuginfo', '1.0.0')->{status}, 200, 'the other one has it at once';
is downloaded(), $pdb, 'whole';
ok made($_), 'and makes a SymCache' for $m1, $m2;

is $u->put("$path?force=1", other(1))->{status}, 201, 'replaced';
ok !-e $m2->path($symcache), 'the SymCache of the other machine is gone';
is downloaded(), undef, 'and its download';
ok made($_), 'another one is made' for $m2, $m1;
is downloaded(), other(1), 'of the new bytes';

is put2(other(2)), 409, 'other bytes at the other machine: 409';
my $old = time - 4000;
utime $old, $old, $object or die;
is put2(other(1)), 200, 'the same bytes: 200';
ok -e $m2->path("uploads/$path"), 'which keeps the file now';
ok !-e $m1->path("uploads/$path"), 'instead of the first';
ok -e $m1->path($symcache), 'whose SymCache stays';
is put2(other(2), '?force=1'), 201, 'replaced there';
ok !-e $m1->path($symcache), 'and the first knows';

# a machine that was killed when the tier had the file, and nobody knew of it
my $stored = $m1->read_file($object);
is $u->put("$path?force=1", other(1))->{status}, 201, 'replaced once more';
ok made($_), 'and used' for $m1, $m2;
$m1->write_file($object, $stored);
is put2(other(2)), 200, 'what the tier has taken is sent again: 200';
ok !-e $_->path($symcache), 'and all know' for $m1, $m2;

is admin($m1, 'POST', "/v1/discard/$path")->{status}, 200,
    'removed at the first';
ok !-e $m2->path("uploads/$path"), 'so it is gone at the other';
ok final($_), 'and absent for both' for $m1, $m2;

# one of whose archive the tier took the first file only, and nobody knew of it
is $u->put("$path?force=1", $pdb)->{status}, 201, 'uploaded: all know';
$m1->stop_symcached;
is put2(other(2), '?force=1'), 201, 'replaced while the first is away';
ok made($m2), 'and used';
$m2->stop_symcached;
start($m1, 1);
my $in_the_way = $m1->write_file('tier/uploads/z.pdb', '');
my $sym = "z.pdb/$id/z.sym";
is $u->upload(Test::Zip::zip([$path, $pdb], [$sym, "MODULE windows x86 $id z.pdb\n"]))
    ->{status}, 503, 'the first comes back, with an archive';
unlink $in_the_way or die;
start($m2, 1);
ok $m1->wait_until('the other has told', sub { !-e $m2->path('uploads/.untold') });
is $u->put($path, $pdb)->{status}, 200, 'sent again: 200';
ok !-e $m2->path($_), "the other has dropped its $_" for $symcache, "uploads/$path";
is admin($m1, 'POST', "/v1/discard/$path")->{status}, 200, 'removed';

# one that was killed when it had removed the file, and nobody knew of it
is $u->put($path, $pdb)->{status}, 201, 'uploaded once more';
ok made($_), 'and used' for $m1, $m2;
unlink $object, $m1->path("uploads/$path");
is admin($m1, 'POST', "/v1/discard/$path")->{status}, 404,
    'removed again: it is not there';
ok !-e $_->path($symcache), 'and all know' for $m1, $m2;
ok final($_), 'it is absent for both' for $m1, $m2;

# one that was killed when the tier was changed, and nothing here
sub killed {
    my ($byte, $removal, $change) = @_;
    is $u->put("$path?force=1", other($byte))->{status}, 201, 'uploaded anew';
    ok made($_), 'and used' for $m1, $m2;
    $m1->stop_symcached('KILL');
    $change->();
    mkdir $m1->path('uploads/.changing');
    $m1->write_file('uploads/.changing/killed',
        $removal . join("\t", 'crash.pdb', $id, 'crash.pdb', $id) . "\n");
    start($m1, 1);
    $m1->wait_until('the next process looks at what the tier has',
        sub { !-e $m1->path('uploads/.changing/killed') });
}
killed(1, '', sub { $m1->write_file($object, $stored) });
ok !-e $m1->path("uploads/$path"), 'a file that the tier has replaced goes';
for my $m ($m1, $m2) {
    is ask($m, 'debuginfo', '1.0.0')->{status}, 200, 'so both machines have one';
    ok $m->read_file("downloads/default/$path") eq other(2), 'which is the new one';
}
killed(3, '', sub { });
ok -e $m1->path("uploads/$path"), 'the same as in the tier stays';
killed(4, "removal\n", sub { unlink $object });
ok !-e $m1->path("uploads/$path"), 'a file that the tier has removed goes';
ok final($_), 'it is absent for both' for $m1, $m2;

my @zip = map { ["m$_.pdb/" . sprintf('%032X1', $_) . "/m$_.sym",
    sprintf "MODULE windows x86 %032X1 m%d.pdb\n", $_, $_] } 1 .. 50;
is $u->upload(Test::Zip::zip(@zip))->{status}, 201, 'an archive';

# --- a debug file has no name: who asked for a module with its build id sees it

my $build = '0123456789abcdef0123456789abcdef01234567';
my $module = 'libx.so/67452301AB89EFCD0123456789ABCDEF0';
$m1->write_file('x.c', "int seven(int a) { return a + 7; }\n");
system('cd ' . $m1->dir . " && gcc -g -shared -nostdlib -Wl,--build-id=0x$build"
    . ' -o x.so x.c && objcopy --only-keep-debug x.so x.dbg') == 0
    or BAIL_OUT('gcc');
sub elf {
    my ($m) = @_;
    return $m->helper('GET', "/v1/symcache/default/$module?version=9.0.0"
        . "&code_id=buildid-$build&wait=60")->{status};
}
is elf($_), 404, 'nobody has the module' for $m1, $m2;
is $u->put("_.debug/elf-buildid-sym-$build/_.debug",
    $m1->read_file('x.dbg'))->{status}, 201, 'its debug file';
is elf($m2), 200, 'the other machine takes it from the tier';
is elf($m1), 200, 'and the first has it';
my $program = "libx.so/elf-buildid-$build/libx.so";
sub by_id {
    my ($m) = @_;
    return $m->helper('GET', "/v1/executable/default/_/buildid-$build"
        . '?version=1.0.0&wait=60')->{status};
}
is by_id($_), 404, 'nobody has the program' for $m1, $m2;
is $u->put($program, $m1->read_file('x.so'))->{status}, 201, 'the program';
is elf($_), 200, 'made again' for $m1, $m2;
is by_id($_), 200, 'found by its build id alone' for $m1, $m2;
is admin($m1, 'POST', "/v1/discard/$program")->{status}, 200, 'removed';
is by_id($_), 404, 'by its build id, too' for $m1, $m2;
ok !-e $_->path("store/$module/libx.so-v9.0.0.symcache"),
    'with what was made of its build id' for $m1, $m2;

# --- a machine that is away

is $u->put($path, other(1))->{status}, 201, 'uploaded';
ok made($m2), 'and used by the other machine';
$m2->stop_symcached;
$r = $u->put("$path?force=1", other(3));
is $r->{status}, 201, 'one machine is away: replaced' or diag $r->{raw};
is $r->{json}{untold}, $peers->[1], 'the answer says who does not know';
$m1->wait_until('so does the log', sub {
    $m1->helper_log =~ /uploads: \Q$peers->[1]\E is not told of 1 file: connect: \w/ });
utime 0, 0, $m1->path("uploads/$path"), $object or die;
is $u->put($path, other(3))->{json}{untold}, $peers->[1],
    'and so when an old file is sent again';
is $u->put("$path?force=1", other(4))->{json}{untold}, $peers->[1],
    'once more';
$m1->wait_until('it is kept', sub {
    2 == (() = ($m1->read_file('uploads/.untold') // '') =~ m{/$path\?}g) });
$m1->stop_symcached;
start($m1, 1);
ok -e $m2->path($symcache), 'the former SymCache';
start($m2, 1);
$m1->wait_until('the machine that was away is told',
    sub { !-e $m1->path('uploads/.untold') });
ok !-e $m2->path($symcache), 'and has dropped it';
ok made($m2), 'makes another one';
is downloaded(), other(4), 'of what is there';
is $u->put("$path?force=1", other(5))->{json}{untold}, undef,
    'the next time all know at once';

# --- builds of two machines have a file

$_->stop_symcached for $m1, $m2;
start($_, 1) for $m1, $m2;
is $u->put("$path?force=1&product=x&build=1", other(3))->{status}, 201, 'sent for a build';
is put2(other(3), '?product=x&build=2'), 200, '... and to the other machine for another one';
sub forget {
    my ($m, $build) = @_;
    return Test::Ctl->new($m)->run(qw(uploads forget --product x --build), $build,
        '--root', $m->path('uploads'), '--socket', 'unix:' . $m->path('a.sock'))->{code};
}
is forget($m1, 1), 0, 'the first forgets its build';
ok !-e $m1->path("uploads/$path"), '... with its file';
ok -e $_, "which stays for that of the other: $_" for $object, $m2->path("uploads/$path");
is ask($_, 'debuginfo', '1.0.0')->{status}, 200, 'and is found' for $m1, $m2;
is forget($m2, 2), 0, 'the other forgets its own';
ok !-e $object, '... so it is gone';
ok final($_), '... for both' for $m1, $m2;

# --- without a tier only what is known is dropped

$_->stop_symcached for $m1, $m2;
start($_, 0) for $m1, $m2;
is put2(other(6)), 201, 'without a tier: each has files of its own';
is $u->put("$path?force=1", other(7))->{status}, 201, 'replaced at the first';
is $m2->read_file("uploads/$path"), other(6), 'not at the other';
ok made($m2), 'which has its own';

$m1->stop_symcached;
my @away = map { 'unix:' . $m1->path($_) } 'away10', 'away1';
start($m1, 0, @away);
$r = $u->put("$path?force=1", other(8));
is_deeply [sort split /,/, $r->{json}{untold}], [sort @away],
    'one that is away has an address that begins as that of another';

# --- one that answers, but slowly

my $slow = Test::ScriptedServer->new(log => $m1->path('slow'),
    script => sub { sleep 1; $_[0]->reply(200, {}, '{}') });
my ($address) = $slow->url =~ m{http://([^/]+)};
$m1->stop_symcached;
start($m1, 0, $address);
@zip = map { ["s$_.pdb/" . sprintf('%032X1', $_) . "/s$_.sym",
    sprintf "MODULE windows x86 %032X1 s%d.pdb\n", $_, $_] } 1 .. 60;
is $u->upload(Test::Zip::zip(@zip))->{json}{upload}{untold}, $address,
    'a slow machine does not hold an archive by each of its files';
$m1->wait_until('what it has not heard outlives a kill', sub {
    ($m1->read_file('uploads/.untold') // '') =~ /^\Q$address\E .*s60\.sym/m });

for my $query ('', '?from', '?from=1&x=1', '?from=1&try') {
    is admin($m1, 'POST', "/v1/changed/$path$query")->{status}, 400,
        "refused: '$query'";
}
is $m1->helper('POST', "/v1/changed/$path?from=1", 'Content-Length: 0')
    ->{status}, 403, 'not on the socket for everybody';

$_->finish for $m2, $m1;
done_testing;
