#!/usr/bin/perl

# A directory in the layout of symstore as a source, and file.ptr in it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use File::Path qw(make_path);
use JSON::PP ();
use POSIX ();
use Test::Cabinet;
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $id = $Test::SourceCase::id;

sub put { my ($name, $body) = @_; $t->write_file("sym/$name", $body) }
sub pointer { my ($name, $text) = @_; put("$name/$id/file.ptr", $text) }

# What each name's directory holds.
put("plain.pdb/$id/plain.pdb", $crash);
put("Mixed.PDB/\L$id\E/mixed.Pdb", $crash);
put("packed.pdb/$id/packed.pd_", $crash);
put("damaged.pdb/$id/damaged.pdb", substr $crash, 0, 500000);
put("damaged.pdb/$id/damaged.pd_", $crash);
put("wrong.pdb/$id/wrong.pdb",
    $t->read_file($t->data('pdb/omap_stretched.pdb')));
put("html.pdb/$id/html.pdb", '<html>');
utime 0, 0, put("$_.pdb/$id/$_.pdb", '') or die for qw(void voidbeside);
put("voidbeside.pdb/$id/voidbeside.pd_", $crash);
put("begun.pdb/$id/begun.pdb", '');
make_path($t->path("sym/directory.pdb/$id/directory.pdb"));
make_path($t->path("sym/fifo.pdb/$id"));
POSIX::mkfifo($t->path("sym/fifo.pdb/$id/fifo.pdb"), 0600) or die;
put("a b#+%~(1).pdb/$id/a b#+%~(1).pdb", $crash);

# The share \\srv\sym is "share" here; "secret" lies beside it.
my $share = 'share';
$t->write_file("$share/Build/42/far.pdb", $crash);
$t->write_file("$share/build/packed.pd_", $crash);
$t->write_file("$share/deep/stored.pdb/$id/file.ptr",
               'PATH:\\\\srv\\sym\\build\\42\\far.pdb');
$t->write_file("$share/loop.pdb/$id/file.ptr",
               "PATH:\\\\srv\\sym\\loop.pdb\\$id\\loop.pdb");
$t->write_file('secret/far.pdb', $crash);
symlink $t->path('secret'), $t->path("$share/out") or die;
symlink 'Build/42/far.pdb', $t->path("$share/inside.pdb") or die;

pointer('far.pdb', "PATH:\\\\SRV\\Sym\\build\\42\\FAR.pdb\r\n");
pointer('bare.pdb', '\\\\srv\\sym\\Build\\42\\far.pdb');
pointer('drive.pdb', 'PATH:x:\\Build\\42\\far.pdb');
pointer('half.pdb', 'PATH:\\\\srv\\sym\\build\\packed.pdb');
pointer('stored.pdb', "PATH:\\\\srv\\sym\\deep\\stored.pdb\\$id\\stored.pdb");
pointer('loop.pdb', "PATH:\\\\srv\\sym\\loop.pdb\\$id\\loop.pdb");
pointer('inside.pdb', 'PATH:\\\\srv\\sym\\inside.pdb');
pointer('relative.pdb', "PATH:.\\plain.pdb\\$id\\plain.pdb");
pointer('gone.pdb', 'PATH:\\\\srv\\sym\\build\\43\\far.pdb');
pointer('link.pdb', 'PATH:\\\\srv\\sym\\out\\far.pdb');
pointer('dots.pdb', 'PATH:\\\\srv\\sym\\..\\secret\\far.pdb');
pointer('unmapped.pdb', 'PATH:\\\\elsewhere\\sym\\far.pdb');
pointer('boundary.pdb', 'PATH:\\\\srv\\symbols\\far.pdb');
pointer('root.pdb', 'PATH:/etc/passwd');
pointer('message.pdb', "MSG: \x1b[31mwas never kept");
pointer('utf16.pdb', "\xff\xfe" . join '', map { "$_\0" } split //,
        "PATH:\\\\srv\\sym\\Build\\42\\far.pdb\r\n");
pointer('bom.pdb', "\xef\xbb\xbfPATH:\\\\srv\\sym\\Build\\42\\far.pdb");
pointer('nul.pdb', "PATH:\\\\srv\\sym\\Build\\42\\far.pdb\r\n\0\0");
pointer('long.pdb', 'PATH:\\\\?\\UNC\\srv\\sym\\Build\\42\\far.pdb');
$t->write_file("$share/cab.pdb", Test::Cabinet::cabinet($crash));
$t->write_file("$share/gzip.pdb", Compress::Zlib::memGzip($crash));
pointer("$_.pdb", "PATH:\\\\srv\\sym\\$_.pdb") for qw(cab gzip);
put("text.pdb/$id/text.pdb", 'PATH:\\\\srv\\sym\\Build\\42\\far.pdb');
put("both.pdb/$id/both.pdb", 'PATH:\\\\srv\\sym\\Build\\42\\far.pdb');
pointer('both.pdb', 'PATH:\\\\srv\\sym\\Build\\42\\far.pdb');
pointer('body.pdb', $crash);
pointer('markup.pdb', '<html>not here</html>');

my $c = Test::SourceCase->new($t, sources => {
    local => { type => 'filesystem', path => $t->path('sym'),
               layout => 'symstore',
               map => { '\\\\srv\\sym' => $t->path($share),
                        'X:\\' => $t->path($share) } },
});

my $r = $c->found('plain.pdb', 'a plain PDB');
ok $c->published($r) eq $crash, 'goes to the transcoder as it is';
is scalar @{ $r->{places} }, 1, 'nothing else is looked for then';
ok -f $t->path("sym/plain.pdb/$id/plain.pdb"), 'and the source keeps its own';

$c->found('mixed.pdb', 'names are compared without case');
$r = $c->found('packed.pdb', 'the form with an underscore');
like $r->{places}[0][0], qr{/packed\.pdb$}, 'is looked for behind the plain';
is $r->{places}[0][1], 'not found', 'which was not found';
$r = $c->found('damaged.pdb', 'a damaged plain form does not hide the packed');
is $r->{places}[0][1], 'unusable', 'and is told of';
$c->found('a b#+%~(1).pdb', 'odd characters in the name');

$c->absent('never.pdb', qr/no such file/, 'no such PDB');
# nobody writes to one that is empty for long
$r = $c->ask('void.pdb');
is "$r->{status} @{ $r->{places}[0] }[1, 2]", '404 not found an empty file',
    'an empty file is none';
$c->found('voidbeside.pdb', 'nor does it hide another form');
# the last place is file.ptr; the trouble is told of before
for (['wrong.pdb', qr/wrong GUID/], ['html.pdb', qr/an HTML page/],
     ['begun.pdb', qr/an empty file/], # which may be written to yet
     ['directory.pdb', qr/not a regular file/],
     ['fifo.pdb', qr/not a regular file/]) {
    $r = $c->ask($_->[0]);
    is $r->{status}, 503, "$_->[0]: no final answer";
    is $r->{places}[0][1], 'unusable', "$_->[0]: unusable";
    like $r->{places}[0][2], $_->[1], "$_->[0]: reason";
}

$c->found('far.pdb', 'file.ptr to a mapped share, without case');
$c->found('bare.pdb', 'file.ptr without PATH:');
$c->found('drive.pdb', 'file.ptr to a mapped drive');
$c->found('half.pdb', 'file.ptr to a file that is there in packed form');
$c->found('stored.pdb', 'file.ptr to a store that has a file.ptr');
$c->found('inside.pdb', 'a symbolic link that stays inside');
$c->found('relative.pdb', 'file.ptr to a place in its own store');

$c->found("$_->[0].pdb", "file.ptr $_->[1]")
    for ['utf16', 'in UTF-16'], ['bom', 'with a BOM'],
        ['nul', 'with CR, LF and NUL behind it'], ['long', 'with \\\\?\\UNC'],
        ['cab', 'to a cabinet under the plain name'],
        ['gzip', 'to gzip under the plain name'];

# one in place of the other
$r = $c->ask('text.pdb');
is "$r->{status} @{ $r->{places}[0] }[1, 2]",
    '503 unusable the text of a file.ptr', 'a file.ptr named as the PDB';
$c->found('both.pdb', 'and beside it as it should be');
$c->undecided('body.pdb', 'unusable', qr/^file\.ptr is a PDB$/,
              'a PDB named as file.ptr');

$c->absent('gone.pdb', qr/no such file/, 'file.ptr to a file that is gone');
$c->absent('unmapped.pdb', qr/no mapping/, 'file.ptr to an unknown share');
$c->absent('boundary.pdb', qr/no mapping/,
           'a mapping ends at a component boundary');
$c->absent('dots.pdb', qr/dot component/, 'file.ptr with ".."');
$c->absent('root.pdb', qr/neither a share nor on a drive/,
           'file.ptr to a local path');
$r = $c->absent('message.pdb', qr/^MSG: /, 'file.ptr with a message');
unlike $r->{places}[-1][2], qr/[\0-\x1f]/, 'without control characters';
$c->undecided('markup.pdb', 'unusable', qr/HTML/, 'file.ptr that is HTML');
$c->undecided('loop.pdb', 'unusable', qr/too many file\.ptr/,
              'file.ptr that leads to itself');
$r = $c->ask('link.pdb');
is $r->{status}, 503, 'a symbolic link that leads out';
like join("\n", map { "@$_" } @{ $r->{places} }),
    qr/failed a symbolic link leads out/, 'is not followed';

# A mount that is missing must not become "there is none".
rename $t->path('sym'), $t->path('sym.away') or die;
$c->undecided('plain2.pdb', 'failed', qr/No such file or directory/,
              'a source whose directory is missing');
rename $t->path('sym.away'), $t->path('sym') or die;

$t->stop_symcached;
my $only = Test::SourceCase->new($t, sources => {
    local => { type => 'filesystem', path => $t->path('sym'),
               layout => 'symstore', only => ['^nt', '^win'],
               except => '^ntos' },
});
put("ntdll.pdb/$id/ntdll.pdb", $crash);
put("mso.pdb/$id/mso.pdb", $crash);
$only->found('ntdll.pdb', '"only" lets a name through');
is $only->ask('mso.pdb')->{status}, 404, '"only" keeps another out';
put("ntoskrnl.pdb/$id/ntoskrnl.pdb", $crash);
is $only->ask('ntoskrnl.pdb')->{status}, 404, 'and "except" one of those';
my ($listed) = @{ $t->helper_json('/v1/sources')->{sources} };
is_deeply [@$listed{qw(only except)}], [['^nt', '^win'], ['^ntos']],
    '/v1/sources tells both';

$t->stop_symcached;

# file.ptr to a URL, which is an HTTP transfer under the same rules
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    $_[1]{path} eq '/far.pdb' ? $_[0]->reply(200, {}, $crash)
                              : $_[0]->reply(404, {}, '');
});
pointer($_, 'PATH:' . $web->url . '/far.pdb') for qw(web0.pdb web.pdb);
pointer('webgone.pdb', 'PATH:' . $web->url . '/gone.pdb');
my %source = (type => 'filesystem', path => $t->path('sym'),
              layout => 'symstore');
my $w = Test::SourceCase->new($t, sources => { local => {%source} });
$w->undecided('web0.pdb', 'failed', qr/reserved/,
              'file.ptr to a URL with a reserved address');
is scalar(() = $web->requests), 0, 'is not asked for';
$t->stop_symcached;

$w = Test::SourceCase->new($t, sources => {
    local => { %source, internal => JSON::PP::true() } });
$w->found('web.pdb', 'file.ptr to a URL of an internal server');
$w->absent('webgone.pdb', qr/^404$/, 'file.ptr to a URL that is gone');

$t->finish;
done_testing;
