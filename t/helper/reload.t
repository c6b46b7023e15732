#!/usr/bin/env perl

# SIGHUP and SIGUSR1: what changes, what stays, and that nobody notices.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};

sub lookup {
    my ($store, $version, $more) = @_;
    return $t->helper('GET', "/v1/symcache/$store/crash.pdb/$id"
        . "?version=$version" . ($more // '&wait=60'));
}

sub reload {
    my ($config, $result) = @_;
    my $name = "symcached_reloads_total{result=\"$result\"}";
    my $before = $t->metric($name);
    $t->write_helper_config($config) if defined $config;
    kill 'HUP', $t->{helper};
    return if eval {
        $t->wait_until("reload: $result", sub { $t->metric($name) > $before });
    };
    # where each thread waits
    diag map { "$_: " . ($t->read_file($_) // $!) . "\n" }
        glob "/proc/$t->{helper}/task/*/{wchan,syscall,stack}";
    die $@, $t->read_file('own.log');
}

my $converter = $t->program('pdb2symcache');
my @gated = ("$FindBin::Bin/../bin/gated", $t->path('gate'), $t->path('runs'));
my $config = {
    stores => { default => { root => $t->path('store'), sources => ['local'],
        transcoders => [{ version => '9.0.0',
            command => [@gated, $converter, '-pdb', '{pdb}'] }] } },
    sources => { local => { type => 'filesystem', path => $t->path('sym') } },
};

$t->symbol_store('sym');
$t->allow_log(qr/the old configuration stays/);
my $log = $t->path('own.log');
my $pid = $t->start_symcached($config, args => ['-l', $log]);
is $t->read_file('store/.transcoders'), "9.0.0\n",
    'the module can read what is made';

# a job runs over a reload

my $held = $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=60");
$t->wait_until('the transcoder runs', sub { $t->runs == 1 });

my %second = (root => $t->path('second'), sources => ['local'],
    transcoders => [{ version => '4.1.0', command => ['sh', '-c',
        'cp "$1" "$_NT_SYMCACHE_PATH/crash.pdb-v4.1.0.symcache"', 'sh',
        '{pdb}'] }]);
$config->{stores}{second} = \%second;
reload($config, 'ok');
is $t->read_file('second/.transcoders'), "4.1.0\n", 'a new store is ready';
is lookup('second', '4.2.0')->{status}, 200, 'and works';
is $t->metric('symcached_waiters'), 1, 'the held request is still held';
$t->write_file('gate', '');
is $t->read_response($held)->{status}, 200, 'and answered';

# a store that goes while its job runs

unlink $t->path('gate');
Test::Symcache::remove_tree($t->path('store/crash.pdb'));
$held = $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=60");
$t->wait_until('the transcoder runs', sub { $t->runs == 2 });
my $default = delete $config->{stores}{default};
reload($config, 'ok');
is lookup('default', '9.0.0')->{status}, 503, 'a store that is gone';
$t->write_file('gate', '');
is $t->read_response($held)->{status}, 200, 'its last job still ends well';
$config->{stores}{default} = $default;

# a source that goes while a job looks there: no file, but no final answer

my $up = Test::ScriptedServer->new(log => $t->path('requests'), script => sub {
    my ($c) = @_;
    $t->wait_until('the reload', sub { -e $t->path('reloaded') });
    $c->reply(404, {}, '');
});
$config->{sources}{far} = { type => 'http', url => $up->url,
                            internal => JSON::PP::true() };
$default->{sources} = ['far', 'local'];
reload($config, 'ok');
my $none = '/v1/symcache/default/none.pdb/' . '0' x 32 . '1?version=9.0.0';
$held = $t->open_http($t->helper_socket, 'GET', "$none&wait=60");
$t->wait_until('it is asked', sub { $t->read_file('requests') });
delete $config->{sources}{far};
$default->{sources} = ['local'];
reload($config, 'ok');
$t->write_file('reloaded', '');
my $r = $t->read_response($held);
is $r->{status}, 503, 'the sources of a former configuration say nothing';
like $r->{body}, qr/the configuration was reloaded meanwhile; far: .*not found/,
    'and the reason says so';
like $t->read_file($log), qr/outcome=error.*, the configuration was reloaded meanwhile; looked in far: /,
    'as the log does';
like $t->helper('GET', '/v1/misses')->{body},
    qr/the configuration was reloaded meanwhile; far: /, 'and the misses';

# what failed is asked again at once, as the operator may have mended it

my $far = $config->{sources}{far} = { type => 'http', url => $up->url };
$default->{sources} = ['far'];
reload($config, 'ok');
my $reserved = $none =~ s/none/reserved/r . '&wait=60';
like $t->helper('GET', $reserved)->{body}, qr/address is reserved/, 'a failure';
my $remembered = 'symcached_remembered_total{reason="error"}';
my $before = $t->metric($remembered);
is $t->helper('GET', $reserved)->{status}, 503, 'is remembered';
is $t->metric($remembered), $before + 1, 'so that nothing is asked';
$far->{internal} = JSON::PP::true();
reload($config, 'ok');
is $t->helper('GET', $reserved)->{status}, 404, 'a reload ends that';
delete $config->{sources}{far};
$default->{sources} = ['local'];

# another transcoder

$default->{transcoders}[0]{version} = '9.1.0';
reload($config, 'ok');
is $t->read_file('store/.transcoders'), "9.1.0\n", 'another version is made';

# a transcoder that fails, and is another one when it is done

unlink $t->path('gate');
my $good = $default->{transcoders}[0]{command};
$default->{transcoders}[0]{command} = [@gated, 'false', '{pdb}'];
reload($config, 'ok');
$held = $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/crash.pdb/$id?version=9.1.0&wait=60");
$t->wait_until('a hit has started an upgrade', sub { $t->runs == 3 });
Test::Symcache::remove_tree($t->path('store/crash.pdb'));
is $t->read_response($held)->{status}, 200, 'a hit';
$held = $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/crash.pdb/$id?version=9.1.0&wait=60");
$t->wait_until('a waiter', sub { $t->metric('symcached_waiters') == 1 });
$default->{transcoders}[0]{command} = $good;
reload($config, 'ok');
$t->write_file('gate', '');
is $t->read_response($held)->{status}, 503,
    'what the former one could not read is not malformed';
$t->wait_until('the new one reads it', sub {
    $t->helper('POST', '/v1/forget/default/crash.pdb');
    lookup('default', '9.1.0')->{status} == 200
});

# bad files

sub stale { $t->helper_json('/v1/status')->{config_stale} }

is stale(), '', 'the configuration in use is the file\'s';
is $t->metric('symcached_config_stale'), 0, 'which a gauge says, too';
$config->{lisen} = 'x';
reload($config, 'failed');
like stale(), qr/symcached\.json:\d+: lisen: unknown key$/,
    'then it is not, and why';
is $t->metric('symcached_config_stale'), 1, 'which the gauge says';
is lookup('second', '4.2.0')->{status}, 200, 'a bad file changes nothing';
like $t->read_file($log), qr/\[emerg\].*symcached\.json:\d+: lisen: unknown key; the old configuration stays/,
    'and is logged with its place';
delete $config->{lisen};

my $root = $second{root};
$second{root} = $t->write_file('file', 'x');
reload($config, 'failed');
is lookup('second', '4.2.0')->{status}, 200,
    'a root that is no folder changes nothing';
like $t->read_file($log), qr/\[emerg\].*"\Q$second{root}\E" cannot be used/,
    'and is logged';
$second{root} = $root;

reload('', 'failed');
is lookup('second', '4.2.0')->{status}, 200, 'an empty file changes nothing';
reload($config, 'ok');
is stale(), '', 'a good one is used';
is $t->metric('symcached_config_stale'), 0, 'which the gauge says';

# a bad one that was read, and is corrected without a signal

my $text = $t->read_file('symcached.json');
$config->{lisen} = 'x';
reload($config, 'failed');
like stale(), qr/lisen: unknown key$/, 'a bad one';
my $blanks = '';
$t->wait_until('the next start does not find that error', sub {
    $t->write_file('symcached.json', $text . ($blanks .= ' '));
    stale() =~ / was changed and waits for a reload$/
});
$t->write_file('symcached.json', $text);
$t->wait_until('the same as before', sub { stale() eq '' });
is $t->metric('symcached_config_stale'), 0, 'which the gauge says';
delete $config->{lisen};

# a file that is changed, without a signal

$t->write_file('symcached.json', "$text\n");
$t->wait_until('it is noticed', sub { stale() });
is stale(), $t->path('symcached.json') . ' was changed and waits for a reload',
    'a good one waits';
is $t->metric('symcached_config_stale'), 1, 'which the gauge says';
$t->write_file('symcached.json', "[");
$t->wait_until('a wrong one', sub { stale() =~ /:1: not valid JSON/ });
unlink $t->path('symcached.json');
$t->wait_until('none', sub { stale() =~ /: No such file or directory$/ });
$t->write_file('symcached.json', $text);
$t->wait_until('the same as before', sub { stale() eq '' });
is $t->metric('symcached_config_stale'), 0, 'which the gauge says';

# a file that does not come to its end

rename $t->path('symcached.json'), $t->path('whole.json');
POSIX::mkfifo($t->path('symcached.json'), 0600) or die;
my $good_ones = $t->metric('symcached_reloads_total{result="ok"}');
kill 'HUP', $t->{helper};
open my $fifo, '>', $t->path('symcached.json'); # now it is read
is $t->helper('GET', '/healthz')->{status}, 200,
    'while it is read all goes on';
print $fifo JSON::PP->new->encode({ %$config,
    listen => 'unix:' . $t->helper_socket,
    downloads => $t->path('downloads') });
close $fifo;
$t->wait_until('the reload', sub {
    $t->metric('symcached_reloads_total{result="ok"}') > $good_ones });
pass 'then it takes effect';
unlink $t->path('symcached.json');

# the listener

my $inode = (stat $t->helper_socket)[1];
reload({ %$config, listen => 'unix:' . $t->path('other.sock') }, 'ok');
is((stat $t->helper_socket)[1], $inode, 'the listener stays');
ok !-e $t->path('other.sock'), 'until the next start';
like $t->read_file($log), qr/"listen" takes effect at the next start/,
    'which is logged';

reload({ %$config, symbolication => { symbolicator => { tenants => {
    root => $t->path('tenants'), hosts => ['sym.corp:80'] } } } }, 'ok');
like $t->read_file($log),
    qr/"symbolication.symbolicator.tenants" takes effect at the next start/,
    'and so are tenants';

# the log

rename $log, "$log.1";
kill 'USR1', $pid;
$t->wait_until('a new log', sub { -e $log });
$t->helper('POST', '/v1/forget/default/crash.pdb');
like $t->read_file($log), qr/forget store=default/, 'USR1 reopens the log';

is $t->stop_symcached, 0, 'the same process, to the end';
$t->finish;
done_testing;
