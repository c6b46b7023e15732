#!/usr/bin/perl

# A _NT_SYMBOL_PATH as a source: what it expands to, in which order, and that
# PDBs are found by it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::SourceCase::id;
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $s = Test::ScriptedServer->new(log => $t->path('requests'), script => sub {
    my ($c, $req) = @_;
    return $c->reply(200, {}, $pdb)
        if $req->{uri} eq "/sym/remote.pdb/$id/remote.pdb";
    $c->reply(404, {}, '');
});
my $url = $s->url . '/sym';

$t->write_file("cache/cached.pdb/$id/cached.pdb", $pdb);
$t->write_file("share/deep/shared.pdb/$id/shared.pdb", $pdb);
$t->write_file('flat/flat.pdb', $pdb);
$t->write_file('flat/symbols/pdb/below.pdb', $pdb);
$t->write_file('pinged/pingme.txt', '');
$t->write_file("pinged/pinged.pdb/$id/pinged.pdb", $pdb);

my %map = ('C:\\' => $t->dir, '\\\\srv\\sym' => $t->path('share'));
my $value = "cache*C:\\cache;srv*c:\\none*\\\\SRV\\sym\\deep*$url/;"
    . " C:\\flat ;c:\\pinged;srv**$url";
my $c = Test::SourceCase->new($t, order => ['path'], sources => { path => {
    type => 'sympath', value => $value, map => \%map, except => '^left',
    internal => JSON::PP::true() } });

my @sources = map { "$_->{name} $_->{type} $_->{place}" }
    @{ $t->helper_json('/v1/sources')->{sources} };
my $dir = $t->dir;
is_deeply \@sources, ["path.1 filesystem $dir/cache",
    "path.2 filesystem $dir/share/deep", "path.3 http $url",
    "path.4 filesystem $dir/flat", "path.5 filesystem $dir/flat/symbols/pdb",
    "path.6 filesystem $dir/pinged"],
    'expanded in the order of a debugger, what is not here left out'
    or diag explain \@sources;

for (['cached.pdb', "$dir/cache/"], ['shared.pdb', "$dir/share/deep/"],
     ['remote.pdb', $url], ['pinged.pdb', "$dir/flat"]) {
    my ($name, $place) = @$_;
    my $r = $c->found($name, $name);
    like Test::SourceCase::last_place($r)->[0], qr/^\Q$place\E/,
        "$name: where it is";
}
is $c->ask('left.pdb')->{status}, 404, 'its "except" is that of all';
is scalar(grep { $_->{uri} =~ /left/ } $s->requests), 0, 'and asks none';
$s->stop;
is $c->ask('none.pdb', '9' x 32 . '1')->{status}, 503,
    'one that fails: no final answer';

# --- folders that cannot be seen when the configuration is read

$t->stop_symcached;
Test::Symcache::remove_tree($t->path($_)) for qw(store downloads);
symlink 'loop', $t->path('loop') or die;
$c = Test::SourceCase->new($t, order => ['path'], sources => { path => {
    type => 'sympath', value => 'cache*C:\\loop;cache*C:\\none;C:\\later',
    map => \%map } });

sub places {
    return [map { $_->{place} =~ s{^\Q$dir\E/}{}r }
            @{ $t->helper_json('/v1/sources')->{sources} }];
}

is_deeply places(), [qw(loop later later/pdb later/symbols/pdb later)],
    'a cache that cannot be seen stays, and all that a folder may come to';
is $c->ask('store.pdb')->{status}, 503, 'nothing is final while it is away';
$t->write_file('later/pingme.txt', '');
$t->write_file("later/store.pdb/$id/store.pdb", $pdb);
unlink $t->path('loop') or die;
$t->write_file("loop/cached.pdb/$id/cached.pdb", $pdb);
$t->wait_until('a store that is back', sub {
    $c->ask('store.pdb')->{status} == 200 });
$c->found('cached.pdb', 'as is the cache');
is $c->ask('none.pdb')->{status}, 503, 'what it may have been has failed';
kill HUP => $t->{helper} or die;
$t->wait_until('a reload', sub { $c->ask('none.pdb')->{status} == 404 });
is_deeply places(), [qw(loop later)], 'until that has seen what it is';

# --- the configuration

sub check {
    my (%source) = @_;
    my $file = $t->write_file('bad.json', JSON::PP->new->encode({
        stores => { default => { root => $t->path('x'), sources => ['p'] } },
        sources => { p => { type => 'sympath', %source } } }));
    my $out = qx($Test::Symcache::build/symcached -t -c $file 2>&1);
    return ($? >> 8, $out);
}

for ([{}, '"value" is missing'],
     [{ value => 7 }, 'must be a string'],
     [{ value => 'srv*' }, 'own folder is all'],
     [{ value => 'c:\\x' }, '"c:.x": no mapping'],
     [{ value => 'srv*c:\\x*\\\\srv\\other', map => \%map }, 'no mapping'],
     [{ value => '\\\\srv\\sym\\..\\..\\etc', map => \%map }, 'in "map"'],
     [{ value => '\\\\srv\\symbols', map => \%map }, 'no mapping'],
     [{ value => 'srv*relative' }, 'is neither a share'],
     [{ value => 'cache*c:\\x' }, 'no place of it is here'],
     [{ value => 'srv*https://a', layout => 'flat' }, 'not for this type'],
     [{ value => 'srv*https://a', auth => { type => 'negotiate' } },
      'not for this type'],
     [{ value => 'srv*https://a', headers => {} }, 'not for this type'],
     [{ value => 'srv*https://a', url => 'https://b' }, 'not for this type'],
     [{ value => 'srv*https://a?sig=HUSH' }, 'has a query'],
     [{ value => 'srv*https://u:HUSH@a' }, 'has a user name']) {
    my ($source, $reason) = @$_;
    my ($code, $out) = check(%$source);
    is $code, 1, "refused: $reason";
    like $out, qr/sources\.p.*$reason/, 'and says why';
    unlike $out, qr/HUSH/, 'and no secret';
}
my ($code, $out) = check(value => 'srv*c:\\x*https://a');
is $code, 0, 'a cache that is not here is left out' or diag $out;
symlink 'ring', $t->path('ring') or die;
($code, $out) = check(value => 'C:\\ring', map => \%map);
is $code, 1, 'a folder that cannot be looked at';
like $out, qr{/ring" cannot be looked at: is it a store, or a folder of PDBs},
    'and may be either';
($code, $out) = check(value => '\\\\srv\\sym', map => \%map);
is $code, 0, 'a mapped folder itself' or diag $out;

$t->finish;
done_testing;
