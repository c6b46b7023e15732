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
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $key = "crash.pdb/$id";
my $mac = 'k' x 32;
my $object = $t->path("tier/1/default/$key/v9.0.0.symcache");
my $file = "crash.pdb-v9.0.0.symcache";

$t->symbol_store('symbols');
mkdir $t->path('tier') or die;

my %tier = (type => 'filesystem', path => $t->path('tier'), mac_key => $mac,
            lifetime => '30d');

# The configuration of one of the machines.
sub config {
    my ($n, %more) = @_;
    my $count = $t->path("runs$n");
    return {
        stores => { default => {
            root => $t->path("store$n"),
            transcoders => [{ version => '9.0.0', profile => 'none',
                command => ['/bin/sh', '-c', "echo >>$count; exec "
                    . $t->program('pdb2symcache') . ' -pdb "$0" -o "$1"',
                    '{pdb}', "{out}/$file"] }],
            sources => ['local'], tier => 'fleet',
        } },
        downloads => $t->path("downloads$n"),
        sources => { local => { type => 'filesystem',
            path => $t->path('symbols'), layout => 'symstore' } },
        tiers => { fleet => { %tier, %more } },
        cache => { retry_errors_after => '1s' },
    };
}

sub runs { scalar(() = ($t->read_file("runs$_[0]") // '') =~ /\n/g) }
sub metric { $t->metric("symcached_tier_$_[0]") }
sub ask { $t->helper('GET', "/v1/symcache/default/$_[0]?version=9.0.0&wait=60") }
sub why { $t->helper_json("/v1/why/default/$_[0]") }

sub wait_metric {
    my ($name, $value) = @_;
    $t->wait_until("$name is $value", sub { metric($name) == $value });
}

# Starts the helper of a machine, in place of the one before.
my $machine = 0;
sub machine {
    my ($n, %more) = @_;
    $t->stop_symcached if $machine;
    $machine = $n;
    $t->start_symcached(config($n, %more));
}

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

machine(1);
is ask($key)->{status}, 200, 'made on the first machine';
wait_metric('puts_total{result="stored"}', 1);
is runs(1), 1, 'by its transcoder';
is metric('gets_total{result="absent"}'), 1, 'the tier was asked, and had none';

my $plain = $t->read_file($t->path("store1/$key/$file"));
my ($meta, $body) = read_object();
is Compress::Zlib::memGunzip("$body"), $plain, 'the object is the file, gzipped';
is $meta->{sha256}, sha256_hex($plain), 'with its digest';
is $meta->{size}, length $plain, 'its size';
is "$meta->{source} $meta->{quality}", 'local full', 'its provenance';
is $meta->{mac}, mac_of($meta), 'and its MAC';
like $meta->{maker}, qr{^symcached/\d}, 'and who stored it';
is_deeply [grep { /\.tmp$/ } glob "$t->{dir}/tier/1/default/$key/.*"], [],
    'nothing unfinished is left';
is ask($key)->{status}, 200, 'a hit';
is metric('gets_total{result="absent"}'), 1, 'asks no tier';

machine(2);
is ask($key)->{status}, 200, 'found on the second machine';
is runs(2), 0, 'no transcoder runs';
is metric('gets_total{result="hit"}'), 1, 'one question to the tier';
is metric('puts_total{result="stored"}') + metric('puts_total{result="exists"}'),
    0, 'and nothing is stored again';
is $t->metric('symcached_places_total{form="plain"}'), 0, 'no source is asked';
is $t->read_file($t->path("store2/$key/$file")), $plain, 'the same bytes';
my $why = why($key);
is $why->{tier}{outcome}, 'found', '"why" tells of the tier';
is $why->{tier}{source}, 'fleet', 'by its name';
is_deeply $why->{attempts}, [], 'which is none of the sources';
is $why->{files}[0]{source}, 'local', 'the provenance has come with the file';
$t->wait_until('the log says where it came from', sub { $t->helper_log =~
    /key=\Q$key\E outcome=published .* source=fleet / });

# --- absent keys

my $absent = 'absent.pdb/' . 'A' x 32 . '1';
is ask($absent)->{status}, 404, 'an absent key is a final 404';
is metric('gets_total{result="absent"}'), 1, 'after one question';
is ask($absent)->{status}, 404, 'and again';
is metric('gets_total{result="absent"}'), 1, 'without one';

# --- what is bad is refused, made again and replaced

my $n = 2;
sub refused {
    my ($label, $what) = @_;
    machine(++$n);
    is ask($key)->{status}, 200, "$what: served";
    is runs($n), 1, "$what: made from the source";
    is metric("refused_total{why=\"$label\"}"), 1, "$what: refused ($label)";
    is $t->read_file($t->path("store$n/$key/$file")), $plain,
        "$what: the right file";
    $t->wait_until("$what: logged", sub {
        $t->helper_log =~ /tier fleet: "[^"]*" is refused \($label\)/ });
    is why($key)->{tier}{outcome}, 'unusable', "$what: \"why\" knows";
    wait_metric('puts_total{result="stored"}', 1);
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

# who has the key is trusted with the digest, but what is plainly no SymCache is
# not served
my $page = "<html><body>sign in</body></html>\n";
my %signed = (%$meta, sha256 => sha256_hex($page), size => length $page);
write_object({ %signed, mac => mac_of(\%signed) }, Compress::Zlib::memGzip($page));
refused('content', 'a page that is rightly signed');

# --- a tier that fails costs nothing but the log

rename $t->path('tier'), $t->path('away') or die;
my $down = config(++$n);
$t->stop_symcached;
$t->start_symcached($down);
is ask($key)->{status}, 200, 'a tier that is not mounted: made here';
is ask($absent)->{status}, 404, 'an absent key is a final 404 all the same';
is metric('breaker{tier="fleet",way="get"}'), 1, 'its breaker is open';
$t->wait_until('the log says why', sub {
    $t->helper_log =~ /tier fleet: not read for 30 s: No such file/ });
wait_metric('breaker{tier="fleet",way="put"}', 1);
ok !-e $t->path('tier'), 'the folder is not made';
my ($status) = @{ $t->helper_json('/v1/status')->{tiers} };
is $status->{get}{breaker}, 'open', 'the status tells of it';
is $status->{get}{failure}, 'No such file or directory', 'with the reason';
is $status->{queue}, 1, 'the file waits';
rename $t->path('away'), $t->path('tier') or die;
unlink $object or die;
$t->reload_symcached($down);
is metric('breaker{tier="fleet",way="get"}'), 0, 'a reload closes it';
wait_metric('puts_total{result="stored"}', 1);
ok -e $object, 'and the file that waited is stored';

# --- read_only, max_object, generation

machine(++$n, read_only => JSON::PP::true());
is ask($key)->{status}, 200, 'read_only: found';
is runs($n), 0, 'read_only: in the tier';

unlink $object or die;
machine(++$n, read_only => JSON::PP::true());
is ask($key)->{status}, 200, 'read_only: made';
is ask($key)->{status}, 200, 'read_only: used';
ok !-e $object, 'read_only: not stored';

machine(++$n, max_object => '1k');
is ask($key)->{status}, 200, 'max_object: made';
is metric('puts_total{result="stored"}'), 0, 'max_object: not stored';
ok !-e $object, 'max_object: as it is larger';

machine(++$n, generation => 'two');
is ask($key)->{status}, 200, 'generation: made';
wait_metric('puts_total{result="stored"}', 1);
ok -e $t->path("tier/two/default/$key/v9.0.0.symcache"),
    'generation: it is the first part of the name';

# --- a file that is on the disk already, and is used

# what is known of its object; undef without extended attributes
my $calls = { x86_64 => [188, 191], aarch64 => [5, 8] }->{ (POSIX::uname())[4] };
sub attribute {
    my ($path, $value) = @_;
    my $buf = defined $value ? "$value" : "\0" x 400;
    my $name = 'user.symcached.tier';
    my $r = defined $value
        ? syscall($calls->[0], $path, $name, $buf, length $buf, 0)
        : syscall($calls->[1], $path, $name, $buf, length $buf);
    return $r >= 0 ? substr $buf, 0, $r : undef;
}

SKIP: {
    my $used = $t->path("store$n/$key/$file");
    my $there = $t->path("tier/two/default/$key/v9.0.0.symcache");
    my $old = time - 7200;
    skip 'getxattr is not known on this machine', 9 unless $calls;
    skip 'the file system has no extended attributes', 9
        if !defined attribute($used);
    utime $old, $old, $used or die;
    is ask($key)->{status}, 200, 'a file that is in the tier is used';
    cmp_ok +(stat $used)[9], '>', $old, 'which is noted';

    # half of its life is over, and somebody has removed it
    unlink $there or die;
    attribute($used, time - 16 * 86400);
    utime $old, $old, $used or die;
    is ask($key)->{status}, 200, 'used, as its life is half over';
    wait_metric('puts_total{result="stored"}', 2);
    ok -e $there, 'it is stored again where it was removed';
    $t->wait_until('its age is noted',
        sub { attribute($used) =~ /^(\d+)/ && $1 > time - 3600 });

    attribute($used, time - 16 * 86400);
    utime $old, $old, $used, $there or die;
    is ask($key)->{status}, 200, 'used again';
    wait_metric('puts_total{result="refreshed"}', 1);
    cmp_ok +(stat $there)[9], '>', $old, 'and where it is, it is made young';
    is metric('puts_total{result="stored"}'), 2, 'without its bytes';

    # a file that was there before the tier
    $t->wait_until('its age is noted',
        sub { attribute($used) =~ /^(\d+)/ && $1 > time - 3600 });
    my $copy = $t->read_file($used);
    unlink $used, $there or die;
    $t->write_file($used, $copy);
    utime $old, $old, $used or die;
    is ask($key)->{status}, 200, 'a file of which nothing is known is used';
    wait_metric('puts_total{result="stored"}', 3);
    ok -e $there, 'and is stored';
}

$t->finish;
done_testing;
