#!/usr/bin/perl

# Profiles of transcoders: a hostile one tries to read what is not its own, to
# write outside its folder, to reach others, and to take all that there is.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(remove_tree);
use IO::Socket::INET;
use Test::More;
use Test::SourceCase;
use Test::Symcache;

for (qw(bwrap prlimit setpriv)) {
    plan skip_all => "no $_ (bubblewrap, util-linux)"
        if system("command -v $_ >/dev/null") != 0;
}
my $as = $> == 0 ? 'setpriv --reuid=nobody --clear-groups' : '';
my $said = `$as bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev true 2>&1`;
plan skip_all => "no namespaces to be had here: $said" if $? != 0;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $id = $Test::SourceCase::id;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));

# It does what the PDB's name says, and tells of it in what it leaves.
my $hostile = $t->write_file('hostile', <<'PERL');
#!/usr/bin/perl
use strict;
use warnings;
use IO::Socket::INET;
use IO::Socket::UNIX;
use POSIX ();
my ($pdb, $out) = @ARGV;
my ($file) = $pdb =~ m{([^/]+)$};
my ($mode) = $file =~ /^(\w+)/;
my ($dir, $port) = @ENV{qw(T_DIR T_PORT)};
my $pid = do { open my $f, '<', "$dir/tool/pid" or die; <$f> };
my @said;
$0 = "hostile $dir";

sub says { my $what = shift; push @said, "$what: @_\n" }
sub tells { # whether it could
    my ($what, $done) = @_;
    says($what, $done ? 'yes' : "no, $!");
}
sub leaves {
    my ($text) = @_;
    open my $f, '>', "$out/$file-v9.0.0.symcache" or die "result: $!";
    print $f $text;
    close $f or die "result: $!";
}
my %do = (
    sees => sub {
        says('env', sort grep { !/^(?:PWD|T_\w+|_|SHLVL|OLDPWD)$/ } keys %ENV);
        says('processes', scalar grep { !/\D/ } map { m{([^/]+)$} } glob '/proc/*');
        says('descriptors', join ' ', sort map { m{(\d+)$} } glob '/proc/self/fd/*');
        open my $f, '<', $pdb or die;
        read $f, my $head, 15;
        tells('pdb', $head eq 'Microsoft C/C++');
        says('user', $<);
        says('work', POSIX::getcwd());
        tells('temporary file', open my $g, '>', '/tmp/mine');
        says('interfaces', grep { -e } '/sys/class/net');
    },
    reads => sub {
        tells($_, open my $f, '<', $_)
            for "$dir/symcached.json", "$dir/secret", "$dir/sym/reads.pdb",
                "$dir/downloads/default/sees.pdb", "$dir/store/sees.pdb",
                "/proc/$pid/environ", "/proc/$pid/maps", '/etc/shadow';
        tells($_, opendir my $d, $_) for '/home', '/root', '/var', '/run';
        tells('the folder that it may read', open my $g, '<', "$dir/tool/data");
    },
    writes => sub {
        tells($_, open my $f, '>>', $_)
            for $pdb, "$dir/hostile", '/usr/bin/new', '/etc/passwd', '/new', '/dev/new', "$dir/tool/data";
        open my $g, '>>', $_ for "$dir/new", "$dir/store/new"; # in its own /tmp
        tells('a link out', symlink("$dir/hostile", "$out/link")
              && open my $h, '>>', "$out/link");
    },
    connects => sub {
        tells('tcp', IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port"));
        tells('unix', IO::Socket::UNIX->new(Peer => "$dir/h.sock"));
        tells('netlink', socket my $s, 16, 3, 0);
        tells('packet', socket my $r, 17, 3, 0);
    },
    forks => sub {
        my $n = 0;
        while ($n < 5000) {
            my $child = fork // last;
            $child or sleep 1000;
            $n++;
        }
        says('forks', $n, $n < 256 ? 'few' : 'many');
    },
    bomb => sub { fork while 1 },
    fills => sub {
        my $n = 0;
        while (1) {
            open my $f, '>', "/tmp/$n" or die "tmp: $!";
            syswrite $f, 'x' x 1_000_000;
            $n++;
            select undef, undef, undef, 0.02;
        }
    },
    big => sub {
        open my $f, '>', 'big' or die;
        1 while syswrite $f, 'x' x 1_000_000;
        die "big: $!";
    },
    many => sub {
        my $n = 0;
        while (1) { open my $f, '>', $n++ or die "many: $!" }
    },
    deep => sub {
        mkdir 'd' and chdir 'd' or die "deep: $!" for 1 .. 3000;
        sleep 1000;
    },
    hides => sub { # bytes, where nobody but itself can count them
        mkdir 'd' and chdir 'd' and chmod 0300, '.' or die "hides: $!";
        open my $f, '>', 'file' or die "hides: $!";
        sleep 1000;
    },
    outlives => sub {
        leaves('first');
        pipe my $r, my $w;
        if (!fork) {
            POSIX::setsid();
            if (!fork) {
                $SIG{$_} = 'IGNORE' for qw(TERM HUP INT PIPE);
                close $w;
                open my $f, '>>', "$out/$file-v9.0.0.symcache";
                syswrite $f, 'x' and select undef, undef, undef, 0.001 while 1;
            }
            exit 0;
        }
        close $w;
        <$r>;
        exit 0;
    },
    kills => sub {
        tells('symcached', kill 'KILL', $pid);
        tells('its group', kill 'KILL', -$pid);
        tells('a namespace', system('unshare -U true 2>/dev/null') == 0);
        tells("$_ of the first process", open my $f, '+<', "/proc/1/$_")
            for 'mem', 'task/1/mem';
        my $first = syscall 434, 1, 0; # pidfd_open()
        tells('a descriptor of it', $first != -1
              && syscall(438, $first, 1, 0) != -1); # pidfd_getfd()
        tells('memory of the kernel', defined msgget 0, 0600);
    },
    greedy => sub { my $n = 2e9; my $x = 'x' x $n; says('memory', 'had') },
    slow => sub { sleep 1000 },
    fails => sub { print STDERR "cannot read that\n"; exit 3 },
    dies => sub { kill 'SEGV', $$; sleep 9 },
);
$do{$mode}->();
leaves(join '', @said);
PERL
chmod 0755, $hostile;

my @modes = $t->read_file('hostile') =~ /^    (\w+) => sub/mg;
for my $mode (@modes) {
    $t->write_file("sym/$mode$_.pdb/$id/$mode$_.pdb", $crash) for '', 'b';
}
$t->write_file($_, "secret\n") for 'secret', 'tool/data';
my $server = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1')
    or die "listen: $!";

# Runs symcached with a profile.  The environment tells the hostile one what
# to look for, which it must not need to guess.
sub start {
    my ($transcoder, %o) = @_;
    $t->stop_symcached;
    remove_tree("$dir/store", "$dir/downloads");
    my $case = Test::SourceCase->new($t,
        sources => { local => { type => 'filesystem', path => "$dir/sym",
                                layout => 'symstore' } },
        command => $o{command} // [$hostile, '{pdb}', '{out}'],
        limits => { transcodes => 4 },
        cache => { retry_errors_after => '50s' },
        transcoder => { profile => 'strict', disk => '30m', time => '50s',
                        env => { T_DIR => $dir, T_PORT => '' . $server->sockport },
                        ($transcoder->{profile} // '') eq 'none' ? ()
                            : (read => ["$dir/tool"]), %$transcoder },
        env => { T_SECRET => 'secret', %{ $o{env} // {} } },
        wrapper => $o{wrapper});
    $t->write_file('tool/pid', $t->{helper});
    return $case;
}

# What it told: "what" => "yes" or why not.
sub told {
    my ($c, $name, $what) = @_;
    my $r = $c->found("$name.pdb", $what);
    return {} if $r->{status} != 200;
    return { map { /^(.+): (.*)$/ } split /\n/, $c->published($r) };
}

# None of its processes is left.
sub none_left {
    my ($what) = @_;
    $t->wait_until("none is left: $what", sub {
        !grep { ($t->read_file($_) // '') =~ /^hostile \Q$dir\E/ }
            glob '/proc/[0-9]*/cmdline';
    });
    pass "$what: no process is left";
}

my $c = start({});

# --- what it has

my $r = told($c, 'sees', 'an honest one is run');
is $r->{env}, 'HOME LANG LC_ALL PATH _NT_SYMBOL_PATH _NT_SYMCACHE_PATH'
    =~ s/HOME /exists $ENV{HOME} ? 'HOME ' : ''/er
    =~ s/LANG /exists $ENV{LANG} ? 'LANG ' : ''/er, 'six variables';
cmp_ok $r->{processes}, '<=', 3, 'no processes but its own';
is $r->{descriptors}, '0 1 2 3', 'no descriptor of ours (3 is its own)';
is $r->{pdb}, 'yes', 'its PDB';
is $r->{'temporary file'}, 'yes', 'a /tmp';
ok !-e '/tmp/mine', 'of its own';
like $r->{work}, qr{^\Q$dir\E/store/\.tmp/}, 'its work folder';
$> == 0 ? isnt $r->{user}, 0, 'not as root'
        : is $r->{user}, $>, 'as our user';
is $r->{interfaces}, '', 'no /sys';

# --- what it tries

$r = told($c, 'reads', 'one that reads');
is delete $r->{'the folder that it may read'}, 'yes', 'a path of "read"';
is_deeply [grep { $r->{$_} eq 'yes' } sort keys %$r], [], 'and nothing else';
is keys %$r, 12, 'of all that it tried';

$r = told($c, 'writes', 'one that writes');
is_deeply [grep { $r->{$_} eq 'yes' } sort keys %$r], [], 'cannot';
is keys %$r, 8, 'anywhere that it tried';
ok !-e "$dir/new" && !-e "$dir/store/new" && !-e '/usr/bin/new', 'nothing is there';
is $t->read_file('tool/data'), "secret\n", 'a path of "read" is as it was';

$r = told($c, 'connects', 'one that opens sockets');
is_deeply [grep { $r->{$_} eq 'yes' } sort keys %$r], [], 'reaches nobody';
is keys %$r, 4, 'of all';

$r = told($c, 'kills', 'one that kills');
is_deeply [grep { $r->{$_} eq 'yes' } sort keys %$r], [], 'hits nobody';
is keys %$r, 7, 'of all';
ok Test::Symcache::alive($t->{helper}), 'symcached lives';

my $forks = $c->found('forks.pdb', 'one that forks');
like $c->published($forks), qr/^forks: \d+ few$/, 'has few processes';
none_left('forks');

my $long = $c->found('outlives.pdb', 'one that leaves a daemon');
my $size = -s "$dir/store/$long->{path}";
none_left('daemon');
is -s "$dir/store/$long->{path}", $size, 'which has written nothing later';

# --- what is the file's fault, and said to be

sub malformed {
    my ($name, $reason, $what) = @_;
    $t->helper('POST', '/v1/forget/default?malformed_since=1h');
    my $a = $c->ask("$name.pdb");
    is $a->{status}, 404, "$what: malformed" or diag explain $a;
    like $a->{body}, $reason, "$what: the reason";
    none_left($what);
}

malformed('fails', qr/exit code 3: cannot read that/, 'an exit code');
malformed('dies', qr/ended by signal 11 \(Segm/, 'a crash');
malformed('fills', qr/took more of the disk than its part \(31457280 bytes\)/,
    'many small files');
malformed('big', qr/took more of the disk than its part/, 'a large file');
malformed('many', qr/took more of the disk than its part|many: /,
    'files without end');
malformed('deep', qr/took more of the disk than its part/,
    'folders without end');
SKIP: {
    skip 'root reads every folder', 3 if $> == 0;
    malformed('hides', qr/took more of the disk than its part/, 'its own folder');
}
$t->wait_until('the work folders are gone',
    sub { my @left = glob "$dir/store/.tmp/*/*"; !@left });
pass 'nothing of this is left in the work folder';

$c = start({ time => '2s' });
malformed('slow', qr/took longer than transcode_time \(2 s\)/, 'its time');
malformed('bomb', qr/took longer than transcode_time \(2 s\)/, 'a fork bomb');
SKIP: {
    skip 'no address space limit under AddressSanitizer', 3
        if $Test::Symcache::san;
    $c = start({ memory => '1g' });
    malformed('greedy', qr/exit code \d+: Out of memory/, 'its memory');
}

SKIP: {
    skip 'another user needs root', 1 if $> != 0;
    my @as = qw(setpriv --reuid=nobody --clear-groups prlimit --nproc=250);
    skip 'another user cannot see symcached', 1
        if system(@as, 'test', '-x', "$Test::Symcache::build/symcached") != 0;
    chmod 0777, $dir;
    $c = start({}, wrapper => \@as);
    $c->found('sees.pdb', 'where symcached may have fewer processes');
    chmod 0755, $dir;
}

# --- the network, and another profile

$c = start({ network => JSON::PP::true });
$r = told($c, 'connects', 'with a network');
is $r->{tcp}, 'yes', 'it reaches the network';
isnt $r->{$_}, 'yes', "but not: $_" for qw(unix packet);

$c = start({ profile => 'wine' });
$r = told($c, 'connects', 'profile wine');
isnt $r->{$_}, 'yes', "reaches nobody: $_" for qw(tcp unix);
$r = told($c, 'reads', 'profile wine');
delete $r->{'the folder that it may read'};
is_deeply [grep { $r->{$_} eq 'yes' } sort keys %$r], [], 'reads nothing';
$r = told($c, 'kills', 'profile wine');
is delete $r->{'a namespace'}, 'yes', 'may make namespaces';
# has no more rights than it has
delete @$r{grep { /first process|descriptor|memory/ } keys %$r};
is_deeply [grep { $r->{$_} eq 'yes' } sort keys %$r], [], 'hits nobody';

# --- names that are not handed on, which are links

$t->write_file("sym/a b.pdb/$id/a b.pdb", $crash);
$c = start({}, command => ['/bin/sh', '-c',
    'cp "$0" "$1/$(basename "$0")-v9.0.0.symcache"', '{pdb}', '{out}']);
$c->found('a b.pdb', 'a name with a blank');

# --- where no profile is to be had

sub not_had {
    my ($case, $reason, $what) = @_;
    my $a = $case->ask('sees.pdb');
    is $a->{status}, 503, "$what: no final answer" or diag explain $a;
    like $a->{body}, $reason, "$what: the reason";
}

my $bwrap = $t->write_file('bin/bwrap',
    "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n");
chmod 0755, $bwrap;
not_had(start({}, env => { PATH => "$dir/bin:$ENV{PATH}" }),
    qr/profile \\"strict\\" is not to be had here: bwrap: No permissions/,
    'no namespaces');
symlink $_, "$dir/few/" . s{.*/}{}r
    for mkdir("$dir/few") ? map { `sh -c "command -v $_"` =~ s/\n//r } qw(prlimit setpriv sh) : ();
not_had(start({}, env => { PATH => "$dir/few" }),
    qr/bwrap\\" is neither in PATH/, 'no bubblewrap');
like $t->helper_log, qr/profile: "strict" needs bubblewrap/, 'with a warning';

# --- runs at a time

$t->stop_symcached;
my $busy = 'mkdir "$1.busy" || exit 3; sleep 0.2; rmdir "$1.busy";'
    . 'cp "$0" "$2/$(basename "$0")-v9.0.0.symcache"';
my $p = start({ profile => 'none', parallel => 1 }, command =>
    ['/bin/sh', '-c', $busy, '{pdb}', "$dir/mark", '{out}']);
my @held = map { $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/$_.pdb/$id?version=9.0.0&wait=60") } @modes[0 .. 4];
is_deeply [map { $t->read_response($_)->{status} } @held], [(200) x 5],
    'one run at a time';

$t->stop_symcached;
$t->finish;
done_testing;
