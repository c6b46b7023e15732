#!/usr/bin/env perl

# Names of a megabyte that many frames have: an answer beyond
# "symbolication.limits.answer_size" is refused before it is written as a whole.

use strict;
use warnings;

use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::File qw(slurp spew);
use Test::More;
use Test::Sentry;
use Test::Symcache;

my $frames = 1000;
my $name = 'N' x (1 << 20);
my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;
my $s = Test::Sentry->new($t, token => 's3cret');

$t->start_symcached({
    stores => { default => { root => $t->path('store') } },
    symbolication => { limits => { answer_size => '2m' },
        symbolicator => { sources => 'allow', tenants => {
            root => $t->path('tenants'), count => 8, hosts => [$s->host] } } } });
$t->start_symbolicated;

# The most memory that it had, in KiB.
sub most {
    return slurp("/proc/$t->{symbolicated}/status") =~ /^VmHWM:\s+(\d+)/m
        ? $1 : die;
}

sub is_refused {
    my ($path, $request, $kind) = @_;
    my $before = most();
    my $r = $t->post($t->symbolicated_socket, "$path?scope=a",
        $json->encode($request), 'Content-Type: application/json');
    is $r->{status}, 422, "$kind: too large"
        or diag substr($r->{body}, 0, 200), substr $r->{body}, -400;
    like $r->{body}, qr/^the answer is too large/, '... which is told';
    cmp_ok most() - $before, '<', 256 << 10, '... without all that memory';
}

my $id = '5c1d3f3a-0000-4000-8000-000000000001';
$s->add(type => 'proguard', debug_id => $id,
    data => "a.$name -> a:\n    1:1:void m():1:1 -> b\n");
is_refused('/symbolicate-jvm', {
    sources => [{ type => 'sentry', id => 'x', url => $s->debug_files,
        token => 's3cret' }],
    modules => [{ uuid => $id, type => 'proguard' }],
    stacktraces => [{ exception => undef, frames => [map { {
        function => 'b', module => 'a', lineno => 1, index => $_ } }
        1 .. $frames] }] }, 'JVM');

$s->artifact('~/a.js', "x();\n//# sourceMappingURL=a.js.map\n");
$s->artifact('~/a.js.map', $json->encode({ version => 3, names => [$name],
    sources => ["$name.js"], sourcesContent => ["x();\n"],
    mappings => 'AAAAA' }));
is_refused('/symbolicate-js', {
    source => { id => 'x', url => $s->artifact_lookup, token => 's3cret' },
    release => '1', stacktraces => [{ frames => [map { {
        abs_path => 'https://example.com/a.js', lineno => 1, colno => 1 } }
        1 .. $frames] }] }, 'JavaScript');

is $t->stop_symbolicated, 0, 'symbolicated stops';
is $t->stop_symcached, 0, 'symcached stops';
$t->finish;
done_testing;
