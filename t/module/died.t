# A worker that dies with the lock of the zone, at any instruction: what the
# others and the next one answer is right, nobody crashes or hangs, and the
# zone is of use again.  The worker is stepped through by ptrace.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use JSON::PP;
use POSIX ();
use Test::More;
use Test::ModuleCase;

use constant { ATTACH => 16, STEP => 9, WALL => 0x40000000 };
use constant { ZONE => 40 << 10, KEYS => 300, DEATHS => 12 };

my ($ptrace) = grep { $_ } { x86_64 => 101, aarch64 => 117 }
    ->{ (POSIX::uname())[4] };
plan skip_all => 'no number of ptrace() for this machine' unless $ptrace;
plan skip_all => 'too many instructions under a sanitizer' if $Test::Symcache::san;

my $t = Test::ModuleCase->new;

$t->start_nginx(<<'EON', http => 'symcache_zone z:' . ZONE . ';');
    location /s/ { symcache %%DIR%%/store; symcache_zone z; }
    location = /status { symcache_zone z; symcache_status; }
EON

$t->put('3.1.0', "body $_", key => "k$_.pdb/${Test::ModuleCase::guid}1A")
    for 1 .. KEYS;

sub uri { $t->uri('3.1.0', pdb => "k$_[0].pdb") }
sub status { decode_json($t->get('/status?format=json')->{body}) }

sub right {
    my ($n) = @_;
    return grep {
        my $i = 1 + int rand KEYS;
        $t->get(uri($i))->{body} eq "body $i";
    } 1 .. $n;
}

is scalar(right(2 * KEYS)), 2 * KEYS, 'all is well, and the zone full';
my $before = status();
cmp_ok $before->{counters}{evicted}, '>', 0, 'keys are pushed out';

# the first word of shared memory is the lock, with the pid of who has it
sub lock_word {
    my ($pid) = @_;
    open my $maps, '<', "/proc/$pid/maps" or return;
    no warnings 'portable';
    for (<$maps>) {
        my ($from, $to) = /^(\w+)-(\w+) rw-s/ or next;
        next if hex($to) - hex($from) != ZONE;
        open my $mem, '<:raw', "/proc/$pid/mem" or return;
        return ($mem, hex $from);
    }
    return;
}

# Runs the worker until it has the lock for the second time (the first is the
# look at the zone, the second what it stores there) and $more instructions
# further.  Returns whether it still has it.
sub step {
    my ($pid, $more) = @_;
    my ($mem, $at) = lock_word($pid) or die "no zone in $pid\n";
    my ($locks, $had, $has) = (0, 0);
    for (my $steps = 0; $locks < 2 || $more-- > 0; $steps++) {
        syscall($ptrace, STEP, $pid, 0, 0) == 0 or die "step: $!\n";
        waitpid $pid, WALL;
        sysseek $mem, $at, 0;
        sysread $mem, my $word, 8;
        $has = unpack('Q', $word) == $pid;
        $locks++ if $has && !$had;
        last if $locks == 2 && !$has;
        $had = $has;
        die "no lock in $steps instructions\n" if $steps > 1_000_000;
    }
    return $has;
}

$t->allow_log(qr{exited on signal 9|shared memory zone "z" was locked by \d+$});
my ($deaths, $emptied, $wrong) = (0, 0, 0);
for (my $more = 0; $deaths < DEATHS; $more += 37) {
    my $pid = 0 + ($t->workers)[0];
    if (syscall($ptrace, ATTACH, $pid, 0, 0) != 0) {
        diag "ptrace: $!";
        last;
    }
    waitpid $pid, WALL;

    # a key that is surely not there
    my $key = "new$more.pdb";
    $t->put('3.1.0', 'new', key => "$key/${Test::ModuleCase::guid}1A");
    my $c = $t->open_http($t->nginx_socket, 'GET',
                          $t->uri('3.1.0', pdb => $key));
    my $locked = step($pid, $more);
    kill 'KILL', $pid;
    waitpid $pid, WALL;
    $t->wait_until('another worker', sub {
        my @w = $t->workers;
        return @w == 1 && $w[0] != $pid;
    });
    $wrong += 20 - right(20);
    last unless $locked;
    $deaths++;
    $emptied++ if status()->{keys} <= 20;
}

SKIP: {
    skip 'ptrace is not allowed', 5 unless $deaths;
    cmp_ok $deaths, '>', 5, "deaths with the lock: $deaths";
    cmp_ok $emptied, '>=', $deaths - 2,
        'what was left half changed is given up';
    is $wrong, 0, 'every answer is right afterwards';
    my $after = status();
    cmp_ok $after->{requests}{hit}, '>', $before->{requests}{hit},
        'counters are kept';
    right(50);
    cmp_ok status()->{keys}, '>', 10, 'and keys are known again';
}

$t->finish;
done_testing;
