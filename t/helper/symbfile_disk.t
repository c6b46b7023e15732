#!/usr/bin/env perl

# An uploaded symbfile that the disk no longer gives back: who asks for it as
# from Elastic's symbol store gets an error, and symcached lives.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use MIME::Base64 qw(encode_base64url);
use Test::Mount;
use Test::Fuse;
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $u = Test::Uploads->new(inputs => ['symbfile']);
my $t = $u->t;
my $hex = '0123456789abcdef0123456789abcdef';
my $id = encode_base64url(pack 'H*', $hex);
my ($ab, $cd) = $id =~ /^(..)(..)/;
my $ranges = $t->read_file($t->data('convert/symbfile/ranges.symbfile'));
my $folder = "uploads/_/hash-$hex";

$t->write_file("$folder/.made", '');
my $fuse = Test::Fuse->new($t->path($folder), { '_.symbfile' => $ranges x 2000 }, hang => $t->path('hang'));
sub ask { $u->request('GET', "/symbfiles/$ab/$cd/$id/ranges", '') }
is ask()->{status}, 200, 'a symbfile' or diag $t->helper_log;

$fuse->hang('read');
my $asks = fork() // die "fork: $!";
POSIX::_exit(ask()->{status} == 503 ? 0 : 1) if $asks == 0;
$t->wait_until('the file is read', sub { $fuse->waiting });
$fuse->stop;
waitpid $asks, 0;
is $?, 0, 'one that cannot be read: 503';
unlink glob $t->path("$folder/.made");
$t->write_file("$folder/_.symbfile", $ranges);
is ask()->{status}, 200, 'symcached lives and works';
$t->finish;
done_testing;
