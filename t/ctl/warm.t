#!/usr/bin/env perl

# symcachectl warm: every kind of list, what is told of each module, retries
# as told, an interrupt, a helper that goes away.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Encode ();
use File::Copy qw(copy);
use Test::Ctl;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = Test::Ctl->new($t);
my $id = $Test::Symcache::key{'crash.pdb'};
my ($guid) = $id =~ /^(.{32})/;
my $basic = $Test::Symcache::key{'basic32.pdb'};
my ($basic_guid) = $basic =~ /^(.{32})/;
my $dashed = join '-', $guid =~ /^(.{8})(.{4})(.{4})(.{4})(.{12})$/;
my @socket = $ctl->socket;

$ctl->start_all(cache => { retry_errors_after => '1s' },
    limits => { attempts => 1 }, nginx => 'location /fails.pdb/ { return 500; }');

# --- what nobody has asked for yet, from a list

my $list = <<"LIST";
# what the office uses
crash.pdb,$guid,1

CRASH.PDB,{$dashed},1
never.pdb,$guid,1
"fails.pdb", $guid, 10
LIST
my $r = $ctl->run_with($list, 'warm', @socket);
$ctl->is($r, 1, qr{^3 modules: 1 cached, 1 missing, 1 failed

missing:
  never\.pdb $id
    upstream: \Q$ctl->{url}\E/never\.pdb/.*: not found \(.*\)

failed, may be there later:
  fails\.pdb ${guid}A
    upstream: \Q$ctl->{url}\E/fails\.pdb/.*: failed \(.*500.*\)
\z}, qr/\Asymcachectl warm: fails\.pdb ${guid}A: error: .*500.*; asked again in 1 s\n\z/,
    'a list');
is $t->runs, 1, 'is made';
$r = $ctl->run_with("crash.pdb,$guid,1", 'warm', '--json', @socket);
my @lines = $ctl->json($r);
is_deeply \@lines, [
    { pdb => 'crash.pdb', id => $id, outcome => 'cached', version => '9.0.0' },
    { modules => 1, cached => 1, missing => 0, failed => 0, 'not asked' => 0,
      repeated => 0, 'left out' => 0 }], '--json: a line for each, and a sum';
is $r->{code}, 0, 'all are cached';
is $r->{err}, '', 'without a terminal no bar';
is $t->runs, 1, 'and is not made again';

$r = $ctl->run_with("never.pdb,$guid,1\n", 'warm', '--json', @socket);
my ($never) = $ctl->json($r);
is $never->{outcome}, 'missing', '--json: missing';
like $never->{reason}, qr/^notfound: /, 'why';
is $never->{attempts}[-1]{outcome}, 'not found', 'and where';

$r = $ctl->run_with("crash.pdb,$guid,1\n", 'warm', @socket, '--version',
    '8.0.0');
$ctl->is($r, 1, qr/crash\.pdb $id\n    no-transcoder/, undef, '--version');

# --- xperf

my $xperf = <<"XPERF";
TimeDateStamp,  ImageSize, OrigFileName, CodeView Record
   0x4da89d03, 0x00bcb000, "crash.exe", "[RSDS] PdbSig: {\L$dashed\E}; Age: 1; Pdb: u:\\build\\win32\\crash.pdb"
   0x4da89d04, 0x00010000, "nopdb.dll"
[1/2]  50.0%
"[RSDS] PdbSig: {$dashed}; Age: 1; Pdb: crash.pdb"
XPERF
$r = $ctl->run_with($xperf, 'warm', @socket);
$ctl->is($r, 0, qr/^1 module: 1 cached, 0 missing, 0 failed$/, undef,
    'what xperf prints');
$t->write_file('powershell.txt',
    "\xff\xfe" . Encode::encode('UTF-16LE', $xperf =~ s/\n/\r\n/gr));
$r = $ctl->run('warm', @socket, $t->path('powershell.txt'));
$ctl->is($r, 0, qr/^1 module: 1 cached/, undef, 'redirected by PowerShell');
$r = $ctl->run_with("\xef\xbb\xbfcrash.pdb,$guid,1\r\n", 'warm', @socket, '-');
$ctl->is($r, 0, qr/^1 module: 1 cached/, undef, 'UTF-8 with a mark, CRLF');
$r = $ctl->run_with("\xff\xfe" . Encode::encode('UTF-16LE',
    "gr\x{fc}\x{20ac}\x{1f600}.pdb,$guid,1"), 'warm', @socket);
like $r->{out}, qr/^  gr\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80\.pdb $id$/m,
    'other letters';

# --- what is no list

$r = $ctl->run_with("a\e[2Jb\ncrash.pdb,$guid,1\nx.pdb,12,1\n"
    . "x.pdb,$guid,z\na/b,$guid,1\n" . 'x' x 5000 . "\n"
    . "[RSDS] PdbSig: {$dashed}; Age: 1\n", 'warm', @socket);
$ctl->is($r, 1, qr/^1 module: 1 cached.*\n\n6 lines or files name no module$/,
    qr{standard\ input:1:\ not\ pdb,guid,age:\ a\\x1b\[2Jb;\ left\ out\n
       .*:3:\ .*x\.pdb,12,1;\ left\ out\n .*:4:\ .*\n .*:5:\ .*\n
       .*:6:\ a\ line\ that\ is\ too\ long:\ x{60}\.\.\.;\ left\ out\n
       .*:7:\ a\ CodeView\ record}x, 'other lines');
$r = $ctl->run_with('', 'warm', @socket);
$ctl->is($r, 0, qr/^0 modules/, undef, 'an empty list');
$r = $ctl->run('warm', @socket, $t->path('none'));
$ctl->is($r, 3, undef, qr/none: No such file/, 'no list');

# --- folders

mkdir $t->path('bin');
mkdir $t->path('bin/deeper');
copy $t->data('pdb/basic32.dll'), $t->path('bin/basic32.dll') or die;
copy $t->data('pdb/crash.pdb'), $t->path('bin/deeper/Crash.pdb') or die;
$t->write_file('bin/readme.txt', "no,list,this\n");
$t->write_file('bin/dos.exe', 'MZ' . "\0" x 100);
$t->write_file('bin/cut.pdb', "Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0");
symlink $t->path('bin'), $t->path('bin/deeper/loop') or die;
$r = $ctl->run('warm', '--json', @socket, $t->path('bin'));
@lines = $ctl->json($r);
is_deeply [sort map { "$_->{pdb} $_->{id} $_->{outcome}" }
        grep { $_->{pdb} } @lines],
    ["Crash.pdb $id cached", "basic32.pdb $basic cached"],
    'images and PDBs of a folder';
is $lines[-1]{'left out'}, 2, 'others are left out';
like $r->{err}, qr/dos\.exe: is not a PE image.*left out/, 'and named';
like $r->{err}, qr/cut\.pdb: .*left out/, 'all of them';
$r = $ctl->run('warm', @socket, $t->path('bin/basic32.dll'),
    $t->path('bin/deeper/Crash.pdb'));
$ctl->is($r, 0, qr/^2 modules: 2 cached/, undef, 'an image and a PDB');

# --- on a terminal

SKIP: {
    skip 'needs script(1) for a terminal', 2 unless Test::Ctl::has_script();
    $t->write_file('list', "crash.pdb,$guid,1\n");
    my $screen = $ctl->on_terminal('warm', @socket, $t->path('list'));
    like $screen, qr/\[#{30}\] 100 % 1 cached, 0 missing/, 'a bar';
    like $screen, qr/\r\e\[K1 module: 1 cached/, 'and the summary instead';
}

# --- a helper that says later, and one that goes away

my $state = $t->path('state');
mkdir $state;
my $fake = Test::ScriptedServer->new(log => $t->path('fake.requests'),
    script => sub {
        my ($c, $req) = @_;
        my ($name) = $req->{path} =~ m{/default/(\w+)\.pdb/};
        return $c->reply(200, {}, '{"attempts":[]}')
            if $req->{path} =~ m{^/v1/why/};
        return $c->reply(202, { 'Retry-After' => 1 }, '')
            if $name eq 'job' && mkdir "$state/job";
        return $c->reply(503, { 'Retry-After' => 1 }, '{"error":"busy"}')
            if $name eq 'busy' && mkdir "$state/busy";
        return $c->reply(503, { 'Retry-After' => 1 },
            '{"error":"busy","detail":"very"}') if $name eq 'always';
        return $c->reply(503, { 'Retry-After' => 3 },
            '{"error":"error","detail":"no disk"}')
            if $name eq 'late' && mkdir "$state/late";
        return $c->reply(400, {}, '{"error":"bad-key"}') if $name eq 'odd';
        return $c->close if $name eq 'gone' && mkdir "$state/gone";
        return $c->close if $name eq 'dead';
        return sleep 60 if $name eq 'held';
        $c->reply(200, { 'X-Symcache-Version' => "9.0.0" }, '');
    });
my @fake = ('--socket', '127.0.0.1:' . $fake->port);
sub asked { scalar grep { $_->{path} =~ m{/symcache/default/$_[0]\.pdb/} }
            $fake->requests }
my $names = join '', map { "$_.pdb,$guid,1\n" } qw(job busy always odd gone);
$r = $ctl->run_with($names, 'warm', '--attempts=2', @fake);
$ctl->is($r, 1, qr/^5\ modules:\ 3\ cached,\ 0\ missing,\ 2\ failed\n
    .*always\.pdb\ $id\n\ +busy:\ very\n.*odd\.pdb\ $id\n\ +bad-key\n/xs,
    qr/\Asymcachectl warm: \w+\.pdb $id: .*; asked again in 1 s\n\z/,
    'later means later, which is told once');
is_deeply [map { asked($_) } qw(job busy always odd gone)], [2, 2, 2, 1, 2],
    'as often as told';
$r = $ctl->run_with("late.pdb,$guid,1\nx.pdb,$guid,1\n", 'warm', @fake);
$ctl->is($r, 0, qr/^2 modules: 2 cached/,
    qr/\Asymcachectl warm: late\.pdb $id: error: no disk; asked again in 3 s\n\z/,
    'what is waited for');
like $r->{progress}, qr/\Asymcachectl\ warm:\ \d\ of\ 2\ known:\ \d\ cached,
    \ 0\ missing,\ 0\ failed,\ \d\ asked\ now,\ \d\ later\n/x, 'and how far it is';
$r = $ctl->run_with("dead.pdb,$guid,1\nx.pdb,$guid,1\n", 'warm',
    '--concurrency=1', '--attempts=1', @fake);
$ctl->is($r, 3, qr/^2 modules: 0 cached, 0 missing, 0 failed, 2 without an answer$/,
    qr/no answer from symcached: /, 'nobody answers any more');
$r = $ctl->run_with($list, 'warm', '--socket', $t->path('nobody'));
$ctl->is($r, 3, qr/3 without an answer/, qr/no answer from symcached: /,
    'nobody answers at all');
@lines = $ctl->json($ctl->run_with($list, 'warm', '--json', '--socket',
    $t->path('nobody')));
is_deeply [map { $_->{outcome} // $_->{'not asked'} } @lines],
    [('not asked') x 3, 3], '--json: not asked';
$r = $ctl->run_with($list, 'warm', '--store=none', @socket);
$ctl->is($r, 2, qr/3 without/, qr/unknown-store.*--store names another/,
    'no such store');

# --- many at once, and an interrupt

my $many = join '', map { "m$_.pdb,$guid,1\n" } 1 .. 300;
$r = $ctl->run_with($many, 'warm', '--concurrency', 8, @fake);
$ctl->is($r, 0, qr/^300 modules: 300 cached/, undef, 'many');

for my $signal (qw(INT TERM)) {
    my $run = $ctl->begin("held.pdb,$guid,1\na.pdb,$guid,1\nheld.pdb,$guid,2\n",
        'warm', '--concurrency=1', @fake);
    $t->wait_until('the request is held', sub { asked('held') });
    kill $signal, $run->{pid};
    $ctl->is($ctl->end($run), 130,
        qr/^3 modules: 0 cached, 0 missing, 0 failed, 3 without an answer$/,
        undef, "SIG$signal");
    truncate $t->path('fake.requests'), 0;
}
$fake->stop;

# --- another kind: what the symbolic library makes of a portable PDB

$t->stop_symcached;
my $config = $t->default_config($ctl->{url});
push @{ $config->{stores}{default}{transcoders} }, { version => '1.0.0',
    makes => 'ppdbcache', command => [$t->program('pdb2symcache'), '-pdb', '{pdb}'] };
$t->start_symcached($config);
my $weave = '6022E78B4BF44D048F9E21D7790ECE60';
$t->write_file("sym/weave.pdb/${weave}FFFFFFFF/weave.pdb",
    $t->read_file($t->data('ppdb/weave.pdb')));
$r = $ctl->run_with("weave.pdb,$weave,1\nabsent.pdb,$guid,1\ncrash.pdb,$guid,1\n",
    'warm', '--json', '--kind=ppdbcache', @socket);
@lines = sort { $a->{pdb} cmp $b->{pdb} } grep { $_->{pdb} } $ctl->json($r);
is_deeply [map { "$_->{pdb} $_->{outcome}" } @lines],
    ['absent.pdb missing', 'crash.pdb missing', 'weave.pdb cached'], '--kind';
is $lines[0]{attempts}[-1]{outcome}, 'not found', 'where it looked for this kind';
like $lines[1]{reason}, qr/^wrong-format: /, 'a Windows PDB has none';
is $lines[2]{version}, '1.0.0', 'the newest of this kind';
ok $t->read_file("$config->{stores}{default}{root}/weave.pdb/${weave}1/"
    . 'weave.pdb-v1.0.0.ppdbcache') eq $t->read_file($t->data('ppdb/weave.ppdbc')),
    'is made';
for my $file ('weave.pdb', 'weave.dll') {
    $ctl->is($ctl->run('warm', '--kind=ppdbcache', @socket, $t->data("ppdb/$file")), 0,
        qr/^1 module: 1 cached,/, undef, "of $file");
    $ctl->is($ctl->run('warm', @socket, $t->data("ppdb/$file")), 1, qr/^0 modules:/,
        qr/^symcachectl warm: \S+: (?:is|belongs to) a portable PDB of \.NET; left out$/,
        "no SymCache of $file");
}

# --- a transcoder that is not there

$t->stop_symcached;
$config = $t->default_config($ctl->{url});
$config->{stores}{default}{transcoders}[0]{command} = ['nowhere', '{pdb}'];
$config->{downloads} = $t->path('other');
$config->{stores}{default}{root} = $t->path('none');
$t->start_symcached($config);
$r = $ctl->run_with("crash.pdb,$guid,1\n", 'warm', '--attempts=1', @socket);
$ctl->is($r, 1, qr{^failed, may be there later:
  crash\.pdb $id
    error: no transcoder: "nowhere" is neither in PATH nor beside symcached
    upstream: \Q$ctl->{url}\E/crash\.pdb/.*: found \(1019904 bytes\)
\z}m, undef, 'no transcoder');

# --- usage

for ([qr/a number from 1 to 1000: 0/, '--concurrency', '0'],
     [qr/a number from 1 to 1000: 1x/, '--concurrency=1x'],
     [qr/a number from 1 to 1000: -1/, '--attempts', '-1'],
     [qr/--version is one as 3\.1\.0: 3/, '--version=3'],
     [qr/--kind is one as ppdbcache: bundle/, '--kind=bundle'],
     [qr/unknown option: --frob/, '--frob']) {
    my ($err, @args) = @$_;
    $ctl->is($ctl->run('warm', @socket, @args), 2, undef, $err,
        "refused: @args");
}

$t->finish;
done_testing;
