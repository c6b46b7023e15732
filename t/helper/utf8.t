#!/usr/bin/env perl

# Whatever bytes upstreams and transcoders send: JSON, the status page and the
# log are UTF-8, and no control character gets into them.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $yen = "\xc2\xa5";

$t->symbol_store('sym');
$t->write_file("sym/ptr.pdb/$id/file.ptr", "MSG: \xff\xc3 \xc2\x9b $yen");
$t->start_symcached({
    stores => { default => {
        root => $t->path('store'),
        transcoders => [{ version => '9.0.0', command => ['/bin/sh', '-c',
            'printf "\377\303 \302\233 \033[31m \302\245" >&2; exit 1',
            '{pdb}'] }],
        sources => ['local'],
    } },
    sources => { local => { type => 'filesystem', path => $t->path('sym') } },
});

my %pages;
for my $pdb ('crash.pdb', 'ptr.pdb') {
    my $key = "default/$pdb/$id";
    my $r = $t->helper('GET', "/v1/symcache/$key?version=9.0.0&wait=60");
    is $r->{status}, 404, "$pdb: an answer";
    $pages{"the answer for $pdb"} = $r->{body};
    $pages{"why $pdb"} = $t->helper('GET', "/v1/why/$key")->{body};
}
$pages{misses} = $t->helper('GET', '/v1/misses')->{body};
my %told = %pages;
$pages{'a store that is none'} = $t->helper('GET',
    "/v1/symcache/%ff%fe/crash.pdb/$id?version=9.0.0")->{body};
ok eval { JSON::PP::decode_json($pages{$_}) }, "$_ is JSON"
    for sort keys %pages;

$told{status} = $t->helper('GET', '/v1/status')->{body};
$told{log} = $t->helper_log;
for (sort keys %told) {
    ok utf8::decode(my $text = $told{$_}), "$_ is UTF-8";
    unlike $text, qr/[\x00-\x08\x0b-\x1f\x7f-\x9f]/, "$_: no control";
    like $told{$_}, qr/$yen/, "$_: characters stay";
}

$t->finish;
done_testing;
