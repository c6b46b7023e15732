#!/usr/bin/env perl

# symbolicated tells symcached that it is there, and what it has done.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX ();
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $key = $Test::Symcache::key{'crash.pdb'};

$t->fill_store('store', $t->data('pdb/crash.pdb'));
my $config = { stores => { default => { root => $t->path('store') } } };
$t->start_symcached($config);
my $began = time;
$t->start_symbolicated;

sub shown { $t->helper_json('/v1/status')->{symbolicated} }

$t->wait_until('it reports', sub { @{ shown() } });
my ($one, $more) = @{ shown() };
is $more, undef, 'one, once';
is $one->{name}, (POSIX::uname())[1], 'the name of its machine';
is $one->{listen}, 'unix:' . $t->symbolicated_socket, 'its address';
is $one->{version}, $t->helper_json('/version')->{version}, 'its version';
cmp_ok $one->{started}, '>=', $began, 'started';
cmp_ok $one->{started}, '<=', time, 'before now';
is $one->{frames}, 0, 'nothing done yet';

$t->post($t->symbolicated_socket, '/symbolicate/v5', qq({"memoryMap":
    [["crash.pdb", "$key"]], "stacks": [[[0, 1], [0, 2]], [[0, 3]]]}))
    for 1, 2;
kill 'HUP', $t->{symbolicated};
$t->wait_until('a reload reports at once', sub { shown()->[0]{frames} == 6 });
is shown()->[0]{requests}, 2, 'requests';

# its configuration is not the file's

$t->allow_log(qr/the old configuration stays/);
ok !$one->{config_stale}, 'its configuration is the file\'s';
is $t->symbolicated_metric('symbolicated_config_stale'), 0, 'as it says itself';
my $text = $t->read_file('symcached.json');
$t->write_file('symcached.json', '{');
kill 'HUP', $t->{symbolicated};
$t->wait_until('a reload that failed', sub { shown()->[0]{config_stale} });
is $t->symbolicated_metric('symbolicated_config_stale'), 1, 'as it says itself';
$t->write_file('symcached.json', $text);
kill 'HUP', $t->{symbolicated};
$t->wait_until('a good one', sub { !shown()->[0]{config_stale} });
$t->write_file('symcached.json', "$text\n");
$t->wait_until('a change without one', sub { shown()->[0]{config_stale} });
$t->write_file('symcached.json', $text);
$t->wait_until('it is as it was', sub { !shown()->[0]{config_stale} });

# symcached begins anew, and has it back when it reports

is $t->stop_symcached, 0, 'symcached stops';
kill 'HUP', $t->{symbolicated};
$t->start_symcached;
kill 'HUP', $t->{symbolicated};
$t->wait_until('it reports again', sub { @{ shown() } == 1 });
is $t->stop_symbolicated, 0, 'and ends';

$t->finish;
done_testing;
