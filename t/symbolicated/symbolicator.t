#!/usr/bin/env perl

# What Symbolicator answered to the same requests, from the same PDBs.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Pairs;
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

my $pairs = Test::Pairs->new($t,
    '31985172-45d8-44ed-b92b-943840f8c3d8' => 'win32-x64/winpty.pdb',
    '1fff1e0c-2ece-4bc3-9a99-eb5ab9f3309b' => 'win32-arm64/conpty.pdb');
$t->fill_store('store', $t->data('pdb/crash_with_srcsrv.pdb'));
$t->start_symbolicated({ stores => { default => { root => $t->path('store') } } });

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
    is_deeply {
        status => $r->{status},
        headers => Test::Pairs::headers($r, $w),
        body => exists $w->{body} ? $got
            : exists $w->{body_text} ? $r->{body} : undef,
    }, {
        status => $w->{status},
        headers => $w->{headers} // {},
        body => exists $w->{body} ? without_candidates($w->{body})
            : $w->{body_text},
    }, $name;
}

$pairs->replay('symbolicator', sub {
    my ($name, $r, $w) = @_;
    check($name, $r, $differs{$name} ? adapt($differs{$name}, $w) : $w);
});

$t->finish;
done_testing;
