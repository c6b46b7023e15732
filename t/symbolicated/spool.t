#!/usr/bin/env perl

# "symbolication.spool": where large bodies are while a worker reads them, in
# memory or in a folder; what the folder must be, and what happens when it is
# full.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Mount;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;
my $folder = $t->path('bodies');
mkdir $t->path('store');
Test::Mount::small($folder, '6m');

sub configuration {
    my (%symbolication) = @_;
    return { stores => { default => { root => $t->path('store') } },
             symbolication => { threads => 1, %symbolication } };
}

sub start { $t->start_symbolicated(configuration(@_)) }

# A profile of perf of at least so many bytes.
sub profile {
    my ($size) = @_;
    my $sample = "app   12/13 [000]  1.100000:     250000 cpu-clock:\n"
        . "\t        55552024 [unknown] (/usr/bin/app)\n\n";
    return $sample x (1 + $size / length $sample);
}

sub ask { $t->post($t->symbolicated_socket, '/profile', @_) }
sub bytes { $t->symbolicated_metric('symbolicated_spool_bytes') }

# Sends a part of a body, and returns the connection.
sub begin {
    my ($body, $part) = @_;
    my $s = Test::Symcache::connect_to($t->symbolicated_socket) or die $!;
    binmode $s;
    print $s Test::Symcache::request_text('POST', '/profile',
        'Content-Length: ' . length $body), substr $body, 0, $part;
    $s->flush;
    $t->wait_until('the part is there', sub { bytes() == $part });
    return $s;
}

# What files of bodies the process has open: their links, by the kernel.
sub files {
    my $pid = $t->{symbolicated};
    return sort grep { defined && m{^/memfd:body|^\Q$folder\E/} }
        map { readlink } glob "/proc/$pid/fd/*";
}

sub finish {
    my ($s, $body, $part) = @_;
    print $s substr $body, $part;
    $s->flush;
    return $t->read_response($s, 'POST');
}

# --- memory

my $body = profile(2 * 2 ** 20);
start();
my $s = begin($body, 2 * 2 ** 20);
like join(' ', files()), qr{^/memfd:body\S*( \(deleted\))?$}, 'by default in memory';
my $r = finish($s, $body, 2 * 2 ** 20);
is $r->{status}, 200, 'it is read';
my $right = $r->{body};
$t->stop_symbolicated;

# --- a folder

start(spool => $folder);
$s = begin($body, 1_000_000);
like join(' ', files()), qr{^/memfd:body}, 'a folder: up to 1 MiB in memory';
close $s;
$t->wait_until('the client is gone', sub { bytes() == 0 });
$s = begin($body, 2 * 2 ** 20);
like join(' ', files()), qr{^\Q$folder\E/\S+ \(deleted\)$}, 'then in the folder';
is_deeply [glob "$folder/* $folder/.[!.]*"], [], 'without a name';
my ($used) = qx(df --output=used -B1 $folder) =~ /(\d+)/;
cmp_ok $used, '>=', 2 * 2 ** 20, 'where its bytes are';
$r = finish($s, $body, 2 * 2 ** 20);
is $r->{status}, 200, 'it is read there';
is $r->{body}, $right, 'as in memory';
is ask($body)->{body}, $right, 'also at once';
$t->wait_until('it goes with its request', sub {
    my ($now) = qx(df --output=used -B1 $folder) =~ /(\d+)/;
    return $now < 2 ** 20;
});

# a worker has no right to change it
$s = begin($body, 2 * 2 ** 20);
my @flags = map { my ($f) = ($t->read_file($_) // '') =~ /^flags:\s*(\d+)/m; oct($f) & 3 }
    map { s{/fd/}{/fdinfo/}r } grep { (readlink($_) // '') =~ m{^\Q$folder\E/} }
    glob "/proc/$t->{symbolicated}/fd/*";
is_deeply \@flags, [2], 'while it comes it is written';
finish($s, $body, 2 * 2 ** 20);

# --- full

my $large = profile(8 * 2 ** 20);
$r = ask($large);
is $r->{status}, 503, 'a folder that is full: 503';
ok Test::Symcache::header($r, 'Retry-After'), 'come again';
like $t->read_file('symbolicated.log'),
    qr/\[error\] .*a request's body cannot be kept in "symbolication.spool": answered 503 .*No space left/,
    'a line tells the operator';
is bytes(), 0, 'nothing of it is left';
is ask($body)->{status}, 200, 'what has room is taken';

# --- killed: nothing stays

$s = begin($body, 2 * 2 ** 20);
$t->stop_symbolicated('KILL');
$t->wait_until('the kernel frees it', sub {
    my ($now) = qx(df --output=used -B1 $folder) =~ /(\d+)/;
    return $now < 2 ** 20;
});
pass 'killed: nothing is left in the folder';

# --- a folder that cannot be used

sub check {
    my ($spool) = @_;
    my $file = $t->write_helper_config(configuration(spool => $spool));
    my $status = system(sprintf '%s -t -c %s >%s 2>&1',
        $t->program('symbolicated'), $file, $t->path('test.out'));
    return ($status >> 8, $t->read_file('test.out'));
}

my ($code, $said) = check($folder);
is $code, 0, '-t: a good one' or diag $said;
($code, $said) = check($t->path('none'));
is $code, 1, '-t: one that is not there';
like $said, qr{symbolication\.spool: \Q${\ $t->path('none')}\E: No such file}, 'which says so';
$t->write_file('file', '');
($code, $said) = check($t->path('file'));
is $code, 1, '-t: a file';
like $said, qr{Not a directory}, 'which says so';
Test::Mount::again($folder, 'ro');
($code, $said) = check($folder);
is $code, 1, '-t: one that cannot be written';
like $said, qr{no file without a name can be made in \Q$folder\E: Read-only}, 'which says so';
Test::Mount::again($folder, 'rw');
Test::Mount::gone($folder);

done_testing;
