#!/usr/bin/env perl

# Broken minidumps, changes of real ones, through the whole service: each has an
# answer with a reason, no worker is lost, and whole dumps between them are
# answered as ever.  BROKEN is how many (1,000), SEED makes them again.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(make_path);
use Test::File;
use Test::Form;
use Test::More;
use Test::Symcache;

plan skip_all => 'no zstd' if system('zstd --version >/dev/null 2>&1') != 0;

my $count = $ENV{BROKEN} // 1000;
my $seed = $ENV{SEED} // int rand 1e6;
srand $seed;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->utf8;
my $real = $t->path('real');
make_path($real);
system('zstd -qdc --long=24 ' . $t->data('minidump/real.tar.zst')
    . " | tar xf - -C '$real'") == 0 or die;
my $converter = $t->program('pdb2symcache');
$t->start_symcached({
    stores => { default => {
        root => $t->path('made'), sources => ['text'],
        transcoders => [
            { version => '9.0.0', inputs => ['breakpad'],
              command => [$converter, '{pdb}'] },
            { version => '1.0.0', inputs => ['breakpad'], makes => 'cficache',
              command => [$converter, '--kind', 'cficache', '{pdb}'] }],
    } },
    sources => { text => { type => 'filesystem', layout => 'breakpad',
        path => "$real/symbols" } },
});
my $daemon = $t->start_symbolicated;

sub ask {
    my ($bytes, $sources) = @_;
    my $r = $t->post($t->symbolicated_socket, '/minidump',
        form(['sources', $sources], ['upload_file_minidump', $bytes, 'x']),
        "Content-Type: $form_type");
    return ($r->{status}, eval { $json->decode($r->{body}) } // {});
}

my @dumps = map { slurp($_) } sort glob("$real/dumps/*.dmp");
my $text = '[{"id":"text"}]';

# --- changes

my @numbers = (0, 1, 2, 3, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff);

sub put {
    substr $_[0], $_[1], length $_[2], $_[2] if $_[1] < length $_[0];
}

# Where a stream begins.
sub stream {
    my ($dump) = @_;
    my ($n, $at) = unpack 'x8 V V', $dump;
    return 32 if !$n || $n > 100 || $at + 12 * $n > length $dump;
    my ($size, $offset) =
        unpack 'x4 V V', substr $dump, $at + 12 * int rand $n, 12;
    return $offset + 48 < length $dump ? $offset : 32;
}

my @changes = (
    sub { substr $_[0], int rand length $_[0] },        # the beginning is gone
    sub { substr $_[0], 0, int rand length $_[0] },     # the end is
    sub {                                                # some bytes anywhere
        put($_[0], int rand length $_[0], chr int rand 256) for 0 .. rand 20;
        $_[0];
    },
    sub {                             # numbers of the header and its directory
        put($_[0], 4 * int rand 60, pack 'V', $numbers[rand @numbers])
            for 0 .. rand 3;
        $_[0];
    },
    sub {                                          # counts, sizes, addresses
        put($_[0], stream($_[0]) + 4 * int rand 12,
            pack 'V', rand() < 0.5 ? $numbers[rand @numbers]
                : int rand 2 * length $_[0]) for 0 .. rand 5;
        $_[0];
    },
    sub {                                          # a part of another dump
        my $other = $dumps[rand @dumps];
        my $from = int rand length $other;
        put($_[0], int rand(length($_[0]) - 4), substr $other, $from,
            1 + rand 2000);
        $_[0];
    },
    sub {                                                # words of stacks
        put($_[0], 8 * int rand(length($_[0]) / 8), pack 'Q<',
            rand() < 0.5 ? ~0 - int rand 4096 : int rand 2**47)
            for 0 .. rand 200;
        $_[0];
    },
);

# --- the service

my $whole = $dumps[-1];
my @as_ever = ask($whole, $text);
is "$as_ever[0] $as_ever[1]{status}", '200 completed', 'a whole dump';
ok scalar @{ $as_ever[1]{stacktraces} }, 'has stacks';

my (%outcomes, @wrong);
for my $i (1 .. $count) {
    my $change = int rand @changes;
    my $bytes = $changes[$change]->(my $copy = $dumps[rand @dumps]);
    $bytes = $changes[rand @changes]->($bytes)
        if length $bytes > 100 && rand() < 0.2;
    my ($status, $answer) = ask($bytes, rand() < 0.5 ? $text : '[]');
    my $outcome = "$status " . ($answer->{status} // 'no JSON');
    $outcomes{$outcome}++;
    push @wrong, "$i, change $change: $outcome " . ($answer->{message} // '')
        unless $outcome eq '200 completed'
            # what begins with two hyphens counts as a form in the form
            || ($status == 400 && $bytes =~ /^--/
                && $answer->{detail} eq 'minidump contains multipart form data')
            || ($outcome eq '200 failed'
                && ($answer->{message} // '') =~ /^(?!internal error)\S+ /);
    if ($i % 50 == 0) {
        my @now = ask($whole, $text);
        push @wrong, "$i: a whole dump has another answer"
            if $json->encode(\@now) ne $json->encode(\@as_ever);
    }
}
is_deeply \@wrong, [], "each has an answer with a reason, SEED=$seed"
    or diag explain \@wrong;
cmp_ok $outcomes{$_} // 0, '>', $count / 10, "$_: many"
    for '200 completed', '200 failed';
is kill(0, $daemon), 1, 'the daemon runs';
is $t->symbolicated_metric('symbolicated_workers_died_total'), 0,
    'no worker was lost';
is $t->symbolicated_metric('symbolicated_spool_bytes'), 0,
    'nothing is left of them';
note explain \%outcomes;

# --- a program of workers that is none: the log says so, once a request

$t->stop_symbolicated;
make_path($t->path('bin'));
system('cp', $t->program('symbolicated'), $t->path('bin/symbolicated')) == 0 or die;
for my $case (['', 0755, qr/cannot be executed, .* anew \(8: Exec format error\)/],
        ['', 0644, qr/cannot be executed, .* anew \(13: Permission denied\)/],
        [slurp('/bin/true'), 0755, qr/ends, or hangs, when it is started/]) {
    my ($bytes, $mode, $wanted) = @$case;
    unlink $t->path('symbolicated.log');
    chmod $mode, $t->write_file('bin/symbolicated-worker', $bytes) or die $!;
    $t->{symbolicated} = $t->spawn('symbolicated.log', {},
        $t->path('bin/symbolicated'), '-c', $t->path('symcached.json'));
    $t->wait_until('it accepts',
        sub { Test::Symcache::connects($t->symbolicated_socket) });
    my ($status, $answer) = ask($whole, $text);
    is $status, 503, 'no worker can be started';
    my @said = grep { /\[error\]/ } split /\n/, $t->symbolicated_log;
    is scalar @said, 1, '- one line' or diag explain \@said;
    like $said[0] // '', $wanted, '- which says why';
    my $name = $t->post($t->symbolicated_socket, '/symbolicate',
        '{"modules":[],"stacktraces":[{"frames":[' . join(',',
            map { qq({"instruction_addr":"0x1","function":"_Z$_"}) } '1ai', '1bi')
        . ']}]}', 'Content-Type: application/json')->{body};
    like $name, qr/"_Z1ai".*"_Z1bi"/, 'names stay as they are';
    @said = grep { /\[error\]/ } split /\n/, $t->symbolicated_log;
    is scalar @said, 2, '- one line for both' or diag explain \@said;
    like $said[1] // '', $wanted, '- which says why';
    $t->stop_symbolicated;
}

$t->finish;
done_testing;
