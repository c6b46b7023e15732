#!/usr/bin/env perl

# Directories have the limits of hosts: one that hangs takes its own places and
# no others, is left alone when it does not answer, and asked again.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::Mount;
use Test::Fuse;
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $id = $Test::SourceCase::id;
my $true = JSON::PP::true();

my $fuse = Test::Fuse->new($t->path('net'),
    { 'far.pdb' => $crash,
      'flat/a.pdb' => $t->read_file($t->data('pdb/omap_stretched.pdb')),
      map { ("$_.pdb/$id/$_.pdb" => $crash) }
        map { my $n = $_; map { "$n$_" } 1 .. 9 }
        'both', 'net', 'netlist', 'one' },
    hang => $t->path('hang'));
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    return $c->reply(200, {}, "PATH:\\\\srv\\sym\\far.pdb")
        if $req->{path} =~ m{/pointed.*/file\.ptr$};
    return $c->reply(404, {}, '') if $req->{path} =~ m{/pointed|_$|ptr$};
    $c->reply(200, {}, $crash);
});

sub case {
    my (%limits) = @_;
    $t->stop_symcached;
    return Test::SourceCase->new($t, order => ['net', 'web'],
        limits => { downloads_per_host => 2, slow_downloads_per_host => 0,
                    look_ahead_after => '0s', %limits },
        sources => {
            net => { type => 'filesystem', path => "$dir/net",
                     except => '^(web|pointed)' },
            web => { type => 'http', url => $web->url, internal => $true,
                     map => { '\\\\srv\\sym' => "$dir/net" },
                     except => '^net' },
        });
}

sub begin {
    return map { $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/$_.pdb/$id?version=9.0.0&wait=60") } @_;
}
sub status { map { $t->read_response($_)->{status} } @_ }

sub source {
    my ($name) = @_;
    my $json = $t->helper_json('/v1/sources');
    return (grep { $_->{name} eq $name } @{ $json->{sources} })[0];
}
# Processes of the helper that look into a directory.
sub looking {
    my ($folder) = (@_, 'net');
    my $pid = $t->{helper};
    return grep {
        ($t->read_file("/proc/$_/cmdline") // '') =~ m{\0\Q$dir/$folder\E\0}
    } split ' ', $t->read_file("/proc/$pid/task/$pid/children");
}

sub host { source($_[0])->{host} }

# --- lookups at a time

my $c = case(downloads => 6);
is host('net')->{origin}, "file://$dir/net", 'a directory has an origin';
$c->found('net1.pdb', 'it works');
$fuse->hang;
my @held = begin(map { "net$_" } 2 .. 9);
$t->wait_until('its places are taken', sub { host('net')->{lookups} == 2 });
$c->found('web1.pdb', 'a directory that hangs does not keep others waiting');
is host('net')->{lookups}, 2, 'and gets no more than its two';
is $t->metric('symcached_jobs_downloading'), 2, 'who waits has no slot';
$fuse->release;
is_deeply [status(@held)], [(200) x 8], 'all are found in the end';

# --- one that is silent, and whose processes can be killed

$c = case(first_byte_time => '2s', breaker_pause => '6s');
$fuse->pause;
@held = begin(map { "both$_" } 1 .. 8);
is_deeply [status(@held)], [(200) x 8], 'the next source is asked instead';
is source('net')->{health}, 'left alone', 'the directory is left alone';
is host('net')->{breaker}, 'open', 'its breaker is open';
is source('web')->{health}, 'ok', 'nobody else is';
like $t->helper_log, qr{host file://\Q$dir\E/net: failed 2 times in a row, not asked for 6 s; the last time: no answer within 2 s},
    'logged, with the reason';
my $r = $c->undecided('pointed1.pdb', 'failed',
                      qr/^not asked: the directory failed \d times in a row/,
                      'a file.ptr that leads there');
is host('web')->{failures}, 0, 'is no fault of its server';
$fuse->resume;
$t->wait_until('the pause is over',
               sub { !exists host('net')->{not_asked_for} });
$c->found('pointed2.pdb', 'one lookup shows that it works again');
is host('net')->{breaker}, 'closed', 'the breaker is closed';
is source('net')->{health}, 'failing', 'nobody has asked the source itself';

# --- who was killed meanwhile says nothing of it

$c = case(first_byte_time => '2s', breaker_pause => '1h');
$fuse->pause;
is_deeply [status(begin('net91'))], [503], 'a directory is silent';
is host('net')->{failures}, 1, 'which counts';
@held = begin('net92');
$t->wait_until('a process looks', sub { looking() });
kill 'KILL', looking();
is_deeply [status(@held)], [503], 'a process is killed from outside';
is host('net')->{failures}, 1, 'which is no sign that the directory works';
is_deeply [status(begin('net93'))], [503], 'it is silent once more';
is host('net')->{breaker}, 'open', 'in a row';
$fuse->resume;

# --- nor does it forget what was known of a flat one

$t->stop_symcached;
$c = Test::SourceCase->new($t, sources => {
    flat => { type => 'filesystem', path => "$dir/net/flat",
              layout => 'flat' } });
$c->absent('flat1.pdb', qr{^no such file}, 'a flat directory is read');
my $opened = $fuse->opened;
$c->absent('flat2.pdb', qr{^no such file}, 'and asked for another');
is $fuse->opened, $opened, 'its files are not read again';
$fuse->pause;
@held = begin('flat3');
$t->wait_until('a process looks', sub { looking('net/flat') });
kill 'KILL', looking('net/flat');
is_deeply [status(@held)], [503], 'a process is killed from outside';
$fuse->resume;
$c->absent('flat4.pdb', qr{^no such file}, 'the next one');
is $fuse->opened, $opened, 'does not read them again, either';

# --- nor is one silent whose listing takes long

$c = case(first_byte_time => '1s');
$fuse->hang('list');
@held = begin('NETLIST1');
$t->wait_until('its files are listed, to see one in another case',
               sub { $fuse->waiting });
my ($lists) = $fuse->waiting;
$t->wait_until('for longer than until the first byte',
    sub { qx(ps -o etimes= -p $lists) > 2 || !looking() });
is_deeply [looking()], [$lists], 'it is still listed';
$fuse->release;
is_deeply [status(@held)], [200], 'and found';
is host('net')->{failures}, 0, 'which is no failure';

# --- and one whose processes cannot

$c = case(first_byte_time => '2s', breaker_pause => '1s');
$fuse->hang;
@held = begin(map { "one$_" } 1 .. 6);
is_deeply [status(@held)], [(200) x 6], 'the next source is asked instead';
my @stuck = looking();
is scalar @stuck, 2, 'two processes cannot be ended';
$t->wait_until('they are told of', sub { (host('net')->{stuck} // 0) == 2 });
for (1 .. 3) {
    $c->undecided("pointed3$_.pdb", 'failed', qr/^not asked: it hangs/,
                  'no third one is started');
}
is_deeply [looking()], \@stuck, 'and was not';
$fuse->release;
$t->wait_until('they are gone', sub { !exists host('net')->{stuck} });
$t->wait_until('the pause is over',
               sub { !exists host('net')->{not_asked_for} });
$r = $c->found('one9.pdb', 'the directory is asked again');
is $t->helper_json("/v1/jobs")->{total}, 0, 'nobody waits any more';
like $t->helper_log, qr/key=one9.* source=net /, 'and has it';

$web->stop;
$fuse->stop;
$t->finish;
done_testing;
