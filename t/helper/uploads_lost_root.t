#!/usr/bin/env perl

# The mount point of "uploads.root" without its disk: an empty folder, in which
# no upload is called absent.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $u = Test::Uploads->new(cache => { retry_errors_after => '1s' });
my $t = $u->t;
my $id = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $build = 'ab' x 20;
sub ask {
    my ($name, $of, $kind) = @_;
    my $r = $t->helper('GET', '/v1/' . ($kind // 'debuginfo') . "/default/$name/"
        . ($of // $id) . '?version=1.0.0&wait=60');
    return "$r->{status}" . ($r->{raw} =~ /^Retry-After:/mi ? ' again' : '');
}
sub move { rename $t->path($_[0]), $t->path($_[1]) or die "$_[0]: $!" }

like ask('new.pdb'), qr/^404$/, 'a new root without uploads: absent';

for my $how ('of a running symcached', 'after a reload', 'after a restart') {
    my $name = $how =~ s/.* //r . '.pdb'; # one that no cache has
    is $u->put("$name/$id/$name", $pdb)->{status}, 201, 'an upload';
    move('uploads', 'away');
    mkdir $t->path('uploads') or die $!;
    $t->reload_symcached($u->config) if $how =~ /reload/;
    if ($how =~ /restart/) {
        $t->stop_symcached;
        $t->start_symcached($u->config);
    }
    is ask($name), '503 again', "$how: not absent, and to be asked again";
    is ask('_', "buildid-$build"), '503 again', '... nor one that has no index';
    rename $t->path('uploads'), $t->path('empty') or die $!;
    is ask($name), '503 again', '... as without the folder';
    system 'rm', '-rf', $t->path('empty');
    mkdir $t->path('empty') or die $!;
    move('away', 'uploads');
    ok $t->wait_until('it is found', sub { ask($name) eq '200' }),
        '... and found when the disk is back';
}
sub checked { my $config = $t->path('symcached.json');
    return qx('@{[$t->program('symcached')]}' -t -c '$config' 2>&1) }
unlike checked(), qr/\.present/, 'symcached -t';
move('uploads', 'away');
like checked(), qr{warning: uploads\.root: "\S+/uploads/\.present" was there and is missing},
    '... warns while the disk is lost';
move('away', 'uploads');
like $t->helper_log, qr{uploads/\.present" was there and is missing, .*\(2: No such}, 'which the log says';
like ask('other.pdb', ('1' x 33)), qr/^404$/, 'and what was never there is absent';

# what a stop could not reach on the lost disk is removed by the next start
$t->stop_symcached;
$t->start_symcached($u->config);
$t->finish;
done_testing;
