#!/usr/bin/env perl

# What Symbolicator answered to the same requests, from the same PDBs.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Copy qw(copy);
use File::Path qw(make_path);
use Test::More;
use Test::Pairs;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->allow_nonref;

# Pairs that we answer otherwise, and why; docs/symbolication-symbolicator.md lists them.
my %differs = (
    # the PDB is found: names are compared without case
    'debug-file-case' => 'case',
    # sources of a client's own are not asked, unless they are allowed: tenants.t
    map({ $_ => 'sources' } qw(poll-1-start sources-404-then-500
        sources-500-then-404 sources-http-401 sources-http-403
        sources-http-404 sources-http-500 sources-http-login-page
        sources-http-lowercase sources-http-ok sources-http-refused
        sources-two-both-404 sources-unified)),
    # and nothing waits under the id of that run: tenants.t has these, too
    map({ $_ => 'id' } qw(poll-2-pending poll-3-wait poll-4-again)),
);

my $pairs = Test::Pairs->new($t,
    '31985172-45d8-44ed-b92b-943840f8c3d8' => 'win32-x64/winpty.pdb',
    '1fff1e0c-2ece-4bc3-9a99-eb5ab9f3309b' => 'win32-arm64/conpty.pdb');
# The source is a folder, as Symbolicator's was.
sub add_pdb {
    my ($id, $file) = @_;
    my ($name) = $file =~ m{([^/]+)$};
    my $key = uc $id =~ tr/-//dr;
    my $dir = $t->path("symstore/$name/${key}1");
    make_path($dir);
    copy($file, $dir) or die "$dir: $!";
    return "$name/${key}1";
}
my @keys = map { add_pdb('3249d99d-0c40-4931-8610-f4e4fb0b6936',
    $t->data("pdb/$_.pdb")) } qw(crash crash_with_srcsrv);
push @keys, add_pdb($_, $pairs->{pdbs}{$_}) for sort keys %{ $pairs->{pdbs} };
# The image of one of them is beside its PDB.
my $winpty = $pairs->{pdbs}{'31985172-45d8-44ed-b92b-943840f8c3d8'};
if ($winpty) {
    my $dir = $t->path('symstore/winpty.dll/69485E8C45000');
    make_path($dir);
    copy($winpty =~ s/pdb$/dll/r, $dir) or die "$dir: $!";
} else {
    $pairs->{missing}{'69485e8c45000'} = 'win32-x64/winpty.dll';
}
$t->start_symcached({
    stores => { default => { root => $t->path('made'), sources => ['local'],
        transcoders => [{ version => '9.0.0', inputs => ['pdb', 'pe'], command =>
            [$t->program('pdb2symcache'), '--like-symbolic', '-pdb', '{pdb}'] }] } },
    sources => { local => { type => 'filesystem', forms => ['packed', 'plain'],
                            path => $t->path('symstore') } },
});
is $t->helper('GET', "/v1/symcache/default/$_?version=9.0.0&wait=60")->{status},
    200, "$_ is there" for @keys;
$t->start_symbolicated;

# What each kind of difference makes of an answer.
sub adapt {
    my ($why, $w) = @_;
    return { status => 422 } if $why eq 'sources';
    return { status => 404, body_text => '' } if $why eq 'id';
    return { status => 200, functions => ['winpty_conout_name(winpty_s*)'] };
}

# Places are the same, but none of images is looked in where the PDB is there,
# nor of .NET, and ages are in upper case.
sub adapt_candidates {
    my ($answer, $name) = @_;
    my $root = $t->path('symstore');
    for my $module (@{ $answer->{modules} // [] }) {
        my $list = $module->{candidates} or next;
        my $other = $name =~ /^code-id-/ ? qr/ffffffff/ : qr/\.dl[l_]$|ffffffff/;
        @$list = grep { $_->{location} !~ $other } @$list;
        for my $candidate (@$list) {
            $candidate->{location} =~ s{^file://\./symstore}{file://$root};
            $candidate->{location} =~ s{([0-9A-F]{32})a/}{$1A/};
        }
        delete $module->{candidates} if !@$list;
    }
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
        body => exists $w->{body} ? adapt_candidates($w->{body}, $name)
            : $w->{body_text},
    }, $name;
}

$pairs->replay('symbolicator', sub {
    my ($name, $r, $w) = @_;
    check($name, $r, $differs{$name} ? adapt($differs{$name}, $w) : $w);
});

$t->finish;
done_testing;
