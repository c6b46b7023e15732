#!/usr/bin/perl

# symcachectl tier: what is in a bucket or a folder, what is removed of it, and
# the rule of a bucket.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::Ctl;
use Test::More;
use Test::S3;
use Test::ScriptedServer;
use Test::Symcache;
use Test::Tier;

my $t = Test::Symcache->new;
my $ctl = Test::Ctl->new($t);
my $key = "crash.pdb/$Test::Symcache::key{'crash.pdb'}";
my ($access, $secret) = ('AKIDexample', 'se/cr+et=');
my $s3 = Test::S3->new($t, region => 'eu-west-1', page => 2,
    secrets => { $access => $secret });
Test::S3::has_plus();
my %bucket = (type => 's3', bucket => 'sym.bols', region => 'eu-west-1',
    prefix => 'fle et', endpoint => $s3->url, lifetime => '30d',
    path_style => JSON::PP::true(), access_key => $access,
    secret_key => $secret);
my %folder = (type => 'filesystem', path => $t->path('tier'));

# The command, with a tier of the configuration; "err" has no warnings.
sub tier {
    my ($tier, @args) = @_;
    my $config = Test::Tier->new($t, tier => $tier)->config;
    return $ctl->run('tier', @args, '-c', $t->write_helper_config($config));
}

# Names of objects, days since each was stored, and what it is.
my %objects = (
    "1/default/$key/v9.0.0.symcache" => [0, 'new'],
    "1/default/$key/v1.0.0.ppdbcache" => [31, 'old'],
    "1/default/a&b.pdb/buildid-0123456789abcdef/v9.0.0.symcache" =>
        [31, 'old'],
    "1/default/$key/v8.0.0.symcache" => [1, 'former'],
    "0/default/$key/v9.0.0.symcache" => [1, 'former'],
    "1/other/$key/v9.0.0.symcache" => [1, 'former'],
    "1/default/$key/v9.0.0.debuginfo" => [99, 'other'],
    "uploads/$key/crash.pdb" => [99, 'other'],
    'uploads/.try/v8.0.0.symcache/' . ($key =~ s{.*/}{}r) . '/v8.0.0.symcache' =>
        [99, 'other'],
    'readme <1>' => [99, 'other'],
    "a+b %41 \x01\x1b[m" => [99, 'other'],
);

sub of { my ($what) = @_;
         return sort grep { $objects{$_}[1] =~ /^(?:$what)$/ } keys %objects }

sub age { my ($file, $days) = @_;
          utime time - $days * 86400, time - $days * 86400, $file or die }

my %place = (
    s3 => {
        tier => \%bucket,
        fill => sub {
            for my $name (keys %objects) {
                $s3->save("/sym.bols/fle et/$name", {}, 'x' x 10);
                age($s3->file("/sym.bols/fle et/$name"), $objects{$name}[0]);
            }
            $s3->save("/sym.bols/$_", {}, '')
                for 'before', 'fle etc', "fle zz/1/default/$key/v9.0.0.symcache";
        },
        names => sub { map { s{^fle et/}{} ? $_ : () } $s3->names('sym.bols') },
    },
    folder => {
        tier => { %folder, lifetime => '30d' },
        fill => sub {
            for my $name (keys %objects) {
                age($t->write_file("tier/$name", 'x' x 10), $objects{$name}[0]);
            }
        },
        names => sub { map { s{^\Q$t->{dir}\E/tier/}{}r }
                       split /\n/, qx(find $t->{dir}/tier -type f) },
    },
);

for my $kind (sort keys %place) {
    my ($tier, $fill, $names) = @{ $place{$kind} }{qw(tier fill names)};
    $fill->();
    my $r = tier($tier, 'ls', '--json');
    is $r->{code}, 0, "$kind: ls" or diag $r->{err};
    my %listed = map { ($_->{name} => $_) }
        map { JSON::PP::decode_json($_) } split /\n/, $r->{out};
    is_deeply [sort keys %listed], [sort keys %objects], "$kind: all objects";
    my $one = $listed{"1/default/$key/v8.0.0.symcache"};
    cmp_ok abs(time - 86400 - delete $one->{stored}), '<', 600,
        "$kind: when it was stored";
    cmp_ok delete $one->{size}, '>=', 10, "$kind: its size";
    is_deeply $one, { name => "1/default/$key/v8.0.0.symcache",
        generation => '1', store => 'default', key => $key, kind => 'symcache',
        version => '8.0.0', former => JSON::PP::true() }, "$kind: what it is";
    is_deeply [sort grep { $listed{$_}{former} } keys %listed], [of('former')],
        "$kind: former ones";
    is_deeply [sort grep { !$listed{$_}{key} } keys %listed], [of('other')],
        "$kind: others";
    $r = tier($tier, 'ls', 'fleet');
    is scalar(() = $r->{out} =~ /^ +\d+  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  \S/mg),
        scalar(keys %objects), "$kind: ls as text";

    $r = tier($tier, 'clean', '--dry-run', '--former', '--older-than', '30d');
    like $r->{out}, qr/^would remove \(age\): 2 objects.*^would remove \(former\): 3 objects/ms,
        "$kind: a dry run tells";
    is_deeply [sort $names->()], [sort keys %objects], "$kind: and removes nothing";
    $r = tier($tier, 'clean', '--json');
    is $r->{code}, 0, "$kind: clean" or diag $r->{err};
    is_deeply [sort $names->()], [of('new|former|other')],
        "$kind: those beyond their lifetime are gone";
    is JSON::PP::decode_json($r->{out})->{removed}{age}{objects}, 2,
        "$kind: as it says";
    is tier($tier, 'clean', '--former')->{code}, 0, "$kind: --former";
    is_deeply [sort $names->()], [of('new|other')], "$kind: former ones are gone";
}

# --- what a killed machine has left in a folder

age($t->write_file('tier/1/default/.7-1-000000001.tmp', ''), 2);
$t->write_file('tier/1/default/.7-2-000000001.tmp', '');
is tier(\%folder, 'clean', '--older-than', '999d')->{code}, 0, 'unfinished';
is_deeply [map { s{.*/}{}r } glob "$t->{dir}/tier/1/default/.*.tmp"],
    ['.7-2-000000001.tmp'], 'files are removed after a day';

# --- a store that fails, or that is none

for my $case ([{ secret_key => 'wrong' }, qr/403 SignatureDoesNotMatch/],
              [{ endpoint => 'http://127.0.0.1:1' }, qr/cannot be listed: .*\S$/m]) {
    my $r = tier({ %bucket, %{ $case->[0] } }, 'ls');
    is $r->{code}, 3, 'cannot be listed: 3';
    like $r->{err}, $case->[1], 'and why';
}
$s3->fail('no-delete');
$place{s3}{fill}->();
my $r = tier(\%bucket, 'clean');
is $r->{code}, 3, 'keys that may not delete: 3';
is scalar(() = $r->{err} =~ /is not removed: 403 AccessDenied/g), 2, 'each is told of';
$s3->fail('');
is tier({ %folder, path => $t->path('unmounted') }, 'ls')->{code}, 3,
    'a folder that is not there';

# A page behind which there is another one.
sub page { "<ListBucketResult>$_[0]<IsTruncated>true</IsTruncated>"
    . "<NextContinuationToken>$_[1]</NextContinuationToken></ListBucketResult>" }
my $entry = "<Contents><Key>fle et/x</Key><Size>1</Size></Contents>";
my %answers = (
    page => ['<html><body>sign in</body></html>', qr/the list of objects is not a ListBucketResult of S3/],
    doctype => ['<!DOCTYPE a [<!ENTITY b "c">]><ListBucketResult/>', qr/document type/],
    cut => ["<ListBucketResult>$entry", qr/objects is damaged: no element found at line 1 column 73/],
    empty => ['', qr/empty body/],
    same => [page($entry, 'a'), qr/does not go on/],
    circle => [sub { page($entry, { a => 'b', b => 'c', c => 'd', d => 'b' }
        ->{$_[0]} // 'a') }, qr/does not go on/],
    endless => [sub { page('', $_[0] + 1) },
        qr/does not end: 1000 pages, the last 1000 without an object/],
    tokenless => ["<ListBucketResult>$entry<IsTruncated>true</IsTruncated>"
        . '</ListBucketResult>', qr/does not go on/],
    stranger => [$entry =~ s/fle et/else/r =~ s/(.*)/<ListBucketResult>$1<\/ListBucketResult>/r,
        qr/has objects that were not asked for/],
    long => ['<ListBucketResult><Name>' . 'x' x 5000, qr/endless text/],
    deep => ['<ListBucketResult>' . '<a>' x 20, qr/is nested too deeply/],
    nul => [join '', '<ListBucketResult><EncodingType>url</EncodingType>',
        (map { "<Contents><Key>fle+et/1/default/$key/v9.0.0.symcache$_</Key>"
               . '<Size>1</Size></Contents>' } '', '%00x'),
        '</ListBucketResult>'],
);
my $odd = Test::ScriptedServer->new(log => $t->path('odd'), script => sub {
    my ($c, $req) = @_;
    my ($kind) = $req->{path} =~ m{^/(\w+)/} or return $c->reply(404, {}, '');
    my ($answer) = @{ $answers{$kind} };
    $c->reply(200, {}, ref $answer
        ? $answer->($req->{query}{'continuation-token'} // 0) : $answer);
});
for my $kind (sort grep { $answers{$_}[1] } keys %answers) {
    $r = tier({ %bucket, endpoint => $odd->url, bucket => $kind }, 'ls');
    is $r->{code}, 3, "$kind: 3";
    like $r->{err}, $answers{$kind}[1], "$kind: why";
}

$r = tier({ %bucket, endpoint => $odd->url, bucket => 'nul' }, 'ls', '--json');
is scalar(() = $r->{out} =~ /\n/g), 1, 'a key with a NUL is not another one';

# --- the rule

$r = tier(\%bucket, 'rule', '--json');
is_deeply JSON::PP::decode_json($r->{out}), { Rules => [{
    ID => 'symcache-1', Status => 'Enabled', Filter => { Prefix => 'fle et/1/' },
    Expiration => { Days => 30 } }] }, 'the rule as aws takes it';
$r = tier({ %bucket, lifetime => '36h', prefix => 'a&b' }, 'rule');
is $r->{out}, '<LifecycleConfiguration><Rule><ID>symcache-1</ID><Status>Enabled'
    . '</Status><Filter><Prefix>a&#38;b/1/</Prefix></Filter><Expiration><Days>2'
    . "</Days></Expiration></Rule></LifecycleConfiguration>\n", 'and as XML';
for my $case ([\%folder, 'rule', qr/is not a bucket/],
              [{ type => 'symcache', url => 'http://127.0.0.1:1' }, 'ls',
               qr/is a SymCache server/]) {
    $r = tier($case->[0], $case->[1]);
    is $r->{code}, 1, "$case->[1]: 1";
    like $r->{err}, $case->[2], 'and why';
}
is tier(\%folder, 'ls', 'other')->{code}, 1, 'a tier that is none: 1';
is tier(\%folder, 'clean')->{code}, 2, 'clean without a lifetime: 2';
is tier(\%folder, @$_)->{code}, 2, "@$_: 2"
    for ['look'], ['clean', '--older-than', '0s'], ['ls', '--former'], ['clean', '--older-than', 'x'], ['ls', 'a', 'b'];

like tier(\%folder, 'clean', '--older-than', '0s')->{err},
    qr/^symcached: --older-than 0s: not a duration of 1s or more/m, 'and why';

$t->finish;
done_testing;
