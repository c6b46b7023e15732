#!/usr/bin/env perl

# What is unpacked, converted or compressed leaves cache.min_free, as what is
# received does; that there is no room says nothing about a PDB.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use JSON::PP ();
use POSIX ();
use Test::Mount;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $mib = 1024 * 1024;
my $fs = $t->path('fs');

Test::Mount::small($fs, '40m');

sub bytes_free {
    my ($n, $size) = split / /, qx(stat -f -c '%a %S' $fs);
    return $size ? $n * $size : undef;
}

# What was free at the worst, while the code ran.
sub least_free {
    my ($code) = @_;
    pipe my $in, my $out or die;
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        my $least = bytes_free();
        local $SIG{TERM} = sub { syswrite $out, $least; POSIX::_exit(0) };
        syswrite $out, '#';
        while (1) {
            my $now = bytes_free();
            $least = $now if defined $now && $now < $least;
        }
    }
    close $out;
    sysread $in, my $ready, 1;
    $code->();
    kill 'TERM', $pid;
    sysread $in, my $least, 100;
    waitpid $pid, 0;
    return $least;
}

# the process that unpacks

my $large = substr($pdb, 0, 4096) . "\0" x (64 * $mib);
my $bomb = Compress::Zlib::memGzip($large);
for (['a copy', $large, 0], ['gzip data', $bomb, 0]) {
    my ($name, $body) = @$_;
    my $in = $t->write_file('in', $body);
    my $out = $t->write_file('fs/out', '');
    my $err = $t->path('err');
    my @place = $name eq 'a copy' ? ('tree', 0, 0, $t->dir, 'in') : ();
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        open STDERR, '>', $err;
        my $o = POSIX::open($out, POSIX::O_RDWR());
        my $i = POSIX::open($in, POSIX::O_RDONLY());
        POSIX::dup2($o, 20);
        POSIX::dup2($i, 21);
        POSIX::dup2(20, 3);
        POSIX::dup2(21, 4);
        my %env = $t->sanitizer_env(0);
        $ENV{$_} = $env{$_} for keys %env;
        exec($t->program('symcached-sandboxed'), '--unpack', "debuginfo/$id",
             1024 * $mib . ':' . 30 * $mib, 'pdb', 'crash.pdb', @place) or POSIX::_exit(127);
    }
    waitpid $pid, 0;
    is $?, 0, "$name: an answer";
    like $t->read_file($err),
        qr/^\@0 R \d+\n\@0 M no room: would leave less than cache\.min_free$/m,
        "$name: which is that there is no room";
    cmp_ok -s $out, '<=', 10 * $mib, "$name: no byte too many";
    unlink $out;
}

# the helper

my $server = Test::ScriptedServer->new(log => $t->path('requests'),
    script => sub {
        my ($c, $req) = @_;
        return $c->reply(200, {}, $bomb) if $req->{uri} =~ m{/bomb};
        return $c->reply(200, {}, Compress::Zlib::memGzip($pdb))
            if $req->{uri} =~ m{/crash\.pdb$};
        $c->reply(404, {}, '');
    });
my $config = $t->default_config($server->url,
    cache => { min_free => '30m', clean_every => '1s', max_unused_for => '30d',
               retry_errors_after => '1s' },
    limits => { downloads => 8, downloads_per_host => 8 });
$config->{downloads} = "$fs/downloads";
$config->{stores}{default}{root} = "$fs/store";
$t->start_symcached($config);

sub lookup {
    my ($name, $wait) = @_;
    return $t->helper('GET', "/v1/symcache/default/$name/$id?version=9.0.0"
        . '&wait=' . ($wait // 60));
}

# Without what is remembered of a failure a moment ago.
sub lookup_anew {
    my ($name) = @_;
    is $t->helper('POST', "/v1/forget/default/$name")->{status}, 200,
        'forgotten';
    return lookup($name);
}

my $r;
my $least = least_free(sub { $r = lookup('bomb.pdb') });
is $r->{status}, 503, 'no room to unpack: ask again';
like $r->{body}, qr/no room: would leave less than cache\.min_free/,
    'which is said';
cmp_ok $least, '>=', 30 * $mib, 'and min_free is left';
my $why = $t->helper_json("/v1/why/default/bomb.pdb/$id");
like $why->{attempts}[0]{detail}, qr/^no room: would leave less than/,
    'why tells it, too';

# several at once see what the others take

$least = least_free(sub {
    lookup("bomb$_.pdb", 0) for 1 .. 8;
    my $failed = 'symcached_jobs_finished_total{outcome="error"}';
    $t->wait_until('all of them', sub { $t->metric($failed) >= 9 });
});
cmp_ok $least, '>=', (30 - 8) * $mib, 'eight at once leave it, but a little';

# with room all is well: it is made for what came, if need be

is lookup('crash.pdb')->{status}, 200, 'what has room is unpacked';
sub no_room { $t->metric('symcached_fetch_no_room_total') }
sub passes { $t->metric('symcached_clean_passes_total{result="ok"}') }
my $passes = passes();
$t->wait_until('the requests so far are judged', sub { passes() > $passes + 1 });
my @old;
for my $n (1 .. 9) {
    my $file = $t->write_file(
        "fs/store/old$n.pdb/$id/old$n.pdb-v9.0.0.symcache", 'x' x $mib);
    utime time - $n * 7200, time - $n * 7200, $file;
    push @old, $file;
}
Test::Symcache::remove_tree("$fs/store/crash.pdb");
Test::Symcache::remove_tree("$fs/downloads/default");
$t->write_file('fs/filler', 'x' x int(0.4 * $mib));
# a job that asks one place after the other may outlast the pass
my $without = no_room();
$t->wait_until('room is made', sub { lookup('crash.pdb')->{status} == 200 });
cmp_ok no_room(), '>', $without, 'there was none before';
cmp_ok scalar(grep { -e } @old), '>=', 3, 'not too much';
is $t->metric('symcached_jobs_finished_total{outcome="malformed"}'), 0,
    'no PDB was held to be malformed';

# transcoders write where they want

$config->{sources}{upstream} = { type => 'filesystem',
                                 path => $t->path('sym') };
$t->symbol_store('sym');
my $crash = $config->{stores}{default}{transcoders}[0]{command};
my %fills = (
    'one file' => 'head -c 64M /dev/zero >$0/a',
    'many files' => 'while :; do head -c 1M /dev/zero >$0/$((n += 1));'
        . ' sleep 0.1; done',
);
for my $how (sort keys %fills) {
    Test::Symcache::remove_tree("$fs/$_") for qw(store downloads filler);
    $config->{stores}{default}{transcoders}[0]{command} =
        ['/bin/sh', '-c', $fills{$how}, '{out}', '{pdb}'];
    $t->reload_symcached($config);
    $least = least_free(sub { $r = lookup_anew('crash.pdb') });
    is $r->{status}, 503, "a transcoder that fills the disk, $how";
    like $r->{body}, qr/disk of the store is full/, "which is said, $how";
    cmp_ok $least, '>=', ($how eq 'one file' ? 30 : 15) * $mib,
        "and is stopped, $how";
}

# one that had no room says so in its own words, when there is room again

Test::Symcache::remove_tree("$fs/$_") for qw(store downloads filler);
$config->{stores}{default}{transcoders}[0]{command} =
    ['/bin/sh', '-c', 'rm $1; echo no room >&2; exit 1', '{pdb}',
     "$fs/filler"];
$t->reload_symcached($config);
$t->write_file('fs/filler', '');
system('fallocate', '-l', bytes_free() - 30 * $mib - int(1.5 * $mib),
       "$fs/filler") == 0 or die 'fallocate';
$r = lookup_anew('crash.pdb');
is $r->{status}, 503, 'a transcoder without room for the PDB fails';
like $r->{body}, qr/no room/, 'which is said';

$config->{stores}{default}{transcoders}[0]{command} = $crash;
$t->reload_symcached($config);
$t->wait_until('another transcoder',
    sub { lookup('crash.pdb')->{status} == 200 });
is $t->metric('symcached_jobs_finished_total{outcome="malformed"}'), 0,
    'none of them said anything of the PDB';

# a copy for gzip is not worth it

sub skipped { $t->metric('symcached_gzip_skipped_total') }
sub failed { $t->metric('symcached_gzip_failed_total') }

Test::Symcache::remove_tree("$fs/$_") for qw(store downloads filler);
my $noise = join '', map { pack 'N', rand 2**32 } 1 .. $mib;
$t->write_file("fs/store/a$_.pdb/$id/a$_.pdb-v9.0.0.symcache", $noise)
    for 1, 2;
$config->{cache}{clean_every} = '1h';
$config->{stores}{default}{gzip} = JSON::PP::true();
$t->reload_symcached($config);
$least = least_free(sub {
    is lookup('a1.pdb')->{status}, 200, 'a file that is there';
    $t->wait_until('no copy', sub { failed() == 1 });
});
cmp_ok $least, '>=', 30 * $mib, 'has none that takes of min_free';
like $t->helper_log, qr/a1.*\.gz" was not made: no room: would leave less/,
    'which is logged';
is lookup('a2.pdb')->{status}, 200, 'another one';
is skipped() . failed(), '11', 'is not even tried for a while';

is $t->stop_symcached, 0, 'stopped';
$server->stop;
Test::Mount::gone($fs);
$t->finish;
done_testing;
