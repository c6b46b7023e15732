#!/usr/bin/env perl

# The index of uploads in a fleet: what one machine has taken is found on it and
# on the others by its id, whatever file name the asker knows; and what was
# known of such names is dropped when the file is.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(make_path);
use JSON::PP ();
use Test::More;
use Test::Clock;
use Test::S3;
use Test::ScriptedServer;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;

my $guid = $Test::Symcache::key{'crash.pdb'};
my $u = Test::Uploads->new;
my $m1 = $u->t;
my $m2 = Test::Symcache->new;
my $m3 = Test::Symcache->new;
my @machines = ($m1, $m2, $m3);
my $pdb = $m1->read_file($m1->data('pdb/crash.pdb'));
mkdir $_ or die "$_: $!"
    for $m1->path('tier'), map { ($_->path('uploads'), $_->path('empty')) }
    $m2, $m3;
my $s3 = Test::S3->new($m1, region => 'eu-west-1',
    secrets => { AKIDexample => 'secret' });
my %tiers = (
    folder => { type => 'filesystem', path => $m1->path('tier') },
    bucket => { type => 's3', bucket => 'sym', region => 'eu-west-1',
        endpoint => $s3->url, path_style => JSON::PP::true(),
        access_key => 'AKIDexample', secret_key => 'secret' },
);

# PDBs of the same identity and other bytes: the last page is not used.
sub other { substr($pdb, 0, -1) . chr $_[0] }

# Starts a machine, whose uploads the others hear of if there are peers; root: of
# which its folder of uploads is; far: URL of another source, asked behind
# them; command: of the transcoder; env.
sub start {
    my ($m, $tier, $has_peers, $root, %o) = @_;
    my $c = $u->config_of($m);
    delete $c->{uploads}{tokens};
    $c->{uploads}{peers} = [map { 'unix:' . $_->path('a.sock') } @machines]
        if $has_peers;
    $c->{uploads}{root} = $root->path('uploads') if $root;
    $c->{stores}{default}{transcoders}[0]{inputs} = [qw(pdb elf breakpad)];
    $c->{stores}{default}{transcoders}[0]{command} = $o{command}
        if $o{command};
    if ($tier) {
        $c->{tiers}{fleet} = $tiers{$tier};
        $c->{stores}{default}{tier} = 'fleet';
    }
    if ($o{far}) {
        $c->{sources}{far} = { type => 'http', url => $o{far},
            layout => 'debuginfod', internal => JSON::PP::true() };
        $c->{stores}{default}{sources} = ['uploads', 'far'];
    }
    $m->start_symcached($c, env => $o{env} // {});
}

# The status of a file on a machine, by the key <name>/<id>.
sub ask {
    my ($m, $kind, $key, $hints) = @_;
    my $version = $kind eq 'symcache' ? '9.0.0' : '1.0.0';
    my $r = $m->helper('GET', "/v1/$kind/default/$key?version=$version"
        . ($hints // '') . '&wait=60');
    return $r->{status};
}

sub discard {
    $m1->http($m1->path('a.sock'), 'POST', "/v1/discard/$_[0]",
        'Content-Length: 0')->{status};
}

my $gcc = 'gcc -g -shared -nostdlib -Wl,--build-id=0x';
my $built = 0;

# A module of its own: its build id, its debug id, its bytes, its debug file.
sub elf {
    my $n = ++$built;
    my $build = sprintf '%08x', $n;
    $build .= '89abcdef0123456789abcdef01234567';
    $m1->write_file("x$n.c", "int f$n(int a) { return a + $n; }\n");
    system('cd ' . $m1->dir . " && $gcc$build -o x$n.so x$n.c"
        . " && objcopy --only-keep-debug x$n.so x$n.dbg") == 0
        or BAIL_OUT('gcc');
    # the first 16 bytes as a GUID, and the age 0, as Breakpad has it
    my $debug = sprintf '%08XAB89EFCD0123456789ABCDEF0', unpack 'V', pack 'N', $n;
    return { build => $build, debug => $debug,
        program => $m1->read_file("x$n.so"), dbg => $m1->read_file("x$n.dbg") };
}

# A PE image: what a debugger looks for by time stamp and size.
sub image {
    my ($stamp) = @_;
    my $pe = "MZ" . "\0" x 58 . pack('V', 64);
    $pe .= "PE\0\0" . pack('vvVVVvv', 0x8664, 0, $stamp, 0, 0, 240, 0x2022);
    my $optional = pack 'v', 0x20b;
    $optional .= "\0" x 54 . pack('V', 0x5000);
    return $pe . $optional . "\0" x (240 - length $optional);
}

$m1->stop_symcached;

for my $tier ('folder', 'bucket') {
    my $x = elf();
    my $stamp = 0x60000000 + ++$built;
    my $image = sprintf '%08X5000', $stamp;
    start($_, $tier, 1) for @machines;

    my $sym = sprintf '%08X5000', $stamp + 0x1000000;

    # --- absent, and known to be so under any name

    my @asked = (
        ['a PDB', 'debuginfo', "other.pdb/$guid"],
        ['what is made of it', 'symcache', "other.pdb/$guid"],
        ['a program', 'executable', "other.so/buildid-$x->{build}"],
        ['one without a name', 'executable', "_/buildid-$x->{build}"],
        ['what is made of it', 'symcache', "other.so/$x->{debug}",
            "&code_id=buildid-$x->{build}"],
        ['the same by its debug id alone', 'symcache', "more.so/$x->{debug}"],
        ['an image', 'executable', "other.dll/$image"],
        ['one with the name of a text', 'executable', "other.dll/$sym"],
    );
    sub all_are {
        my ($status, $what, @asked) = @_;
        for my $one (@asked) {
            my ($name, @question) = @$one;
            is join(' ', map { ask($_, @question) } @machines),
                join(' ', ($status) x @machines), "$what: $name";
        }
    }
    all_are(404, "$tier: absent", @asked);

    # --- uploaded to one machine, found by their ids on all

    is $u->put("crash.pdb/$guid/crash.pdb", $pdb)->{status}, 201,
        "$tier: a PDB is uploaded";
    is $u->put("libx.so/elf-buildid-$x->{build}/libx.so", $x->{program})
        ->{status}, 201, "$tier: a program";
    is $u->put("x.dll/$image/x.dll", image($stamp))->{status}, 201,
        "$tier: an image";
    is $u->put("x.sym/$sym/x.sym", image($stamp + 0x1000000))->{status}, 201,
        "$tier: one with the name of a text";
    all_are(200, "$tier: found", @asked);

    for (@machines) {
        my $why = $_->helper_json("/v1/why/default/other.dll/$image"
            . '?kind=executable');
        like join(' ', map { "$_->{place} $_->{detail}" } @{ $why->{attempts} }),
            qr{/x\.dll/$image/x\.dll \d+ bytes, found by its id$},
            "$tier: why tells how it was found";
    }
    cmp_ok $m2->metric('symcached_uploads_indexed_total'), '>', 0,
        "$tier: counted";

    # --- replaced and removed under all names

    is $u->put("crash.pdb/$guid/crash.pdb?force=1", other(1))->{status}, 201,
        "$tier: replaced";
    ok !-e $_->path("store/other.pdb/$guid/other.pdb-v9.0.0.symcache"),
        "$tier: what was made under the other name is gone" for @machines;
    for (@machines) {
        is ask($_, 'debuginfo', "other.pdb/$guid"), 200, "$tier: found again";
        ok $_->read_file("downloads/default/other.pdb/$guid/other.pdb")
            eq other(1), "$tier: with the new bytes" if $_ != $m1;
    }
    is discard("crash.pdb/$guid/crash.pdb"), 200, "$tier: removed";
    is discard("libx.so/elf-buildid-$x->{build}/libx.so"), 200, "$tier: removed";
    is discard("x.dll/$image/x.dll"), 200, "$tier: removed";
    is discard("x.sym/$sym/x.sym"), 200, "$tier: removed";
    all_are(404, "$tier: absent again", @asked);
    $_->stop_symcached for @machines;
}

# --- a tier whose machines do not hear of each other

my $y = elf();
start($_, 'folder', 0) for @machines;
is $u->put("_.debug/elf-buildid-sym-$y->{build}/_.debug", $y->{dbg})->{status},
    201, 'a debug file, of which only the tier has heard';
is ask($_, 'symcache', "y.so/$y->{debug}"), 200,
    'found by the debug id that is made of its build id' for @machines;
is $u->put("liby.so/elf-buildid-$y->{build}/liby.so?try=1", $y->{program})
    ->{status}, 201, 'a program of a try build';
is ask($_, 'executable', "y.so/buildid-$y->{build}"), 404,
    'is not for a store without these' for @machines;

# --- files of one id that have one name: each leads to the others

sub bundle {
    my $id = lc $guid =~ s/^(.{8})(.{4})(.{4})(.{4})(.{12})(.)$/$1-$2-$3-$4-$5-$6/r;
    return "SYSB\2\0\0\0" . Test::Zip::zip(['manifest.json', JSON::PP::encode_json(
        { debug_id => $id, object_name => 'crash', files =>
            { 'files/crash.c' => { type => 'source', path => '/crash.c' } } })],
        ['files/crash.c', "int main;\n"]);
}

sub send_both {
    my ($what) = @_;
    is $u->put("crash.pdb/$guid/crash.pdb", $pdb)->{status}, 201, "$what: a PDB";
    is $u->put("crash.pdb/$guid/crash.src.zip", bundle())->{status}, 201,
        "$what: and its source bundle";
    is discard("crash.pdb/$guid/crash.src.zip"), 200, "$what: which is removed";
}

send_both('a tier');
is ask($_, 'debuginfo', "more.pdb/$guid"), 200, 'the PDB is found by its id'
    for $m1, $m2;
is discard("crash.pdb/$guid/crash.pdb"), 200, 'it is removed';
is ask($_, 'debuginfo', "last.pdb/$guid"), 404, 'and not found any more' for $m1, $m2;

# --- without a tier: other names here, which cannot be invented without end

$_->stop_symcached for @machines;
start($m1);
send_both('no tier');
is ask($m1, 'debuginfo', "none.pdb/$guid"), 200, 'the PDB is found by its id';
my $z = elf();
is $u->put("libz.so/elf-buildid-$z->{build}/libz.so", $z->{program})->{status},
    201, 'a program';
my %of = map { $_ => [] } 200, 503;
push @{ $of{ ask($m1, 'executable', "z$_.so/buildid-$z->{build}") } }, $_
    for 1 .. 66;
is "@{ $of{200} } and @{ $of{503} }", join(' ', 1 .. 64, 'and', 65, 66),
    'found by 64 names, and under others not absent';
is ask($m1, 'executable', "libz.so/buildid-$z->{build}"), 200, 'and its own';

# --- a debug file has no name: what was made of it has those of the clients

my $nameless = elf();
my $place = "_.debug/elf-buildid-sym-$nameless->{build}/_.debug";
my @by = ("$nameless->{debug}", "&code_id=buildid-$nameless->{build}");
is $u->put($place, $nameless->{dbg})->{status}, 201, 'a debug file';
for my $name ('n1.so', '_') {
    my $made = $m1->path("store/$name/$by[0]/$name-v9.0.0.symcache");
    is ask($m1, 'symcache', "$name/$by[0]", $by[1]), 200, "$name: made of it";
    is $u->put("$place?force=1", $nameless->{dbg} . $name)->{status}, 201, '... it is replaced';
    ok !-e $made, '... what was made is gone';
    is ask($m1, 'symcache', "$name/$by[0]", $by[1]), 200, '... and made again';
    is discard($place), 200, '... it is removed';
    ok !-e $made, '... with what was made';
    is ask($m1, 'symcache', "$name/$by[0]", $by[1]), 404, '... and absent';
    is $u->put($place, $nameless->{dbg})->{status}, 201, '... until it comes again';
}
%of = map { $_ => [] } 200, 503;
push @{ $of{ ask($m1, 'symcache', "n$_.so/$by[0]", $by[1]) } }, $_ for 1 .. 65;
is "@{ $of{200} } and @{ $of{503} }", join(' ', 1 .. 63, 'and', 64, 65),
    'with "_" by 64 names, and under others not absent';

SKIP: {
    skip 'not under a sanitizer', 2 if $Test::Symcache::san;
    my $shim = $m1->path('quota.so');
    $m1->write_file('quota.c', <<'C');
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int open(const char *path, int flags, unsigned mode)
{
    if (strstr(path, "/.full.so") != NULL) {
        errno = EDQUOT;
        return -1;
    }
    return syscall(SYS_openat, -100, path, flags, mode);
}

int open64(const char *path, int flags, unsigned mode)
{
    return open(path, flags, mode);
}
C
    skip 'no C compiler', 2
        if system('cc', '-shared', '-fPIC', '-o', $shim, $m1->path('quota.c')) != 0;
    my $full = elf();
    my @full = ('executable', "full.so/buildid-$full->{build}");
    $m1->stop_symcached;
    start($m1, undef, 0, undef, env => { LD_PRELOAD => $shim });
    is $u->put("libf.so/elf-buildid-$full->{build}/libf.so", $full->{program})
        ->{status}, 201, 'a program';
    is ask($m1, @full), 503, 'the quota of the disk is used up: not absent';
}

# --- one folder that all machines mount, which do not hear of each other

$m1->stop_symcached;
start($_, undef, 0, $m1) for $m1, $m2;
my $shared = elf();
my @shared = map { ['executable', "$_/buildid-$shared->{build}"] } 'libs.so', 's.so';
is ask($m2, @$_), 404, "absent: $_->[1]" for @shared;
is $u->put("libs.so/elf-buildid-$shared->{build}/libs.so", $shared->{program})
    ->{status}, 201, 'a program, at the other machine';
is ask($m2, @$_), 200, "found at once: $_->[1]" for @shared;

# the other machine has looked into it, and waits for another source
my $gate = $m2->write_file('gate.far', '');
my $far = Test::ScriptedServer->new(log => $m2->path('far.log'),
    script => sub {
        $m2->wait_until('the gate opens', sub { !-e $gate });
        $_[0]->reply(-e $m2->path('zip') ? (200, {}, "PK\3\4" . "\0" x 60) : (404, {}, ''));
    });
my $clock = Test::Clock->new($m2);
$m2->stop_symcached;
start($m2, undef, 0, $m1, far => $far->url, env => $clock ? $clock->env : {});
for my $has ('nothing', 'what cannot be read') {
    my $late = elf();
    my @late = map { "$_/buildid-$late->{build}" } 'late.so', 'l.so';
    my $before = scalar($far->requests) // 0;
    $m2->write_file('gate.far', '');
    $m2->write_file('zip', '') if $has ne 'nothing';
    my $s = $m2->open_http($m2->helper_socket, 'GET',
        "/v1/executable/default/$late[1]?version=1.0.0&wait=60");
    $m2->wait_until('the other source is asked', sub { scalar($far->requests) > $before });
    is $u->put("late.so/elf-buildid-$late->{build}/late.so", $late->{program})
        ->{status}, 201, 'a program that one looks for';
    unlink $gate;
    is $m2->read_response($s)->{status}, 200,
        "is found before one gives up, where another source has $has";
    is ask($m2, 'executable', $late[0]), 200, 'and by its own name';
}
unlink $m2->path('zip') or die $!;

SKIP: {
    $clock or skip Test::Clock::why(), 12;

    # the folder shows that there are uploads with this id before it shows them
    my $slow = elf();
    my @slow = ('executable', "slow.so/buildid-$slow->{build}");
    my ($seen, $unseen) = map { $m1->path($_) } 'uploads/slow.so', 'unseen';
    is $u->put("slow.so/elf-buildid-$slow->{build}/slow.so", $slow->{program})->{status}, 201,
        'a program at the other machine';
    rename $seen, $unseen or die $!;
    is ask($m2, @slow), 404, '... which this one does not see yet';
    rename $unseen, $seen or die $!;
    my $r = $m2->helper('GET', "/v1/executable/default/$slow[1]?version=1.0.0");
    is $r->{status}, 404, '... is absent';
    cmp_ok Test::Symcache::header($r, 'X-Symcache-Valid'), '<=', 90, '... for no longer than a share is late';
    $clock->set(100);
    is ask($m2, @slow), 200, '... and found then';
    is ask($m2, 'debuginfo', $slow[1]), 404, 'another file of this id';
    $r = $m2->helper('GET', "/v1/debuginfo/default/$slow[1]?version=1.0.0");
    cmp_ok Test::Symcache::header($r, 'X-Symcache-Valid'), '>', 90, '... is absent for the usual time';

    $clock->set(1800);    # ahead of the folder's
    my $next = elf();
    my @next = map { ['executable', "$_/buildid-$next->{build}"] }
        'next.so', 'n.so';
    is ask($m2, @$_), 404, "absent by another clock: $_->[1]" for @next;
    is $u->put("next.so/elf-buildid-$next->{build}/next.so",
               $next->{program})->{status}, 201, 'a program';
    is ask($m2, @$_), 200, "found at once: $_->[1]" for @next;
}

# --- machines without a tier that hear of each other: one folder, or each its own

for my $root ($m1, undef) {
    my $what = $root ? 'one folder' : 'folders of their own';
    $_->stop_symcached for $m1, $m2;
    start($_, undef, 1, $root) for $m1, $m2;
    my $told = elf();
    my $at = "libt.so/elf-buildid-$told->{build}/libt.so";
    if (!$root) {
        make_path($m2->path("uploads/libt.so/elf-buildid-$told->{build}"));
        $m2->write_file("uploads/$at", $told->{program});
        $m2->write_file("uploads/.index/elf-buildid-$told->{build}/libt.so", '');
    }
    is $u->put($at, $told->{program})->{status}, 201, "$what: a program";
    is ask($_, 'executable', "t.so/buildid-$told->{build}"), 200,
        "$what: it is found by its id" for $m1, $m2;
    is discard($at), 200, "$what: removed";
    is ask($m1, 'executable', "v.so/buildid-$told->{build}"), 404,
        "$what: and not found any more";
}

# --- an absence that an upload has ended does not hide what failed since

$_->stop_symcached for $m1, $m2;
start($m1, undef, 0, undef, command => ['/bin/sh', '-c',
    'echo >> ' . $m1->path('failed') . '; exit 75', '{pdb}']);
my $fails = elf();
my @fails = ('symcache', "fails.so/$fails->{debug}");
is ask($m1, @fails), 404, 'absent';
is $u->put("libfails.so/elf-buildid-$fails->{build}/libfails.so",
           $fails->{program})->{status}, 201, 'uploaded by another name';
# that it is asked for changes the index, too
is ask($m1, @fails), 503, 'not to be converted now';
my $now = time;
$m1->wait_until('the second of that change is over', sub { time > $now });
is ask($m1, @fails), 503, 'nor later';
my $runs = -s $m1->path('failed');
is ask($m1, @fails), 503, 'which is remembered';
is -s $m1->path('failed'), $runs, '... and not tried at each request';

$_->finish for reverse @machines;
done_testing;
