#!/usr/bin/env perl

# Clients bring sources, and symcached has no store for them: it is asked for
# one once in each round of a call, whose other rounds have ended.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;

mkdir $t->path($_) or die "mkdir: $!" for qw(store tenants);
my $guests = Test::ScriptedServer->new(unix => $t->path('tenants/sock'),
    script => sub { $_[0]->reply(503, {}, '') });
$t->start_symbolicated({
    stores => { default => { root => $t->path('store') } },
    symbolication => { symbolicator => { sources => 'allow',
        tenants => { root => $t->path('tenants') } } },
});

# Three rounds: the PDB, then its image, then source code.
my $r = $t->post($t->symbolicated_socket, '/symbolicate', $json->encode({
    modules => [{ type => 'pe', image_addr => '0x1000', image_size => 4096,
        debug_file => 'a.pdb', debug_id => '00000000-0000-4000-8000-000000000001-1',
        code_file => 'a.dll', code_id => '12345678a000' }],
    stacktraces => [{ frames => [{ instruction_addr => '0x1010' }] }],
    sources => [{ type => 'http', id => 'web', url => 'http://127.0.0.1/',
        layout => { type => 'symstore' } }],
    options => { dif_candidates => JSON::PP::true },
}), 'Content-Type: application/json');
is $r->{status}, 200, 'an answer without a store' or diag $r->{body};
is $json->decode($r->{body})->{modules}[0]{debug_status}, 'fetching_failed',
    '... says so';
is_deeply [map { "$_->{method} $_->{path}" } $guests->requests],
    [('POST /v1/tenants') x 3], 'each of three rounds has asked for it once';

$t->finish;
done_testing;
