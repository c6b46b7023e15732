#!/usr/bin/env perl

# A source in the layout of Elastic's symbol store has symbfiles, packed with
# zstd, by the ids of profilers.  Names are those of the worked example of the
# format's description.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(make_path);
use Test::More;
use Test::Symcache;

my ($zstd) = grep { -x } map { "$_/zstd" } split /:/, $ENV{PATH};
plan skip_all => 'there is no zstd' unless $zstd;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my %hex = ('p-eeioXaabrVw_6iCTQqyQ' => 'a7e79e8a85da69bad5c3fea209342ac9',
           'r1Vw9aGBC3r3jK9LxwpmDw' => 'af5570f5a1810b7af78caf4bc70a660f',
           '28gM-KeK9Y2Z4kV4Pp0VZA' => 'dbc80cf8a78af58d99e245783e9d1564');
sub folder { my ($id) = @_; "$dir/symbols/" . substr($id, 0, 2) . '/' . substr($id, 2, 2) . "/$id" }

make_path(folder($_)) for keys %hex;
my $ranges = $t->data('convert/symbfile/ranges.symbfile');
system("'$zstd' -qc '$ranges' > '@{[folder('p-eeioXaabrVw_6iCTQqyQ')]}/ranges'") == 0 or die;
# what is no symbfile
system("echo nothing | '$zstd' -qc > '@{[folder('28gM-KeK9Y2Z4kV4Pp0VZA')]}/ranges'") == 0 or die;

my $config = $t->default_config('http://127.0.0.1:1');
$config->{sources} = { elastic => { type => 'filesystem', layout => 'symbfile',
                                    path => "$dir/symbols" } };
$config->{stores}{default}{sources} = ['elastic'];
$config->{stores}{default}{transcoders}[0]{inputs} = ['symbfile'];
$t->start_symcached($config);

sub get { $t->helper('GET', "/v1/symcache/default/_/hash-$hex{$_[0]}?version=9.0.0&wait=30") }
my $r = get('p-eeioXaabrVw_6iCTQqyQ');
is $r->{status}, 200, 'a SymCache of a symbfile' or diag $r->{raw}, $t->helper_log;
my ($symcache) = glob "$dir/store/_/hash-$hex{'p-eeioXaabrVw_6iCTQqyQ'}/*.symcache";
like scalar qx{'@{[$t->program('symcachectl')]}' lookup '$symcache' 0x2024},
    qr/vec_push.*run_loop/s, '... has its names';
is get('r1Vw9aGBC3r3jK9LxwpmDw')->{status}, 404, 'an id without ranges';
isnt get('28gM-KeK9Y2Z4kV4Pp0VZA')->{status}, 200, 'ranges that are none';
is $t->helper('GET', '/v1/symcache/default/crash.pdb/3249D99D0C4049318610F4E4FB0B69361'
              . '?version=9.0.0&wait=30')->{status}, 404, 'there is nothing else';
unlike $t->helper_log, qr{symbols/crash}, '... and it is not looked for';
$t->finish;
done_testing;
