#!/usr/bin/env perl

# What the zone knows is believed for as long as symcache_valid says, and the
# helper notified again in time, whatever the time of day does meanwhile.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Clock;
use Test::ModuleCase;
use Test::More;
use Time::HiRes ();

my $t = Test::ModuleCase->new;
my $clock = Test::Clock->new($t) or plan skip_all => Test::Clock::why();
$t->start_nginx(<<'EON', http => 'symcache_zone z:1m;', env => $clock->env);
    symcache_zone z;
    symcache_pass unix:%%DIR%%/h.sock;
    location /brief/ { symcache %%DIR%%/store; symcache_valid 1s; }
    location /long/ { symcache %%DIR%%/other; symcache_valid 1h; }
    location /disk/ {
        symcache %%DIR%%/disk; symcache_zone off; symcache_pass off;
    }
    location /use/ { symcache %%DIR%%/use; symcache_pass unix:%%DIR%%/use.sock; }
EON
my $s = $t->helper_says(sub {
    $_[0]->reply(404, { 'X-Symcache-Reason' => 'notfound',
                        'X-Symcache-Valid' => 3600 });
});

sub asked_again {
    my ($where) = @_;
    my $n = $s->requests;
    $t->get($t->uri('3.1.0', location => $where));
    return $s->requests > $n;
}

for my $hours (1, -1, 24 * 8, -24 * 8) {
    $clock->set(3600 * $hours);
    $t->wait_until("asked, $hours h off", sub { asked_again('/brief') });
    $clock->set(0);
    ok eval { $t->wait_until('', sub { asked_again('/brief') }) },
        "an absence is over in time, though the clock was set by $hours h";
}

asked_again('/long');
$clock->set(600);
ok !asked_again('/long'), 'and not before, though it was set';

# A file in use, of which the helper cannot be notified while the clock is ahead.

my $used = $t->put('3.1.0', 'used', root => 'use');
utime 1, 1, $used or die "$used: $!";
sub use_it { $t->get($t->uri('3.1.0', location => '/use')) }

$clock->set(3600);
use_it();
$t->wait_until('a failure', sub { $t->error_log =~ /use\.sock.* failed/ });
$clock->set(0);
my $notified = $t->helper_says(sub {
    $_[0]->reply(200, { 'X-Symcache-Version' => '3.1.0' });
}, unix => $t->path('use.sock'));
ok eval { $t->wait_until('', sub { use_it(); $notified->requests > 0 }, 60) },
    'the helper is notified soon, though the clock was set back';

# The clock of a file server may be behind: what changes in a folder then looks
# old at once.  Two changes in a second show if the file system tells them apart.

sub changed { (Time::HiRes::stat($t->path("disk/$_[0]")))[10] }

my ($n, @bodies) = 0;
$t->wait_until('two changes in one second', sub {
    my $pdb = 'd' . $n++ . '.pdb';
    my $key = "$pdb/${Test::ModuleCase::guid}1A";
    my @file = ('3.9.0', location => '/disk', pdb => $pdb);
    $t->put('3.1.0', 'one', root => 'disk', key => $key);
    my $first = changed($key);
    @bodies = $t->get($t->uri(@file))->{body};
    $t->put('3.2.0', 'two', root => 'disk', key => $key);
    my $second = changed($key);
    return 0 if $first == $second || int $first != int $second;
    push @bodies, $t->get($t->uri(@file))->{body};
});
is "@bodies", 'one two', 'a folder of another clock that has changed';

$t->finish;
done_testing;
