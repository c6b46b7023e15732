#!/usr/bin/env perl

# All that is malformed since a time is forgotten: which entries go, what stays,
# who waits meanwhile, and what a transcoder that was mended is believed.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(remove_tree);
use Test::More;
use Test::Symcache;
use Time::HiRes qw(time);

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $id = $Test::Symcache::key{'crash.pdb'};
my $now = time;

sub header { Test::Symcache::header(@_) }

my $transcoder = $t->write_file('transcoder', <<'SH');
#!/bin/sh
echo "$1" >>"$0.runs"
. "$0.how"
cp "$1" "$_NT_SYMCACHE_PATH/$(basename "$1")-v9.0.0.symcache"
SH
chmod 0755, $transcoder;
sub how { $t->write_file('transcoder.how', "$_[0]\n") }

my %store = (transcoders => [{ version => '9.0.0',
                               command => [$transcoder, '{pdb}'] }],
             sources => ['local']);
how('exit 3');
$t->start_symcached({
    stores => { default => { %store, root => "$dir/store" },
                other => { %store, root => "$dir/other" } },
    sources => { local => { type => 'filesystem', path => "$dir/sym" } },
    cache => { retry_errors_after => '50s' },
});

# An entry of so many seconds ago.
sub entry {
    my ($name, $reason, $ago, $store) = @_;
    my $n = "$name.pdb";
    return $t->write_file(($store // 'store') . "/$n/$id/$n-v9.0.0.absent",
        sprintf "%s %d 0123456789abcdef\nwhy\n", $reason, $now - $ago);
}

sub left {
    return join ' ', map { m{/([^/]+)\.pdb-v[^/]+$} }
        sort glob "$dir/store/*/*/*.absent";
}

sub forget { $t->helper('POST', "/v1/forget/$_[0]") }

sub forgotten {
    my ($query) = @_;
    my $r = forget("default?malformed_since=$query");
    is $r->{status}, 200, "$query: status" or diag $r->{raw};
    return JSON::PP::decode_json($r->{body})->{forgotten};
}

# --- which

sub entries {
    entry("m$_", 'malformed', $_) for 10, 4000, 8000, 90000;
    entry("n$_", 'notfound', $_) for 10, 4000;
}

entries();
my $elsewhere = entry('m10', 'malformed', 10, 'other');
$t->write_file("store/file.pdb", 'no folder');
$t->write_file("store/m10.pdb/$id/m10.pdb-v9.0.0.symcache", 'a SymCache');
$t->write_file("store/m10.pdb/$id/other.pdb-v9.0.0.absent", "malformed 1\n\n");
$t->write_file("store/.tmp/$id/m10.pdb-v9.0.0.absent",
               sprintf "malformed %d\n\n", $now);
mkdir "$dir/outside";
$t->write_file("outside/$id/link.pdb-v9.0.0.absent",
               sprintf "malformed %d\n\n", $now);
symlink "$dir/outside", "$dir/store/link.pdb";

is forgotten('2h'), 2, '2h: how many';
is left(), 'link other m8000 m90000 n10 n4000', '2h: the right ones';
is forgotten(int($now) - 8001), 1, 'Unix seconds: how many';
is forgotten('1d1h1m'), 1, '1d1h1m: how many';
is forgotten('10w'), 0, 'nothing more';
is left(), 'link other n10 n4000', 'others stay';
ok -e $elsewhere, "another store's, too";
ok -e "$dir/store/m10.pdb/$id/m10.pdb-v9.0.0.symcache", 'files stay';
is $t->metric('symcached_forgotten_total'), 4, 'counted';
like $t->helper_log, qr/\[info\].*: forget store=default malformed_since=\d+\n.*: forget store=default entries=2\n/,
    'logged';
remove_tree("$dir/other");
is JSON::PP::decode_json(forget('other?malformed_since=1h')->{body})
    ->{forgotten}, 0, 'a store whose root vanished has none';

# --- which not

remove_tree("$dir/store");
entries();
for (['default', 400], ['default?', 400], ['default?malformed_since=', 400],
     ['default?malformed_since=x', 400], ['default?malformed_since=-1', 400],
     ['default?malformed_since=1h2', 400], ['default?malformed_since=1m1h', 400],
     ['default?malformed_since=5y', 400],
     ['default?malformed_since=' . (int($now) + 1000), 400],
     ['default?malformed_since=1h&malformed_since=2h', 400],
     ['default?malformed_since=1h&x=1', 400], ['default?since=1h', 400],
     ['m10.pdb?malformed_since=1h', 503],
     ['default/m10.pdb?malformed_since=1h', 400],
     ["default/m10.pdb/$id?malformed_since=1h", 400]) {
    my ($query, $status) = @$_;
    is forget($query)->{status}, $status, "refused: $query";
}
is $t->helper('GET', '/v1/forget/default?malformed_since=1h')->{status}, 405,
    'refused: GET';
is left(), 'm10 m4000 m8000 m90000 n10 n4000', 'nothing was dropped';

# --- a store that takes long

$t->write_file("store/a$_.pdb/$id/x", '') for 1 .. 1000;

sub child {
    open my $fh, '<', "/proc/$t->{helper}/task/$t->{helper}/children"
        or return;
    for my $pid (split ' ', <$fh> // '') {
        return $pid if ($t->read_file("/proc/$pid/cmdline") // '')
            =~ /\0--forget\0/;
    }
    return;
}

# Begins and holds the process that walks; it may be through before that.
sub held {
    return $t->wait_until('a walk that can be held', sub {
        my $s = $t->open_http($t->helper_socket, 'POST',
            '/v1/forget/default?malformed_since=2h', 'Content-Length: 0');
        my $pid;
        for (1 .. 1000) {
            last if $pid = child();
        }
        if ($pid && kill('STOP', $pid)
            && $t->wait_until('it is held', sub {
                   my $stat = $t->read_file("/proc/$pid/stat") // ') X ';
                   $stat =~ /\) ([TXZ]) /;
               }) eq '1' && ($t->read_file("/proc/$pid/stat") // '')
               =~ /\) T /) {
            return [$s, $pid];
        }
        $t->read_response($s);
        entries();
        return;
    });
}

my ($s, $pid) = @{ held() };
is $t->helper('GET', '/healthz')->{status}, 200, 'nobody waits for it';
my $r = forget('default?malformed_since=2h');
is $r->{status}, 503, 'another one has to wait';
ok header($r, 'Retry-After'), 'and is told so';
kill 'CONT', $pid;
$r = $t->read_response($s);
is $r->{status}, 200, 'it is answered in the end';

entries();
($s, $pid) = @{ held() };
close $s;
kill 'CONT', $pid;
$t->wait_until('all that is to go', sub { left() =~ /^m8000 m90000/ });
pass 'a client that goes away changes nothing';
$t->wait_until('the next may come', sub {
    forget('default?malformed_since=1s')->{status} == 200
});

entries();
($s, $pid) = @{ held() };
is $t->stop_symcached, 0, 'stopped meanwhile';
$r = $t->read_response($s);
is $r->{status}, 503, 'it is answered';
is header($r, 'X-Symcache-Reason') // '', '', 'as an error of its own';
like $r->{body}, qr/stopping/, 'which says why';
$t->wait_until('no process', sub { !kill 0, $pid });
remove_tree("$dir/store");

# --- what it means for the transcoder

$t->start_symcached;

sub ask {
    my ($name) = @_;
    $t->write_file("sym/$name.pdb/$id/$name.pdb",
                   $t->read_file($t->data('pdb/crash.pdb')));
    return $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/$name.pdb/$id?version=9.0.0&wait=60");
}

sub answer {
    my ($s) = @_;
    my $r = $t->read_response($s);
    return join ' ', $r->{status}, header($r, 'X-Symcache-Reason') // ();
}

is answer(ask('f1')), '404 malformed', 'a broken transcoder';
unlink $t->path('transcoder.runs');
how('while [ ! -e "$0.gate" ]; do sleep 0.02; done; exit 3');
$s = ask('f2');
$t->wait_until('it runs', sub { -e $t->path('transcoder.runs') });
is forgotten('1h'), 1, 'what it said is forgotten';
$t->write_file('transcoder.gate', '');
is answer($s), '503 error', 'what it says now, too';
is left(), '', 'and nothing is kept';

is answer(ask($_)), '404 malformed', "$_: still broken" for 'f3', 'f4';
is answer(ask($_)), '503 error', "$_: left alone" for 'f5', 'f6';
how(':');
is forgotten('1h'), 0, 'it is mended';
is answer(ask('f7')), '200', 'and run at once';

$t->finish;
done_testing;
