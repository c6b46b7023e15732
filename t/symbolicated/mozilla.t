#!/usr/bin/env perl

# What Eliot answered to the same requests, with the same SymCaches.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib", "$FindBin::Bin/../convert/lib";
use Corpus;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->allow_nonref;

# what an answer of ours differs in, and why
my %differs = (
    'v5-err-jobs-null' => { status => 400, body => { title =>
        'job 0 is invalid' } },         # their 500
    'v5-err-top-number' => { status => 400, body => { title =>
        'job 0 is invalid' } },
);

# key => PDB
my %pdbs = ($Test::Symcache::key{'crash.pdb'} => $t->data('pdb/crash.pdb'));
my $corpus = Corpus->new;
my %wanted = (
    '3198517245D844EDB92B943840F8C3D81' => 'win32-x64/winpty.pdb',
    'FB9FB7D58AE247B9988973DAF157F7AB1' => 'win32-x64/conpty.pdb',
    '1FFF1E0C2ECE4BC39A99EB5AB9F3309B1' => 'win32-arm64/conpty.pdb',
);
for my $key (sort keys %wanted) {
    my ($input) = grep { $_->{origin} eq 'node-pty'
        && $_->{path} =~ m{/\Q$wanted{$key}\E$} } $corpus->inputs;
    $pdbs{$key} = $corpus->pdb($input)
        or diag("$wanted{$key}: ", $corpus->reason($input));
}
$t->fill_store('store', grep { defined } values %pdbs);
$t->start_symbolicated({ stores => { default => { root => $t->path('store') } } });

# times are whatever they are
sub without_times {
    my ($v, $in) = @_;
    return [map { without_times($_, $in) } @$v] if ref $v eq 'ARRAY';
    return $v unless ref $v eq 'HASH';
    return { map { my $k = $_; $k => $in && $k =~ /time/ ? '*'
                       : without_times($v->{$k}, $in || $k eq 'debug') }
                 keys %$v };
}

sub send_request {
    my ($q) = @_;
    my @headers = map { "$_: $q->{headers}{$_}" } keys %{ $q->{headers} };
    my $address = $t->symbolicated_socket;
    return $t->http($address, $q->{method}, $q->{path}, @headers)
        if $q->{method} ne 'POST';
    return $t->post($address, $q->{path}, $q->{body_text} // '', @headers);
}

open my $pairs, '<', $t->data('vectors/mozilla.jsonl') or die $!;
my ($replayed, $skipped) = (0, 0);
while (my $line = <$pairs>) {
    my $pair = $json->decode($line);
    my ($name, $q, $w) = @$pair{qw(name request response)};
    my @missing = map { $wanted{$_} }
        grep { !$pdbs{$_} && $line =~ /$_/i } sort keys %wanted;
    SKIP: {
        if (@missing && $w->{status} == 200) {
            $skipped++;
            skip "$name: no @missing", 1;
        }
        $replayed++;
        my $r = send_request($q);
        %$w = (%$w, %{ $differs{$name} // {} });
        my %headers = map { $_ => scalar Test::Symcache::header($r, $_) }
            keys %{ $w->{headers} };
        my ($got, $wanted) = ($r->{body}, $w->{body_text} // '');
        if (exists $w->{body}) {
            $got = without_times(eval { $json->decode($got) } // $got);
            $wanted = without_times($w->{body});
        }
        is_deeply { status => $r->{status}, body => $got,
                    headers => \%headers },
            { status => $w->{status}, body => $wanted,
              headers => $w->{headers} }, $name;
    }
}
note "$replayed pairs replayed, $skipped skipped";
cmp_ok $replayed, '>', 30, 'pairs were replayed';

# the Firefox Profiler: a page that sends a job for each library, and takes the
# sizes of functions; the last byte of a function is its own, the next is not

sub frames {
    my ($offsets, @headers) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate/v5', $json->encode({
        jobs => [{
            memoryMap => [['crash.pdb', $Test::Symcache::key{'crash.pdb'}]],
            stacks => [[map { [0, $_] } @$offsets]] }] }), @headers);
    return @{ $json->decode($r->{body})->{results}[0]{stacks}[0] };
}

my @origin = 'Origin: https://profiler.firefox.com';
my ($frame) = frames([0x2913], @origin);
is $frame->{function}, 'main(int, char**)', 'a frame for the Profiler';
my ($size, $offset) = map { hex } @$frame{qw(function_size function_offset)};
cmp_ok $size, '>', $offset, 'has the size of its function';
my $entry = 0x2913 - $offset;
my ($last, $next) = frames([$entry + $size - 1, $entry + $size]);
is_deeply [$last->{function}, hex $last->{function_offset}],
    [$frame->{function}, $size - 1], 'the last byte is in it';
isnt $next->{function} // '', $frame->{function}, 'the next one is not';
ok !exists $last->{function_size}, 'others get what they get from Eliot';

$t->finish;
done_testing;
