#!/usr/bin/env perl

# PDBs that are larger than the memory of a transcoder: limits are for what a
# process has of its own, and not for the file that it maps; and a file of a
# folder is not copied.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::SparsePdb;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $id = $Test::Symcache::key{'crash.pdb'};
my $path = "crash.pdb/$id/crash.pdb";
my $size = 256 << 20;

chmod 0755, $dir; # nginx's workers are another user, perhaps
$t->write_file("$_/$path", '') for qw(files private young);
Test::SparsePdb::spread($t->data('pdb/crash.pdb'), "$dir/files/$path", $size,
    time - 86400);
plan skip_all => 'no sparse files here'
    if Test::SparsePdb::on_disk("$dir/files") > $size / 8;

# --- a folder of files that all may read, one that few may, one with a young
# file, and one of which files are to be copied; these three are small

for (['private', 0640, time - 86400], ['young', 0644, time]) {
    my ($name, $mode, $mtime) = @$_;
    $t->write_file("$name/$path", $t->read_file($t->data('pdb/crash.pdb')));
    utime $mtime, $mtime, "$dir/$name/$path" or die;
    chmod $mode, "$dir/$name/$path" or die;
}
$t->write_file("copy/$path", $t->read_file($t->data('pdb/crash.pdb')));
utime time - 86400, time - 86400, "$dir/copy/$path" or die;
my %config = (
    stores => { map { ($_ => { root => "$dir/store/$_", sources => [$_],
        transcoders => [{ version => '9.0.0',
            command => [$t->program('pdb2symcache'), '--like-symbolic', '-pdb', '{pdb}'] }] }) }
        qw(files private young copy) },
    sources => { map { ($_ => { type => 'filesystem', path => "$dir/$_",
        $_ eq 'copy' ? (copy => JSON::PP::true()) : () }) }
        qw(files private young copy) },
    limits => { transcode_memory => '64m' },
);
$t->start_symcached(\%config);

# A file that was changed in this second may be changed once more: it is copied.
sub settle {
    my $file = "$dir/files/$path";
    $t->wait_until('a later second', sub { CORE::time() > (stat $file)[10] });
}
settle();
my $r = $t->helper('GET',
    "/v1/symcache/files/crash.pdb/$id?version=9.0.0&wait=60");
is $r->{status}, 200, 'a SymCache of a PDB of four times that memory'
    or diag $t->helper_log;
$t->fill_store('expected', $t->data('pdb/crash.pdb'));
my $made = "crash.pdb/$id/crash.pdb-v9.0.0.symcache";
is $t->sha256($t->read_file("store/files/$made")),
    $t->sha256($t->read_file("expected/$made")),
    'is that of the PDB whose blocks lie together';

# --- the original: what a debugger gets has no bytes of its own

sub original {
    my ($store) = @_;
    return $t->helper('GET', "/v1/debuginfo/$store/crash.pdb/$id"
        . '?version=1.0.0&wait=60')->{status};
}
my $before = Test::SparsePdb::on_disk($dir);
is original('files'), 200, 'the original';
cmp_ok Test::SparsePdb::on_disk($dir) - $before, '<', 65536,
    'takes no room on the disk';
my $here = "$dir/downloads/files/$path";
is -s $here, $size, 'and is all of it';
ok !$t->metric('symcached_download_bytes_total')
    || $t->metric('symcached_download_bytes_total') <= 2 * $size, 'no bytes';
my $uses = (stat "$dir/files/$path")[9];
utime time - 7200, time - 7200, "$dir/files/$path" or die;
settle();
is original('files'), 200, 'asked for again';
is((stat "$dir/files/$path")[9], (stat _)[9], 'the source has its own times');
if (-l $here) {
    rename "$dir/files/$path", "$dir/files/$path.gone" or die;
    is original('files'), 404, 'a file that is gone at its source is gone';
    rename "$dir/files/$path.gone", "$dir/files/$path" or die;
    settle();
    $t->helper('POST', "/v1/forget/files/crash.pdb/$id", 'Content-Length: 0');
    is original('files'), 200, 'and is there when it is';
}

for (['private', 'a file that nginx may not read'],
     ['young', 'a file that may still be written to'],
     ['copy', 'a file of a folder with "copy"']) {
    my ($store, $what) = @$_;
    is original($store), 200, $what;
    my $copy = "$dir/downloads/$store/$path";
    ok -f $copy && !-l $copy, '- is copied';
    is((stat $copy)[2] & 0777, 0644, '- for all to read');
    isnt((stat $copy)[1], (stat "$dir/$store/$path")[1], '- as another file');
}
is((stat "$dir/private/$path")[2] & 0777, 0640, 'the source keeps its mode');

# --- cleaning removes the link, and nothing else: for its age, because on some
# file systems a link takes no room, and is not removed to make some

my $link = lstat($here) ? 1 : 0;
ok $link, 'a download';
system('touch', '-h', '-d', '2 hours ago', $here) == 0 or die 'touch';
$t->reload_symcached({ %config, cache => { clean_every => '1s',
    downloads_max_unused_for => '1h' } });
$t->wait_until('it is removed', sub { !lstat $here });
is -s "$dir/files/$path", $size, 'the file stays in its folder';

$t->finish;
done_testing;
