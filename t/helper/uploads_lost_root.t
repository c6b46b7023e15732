#!/usr/bin/env perl

# The mount point of "uploads.root" without its disk: an empty folder, in which
# no upload is called absent.

use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $u = Test::Uploads->new(cache => { retry_errors_after => '1s' });
my $t = $u->t;
my $id = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my @bearer = ('Authorization: Bearer 0123456789abcdef0123456789abcdef');
my $build = 'ab' x 20;
sub ask {
    my ($name, $of, $kind, $more) = @_;
    my $r = $t->helper('GET', '/v1/' . ($kind // 'debuginfo') . "/default/$name/"
        . ($of // $id) . '?version=1.0.0&wait=60' . ($more // ''));
    return "$r->{status}" . ($r->{raw} =~ /^Retry-After:/mi ? ' again' : '');
}
my $uuids = 0;
sub ask_list { # of bundles of scripts
    my $list = sprintf 'ecabd945-b6dc-5376-ae84-%012d', ++$uuids;
    return ask('_', 'hash-' . sha256_hex($list), 'source', "&artifacts=$list");
}
sub get { $u->request('GET', "/api/0/projects/acme/web/$_[0]", '', @bearer)->{status} }
sub lists { join ' ', map { get($_) } 'artifact-lookup/?release=web%401',
    "files/dsyms/?debug_id=3249d99d-0c40-4931-8610-f4e4fb0b6936-1",
    "files/dsyms/?id=crash.pdb/$id/crash.pdb" }
sub checks {
    join ' ', map { $_->{status} . ($_->{raw} =~ /^Retry-After:/mi ? ' again' : '') }
        $u->request('HEAD', "/symbols/out.pdb/$id/out.pdb", '',
            @Test::Uploads::token),
        $u->request('GET', "/symupload/v1/symbols/out.pdb/$id:checkStatus"
            . '?key=0123456789abcdef0123456789abcdef', ''),
        $u->request('POST', '/debuginfo.v1alpha1.DebuginfoService/ShouldInitiateUpload',
            '{"file":{"gnuBuildId":"' . $build . '","name":"out"}}', @bearer,
            'Content-Type: application/json') }
sub refused { $t->helper_json('/v1/status')->{uploads_not_ready} }
sub move { rename $t->path($_[0]), $t->path($_[1]) or die "$_[0]: $!" }

like ask('new.pdb'), qr/^404$/, 'a new root without uploads: absent';
like ask_list(), qr/^404$/, '... as is a list of bundles';
is lists(), '200 200 404', '... and nothing is listed';

for my $how ('of a running symcached', 'after a reload', 'after a restart') {
    my $name = $how =~ s/.* //r . '.pdb'; # one that no cache has
    is $u->put("$name/$id/$name", $pdb)->{status}, 201, 'an upload';
    move('uploads', 'away');
    mkdir $t->path('uploads') or die $!;
    $t->reload_symcached($u->config) if $how =~ /reload/;
    if ($how =~ /restart/) {
        $t->stop_symcached;
        $t->start_symcached($u->config);
    }
    is ask($name), '503 again', "$how: not absent, and to be asked again";
    is ask('_', "buildid-$build"), '503 again', '... nor one that has no index';
    is ask_list(), '503 again', '... nor a list of bundles';
    is $u->admin('POST', "/v1/discard/$name/$id/$name", 'Content-Length: 0')->{status}, 503,
         '... a removal is to be sent again';
    ok $t->wait_until('readiness', sub { refused() eq 'no-disk' }), '... and uploads are refused';
    rename $t->path('uploads'), $t->path('empty') or die $!;
    is ask($name), '503 again', '... as without the folder';
    system 'rm', '-rf', $t->path('empty');
    mkdir $t->path('empty') or die $!;
    move('away', 'uploads');
    ok $t->wait_until('it is found', sub { ask($name) eq '200' }),
        '... and found when the disk is back';
}
sub checked { my $config = $t->path('symcached.json');
    return qx('@{[$t->program('symcached')]}' -t -c '$config' 2>&1) }
unlike checked(), qr/\.present/, 'symcached -t';
move('uploads', 'away');
like checked(), qr{warning: uploads\.root: "\S+/uploads/\.present" was there and is missing},
    '... warns while the disk is lost';
move('away', 'uploads');

# a spool on another disk goes on taking bodies

mkdir $t->path($_) or die $! for 'out', 'out/.spool';
$u->{uploads} = { spool => $t->path('out/.spool') };
$t->stop_nginx;
$u->start_nginx('/srv/uploads' => $t->path('out'));
$t->reload_symcached($u->config);
is $u->put("out.pdb/$id/out.pdb", $pdb)->{status}, 201, 'a spool elsewhere';
is checks(), '200 200 200', '... and what is there can be checked';
move('uploads', 'away');
mkdir $t->path('uploads') or die $!;
is lists(), '503 503 503', 'no list says that there is nothing';
is $u->request('GET', "/symbfiles/BB/BB/$_", '')->{status}, 503, '... nor of a profiler\'s file'
    for 'BBBBBBBBBBBBBBBBBBBBBA/metadata.json';
is checks(), '503 again 503 again 503 again', '... nor does a check before an upload';
my $r = $u->put("lost.pdb/$id/lost.pdb", $pdb);
is $r->{status}, 500, 'nothing is stored in the empty mount point';
like $r->{body}, qr/"uploads\.root\\?" cannot be used: No such file/, 'which the answer says';
is_deeply [glob $t->path('uploads/{.*,*}')], [map { $t->path("uploads/$_") } '.', '..'], '... where nothing is';
rmdir $t->path('uploads') or die $!;
move('away', 'uploads');
is $u->put("lost.pdb/$id/lost.pdb", $pdb)->{status}, 201, 'it is when the disk is back';

# a root that was removed on purpose

move('uploads', 'away');
mkdir $t->path('uploads') or die $!;
is ask('gone.pdb'), '503 again', 'a new disk without files';
$t->write_file('uploads/.present', '');
ok $t->wait_until('what the operator has said', sub { ask('gone.pdb') =~ /^404$/ }), 'with the file it is a new root';

like $t->helper_log, qr{uploads/\.present" was there and is missing, .*\(2: No such}, 'which the log says';
like ask('other.pdb', ('1' x 33)), qr/^404$/, 'and what was never there is absent';

system 'rm', '-rf', $t->path('uploads');
move('away', 'uploads');

# what an earlier process has left there is seen when the disk is back

$t->stop_symcached;
my $peer = '127.0.0.1:' . Test::Symcache::free_port();
$t->write_file('uploads/.untold', "$peer /v1/changed/a.pdb/$id/a.pdb?id=$id\n");
$t->write_file('uploads/.changing/XXXXXX', "out.pdb\t$id\tout.pdb\t$id\n");
move('uploads', 'away');
mkdir $t->path('uploads') or die $!;
$u->{uploads}{peers} = [$peer];
$u->{cache}{clean_every} = '1s';
$t->start_symcached($u->config);
ok $t->wait_until('a pass', sub { defined $t->metric('symcached_uploads_builds{rule="no"}') }), 'the mount point is cleaned';
is_deeply [glob $t->path('uploads/{.*,*}')], [map { $t->path("uploads/$_") } '.', '..'], '... where nothing is made';
ok $t->wait_until('readiness', sub { refused() eq 'no-disk' }), 'uploads are refused';
rmdir $t->path('uploads') or die $!;
move('away', 'uploads');
ok $t->wait_until('the disk', sub { refused() eq '' }), '... until the disk is back';
ok $t->wait_until('the change', sub { !-e $t->path('uploads/.changing/XXXXXX') }), 'a change that was broken off is ended';
is $u->put("told.pdb/$id/told.pdb", $pdb)->{json}{untold}, $peer, 'a file that another machine is not told of';
like $t->read_file('uploads/.untold'), qr{/a\.pdb\?.*/told\.pdb\?}s, '... which is kept with the former ones';

# what a stop could not reach on the lost disk is removed by the next start
$t->stop_symcached;
$t->start_symcached($u->config);
$t->finish;
done_testing;
