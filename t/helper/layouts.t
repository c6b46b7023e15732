#!/usr/bin/perl

# Layouts and spellings at a real nginx, which tells cases apart as static
# files do, and in real directories, which are compared without case.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use File::Path qw(remove_tree);
use JSON::PP ();
use Test::Cabinet;
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $id = $Test::SourceCase::id;
my $yes = JSON::PP::true();
my $port = Test::Symcache::free_port();

# What each layout's root holds; names are those of files made on Windows.
$t->write_file("sym/Crash.Pdb/$id/Crash.Pdb", $crash);
$t->write_file("sym/two.pdb/$id/two.pdb", $crash);
$t->write_file("sym/low.pdb/\L$id\E/low.pdb", $crash);
$t->write_file("tiers/Cr/Crash.Pdb/$id/Crash.Pdb", $crash);
$t->write_file("tiers/pa/packed.pdb/$id/packed.pd_",
               Test::Cabinet::cabinet($crash));
$t->write_file('tiers/index2.txt', '');
$t->write_file("ssqp/crash.pdb/\L$id\E/crash.pdb", $crash);
$t->write_file('unified/32/49d99d0c4049318610f4e4fb0b69361/debuginfo',
               $crash);
$t->write_file("upper/CRASH.PDB/$id/CRASH.PDB", $crash);
$t->write_file('flat/Crash.Pdb', $crash);
$t->write_file('flat/packed.pd_', Test::Cabinet::cabinet($crash));
$t->write_file('flat/wrong.pdb',
               $t->read_file($t->data('pdb/omap_stretched.pdb')));
$t->write_file("gz/gz.pdb/$id/gz.pdb.gz", Compress::Zlib::memGzip($crash));

$t->start_nginx('', load => 0, http => <<"CONF",
    log_format up '\$request_uri';
    access_log %%DIR%%/up.log up;
    server {
        listen 127.0.0.1:$port;
        root %%DIR%%;
        location /gz/ { gzip_static always; }
        location /soft/ { return 200 '<html>sign in</html>'; }
    }
CONF
    address => "127.0.0.1:$port");

my @asked;

# Paths asked for since the last call.
sub asked {
    my ($n) = @_;   # so many are on their way: nginx logs what it has answered
    $t->wait_until('requests are logged', sub {
        (my @all = split /\n/, $t->read_file('up.log') // '') >= @asked + $n }) if $n;
    my @all = split /\n/, $t->read_file('up.log') // '';
    my @new = @all[@asked .. $#all];
    @asked = @all;
    return @new;
}

# A helper that has nothing and knows nothing.
sub fresh {
    my $limits = ref $_[-1] eq 'HASH' ? pop : {};
    my (%source) = @_;
    $t->stop_symcached;
    remove_tree($t->path('store'), $t->path('downloads'));
    asked();
    return Test::SourceCase->new($t, sources => { up => \%source },
                                 limits => $limits);
}

sub web {
    my ($root, %o) = @_;
    return fresh(type => 'http', url => "http://127.0.0.1:$port/$root",
                 internal => $yes, %o);
}

sub dir {
    my ($root, %o) = @_;
    return fresh(type => 'filesystem', path => $t->path($root), %o);
}

# --- over HTTP: symstore, and what a miss costs

my $c = web('sym', layout => 'symstore');
$c->found('Crash.Pdb', 'a name in mixed case');
is_deeply [asked()], ["/sym/Crash.Pdb/$id/Crash.Pdb"],
    'is asked for as it was spelled';
$c->found('Two.pdb', 'a name that the store has in lower case');
$c->found('low.pdb', 'a key that the store has in lower case');
asked();
my $r = $c->absent('never.pdb', qr/^404$/, 'no such PDB');
is_deeply [asked(7)], ["/sym/never.pdb/\L$id\E/never.pdb",
    "/sym/never.pdb/\L$id\E/never.pd_", "/sym/never.pdb/\L$id\E/file.ptr",
    "/sym/never.pdb/$id/never.pdb", "/sym/never.pdb/$id/never.pd_",
    "/sym/never.pdb/$id/file.ptr", '/sym/index2.txt'],
    'in two spellings, the last one that worked first, and in two tiers';
is scalar @{ $r->{places} }, 7, '"why" knows them all';
my $why = $t->helper_json("/v1/why/default/never.pdb/$id");
is_deeply [map { $_->{form} } @{ $why->{attempts} }],
    [('plain', 'packed', 'pointer') x 2, 'index2'], 'and what they are';
my $metrics = $t->helper('GET', '/metrics')->{body};
my %places = $metrics =~ /^symcached_places_total\{form="(\w+)"\} (\d+)$/mg;
is $places{index2}, 1, 'index2.txt was asked for once';
cmp_ok $places{plain}, '>', $places{packed}, 'more plain forms than packed';

$c->ask("never$_.pdb") for 1 .. 16;
asked();
$c->absent('once.pdb', qr/^404$/, 'after many misses');
is scalar(() = asked()), 7, 'one costs seven requests as ever';
$t->write_file("sym/late.pdb/\L$id\E/file.ptr", "MSG: see the archive\n");
$r = $c->ask('late.pdb');
like join("\n", map { $_->[2] } @{ $r->{places} }), qr/see the archive/,
    'and the first file.ptr ever is found';

# --- index2.txt

$c = web('tiers', layout => 'symstore');
$r = $c->found('Crash.Pdb', 'a store of two tiers is found out');
is((asked())[-2], '/tiers/index2.txt', 'by index2.txt');
like join("\n", map { "@$_" } @{ $r->{places} }), qr/two tiers/,
    'which "why" tells';
$c->found('packed.pdb', 'and its hit remembered');
is_deeply [asked()], ["/tiers/pa/packed.pdb/$id/packed.pdb",
                      "/tiers/pa/packed.pdb/$id/packed.pd_"],
    'for the next lookup';
$c->absent('never.pdb', qr/^404$/, 'a miss in it');
is scalar(() = asked()), 7, 'is one of two tiers';

$c = web('tiers', layout => 'two_tier');
$c->found('Crash.Pdb', 'two tiers by configuration');
is_deeply [asked()], ["/tiers/Cr/Crash.Pdb/$id/Crash.Pdb"], 'at once';

$c = web('soft', layout => 'symstore');
$c->undecided('never.pdb', 'unusable', qr/HTML/, 'a page for everything');
is scalar(() = asked()), 7, 'is not asked for twice as much';

# --- what was learned of one server is not believed of another

$c = web('sym', layout => 'symstore');
$c->ask('never.pdb');
my $config = $t->read_file('symcached.json');
$config =~ s{/sym"}{/tiers"} or die;
$t->write_file('symcached.json', $config);
kill HUP => $t->{helper} or die;
$t->wait_until('reload', sub {
    $t->helper_json('/v1/sources')->{sources}[0]{place} =~ /tiers/ });
$c->found('Crash.Pdb', 'a source whose url is another after a reload');

# --- the first client's spelling is that of the job

my $slow = Test::ScriptedServer->new(log => $t->path('slow.log'),
    script => sub {
        my ($s, $req) = @_;
        $t->wait_until('gate', sub { -e $t->path('gate') });
        $s->reply($req->{path} =~ m{^/Slow\.pdb/} ? (200, {}, $crash)
                                                  : (404, {}, ''));
    });
$c = fresh(type => 'http', url => $slow->url, internal => $yes);
my @both = map {
    my $held = $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/$_/$id?version=9.0.0&wait=60");
    $t->wait_until('a job', sub { $slow->requests });
    $held;
} qw(Slow.pdb SLOW.PDB);
$t->write_file('gate', '');
is_deeply [map { $t->read_response($_)->{status} } @both], [200, 200],
    'two spellings of one name';
is_deeply [map { $_->{path} } $slow->requests], ["/Slow.pdb/$id/Slow.pdb"],
    'are one job, which asks as the first client did';

# --- a miss is one of the spellings that were looked for

$c = web('sym', layout => 'symstore');
$t->write_file("sym/NtDll.pdb/$id/NtDll.pdb", $crash);
$c->absent('NTDLL.pdb', qr/^404$/, 'a spelling that the server has not');
asked();
$c->absent('ntdll.pdb', qr/^404$/, 'lower case was looked for with it');
$c->absent('NTDLL.pdb', qr/^404$/, 'and the same one is known');
is_deeply [asked()], [], 'without a request';
$why = $t->helper_json("/v1/why/default/ntdll.pdb/$id");
is_deeply $why->{transcoders}[0]{spellings}, ['ntdll.pdb', 'NTDLL.pdb'],
    '"why" tells the spellings';
$c->found('NtDll.pdb', 'another spelling is looked for');
is $t->metric('symcached_outdated_total{why="spelling"}'), 1, 'and counted';
$c->found('NTDLL.pdb', 'what it found is for all');

$c->absent($_, qr/^404$/, "miss of $_")
    for qw(None.pdb NONE.pdb NoNe.pdb NonE.pdb);
asked();
$r = $c->ask('NOne.pdb');
is $r->{status}, 503, 'a fifth spelling is not looked for';
ok $r->{retry} > 3500, 'which is no absence: told to ask when it is';
is_deeply [asked()], [], 'and costs no request';
is $c->ask('NonE.pdb')->{status}, 404, 'the fourth one is absent';

$c = web('sym', casing => 'lower');
$c->ask('None.pdb');
asked();
$c->absent('NONE.pdb', qr/^404$/, 'where the configuration says the case');
is_deeply [asked()], [], 'one spelling is all';

# two wait for one job, each with a spelling of its own
unlink $t->path('gate');
$slow->stop;
$slow = Test::ScriptedServer->new(log => $t->path('slow2.log'),
    script => sub {
        my ($s, $req) = @_;
        $t->wait_until('gate', sub { -e $t->path('gate') });
        $s->reply($req->{path} =~ m{^/SLOW\.PDB/} ? (200, {}, $crash)
                                                  : (404, {}, ''));
    });
$c = fresh(type => 'http', url => $slow->url, internal => $yes);
@both = map {
    my $held = $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/$_/$id?version=9.0.0&wait=60");
    $t->wait_until('a job', sub { $slow->requests });
    $held;
} qw(Slow.pdb SLOW.PDB);
$t->wait_until('two waiters',
               sub { $t->metric('symcached_waiters') == 2 });
$t->write_file('gate', '');
is_deeply [map { $t->read_response($_)->{status} } @both], [404, 200],
    'a job that missed one spelling is followed by one for the other';

# the same, with no room for the job that would have to follow
unlink $t->path('gate');
$c = fresh(type => 'http', url => $slow->url, internal => $yes,
           { downloads => 1, queue => 1 });
@both = map {
    my $held = $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/$_/$id?version=9.0.0&wait=60");
    $t->wait_until('a job', sub { $t->metric('symcached_waiters') });
    $held;
} qw(Slow.pdb SLOW.PDB);
$t->wait_until('two waiters',
               sub { $t->metric('symcached_waiters') == 2 });
is $t->helper('GET', "/v1/symcache/default/next.pdb/$id?version=9.0.0")
    ->{status}, 202, 'another key waits: the queue is full';
$t->write_file('gate', '');
is_deeply [map { $t->read_response($_)->{status} } @both], [404, 503],
    'a spelling that was not looked for is no absence';

# the queue is full when the second job is to begin
unlink $t->path('gate');
$t->stop_symcached;
remove_tree($t->path('store'), $t->path('downloads'));
$c = Test::SourceCase->new($t, limits => { downloads => 1, queue => 1 },
    sources => { up => { type => 'http', url => $slow->url,
                         internal => $yes } });
my $asked = $slow->requests;
@both = map {
    my $held = $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/$_/$id?version=9.0.0&wait=60");
    $t->wait_until('a job', sub { $slow->requests > $asked });
    $held;
} qw(Slow.pdb SLOW.PDB other.pdb);
$t->wait_until('three waiters', sub { $t->metric('symcached_waiters') == 3 });
$t->write_file('gate', '');
is_deeply [map { $t->read_response($_)->{status} } @both], [404, 503, 404],
    'no room for a job: a spelling that was not looked for is not absent';

# --- other layouts

$c = web('ssqp', layout => 'ssqp');
$c->found('Crash.pdb', 'ssqp');
is_deeply [asked()], ["/ssqp/crash.pdb/\L$id\E/crash.pdb"], 'with one request';
$c->absent('never.pdb', qr/^404$/, 'a miss');
is scalar(() = asked()), 3, 'costs three';

$c = web('unified', layout => 'unified');
$c->found('crash.pdb', 'unified');
is_deeply [asked()], ['/unified/32/49d99d0c4049318610f4e4fb0b69361/debuginfo'],
    'with one request';

$c = web('upper', casing => 'upper');
$c->found('Crash.pdb', 'upper case');
is_deeply [asked()], ["/upper/CRASH.PDB/$id/CRASH.PDB"], 'with one request';
$c = web('ssqp', casing => 'lower');
$c->found('Crash.pdb', 'lower case');
is_deeply [asked()], ["/ssqp/crash.pdb/\L$id\E/crash.pdb"], 'with one request';

$c = web('flat', layout => 'flat');
$c->found('Crash.Pdb', 'flat');
is_deeply [asked()], ['/flat/Crash.Pdb'], 'with one request';
$c->found('packed.pdb', 'flat and packed');
$r = $c->ask('wrong.pdb');
is $r->{status}, 404, 'flat: the PDB of another build is an absence';
like join("\n", map { $_->[2] } @{ $r->{places} }), qr/wrong GUID/,
    'recognised by its identity';

$c = web('sym', casing => 'lower', forms => ['plain']);
$c->absent('never.pdb', qr/^404$/, 'a miss where all is plain and lower case');
is_deeply [grep { !/index2/ } asked()],
    ["/sym/never.pdb/\L$id\E/never.pdb"], 'costs one request';

# --- Content-Encoding that nobody asked for

$c = web('gz', layout => 'symstore');
$r = $c->found('gz.pdb', 'Content-Encoding: gzip in spite of identity');
ok $c->published($r) eq $crash, 'is undone';

# --- directories

$c = dir('sym', layout => 'symstore');
$c->found('cRASH.pDB', 'directory: symstore, without case');
$c = dir('tiers', layout => 'symstore');
$c->found('crash.pdb', 'directory: two tiers by index2.txt');
$r = $c->absent('never.pdb', qr/no such file/, 'directory: a miss');
is scalar @{ $r->{places} }, 3, 'only two tiers are looked in';
like $r->{places}[0][0], qr{/tiers/ne/never\.pdb/}, 'as "why" tells';
rename $t->path('tiers/index2.txt'), $t->path('tiers/Index2.TXT') or die;
$c = dir('tiers', layout => 'symstore');
$c->found('crash.pdb', 'directory: two tiers by Index2.TXT');
unlink $t->path('tiers/Index2.TXT') or die;
$c->absent('crash2.pdb', qr/no such file/, 'directory: without index2.txt');
# anything but "there is none" leaves it open: both numbers of tiers are
# looked at, and what is in neither of them is no absence
$t->write_file("tiers/one.pdb/$id/one.pdb", $crash);
mkdir $t->path('locked') or die;
$t->write_file('locked/index2.txt', '');
chmod 0, $t->path('locked') or die;
for (['index2.txt', qr/symbolic links/, 'a loop'],
     ['nowhere', qr/leads nowhere/, 'a link that leads nowhere'],
     ['../locked/index2.txt', qr/Permission denied/, 'one we may not see'])
{
    my ($to, $why, $what) = @$_;
    if ($> == 0 && $to =~ /locked/) {
        diag 'as root: a folder that may not be searched is not tried';
        next;
    }
    symlink $to, $t->path('tiers/index2.txt') or die;
    $c = dir('tiers', layout => 'symstore');
    $c->found('one.pdb', "index2.txt is $what: one tier is looked in");
    $c->found('crash.pdb', 'and two are');
    $r = $c->ask('never.pdb');
    is $r->{status}, 503, 'a miss is no absence';
    my @failed = grep { $_->[1] eq 'failed' } @{ $r->{places} };
    is scalar @failed, 1, 'for one reason';
    like $failed[0][0], qr{/tiers/index2\.txt$}, 'which "why" shows';
    like $failed[0][2], $why, 'and explains';
    is scalar @{ $r->{places} }, 7, 'beside all that is not there';
    unlink $t->path('tiers/index2.txt') or die;
}
chmod 0700, $t->path('locked') or die;

$c = dir('tiers', layout => 'two_tier');
$c->found('crash.pdb', 'directory: two tiers by configuration');
$c = dir('ssqp', layout => 'ssqp');
$c->found('crash.pdb', 'directory: ssqp');
$c = dir('unified', layout => 'unified');
$r = $c->found('crash.pdb', 'directory: unified');
is scalar @{ $r->{places} }, 1, 'one place';

# --- a flat directory, whose files may have any name

$c = dir('flat', layout => 'flat');
$r = $c->found('other.pdb', 'directory: flat, by identity alone');
like $r->{places}[0][2], qr/^Crash\.Pdb: \d+ bytes$/, '"why" tells the file';
$c->found('crash.pdb', 'and by a second name');
my %wrong = (pdb => $t->read_file($t->data('pdb/omap_stretched.pdb')));
my $other = '0123456789ABCDEF0123456789ABCDEF1';
$r = $c->ask('crash.pdb', $other);
is "$r->{status} $r->{places}[0][2]", '404 none of 2 PDBs',
    'directory: flat, no such identity';
rename $t->path('flat/Crash.Pdb'), $t->path('flat/moved.pdb') or die;
$c->found('third.pdb', 'a file under another name');
$t->write_file('flat/moved.pdb', $wrong{pdb});
$r = $c->ask('fourth.pdb');
is "$r->{status} $r->{places}[0][2]", '404 none of 2 PDBs',
    'a file with another content';
$t->write_file('flat/new.pdb', $crash);
$c->found('fifth.pdb', 'a new file');
unlink $t->path('flat/new.pdb') or die;
$r = $c->ask('sixth.pdb');
is $r->{status}, 404, 'a file that is gone';
$t->write_file('flat/rubbish.pdb', 'rubbish');
$r = $c->ask('seventh.pdb');
is "$r->{status} $r->{places}[0][2]", '404 none of 3 PDBs', 'rubbish beside';
$t->write_file('flat/half.pdb', substr $crash, 0, 9000);
for my $when ('being copied', 'known as such') {
    $r = $c->ask('HALF.pdb', $other);
    is "$r->{status} $r->{places}[0][1]", '503 unusable',
        "the asked name, $when: cannot be told";
    like $r->{places}[0][2], qr/^half\.pdb: is truncated/, 'and why';
    $t->wait_until('one more second', sub { time > 3 + (stat
        $t->path('flat/half.pdb'))[10] });
}
is $c->ask('seventh.pdb', $other)->{status}, 404,
    'another name has nothing to do with it';
unlink $t->path('flat/half.pdb') or die;
symlink $t->path('flat/loop.pdb'), $t->path('flat/loop.pdb') or die;
$r = $c->ask('eighth.pdb');
is "$r->{status} @{ $r->{places}[0] }[1, 2]",
    '503 failed loop.pdb: Too many levels of symbolic links',
    'a file that cannot be looked at';
unlink $t->path('flat/loop.pdb') or die;
symlink '/nowhere/crash.pdb', $t->path('flat/link.pdb') or die;
$r = $c->ask('ninth.pdb');
is "$r->{status} @{ $r->{places}[0] }[1, 2]",
    '503 failed link.pdb: a symbolic link leads nowhere',
    'a file on a share that is not there';

# public symbols only are good enough, and nothing is written over them
my $dbi = index $crash, "\xff\xff\xff\xff\x77\x09\x31\x01";
my $publics = $crash;
substr $publics, $dbi + 56, 1, chr(ord(substr $crash, $dbi + 56, 1) | 2);
$t->write_file('publics/any.pdb', $publics);
$t->write_file('publics/crash.pd_', Test::Cabinet::cabinet($wrong{pdb}));
$c = dir('publics', layout => 'flat');
$r = $c->found('crash.pdb', 'public symbols only, another build packed');
ok $c->published($r) eq $publics, 'the PDB is the one with the identity';
$t->write_file('publics/full.pdb', $crash);
$r = $c->found('best.pdb', 'all symbols beside public ones');
ok $c->published($r) eq $crash, 'are better';

# of several with one identity the one of the asked name, whatever its case
my %same = map { ("same$_.pdb" => "$crash$_") } 1 .. 4;
$t->write_file("twins/$_", $same{$_}) for sort keys %same;
my %public = map { ("public$_.pdb" => "$publics$_") } 1 .. 4;
$t->write_file("twins/$_", $public{$_}) for sort keys %public;
$c = dir('twins', layout => 'flat');
for my $name (sort keys %same) {
    $r = $c->found($name =~ s/same/Same/r, "directory: one of twins, $name");
    ok $c->published($r) eq $same{$name}, 'the one of this name';
}
$r = $c->found('public3.pdb', 'one with public symbols only');
like $c->published($r), qr/\A\Q$crash\E\d\z/,
    'gives way to one with all symbols';
unlink map { $t->path("twins/$_") } keys %same;
$c = dir('twins', layout => 'flat');
for my $name (sort keys %public) {
    $r = $c->found($name, 'where all have public symbols only');
    ok $c->published($r) eq $public{$name}, 'the name counts, too';
}

# more files than one child opens
$t->write_file(sprintf('many/%03d.pdb', $_), $wrong{pdb}) for 1 .. 600;
$t->write_file('many/zzz.pdb', $crash);
$c = dir('many', layout => 'flat');
my @held = map { $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/at-once$_.pdb/$id?version=9.0.0&wait=60") } 1 .. 6;
is_deeply [map { $t->read_response($_)->{status} } @held], [(200) x 6],
    'six lookups at once share one index';
$c->found('crash.pdb', 'one of 601 PDBs');
$r = $c->ask('crash.pdb', $other);
is "$r->{status} $r->{places}[0][2]", '404 none of 601 PDBs', 'none of them';

$t->stop_symcached;
$t->finish;
done_testing;
