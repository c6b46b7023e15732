#!/usr/bin/env perl

# symbolicated as a daemon: options, pages, reload; files that come, go, are
# replaced and cut short while it serves them; with symcached and without.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Copy qw(copy);
use File::Path qw(make_path remove_tree);
use POSIX ();
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;
my $key = $Test::Symcache::key{'crash.pdb'};
my $basic = $Test::Symcache::key{'basic32.pdb'};
my $main = 'main(int, char**)';

sub symbolicate {
    my ($body, @headers) = @_;
    return $t->post($t->symbolicated_socket, '/symbolicate/v5',
                    ref $body ? $json->encode($body) : $body, @headers);
}

# The function that is found at the address of crash.pdb's main(), or what
# found_modules says of the module.
sub ask_crash {
    my $r = symbolicate({ memoryMap => [['crash.pdb', $key]],
                          stacks => [[[0, 0x2913]]] });
    return "status $r->{status}" if $r->{status} != 200;
    my $result = $json->decode($r->{body})->{results}[0];
    return $result->{stacks}[0][0]{function}
        // ($result->{found_modules}{"crash.pdb/$key"} ? 'found' : 'false');
}

sub run {
    my ($options) = @_;
    my $out = qx('$Test::Symcache::build/symbolicated' $options 2>&1);
    return [$? >> 8, $out];
}

# options

my $file = $t->write_helper_config({
    stores => { default => { root => $t->path('store'),
        sources => ['secret'], transcoders => [{ version => '9.0.0',
            command => ['x'], env => { TOKEN => '$NOT_SET_ANYWHERE' } }] } },
    sources => { secret => { type => 'http', url => 'https://x.example',
        headers => { 'X-Token' => '$NOT_SET_ANYWHERE' } } },
});
my $said = run("-t -c $file");
is $said->[0], 0, '-t: good, without the secrets of sources';
like $said->[1], qr/is good/, 'which it says';
is run('-x')->[0], 2, 'a wrong option';
is run('-c')->[0], 2, 'no file';
like run('-V')->[1], qr/^symbolicated \d/, '-V';
$said = run("-c $file");
is $said->[0], 71, 'a store that is not there';
like $said->[1], qr/store "default": No such file.*start symcached first/,
    'is named, and what is to be done';
$t->write_file('bad.json', '{"stores": {"a": {"root": "/x"}},
    "symbolication": {"stores": ["b"]}}');
$said = run('-t -c ' . $t->path('bad.json'));
is $said->[0], 1, 'a wrong configuration';
like $said->[1], qr/bad\.json:2: symbolication\.stores\[0\]: no store "b"/,
    'says where';

# without symcached

make_path($t->path('store'));
my $config = {
    stores => { default => { root => $t->path('store') } },
    symbolication => { threads => 3 },
};
$t->start_symbolicated($config, args => ['-l', $t->path('own.log')]);
is ask_crash(), 'false', 'nothing is on disk, and nobody can be asked';
$t->fill_store('store', $t->data('pdb/crash.pdb'));
is ask_crash(), $main, 'a file is seen when it is there';
my $folder = $t->path("store/crash.pdb/$key");
my $path = "$folder/crash.pdb-v9.0.0.symcache";
my @open = map { readlink // '' } glob "/proc/$t->{symbolicated}/fd/*";
is_deeply [grep /\.symcache$/, @open], [],
    'it stays mapped, and no descriptor stays open';

# the lock, of which t/unit/sandbox_serve.c tells what it allows

SKIP: {
    skip 'a sanitizer needs more', 2 if $ENV{SYMCACHE_SAN};
    my @tasks = glob "/proc/$t->{symbolicated}/task/*";
    my %locked;
    for my $task (@tasks) {
        my $status = $t->read_file("$task/status") // next; # it has ended
        my %status = $status =~ /^(\w+):\t(.*)$/mg;
        $locked{"Seccomp $status{Seccomp}, NoNewPrivs $status{NoNewPrivs}"} = 1;
    }
    is_deeply [keys %locked], ['Seccomp 2, NoNewPrivs 1'], 'each thread is locked';
    cmp_ok scalar(@tasks), '>', 1, 'of which there are several';
}

# pages

my $r = $t->http($t->symbolicated_socket, 'GET', '/healthz');
is $r->{status}, 200, '/healthz';
like $r->{body}, qr/"ok"/, 'is well';
is $t->http($t->symbolicated_socket, 'POST', '/metrics')->{status}, 405,
    '/metrics is for reading';
is $t->symbolicated_metric('symbolicated_modules_total{outcome="found"}'), 1,
    'modules are counted';
is $t->symbolicated_metric('symbolicated_modules_total{outcome="missing"}'),
    1, 'by outcome';
is $t->symbolicated_metric('symbolicated_files_mapped'), 1, 'and files';
{
    # as Prometheus wants a histogram: a bucket has those before it, and +Inf all
    my $text = $t->http($t->symbolicated_socket, 'GET', '/metrics')->{body};
    my $of = qr/symbolicated_request_seconds/;
    my @buckets = $text =~ /^${of}_bucket\{protocol="mozilla-v5",le="[^"]+"\} (\d+)$/mg;
    my ($all) = $text =~ /^${of}_bucket\{protocol="mozilla-v5",le="\+Inf"\} (\d+)$/m;
    my ($count) = $text =~ /^${of}_count\{protocol="mozilla-v5"\} (\d+)$/m;
    my ($sum) = $text =~ /^${of}_sum\{protocol="mozilla-v5"\} (\S+)$/m;
    is_deeply \@buckets, [sort { $a <=> $b } @buckets], 'a histogram of the time';
    is_deeply [$all, $buckets[-1], $count], [2, 2, 2], 'has each request';
    cmp_ok $sum, '>', 0, 'and their time';
    my %parts = $text =~ /^symbolicated_seconds_total\{part="(\w+)"\} (\S+)$/mg;
    is_deeply [sort keys %parts], [qw(answer parse search)], 'by what it was spent on';
    is_deeply [grep { $_ <= 0 } values %parts], [], 'none of which is free';
}
$t->wait_until('a line of the log', sub {
    $t->read_file('own.log') =~
        /request protocol=mozilla-v5 status=200 frames=1 modules=1 missing=0/
});

# what becomes of files is seen at the next request

rename $path, "$path.away" or die $!;
is ask_crash(), 'false', 'a file that is gone';
rename "$path.away", $path or die $!;
is ask_crash(), $main, 'and is back';
$t->write_file("$path.new", 'no SymCache at all');
rename "$path.new", $path or die $!;
is ask_crash(), 'false', 'one that was replaced by garbage';
$t->fill_store('other', $t->data('pdb/crash.pdb'));
copy($t->path("other/crash.pdb/$key/crash.pdb-v9.0.0.symcache"),
     "$folder/crash.pdb-v9.1.0.symcache") or die $!;
is ask_crash(), $main, 'a newer version beside it';
copy("$folder/crash.pdb-v9.1.0.symcache", $path) or die $!;
unlink "$folder/crash.pdb-v9.1.0.symcache" or die $!;
is ask_crash(), $main, 'the older one, which is whole again';
truncate $path, 100 or die $!;
is ask_crash(), 'false', 'one that was cut short';
remove_tree($t->path('store/crash.pdb'));
is ask_crash(), 'false', 'and its folder';
$t->wait_until('no file that is gone is kept open', sub {
    return $t->symbolicated_metric('symbolicated_files_mapped') == 0;
});

# a mapped file is cut short, and written again in place, while requests run:
# names may be missing or wrong, but each request has an answer

$t->fill_store('store', $t->data('pdb/crash.pdb'));
my $whole = $t->read_file($path);
my @frames = map { [0, 0x1000 + 16 * $_] } 0 .. 1999;
my $load = $json->encode({ memoryMap => [['crash.pdb', $key]],
                           stacks => [\@frames] });

sub client {
    my $pid = fork() // die "fork: $!";
    return $pid if $pid;
    for (1 .. 40) {
        my $answer = eval { symbolicate($load) };
        my $body = $answer && eval { $json->decode($answer->{body}) };
        POSIX::_exit(1) unless $body && $answer->{status} == 200
            && @{ $body->{results}[0]{stacks}[0] } == @frames;
    }
    POSIX::_exit(0);
}

my %clients = map { client() => 1 } 1 .. 3;
my ($cuts, $failed) = (0, 0);
while (%clients) {
    truncate $path, ($cuts++ % 3) * 4096;
    open my $fh, '+<', $path or die "$path: $!";
    binmode $fh;
    print $fh $whole;
    close $fh;
    for my $pid (keys %clients) {
        next if waitpid($pid, POSIX::WNOHANG()) != $pid;
        delete $clients{$pid};
        $failed++ if $?;
    }
}
is $failed, 0, "120 requests, while their file was cut short $cuts times";
ok Test::Symcache::alive($t->{symbolicated}), 'and the daemon lives';
remove_tree($t->path('store/crash.pdb'));
$t->fill_store('store', $t->data('pdb/crash.pdb'));
is ask_crash(), $main, 'and works';

# a reload

$config->{symbolication}{limits} = { frames => 1 };
$config->{symbolication}{threads} = 7;
$t->write_helper_config($config);
kill 'HUP', $t->{symbolicated};
$t->wait_until('the new limit', sub {
    my $answer = symbolicate($load);
    return $answer->{status} == 400 && $answer->{body} =~
        /please limit number of frames in a single request to <= 1"/;
});
$t->wait_until('a word about threads', sub {
    $t->read_file('own.log') =~ /"symbolication.threads" takes effect at the/
});
$t->write_file('symcached.json', '{');
kill 'HUP', $t->{symbolicated};
$t->wait_until('a bad file is refused', sub {
    $t->read_file('own.log') =~ /the old configuration stays/
});
is ask_crash(), $main, 'and the old configuration stays';
is $t->stop_symbolicated, 0, 'stops';

# a reload as soon as its socket is there, before it has started

delete @{$config->{symbolication}}{qw(limits threads)};
for my $n (1 .. 5) {
    $t->write_file('symbolicated.log', '');
    $t->start_symbolicated($config);
    kill 'HUP', $t->{symbolicated};
    $t->wait_until('it reloads', sub {
        $t->symbolicated_log =~ /reloaded/
            || !Test::Symcache::alive($t->{symbolicated})
    });
    ok Test::Symcache::alive($t->{symbolicated}), "an early reload, $n";
    is $t->stop_symbolicated, 0, 'and it stops';
}

# asked for its metrics while it ends: threads that have ended before the one
# that answers still have their numbers, and none is of memory that was freed

{
    my $many = 300_000;
    my $body = qq({"memoryMap": [["crash.pdb", "$key"]], "stacks": [[)
        . join(',', ('[0,4096]') x $many) . ']]}';
    $t->start_symbolicated({ %$config, symbolication => { threads => 4,
        limits => { frames => $many, body_size => '8m' } } },
        env => { MALLOC_PERTURB_ => 165 });
    my @kept = map { Test::Symcache::connect_to($t->symbolicated_socket) } 1 .. 16;
    my $one = Test::Symcache::connect_to($t->symbolicated_socket);
    print $one Test::Symcache::request_text('POST', '/symbolicate/v5',
        'Content-Length: ' . length $body), $body;
    close $one;
    syswrite $_, Test::Symcache::request_text('GET', '/metrics') for @kept;
    is $t->stop_symbolicated, 0, 'stops while it is asked for its metrics';
    my @answers = grep { $_->{complete} } map { $t->read_response($_, 'GET') } @kept;
    my @wrong = grep {
        $_->{body} !~ /^symbolicated_frames_total (?:0|$many)$/m } @answers;
    is scalar(@wrong), 0, 'answers are right' or diag $wrong[0]{body};
}

# at most so many files at a time

$t->start_symbolicated({ %$config, symbolication => {
    limits => { files => 1 } } });
qx(gcab -x -C '$t->{dir}' '@{[$t->data('pdb/basic32.pd_')]}' 2>&1);
SKIP: {
    skip 'no gcab', 8 unless -e $t->path('basic32.pdb');
    $t->fill_store('store', $t->path('basic32.pdb'));
    $r = symbolicate({ memoryMap => [['crash.pdb', $key],
                                     ['basic32.pdb', $basic]],
                       stacks => [[[0, 0x2913], [1, 0x2000]]] });
    is_deeply $json->decode($r->{body})->{results}[0]{found_modules},
        { "crash.pdb/$key" => JSON::PP::true,
          "basic32.pdb/$basic" => JSON::PP::true },
        'two modules of one request';
    $t->wait_until('the less recently used one goes', sub {
        $t->symbolicated_metric('symbolicated_files_mapped') == 1
    });
    is $t->symbolicated_metric('symbolicated_files_returned_total'), 0,
        'nothing has come back';
    is ask_crash(), $main, 'a file that made room for the other';
    symbolicate({ memoryMap => [['basic32.pdb', $basic]],
                  stacks => [[[0, 0x2000]]] });
    is ask_crash(), $main, 'is mapped again';
    cmp_ok $t->symbolicated_metric('symbolicated_files_returned_total'), '>=',
        2, 'which is counted';
    like $t->symbolicated_log,
        qr/\[warn\].*symbolication\.limits\.files or .* is too low, files: 1/,
        'and the operator is warned';
    my @warnings = $t->symbolicated_log =~ /is too low/g;
    is scalar(@warnings), 1, 'once';
}
$t->stop_symbolicated;

# a kernel without Landlock

SKIP: {
    my @strace = (qw(strace -f -D -o), $t->path('trace'));
    my $call = 'landlock_create_ruleset';
    skip 'needs strace(1), and no sanitizer', 2 if $Test::Symcache::san ||
        system("@strace -e inject=$call:error=ENOSYS true 2>/dev/null") != 0;
    unlike $t->symbolicated_log, qr/Landlock/, 'nothing to say of Landlock';
    local $t->{under} = [@strace, '-e', "inject=$call:error=ENOSYS"];
    $t->start_symbolicated;
    ok $t->wait_until('the warning',
        sub { $t->symbolicated_log =~ /\[warn\].* no Landlock/ }),
        'without it the log has a warning';
    $t->stop_symbolicated;
}

# a store that is removed and made again cannot be opened from inside of the
# sandbox: the service manager starts another process

$t->symbol_store('sym');
$t->start_symcached({ %$config, stores => { default => {
    root => $t->path('store'), sources => ['local'],
    transcoders => [{ version => '9.0.0',
        command => [$t->program('pdb2symcache'), '-pdb', '{pdb}'] }] } },
    sources => { local => { type => 'filesystem', path => $t->path('sym') } } });
$t->start_symbolicated;
is ask_crash(), $main, 'with symcached';
remove_tree($t->path('store'));
is ask_crash(), 'false', 'its store is removed, and another one has its name';
my $status;
$t->wait_until('the end', sub {
    return if Test::Symcache::alive($t->{symbolicated});
    $status = $? >> 8;
    return 1;
});
delete $t->{symbolicated};
is $status, 71, 'it ends with 71';
like $t->symbolicated_log, qr/another one than at the start/, 'and says why';
$t->allow_log(qr/another one than at the start/);
$t->start_symbolicated;
is ask_crash(), $main, 'the next one has the file';

$t->finish;
done_testing;
