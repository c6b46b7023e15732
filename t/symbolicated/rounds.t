#!/usr/bin/env perl

# A call of two rounds, modules and then the images of those whose PDBs nobody
# has: an image's file is cut short while another one is made.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;

my $pe = do {
    my $file = $t->data('convert/pe/mingw-5.dll');
    -e $file ? $t->read_file($file) : scalar qx(zstd -qdc '$file.zst');
};
plan skip_all => 'no zstd' unless $pe;
my $at = unpack 'V', substr $pe, 0x3c, 4;
my ($stamp, $size) = map { unpack 'V', substr $pe, $at + $_, 4 } 8, 80;
my $image = sprintf '%08X%x', $stamp, $size;
my @names = ('cut', 'slow');
$t->write_file("sym/$_.dll/$image/$_.dll", $pe) for @names;

my @gated = ("$FindBin::Bin/../bin/gated", $t->path('gate'), $t->path('runs'));
my $config = $t->default_config('');
$config->{stores}{default}{sources} = ['local'];
$config->{sources} = { local => { type => 'filesystem', path => $t->path('sym') } };
$config->{stores}{default}{transcoders} = [{ version => '9.0.0',
    inputs => ['pdb', 'pe'], profile => 'none',
    command => [@gated, $t->program('pdb2symcache'), '-pdb', '{pdb}'] }];
$config->{symbolication} = { stores => ['default'] };
$t->start_symcached($config);
$t->start_symbolicated;

# The candidates of modules whose images there are.
sub candidates {
    my (@of) = @_;
    my @modules = map { { type => 'pe', debug_file => "$_.pdb",
        debug_id => sprintf('%08x-0000-4000-8000-000000000001-1', length),
        code_file => "$_.dll", code_id => $image, image_size => 0x100000,
        image_addr => sprintf('0x%x', 0x100000 * length) } } @of;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate', $json->encode({
        modules => \@modules, options => { dif_candidates => JSON::PP::true },
        stacktraces => [{ frames => [map { { instruction_addr =>
            sprintf '0x%x', 0x100000 * length() + 0x171a } } @of] }] }),
        'Content-Type: application/json');
    return $r->{status} unless $r->{status} == 200;
    return $json->decode($r->{body})->{modules};
}

$t->write_file('gate', '');
my $before = candidates('cut');
is $before->[0]{debug_status}, 'found', 'an image, whose places are noted'
    or diag explain $before;

unlink $t->path('gate');
unlink $t->path('runs');
pipe my $in, my $out or die;
my $pid = fork // die "fork: $!";
if (!$pid) {
    print $out $json->encode(candidates(@names));
    close $out;
    POSIX::_exit(0);
}
close $out;
$t->wait_until('the second image is made', sub { -s $t->path('runs') });
my ($file) = glob $t->path("store/cut.dll/*/*.symcache");
truncate $file, 4 or die "$file: $!";
$t->write_file('gate', '');
my $after = $json->decode(do { local $/; <$in> });
waitpid $pid, 0;
is $after->[1]{debug_status}, 'found', 'it has names';
is $after->[0]{debug_status}, 'malformed', 'and the one that was cut has none';
is_deeply [map { $_->{location} } @{ $after->[0]{candidates} }],
    [map { $_->{location} } @{ $before->[0]{candidates} }],
    'each place is told once';
is scalar(grep { $_->{download}{status} eq 'ok' }
    @{ $after->[0]{candidates} }), 1, 'that of the image as well'
    or diag explain $after->[0];
ok Test::Symcache::alive($t->{symbolicated}), 'the daemon lives';

$t->finish;
done_testing;
