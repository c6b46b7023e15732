#!/usr/bin/perl

# The transcoder contract: what the command gets, what counts as its result,
# and what becomes of it when it misbehaves.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Fcntl qw(O_WRONLY O_NONBLOCK);
use File::Path qw(remove_tree);
use JSON::PP ();
use Test::Clock;
use Test::More;
use Test::SourceCase;
use Test::Symcache;
use Time::HiRes qw(sleep time);

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $id = $Test::SourceCase::id;
my $dir = $t->dir;

# The PDB's name is the name of the shell function that plays transcoder.
my $script = $t->write_file('transcoder', <<'SH');
#!/bin/sh
set -e
pdb=$1 out=$2 notes=$3
file=$(basename "$pdb")
name=${file%.pdb}
result=$out/$file-v9.0.0.symcache

case $name in
plain)     cp "$pdb" "$result" ;;
deep)      mkdir -p "$out/a/b/c"
           cp "$pdb" "$out/a/b/c/$file-v9.0.0.symcache" ;;
case)      cp "$pdb" "$out/CASE.PDB-V9.0.0.SymCache" ;;
double)    cat "$pdb" "$pdb" >"$result" ;;
version)   cp "$pdb" "$out/$file-v9.1.7.symcache" ;;
others)    cp "$pdb" "$result"; echo x >"$out/log.txt"
           echo x >"$out/other.pdb-v9.0.0.symcache" ;;
chatty)    cp "$pdb" "$result"; yes | head -c 3000000 >&2
           yes | head -c 3000000 ;;
contract)  { env | cut -d= -f1 | sort | tr '\n' ' '; echo
             pwd; ls -A | wc -l; ls -A "$_NT_SYMBOL_PATH" | wc -l
             [ "$_NT_SYMCACHE_PATH" = "$out" ] && echo same
             ls /proc/self/fd | tr '\n' ' '; echo
             readlink /proc/self/fd/0
             grep NoNewPrivs /proc/self/status
             ulimit -c; ulimit -d; ulimit -v; } >"$notes"
           cp "$pdb" "$result" ;;
none)      : ;;
empty)     : >"$result" ;;
two)       cp "$pdb" "$result"; cp "$pdb" "$out/$file-v9.0.1.symcache" ;;
link)      ln -s "$pdb" "$result" ;;
linkdir)   mkdir "$notes.d"; cp "$pdb" "$notes.d/$file-v9.0.0.symcache"
           ln -s "$notes.d" "$out/d" ;;
wrongname) cp "$pdb" "$out/x.pdb-v9.0.0.symcache" ;;
stdout)    echo "cannot read: why"; exit 3 ;;
exit3)     cp "$pdb" "$result"; echo "cannot read: why" >&2; exit 3 ;;
sig*)      kill -"${name#sig}" $$ ;;
code*)     echo "no Wine here" >&2; exit "${name#code}" ;;
slow)      sleep 1000 & echo $! >"$notes.pid"; wait ;;
joins)     exec perl -e 'setpgrp 0, getpgrp getppid; open my $f, ">", shift;
               print $f $$; close $f; sleep 1000' "$notes.pid" ;;
gated)     mkfifo "$notes.fifo"; read -r line <"$notes.fifo"
           cp "$pdb" "$result" ;;
leaves)    sleep 1000 >/dev/null 2>&1 & echo $! >"$notes.pid"
           cp "$pdb" "$result" ;;
greedy)    perl -e 'my $x = "x" x 3_000_000_000' ;;
tail)      i=0; while [ $i -lt 3000 ]; do echo "line $i" >&2; i=$((i+1)); done
           exit 1 ;;
esac
SH
chmod 0755, $script;

# signals of somebody else and codes that are no word about the file, and those
# that are one
my @not_its = ((map { "sig$_" } qw(HUP INT KILL TERM)),
               map { "code$_" } qw(75 126 127 129 130 137 143 255));
my @its = ((map { "sig$_" } qw(ABRT BUS FPE ILL SEGV SYS XCPU XFSZ)),
           map { "code$_" } qw(1 2 10 134 139));
my @names = (@not_its, @its, $t->read_file('transcoder') =~ /^(\w+)\) /mg);
$t->write_file("sym/$_.pdb/$id/$_.pdb", $crash) for @names;
my %sources = (local => { type => 'filesystem', path => "$dir/sym",
                          layout => 'symstore' });

$ENV{SECRET_TOKEN} = 'secret';
$ENV{LANG} = 'C.UTF-8';
my $c = Test::SourceCase->new($t, sources => \%sources,
    command => [$script, '{pdb}', '{out}', "$dir/notes"],
    limits => { transcode_time => '2s', transcode_memory => '2g' },
    cache => { retry_errors_after => '50s' });

my $r = $c->found('plain.pdb', 'one file in {out}');
ok $c->published($r) eq $crash, 'is published as it is';
$c->found('deep.pdb', 'a file further below');
$r = $c->found('case.pdb', 'a name in another case');
like $r->{path}, qr{/case\.pdb-v9\.0\.0\.symcache$}, 'is stored in lower case';
$r = $c->found('version.pdb', 'another version than the configured one');
like $r->{path}, qr{/version\.pdb-v9\.1\.7\.symcache$},
    'is stored under the version in the name';
$c->found('others.pdb', 'other files do not matter');
$c->found('chatty.pdb', 'much output blocks nobody');

# what the process sees
$c->found('contract.pdb', 'a transcoder that looks around');
my ($env, $cwd, $files, $symbols, $same, $fds, $stdin, $privs, $core, $mem, $space) =
    split /\n/, $t->read_file('notes');
my @env = grep { !/^(?:PWD|OLDPWD|SHLVL|_)$/ } split ' ', $env;
is_deeply \@env,
    [qw(HOME LANG LC_ALL PATH _NT_SYMBOL_PATH _NT_SYMCACHE_PATH)],
    'an environment of six variables';
like $cwd, qr{^\Q$dir\E/store/\.tmp/}, 'a working directory below .tmp';
is $files, 0, 'that is empty';
is $symbols, 0, 'an empty _NT_SYMBOL_PATH';
is $same, 'same', '_NT_SYMCACHE_PATH is {out}';
is $fds =~ s/\s+$//r, '0 1 2 3', 'no descriptor of ours (3 is that of ls)';
is $stdin, '/dev/null', 'nothing to read';
like $privs, qr/1$/, 'no new privileges';
is $core, 0, 'no core file';
SKIP: {
    skip 'no limits of memory under AddressSanitizer', 2
        if $Test::Symcache::san;
    is $mem, 2 * 1024 * 1024, 'transcode_memory of private memory';
    is $space, int((2 * 1024 ** 3 + 9 * length $crash) / 1024),
        'and address space for the PDB beside it';
}

# failures that are the file's: 404 that is kept for a while
sub malformed {
    my ($name, $detail, $what) = @_;
    my $a = $c->ask("$name.pdb");
    is $a->{status}, 404, $what or diag explain $a;
    like $a->{body}, $detail, "$what: reason";
    return $a;
}

malformed('none', qr/without a file of the kind/, 'no result');
malformed('empty', qr/empty file/, 'an empty result');
malformed('two', qr/more than one/, 'two results');
malformed('link', qr/without a file of the kind/, 'a symbolic link as result');
malformed('linkdir', qr/without a file of the kind/, 'a result behind a link');
malformed('wrongname', qr/without a file of the kind/, 'another name');
malformed('exit3', qr/exit code 3.*cannot read: why/s, 'an exit code');
malformed('stdout', qr/exit code 3.*cannot read: why/s,
          'what it wrote to stdout');
for (@its) {
    my ($kind, $word) = /^(sig|code)(\w+)/;
    malformed($_, $kind eq 'sig' ? qr/ended by signal \d/
                                 : qr/exit code $word: no Wine here/, $_);
}
my $tail = malformed('tail', qr/line 2999/, 'the end of stderr is kept');
unlike $tail->{body}, qr/line 100\\n/, 'and not its beginning';
SKIP: {
    skip 'no address space limit under AddressSanitizer', 2
        if $Test::Symcache::san;
    malformed('greedy', qr/exit code|signal/, 'too much memory');
}

# limits, and nothing of the process group stays
malformed('slow', qr/transcode_time/, 'too much time');
my ($pid) = $t->read_file('notes.pid') =~ /(\d+)/;
$t->wait_until('the background process is gone', sub { Test::Symcache::gone($pid) });
pass 'with its whole process group';
malformed('joins', qr/transcode_time/, 'too much time in the group of symcached');
($pid) = $t->read_file('notes.pid') =~ /(\d+)/;
ok Test::Symcache::gone($pid), 'is killed, too';
unlike $t->helper_log, qr/does not end/, '... at once';
$c->found('leaves.pdb', 'a process left in the background');
($pid) = $t->read_file('notes.pid') =~ /(\d+)/;
$t->wait_until('what it left is gone', sub { Test::Symcache::gone($pid) });
pass 'is killed';

# failures that are this machine's, and run once for all who ask meanwhile
sub not_its {
    my ($case, $name, $detail, $what) = @_;
    my $runs = $t->metric('symcached_transcodes_total');
    for (1 .. 2) {
        my $a = $case->ask("$name.pdb");
        is $a->{status}, 503, "$what: no final answer" or diag explain $a;
        ok $a->{retry}, "$what: to be asked again";
        like $a->{body}, $detail, "$what: reason";
    }
    is $t->metric('symcached_transcodes_total'), $runs + 1, "$what: one run";
    my $why = $t->helper_json("/v1/why/default/$name.pdb/$id");
    is $why->{transcoders}[0]{blocked}, 'error', "$what: why";
    like $why->{transcoders}[0]{reason}, $detail, "$what: why, the reason";
    is_deeply [grep { m{/\L$name\E\.pdb/} } keys %{ $t->absences('store') }], [],
        "$what: nothing on disk";
    ok -e "$dir/downloads/default/\L$name\E.pdb/$id/\L$name\E.pdb",
        "$what: the PDB is kept";
    like $t->helper('POST', "/v1/forget/default/$name.pdb/$id")->{body},
        qr/"forgotten":\s*1\b/, "$what: forget";
}

for (@not_its) {
    my ($kind, $word) = /^(sig|code)(\w+)/;
    not_its($c, $_, $kind eq 'sig'
        ? qr/ended by signal \d+ \([^)]+\), which symcached did not send/
        : qr/exit code $word, not the file's fault: no Wine here/, $_);
    # some in a row are another matter: canary.t
    remove_tree("$dir/store/plain.pdb");
    $c->found('plain.pdb', 'others are converted');
}

$t->wait_until('no work directory is left',
    sub { !(() = glob "$dir/store/.tmp/*/*") });
pass 'no work directory is left';
$t->stop_symcached;

# our converter's own words of its machine, through another program, too
for my $word (2, 10) {
    my $ours = $t->write_file('bin/pdb2symcache',
                              "#!/bin/sh\necho 'no Wine here' >&2; exit $word\n");
    chmod 0755, $ours;
    for my $command (['pdb2symcache', '{pdb}'], ["/usr/bin/env", $ours, "{pdb}"]) {
        remove_tree("$dir/store");
        my $m = Test::SourceCase->new($t, sources => \%sources,
            command => $command, env => { PATH => "$dir/bin:/usr/bin:/bin" },
            cache => { retry_errors_after => '50s' });
        not_its($m, 'plain', qr/exit code $word, not the file's fault: no Wine/,
                "@$command[0]: $word");
        $t->stop_symcached;
    }
}

remove_tree("$dir/store");
for (['no-such-program', qr/no-such-program/],
     ["$dir/notes", qr/Permission denied/]) {
    my $m = Test::SourceCase->new($t, sources => \%sources,
                                  command => [$_->[0], '{pdb}']);
    $r = $m->ask('plain.pdb');
    is $r->{status}, 503, 'a command that cannot be started: no final answer';
    like $r->{body}, $_->[1], 'and says so';
    $t->stop_symcached;
}

my $beside = Test::SourceCase->new($t, sources => \%sources,
    command => ['pdb2symcache', '-pdb', '{pdb}'], env => { PATH => '/bin' });
$beside->found('plain.pdb', 'a command beside symcached, not in PATH')
    if -x $t->program('pdb2symcache');

# limits that symcached was started with, which a plain user cannot raise
SKIP: {
    skip 'not under a sanitizer, which needs more memory than that', 8
        if $Test::Symcache::san;
    my @as = $> == 0 ? qw(setpriv --reuid=nobody --clear-groups) : ();
    my $symcached = "$Test::Symcache::build/symcached";
    skip "needs prlimit(1) and setpriv(1), and that another user sees $symcached", 8
        if system("@as prlimit --fsize=100000000 test -x $symcached 2>/dev/null") != 0;
    my $case = sub {
        my ($limit) = @_;
        $t->stop_symcached;
        remove_tree(map { "$dir/$_" } qw(store downloads));
        chmod 0777, $dir;
        return Test::SourceCase->new($t, sources => \%sources,
            command => [$script, '{pdb}', '{out}', "$dir/notes"],
            wrapper => [@as, 'prlimit', $limit]);
    };
    $case->('--data=2000000000')->found('plain.pdb', 'a lower limit of memory');
    my $m = $case->('--fsize=1500000');
    $m->found('plain.pdb', 'a lower limit of file sizes');
    $r = $m->ask('double.pdb');
    is $r->{status}, 503, 'a result that is larger: no final answer';
    like $r->{body}, qr/RLIMIT_FSIZE/, 'and says so';

    my ($up, $url) = Test::Symcache->symbol_nginx;
    local $sources{local} = { type => 'http', url => $url, layout => 'symstore',
                              internal => JSON::PP::true() };
    $m = $case->('--fsize=1000000');
    $r = $m->ask('crash.pdb');
    is $r->{status}, 503, 'a download that is larger: no final answer';
    like $r->{body}, qr/File too large/, 'and says so';
    ok Test::Symcache::alive($t->{helper}), 'symcached goes on';
    $t->stop_symcached;
    $up->finish;
    remove_tree(map { "$dir/$_" } qw(store downloads));
}

# a container that was frozen: an hour has passed in which nothing ran
SKIP: {
    my $clock = Test::Clock->new($t) or skip Test::Clock::why(), 6;
    $t->stop_symcached;
    Test::SourceCase->new($t, sources => \%sources,
        command => [$script, '{pdb}', '{out}', "$dir/notes"],
        env => $clock->env(all => 1), limits => { transcode_time => '8s' });
    my $uri = "/v1/symcache/default/gated.pdb/$id?version=9.0.0";
    $t->helper('GET', $uri);
    $t->wait_until('it runs', sub { -p "$dir/notes.fifo" });
    $clock->set(3600);
    is $t->metric('symcached_jobs_transcoding'), 1,
        'time in which symcached did not run is none of the limit';
    my $gate;
    $t->wait_until('it reads', sub {
        sysopen $gate, "$dir/notes.fifo", O_WRONLY | O_NONBLOCK;
    });
    syswrite $gate, "go\n";
    is $t->helper('GET', "$uri&wait=60")->{status}, 200, 'and it ends well';

    # a clock that was wrong when symcached began
    $t->stop_symcached;
    remove_tree("$dir/store");
    $clock->set(86400);
    my $m = Test::SourceCase->new($t, sources => \%sources,
        command => [$script, '{pdb}', '{out}', "$dir/notes"],
        env => $clock->env);
    $clock->set(0);
    is $m->ask('exit3.pdb')->{status}, 404, 'malformed' for 1 .. 3;
    is $t->metric('symcached_jobs_started_total'), 1, 'that is found out once';
}

$t->finish;
done_testing;
