#!/usr/bin/env perl

# Ages that cannot be true: the clock jumps, the machine was off, all files
# are old at once.  For a clock that jumps all that it is compared with is set
# back: the times of the files, and what the store has of the last pass.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $day = 86400;
my $stamp = $t->path('store/.clock');

# A file that was used so many days ago.
sub used {
    my ($name, $days) = @_;
    my $file = $t->write_file($name, 'x' x 10);
    utime time - $days * $day, time - $days * $day, $file or die;
    return $file;
}

my @files = map { used(@$_) } (
    (map { ["store/a$_.pdb/$id/a$_.pdb-v9.0.0.symcache", 8 + $_] } 0 .. 5),
    ["store/a1.pdb/$id/a1.pdb-v9.0.0.symcache.gz", 9],
    ["store/b.pdb/$id/b.pdb-v9.0.0.absent", 8],
    ["downloads/default/a1.pdb/$id/a1.pdb", 8],
);
sub left { return scalar grep { -e } @files }

sub passes { $t->metric('symcached_clean_passes_total{result="ok"}') // 0 }

# The clock goes on, or back, by so many days for all that is on disk, between
# two passes.
sub jump {
    my ($days) = @_;
    if ($t->{helper}) {
        my $before = passes();
        $t->wait_until('the end of a pass', sub { passes() > $before });
        kill 'STOP', $t->{helper};
    }
    my $seconds = $days * $day;
    my ($line, @gaps) = split /\n/, $t->read_file('store/.clock');
    $line =~ s/^(\d+)/$1 - $seconds/e;
    s/(\d+)/$1 - $seconds/ge for @gaps;
    $t->write_file('store/.note', join '', map { "$_\n" } $line, @gaps);
    rename $t->path('store/.note'), $stamp or die;
    for (grep { -e } @files) {
        my $time = (stat)[9] - $seconds;
        utime $time, $time, $_;
    }
    kill 'CONT', $t->{helper} if $t->{helper};
}

sub another_pass {
    my $before = passes();
    $t->wait_until('a whole pass', sub { passes() > $before + 1 });
}

sub said {
    my ($what) = @_;
    return scalar(() = $t->helper_log =~ /clean: store "default": .*$what/g);
}

my $config = {
    stores => { default => { root => $t->path('store') } },
    cache => { clean_every => '1s' },
};

# all are older than max_unused_for, and nobody knows why

$t->start_symcached($config);
another_pass();
is left(), 9, 'all files old at once are no reason to remove them';
is said('no file was used for 691\d\d\d s'), 1, 'that is said, once';

my $new = used("store/n.pdb/$id/n.pdb-v9.0.0.symcache", 0);
my $young = used("store/y.pdb/$id/y.pdb-v9.0.0.absent", 0);
push @files, $new, $young;

# the clock jumps

jump(8);
another_pass();
is left(), 11, 'a clock that jumps by 8 days makes nothing older';
is said('the clock went on by 69[01]\d\d\d s more'), 1, 'which is said, once';

# what was unused before goes when the rest of its time was lived

utime time - 25 * $day, time - 25 * $day, $new;
$t->wait_until('its end', sub { !-e $new });
is left(), 10, 'ages that are true still count';

# the machine is off

is $t->stop_symcached, 0, 'stopped';
jump(30);
$t->start_symcached;
another_pass();
is left(), 10, 'a month in which symcached did not run makes nothing older';
is said('the clock went on by 259\d\d\d\d s more'), 1, 'which is said, once';

# the clock is set back: what was used meanwhile was so in the future

jump(-3);
another_pass();
is left(), 10, 'a clock that goes back removes nothing';
is said('the clock went back by 25\d\d\d\d s'), 1, 'which is said, once';
utime time + 300 * $day, time + 300 * $day, $files[0];
another_pass();
cmp_ok abs(time - (stat $files[0])[9]), '<', 600,
    'a use in the future counts as one of now';
is said('1 file was used in the future'), 1, 'which is said, once';

# notes that are none are no harm

$t->write_file('store/.clock', "garbage\n");
another_pass();
is left(), 10, 'a note that cannot be read';
like $t->read_file('store/.clock'), qr/^\d+ [0-9a-f]{16} \d+$/m, 'is made anew';

# a note that cannot be written: nothing but the disk is to blame, since no key
# has such a name

like $t->helper('GET', "/v1/symcache/default/.clock.new/$id?version=9.0.0")
    ->{body}, qr/"bad-key"/, 'the name of the note is not a key';
ok !-e "$stamp.new", 'and gets no folder';
mkdir "$stamp.new" or die "$stamp.new: $!";
$t->wait_until('an error', sub { $t->helper_log =~
    m{\[error\].* clean: "\Q$stamp\E" cannot be written: until.*directory} });
pass 'the log says that the clock cannot be written';
rmdir "$stamp.new" or die "$stamp.new: $!";

# the command goes by the clock: who runs it can look at it

is $t->stop_symcached, 0, 'stopped';
jump(30);
my $file = $t->path('symcached.json');
my %env = $t->sanitizer_env(0);
my $env = join ' ', map { "$_='$env{$_}'" } sort keys %env;
my $text = qx(env $env $Test::Symcache::build/symcached --clean --json -c $file);
is $?, 0, 'the command';
is left(), 0, 'removes what is old by the clock';

$t->finish;
done_testing;
