#!/usr/bin/env perl

# The disk of "uploads.root" hangs while files there are removed, other machines
# tell of theirs, the configuration is read again, or symcached is stopped.

use strict;
use warnings;

use FindBin;
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
my $held;

sub path { "/v1/symcache/default/$_[0]/" . ($_[1] // $id) . '?version=9.0.0&wait=60' . ($_[2] // '') }
sub ask { $t->helper('GET', path(@_))->{status} }

is $u->put($place{$_}, $pdb)->{status}, 201, "an upload: $_" for sort keys %place;
is ask('crash.pdb'), 200, 'a SymCache';

# --- what other machines tell of, and removals; a kernel may still know whether
#     the mark of the folder is there

sub begin_admin { $t->open_http($t->path('a.sock'), 'POST', @_, 'Content-Length: 0') }

my @known = qw(lstat getxattr);
for my $but ([], [@known]) {
    my $how = @$but ? 'with the mark' : 'without an answer';
    $held = $disk->hang_for("another machine, $how", sub {
        begin_admin("/v1/changed/$place{'crash.pdb'}?from=1&id=$id") }, @$but);
    if (@$but) {
        $disk->release_all;
        is $t->read_response($held)->{status}, 200, '... is answered when the disk answers';
    } else {
        is $t->read_response($held)->{status}, 503, '... is to tell it again';
        $disk->release_all;
    }
    $held = $disk->hang_for("a removal, $how", sub { begin_admin("/v1/discard/$place{'new.pdb'}") }, @$but);
    is $t->read_response($held)->{status}, 503, '... is to be sent again';
    $disk->release_all;
    is ask('crash.pdb'), 200, '... and what was told of is served';
}
is $u->admin('POST', "/v1/discard/$place{'new.pdb'}", 'Content-Length: 0')->{status}, 200,
    'it answers again: a removal';

# --- a reload, and a disk whose reports of files come from memory

my $reloads = 'symcached_reloads_total{result="ok"}';
for my $but ([], [@known], [@known, qw(stat access mkdir)]) {
    my $before = $t->metric($reloads);
    $disk->hang_for('a reload', sub { kill 'HUP', $t->{helper} }, @$but);
    $t->wait_until('it is done', sub { $t->metric($reloads) > $before });
    $disk->release_all;
}
is $u->put($place{'new.pdb'}, $pdb)->{status}, 201, 'it answers again: an upload';

# --- a stop, also of an upload whose files are about to get their names

$disk->hang_for('a lookup', sub { $t->open_http($t->helper_socket, 'GET', path('last.pdb', '4' x 33)) });
is $t->stop_symcached, 0, 'symcached is stopped while the disk hangs';
$disk->release;
$t->start_symcached($config, env => $disk->env);
$disk->hang('=', 'link');
$held = $u->begin('PUT', "/symbols/late.pdb/$id/late.pdb", $pdb, @Test::Uploads::token);
$t->wait_until('a file is stored', sub { $disk->waiting });
$disk->hang;
is $t->stop_symcached, 0, '... and while it stores a file';
is $u->read($held, 'PUT')->{status}, 503, '... which is to be sent again';
is_deeply [$disk->waiting('loop')], [], '... and has asked the disk for nothing';
$disk->release;
$t->start_symcached($config);
$t->wait_until('what was left there is removed',
    sub { !grep { -e } glob $t->path('uploads/.tmp/*') });

$t->stop_symcached;
$t->stop_nginx;
$t->finish;
done_testing;
