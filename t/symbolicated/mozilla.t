#!/usr/bin/env perl

# What Eliot answered to the same requests, with the same SymCaches.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Pairs;
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

my $pairs = Test::Pairs->new($t,
    '3198517245D844EDB92B943840F8C3D81' => 'win32-x64/winpty.pdb',
    'FB9FB7D58AE247B9988973DAF157F7AB1' => 'win32-x64/conpty.pdb',
    '1FFF1E0C2ECE4BC39A99EB5AB9F3309B1' => 'win32-arm64/conpty.pdb');
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

$pairs->replay('mozilla', sub {
    my ($name, $r, $w) = @_;
    %$w = (%$w, %{ $differs{$name} // {} });
    my ($got, $wanted) = ($r->{body}, $w->{body_text} // '');
    if (exists $w->{body}) {
        $got = without_times(eval { $json->decode($got) } // $got);
        $wanted = without_times($w->{body});
    }
    is_deeply { status => $r->{status}, body => $got,
                headers => Test::Pairs::headers($r, $w) },
        { status => $w->{status}, body => $wanted,
          headers => $w->{headers} }, $name;
});

$t->finish;
done_testing;
