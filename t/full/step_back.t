#!/usr/bin/env perl

# A step back.  The later release is this one under other words: its sources,
# with other names for all kinds and ids but those of the core, built here.  It
# fills a store; this release serves of that what it knows, and "clean
# --unknown" removes the rest and nothing else, beside a running symcached.
# Then the later one opens the store again, and one that this release filled.

use strict;
use warnings;

use Digest::SHA qw(sha256 sha256_hex);
use File::Find ();
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Ctl;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = Test::Ctl->new($t);
my $top = $Test::Symcache::top;
my $ours = $Test::Symcache::build;
my $later = $t->path('release/build');

# --- the later release

my %words = (cficache => 'walkcache', jscache => 'scriptcache',
    sourcecache => 'textcache', proguardcache => 'namecache');
my %ends = ('.sourcebundle' => '.texts', '.mapping' => '.shrunk');
my $id_word = 'blob';    # for "hash", which is as long

mkdir $t->path('release');
system('cp', '-r', (map { "$top/$_" } 'src', 'tools', 'Makefile', 'config.make'),
    $t->path('release')) == 0 or die 'cp';
sub rename_in {
    my ($file, $from, $to) = @_;
    my $text = $t->read_file($file);
    ($text =~ s/\Q$from\E/$to/g) or die "$file: no $from";
    $t->write_file($file, $text);
}
rename_in('release/src/proto/kind.c', qq("$_"), qq("$words{$_}")) for keys %words;
rename_in('release/src/proto/kind.c', qq("$_"), qq("$ends{$_}")) for keys %ends;
rename_in('release/src/proto/key.c', 'PREFIX       "hash-', "PREFIX       \"$id_word-");
my @programs = qw(symcached symcached-sandboxed pdb2symcache canary.pdb
    canary-portable.pdb);
my $log = $t->path('release/log');
is system("make -C '" . $t->path('release') . "' -j2 B=build PACKAGES=no HOT=-O2 "
    . join(' ', map { "build/$_" } @programs) . " >'$log' 2>&1"), 0,
    'a later release is built' or BAIL_OUT($t->read_file('release/log'));

# --- what sources have

my $crash = $Test::Symcache::key{'crash.pdb'};
my $portable = '198A378EEC0A47DA8FB2289C2BDAD68FFFFFFFFF';
my $ring = 'C84A1FD148EE6E3D69B18B9DE238D7230';
my $ring_id = 'd11f4ac8ee483d6e69b18b9de238d72346637b94';
my $uuid = '5C1D3F3A000040008000000000000001';
my $mapping = "org.example.Main -> a.a:\n    1:3:void run():10:12 -> a\n";
my %files = (
    "/crash.pdb/$crash/crash.pdb" => $t->read_file($t->data('pdb/crash.pdb')),
    "/plain.pdb/$portable/plain.pdb" => $t->read_file($t->data('ppdb/plain.pdb')),
    '/d1/' . substr($ring_id, 2) . '/sourcebundle' =>
        $t->read_file($t->data('sourcebundle/ring/ring.src.zip')),
    '/5c/' . lc(substr $uuid, 2) . '/proguard' => $mapping,
    map { ("/$_" => $t->read_file($t->data("javascript/shop/$_"))) }
        'terser.js', 'terser.js.map',
);
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my $body = $files{ $req->{path} };
    $c->reply(-e $t->path('off') ? 500 : defined $body ? 200 : 404, {},
        $body // '');
});
my $config = $t->default_config($web->url, cache => { retry_errors_after => '1s',
    max_unused_for => '1d' });
$config->{sources}{upstream}{forms} = ['plain'];
$config->{sources}{unified} = { %{ $config->{sources}{upstream} },
    layout => 'unified' };
delete $config->{sources}{unified}{forms};
$config->{sources}{web} = { type => 'web', internal => JSON::PP::true() };
$config->{stores}{default}{sources} = ['upstream', 'unified', 'web'];
$config->{stores}{default}{transcoders} =
    [{ version => '9.0.0', command => ['pdb2symcache', '{pdb}'] }];

sub start {
    ($Test::Symcache::build) = @_;
    $t->start_symcached($config);
}
sub ask {
    my ($kind, $key, $version, @hints) = @_;
    my $r = $t->helper('GET', "/v1/$kind/default/$key?"
        . join '&', "version=$version", 'wait=60', @hints);
    return $r->{status};
}

# Fills the store by what a release calls things, and returns the answers.
my @core = (['symcache', "crash.pdb/$crash", '9.0.0'],
    ['ppdbcache', "plain.pdb/$portable", '1.0.0'],
    ['debuginfo', "crash.pdb/$crash", '1.0.0'],
    ['breakpad', "crash.pdb/$crash", '1.0.0']);
sub script {
    my ($hash, $name) = @_;
    my $url = $web->url . "/$name";
    my $key = "127.0.0.1/$hash-" . sha256_hex($url);
    return ($key, ask('source', $key, '1.0.0', "url=$url"));
}
sub others {
    my ($word, $hash) = @_;
    my ($script, $first) = script($hash, 'terser.js');
    my ($map, $second) = script($hash, 'terser.js.map');
    my $hex = sha256_hex(join '', map { sha256($files{"/$_"}) }
        'terser.js', 'terser.js.map');
    return ($first, $second,
        ask($word->('cficache'), "crash.pdb/$crash", '1.0.0'),
        ask($word->('cficache'), "none.pdb/$crash", '1.0.0'),    # an absence
        ask($word->('sourcecache'), "ring/$ring", '1.0.0',
            "code_id=buildid-$ring_id"),
        ask($word->('proguardcache'), "mapping.txt/${uuid}0", '1.0.0'),
        ask($word->('jscache'), substr($hex, 0, 2) . "/$hash-$hex", '2.0.0',
            "script=$script", "map=$map"));
}
sub core { join ' ', map { ask(@$_) } @core }

# Path and content of all files but what symcached keeps for itself.
sub tree {
    my %found;
    File::Find::find({ no_chdir => 1, wanted => sub {
        -f $_ && !m{/\.\w+(?:/|$)} or return;
        $found{ s/^\Q@{[$t->dir]}\E\///r } = sha256_hex($t->read_file($_));
    } }, grep { -d } map { $t->path($_) } 'store', 'downloads');
    return \%found;
}

# --- the later release fills a store

start($later);
is core(), '200 200 200 200', 'the later release makes files of the core';
is join(' ', others(sub { $words{ $_[0] } }, $id_word)),
    '200 200 200 404 200 200 200', 'and files of its own kinds and ids';
$t->stop_symcached;
my $filled = tree();
my $own = join '|', values %words, map { quotemeta } values %ends;
my @own = grep { m{(?:$own)|/$id_word-} } sort keys %$filled;
my %kinds = map { m{($own)} ? ($1 => 1) : () } @own;
is_deeply [sort keys %kinds], [sort values %words, values %ends],
    'each has left files';
ok scalar(grep { m{/$id_word-} } @own), 'ids, too';

# What people keep beside them is theirs.
my %theirs = ("store/crash.pdb/$crash/notes.txt" => 'x',
    'store/README' => 'x', 'store/mine/a-1.0.txt' => 'x',
    "downloads/default/crash.pdb/$crash/Notes" => 'x');
$t->write_file($_, $theirs{$_}) for keys %theirs;
$filled = tree();

# --- this one serves what it knows, and removes the rest

$t->write_file('off', '');
my $asked = $web->requests;
start($ours);
is core(), '200 200 200 200', 'after the step back the core is served';
is scalar($web->requests), $asked, 'from the disk';
my @config = ('-c', $t->path('symcached.json'));
my ($r) = $ctl->json($ctl->run('clean', '--unknown', '--dry-run', '--json',
    @config));
is $r->{removed}{unknown}{files}, scalar @own, 'a dry run counts those of the '
    . 'later release';
is_deeply tree(), $filled, 'and changes nothing';
like $ctl->run('clean', '--unknown', @config)->{out},
    qr/^removed \(not known to this release\): @{[scalar @own]} files, /m,
    'symcachectl clean --unknown';
delete @$filled{@own};
is_deeply tree(), $filled, 'they are gone, and nothing else';
is core(), '200 200 200 200', 'the core is served as before';
($r) = $ctl->json($ctl->run('clean', '--unknown', '--json', @config));
is $r->{removed}{unknown}{files}, 0, 'nothing is left for another time';
unlink $t->path('off');
is join(' ', others(sub { $_[0] }, 'hash')), '200 200 200 404 200 200 200',
    'this release makes what it calls otherwise';
$t->stop_symcached;

# --- the later one comes back, to a store of the earlier one

$filled = tree();
start($later);
is core(), '200 200 200 200', 'the later release serves the core of an earlier '
    . 'store';
is join(' ', others(sub { $words{ $_[0] } }, $id_word)),
    '200 200 200 404 200 200 200', 'and makes again what was removed';
$t->stop_symcached;
my $both = tree();
is_deeply { map { $_ => $both->{$_} } keys %$filled }, $filled,
    'what the earlier one made has stayed';

$Test::Symcache::build = $ours;
$t->finish;
done_testing;
