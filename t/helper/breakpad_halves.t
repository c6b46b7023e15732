#!/usr/bin/env perl

# One source has the functions of a module, another one its unwind information,
# both as Breakpad files: what is made of them is the same in every order of
# sources and lookups.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Ctl;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = Test::Ctl->new($t);
my $id = '0123456789ABCDEF0123456789ABCDEF0';
my %records = (
    functions => "FILE 0 a.c\nFUNC 1000 10 0 f\n1000 10 3 0\n",
    unwind => "STACK CFI INIT 1000 10 .cfa: \$rsp 8 + .ra: .cfa 8 - ^\n",
);
$t->write_file("$_/a/$id/a.sym", "MODULE Linux x86_64 $id a\n$records{$_}")
    for keys %records;

my $config = $t->default_config('');
$config->{sources} = { map { $_ => { type => 'filesystem',
    layout => 'breakpad', path => $t->path($_) } } keys %records };
my $converter = $t->program('pdb2symcache');
$config->{stores}{default}{transcoders} = [
    { version => '9.0.0', inputs => ['breakpad'],
      command => [$converter, '{pdb}'] },
    { version => '1.0.0', makes => 'cficache',
      command => [$converter, '--kind', 'cficache', '{pdb}'] }];

my %versions = (symcache => '9.0.0', cficache => '1.0.0');
sub lookup {
    my ($kind, $version) = ($_[0], $versions{ $_[0] });
    return $t->helper('GET',
        "/v1/$kind/default/a/$id?version=$version&wait=60")->{status};
}

for my $sources (['functions', 'unwind'], ['unwind', 'functions']) {
    for my $kinds (['symcache', 'cficache'], ['cficache', 'symcache']) {
        my $name = "@$sources: @$kinds";
        $config->{stores}{default}{sources} = $sources;
        $t->start_symcached($config);
        is lookup($_), 200, "$name: $_" for @$kinds;
        my $file = $t->path("store/a/$id/a-v");
        $ctl->is($ctl->run('lookup', "${file}9.0.0.symcache", '1000'), 0,
            qr/^    f at a\.c:3$/m, undef, '... has the function');
        $ctl->is($ctl->run('verify', "${file}1.0.0.cficache"), 0,
            qr/ [1-9]\d* rules/, undef, '... and the rules');
        $t->stop_symcached;
        Test::Symcache::remove_tree($t->path($_)) for 'store', 'downloads';
    }
}

$t->finish;
done_testing;
