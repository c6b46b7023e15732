#!/usr/bin/perl

# A PDB of the right identity that the converter cannot read: a hole of zeroes
# from a copy that was interrupted.  Another source may have a good copy.

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
my $good = $t->read_file($t->data('pdb/crash.pdb'));
my $id = $Test::SourceCase::id;
my $bad = $good;
substr $bad, 100_000, 200_000, "\0" x 200_000;
# of the last page something is there
my $cut = substr $good, 0, -100;

my $convert = $t->program('pdb2symcache');
system($convert, '-pdb', $t->data('pdb/crash.pdb'), '-o',
       $t->path('right')) == 0 or die 'pdb2symcache';
my $right = $t->read_file('right');

# What the sources have, by the words of a name: first-second.pdb
my $server = Test::ScriptedServer->new(log => $t->path('up.log'), script => sub {
    my ($c, $req) = @_;
    my ($i) = $req->{path} =~ m{^/(\d)/};
    my $word = (split /-/, (split '/', $req->{path})[3] =~ s/\d*[.]pdb$//r)[$i];
    $word = 'good' if -e $t->path('mended') && $word eq 'fails';
    $req->{path} =~ /[.]pdb$/ && $word eq 'good' ? $c->reply(200, {}, $good)
        : $req->{path} =~ /[.]pdb$/ && $word eq 'bad' ? $c->reply(200, {}, $bad)
        : $req->{path} =~ /[.]pdb$/ && $word eq 'cut' ? $c->reply(200, {}, $cut)
        : $word eq 'fails' ? $c->reply(403, {}, '')
        : $word eq 'page' ? $c->reply(200, {}, '<html>')
        : $c->reply(404, {}, '');
});
my $c = Test::SourceCase->new($t, command => ['pdb2symcache', '-pdb', '{pdb}'],
    sources => { map { ("up$_" => { type => 'http', layout => 'two_tier',
        casing => 'lower', forms => ['plain'], url => $server->url . "/$_",
        internal => JSON::PP::true() }) } 0 .. 2 });

# "source outcome" of each place, and the details.
sub ask {
    my ($name) = @_;
    my $r = $c->ask("$name.pdb");
    my $why = $t->helper_json("/v1/why/default/$name.pdb/$id");
    my @attempts = @{ $why->{attempts} };
    return ($r, join(', ', map { "$_->{source} $_->{outcome}" } @attempts),
            map { $_->{detail} } @attempts);
}

my $damage = qr/exit code 8.*is damaged: /s;

my ($r, $places, @details) = ask('bad-good-none');
is $r->{status}, 200, 'a damaged copy at the first source, a good one behind';
ok $c->published($r) eq $right, 'the SymCache is that of the good one';
is $places, 'up0 unusable, up1 found', '"why" shows both';
like $details[0], $damage, 'and what is wrong with the first';
is scalar(() = $t->helper_log =~ /\[warn\].* the original of "up0" is malformed, /g),
    1, 'the log warns of it once';
like $t->helper_log,
    qr/bad-good-none\S* .*is malformed, "up1" is asked: $damage/,
    'with the key, the reason and what comes next';
$t->wait_until('the copy that is kept is the good one', sub {
    ($t->read_file("downloads/default/bad-good-none.pdb/$id/bad-good-none.pdb")
        // '') eq $good
});

($r, $places, @details) = ask('cut-good-none');
is $r->{status}, 200, 'a copy that was cut in its last page, a good one behind';
ok $c->published($r) eq $right, 'the SymCache is that of the good one';
is $places, 'up0 unusable, up1 found', '"why" shows both';
like $details[0], qr/is truncated: it has \d+ bytes and its header says/, 'and what is wrong with the first';

($r, $places) = ask('bad-bad-good');
is $r->{status}, 200, 'two damaged copies before a good one';
is $places, 'up0 unusable, up1 unusable, up2 found', '"why" shows all';

($r, $places, @details) = ask('bad-none-bad');
is "$r->{status} $r->{reason}", '404 malformed',
    'all that have it have a damaged copy: malformed';
is $places, 'up0 unusable, up1 not found, up2 unusable', '"why" shows all';
like $_, $damage, 'with the reason' for @details[0, 2];
like JSON::PP::decode_json($r->{body})->{detail}, $damage,
    'and so does the answer';
ok !-e $t->path("downloads/default/bad-none-bad.pdb/$id/bad-none-bad.pdb"),
    'none of them is kept';

for (['bad-fails-none', 'up0 unusable, up1 failed, up2 not found'],
     ['fails-bad-none', 'up0 failed, up1 unusable, up2 not found'],
     ['none-bad-page', 'up0 not found, up1 unusable, up2 unusable']) {
    my ($name, $expected) = @$_;
    ($r, $places, @details) = ask($name);
    is "$r->{status} $r->{reason}", '503 error',
        "$name: who could not tell may have a good copy: nothing final";
    ok $r->{retry}, 'to be asked again';
    is $places, $expected, '"why" shows all';
    my $why = JSON::PP::decode_json($r->{body})->{detail};
    like $why, qr/up\d: \S+ unusable \($damage/, 'the answer says what is damaged';
    like $why, qr/up\d: \S+ (?:failed \(403|unusable \(an HTML)/,
        'and who could not tell';
    ok !$t->absence("store/$name.pdb/$id/$name.pdb-v9.0.0.absent"),
        'nothing is on disk';
}
$t->write_file('mended', '');
$t->wait_until('the good copy is found', sub {
    $c->ask("$_.pdb")->{status} == 200
}) for 'bad-fails-none', 'fails-bad-none';
pass 'and when it can tell, its copy is used';

# what lies among the downloads is a copy like others
$t->write_file("downloads/default/good-none-none.pdb/$id/good-none-none.pdb",
               $bad);
($r, $places) = ask('good-none-none');
is $r->{status}, 200, 'a damaged download of before';
is $places, 'downloads unusable, up0 found', 'is one copy of several';

# a source that is new may have a good copy
my $config = JSON::PP::decode_json($t->read_file('symcached.json'));
my $sources = $config->{stores}{default}{sources};
pop @$sources;
$t->reload_symcached($config);
($r) = ask('bad-none-good');
is "$r->{status} $r->{reason}", '404 malformed',
    'malformed, without the source that has a good copy';
push @$sources, 'up2';
$t->reload_symcached($config);
is $c->ask('bad-none-good.pdb')->{status}, 200,
    'which ends when that is among the sources';

$t->stop_symcached;
$server->stop;
$t->finish;
done_testing;
