#!/usr/bin/perl

# Modules that are no PDB, end to end: .sym files on a real nginx and in a
# directory, symcached, nginx with the module.  What is served has the digest
# of the reference's output (t/convert/manifest.tsv).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

plan skip_all => 'no zstd' if system('zstd --version >/dev/null 2>&1') != 0;

my $up = Test::Symcache->new;
my $t = Test::Symcache->new;

my %digest = map { (split /\t/)[1, 5] }
    grep { m{/breakpad/} } split /\n/,
    $t->read_file($t->data('../convert/manifest.tsv'));

# The text of a fixture, and the digest of what is made of it.
sub sym {
    my ($name) = @_;
    my $file = $t->data("convert/breakpad/$name.sym.zst");
    return scalar qx(zstd -qdc '$file');
}

sub digest_of { $digest{"t/data/convert/breakpad/$_[0].sym.zst"} }

my $gcc = sym('elf-g++');
my $clang = sym('elf-clang++');
my $crash = sym('msvc-crash');
my ($so) = $gcc =~ /^MODULE \S+ \S+ (\S+) libshapes\.so$/m or die;
my ($clang_so) = $clang =~ /^MODULE \S+ \S+ (\S+) /m or die;
my $pdb = $Test::Symcache::key{'crash.pdb'};

sub path_of {
    my ($name, $id, $version) = @_;
    my ($guid, $age) = $id =~ /^(.{32})(.+)$/ or die;
    return sprintf 'v%s/%s/%s/%u', $version // '9.0.0', $name, $guid, hex $age;
}

# upstream: plain, as .gz, with Content-Encoding, of another module

my $web = 'html/sym';
$up->write_file("$web/libshapes.so/$so/libshapes.so.sym", $gcc);
$up->write_file("$web/crash.pdb/$pdb/crash.sym.gz",
                Compress::Zlib::memGzip($crash));
$up->write_file("html/encoded/libshapes.so/$clang_so/libshapes.so.sym",
                Compress::Zlib::memGzip($clang));
$up->write_file("$web/other.so/$so/other.so.sym", $gcc);
$up->write_file("$web/stale.so/$pdb/stale.so.sym", $gcc);
$up->write_file("$web/image.pdb/$pdb/image.sym",
                $up->read_file($up->data('pdb/crash.pdb')));
$up->write_file("$web/broken.so/$so/broken.so.sym",
                "MODULE Linux x86_64 $so broken.so\nFUNC x 1 0 f\n");

my $port = $up->free_port;
$up->start_nginx('location /encoded/ { add_header Content-Encoding gzip; }',
                 load => 0, listen => "listen 127.0.0.1:$port;",
                 address => "127.0.0.1:$port");

# here: the same name and id as upstream's PDB, in another case

$t->write_file("local/LIBSHAPES.SO/\L$clang_so\E/libshapes.so.sym.GZ",
               Compress::Zlib::memGzip($clang));

my $config = $t->default_config('');
my ($transcoder) = @{ $config->{stores}{default}{transcoders} };
$transcoder->{inputs} = ['pdb', 'breakpad'];
$config->{cache}{retry_errors_after} = '1s';
for my $name ('sym', 'encoded') {
    $config->{sources}{$name} = {
        type => 'http', url => "http://127.0.0.1:$port/$name",
        layout => 'breakpad', internal => JSON::PP::true(),
    };
}
$config->{sources}{local} = { type => 'filesystem', layout => 'breakpad',
                              path => $t->path('local') };
delete $config->{sources}{upstream};
$config->{stores}{default}{sources} = ['sym', 'encoded'];
$config->{stores}{here} = { %{ $config->{stores}{default} },
    root => $t->path('here'), sources => ['local'] };
$config->{stores}{pdbs} = {
    root => $t->path('pdbs'), sources => ['sym'],
    transcoders => [{ version => '9.0.0',
                      command => $transcoder->{command} }],
};
$up->symbol_store('html/pdb');
$config->{sources}{pdb} = {
    type => 'http', url => "http://127.0.0.1:$port/pdb", layout => 'symstore',
    internal => JSON::PP::true(),
};
my %note = map { $_ => $t->path("ran.$_") } 'pdb', 'breakpad';
$config->{stores}{both} = {
    root => $t->path('both'), sources => ['sym', 'pdb'],
    transcoders => [map { {
        version => '9.0.0', inputs => [$_],
        command => ['/bin/sh', '-c', 'echo >>"$1"; exec "$2" -pdb "$0"',
                    '{pdb}', $note{$_}, $t->program('pdb2symcache')],
    } } 'pdb', 'breakpad'],
};
$config->{stores}{only} = { %{ $config->{stores}{pdbs} },
    root => $t->path('only'), sources => ['pdb'],
    transcoders => [map { my $t = $_; +{ %$t, command =>
        [map { $_ eq '-pdb' ? ('--like-symbolic', $_) : $_ } @{ $t->{command} }] } }
        @{ $config->{stores}{pdbs}{transcoders} }] };
$t->start_symcached($config);
$t->start_nginx($t->default_locations);

sub served {
    my ($name, $id, $fixture, $what) = @_;
    my $r = $t->get('/hold/' . path_of($name, $id));
    is $r->{status}, 200, $what or diag(explain($r->{headers}));
    is $t->sha256($r->{body}), digest_of($fixture), "$what: as the reference's";
}

served('libshapes.so', $so, 'elf-g++', 'an ELF module');
like $up->access_log, qr{^200 \d+ "GET /sym/libshapes.so/$so/libshapes.so.sym }m,
    'was asked for at its place';
served('crash.pdb', $pdb, 'msvc-crash', 'a PE module, packed as .gz');
like $up->access_log, qr{^404 \d+ "GET /sym/crash.pdb/$pdb/crash.sym }m,
    'its plain form was asked for first';
served('libshapes.so', $clang_so, 'elf-clang++', 'one with Content-Encoding');
ok -f $t->path("store/libshapes.so/$so/libshapes.so-v9.0.0.symcache"),
    'files are where those of PDBs are';

# the same lookups, and what tells of them

my $why = $t->helper_json("/v1/why/default/libshapes.so/$clang_so");
is_deeply [map { "$_->{source} $_->{outcome}" } @{ $why->{attempts} }],
    ['sym not found', 'sym not found', 'encoded found'], '"why"';
is_deeply [sort map { $_->{form} } @{ $why->{attempts} }[0, 1]],
    ['packed', 'plain'], 'with the forms of the places';

# once downloaded, it is not fetched again

unlink $t->path("store/libshapes.so/$so/libshapes.so-v9.0.0.symcache") or die;
my $asked = $up->access_log;
my $r = $t->helper('GET', "/v1/symcache/default/libshapes.so/$so"
                   . '?version=9.0.0&wait=60');
is $r->{status}, 200, 'made again of the file among the downloads';
is $up->access_log, $asked, 'and no source is asked';
is $t->metric('symcached_downloads_reused_total'), 1, 'which is counted';

# absent, forgotten, and there; then by the operator's command

my $late = "default/libshapes.so/${pdb}";
my $ask = sub {
    $t->helper('GET', "/v1/symcache/$late?version=9.0.0&wait=60")->{status};
};
is $ask->(), 404, 'no such module';
$up->write_file("$web/libshapes.so/$pdb/libshapes.so.sym",
                $gcc =~ s/$so/$pdb/r);
is $ask->(), 404, 'which is remembered';
is $t->helper('POST', "/v1/forget/$late")->{status}, 200, 'until forgotten';
is $ask->(), 200, 'then it is there';

my ($guid, $age) = $clang_so =~ /^(.{32})(.+)$/;
my $ctl = $t->program('symcachectl') . ' %s --socket ' . $t->helper_socket;
my $list = $t->write_file('list', "libshapes.so,$guid,$age\n");
my $said = sprintf $ctl, 'warm';
like scalar qx($said $list 2>&1), qr/^1 module: 1 cached/,
    'symcachectl warm';
$said = sprintf $ctl, 'why';
like scalar qx($said libshapes.so $guid $age 2>&1), qr/encoded/,
    'symcachectl why';

# a directory, where case does not count

$r = $t->helper('GET', "/v1/symcache/here/libshapes.so/$clang_so"
                . '?version=9.0.0&wait=60');
is $r->{status}, 200, 'from a directory';
is $t->sha256($t->read_file($t->path("here/libshapes.so/$clang_so/"
                                     . 'libshapes.so-v9.0.0.symcache'))),
    digest_of('elf-clang++'), 'as the reference\'s';

# files that are not what was asked for

for (['other.so', $so, 503,
      qr/^wrong name: wanted other\.so, got libshapes\.so$/],
     ['stale.so', $pdb, 503, qr/^wrong GUID: wanted \w+, got \w+$/],
     ['image.pdb', $pdb, 404, qr/^a PDB$/])
{
    my ($name, $id, $status, $detail) = @$_;
    my $path = "default/$name/$id";
    $r = $t->helper('GET', "/v1/symcache/$path?version=9.0.0&wait=60");
    is $r->{status}, $status, "$name: final only if it stays of no use";
    $why = $t->helper_json("/v1/why/$path");
    my ($attempt) = grep { $_->{outcome} eq 'unusable' } @{ $why->{attempts} };
    like $attempt->{detail}, $detail, "$name: reason";
}

$r = $t->helper('GET', "/v1/symcache/default/broken.so/$so"
                . '?version=9.0.0&wait=60');
is Test::Symcache::header($r, 'X-Symcache-Reason'), 'malformed',
    'a damaged file is malformed';
like $r->{body}, qr/bad FUNC record \(address\)/, 'with the reason';

# each original has its own transcoder, which is not given another's

for (['crash.pdb', 'breakpad'], ['basic32.pdb', 'pdb']) {
    my ($name, $input) = @$_;
    my ($other) = grep { $_ ne $input } keys %note;
    unlink values %note;
    $r = $t->helper('GET', "/v1/symcache/both/$name/$Test::Symcache::key{$name}"
                    . '?version=9.0.0&wait=60');
    is $r->{status}, 200, "$name, from a store of PDBs and .sym files";
    ok -e $note{$input} && !-e $note{$other}, "by the transcoder of $input";
}
$t->write_file("downloads/only/crash.pdb/$pdb/crash.pdb", $crash);
$r = $t->helper('GET', "/v1/symcache/only/crash.pdb/$pdb"
                . '?version=9.0.0&wait=60');
is $r->{status}, 200, 'a .sym file among the downloads is not taken';
is -s $t->path("only/crash.pdb/$pdb/crash.pdb-v9.0.0.symcache"), 61071,
    'but the PDB of the source';

is $t->read_file($t->path('both/.transcoders')), "9.0.0\n",
    'nginx is told of one version';

# a transcoder that takes more from now on: what was absent is looked for again

$config->{sources}{folder} = { type => 'filesystem', layout => 'symstore',
                               path => $t->path('folder') };
$t->write_file('folder/pingme.txt', '?');
my %more = (root => $t->path('more'), sources => ['folder', 'sym']);
$config->{stores}{more} = { %more,
    transcoders => $config->{stores}{pdbs}{transcoders} };
$t->reload_symcached($config);
$ask = sub {
    my ($store, $path) = @_;
    return $t->helper('GET', "/v1/symcache/$store/$path&wait=60")->{status};
};
is $ask->('more', "libshapes.so/$so?version=9.0.0"), 404,
    'absent from the sources that its transcoder takes files from';
$config->{stores}{more}{transcoders} = [$transcoder];
$t->reload_symcached($config);
is $ask->('more', "libshapes.so/$so?version=9.0.0"), 200,
    'which says nothing of the others';

# what the newest version is made of is not hidden by a download that makes an
# older one

my $copy = $t->write_file('copy', <<'SH');
#!/bin/sh
cp "$1" "$_NT_SYMCACHE_PATH/$(basename "$1")-v9.1.0.symcache"
SH
chmod 0755, $copy;
$config->{stores}{two} = {
    root => $t->path('two'), sources => ['folder', 'sym'],
    transcoders => [
        { version => '9.1.0', command => [$copy, '{pdb}'] },
        { %$transcoder, inputs => ['breakpad'] },
    ],
};
$t->reload_symcached($config);
my $crash_two = "crash.pdb/$pdb?version=9.1.0";
is $ask->('two', $crash_two), 200, 'an older version is better than none';
ok -f $t->path("two/crash.pdb/$pdb/crash.pdb-v9.0.0.symcache"), 'and is made';
$t->write_file("folder/crash.pdb/$pdb/crash.pdb",
               $t->read_file($t->data('pdb/crash.pdb')));
$t->helper('POST', "/v1/forget/two/crash.pdb/$pdb");
is $ask->('two', $crash_two), 200, 'which is served';
$t->wait_until('until there is the newest', sub {
    -f $t->path("two/crash.pdb/$pdb/crash.pdb-v9.1.0.symcache");
});

# text has no end of its own: only an answer that has one is all of it

my $half = substr $gcc, 0, 1 + index $gcc, "\n", length($gcc) / 2;
my %says = (
    'no end' => "Connection: close\r\n\r\n$half",
    'a part' => 'Content-Range: bytes 0-' . (length($half) - 1) . '/'
        . length($gcc) . "\r\nContent-Length: " . length($half)
        . "\r\n\r\n$half",
    'all' => 'Content-Length: ' . length($gcc) . "\r\n\r\n$gcc",
);
my $cutter = Test::ScriptedServer->new(log => $t->path('cutter.log'),
    script => sub {
        my ($c) = @_;
        $c->send("HTTP/1.1 200 OK\r\n" . $says{ $t->read_file('how') });
        $c->close;
    });
$config->{sources}{cutter} = { %{ $config->{sources}{sym} },
                               url => $cutter->url };
$config->{stores}{cutter} = { root => $t->path('cutter'),
    sources => ['cutter'], transcoders => [$transcoder] };
$t->reload_symcached($config);
for (['no end', 503], ['a part', 503], ['all', 200]) {
    $t->write_file('how', $_->[0]);
    $t->helper('POST', "/v1/forget/cutter/libshapes.so/$so");
    is $ask->('cutter', "libshapes.so/$so?version=9.0.0"), $_->[1],
        "text with $_->[0]";
}

# half of a copy in a directory: as it was cut, which looks like text without a
# line feed at its end, or with zeros in the place of the rest

for (['cut.so', '', 404], ['zeros.so', "\0" x 5000, 503]) {
    my ($name, $rest, $status) = @$_;
    my $text = $gcc =~ s/libshapes\.so$/$name/mr;
    my $file = "local/$name/$so/$name.sym";
    $t->write_file($file, substr($text, 0, length($half) - 3) . $rest);
    is $ask->('here', "$name/$so?version=9.0.0"), $status,
        "$name: not all of it";
    $t->write_file($file, $text);
    $t->helper('POST', "/v1/forget/here/$name/$so");
    is $ask->('here', "$name/$so?version=9.0.0"), 200, "$name: whole";
}

# what no transcoder takes

$r = $t->helper('GET', "/v1/symcache/pdbs/libshapes.so/$so"
                . '?version=9.0.0&wait=60');
is $r->{status}, 404, 'without a transcoder for it: a final 404';
is Test::Symcache::header($r, 'X-Symcache-Reason'), 'no-transcoder',
    'which says so';
is $up->access_log =~ /pdbs/, '', 'and nothing was asked';
is $t->helper_json("/v1/why/pdbs/libshapes.so/$so")->{next},
    'nothing: the store has no transcoder that takes what its sources have',
    '"why" promises no job';

$_->finish for $t, $up;
done_testing;
