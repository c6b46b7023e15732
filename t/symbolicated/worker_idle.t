#!/usr/bin/env perl

# A worker that has had no body for 60 seconds ends, and then the next body of
# its scope is read by another one.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Clock;
use Test::Form;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $clock = Test::Clock->new($t) or plan skip_all => Test::Clock::why();
my $dump = $t->read_file($t->data('minidump/ring/libring.dmp'));
my $ready = 2;   # workers that have read nothing

mkdir $t->path('store');
$t->start_symbolicated({
    stores => { default => { root => $t->path('store') } },
    symbolication => { threads => 1 },
}, env => $clock->env(all => 1));

sub ask {
    my ($scope) = @_;
    return $t->post($t->symbolicated_socket, "/minidump?scope=$scope",
        form(['sources', '[]'], ['upload_file_minidump', $dump, 'x']),
        "Content-Type: $form_type")->{status};
}
sub workers { return $t->symbolicated_metric('symbolicated_workers') // -1 }
sub started { return scalar $t->symbolicated_metric('symbolicated_workers_started_total') }
sub wait_for {
    my ($n, $why) = @_;
    $t->wait_until("$n workers: $why", sub { workers() == $n });
    pass $why;
}

is ask('a'), 200, 'a body';
wait_for($ready + 1, 'its worker waits for another one');
is ask('a'), 200, 'another one';
is started(), $ready + 1, '... is read by the same worker';

# A look at them is due every five seconds.  Two requests let it be made.
$clock->set(50);
workers() for 1 .. 2;
is ask('b'), 200, 'a body of another scope, after 50 s';
wait_for($ready + 2, 'the first worker is there');

$clock->set(65);
wait_for($ready + 1, '... and has ended after 65 s, unlike the one of 15 s');
my $before = started();
is ask('a'), 200, 'a body of its scope then';
wait_for($ready + 2, '... has another worker');
is started(), $before + 1, '... and one more was started, to be ready';

$clock->set(200);
wait_for($ready, 'those that have read nothing stay');

$t->finish;
done_testing;
