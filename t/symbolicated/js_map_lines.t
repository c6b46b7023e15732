#!/usr/bin/env perl

# The correction "map-lines": tokens of a map that say the same as the last one of
# a line before are lost for Symbolicator, and are found with it.  All positions of
# the builds where that makes a difference; "peer" is what Symbolicator 26.8.0
# answered, "right" what @jridgewell/trace-mapping does.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::File qw(slurp);
use Test::More;
use Test::Sentry;
use Test::Symcache;

my $t = Test::Symcache->new;
plan skip_all => 'no extended attributes here, so files have no digest'
    if !$t->has_attributes;
my $json = JSON::PP->new->canonical->utf8;
my $shop = $t->data('javascript/shop');
my $s = Test::Sentry->new($t, token => 's3cret');

# Where a frame of each position comes from; undef where it is as it was.
sub places_of {
    my ($tool, @positions) = @_;
    my $r = $t->post($t->symbolicated_socket, "/symbolicate-js?scope=$tool",
        $json->encode({ source => { id => 'x', token => 's3cret',
            url => $s->artifact_lookup }, release => 'r1',
            stacktraces => [map { { frames => [{ lineno => $_->[0] + 1,
                colno => $_->[1] + 1,
                abs_path => "https://cdn.example.com/js/$tool.js" }] } }
                @positions] }), 'Content-Type: application/json');
    return [$r->{status}] if $r->{status} != 200;
    return [map { my $f = $_->{frames}[0]; $f->{data}{symbolicated}
        ? "$f->{filename}:$f->{lineno}:$f->{colno}" : undef }
        @{ $json->decode($r->{body})->{stacktraces} }];
}
# Of webpack the server tells "./" for "webpack://NAME/./".
sub place {
    my ($file, $line, $column) = @{ $_[0] }[2 .. 4];
    return undef if !defined $file;
    $file =~ s{^webpack://[\w-]+/\./}{./};
    return "$file:" . ($line + 1) . ':' . ($column + 1);
}

my %builds;
for my $file (glob "$shop/*.positions.json") {
    my ($tool) = $file =~ m{([^/]+)\.positions};
    my $d = $json->decode(slurp($file));
    my @all = map { [$d->{peer}[$_], $d->{right}[$_]] } 0 .. $#{ $d->{peer} };
    my @differ = grep { (place($_->[0]) // '') ne (place($_->[1]) // '') } @all;
    next if !@differ;
    $builds{$tool} = [@differ, @all[0 .. 20]];
    my $folder = $tool eq 'esbuild-nocontent' ? 'maps' : 'js';
    $s->artifact("~/js/$tool.js", slurp("$shop/$tool.js"), id => "$tool.js");
    $s->artifact("~/$folder/$tool.js.map", slurp("$shop/$tool.js.map"),
        id => "$tool.js.map") if -e "$shop/$tool.js.map";
}
cmp_ok scalar(keys %builds), '>', 0, 'there are builds with such lines';

for my $corrections ([], ['map-lines']) {
    $t->start_symcached({
        stores => { default => { root => $t->path('store') } },
        symbolication => { symbolicator => { sources => 'allow',
            corrections => $corrections, tenants => {
                root => $t->path('tenants'), hosts => [$s->host] } } },
    });
    $t->start_symbolicated;
    for my $tool (sort keys %builds) {
        my @of = @{ $builds{$tool} };
        is_deeply places_of($tool, map { $_->[0] } @of),
            [map { place($_->[@$corrections ? 1 : 0]) } @of],
            "$tool: " . (@$corrections ? 'with' : 'without') . ' the correction';
    }
    is $t->stop_symbolicated, 0, 'symbolicated stops';
    is $t->stop_symcached, 0, 'symcached stops';
}
$t->finish;
done_testing;
