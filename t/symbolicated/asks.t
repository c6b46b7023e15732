#!/usr/bin/env perl

# What is not on disk is asked of symcached: made while the request waits,
# known to be absent, late, or failed.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;
my $key = $Test::Symcache::key{'crash.pdb'};
my $gone = '00112233445566778899AABBCCDDEEFF1';
my $main = 'main(int, char**)';
my $asked = 'symbolicated_asked_total';

sub send_stack {
    my (@modules) = @_;
    return $t->post($t->symbolicated_socket, '/symbolicate/v5', $json->encode({
        memoryMap => [map { [split m{/}] } @modules],
        stacks => [[map { [$_, 0x2913] } 0 .. $#modules]] }));
}

# found_modules, true and false as 1 and 0
sub found {
    my $r = send_stack(@_);
    return "status $r->{status}" if $r->{status} != 200;
    my $found = $json->decode($r->{body})->{results}[0]{found_modules};
    return { map { $_ => $found->{$_} ? 1 : 0 } keys %$found };
}

my ($crash, $absent) = ("crash.pdb/$key", "gone.pdb/$gone");
$t->symbol_store('sym');
my @gated = ("$FindBin::Bin/../bin/gated", $t->path('gate'), $t->path('runs'));
my $config = {
    stores => { empty => { root => $t->path('empty') },
        default => { root => $t->path('store'), sources => ['local'],
        transcoders => [{ version => '9.0.0', command => [@gated,
            $t->program('pdb2symcache'), '-pdb', '{pdb}'] }] } },
    sources => { local => { type => 'filesystem', path => $t->path('sym') } },
    symbolication => { stores => ['empty', 'default'] },
};
$t->write_file('gate', '');
$t->start_symcached($config);
$t->start_symbolicated;

my $r = send_stack($crash, $absent);
is $r->{status}, 200, 'a module that is made, and one that nobody has';
my $result = $json->decode($r->{body})->{results}[0];
is $result->{stacks}[0][0]{function}, $main, 'the first has names';
is_deeply found($crash, $absent), { $crash => 1, $absent => 0 },
    'both are known';

# symcached is believed for a time, but what it forgets is asked again

$t->wait_until('absence is believed', sub {
    my $before = $t->symbolicated_metric($asked);
    found($absent);
    return $t->symbolicated_metric($asked) == $before;
});
my $before = $t->symbolicated_metric($asked);
is_deeply found("Gone.pdb/$gone"), { "Gone.pdb/$gone" => 0 },
    'nor in another spelling';
cmp_ok $t->symbolicated_metric($asked), '>', $before,
    'in which a source may have it: symcached was asked';
$before = $t->symbolicated_metric($asked);
is $t->helper('POST', "/v1/forget/default/gone.pdb/$gone",
    'Content-Length: 0')->{status}, 200, 'it is forgotten';
is_deeply found($absent), { $absent => 0 }, 'still nobody has it';
cmp_ok $t->symbolicated_metric($asked), '>', $before,
    'but symcached was asked again';

# by a build id as well, which goes along as a hint; by another one there may be
# a file

sub found_elf {
    my ($code_id) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate', $json->encode({
        stacktraces => [{ frames => [{ instruction_addr => '0x1000' }] }],
        modules => [{ type => 'elf', code_file => 'gone', code_id => $code_id,
            image_addr => '0x1000', image_size => 4096,
            debug_id => '2d8a1c70-5b4e-4f3a-9c6d-7e8f9a0b1c2d' }] }),
        'Content-Type: application/json');
    return $json->decode($r->{body})->{modules}[0]{debug_status};
}

my ($one, $other) = map { '701c8a2d4e5b3a4f9c6d7e8f9a0b1c2d' . $_ x 8 } 0, 1;
is found_elf($one), 'missing', 'a module with a build id';
$t->wait_until('absence is believed', sub {
    my $before = $t->symbolicated_metric($asked);
    found_elf($one);
    return $t->symbolicated_metric($asked) == $before;
});
$before = $t->symbolicated_metric($asked);
is found_elf($other), 'missing', 'with another build id';
cmp_ok $t->symbolicated_metric($asked), '>', $before, '- is asked for';

# one that is slow holds up no other request

Test::Symcache::remove_tree($t->path('store/crash.pdb'));
unlink $t->path('gate');
my $pid = fork() // die "fork: $!";
if ($pid == 0) {
    my $found = found($crash);
    POSIX::_exit(ref $found && $found->{$crash} ? 0 : 1);
}
$t->wait_until('the transcoder runs', sub { $t->runs == 2 });
is_deeply found($absent), { $absent => 0 }, 'another request is answered';
$t->write_file('gate', '');
waitpid $pid, 0;
is $?, 0, 'and the slow one when its module was made';

# who waits when the daemon stops is answered

Test::Symcache::remove_tree($t->path('store/crash.pdb'));
unlink $t->path('gate');
my $runs = $t->runs;
$pid = fork() // die "fork: $!";
if ($pid == 0) {
    my $found = found($crash);
    POSIX::_exit(ref $found && !$found->{$crash} ? 0 : 1);
}
$t->wait_until('the transcoder runs', sub { $t->runs > $runs });
is $t->stop_symbolicated, 0, 'stops while a request waits';
waitpid $pid, 0;
is $?, 0, 'which is answered without the module';
$t->write_file('gate', '');
$t->wait_until('the job goes on', sub {
    -e $t->path("store/crash.pdb/$key/crash.pdb-v9.0.0.symcache")
});
$t->start_symbolicated;

# no longer than "wait", and what is said then

for my $case ([{ wait => '1s' }, { $crash => 0 }, 'false'],
              [{ wait => '1s', on_failure => '503' }, 'status 503', '503']) {
    my ($mozilla, $expected, $name) = @$case;
    $config->{symbolication}{mozilla} = $mozilla;
    Test::Symcache::remove_tree($t->path('store/crash.pdb'));
    unlink $t->path('gate');
    $t->stop_symbolicated;
    $t->start_symbolicated($config);
    is_deeply found($crash), $expected, "late: $name";
    $t->write_file('gate', '');
    $t->wait_until('it is made for the next', sub {
        ref(my $found = found($crash)) or return;
        return $found->{$crash};
    });
}
like $t->symbolicated_log, qr/modules=1 missing=0 failed=1/,
    'the log counts it';

# as many as may run

for my $limits ({ mozilla => { requests => 1 } },
                { limits => { running_size => '1k' } }) {
    Test::Symcache::remove_tree($t->path('store/crash.pdb'));
    unlink $t->path('gate');
    $config->{symbolication} = { stores => ['empty', 'default'], %$limits };
    $t->stop_symbolicated;
    $t->start_symbolicated($config);
    my ($large, $runs) = ('x' x 1024, $t->runs);
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        my $found = found($crash);
        POSIX::_exit(ref $found && $found->{$crash} ? 0 : 1);
    }
    $t->wait_until('one waits', sub { $t->runs > $runs });
    my $r = $t->post($t->symbolicated_socket, '/symbolicate/v5', $large,
                     'Origin: http://profiler');
    is $r->{status}, 503, 'a second one is refused';
    is $r->{body}, '{"title": "too many requests are running, please try '
        . 'again"}', join ' ', keys %$limits;
    is Test::Symcache::header($r, 'Retry-After'), 1, 'for a moment';
    is Test::Symcache::header($r, 'Access-Control-Allow-Origin'), '*',
        'which every page may read';
    $t->write_file('gate', '');
    waitpid $pid, 0;
    is $?, 0, 'the first one is answered';
    is send_stack($crash)->{status}, 200, 'and the next one';
}

# who goes away while it waits makes room

Test::Symcache::remove_tree($t->path('store/crash.pdb'));
unlink $t->path('gate');
$config->{symbolication} = { stores => ['empty', 'default'],
    mozilla => { requests => 1, wait => '1h' } };
$t->stop_symbolicated;
$t->start_symbolicated($config);
for my $more ('', "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n") {
    my $body = qq({"memoryMap": [["crash.pdb", "$key"]], "stacks": [[[0, 1]]]});
    my $s = Test::Symcache::connect_to($t->symbolicated_socket);
    syswrite $s, Test::Symcache::request_text('POST', '/symbolicate/v5',
        'Content-Length: ' . length $body, 'Connection: keep-alive') . $body
        . $more;
    $t->wait_until('it waits', sub { $t->metric('symcached_waiters') == 1 });
    is send_stack($crash)->{status}, 503, 'no other may run';
    if ($more eq '') {
        close $s;
        $t->wait_until('symcached is told',
            sub { $t->metric('symcached_waiters') == 0 });
        $t->wait_until('the log says that nobody waited', sub {
            $t->symbolicated_log =~ / status=499 frames=1 modules=1 / });
        next;
    }
    $t->write_file('gate', '');
    my $raw = '';
    $t->wait_until('two answers', sub {
        sysread $s, $raw, 65536, length $raw;
        return 2 == (() = $raw =~ m{HTTP/1\.1 200 OK\r\n}g);
    });
    pass 'but one behind which the next request stands is answered';
}
$config->{symbolication} = { stores => ['empty', 'default'] };

# one bad name fails the request, or that module

$r = send_stack($crash, '[vdso]/AB');
is $r->{body}, '{"title": "job 0 has invalid modules: module index 1 has an '
    . 'invalid debug_filename"}', 'a name that is none';
$config->{symbolication}{mozilla} = { lenient => JSON::PP::true };
$t->stop_symbolicated;
$t->start_symbolicated($config);
is_deeply found($crash, '[vdso]/AB', 'x.pdb/A-B'),
    { $crash => 1, '[vdso]/AB' => 0, 'x.pdb/A-B' => 0 },
    'lenient: the rest is answered';

# the code id of an ELF file in a profile is its build id, and leads to it; that
# of an image of Windows does not lead to its PDB

my $build = '0a1b2c3d4e5f60718293a4b5c6d7e8f901234567';
my %libs = ("prog/3D2C1B0A5F4E71608293A4B5C6D7E8F90" => $build, 'win.pdb/' . 'C' x 32 . '1' => '512345671200');
$r = $t->post($t->symbolicated_socket, '/profile', $json->encode({ meta => { version => 27 },
    libs => [map { my ($name, $id) = split m{/}; { debugName => $name, breakpadId => $id, codeId => $libs{$_} } }
             sort keys %libs],
    threads => [{ stringArray => ['0x1000', '0x1010'], funcTable => { length => 2, name => [0, 1], resource => [0, 1] },
        resourceTable => { length => 2, lib => [0, 1], name => [0, 1] },
        frameTable => { length => 2, func => [0, 1], address => [4096, 4112] } }] }));
is $r->{status}, 200, 'a profile';
my ($elf, $pdb) = map { $t->helper('GET', "/v1/why/default/$_")->{body} } sort keys %libs;
like $elf, qr/"code_id=buildid-$build"/, 'symcached was told a build id';
unlike $pdb, qr/code_id/, '... and not the code id of an image of Windows';
like $pdb, qr/notfound/, '... whose PDB was asked for';

$t->finish;
done_testing;
