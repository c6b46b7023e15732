#!/usr/bin/env perl

# What Symbolicator answered to the same requests, from the same PDBs.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib", "$FindBin::Bin/../convert/lib";
use Corpus;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->allow_nonref;

# Pairs that we answer otherwise, and why; docs/symbolication.md tells it, too.
my %differs = (
    # exported names of an image: the store has SymCaches of PDBs
    map({ $_ => 'image' } qw(code-id-only code-id-upper code-id-wrong-debug)),
    # the PDB is found: names are compared without case
    'debug-file-case' => 'case',
    # sources of a client's own are not asked
    map({ $_ => 'sources' } qw(poll-1-start sources-404-then-500
        sources-500-then-404 sources-http-401 sources-http-403
        sources-http-404 sources-http-500 sources-http-login-page
        sources-http-lowercase sources-http-ok sources-http-refused
        sources-two-both-404 sources-unified)),
    # and nothing waits under the id of that run
    map({ $_ => 'id' } qw(poll-2-pending poll-3-wait poll-4-again)),
);

# key => PDB
my %pdbs = map { $Test::Symcache::key{"$_.pdb"} => $t->data("pdb/$_.pdb") }
    'crash';
my $corpus = Corpus->new;
my %wanted = (
    '31985172-45d8-44ed-b92b-943840f8c3d8' => 'win32-x64/winpty.pdb',
    '1fff1e0c-2ece-4bc3-9a99-eb5ab9f3309b' => 'win32-arm64/conpty.pdb',
);
for my $id (sort keys %wanted) {
    my ($input) = grep { $_->{origin} eq 'node-pty'
        && $_->{path} =~ m{/\Q$wanted{$id}\E$} } $corpus->inputs;
    $pdbs{$id} = $corpus->pdb($input)
        or diag("$wanted{$id}: ", $corpus->reason($input));
}
$t->fill_store('store', $t->data('pdb/crash_with_srcsrv.pdb'),
               grep { defined } values %pdbs);
$t->start_symbolicated({ stores => { default => { root => $t->path('store') } } });

sub send_request {
    my ($q) = @_;
    my @headers = map { "$_: $q->{headers}{$_}" } keys %{ $q->{headers} };
    my $address = $t->symbolicated_socket;
    return $t->http($address, $q->{method}, $q->{path}, @headers)
        if $q->{method} ne 'POST';
    return $t->post($address, $q->{path}, $q->{body_text} // '', @headers);
}

# What each kind of difference makes of an answer.
sub adapt {
    my ($why, $w) = @_;
    return { status => 422 } if $why eq 'sources';
    return { status => 404, body_text => '' } if $why eq 'id';
    return { status => 200, functions => $why eq 'case'
        ? ['winpty_conout_name(winpty_s*)'] : [] };
}

# where a PDB was looked for is not told
sub without_candidates {
    my ($answer) = @_;
    delete $_->{candidates} for @{ $answer->{modules} // [] };
    return $answer;
}

sub check {
    my ($name, $r, $w) = @_;
    my $got = eval { $json->decode($r->{body}) };
    if ($w->{functions}) {
        my @functions = grep { defined } map { $_->{function} }
            map { @{ $_->{frames} } } @{ $got->{stacktraces} };
        return is_deeply [$r->{status}, @functions],
            [$w->{status}, @{ $w->{functions} }], $name;
    }
    my %headers = map { $_ => scalar Test::Symcache::header($r, $_) }
        keys %{ $w->{headers} };
    is_deeply {
        status => $r->{status},
        headers => \%headers,
        body => exists $w->{body} ? $got
            : exists $w->{body_text} ? $r->{body} : undef,
    }, {
        status => $w->{status},
        headers => $w->{headers} // {},
        body => exists $w->{body} ? without_candidates($w->{body})
            : $w->{body_text},
    }, $name;
}

open my $pairs, '<', $t->data('vectors/symbolicator.jsonl') or die $!;
my ($replayed, $skipped) = (0, 0);
while (my $line = <$pairs>) {
    my $pair = $json->decode($line);
    my ($name, $q, $w) = @$pair{qw(name request response)};
    my @missing = map { $wanted{$_} }
        grep { !$pdbs{$_} && $line =~ /$_/ } sort keys %wanted;
    SKIP: {
        if (@missing && $w->{status} == 200) {
            $skipped++;
            skip "$name: no @missing", 1;
        }
        $replayed++;
        $w = adapt($differs{$name}, $w) if $differs{$name};
        check($name, send_request($q), $w);
    }
}
note "$replayed pairs replayed, $skipped skipped";
cmp_ok $replayed, '>', 30, 'pairs were replayed';

$t->finish;
done_testing;
