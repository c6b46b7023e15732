#!/usr/bin/env perl

# PpdbCaches of portable PDBs: from sources of every type, under both ages, and
# beside SymCaches.  The oracle is what the symbolic library wrote
# (t/data/ppdb/README.md).  No nginx here.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $pdb = $t->read_file($t->data('ppdb/weave.pdb'));
my $cache = $t->read_file($t->data('ppdb/weave.ppdbc'));
my $windows = $t->read_file($t->data('pdb/crash.pdb'));
my $true = JSON::PP::true();
my $guid = '6022E78B4BF44D048F9E21D7790ECE60';
my $crash = substr $Test::Symcache::key{'crash.pdb'}, 0, 32;

# What the server has is in the folder "web".
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my ($path) = $req->{path} =~ m{^/(.*)};
    $t->wait_until('open', sub { -e $t->path('open') })
        if $path =~ m{^http/slow};
    my $file = $t->path("web/$path");
    return $c->reply(200, {}, $t->read_file($file)) if -f $file;
    return $c->reply(404, { 'Content-Type' => 'application/xml' },
        '<Error><Code>NoSuchKey</Code></Error>') if $path =~ m{^g?bucket/};
    return $c->reply(404, { 'x-ms-error-code' => 'BlobNotFound',
            'Content-Type' => 'application/xml' },
        '<Error><Code>BlobNotFound</Code></Error>') if $path =~ m{^box/};
    $c->reply(404, {}, '');
});

my @command = ($t->program('pdb2symcache'), '-pdb', '{pdb}');
my @transcoders = (
    { version => '9.0.0', command => \@command },
    { version => '1.0.0', makes => 'ppdbcache', command => \@command });
my %source = (
    tree => { type => 'filesystem', path => $t->path('tree') },
    two => { type => 'filesystem', layout => 'two_tier',
             path => $t->path('two') },
    flat => { type => 'filesystem', layout => 'flat',
              path => $t->path('flat') },
    unified => { type => 'filesystem', layout => 'unified',
                 path => $t->path('unified') },
    http => { type => 'http', url => $web->url . '/http', internal => $true },
    ssqp => { type => 'http', url => $web->url . '/ssqp', internal => $true,
              layout => 'ssqp' },
    web => { type => 'http', url => $web->url . '/flat', internal => $true,
             layout => 'flat' },
    s3 => { type => 's3', bucket => 'bucket', endpoint => $web->url,
            region => 'x', path_style => $true, internal => $true },
    gcs => { type => 'gcs', bucket => 'gbucket', endpoint => $web->url,
             internal => $true },
    sympath => { type => 'sympath', value => 'srv*' . $web->url . '/path',
                 internal => $true },
    azure => { type => 'azure', account => 'azure', container => 'box',
               endpoint => $web->url,
               internal => $true },
);
mkdir $t->path($_) for qw(tree two flat unified);

sub start {
    $t->start_symcached({
        stores => { map { $_ => { root => $t->path("store-$_"), gzip => $true,
            transcoders => \@transcoders, sources => [$_] } } keys %source },
        sources => \%source,
        cache => { retry_errors_after => '1s' },
    });
}
start();

sub lookup {
    my ($store, $name, $id, $kind) = @_;
    $kind //= 'ppdbcache';
    my $version = $kind eq 'symcache' ? '9.0.0' : '1.0.0';
    return $t->helper('GET',
        "/v1/$kind/$store/$name/" . ($id =~ /\?/ ? "$id&" : "$id?")
        . "version=$version&wait=60");
}
sub said { my $r = shift; join ' ', $r->{status},
    map { Test::Symcache::header($r, $_) // '-' } @_ }
sub attempts {
    my ($store, $name, $id) = @_;
    my $why = $t->helper_json("/v1/why/$store/$name/$id?kind=ppdbcache");
    return join "\n", map { "$_->{outcome}: $_->{detail}" }
        @{ $why->{attempts} };
}

# --- every type of source, every layout, both ages

my $F = "${guid}FFFFFFFF";
my $lower = lc $guid;
my ($start, $rest) = $lower =~ /^(..)(.*)/;
my %place = (
    tree => { F => "tree/NAME/${guid}FFFFFFFF/NAME", 1 => "tree/NAME/${guid}1/NAME" },
    two => { F => "two/TI/NAME/${guid}FFFFFFFF/NAME",
             1 => "two/TI/NAME/${guid}1/NAME" },
    flat => { F => 'flat/NAME', 1 => 'flat/NAME' },
    unified => { F => "unified/$start/${rest}ffffffff/debuginfo",
                 1 => "unified/$start/${rest}1/debuginfo" },
    http => { F => "web/http/NAME/${guid}FFFFFFFF/NAME",
              1 => "web/http/NAME/${guid}1/NAME" },
    ssqp => { F => "web/ssqp/NAME/${lower}FFFFFFFF/NAME",
              1 => "web/ssqp/NAME/${lower}1/NAME" },
    s3 => { F => "web/bucket/NAME/${guid}FFFFFFFF/NAME",
            1 => "web/bucket/NAME/${guid}1/NAME" },
    gcs => { F => "web/gbucket/NAME/${guid}FFFFFFFF/NAME",
             1 => "web/gbucket/NAME/${guid}1/NAME" },
    sympath => { F => "web/path/NAME/${guid}FFFFFFFF/NAME",
                 1 => "web/path/NAME/${guid}1/NAME" },
    azure => { F => "web/box/NAME/${guid}FFFFFFFF/NAME",
               1 => "web/box/NAME/${guid}1/NAME" },
);
for my $store (sort keys %place) {
    for my $has ('F', '1') {
        for my $asked ('F', '1') {
            my $name = lc "w$store$has$asked.pdb";
            my $tier = substr $name, 0, 2;
            my $place = $place{$store}{$has} =~ s/NAME/$name/gr;
            $place =~ s/TI/$tier/;
            system('rm', '-rf', $t->path('unified/' . $start))
                if $store eq 'unified';
            $t->write_file($place, $pdb);
            my $id = $asked eq 'F' ? $F : "${guid}1";
            my $r = lookup($store, $name, $id);
            my $what = "$store: asked for age $asked, stored as $has";
            is said($r, 'X-Symcache-Path'),
                "200 $name/$id/$name-v1.0.0.ppdbcache", $what
                or diag attempts($store, $name, $id);
            ok +($t->read_file("store-$store/$name/$id/$name-v1.0.0.ppdbcache")
                // '') eq $cache, "$what: as the library's";
        }
    }
}
$t->write_file("unified/$start/${rest}ed5a93bd/debuginfo", $pdb);
system('rm', '-rf', $t->path("unified/$start/${rest}$_")) for 'ffffffff', '1';
is lookup('unified', 'stamped.pdb', $F)->{status}, 404,
    'unified has it by its stamp, which the key does not tell';
is lookup('unified', 'stamped.pdb', "$F?stamp=1")->{status}, 404, 'a wrong one';
is lookup('unified', 'stamped.pdb', "$F?stamp=ED5A93BD")->{status}, 200,
    'but a client';
is lookup('http', 'whttpff.pdb', $F)->{status}, 200, 'asked again';
my $found = $t->helper('GET', "/v1/why/http/whttpff.pdb/$F?kind=ppdbcache");
like $found->{body}, qr/"source":\s*"http"/, 'why knows the source';
$t->wait_until('the compressed copy', sub {
    -e $t->path("store-http/whttpff.pdb/$F/whttpff.pdb-v1.0.0.ppdbcache.gz") });

is said(lookup('tree', 'none.pdb', $F), 'X-Symcache-Reason'), '404 notfound',
    'absent';
ok $t->absence("store-tree/none.pdb/$F/none.pdb-v1.0.0.ppdbcache.absent"),
    'which is remembered of this kind';
is said(lookup('tree', 'none.pdb', "${guid}3"), 'X-Symcache-Reason'),
    '404 notfound', 'another age';
$t->write_file("tree/wtree.pdb/${guid}3/wtree.pdb", $pdb);
is lookup('tree', 'wtree.pdb', "${guid}3")->{status}, 503,
    'a portable PDB under an age that is none of its';

# --- packed

$t->write_file('plain', $pdb);
system('gzip', '-kf', $t->path('plain')) == 0 or die;
$t->write_file("tree/packed.pdb/$F/packed.pd_", $t->read_file('plain.gz'));
is lookup('tree', 'packed.pdb', $F)->{status}, 200, 'a packed one';

# --- in an image, where a source has nothing else of the module

my $parcel = 'FF5420FFCC744EE69140BB74453C7E71';
my $dll = $t->read_file($t->data('ppdb/parcel.dll'));
my $inside = $t->read_file($t->data('ppdb/parcel.ppdbc'));
$t->write_file('flat/native.exe', 'MZ' . "\0" x 500);
$t->write_file('flat/plain.dll', $t->read_file($t->data('ppdb/plain.dll')));
$t->write_file('flat/Other Name.DLL', $dll);
for (['flat', 'parcel.pdb', "${parcel}FFFFFFFF"], ['flat', 'x.pdb', "${parcel}1"],
     ['web', 'parcel.pdb', "${parcel}FFFFFFFF"], ['web', 'tool.pdb', "${parcel}1"]) {
    my ($store, $name, $id) = @$_;
    $t->write_file("web/flat/$_", $dll) for 'parcel.dll', 'tool.exe';
    is lookup($store, $name, $id)->{status}, 200, "$store: an image: $name"
        or diag attempts($store, $name, $id);
    ok +($t->read_file("store-$store/$name/$id/$name-v1.0.0.ppdbcache") // '')
        eq $inside, 'as of its PDB';
}
is said(lookup('flat', 'plain.pdb', '198A378EEC0A47DA8FB2289C2BDAD68FFFFFFFFF'),
    'X-Symcache-Reason'), '404 notfound', 'an image without a PDB has none';
is said(lookup('flat', 'parcel.pdb', "${parcel}FFFFFFFF", 'symcache'),
    'X-Symcache-Reason'), '404 notfound', 'no SymCache is made of an image';
for (['cut', sub { substr $dll, 0, index($dll, 'MPDB') + 60 }],
     ['size', sub { my $d = $dll;
         substr($d, index($d, 'MPDB') + 4, 4) = pack 'V', 100; $d }],
     ['bomb', sub { my $d = $dll;
         substr($d, index($d, 'MPDB') + 4, 4) = pack 'V', 1 << 31; $d }]) {
    my ($name, $image) = @$_;
    $t->write_file("web/flat/$name.dll", $image->());
    is lookup('web', "$name.pdb", "${parcel}FFFFFFFF")->{status}, 503,
        "an image with a damaged PDB: $name";
}

# --- the other kind of PDB

$t->write_file("tree/$_", $windows) for "crash.pdb/${crash}1/crash.pdb",
    "crash.pdb/${crash}FFFFFFFF/crash.pdb", "at1.pdb/${crash}1/at1.pdb";
$t->write_file("tree/weave.pdb/$F/weave.pdb", $pdb);
for (['crash.pdb', "${crash}1"], ['crash.pdb', "${crash}FFFFFFFF"],
     ['at1.pdb', "${crash}FFFFFFFF"]) {
    my ($name, $id) = @$_;
    my $r = lookup('tree', $name, $id);
    is said($r, 'X-Symcache-Reason'), '404 wrong-format',
        "a Windows PDB asked for as portable: $name/$id";
    like $r->{body}, qr/wrong format \(a PDB\)/, 'says why';
}
my $r = lookup('tree', 'weave.pdb', $F, 'symcache');
is said($r, 'X-Symcache-Reason'), '404 wrong-format',
    'a portable PDB asked for as SymCache';
like $r->{body}, qr/wrong format \(a portable PDB\)/, 'says why';
is lookup('tree', 'weave.pdb', $F)->{status}, 200, 'it has a PpdbCache';
is lookup('tree', 'crash.pdb', "${crash}1", 'symcache')->{status}, 200,
    'and the Windows PDB a SymCache';
for (['weave.pdb', $F, $pdb], ['crash.pdb', "${crash}1", $windows]) {
    my ($name, $id, $body) = @$_;
    is lookup('tree', $name, $id, 'debuginfo')->{status}, 200,
        "as an original: $name";
    ok $t->read_file("downloads/tree/$name/$id/$name") eq $body, 'it is that';
}
is lookup('tree', 'wtree1f.pdb', $F, 'debuginfo')->{status}, 200,
    'an original of the age FFFFFFFF, stored as 1';

is said(lookup('tree', 'at2.pdb', "${crash}FFFFFFFF", 'debuginfo'),
    'X-Symcache-Reason'), '404 notfound', 'no original of the age FFFFFFFF';
$t->write_file("tree/at3.pdb/${crash}1/at3.pdb", $windows);
is said(lookup('tree', 'at3.pdb', "${crash}FFFFFFFF", 'debuginfo'),
    'X-Symcache-Reason'), '404 wrong-format',
    'for which no Windows PDB of the age 1 stands';

# --- a job for another kind, which has fewer places, says nothing of this one

$t->write_file("web/http/slow.pdb/$F/slow.pdb", $pdb);
my @waiting = map {
    my ($kind, $version) = @$_;
    my $c = $t->open_http($t->helper_socket, 'GET', "/v1/$kind/http/slow.pdb/"
        . "${guid}1?version=$version&wait=60");
    $t->wait_until("$kind waits", sub {
        $t->metric('symcached_waiters') == ($kind eq 'symcache' ? 1 : 2) });
    $c;
} ['symcache', '9.0.0'], ['ppdbcache', '1.0.0'];
$t->write_file('open', '');
is_deeply [map { $t->read_response($_)->{status} } @waiting], [404, 200],
    'absent with the age 1, and found with the other';

# --- malformed ones

my $bad = $t->read_file($t->data('ppdb/weave.pdb'));
my $tables = unpack 'V', substr $bad, index($bad, '#~') - 8;
substr($bad, $tables + 24, 4) = "\xff\xff\xff\xff"; # rows of the first one
$t->write_file("tree/bad.pdb/$F/bad.pdb", $bad);
$r = lookup('tree', 'bad.pdb', $F);
is said($r, 'X-Symcache-Reason'), '404 malformed', 'one that cannot be read';

# --- what a transcoder may not make

$t->stop_symcached;
my %lie = (
    nothing => ['true', qr/without a file of the kind/],
    other => ['cp ' . $t->data('ppdb/plain.ppdbc') . ' "$1"/$2-v1.0.0.ppdbcache',
              qr/unsound file: made from a module with another GUID/],
    symcache => ['printf SYMCxxxxxxxxxx > "$1"/$2-v1.0.0.ppdbcache',
                 qr/unsound file/],
    cut => ['head -c 500 ' . $t->data('ppdb/weave.ppdbc')
            . ' > "$1"/$2-v1.0.0.ppdbcache', qr/unsound file/],
);
$t->write_file("tree/$_.pdb/$F/$_.pdb", $pdb) for keys %lie;
@transcoders = { version => '1.0.0', makes => 'ppdbcache', profile => 'none',
    command => ['/bin/sh', '-c', 'n=$(basename "$0"); case $n in '
        . join(' ', map { "$_.pdb) set -- \"\$1\" \$n; $lie{$_}[0];;" }
            sort keys %lie) . ' *) cp ' . $t->data('ppdb/fsnote.ppdbc')
        . ' "$1/$n-v1.0.0.ppdbcache";; esac', '{pdb}', '{out}'] };
start();
for (sort keys %lie) {
    $r = lookup('tree', "$_.pdb", $F);
    is said($r, 'X-Symcache-Reason'), '404 malformed', "made: $_";
    like $r->{body}, $lie{$_}[1], "$_: says why";
}

# --- the operator's tools tell the kinds apart

my $ls = qx($Test::Symcache::build/symcachectl ls --root ${\ $t->path('store-tree')});
like $ls, qr/^ppdbcache:weave\.pdb +\S+ +1\.0\.0 +[\d.]+ KiB /m, 'ls: a file'
    or diag $ls;
like $ls, qr/^ppdbcache:none\.pdb .* absent .*notfound: /m,
    'ls: a negative entry';
like $ls, qr/^crash\.pdb +${crash}1 +9\.0\.0 /m, 'ls: a SymCache';
my @json = map { JSON::PP::decode_json($_) } split /\n/,
    qx($Test::Symcache::build/symcachectl ls --json --root ${\ $t->path('store-tree')});
is_deeply [sort map { $_->{kind} // 'symcache' }
        grep { ($_->{pdb} // '') eq 'crash.pdb' && $_->{size} }  @json],
    ['symcache'], 'ls --json';

# --- forgotten and evicted with all that is of the key

ok $t->absence("store-tree/none.pdb/$F/none.pdb-v1.0.0.ppdbcache.absent"),
    'a negative entry';
like $t->helper('POST', "/v1/forget/tree/none.pdb/$F")->{body},
    qr/"forgotten":\s*1\b/, 'is forgotten';

$t->finish;
done_testing;
