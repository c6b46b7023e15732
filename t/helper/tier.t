#!/usr/bin/perl

# The shared tier, as a folder that several machines mount: two symcached, each
# with a disk of its own, share it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use Digest::SHA qw(hmac_sha256_hex sha256_hex);
use JSON::PP ();
use POSIX ();
use Test::Ctl;
use Test::More;
use Test::Symcache;
use Test::Tier;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $key = "crash.pdb/$id";
my $mac = 'k' x 32;
my $object = $t->path("tier/1/default/$key/v9.0.0.symcache");

mkdir $t->path('tier') or die;

my $fleet = Test::Tier->new($t, tier => { type => 'filesystem',
    path => $t->path('tier'), mac_key => $mac, lifetime => '30d' });

# (metadata, body) of the object
sub read_object {
    my ($head, $body) = split /\n\n/, $t->read_file($object), 2;
    my %meta = $head =~ /^(\w+): (.*)$/mg;
    return (\%meta, $body);
}

sub write_object {
    my ($meta, $body) = @_;
    unlink $object;
    $t->write_file($object, join("\n", 'symcache tier 1',
        map({ "$_: $meta->{$_}" } sort keys %$meta)) . "\n\n$body");
}

# The MAC as docs/fleet.md describes it.
sub mac_of {
    my ($m) = @_;
    return hmac_sha256_hex(join("\n", 'symcache-tier-1',
        "1/default/$key/v9.0.0.symcache", @$m{qw(size sha256)},
        $m->{source} // '', $m->{quality} // '', ''), $mac);
}

# --- the first machine makes and stores, the second finds

$fleet->machine;
is $fleet->ask($key), 200, 'made on the first machine';
$fleet->wait_metric('puts_total{result="stored"}', 1);
is $fleet->runs, 1, 'by its transcoder';
is $fleet->metric('gets_total{result="absent"}'), 1, 'the tier was asked, and had none';

my $plain = $t->read_file($fleet->file);
my ($meta, $body) = read_object();
is Compress::Zlib::memGunzip("$body"), $plain, 'the object is the file, gzipped';
is $meta->{sha256}, sha256_hex($plain), 'with its digest';
is $meta->{size}, length $plain, 'its size';
is "$meta->{source} $meta->{quality}", 'local full', 'its provenance';
is $meta->{mac}, mac_of($meta), 'and its MAC';
like $meta->{maker}, qr{^symcached/\d}, 'and who stored it';
is_deeply [grep { /\.tmp$/ } glob "$t->{dir}/tier/1/default/$key/.*"], [],
    'nothing unfinished is left';
is $fleet->ask($key), 200, 'a hit';
is $fleet->metric('gets_total{result="absent"}'), 1, 'asks no tier';

$fleet->machine;
is $fleet->ask($key), 200, 'found on the second machine';
is $fleet->runs, 0, 'no transcoder runs';
is $fleet->metric('gets_total{result="hit"}'), 1, 'one question to the tier';
is $t->helper_json('/v1/status')->{tiers}[0]{hit}, 1, 'which the status has';
is $fleet->metric('puts_total{result="stored"}') + $fleet->metric('puts_total{result="exists"}'),
    0, 'and nothing is stored again';
is $t->metric('symcached_places_total{form="plain"}'), 0, 'no source is asked';
is $t->read_file($fleet->file), $plain, 'the same bytes';
my $why = $fleet->why($key);
is $why->{tier}{outcome}, 'found', '"why" tells of the tier';
is $why->{tier}{source}, 'fleet', 'by its name';
is_deeply $why->{attempts}, [], 'which is none of the sources';
is $why->{files}[0]{source}, 'local', 'the provenance has come with the file';
$fleet->wait_log(qr/key=\Q$key\E outcome=published .* source=fleet /);

# --- absent keys

my $absent = 'absent.pdb/' . 'A' x 32 . '1';
is $fleet->ask($absent), 404, 'an absent key is a final 404';
is $fleet->metric('gets_total{result="absent"}'), 1, 'after one question';
is $fleet->ask($absent), 404, 'and again';
is $fleet->metric('gets_total{result="absent"}'), 1, 'without one';

# --- what is bad is refused, made again and replaced

sub refused {
    my ($label, $what) = @_;
    $fleet->machine;
    is $fleet->ask($key), 200, "$what: served";
    is $fleet->runs, 1, "$what: made from the source";
    is $fleet->metric("refused_total{why=\"$label\"}"), 1, "$what: refused ($label)";
    is $t->read_file($fleet->file), $plain,
        "$what: the right file";
    $fleet->wait_log(qr/tier fleet: "[^"]*" is refused \($label\)/);
    is $fleet->why($key)->{tier}{outcome}, 'unusable', "$what: \"why\" knows";
    $fleet->wait_metric('puts_total{result="stored"}', 1);
    my ($now, $bytes) = read_object();
    is Compress::Zlib::memGunzip("$bytes"), $plain, "$what: replaced";
    is $now->{mac}, mac_of($now), "$what: with a MAC";
}

write_object($meta, substr $body, 0, length($body) / 2);
refused('digest', 'a truncated object');

write_object($meta, '');
refused('digest', 'an empty object');

my $bad = $body;
substr($bad, length($bad) / 2, 1) ^= "\x01";
write_object($meta, $bad);
refused('digest', 'a damaged object');

write_object($meta, $body . 'more');
refused('digest', 'an object with something behind it');

my $other = "$plain.";
write_object($meta, Compress::Zlib::memGzip($other));
refused('digest', 'a longer file');

# a bomb is unpacked no further than the metadata say
write_object($meta, Compress::Zlib::memGzip("\0" x (64 << 20)));
refused('digest', 'a bomb');

my %poison = (%$meta, sha256 => sha256_hex($other), size => length $other);
write_object(\%poison, Compress::Zlib::memGzip($other));
refused('mac', 'another file with its own digest');

write_object({ %$meta, source => 'better' }, $body);
refused('mac', 'another provenance');

write_object({ map { $_ => $meta->{$_} } grep { $_ ne 'mac' } keys %$meta },
             $body);
refused('mac', 'an object without a MAC');

write_object({ %$meta, sha256 => 'x' }, $body);
refused('metadata', 'a bad digest');

unlink $object;
$t->write_file($object, 'not an object at all');
refused('metadata', 'another file');

unlink $object;
symlink $t->path('symbols/secret'), $object or die;
refused('metadata', 'a symbolic link');
ok !-l $object, 'which is replaced and not followed';

unlink $object;
POSIX::mkfifo($object, 0600) or die;
refused('metadata', 'a pipe');

# who has the key is trusted with the digest, but what is plainly no SymCache is
# not served
my $page = "<html><body>sign in</body></html>\n";
my %signed = (%$meta, sha256 => sha256_hex($page), size => length $page);
write_object({ %signed, mac => mac_of(\%signed) }, Compress::Zlib::memGzip($page));
refused('content', 'a page that is rightly signed');

# --- a PpdbCache: made on one machine, found on another, refused when damaged

my $weave = 'weave.pdb/6022E78B4BF44D048F9E21D7790ECE60FFFFFFFF';
my $library = $t->read_file($t->data('ppdb/weave.ppdbc'));
my $source = $t->write_file("symbols/$weave/weave.pdb",
    $t->read_file($t->data('ppdb/weave.pdb')));
my $shared = $t->path("tier/1/default/$weave/v1.0.0.ppdbcache");

# Asks the next machine, whose PpdbCache is to be the library's.
sub ppdbcache {
    my ($what) = @_;
    $fleet->machine;
    is $t->helper('GET', "/v1/ppdbcache/default/$weave?version=1.0.0&wait=60")
        ->{status}, 200, "a PpdbCache: $what";
    ok $t->read_file("store$fleet->{n}/$weave/weave.pdb-v1.0.0.ppdbcache")
        eq $library, 'as the library makes it';
}

ppdbcache('made');
$fleet->wait_metric('puts_total{result="stored"}', 1);
rename $source, $t->path('weave.pdb') or die;
ppdbcache('found in the tier, while no source has its PDB');
is $fleet->metric('gets_total{result="hit"}'), 1, 'by one question';
rename $t->path('weave.pdb'), $source or die;

my $damaged = $t->read_file($shared);
substr($damaged, -5, 1) ^= "\x01"; # in the CRC-32 of gzip
$t->write_file($shared, $damaged);
ppdbcache('made in place of a damaged object');
is $fleet->metric('refused_total{why="digest"}'), 1, 'which is refused';
$fleet->wait_metric('puts_total{result="stored"}', 1);

# --- what is wrong with one path is not the tier's fault

my ($named) = $object =~ m{^(.*/crash\.pdb)/};
rename $named, $t->path('named') or die;
$t->write_file($named, 'not a folder');
$fleet->machine;
is $fleet->ask($key), 200, 'a file in place of a folder: made here';
is $fleet->ask("crash.pdb/${_}1"), 404, 'and others beside it are absent'
    for map { $_ x 32 } qw(A B C);
is $fleet->metric('breaker{tier="fleet",way="get"}'), 0,
    'the tier is read all the same';
$fleet->wait_metric('puts_total{result="failed"}', 1);
is $fleet->metric('breaker{tier="fleet",way="put"}'), 0, 'and written';
is $fleet->metric('queue{tier="fleet"}'), 0,
    'without what cannot be stored';
unlink $named;
rename $t->path('named'), $named or die;

# --- a tier that fails costs nothing but the log

rename $t->path('tier'), $t->path('away') or die;
$fleet->machine;
is $fleet->ask($key), 200, 'a tier that is not mounted: made here';
is $fleet->ask($absent), 404, 'an absent key is a final 404 all the same';
is $fleet->metric('breaker{tier="fleet",way="get"}'), 1, 'its breaker is open';
my $missing = 'its folder ' . $t->path('tier') . ' is missing';
$fleet->wait_log(qr/tier fleet: not read for 30 s: \Q$missing\E$/m);
$fleet->wait_log(qr/tier fleet: nothing is stored for 30 s: \Q$missing\E$/m);
$fleet->wait_metric('breaker{tier="fleet",way="put"}', 1);
ok !-e $t->path('tier'), 'the folder is not made';
my ($status) = @{ $t->helper_json('/v1/status')->{tiers} };
is $status->{get}{breaker}, 'open', 'the status tells of it';
is $status->{get}{failure}, $missing, 'with the reason';
is $status->{queue}, 1, 'the file waits';
my $ctl = Test::Ctl->new($t);
my $told = $ctl->run('status', $ctl->socket)->{out};
like $told, qr/^fleet +left alone +left alone +1 +0 +0 +0 +$status->{failed} +0 +0$/m,
    'and symcachectl status';
like $told, qr/^  fleet is not $_: \Q$missing\E$/m, "not $_"
    for qw(read written);
rename $t->path('away'), $t->path('tier') or die;
unlink $object or die;
$t->reload_symcached($fleet->config);
is $fleet->metric('breaker{tier="fleet",way="get"}'), 0, 'a reload closes it';
$fleet->wait_metric('puts_total{result="stored"}', 1);
ok -e $object, 'and the file that waited is stored';
like $ctl->run('status', $ctl->socket)->{out}, qr/^fleet +ok +ok +0 /m, 'and symcachectl status';

# --- read_only, max_object, generation

$fleet->machine(read_only => JSON::PP::true());
is $fleet->ask($key), 200, 'read_only: found';
is $fleet->runs, 0, 'read_only: in the tier';

write_object($meta, '');
$fleet->machine(read_only => JSON::PP::true());
is $fleet->ask($key), 200, 'read_only: a bad one is refused';
$fleet->wait_log(qr/is refused \(digest\): [^;]*; the sources are asked$/m);

unlink $object or die;
$fleet->machine(read_only => JSON::PP::true());
is $fleet->ask($key), 200, 'read_only: made';
is $fleet->ask($key), 200, 'read_only: used';
ok !-e $object, 'read_only: not stored';

$fleet->machine(max_object => '1k');
is $fleet->ask($key), 200, 'max_object: made';
is $fleet->metric('puts_total{result="stored"}'), 0, 'max_object: not stored';
ok !-e $object, 'max_object: as it is larger';

$fleet->machine(generation => 'two');
is $fleet->ask($key), 200, 'generation: made';
$fleet->wait_metric('puts_total{result="stored"}', 1);
ok -e $t->path("tier/two/default/$key/v9.0.0.symcache"),
    'generation: it is the first part of the name';

# --- a file that is on the disk already, and is used

SKIP: {
    my $there = $t->path("tier/two/default/$key/v9.0.0.symcache");
    my $month = time - 16 * 86400;
    skip 'no extended attributes', 11 if !defined $fleet->note;

    $fleet->grow_old;
    is $fleet->ask($key), 200, 'a file that is in the tier is used';
    cmp_ok +(stat $fleet->file)[9], '>', time - 3600, 'which is noted';

    # half of its life is over, and somebody has removed it
    unlink $there or die;
    $fleet->grow_old($month);
    is $fleet->ask($key), 200, 'used, as its life is half over';
    $fleet->wait_metric('puts_total{result="stored"}', 2);
    ok -e $there, 'it is stored again where it was removed';

    $fleet->grow_old($month);
    utime $month, $month, $there or die;
    is $fleet->ask($key), 200, 'used again';
    $fleet->wait_metric('puts_total{result="refreshed"}', 1);
    cmp_ok +(stat $there)[9], '>', $month, 'and where it is, it is made young';
    is $fleet->metric('puts_total{result="stored"}'), 2, 'without its bytes';

    # a file that was there before the tier
    my $copy = $t->read_file($fleet->file);
    unlink $fleet->file, $there or die;
    $t->write_file($fleet->file, $copy);
    $fleet->grow_old;
    is $fleet->ask($key), 200, 'a file of which nothing is known is used';
    $fleet->wait_metric('puts_total{result="stored"}', 3);
    ok -e $there, 'and is stored';
}

# --- the process that compresses a file is killed

sub compressing {
    open my $fh, '<', "/proc/$t->{helper}/task/$t->{helper}/children" or return;
    return grep {
        ($t->read_file("/proc/$_/cmdline") // '') =~ /\0--gzip\0/
    } split ' ', <$fh> // '';
}
$plain = $t->read_file($fleet->file);
my $n = 0;
$t->wait_until('a compression is killed', sub {
    # a file that was on the disk before the tier is stored when it is used
    my $dir = 'store' . $fleet->{n} . '/killed' . ++$n . ".pdb/$Test::Tier::id";
    my $file = $t->write_file("$dir/killed$n.pdb-v9.0.0.symcache", $plain);
    utime time - 7200, time - 7200, $file;
    $fleet->ask("killed$n.pdb/$Test::Tier::id");
    for (1 .. 200) {
        my @pids = compressing() or next;
        kill 'KILL', @pids;
        last;
    }
    return $t->helper_log =~ /killed\d+\.pdb.* is not stored: its compression ended with signal 9 \(Killed\);/;
});
pass 'the log says how it ended';

$t->finish;
done_testing;
