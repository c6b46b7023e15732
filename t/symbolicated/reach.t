#!/usr/bin/env perl

# A symcached that cannot be reached: stores without a source have what is on
# disk. With one, or once there was a symcached, what it would be asked for has
# failed.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(make_path);
use Test::Form;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;
my $config = {
    stores => { default => { root => $t->path('store') } },
    symbolication => { mozilla => { on_failure => '503' } },
};

# What both protocols say of a module that is on no disk.
sub said {
    my ($name) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate/v5', $json->encode({
        memoryMap => [["$name.pdb", '00112233445566778899AABBCCDDEEFF1']],
        stacks => [[[0, 1]]] }));
    my $s = $t->post($t->symbolicated_socket, '/symbolicate', $json->encode({
        stacktraces => [{ frames => [{ instruction_addr => '0x1001' }] }],
        modules => [{ type => 'pe', debug_file => "$name.pdb",
            debug_id => '00112233-4455-6677-8899-aabbccddeeff-1',
            image_addr => '0x1000' }] }), 'Content-Type: application/json');
    return "$r->{status} "
        . $json->decode($s->{body})->{modules}[0]{debug_status};
}

# Whether the daemon is well, and whether it is there.
sub beats { join ' ', map { $t->http($t->symbolicated_socket, 'GET', $_)->{status} }
    '/__heartbeat__', '/__lbheartbeat__' }

my $address = 'unix:' . $t->helper_socket;
sub lines { scalar(() = $t->symbolicated_log =~ /symcached cannot be reached at \Q$address\E \(/g) }

make_path($t->path('store'));
my $began = time;
$t->start_symbolicated($config, args => ['-v']);
my $started = $t->symbolicated_metric('symbolicated_start_time_seconds');
ok $started >= $began && $started <= time, 'it tells when it was started';
is $t->symbolicated_metric('symbolicated_requests_running'), 0, 'nothing runs';
is said('alone'), '200 missing', 'there was never a symcached';
is beats(), '200 200', '... which is as the operator wants it';
$t->wait_until('the log says so', sub { lines() == 1 });
$t->wait_until('and which module', sub {
    $t->symbolicated_log =~ m{module "alone\.pdb/00112233445566778899AABBCCDDEEFF1" is missing}
});

$t->start_symcached($config);
$t->wait_until('it is reached', sub {
    said('first');
    $t->symbolicated_log =~ /symcached is reached at \Q$address\E$/m;
});
is said('second'), '200 missing', 'it knows of no file';
is beats(), '200 200', '... and Mozilla\'s monitoring of nothing wrong';
is $t->stop_symcached, 0, 'symcached stops';
is said('third'), '503 fetching_failed', 'its socket is gone';
is beats(), '503 200', '... which a balancer need not know';
is said('fourth'), '503 fetching_failed', 'and nobody is asked for a moment';
$t->wait_until('the log has errno', sub {
    $t->symbolicated_log =~ /reached at \S+ \(2: .*reached at \S+ \(2: /s
});
is lines(), 2, 'a line for each change, not for each request';
cmp_ok $t->symbolicated_metric('symbolicated_modules_total{outcome="failed"}'),
    '>=', 4, 'and they are counted as failed';

# one that was killed before symbolicated started leaves its socket

$t->stop_symbolicated;
$t->start_symcached($config);
$t->stop_symcached('KILL');
$t->start_symbolicated;
is said('fifth'), '503 fetching_failed', 'a socket on which nobody listens';
$t->start_symcached($config);
$t->wait_until('all is well again', sub { said('sixth') eq '200 missing' });
is beats(), '200 200', '... and Mozilla\'s monitoring sees it';

# No endpoint says of a file that it is missing, if it could not be asked for.

sub told {
    my ($path, $body, $type) = @_;
    my $r = $t->post($t->symbolicated_socket, $path, $body, "Content-Type: $type");
    is $r->{status}, 200, $path or diag $r->{raw};
    return join ' ', sort { $a cmp $b } keys %{ { map { $_ => 1 } grep { !/^(?:unused|macho|pe)$/ }
        $r->{body} =~ /"(?:debug_status|unwind_status|type)":"(\w+)"/g } };
}
my $uuids = 0;
sub glob_of { scalar(() = glob $t->path("$_[0]/.tmp/run-*")) }
sub everywhere {
    my $uuid = sprintf '5c1d3f3a-0000-4000-8000-%012d', ++$uuids;
    my $apple = $t->read_file($t->data('apple/handcrafted.txt'))
        =~ s/<[0-9a-f]{32}>/'<' . $uuid =~ tr{-}{}dr . '>'/ger;
    my $dump = $t->read_file($t->data('minidump/test_app.dmp'))
        =~ s/RSDS\K..../pack 'V', $uuids/gser;
    my @frames = (stacktraces => [{ frames => [{ function => 'd', index => 0,
        module => 'c', lineno => 1, colno => 1, abs_path => 'https://e/x.js' }] }]);
    return {
        jvm => told('/symbolicate-jvm', $json->encode({ sources => [],
            modules => [{ uuid => $uuid, type => 'proguard' }], @frames }), 'application/json'),
        js => told('/symbolicate-js', $json->encode({ @frames, modules => [
            { type => 'sourcemap', debug_id => $uuid, code_file => 'https://e/x.js' }],
            source => { id => 'x', token => 'y', url => 'http://127.0.0.1:1/' } }),
            'application/json'),
        apple => told('/applecrashreport', form(['apple_crash_report', $apple, 'a']), $form_type),
        minidump => told('/minidump', form(['upload_file_minidump', $dump, 'a']), $form_type),
    };
}
my $missing = everywhere();
is $missing->{jvm}, 'missing', 'a mapping is missing';
is $missing->{js}, 'scraping_disabled', 'a script may not be fetched';
is $missing->{$_}, 'missing', "$_: modules are missing" for qw(apple minidump);
$t->stop_symcached('KILL');
my $failed = everywhere();
is $failed->{$_}, 'fetching_failed', "$_: without symcached that is not known"
    for sort keys %$failed;
my $trace = $t->write_file('trace', "    at f (https://e/x.js:1:1)\n");
my @ctl = ($t->program('symcachectl'), 'symbolicate', '--debug-id', '5c1d3f3a-0000-4000-8000-000000009999',
    '--socket', 'unix:' . $t->symbolicated_socket);
like qx(@ctl '$trace' 2>&1), qr/no frame was found: the server could not look for a file of these scripts/,
    'symcachectl does not say that the server has no source map';

# A store with a source has a symcached, which may only be late.

$t->stop_symbolicated;
$t->start_symcached($config);
is $t->stop_symcached, 0, 'symcached takes its socket with it';
my $sources = { %$config, stores => { default => { root => $t->path('store'), sources => ['folder'] } },
    sources => { folder => { type => 'filesystem', path => $t->path('store') } } };
$t->start_symbolicated($sources);
is said('seventh'), '503 fetching_failed', 'symbolicated is started before symcached';
is beats(), '503 200', '... and says so';
$t->write_helper_config($config);
kill 'HUP', $t->{symbolicated};
$t->wait_until('the source is gone', sub { said('eighth') eq '200 missing' });

$t->start_symcached($config); # which removes what the other one has left
$t->wait_until('that', sub { 1 == glob_of('store') && 1 == glob_of('downloads') });

$t->finish;
done_testing;
