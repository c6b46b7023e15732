#!/usr/bin/env perl

# Where an absent file was looked for is remembered with its absence: a client
# that wants to know it in each request costs symcached no question, and is told
# what is new when the absence ends.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Copy qw(copy);
use JSON::PP;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;
my $id = '3249d99d-0c40-4931-8610-f4e4fb0b6936-1';
my $key = $Test::Symcache::key{'crash.pdb'};

# All that symbolicated asks symcached passes through this.
my $questions = Test::ScriptedServer->new(unix => $t->path('counted.sock'),
    script => sub {
        my ($c, $req) = @_;
        my $body = $c->read_body($req);
        my $r = $req->{method} eq 'POST'
            ? $t->post($t->helper_socket, $req->{uri}, $body)
            : $t->http($t->helper_socket, 'GET', $req->{uri});
        $c->reply($r->{status}, { Connection => 'close' }, $r->{body});
        $c->close;
    });
sub asked {
    my @lines = map { "$_->{method} $_->{uri}" } $questions->requests;
    return scalar grep { m{^GET /v1/why/|^POST /v1/lookups} } @lines;
}

# Sources of two stores, of which the first never has a file.
my $folder = $t->path('symbols');
mkdir $_ or die "$_: $!" for $folder, $t->path('nothing');
my %source = (casing => 'default', forms => ['plain'], type => 'filesystem');
my $config = {
    stores => {
        first => { root => $t->path('first'), sources => ['nothing'] },
        default => { root => $t->path('store'), sources => ['local', 'other'] },
    },
    sources => { local => { %source, path => $folder },
                 other => { %source, path => $t->path('other') },
                 nothing => { %source, path => $t->path('nothing') } },
    symbolication => { stores => ['first', 'default'], threads => 1 },
};
for my $store (values %{ $config->{stores} }) {
    $store->{transcoders} = [{ version => '9.0.0', command =>
        [$t->program('pdb2symcache'), '-pdb', '{pdb}'] }];
}
mkdir $t->path('other') or die $!;
$t->start_symcached($config);
$t->start_symbolicated({ %$config, listen => 'unix:' . $t->path('counted.sock') });

sub request {
    my ($files, @sources) = @_;
    my $address = 0x400000;
    my @modules = map { { type => 'pe', debug_file => $_, debug_id => $id,
        image_addr => sprintf '0x%x', $address += 0x10000 } } @$files;
    return $json->encode({ platform => 'native', modules => \@modules,
        stacktraces => [{ frames => [map { { instruction_addr =>
            sprintf '0x%x', hex($_->{image_addr}) + 0x2913 } } @modules] }],
        options => { dif_candidates => JSON::PP::true },
        @sources ? (sources => [map { { id => $_ } } @sources]) : () });
}

# The modules of an answer: [state, "source status" of each candidate].
sub modules {
    my $r = $t->post($t->symbolicated_socket, '/symbolicate', request(@_),
                     'Content-Type: application/json');
    die "$r->{status} $r->{body}" if $r->{status} != 200;
    return [map { my $m = $_; [$m->{debug_status},
        map { "$_->{source} $_->{download}{status}" }
        grep { $_->{location} =~ /^file:/ } @{ $m->{candidates} // [] }] }
        @{ $json->decode($r->{body})->{modules} }];
}

# Asks until nothing is asked of symcached any more, as the folders that are
# made meanwhile are looked at; returns the last answer.
sub settled {
    my @request = @_;
    my $modules;
    $t->wait_until('no questions', sub {
        my $before = asked();
        $modules = modules(@request);
        return asked() == $before;
    });
    return $modules;
}

my @nowhere = ('missing', 'local notfound', 'nothing notfound', 'other notfound');
is_deeply modules(['gone.pdb']), [\@nowhere], 'a file that nobody has';
cmp_ok asked(), '>=', 3, 'symcached is asked for it, and where it looked';
my $before = asked();
is_deeply modules(['gone.pdb']), [\@nowhere], 'the same again';
is asked(), $before, 'without a question';

# the places of a client's sources only

is_deeply settled(['gone.pdb'], 'other'), [['missing', 'other notfound']],
    'a client that wants one source is told of that';
is_deeply settled(['gone.pdb']), [\@nowhere], 'others of all';

# what symcached forgets is looked for again, and told anew

mkdir "$folder/$_" or die $! for 'gone.pdb', "gone.pdb/$key";
copy($t->data('pdb/crash.pdb'), "$folder/gone.pdb/$key/gone.pdb") or die $!;
is_deeply settled(['gone.pdb']), [\@nowhere], 'what has come is not seen';
is $t->helper('POST', '/v1/forget/default/gone.pdb', 'Content-Length: 0')->{status},
    200, 'it is forgotten';
is_deeply modules(['gone.pdb']), [['found', 'local ok', 'nothing notfound']],
    'and found at once, with the places of both stores';

is_deeply settled(['late.pdb']), [\@nowhere], 'another one';
mkdir "$folder/$_" or die $! for 'late.pdb', "late.pdb/$key";
$t->write_file("symbols/late.pdb/$key/late.pdb", 'no PDB at all' x 100);
is $t->helper('POST', '/v1/forget/default/late.pdb', 'Content-Length: 0')->{status},
    200, 'is forgotten';
is_deeply [grep { /^local/ } @{ modules(['late.pdb'])->[0] }], ['local malformed'],
    'what its source has now is told at once';

# many in a request, as many as a busy machine can be asked for while an absence
# holds, which is ten seconds

my @many = map { "many$_.pdb" } 1 .. 25;
is_deeply settled(\@many), [map { \@nowhere } @many], 'many without a question';

$t->finish;
$questions->stop;
done_testing;
