#!/usr/bin/env perl

# A transcoder that fails on one file after another: is it they, or it?  What
# is tried before that is believed, what is taken back, and for how long it is
# left alone.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Copy ();
use File::Path qw(remove_tree);
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;
use Time::HiRes qw(time);

my $t = Test::Symcache->new;
my $dir = $t->dir;
mkdir "$dir/sym2"; # a folder that is not there could not tell
my $id = $Test::Symcache::key{'crash.pdb'};
my $build = $Test::Symcache::build;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));

sub header { Test::Symcache::header(@_) }

# It does as the file "how" says, and notes what it was run on.
my $transcoder = $t->write_file('transcoder', <<'SH');
#!/bin/sh
file=$(basename "$1")
echo "$file" >>"$0.runs"
. "$0.how"
cp "$1" "$_NT_SYMCACHE_PATH/$file-v9.0.0.symcache"
SH
chmod 0755, $transcoder;

my $broken = 'echo "no prefix" >&2; exit 3';
my $picky = 'case $file in bad*) echo "bad stream" >&2; exit 3 ;; esac';

sub how { $t->write_file('transcoder.how', "$_[0]\n") }

# What it was run on since the last call.
sub runs {
    my $runs = $t->read_file('transcoder.runs') // '';
    unlink $t->path('transcoder.runs');
    return join ' ', split /\n/, $runs;
}

sub config {
    my (%o) = @_;
    return {
        stores => { default => {
            root => "$dir/store", sources => ['local', 'second'],
            transcoders => [{ version => '9.0.0',
                              command => [$transcoder, '{pdb}'] }],
        } },
        sources => { map { $_->[0] => { type => 'filesystem',
            path => "$dir/$_->[1]", layout => 'symstore' } }
            ['local', 'sym'], ['second', 'sym2'] },
        # on a busy machine, what waits for a gate is not to be killed before
        limits => { transcodes => 1, transcode_time => '10m',
                    %{ $o{limits} // {} } },
        cache => { retry_errors_after => $o{pause} // '50s',
                   %{ $o{cache} // {} } },
    };
}

# A helper that knows nothing yet.
sub start {
    my ($how, %o) = @_;
    $t->stop_symcached;
    remove_tree("$dir/store", "$dir/downloads");
    runs();
    how($how);
    $t->start_symcached(config(%o));
}

sub place {
    my ($name) = @_;
    my $file = "sym/$name.pdb/$id/$name.pdb";
    $t->write_file($file, $crash) if !-e $t->path($file);
}

# "200", "404 malformed", "503 error"
sub ask {
    my ($name, $wait, $hints) = @_;
    place($name);
    my $r = $t->helper('GET', "/v1/symcache/default/$name.pdb/$id"
                       . '?version=9.0.0&wait=' . ($wait // 60)
                       . ($hints // ''));
    return $r if $wait;
    return join ' ', $r->{status}, header($r, 'X-Symcache-Reason') // ();
}

sub detail {
    my ($name) = @_;
    my $why = $t->helper_json("/v1/why/default/$name.pdb/$id");
    return $why->{transcoders}[0];
}

sub absent { return join ' ', map { m{/([^/]+)\.pdb-v[^/]+$} }
             sort keys %{ $t->absences('store') } }

sub metric { $t->metric($_[0]) }

sub log_has { return scalar(() = $t->helper_log =~ /$_[0]/g) }

# --- the canary that comes with it

my ($shipped) = grep { -e } $t->program('canary.pdb');
ok $shipped, 'a canary lies beside symcached';
system('zstd', '-qdf', $t->data('convert/generated/clang19-x64-O2.pdb.zst'),
       '-o', "$dir/generated.pdb") == 0 or die 'zstd';
ok $t->read_file($shipped) eq $t->read_file('generated.pdb'),
    'which is one of the PDBs that we make';
{
    mkdir "$dir/converted";
    local $ENV{_NT_SYMCACHE_PATH} = "$dir/converted";
    is system($t->program('pdb2symcache'), '-pdb', $shipped), 0,
        'pdb2symcache converts it';
    my ($made) = glob "$dir/converted/canary.pdb/*";
    my ($own) = $t->read_file("$Test::Symcache::top/src/symcached/transcode/good_pdb.c")
        =~ /CANARY_ID "(\w+)"/;
    is $made =~ s{.*/}{}r, $own, 'and symcached knows its identity';
}

# --- the files are bad

start($picky);
is ask("bad$_"), '404 malformed', "bad file $_" for 1, 2;
is runs(), 'bad1.pdb bad2.pdb', 'two failures are believed';
is ask('bad3'), '404 malformed', 'the third, too';
is runs(), 'bad3.pdb canary.pdb', 'when the canary was converted';
is ask("bad$_"), '404 malformed', "bad file $_" for 4, 5;
is runs(), 'bad4.pdb bad5.pdb', 'then two are believed again';
is ask('good1'), 200, 'a good file';
is ask("bad$_"), '404 malformed', "bad file $_" for 6 .. 8;
is runs(), 'good1.pdb bad6.pdb bad7.pdb bad8.pdb good1.pdb',
    'is the canary from now on';
unlink glob "$dir/downloads/default/good1.pdb/$id/good1.pdb";
is ask("bad$_"), '404 malformed', "bad file $_" for 9 .. 11;
is runs(), 'bad9.pdb bad10.pdb bad11.pdb canary.pdb',
    'as long as it is among the downloads';
is absent(), 'bad1 bad10 bad11 bad2 bad3 bad4 bad5 bad6 bad7 bad8 bad9',
    'all are known to be malformed';
is metric('symcached_canaries_total{result="good"}'), 3, 'three canaries';
is metric('symcached_canaries_total{result="bad"}'), 0, 'none died';
is metric('symcached_transcodes_total'), 15, 'and are counted as runs';
is log_has(qr/\[info\].*: failed on different files in a row and converts "\S+": its failures are believed/),
    3, 'logged';
ok !-e "$dir/store/canary.pdb", 'nothing of a canary is published';

# one file again and again is no row
start($picky);
for (1 .. 4) {
    is ask('bad1'), '404 malformed', 'one bad file';
    $t->helper('POST', '/v1/forget/default/bad1.pdb');
}
is runs(), 'bad1.pdb bad1.pdb bad1.pdb bad1.pdb', 'is no row of files';

# other kinds that are made of PDBs have the same canary
{
    my $maker = $t->write_file('cfi', <<"SH");
#!/bin/sh
file=\$(basename "\$1")
echo "\$file" >>"$dir/transcoder.runs"
case \$file in bad*) echo "bad stream" >&2; exit 3 ;; esac
exec "$build/pdb2symcache" --kind cficache "\$1" -o "\$_NT_SYMCACHE_PATH/\$file-v1.0.0.cficache"
SH
    chmod 0755, $maker;
    $t->stop_symcached;
    remove_tree("$dir/store", "$dir/downloads");
    runs();
    my $config = config();
    $config->{stores}{default}{transcoders} = [{ makes => 'cficache',
        version => '1.0.0', command => [$maker, '{pdb}'] }];
    $t->start_symcached($config);
    for (1 .. 3) {
        place("bad$_");
        my $r = $t->helper('GET', "/v1/cficache/default/bad$_.pdb/$id?version=1.0.0&wait=60");
        is join(' ', $r->{status}, header($r, 'X-Symcache-Reason') // ()),
            '404 malformed', "a cficache, bad file $_";
    }
    is runs(), 'bad1.pdb bad2.pdb bad3.pdb canary.pdb', 'the canary was converted';
}

# --- the transcoder is broken

start($broken);
is ask("f$_"), '404 malformed', "a broken transcoder, file $_" for 1, 2;
is absent(), 'f1 f2', 'is believed twice';
my $r = ask('f3', 60);
is $r->{status}, 503, 'the third time it is not';
is header($r, 'X-Symcache-Reason'), 'error', 'which is an error';
like $r->{body}, qr/fails on a good PDB, too \(exit code 3: no prefix\): exit code 3: no prefix/,
    'and says so';
ok header($r, 'Retry-After') <= 50 && header($r, 'Retry-After') > 30,
    'to be asked again after retry_errors_after';
is runs(), 'f1.pdb f2.pdb f3.pdb canary.pdb', 'as it failed on the canary, too';
is absent(), '', 'and what it said before is taken back';
is metric('symcached_malformed_taken_back_total'), 2, 'counted';
is metric('symcached_canaries_total{result="bad"}'), 1, 'the canary, too';
is metric('symcached_transcoder_pauses_total'), 1, 'and the pause';
is log_has(qr/\[error\].*: transcoder "\Q$transcoder\E" of store "default", version 9\.0\.0: fails on "\S+\/canary\.pdb", too, which is a good PDB: exit code 3: no prefix; 2 files that it called malformed are tried again; not run for 50 s, then by one job/),
    1, 'one line for the operator';
is ask($_), '503 error', "$_: left alone" for 'f1', 'f3', 'f4';
is runs(), '', 'it is not run, for no key';
is metric('symcached_transcodes_refused_total'), 2, 'counted, for new keys';
is detail('f4')->{blocked}, 'error', 'why: an error';
like detail('f4')->{reason}, qr/left alone, it failed: exit code 3: no prefix/,
    'why: the reason';
like detail('f5')->{failure}, qr/exit code 3/, 'why: of any key';
cmp_ok detail('f5')->{not_run_for}, '<=', 50, 'why: for how long';
ok -e "$dir/downloads/default/f4.pdb/$id/f4.pdb", 'the PDB waits there';

# of a client that says more than the key, too
{
    my $more = '&code_file=f.exe&code_id=5AB38077111000';
    start($broken);
    is ask("f$_", undef, $more), '404 malformed', "with hints, file $_"
        for 1, 2;
    is absent(), '', 'which is no entry of the key';
    is ask('f3', undef, $more), '503 error', 'the third time it is not believed';
    is ask("f$_", undef, $more), '503 error', "and file $_ is taken back"
        for 1, 2;
    is metric('symcached_malformed_taken_back_total'), 2, 'counted';
    isnt +(stat "$dir/store/.forgotten")[7] // 0, 0, 'nginx is told';

    start($picky);
    is ask('bad1', undef, $more), '404 malformed', 'a bad file, with hints';
    how('');
    is ask('bad1', undef, $more), '404 malformed', 'the transcoder is mended';
    like $t->helper('POST', '/v1/forget/default?malformed_since=1h')->{body},
        qr/"forgotten":\s*1\b/, 'and an operator has it tried again';
    is ask('bad1', undef, $more), '200', 'which helps';
    start($broken);
    ask("f$_") for 1 .. 4;
}

# a reload begins anew, and so does a restart
how($picky);
$t->reload_symcached(config(pause => '51s'));
is ask('f5'), 200, 'after a reload it is tried at once';
ok !exists detail('f5')->{not_run_for}, 'why: nothing against it';

# it is mended meanwhile
start($broken, pause => '1s');
ask("f$_") for 1 .. 3;
is absent(), '', 'broken';
runs();
my $one = $t->wait_until('it is run again', sub { ask('f1'); runs() });
like $one, qr/^f1\.pdb canary\.pdb$/, 'by one job, and on the canary, if broken';
is absent(), '', 'which is no verdict';
how($picky);
$t->wait_until('it converts', sub { ask("f$_") eq '200' }) for 1 .. 3;
pass 'when it is mended all are served';
is log_has(qr/\[info\].*transcoder "\S+" .*: works again/), 1, 'and it says so';
is ask('bad1'), '404 malformed', 'then it is believed';

# it was right of the files, and breaks: the last good one tells
start($picky);
is ask($_), $_ eq 'good' ? '200' : '404 malformed', $_ for qw(good bad1 bad2);
how($broken);
is ask('bad3'), '503 error', 'it breaks later';
is runs(), 'good.pdb bad1.pdb bad2.pdb bad3.pdb good.pdb',
    'the last good one shows it';
is absent(), '', 'nothing is believed';

# a download that is another one by now is no canary
start($picky);
is ask('good'), '200', 'a good PDB';
my $file = "$dir/downloads/default/good.pdb/$id/good.pdb";
File::Copy::copy($file, "$file.new");
rename "$file.new", $file;
ask("bad$_") for 1 .. 3;
is runs(), 'good.pdb bad1.pdb bad2.pdb bad3.pdb canary.pdb',
    'a PDB that was replaced is no canary';

# it dislikes this canary for ever, and converts others
start('case $file in bad*|canary*) exit 3 ;; esac', pause => '1s');
is ask("bad$_"), '404 malformed', "no friend of canaries, $_" for 1, 2;
is ask('bad3'), '503 error', 'cannot be believed';
$t->wait_until('but it is run', sub { ask('good') eq '200' });
is ask('bad4'), '404 malformed', 'and then there is a better canary';
is absent(), 'bad4', 'which counts from then on';
my @list = split / /, runs();
cmp_ok scalar(@list), '<=', 6, 'without many runs';

# where the canary is looked for
{
    local $Test::Symcache::build = "$dir/opt/sbin";
    mkdir "$dir/$_" for qw(opt opt/sbin opt/share opt/share/ngx_symcache
                           opt/libexec opt/libexec/ngx_symcache);
    File::Copy::cp("$build/symcached", "$dir/opt/sbin/symcached");
    File::Copy::cp("$build/symcached-sandboxed",
                   "$dir/opt/libexec/ngx_symcache/symcached-sandboxed");
    start($picky);
    ask("bad$_") for 1, 2;
    like ask('bad3', 60)->{body}, qr/there is no \\?"\S*canary\.pdb/,
        'without a canary it cannot be told';
    is absent(), 'bad1 bad2', 'and is no verdict';
    File::Copy::cp($shipped, "$dir/opt/share/ngx_symcache/canary.pdb");
    is ask('bad4'), '404 malformed', 'the place of "make install"';
}

# what says nothing of the transcoder
start('case $file in canary*) rm -rf "$_NT_SYMCACHE_PATH" ;; esac; exit 3');
ask("bad$_") for 1, 2;
like ask('bad3', 60)->{body}, qr/its folder vanished/,
    'a canary whose folder vanished';
is absent(), 'bad1 bad2', 'is no proof';
is metric('symcached_transcoder_pauses_total'), 0, 'of any kind';

# it hangs
start('sleep 1017 & echo $! >>"$0.pids"; wait', limits => {
    transcode_time => '1s', transcodes => 3 });
$_->() for map { my $s = $_; sub { $t->read_response($s) } }
    map { place($_); $t->open_http($t->helper_socket, 'GET',
          "/v1/symcache/default/$_.pdb/$id?version=9.0.0&wait=60") }
    qw(h1 h2 h3);
is absent(), '', 'one that hangs on the canary, too, is not believed';
is join(' ', sort split / /, runs()), 'canary.pdb h1.pdb h2.pdb h3.pdb',
    'it had one run more';
$t->wait_until('nothing of it runs', sub {
    !grep { ($t->read_file("/proc/$_/cmdline") // '') =~ /sleep\0001017/ }
        split ' ', $t->read_file('transcoder.pids')
});

# stopped while the canary is tried
start('case $file in canary*) exec sleep 1000 ;; *) exit 3 ;; esac');
ask("f$_") for 1, 2;
place('f3');
my $held = $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/f3.pdb/$id?version=9.0.0&wait=60");
my $seen = '';
$t->wait_until('the canary is tried', sub {
    ($seen .= runs()) =~ /canary/
});
is $t->helper_json('/v1/jobs')->{transcoding}, 1, 'in the slot of the job';
is $t->helper('GET', '/healthz')->{status}, 200, 'nobody else waits';
$t->stop_symcached;
$r = $t->read_response($held);
is $r->{status}, 503, 'stopped meanwhile: no final answer';
is absent(), 'f1 f2', 'no other verdict';

# what it called malformed, and another source is asked yet, is no verdict
my $server = Test::ScriptedServer->new(log => $t->path('server.log'),
    script => sub {
        my ($c, $req) = @_;
        if ($req->{path} =~ m{/late\.pdb/}) {
            $c->wait_for_peer(0.02) until -e $t->path('gate');
        }
        return $c->reply(404, {}, '');
    });
start($broken);
my $config = config();
$config->{sources}{second} = { type => 'symcache', url => $server->url,
    version => '9.0.0', internal => JSON::PP::true() };
$t->reload_symcached($config);
place('late');
my $late = $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/late.pdb/$id?version=9.0.0&wait=60");
$t->wait_until('the next source is asked', sub {
    grep { $_->{path} =~ m{/late\.pdb/} } $server->requests
});
is ask('f1'), '404 malformed', 'it fails on another file';
is ask('f2'), '503 error', 'and on the canary';
$t->write_file('gate', '');
is $t->read_response($late)->{status}, 503,
    'then a failure of before is not believed any more';
is absent(), '', 'nor kept';

# reloaded while the canary is tried
start('case $file in canary*) while [ ! -e "$0.gate" ]; do sleep 0.02; done ;;'
      . ' esac; exit 3');
ask("f$_") for 1, 2;
place('f3');
$held = $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/f3.pdb/$id?version=9.0.0&wait=60");
$seen = '';
$t->wait_until('the canary is tried', sub {
    ($seen .= runs()) =~ /canary/
});
$t->reload_symcached(config(pause => '51s'));
$t->write_file('transcoder.gate', '');
is $t->read_response($held)->{status}, 503, 'reloaded meanwhile: no verdict';
unlink $t->path('transcoder.gate');
is ask('f4'), '404 malformed', 'the new row begins';
is absent(), 'f1 f2 f4', 'and nothing is taken back';

# --- not the file's fault, again and again

start('echo "sshd is down" >&2; exit 75');
is ask("e$_"), '503 error', "not its fault, file $_" for 1, 1, 2, 2, 3;
is runs(), 'e1.pdb e2.pdb e3.pdb', 'one run a file';
is ask("e$_"), '503 error', "left alone, file $_" for 1, 4, 5;
is runs(), '', 'after the third it is left alone';
like detail('e4')->{reason}, qr/left alone, it failed: exit code 75, .*sshd is down/,
    'why';
is log_has(qr/\[error\].*: failed for 3 files in a row by no fault of theirs, the last time: exit code 75, .*: sshd is down; not run for 50 s, then by one job/),
    1, 'one line for the operator';
is metric('symcached_canaries_total{result="bad"}'), 0, 'without a canary';

# one file that is too much for the machine is no reason
start('case $file in big*) kill -KILL $$ ;; esac', pause => '1s');
for (1 .. 4) {
    is ask('big'), '503 error', 'killed for its size';
    $t->helper('POST', '/v1/forget/default/big.pdb');
}
is ask('small'), '200', 'others are converted';

# many wait while one job sees whether it works again
start('exit 75', pause => '1s', limits => { transcodes => 3 });
ask("e$_") for 1 .. 3;
how('while [ ! -e "$0.gate" ]; do sleep 0.02; done');
runs();
my @held = $t->wait_until('one tries it', sub {
    my $s = $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/e1.pdb/$id?version=9.0.0&wait=60");
    return $s if $t->helper_json('/v1/jobs')->{transcoding};
    return;
});
$t->wait_until('it runs', sub { -e $t->path('transcoder.runs') });
place($_) for qw(w1 w2);
push @held, map { $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/$_.pdb/$id?version=9.0.0&wait=60") } qw(w1 w2);
$t->wait_until('the others wait', sub {
    my %state = map { $_->{key} =~ s{/.*}{}r => $_->{state} }
        @{ $t->helper_json('/v1/jobs')->{jobs} };
    ($state{'w1.pdb'} // '') eq 'waits for a transcoder slot'
        && ($state{'w2.pdb'} // '') eq 'waits for a transcoder slot'
});
is runs(), 'e1.pdb', 'only one runs';
$t->write_file('transcoder.gate', '');
is $t->read_response($_)->{status}, 200, 'all are served when it works'
    for @held;

$t->finish;
done_testing;
