#!/usr/bin/env perl

# POST /minidump with a library for Linux: its CFI, names and lines are those
# that Symbolicator answered, without symbols and with them.  With hundreds of
# threads, they are the same of each.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Copy qw(copy);
use File::Path qw(make_path);
use Test::File;
use Test::Form;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->utf8;
my $ring = $t->data('minidump/ring');

my $id = '0200b1bd7eae221944eb39646c85574ccd840e9f';
make_path($t->path("symbols/buildid/$id"));
copy("$ring/libring.so", $t->path("symbols/buildid/$id/$_")) or die $!
    for qw(executable debuginfo);
my $converter = $t->program('pdb2symcache');
$t->start_symcached({
    stores => { default => {
        root => $t->path('made'), sources => ['library'],
        transcoders => [
            { version => '9.0.0', inputs => ['elf'],
              command => [$converter, '{pdb}'] },
            { version => '1.0.0', inputs => ['elf'], makes => 'cficache',
              command => [$converter, '--kind', 'cficache', '{pdb}'] }],
    } },
    sources => { library => { type => 'filesystem', layout => 'debuginfod',
        path => $t->path('symbols') } },
});
$t->start_symbolicated;

# Without what needs source files, and without where they come from: there, the
# peer had a bundle beside the library, in a source of another type.
sub without_sources {
    my ($answer) = @_;
    for my $frame (map { @{ $_->{frames} } } @{ $answer->{stacktraces} }) {
        delete @$frame{qw(pre_context context_line post_context)};
    }
    for my $module (@{ $answer->{modules} }) {
        delete $module->{candidates};
        delete $module->{features}{has_sources};
    }
    return $answer;
}

my $dump = slurp("$ring/libring.dmp");

sub form_of {
    my ($sources, $bytes) = @_;
    return form(['sources', $sources], ['options', '{"dif_candidates":true}'],
        ['upload_file_minidump', $bytes, 'ring.dmp']);
}

sub ask {
    return $t->post($t->symbolicated_socket, '/minidump', form_of(@_),
        "Content-Type: $form_type");
}

sub is_peers {
    my ($name, $sources, $prepare) = @_;
    my $wanted = $json->decode(slurp("$ring/libring.$name.json"));
    my $r = ask($sources, $dump);
    is $r->{status}, $wanted->{status}, "$name: status";
    is_deeply $prepare->($json->decode($r->{body})),
        $prepare->($wanted->{answer}), "$name: answer";
}

is_peers('none', '[]', sub { $_[0] });
is_peers('sentry', '[{"id":"library"}]', \&without_sources);

# --- steps so large that they are taken in threads of their own

# A dump with the same threads so many times.
sub with_threads {
    my ($bytes, $times) = @_;
    my ($count, $at) = unpack 'x8VV', $bytes;
    for my $i (map { $at + 12 * $_ } 0 .. $count - 1) {
        my ($type, $size, $begin) = unpack 'VVV', substr $bytes, $i, 12;
        next if $type != 3;
        my $threads = unpack 'V', substr $bytes, $begin, 4;
        my $list = pack('V', $threads * $times)
            . substr($bytes, $begin + $size - 48 * $threads, 48 * $threads)
            x $times;
        substr $bytes, $i, 12, pack 'VVV', 3, length $list, length $bytes;
        return $bytes . $list;
    }
    die 'no threads';
}

my $library = '[{"id":"library"}]';
my $small = $json->decode(ask($library, $dump)->{body});
my $large = with_threads($dump, 100);
my $r = ask($library, $large);
is $r->{status}, 200, 'many threads: status';
my $got = $json->decode($r->{body});
my ($stacks, $wanted) = map { delete $_->{stacktraces} } $got, $small;
delete $_->{is_requesting} for @$stacks, @$wanted; # the first of each id
is_deeply $stacks, [(@$wanted) x 100], 'the frames of each';
is_deeply $got, $small, 'the rest is the same';

sub begin {
    my $type = "Content-Type: $form_type";
    my $bytes = form_of($library, $large);
    my $s = Test::Symcache::connect_to($t->symbolicated_socket);
    binmode $s;
    print $s "POST /minidump HTTP/1.1\r\nHost: x\r\n$type\r\nContent-Length: "
        . length($bytes) . "\r\n\r\n$bytes";
    $s->flush;
    return $s;
}

# clients that go, perhaps during a step
my $bodies = 'symbolicated_bodies_total';
for (1 .. 20) {
    my $before = $t->symbolicated_metric($bodies);
    my $s = begin();
    $t->wait_until('a worker has it', sub {
        $t->symbolicated_metric($bodies) > $before });
}
$t->wait_until('nothing is left of them', sub {
    $t->symbolicated_metric('symbolicated_spool_bytes') == 0 });
is ask('[]', $dump)->{status}, 200, 'others are answered';

# and the end of the daemon
my @open = map { begin() } 1 .. 4;
is $t->stop_symbolicated, 0, 'it stops';

$t->finish;
done_testing;
