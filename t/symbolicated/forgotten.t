#!/usr/bin/env perl

# symbolicated remembers for a while that a module is absent.  A file that is
# uploaded, or a key that is forgotten, counts with the next request all the
# same, whether the key has a folder or not.

use strict;
use warnings;

use File::Path qw(remove_tree);
use FindBin;
use JSON::PP ();
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $u = Test::Uploads->new;
my $t = $u->t;
my $dir = $t->dir;
my $id = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
# a module that is absent is remembered by each thread
$t->start_symbolicated({ %{ $u->config }, symbolication => { threads => 1 } });

sub found {
    my $r = $t->post($t->symbolicated_socket, '/symbolicate/v5',
        JSON::PP::encode_json({ jobs => [{ memoryMap => [['crash.pdb', $id]],
                                           stacks => [[[0, 0x1010]]] }] }),
        'Content-Type: application/json');
    return JSON::PP::decode_json($r->{body})->{results}[0]{found_modules}{"crash.pdb/$id"}
        ? 1 : 0;
}
sub put { $u->put("crash.pdb/$id/crash.pdb", $pdb)->{status} }
sub forget { $u->admin('POST', "/v1/forget/default/crash.pdb/$id", 'Content-Length: 0')->{status} }
sub asked { $t->metric('symcached_lookups_total{answer="absent"}') }

is found(), 0, 'absent';
my $asked = asked();
is found(), 0, '... and remembered';
is asked(), $asked, '... without a question';
is put(), 201, 'an upload';
is found(), 1, '... is found at once';

for my $folder (0, 1) {
    $u->clear;
    remove_tree("$dir/store/crash.pdb", "$dir/downloads/default/crash.pdb");
    $t->write_file("store/crash.pdb/$id/crash.pdb-v1.0.0.laterkind", 'x') if $folder;
    my $name = $folder ? 'with a folder' : 'without a folder';
    is forget(), 200, "$name: forgotten";
    is_deeply [found(), found()], [0, 0], '... and absent';
    $t->write_file("empty/crash.pdb/$id/crash.pdb", $pdb);
    is forget(), 200, '... it comes to a source, and is forgotten';
    is found(), 1, '... then it is found at once';
    unlink "$dir/empty/crash.pdb/$id/crash.pdb" or die $!;
}

$t->finish;
done_testing;
