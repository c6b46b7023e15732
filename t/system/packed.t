#!/usr/bin/perl

# Packed files as they lie: symsrv's CRASH.PD_ and APP.DL_, NAME.gz and
# CRASH.sym.gz.  A client that asks for one gets the bytes of the source, which
# were unpacked only to see whose they are.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use JSON::PP ();
use Test::Cabinet;
use Test::Ctl;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $crash = $Test::Symcache::key{'crash.pdb'};
my $basic = $Test::Symcache::key{'basic32.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $sym = "MODULE windows x86 $crash crash.pdb\nPUBLIC 10 0 main\n";
my $dll = $t->read_file($t->data('pdb/basic32.dll'));
my $pe = do { # its time stamp and size, as the format has them
    my $at = unpack 'V', substr $dll, 0x3c, 4;
    sprintf '%08X%x', unpack('V', substr $dll, $at + 8, 4),
        unpack('V', substr $dll, $at + 80, 4);
};
my $made = do { # by a tool of others, where there is one
    $t->write_file('made/crash.pdb', $pdb);
    my $dir = $t->path('made');
    system("cd $dir && gcab -cz made.cab crash.pdb >/dev/null 2>&1") == 0
        ? $t->read_file('made/made.cab') : Test::Cabinet::cabinet($pdb, mszip => 1);
};
my %files = (
    "basic32.pdb/$basic/basic32.pd_" => $t->read_file($t->data('pdb/basic32.pd_')),
    "crash.pdb/$crash/crash.pd_" => $made,
    "crash.pdb/$crash/crash.pdb.gz" => Compress::Zlib::memGzip($pdb),
    "basic32.dll/$pe/basic32.dl_" => Test::Cabinet::cabinet($dll, lzx => 1),
    "basic32.dll/$pe/basic32.dll.gz" => Compress::Zlib::memGzip($dll),
);
my %other = (
    # another PDB, a plain one, the other packing, a damaged one, a page
    "other.pdb/$basic/other.pd_" => $made,
    "plain.pdb/$crash/plain.pd_" => $pdb,
    "swapped.pdb/$crash/swapped.pd_" => Compress::Zlib::memGzip($pdb),
    "swapped.pdb/$crash/swapped.pdb.gz" => $made,
    "first.pdb/$crash/first.pd_" => (Test::Cabinet::set($pdb, ['a', 'b']))[0],
    "cut.pdb/$crash/cut.pd_" => substr($made, 0, 2000),
    "page.pdb/$crash/page.pd_" => '<html>sign in</html>',
);
my %sym = ("crash.pdb/$crash/crash.sym.gz" => Compress::Zlib::memGzip($sym));

my $mode = sub { $t->write_file('mode', $_[0]) };
sub serves {
    my ($log, %all) = @_;
    return Test::ScriptedServer->new(log => $t->path($log), script => sub {
        my ($c, $req) = @_;
        return $c->reply(503, {}, '') if ($t->read_file('mode') // '') eq 'busy';
        my $body = $all{ substr $req->{path}, 1 };
        defined $body ? $c->reply(200, {}, $body) : $c->reply(404, {}, '');
    });
}
my $web = serves('up.log', %files, %other);
my $mozilla = serves('sym.log', %sym);
sub asked { return map { $_->{path} } ($_[0] // $web)->requests }

my $n = 0;
sub start {
    my (%source) = @_;
    if ($n++) {
        $t->stop_nginx;
        $t->stop_symcached;
    }
    my $config = $t->default_config($web->url);
    $config->{downloads} = $t->path("downloads$n");
    $config->{stores}{default}{root} = $t->path("store$n");
    $config->{sources}{upstream} = { %{ $config->{sources}{upstream} }, %source };
    delete $config->{sources}{upstream}{url} if $source{type};
    $config->{sources}{mozilla} = { type => 'http', url => $mozilla->url,
                                    layout => 'breakpad', internal => JSON::PP::true() };
    $config->{stores}{default}{sources} = ['upstream', 'mozilla'];
    $config->{cache}{retry_errors_after} = '1s';
    $t->start_symcached($config);
    $t->start_nginx("location /symbols/ {
        symcache_symbols %%DIR%%/downloads$n;
        symcache_pass unix:%%DIR%%/h.sock;
    }");
}
sub get { return $t->get("/symbols/$_[0]", @_[1 .. $#_]) }

# --- as they lie

start();
for my $path (sort(keys %files), keys %sym) {
    my $body = $files{$path} // $sym{$path};
    my $r = get($path);
    is $r->{status}, 200, $path or diag $t->helper_log;
    ok $r->{body} eq $body, '- the bytes of the source';
    is Test::Symcache::header($r, 'Content-Encoding'), undef, '- which are the file';
    is Test::Symcache::header($r, 'Content-Length'), length $body, '- its length';
}
my $path = "basic32.pdb/$basic/basic32.pd_";
my $cab = $files{$path};
my $before = asked();
my $r = get(uc $path);
ok $r->{status} == 200 && $r->{body} eq $cab, 'in any case';
is scalar(asked()), $before, 'from the disk';
my $etag = Test::Symcache::header($r, 'ETag');
is get($path, "If-None-Match: $etag")->{status}, 304, 'by its ETag: 304';
$r = get($path, 'Range: bytes=4-11');
is $r->{status}, 206, 'a range';
is $r->{body}, substr($cab, 4, 8), 'of the packed bytes';
$r = $t->head("/symbols/$path");
is $r->{status}, 200, 'HEAD';
is Test::Symcache::header($r, 'Content-Length'), length $cab, 'has the length';
is $r->{body}, '', 'and no body';
is get("ba/$path")->{status}, 200, 'in two tiers';
SKIP: {
    skip 'no gcab', 1 if system('command -v gcab >/dev/null') != 0;
    my $file = $t->write_file('got.cab', $cab);
    like qx(gcab -t $file 2>&1), qr/basic32|debug/, 'a client can unpack it';
}

# the plain forms of the same are there as before
$r = get("basic32.pdb/$basic/basic32.pdb");
is $r->{status}, 200, 'the PDB itself';
like $r->{body}, qr/^Microsoft C\/C\+\+ MSF 7.00/, 'is unpacked';
ok get($path)->{body} eq $cab, 'beside the cabinet';
is get("crash.pdb/$crash/crash.sym")->{body}, $sym, 'so is the text';

# --- what is not there, or is not what it is called

for my $case (["plain.pdb/$crash/plain.pd_", 'a plain file'],
              ["swapped.pdb/$crash/swapped.pd_", 'gzip in the place of a cabinet'],
              ["swapped.pdb/$crash/swapped.pdb.gz", 'a cabinet in the place of gzip'],
              ["first.pdb/$crash/first.pd_", 'one cabinet of several'],
              ["none.pdb/$crash/none.pd_", 'nothing'],
              ["none.dll/$pe/none.dl_", 'no image']) {
    my ($path, $what) = @$case;
    my $r = get($path);
    is $r->{status}, 404, "$what: 404";
    is Test::Symcache::header($r, 'Retry-After'), undef, '- for good';
    my $asked = asked();
    is get($path)->{status}, 404, '- and again';
    is scalar(asked()), $asked, '- without asking the source';
}
for my $case (["other.pdb/$basic/other.pd_", 'another PDB'],
              ["cut.pdb/$crash/cut.pd_", 'a cabinet that is cut off'],
              ["page.pdb/$crash/page.pd_", 'a page']) {
    my ($path, $what) = @$case;
    my $r = get($path);
    is $r->{status}, 503, "$what: no answer for good" or diag $t->helper_log;
}

# each of these was one job
my %ends = (cabinet => '3 5 3', gzip => '2 1 0', symgzip => '1 0 0');
for my $kind (sort keys %ends) {
    is join(' ', map { $t->metric(
            qq(symcached_packed_total{kind="$kind",outcome="$_"}))
        } qw(published notfound error)), $ends{$kind}, "jobs for $kind are counted";
}
is $t->helper_json('/v1/status')->{jobs}{packed}, 6, 'the status tells how many were got';

# an absent file is absent packed; what is asked first costs a request more
is get("gone.pdb/$crash/gone.pdb")->{status}, 404, 'a PDB that is nowhere';
my $asked = asked();
is get("gone.pdb/$crash/gone.pd_")->{status}, 404, 'packed: 404 as well';
is scalar(asked()), $asked, 'nobody is asked';
is scalar(grep { m{/none\.pd} } asked()), scalar(grep { m{/none\.pd_$} } asked()),
    'the packed form is all that was asked for';

$mode->('busy');
is get("busy.pdb/$crash/busy.pd_")->{status}, 503, 'a source that fails: 503';
$mode->('');

# --- "why" and "forget"

my $why = $t->helper_json("/v1/why/default/none.pdb/$crash?kind=cabinet");
is $why->{transcoders}[0]{blocked}, 'notfound', 'why: the entry'
    or diag explain $why;
my $ctl = Test::Ctl->new($t);
my @socket = $ctl->socket;
my $out = $ctl->run('why', @socket, '--kind', 'cabinet', "none.pdb/$crash");
like $out->{out}, qr{none\.pd_}, 'symcachectl why: the place' or diag explain $out;
is $ctl->run('forget', @socket, "none.pdb/$crash")->{code}, 0,
    'symcachectl forget';
$asked = asked();
is get("none.pdb/$crash/none.pd_")->{status}, 404, 'asked again';
cmp_ok scalar(asked()), '>', $asked, 'the source is asked again';

# --- where a source is not asked for packed files

start(forms => ['plain', 'pointer']);
$asked = asked();
is get($path)->{status}, 404, 'without the form "packed": 404';
is scalar(asked()), $asked, 'at once';

# --- a folder

for my $file (keys %files) {
    $t->write_file("share/$file", $files{$file});
}
$t->write_file("share/plain.pdb/$crash/plain.pd_", $pdb);
start(type => 'filesystem', path => $t->path('share'));
for my $path (sort keys %files) {
    ok get($path)->{body} eq $files{$path}, "of a folder: $path";
}
is get("plain.pdb/$crash/plain.pd_")->{status}, 404, 'a plain file there';
is get("none.pdb/$crash/none.pd_")->{status}, 404, 'nothing there';

$t->stop_nginx;
$t->finish;
done_testing;
