#!/usr/bin/perl

# symcachegen-wine with a Windows program that is called as symcachegen.exe is,
# and misbehaves on demand (t/data/transcoder/fakegen.c).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(remove_tree);
use Test::More;
use Test::SourceCase;
use Test::Symcache;

my $cc = 'x86_64-w64-mingw32-gcc';
my %of = ($cc => 'gcc-mingw-w64-x86-64-win32', wine => 'wine wine64',
          bwrap => 'bubblewrap', setpriv => 'util-linux');
for (sort keys %of) {
    plan skip_all => "no $_ (package $of{$_})"
        if system("command -v $_ >/dev/null 2>&1") != 0;
}
# as another user than root, as symcached would
my @as = $> == 0 ? qw(setpriv --reuid=nobody --clear-groups) : ();
my $said = `@as bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc bwrap --unshare-all --ro-bind / / --proc /proc true 2>&1`;
plan skip_all => "no namespaces to be had here: $said" if $? != 0;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $id = $Test::SourceCase::id;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $wine = $t->program('symcachegen-wine');
mkdir "$dir/$_" or die "$_: $!" for qw(wpt wine bin);
system($cc, qw(-std=gnu11 -O2 -municode -static -o), "$dir/wpt/fakegen.exe",
       $t->data('transcoder/fakegen.c')) == 0 or die $cc;

# --- the prefix

if (@as) {
    my ($uid, $gid) = (getpwnam 'nobody')[2, 3];
    chown $uid, $gid, "$dir/wine" or die "chown: $!";
}
my $prefix = "$dir/wine/prefix";
my %env = (SYMCACHEGEN => "$dir/wpt/fakegen.exe", WINEPREFIX => $prefix);
sub init { `env WINEPREFIX=$prefix @as $wine --init 2>&1` }
like init(), qr/\Q$prefix\E is made, for the user \S+$/, 'a prefix is made';
is init(), "$prefix is there\n", 'and not made again';
is_deeply [map { s{.*/}{}r } glob "$dir/wine/*"], ['prefix'],
    'nothing lies beside it';

# size and time of all files of the prefix
sub state { `find $prefix -printf '%p %s %T@ %m\n' | sort | cksum` }
my $made = state();

sub start {
    my (%o) = @_;
    $t->stop_symcached;
    remove_tree("$dir/store", "$dir/downloads");
    return Test::SourceCase->new($t,
        sources => { local => { type => 'filesystem', path => "$dir/sym",
                                layout => 'symstore' } },
        command => [$wine, '{pdb}', '{out}'],
        limits => { transcodes => 4 },
        cache => { retry_errors_after => '50s' },
        env => $o{env} // {},
        transcoder => { version => '3.1.0', env => { %env, %{ $o{set} // {} } },
                        time => '60s', %{ $o{transcoder} // {
                            profile => 'wine', read => ["$dir/wpt", $prefix] } } });
}

sub put { $t->write_file("sym/$_.pdb/$id/$_.pdb", $crash) for @_; return @_ }

# Neither the program nor a wineserver of it is left.
sub none_left {
    my ($what) = @_;
    $t->wait_until("none is left: $what", sub {
        !grep { ($t->read_file("$_/cmdline") // '') =~ /fakegen|wineserver/
                && ($t->read_file("$_/environ") // '') =~ /\Q$prefix\E/ }
            glob '/proc/[0-9]*';
    });
    pass "$what: no process is left";
}

my $c = start();
my @body;

sub converts {
    my ($name, $version, $what) = @_;
    my $r = $c->found((put($name))[0] . '.pdb', $what);
    like $r->{path}, qr{-v\Q$version\E\.symcache$}, "$what: $version";
    push @body, $c->published($r);
    none_left($what);
}

converts('crash', '3.1.0', 'a PDB');
like $body[0], qr/^FAKEGEN 1 $id 3\.1\.0\n/, 'its identity is read';
converts('fg-slow-2', '3.1.0', 'a slow one');
converts('fg-memory-500', '3.1.0', 'memory');
converts('fg-noise-1', '3.1.0', 'much output');
converts('fg-version', '3.2.0', 'another version');
converts("fg-$_", '3.1.0', "a process that stays: $_")
    for qw(child detached console);
is_deeply [grep { $_ ne $body[0] } @body[1 .. 3]], [], 'the same bytes each time';

# several at a time, each with a wineserver of its own
my @held = map { $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/$_.pdb/$id?version=9.0.0&wait=60") }
    put(map { "p$_" } 1 .. 8);
is_deeply [map { $t->read_response($_)->{status} } @held], [(200) x 8],
    'eight, four at a time';

sub malformed {
    my ($name, $reason, $what) = @_;
    $t->helper('POST', '/v1/forget/default?malformed_since=1h');
    my $a = $c->ask((put($name))[0] . '.pdb');
    is $a->{status}, 404, "$what: malformed" or diag explain $a;
    like $a->{body}, $reason, "$what: the reason";
    none_left($what);
}

# services of Wine may say something before
malformed('fg-exit-3', qr/exit code 3: .*fakegen: told to fail: fg-exit-3\.pdb/,
    'an exit code');
malformed('fg-nothing', qr/without a file of the kind/, 'nothing');
malformed('fg-empty', qr/empty file/, 'an empty file');
malformed('fg-two', qr/more than one/, 'two files');
malformed('fg-crash', qr/exit code \d+|signal/, 'a crash');
malformed('fg-partial', qr/exit code \d+|signal/, 'half a file and a crash');
malformed('fg-reserve-16384', qr/exit code 2: fakegen: no memory/,
    'more address space than it may have');

# what it sees: its arguments, and an environment without ours
put('fg-env');
mkdir "$dir/wine/out";
chmod 0777, "$dir/wine/out";
my $by_hand = "SYMCACHEGEN=$env{SYMCACHEGEN} WINEPREFIX=$prefix @as $wine";
my $seen = `cd $dir/wine && env $by_hand $dir/sym/fg-env.pdb/$id/fg-env.pdb $dir/wine/out 2>&1`;
is $? >> 8, 4, 'by hand, with its exit code';
rmdir "$dir/wine/out";
like $seen, qr/ -pdb Z:\\in\\fg-env\.pdb\s/, 'its arguments';
like $seen, qr/^_NT_SYMCACHE_PATH=Z:\\out\s/m, 'the output root';
like $seen, qr/^_NT_SYMBOL_PATH=Z:\\nonexistent\s/m, 'an empty symbol path';
is_deeply [map { s{.*/}{}r } glob "$dir/wine/*"], ['prefix'],
    'its temporary files are gone';

$c = start(transcoder => { profile => 'wine', time => '4s',
    read => ["$dir/wpt", $prefix] });
malformed('fg-hang', qr/took longer than transcode_time \(4 s\)/, 'a hang');
malformed('fg-spin', qr/took longer than transcode_time/, 'a loop');
is state(), $made, 'the prefix is as it was made';

# --- not the file's fault

sub unsure {
    my ($reason, $what, %o) = @_;
    my $case = start(%o);
    my $a = $case->ask('crash.pdb');
    is $a->{status}, 503, "$what: no final answer" or diag explain $a;
    like $a->{body}, $reason, "$what: the reason";
}

unsure(qr/code 75.*cannot read $dir\/wpt\/none\.exe/, 'no program',
    set => { SYMCACHEGEN => "$dir/wpt/none.exe" });
unsure(qr/code 75.*no Wine prefix in $dir\/wpt/, 'no prefix',
    set => { WINEPREFIX => "$dir/wpt" });
unsure(qr/code 75.*no sandbox to be had/, 'a profile that lets it make none',
    transcoder => { profile => 'strict', read => ["$dir/wpt", $prefix] });
symlink `sh -c "command -v $_"` =~ s/\n//r, "$dir/bin/$_"
    for qw(bwrap prlimit setpriv sh id mktemp rm env);
unsure(qr/code 75.*no wine/, 'no Wine', env => { PATH => "$dir/bin" },
    transcoder => { profile => 'wine', read => ["$dir/wpt", $prefix, "$dir/bin"] });

# --- without a profile, but not as root, whose prefix it is not

SKIP: {
    skip 'as root', 1 if @as;
    my $case = start(transcoder => { profile => 'none' });
    $case->found('crash.pdb', 'profile none: it has its own sandbox');
}

$t->stop_symcached;
chmod 0755, $prefix;
$t->finish;
done_testing;
