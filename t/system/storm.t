#!/usr/bin/perl

# 200 clients ask at the same moment for the same unknown PDB, half of them
# holding: one download, one conversion, identical bytes for everybody.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my ($up, $symbols) = Test::Symcache->symbol_nginx;

my $t = Test::Symcache->new;
$t->start_symcached($t->default_config($symbols,
                                       gated => 1));
$t->start_nginx($t->default_locations, workers => 2);

my $path = $t->request_path('crash.pdb');
my (@hold, @poll);
for (1 .. 100) {
    push @hold, $t->open_http($t->nginx_socket, 'GET', "/hold/$path");
    push @poll, $t->open_http($t->nginx_socket, 'GET', "/poll/$path");
}

my @r = map { $t->read_response($_) } @poll;
is scalar(grep { $_->{status} == 404 && $_->{headers}{'retry-after'} } @r),
    100, '100 are told to retry';

$t->wait_until('the transcoder runs', sub { $t->runs });
$t->write_file('gate', '');

@r = map { $t->read_response($_) } @hold;
is scalar(grep { $_->{status} == 200 } @r), 100, '100 holders get 200';
my %sha = map { $t->sha256($_->{body}) => 1 } @r;

@r = map { $t->get("/poll/$path") } 1 .. 100;
is scalar(grep { $_->{status} == 200 } @r), 100, 'the others get it then';
$sha{ $t->sha256($_->{body}) } = 1 for @r;
is scalar(keys %sha), 1, 'identical bytes for all';

is $t->runs, 1, 'one transcoder process ran';
my @downloads = $up->access_log =~ /^200 \d+ "GET .*crash\.pdb /mg;
is scalar(@downloads), 1, 'the symbol server saw one download';

$t->finish;
$up->finish;
done_testing;
