#!/usr/bin/env perl

# A file that a former builder of our converter wrote, of the same version, is
# made anew in the background when it is used; it stays if that fails.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX ();
use Test::More;
use Test::Symcache;

my ($set, $get) = @{ { x86_64 => [188, 191], aarch64 => [5, 8] }
    ->{ (POSIX::uname())[4] } // [] };
plan skip_all => 'setxattr is not known on this machine' unless $set;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $file = $t->path("store/crash.pdb/$id/crash.pdb-v9.0.0.symcache");
my $attribute = 'user.symcached.source';
$t->symbol_store('sym');

sub noted {
    my ($path, $name, $text) = ($file, $attribute, "\0" x 256);
    my $n = syscall($get, $path, $name, $text, 256);
    return $n > 0 ? substr $text, 0, $n : '';
}

# Makes the file one of another builder, whose sources were asked an hour ago.
sub built_by {
    my ($builder) = @_;
    my ($source, $extent, undef, $features) = split / /, noted();
    my ($path, $name) = ($file, $attribute);
    my $text = join ' ', $source, $extent, time - 7200, $features, $builder;
    return syscall($set, $path, $name, $text, length $text, 0) == 0;
}

my $config = $t->default_config('http://127.0.0.1:1');
$config->{sources} = { upstream => { type => 'filesystem',
    path => $t->path('sym') } };
$config->{stores}{default}{transcoders}[0]{command} =
    [$t->program('pdb2symcache'), '{pdb}'];
$t->start_symcached($config);

sub lookup {
    return $t->helper('GET',
        "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=60")->{status};
}
sub no_jobs {
    $t->wait_until('no job', sub { !$t->helper_json('/v1/jobs')->{total} });
}

is lookup(), 200, 'a SymCache is made';
my ($builder) = noted() =~ / (\d+)$/;
plan skip_all => 'no extended attributes here' unless $builder;
cmp_ok $builder, '>', 1, 'its builder is noted';
my $inode = (stat $file)[1];

is lookup(), 200, 'used again';
no_jobs();
is((stat $file)[1], $inode, 'it stays');

built_by($builder - 1) or die "setxattr: $!";
is lookup(), 200, 'one of a former builder is served';
$t->wait_until('it is made anew', sub { (stat $file)[1] != $inode });
no_jobs();
like noted(), qr/ $builder$/, 'by this one';

# --- nothing can be made of it any more

$inode = (stat $file)[1];
Test::Symcache::remove_tree($t->path($_)) for 'sym', 'downloads';
mkdir $t->path('sym');
built_by($builder - 1) or die "setxattr: $!";
is lookup(), 200, 'one of a former builder, without its PDB';
no_jobs();
is((stat $file)[1], $inode, 'is still there');
is lookup(), 200, 'and served';

built_by(0) or die "setxattr: $!";
is lookup(), 200, 'one of another program';
no_jobs();
is((stat $file)[1], $inode, 'is left alone');

# --- only a PDB without its private symbols is there any more: bit 1 of the
# flags at byte 56 of the DBI stream

my $full = $t->read_file($t->data('pdb/crash.pdb'));
my $dbi = index $full, pack('l<L<', -1, 19990903);
my $publics = $full;
substr $publics, $dbi + 56, 1, chr(ord(substr $full, $dbi + 56, 1) | 2);
$t->write_file("sym/crash.pdb/$id/crash.pdb", $publics);
my $made = $t->read_file($file);
built_by($builder - 1) or die "setxattr: $!";
is lookup(), 200, 'one of a former builder, with all symbols';
$t->wait_until('a job has looked for a PDB', sub {
    $t->helper_log =~ /outcome=unchanged .*public symbols only/ });
ok $t->read_file($file) eq $made, 'it is not replaced by one with fewer';
like noted(), qr/^upstream full /, 'and keeps its source and extent';

# --- the tier has what the former builder wrote

$t->stop_symcached;
Test::Symcache::remove_tree($t->path($_)) for 'sym', 'store', 'downloads';
$t->symbol_store('sym');
mkdir $t->path('tier');
$config->{tiers} = { fleet => { type => 'filesystem', path => $t->path('tier'),
    mac_key => 'k' x 32 } };
$config->{stores}{default}{tier} = 'fleet';
$t->start_symcached($config);
sub stored { $t->metric('symcached_tier_puts_total{result="stored"}') }
is lookup(), 200, 'made, and put into the tier';
$t->wait_until('it is in the tier', sub { stored() == 1 });
$inode = (stat $file)[1];
built_by($builder - 1) or die "setxattr: $!";
is lookup(), 200, 'one of a former builder';
$t->wait_until('it is made anew', sub { (stat $file)[1] != $inode });
no_jobs();
like noted(), qr/ $builder$/, 'and not taken from the tier';
$t->wait_until('where it is replaced', sub { stored() == 2 });

# --- another machine takes it from there

my @noted = split / /, noted();
cmp_ok hex $noted[3], '>', 0, 'what its PDB has is noted';
Test::Symcache::remove_tree($t->path($_)) for 'store', 'downloads';
is lookup(), 200, 'another machine has it from the tier';
is $t->metric('symcached_tier_gets_total{result="hit"}'), 1, '... and nowhere else';
is join(' ', (split / /, noted())[0, 1, 3, 4]), join(' ', @noted[0, 1, 3, 4]),
    '... with its source, extent, features and builder';

is $t->stop_symcached, 0, 'symcached stops';
$t->finish;
done_testing;
