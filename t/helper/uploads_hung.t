#!/usr/bin/env perl

# The disk of "uploads.root" hangs: what does not need it goes on, and what does
# is refused, until it answers again.

use strict;
use warnings;

use FindBin;
use IO::Select;
use lib "$FindBin::Bin/../lib";
use Test::HangingDisk;
use Test::More;
use Test::Symcache;
use Test::Uploads;

my ($u, $disk, $config) = Test::HangingDisk->uploads;
my $t = $u->t;
my $id = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my %place = map { $_ => "$_/$id/$_" } qw(crash.pdb new.pdb);

sub path { "/v1/symcache/default/$_[0]/" . ($_[1] // $id) . '?version=9.0.0&wait=60' . ($_[2] // '') }
sub ask { $t->helper('GET', path(@_))->{status} }
my $absent = '1' x 33;

is $u->put($place{'crash.pdb'}, $pdb)->{status}, 201, 'it works: an upload';
is ask('crash.pdb'), 200, '... its SymCache';
is ask('absent.pdb', $absent), 404, '... and an absent key';

my $held = $disk->hang_for('a lookup', sub {
    $t->open_http($t->helper_socket, 'GET', path('other.pdb', '2' x 33)) });
is ask('crash.pdb'), 200, 'what is made is served';
is ask('absent.pdb', $absent), 404, 'what was absent stays absent';
is $t->read_response($held, 'GET')->{status}, 503, 'what was asked for is not absent';
like $t->helper_log, qr{the disk of "\S+/uploads" does not answer}, 'the log says why';
is ask("more$_.pdb", '3' x 33), 503, 'another one' for 1 .. 3;
is scalar(grep m{/\.index}, $disk->waiting), 1, 'one thread waits for the index';
my $r = $u->put($place{'new.pdb'}, $pdb);
is $r->{status}, 503, 'an upload';
like $r->{raw}, qr/^Retry-After:/mi, '... may be sent again';
is $u->request('HEAD', "/symbols/$place{'new.pdb'}", '', @Test::Uploads::token)->{status},
    503, 'a look before an upload';
is $u->request('POST', '/api/0/projects/acme/web/files/difs/assemble/',
    '{"' . 'a' x 40 . '": {"name": "new.pdb", "chunks": ["' . 'b' x 40 . '"]}}',
    'Authorization: Bearer 0123456789abcdef0123456789abcdef')->{status},
    503, q(files of Sentry's clients);
is_deeply [$disk->waiting('loop')], [], 'the loop has asked the disk for nothing';
$disk->release_all;
is $u->put($place{'new.pdb'}, $pdb)->{status}, 201, 'it answers again: an upload';
$t->wait_until('what is absent', sub { ask('other.pdb', '2' x 33) == 404 });

# --- only the index of uploads hangs: a debug file is found without it

my $build = 'ab' x 20;
$t->write_file('x.c', 'int main(void) { return 0; }');
system('cd ' . $t->dir . " && cc -g -Wl,--build-id=0x$build -o x.debug x.c") == 0 or die;
my $elf = $t->read_file('x.debug');
is $u->put("_.debug/elf-buildid-sym-$build/_.debug", $elf)->{status}, 201, 'a debug file';
$t->stop_symcached;
my $index = Test::HangingDisk->new($t, $t->path('uploads/.index'));
$config->{stores}{default}{transcoders}[0]{inputs} = ['elf'];
$t->start_symcached($config, env => $index->env);
my @found = ('found.so', 'AB' x 16 . '0', "&code_id=buildid-$build");
$index->hang;
$held = $t->open_http($t->helper_socket, 'GET', path(@found));
$t->wait_until('the name is to be noted',
    sub { $index->waiting('loop') || IO::Select->new($held)->can_read(0) });
is_deeply [$index->waiting('loop')], [], '... the loop does not do that';
$index->release_all;
is $t->read_response($held, 'GET')->{status}, 503, '... it cannot be noted';
$t->wait_until('... until it can be', sub { ask(@found) == 200 });

$t->stop_symcached;

$t->stop_nginx;
$t->finish;
done_testing;
