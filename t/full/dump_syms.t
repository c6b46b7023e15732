#!/usr/bin/perl

# dump_syms, which makes Breakpad's text of images and debug files, takes the
# PDB of an image from this server (conf-examples/symbols.conf): the text is the
# one that it makes with the PDB beside the image.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Copy qw(copy);
use Test::Example;
use Test::More;
use Test::Peer;
use Test::Symcache;

my $dump_syms = Test::Peer::folder('dump_syms') . '/bin/dump_syms';
plan skip_all => 'gcab is not installed' if system('gcab --version >/dev/null') != 0;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my ($name, $image) = qw(basic32.pdb basic32.dll);
my $key = $Test::Symcache::key{$name};

mkdir $t->path($_) or die $! for qw(beside alone);
copy($t->data("pdb/$image"), $t->path($_)) or die $! for qw(beside alone);
system('gcab', '-x', '-C', $t->path('beside'), $t->data('pdb/basic32.pd_')) == 0
    or die "gcab: $?";

my $config = $t->default_config('http://127.0.0.1:1');
$config->{sources} = { upstream => { type => 'filesystem',
                                     path => $t->symbol_store('symbols') } };
$config->{downloads} = $t->path('downloads');
$t->start_symcached($config);
my $listen = '127.0.0.1:' . Test::Symcache::free_port();
Test::Example::start($t, 'symbols.conf', address => $listen, put => {
    'listen 80;' => "listen $listen;",
    '/var/cache/symcached/downloads' => $t->path('downloads') });

# The text of the image in a folder.
sub text {
    my ($folder, @options) = @_;
    my $home = $t->path("$folder.home");
    mkdir $home;
    local @ENV{qw(HOME TMPDIR)} = ($home, $home);
    return scalar qx(cd '$dir/$folder' && '$dump_syms' @options $image 2>&1 </dev/null);
}

my $beside = text('beside');
cmp_ok scalar(() = $beside =~ /^FUNC .*test/mg), '>', 10, 'with the PDB beside it';
unlike text('alone'), qr/^FUNC .*test/m, 'without it';
is text('alone', '--symbol-server', "'SRV*$dir/cache*http://$listen/symbols'"),
    $beside, 'with this server the same as with the PDB beside it';
like $t->access_log, qr{"GET /symbols/$name/$key/$name \S+" 200},
    'which it got here';

$t->stop_nginx;
$t->stop_symcached;
$t->finish;
done_testing;
