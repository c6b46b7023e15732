#!/usr/bin/env perl

# Where the source files of a Windows PDB are: what its streams "srcsrv" and
# "sourcelink" say, as pdb2symcache reads them.  What a link comes to is as
# Microsoft documents it ("Source Server", "Source Link").

use strict;
use warnings;

use File::Temp;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::File qw(slurp spew);
use Test::More;
use Test::Pdb;
use Test::Symcache ();

my $dir = File::Temp->newdir;
my $pdb = slurp("$FindBin::Bin/../data/pdb/crash_with_srcsrv.pdb");

# The lines that symcachectl dump has of a SourceCache, below "files" and "links".
sub dump_of {
    my (%streams) = @_;
    spew("$dir/x.pdb", Test::Pdb::with_streams($pdb, %streams));
    unlink "$dir/x.sc";
    my $said = qx("@{[Test::Symcache->program('pdb2symcache')]}" --kind sourcecache "$dir/x.pdb" -o "$dir/x.sc" 2>&1);
    return { error => $said } if $? != 0;
    my ($files, $links) = qx("@{[Test::Symcache->program('symcachectl')]}" dump "$dir/x.sc")
        =~ /^files\n(.*?)\nlinks\n(.*)/ms;
    return { files => [$files =~ /^  (.*)/mg], links => [$links =~ /^  (.*)/mg] };
}

# What srcsrv comes to for a file, of some variables and the file's line.
sub srcsrv {
    my ($variables, @lines) = @_;
    return "SRCSRV: ini ---\r\nVERSION=2\r\nVERCTRL=http\r\n"
        . "SRCSRV: variables ---\r\n" . join('', map { "$_\r\n" } @$variables)
        . "SRCSRV: source files ---\r\n" . join('', map { "$_\r\n" } @lines)
        . "SRCSRV: end ---\r\n";
}
{
    my $got = dump_of();
    is_deeply $got, { files => [], links => [] },
        'a PDB whose stream leads to Perforce has no links';
}
my $found = dump_of(srcsrv => srcsrv(['HGSERVER=https://hg.example.com/repo',
        'SRCSRVVERCTRL=http', 'HTTP_EXTRACT_TARGET=%hgserver%/raw-file/%var3%/%var2%',
        'SRCSRVTRG=%http_extract_target%'],
    'C:\Build\Src\Main.cpp*src/Main.cpp*abc', 'c:\build\src\b.h*b.h'));
is_deeply $found->{files},
    ['C:\Build\Src\Main.cpp https://hg.example.com/repo/raw-file/abc/src/Main.cpp'],
    'a file on a source server; a line that lacks a variable has no link';

my @cases = (
    ['https://x.example/%var3%/%VAR2%', 'https://x.example/rev7/lib/a.cpp'],
    ['HTTP://x.example/%fnfile%(%var1%)', 'HTTP://x.example/a b.cpp'],
    ['https://x.example/%fnbksl%(%var2%)', 'https://x.example/lib/a.cpp'],
    ['https://x.example/%fnvar%(%var5%_PATH)', 'https://x.example/of/http',
        'http_path=of/http'],
    ['https://x.example/%20b%var4%', 'https://x.example/%20bx'],
    ['https://x.example/100%', ''],
    ['https://x.example/%USERNAME%', ''],
    ['%targ%\%var2%', ''],
    ['file:///%var2%', ''],
    ['\\\\host\share\%var2%', ''],
    ['https://x.example/%a%', '', 'a=%b%', 'b=%a%'],
    ['https://x.example/%a%%a%%a%', '', 'a=' . 'x' x 200],
    ['https://x.example/%fnfile%(%var1%', ''],
);
for (@cases) {
    my ($target, $want, @more) = @$_;
    my $got = dump_of(srcsrv => srcsrv(["SRCSRVTRG=$target", @more],
        'c:\src\a b.cpp*lib/a.cpp*rev7*x*HTTP'));
    is_deeply $got->{files}, [$want ne '' ? "c:\\src\\a b.cpp $want" : ()],
        "SRCSRVTRG=$target" or diag explain $got;
}

# variables of variables: the work is bounded
my @deep = map { my $next = '%v' . ($_ + 1) . '%'; "v$_=$next$next" } 1 .. 60;
my $many = dump_of(srcsrv => srcsrv(['SRCSRVTRG=http://x/%v1%', @deep],
    map { "c:\\$_.c*$_" } 1 .. 20000));
is_deeply $many->{files} // [], [], 'variables that double: no links'
    or diag explain $many->{error};

# --- Source Link

my $links = dump_of(sourcelink => qq({"documents": {"C:\\\\src\\\\*":
    "https://raw.example.com/r/*", "c:\\\\Src\\\\gen\\\\x.h": "https://y.example/x.h"}}),
    'sourcelink$1' => qq(\xef\xbb\xbf{"documents": {"/_/*": "https://z.example/*"}}\0\0));
is_deeply $links->{links}, ['c:/src/gen/x.h https://y.example/x.h',
    'c:/src/* https://raw.example.com/r/*', '/_/* https://z.example/*'],
    'all streams, exact ones first, then the longest' or diag explain $links;
$links = dump_of(sourcelink => '{"documents": {"a*": "https://a.example/*",}}',
    'sourcelink$1' => '{"documents": {"b*": "https://b.example/*"}}');
is_deeply $links->{links}, ['b* https://b.example/*'],
    'a stream that is no JSON costs no other one';
is_deeply dump_of(srcsrv => "\xff\xfe", sourcelink => '')->{links}, [],
    'streams of nothing';

done_testing;
