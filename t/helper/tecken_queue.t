#!/usr/bin/env perl

# Lists of files by version 2 of Tecken's uploads: those of a few clients are
# compared with what is there at a time, others wait, and of too many some are
# told to come again.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Digest::MD5 qw(md5_hex);
use IO::Select;
use JSON::PP ();
use Test::Mount;
use Test::Fuse;
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $u = Test::Uploads->new;
my $t = $u->t;
my $folder = 'libx.so/0123456789ABCDEF0123456789ABCDEF0';
my $sym = "MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 libx.so\n";
my $list = JSON::PP->new->encode({ files => [{ key => "$folder/libx.so.sym",
    size => length $sym, md5_hash => md5_hex($sym) }] });
mkdir $t->path('uploads/libx.so') or die "mkdir: $!";
my $fuse = Test::Fuse->new($t->path("uploads/$folder"), { 'libx.so.sym' => $sym },
    hang => $t->path('hang'));

sub begin { $u->begin('POST', '/upload/v2/', $list, @Test::Uploads::token) }

# What all of these are answered: their statuses, sorted, and the rest.
sub ends {
    my @answers = map { $u->read($_) } @_;
    is $_->{json}{files}[0]{action}{type}, 'skip', 'the file is found'
        for grep { $_->{status} == 201 } @answers;
    return join ' ', sort map { $_->{status} } @answers;
}

is ends(begin()), 201, 'one list';
# More lists than can wait, while the files cannot be opened.  Returns those that
# wait.
sub hang {
    $fuse->hang('open');
    my @lists = map { begin() } 1 .. 69;
    my ($first) = IO::Select->new(@lists)->can_read(20);
    ok $first, 'one of too many is answered while the others wait'
        and is $u->read($first)->{json}{error}, 'too many uploads at a time', 'and says why';
    $t->wait_until('threads look at files', sub { $fuse->waiting >= 4 });
    is scalar($fuse->waiting), 4, 'four threads look at files';
    return grep { $_ != ($first // 0) } @lists;
}

my @lists = hang();
$fuse->release;
is ends(@lists), join(' ', (201) x 68), 'all others are answered in the end';

# --- what waits at a stop

@lists = hang();
my @gone = splice @lists, -8; # still wait for their turn
close $_ for @gone;
is $t->helper('GET', '/healthz')->{status}, 200, 'some clients go';
kill 'TERM', $t->{helper};
$fuse->release;
is ends(@lists), join(' ', (201) x 60), 'all others are answered before symcached ends';
is $t->stop_symcached, 0, 'stopped';
$fuse->stop;
$t->finish;
done_testing;
