#!/usr/bin/env perl

# /readyz: no for a disk that is full or hangs, and never a wait.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Fuse;
use Test::Mount;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $id = $Test::Symcache::key{'crash.pdb'};

sub becomes {
    my ($name, $status, $why) = @_;
    my $r;
    $t->wait_until($name, sub {
        $r = $t->helper('GET', '/readyz');
        $r->{status} == $status
            && (Test::Symcache::header($r, 'X-Symcache-Reason') // '') eq $why;
    });
    is +JSON::PP->new->decode($r->{body})->{$why ? 'error' : 'status'},
        $why || 'ok', $name;
    is $t->helper('GET', '/healthz')->{status}, 200, "$name: it runs";
}

Test::Mount::small($t->path('store'), '8m');
my $config = $t->default_config('http://127.0.0.1:1');
$config->{cache} = { min_free => '1m' };
$t->start_symcached($config);
becomes('room', 200, '');

# --- what can be cleaned away is, although nobody asks for a key

my @old = map {
    my $file = $t->write_file("store/old$_.pdb/$id/old$_.pdb-v9.0.0.symcache",
                              'x' x (1.5 * 1024 * 1024));
    utime 0, time - 3600 * $_, $file;
    $file;
} 1 .. 5;
$t->wait_until('cleaning', sub { grep { !-e } @old });
becomes('room was made', 200, '');
unlink @old;

# --- what cannot be cleaned away

my $filler = $t->write_file('store/filler', 'x' x (7.25 * 1024 * 1024));
becomes('no room in a store', 503, 'no-room');
my $shown = sub {
    my $ctl = $t->program('symcachectl');
    return scalar `$ctl status --socket unix:$dir/h.sock`;
};
like $shown->(), qr{^  not ready: no-room\n    \Q$dir\E/store: \S.*$}m,
    '... which symcachectl status shows';
my ($free, $unit) = split / /, qx(stat -f -c '%a %S' $dir/store);
like scalar qx($Test::Symcache::build/symcached --clean -c $dir/symcached.json),
    qr{^\Q$dir\E/store: the disk has \Q${\ sprintf '%.1f', $free * $unit / 1024}\E KiB free, cache\.min_free keeps 1\.0 MiB$}m,
    '... and symcached --clean, which cannot help';
my @lost = map { $t->path($_) } 'downloads', 'unmounted';
rename $lost[0], $lost[1] or die;
symlink "$lost[1]/none", $lost[0] or die;
becomes('another disk is lost', 503, 'no-disk');
like $shown->(), qr{^  not ready: no-disk\n    \Q$dir\E/store: No space left on device, \d+ bytes free, cache\.min_free keeps 1048576\n    \Q$dir\E/downloads: No such file or directory\n}m,
    '... and symcachectl status has the reason of each';
unlink $lost[0] or die;
rename $lost[1], $lost[0] or die;
unlink $filler;
becomes('room again', 200, '');
unlike $shown->(), qr/ready/, '... and symcachectl status does not show it any more';

# --- uploads, until a reload

sub disks { join ' ', map { $_->{kind} } @{ $t->helper_json('/v1/status')->{disks} } }
mkdir $t->path($_) or die for 'up', 'up/.spool';
$config->{uploads} = { root => $t->path('up'), listen => 'unix:' . $t->path('u.sock') };
$t->reload_symcached($config);
ok $t->wait_until('it is looked at', sub { disks() eq 'store downloads uploads' }),
    'the disk of uploads' or diag disks();
for (['up', 'gone', 'no-disk', 'their folder is lost, and that of nginx'], ['gone', 'up', '', 'back']) {
    my ($from, $to, $why, $name) = @$_;
    rename $t->path($from), $t->path($to) or die;
    ok $t->wait_until($name, sub {
        $t->helper_json('/v1/status')->{uploads_not_ready} eq $why }), "uploads: $name";
    like $shown->(), qr{^  uploads are refused: no-disk\n    \Q$dir\E/up/\.spool: No such file or directory$}m,
        '... which symcachectl status shows, without the bytes of another disk' if $why;
}
like $t->helper_log, qr{uploads are refused \(no-disk\): "\Q$dir\E/up/\.spool" takes no files \(2: No such},
    'which the log says';
delete $config->{uploads};
$t->reload_symcached($config);
ok $t->wait_until('it is gone', sub { disks() eq 'store downloads' }),
    '... is not of interest without them' or diag disks();

# --- no such folder: it will be made

$config->{downloads} = $t->path('missing/downloads');
$t->reload_symcached($config);
rename $t->path('missing'), $t->path('moved') or die;
becomes('a folder that has gone', 200, '');

# --- a link to where nothing is mounted: it will not

mkdir $t->path('elsewhere') or die;
symlink $t->path('elsewhere'), $t->path('link') or die;
$config->{downloads} = $t->path('link');
$config->{sources}{upstream} = { type => 'filesystem', path => $t->dir };
$t->reload_symcached($config);
rename $t->path('elsewhere'), $t->path('gone') or die;
becomes('a link that leads nowhere', 503, 'no-disk');
is $t->helper('GET', "/v1/symcache/default/none.pdb/$id?version=9.0.0&wait=20")->{status}, 503,
    'a job fails there';
like $t->helper_log, qr/none\.pdb.* the lookup cannot begin in "\Q$dir\E\/link": No such file/, 'and says where';
rename $t->path('gone'), $t->path('elsewhere') or die;
becomes('it leads somewhere', 200, '');
$config->{downloads} = $t->path('missing/downloads');
$t->reload_symcached($config);
rename $t->path('missing'), $t->path('moved2') or die;

# --- a disk that hangs

my $fuse = Test::Fuse->new($t->path('missing'), { 'downloads/x' => '' },
                           hang => $t->path('hang'), why => \my $why);
SKIP: {
    skip $why, 4 if !$fuse;
    $fuse->hang;
    becomes('a disk that hangs', 503, 'no-disk');
    $fuse->release;
    becomes('it answers, and is full', 503, 'no-room');
    $fuse->stop;
}
rmdir $t->path('missing') or die "rmdir: $!";
rename $t->path('moved'), $t->path('missing') or die;
is $t->stop_symcached, 0, 'stopped';

Test::Mount::gone($t->path('store'));
$t->finish;
done_testing;
