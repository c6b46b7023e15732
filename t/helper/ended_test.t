#!/usr/bin/env perl

# A test that a signal ends leaves no daemon behind, for which prove would wait;
# a child that it has forked ends alone.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $script = $t->write_file('script.t', <<'END');
# also below nohup
BEGIN { @SIG{qw(HUP INT PIPE TERM)} = ('DEFAULT') x 4 }
use Test::ScriptedServer;
use Test::Symcache;
my $t = Test::Symcache->new;
my $server = Test::ScriptedServer->new(log => $t->path('server'), script => sub { });
$t->start_symcached($t->default_config($server->url));
my $child = fork() // die "fork: $!";
if (!$child) {
    sleep 1 while 1;
}
$| = 1;
print "$child $t->{helper} $server->{pid} ", $t->dir, "\n";
waitpid $child, 0;
print "$?\n";
sleep 1 while 1;
END

for my $signal (qw(HUP INT PIPE TERM)) {
    my $pid = open my $out, '-|', $^X, "-I$FindBin::Bin/../lib", $script
        or die "perl: $!";
    my ($child, $helper, $server, $dir) = split ' ', <$out> // '';
    kill $signal, $child;
    cmp_ok <$out> & 127, '>', 0, "SIG$signal ends a child";
    ok !Test::Symcache::gone($helper) && -d $dir, '... which leaves the daemon to the test';
    kill $signal, $pid;
    close $out;
    is $? >> 8, 1, '... and the test itself';
    $t->wait_until('its processes are gone', sub {
        return Test::Symcache::gone($helper) && Test::Symcache::gone($server);
    });
    ok !-e $dir, '... with its daemon and its folder';
}

local $SIG{HUP} = 'IGNORE';
is `$^X -I$FindBin::Bin/../lib -MTest::Symcache -e 'print \$SIG{HUP}'`, 'IGNORE',
    'a signal that was ignored before is so still';

$t->finish;
done_testing;
