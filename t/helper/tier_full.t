#!/usr/bin/env perl

# A tier in a folder that becomes full: uploads are refused for that, leave
# nothing behind, and can be removed; what it has is read.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Mount;
use Test::More;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;

my $u = Test::Uploads->new;
my ($t, $dir) = ($u->t, $u->t->dir);
my $id = $Test::Symcache::key{'crash.pdb'};
my $path = "crash.pdb/$id/crash.pdb"; # 1 MB
my $pdb = $t->read_file($t->data("pdb/crash.pdb"));
my $sym = "MODULE windows x86_64 $id crash.pdb\nPUBLIC 1000 0 main\n";

my $config = $u->config;
$config->{stores}{default}{tier} = 'fleet';
$config->{tiers} = { fleet => { type => 'filesystem', path => "$dir/tier" } };
Test::Mount::small("$dir/tier", '1500k');
$t->stop_symcached;
$t->start_symcached($config);

sub files { return map { chomp; s{^\Q$dir/$_[0]/\E}{}r } `find $dir/$_[0] -type f` }
sub removed { $u->admin('POST', "/v1/discard/$_[0]", 'Content-Length: 0')->{status} }

is $u->put($path, $pdb)->{status}, 201, 'an upload that has room';
my @files = (sort(files('tier')), sort(files('uploads')));
my $full = qr/the tier "fleet" does not take $path: .*No space left on device/;
for my $n (1 .. 5) {
    my $r = $u->put("$path?try=1", $pdb);
    is $r->{status}, 507, "one that has none ($n)" or diag $r->{raw};
    like $r->{json}{detail}, $full, '... and why';
}
is_deeply [sort(files('tier')), sort(files('uploads'))], \@files, 'nothing is left of them';
is $t->helper_json('/v1/status')->{uploads_not_ready}, 'no-tier', 'the status has it';
my $r = $u->upload(Test::Zip::zip(["crash.pdb/$id/crash.sym", $sym], [$path, $pdb]),
                   try => 1);
is $r->{status}, 507, 'an archive with a member that has room' or diag $r->{raw};
like $r->{json}{error}, $full, '... names the other';
is_deeply [grep { /^\.try/ } files('uploads')], [], '... and none is stored';
is $t->helper('GET', "/v1/debuginfo/default/crash.pdb/$id?version=1.0.0&wait=60")
    ->{status}, 200, 'what it has is read';

is removed($path), 200, 'removed';
is $u->put("$path?try=1", $pdb)->{status}, 201, 'then the other has room';
is $t->helper_json('/v1/status')->{uploads_not_ready}, '', 'as the status says';

$t->stop_nginx;
is $t->stop_symcached, 0, 'stopped';
Test::Mount::gone("$dir/tier");
$t->finish;
done_testing;
