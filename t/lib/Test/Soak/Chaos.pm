package Test::Soak::Chaos;

# What happens to the machine of a campaign: signals for the helper, its
# children and nginx's workers, files that go, a disk that fills, a clock that
# steps, directories that change under who reads them.  Everything is noted
# in the file "events", and what lasts has its end in a queue.

use strict;
use warnings;

use File::Find ();
use File::Path qw(make_path remove_tree);
use POSIX ();
use Test::Soak::Guests;
use Test::Symcache;
use Time::HiRes qw(sleep time utime);

# Weight and name; a round leaves out what it does not want.
my @actions = (
    [4, 'hup'], [1, 'hup_bad'], [2, 'term'], [4, 'kill'], [16, 'child'],
    [2, 'child_stopped'], [4, 'worker'], [1, 'nginx_hup'],
    [30, 'remove_key'], [15, 'remove_file'], [5, 'remove_pdb'],
    [1, 'remove_store'], [10, 'remove_download'], [3, 'fill'], [6, 'grow_old'],
    [3, 'clock'], [12, 'share'], [8, 'drop'], [1, 'unmounted'],
    [2, 'hang'], [2, 'near_kill'], [3, 'forget'], [3, 'look'], [1, 'clean'],
    [3, 'symbolicated'], [1, 'tier_away'], [3, 'guests'],
);

# %o: world, seed, without => [names]
sub new {
    my ($class, %o) = @_;
    my %without = map { $_ => 1 } @{ $o{without} // [] };
    my $self = bless { %o, due => [], events => [], count => {},
        actions => [grep { !$without{ $_->[1] } } @actions] }, $class;
    $self->{total} += $_->[0] for @{ $self->{actions} };
    return $self;
}

sub world { $_[0]{world} }
sub t { $_[0]{world}->t }
sub events { @{ $_[0]{events} } }
sub count { $_[0]{count} }

# Notes what was done; %more: store, name, id of what is not there any more.
sub note {
    my ($self, $what, %more) = @_;
    $self->{count}{$what}++;
    open my $fh, '>>', $self->t->path('events') or die "events: $!";
    printf $fh "%.3f %s %s\n", time, $what,
        join ' ', map { $_ // () } @more{qw(store lower id worker by)};
    push @{ $self->{events} }, { at => time, what => $what, %more };
}

sub later {
    my ($self, $seconds, $do) = @_;
    push @{ $self->{due} }, { at => time + $seconds, do => $do };
}

sub run_due {
    my ($self, $all) = @_;
    my @due = grep { $all || $_->{at} <= time } @{ $self->{due} };
    my %done = map { $_ => 1 } @due;
    $self->{due} = [grep { !$done{$_} } @{ $self->{due} }];
    $_->{do}->() for @due;
}

sub run {
    my ($self, $seconds) = @_;
    srand $self->{seed};
    my $end = time + $seconds;
    while (time < $end) {
        $self->world->check_alive;
        $self->run_due;
        my $at = int rand $self->{total};
        for (@{ $self->{actions} }) {
            next if ($at -= $_->[0]) >= 0;
            my $do = $self->can("do_$_->[1]");
            $do->($self);
            last;
        }
        sleep rand 0.1;
    }
    $self->run_due(1);
    $self->start_helper if !$self->t->{helper};
    $self->t->wait_until('symbolicated starts again', sub {
        $self->world->start_symbolicated if !$self->t->{symbolicated};
        $self->t->{symbolicated} });
}

# --- the helper

sub helper { $_[0]->t->{helper} }

sub start_helper {
    my ($self) = @_;
    $self->world->start_helper if !$self->helper;
}

sub do_hup {
    my ($self) = @_;
    my $pid = $self->helper or return;
    $self->world->write_config(transcodes => 1 + int rand 3);
    kill 'HUP', $pid;
    $self->note('helper HUP');
}

# A bad file keeps the old configuration.
sub do_hup_bad {
    my ($self) = @_;
    my $pid = $self->helper or return;
    $self->t->write_file('symcached.json', '{ "listen": ');
    kill 'HUP', $pid;
    $self->note('helper HUP, bad file');
    $self->later(0.3, sub { $self->world->write_config });
}

sub do_term {
    my ($self) = @_;
    $self->helper or return;
    $self->note('helper TERM');
    $self->world->stop_helper('TERM');
    $self->down;
}

sub do_kill {
    my ($self) = @_;
    $self->helper or return;
    $self->note('helper KILL');
    $self->t->stop_symcached('KILL');
    $self->down;
}

# Not started again at once, as service managers do.
sub down {
    my ($self) = @_;
    $self->world->write_config;
    $self->later(rand() < 0.5 ? 0 : rand 1, sub { $self->start_helper });
}

sub descendants {
    my ($pid) = @_;
    my @all;
    for my $file (glob "/proc/$pid/task/*/children") {
        open my $fh, '<', $file or next;
        my @some = split ' ', <$fh> // '';
        push @all, @some, map { descendants($_) } @some;
    }
    return @all;
}

sub parent {
    my ($pid) = @_;
    open my $fh, '<', "/proc/$pid/stat" or return 0;
    return (split ' ', (<$fh> // '') =~ s/.*\)//r)[1] // 0;
}

sub a_child {
    my ($self) = @_;
    my $pid = $self->helper or return;
    # A sanitizer looks for leaks from a child of the process that ends, which
    # waits for ever if that is killed.
    my @all = grep { !$Test::Symcache::san || parent($_) == $pid }
        descendants($pid);
    return @all ? $all[rand @all] : undef;
}

sub do_child {
    my ($self) = @_;
    my $signal = (qw(KILL KILL TERM HUP INT))[rand 5];
    # they live for milliseconds
    for (1 .. 20) {
        my $pid = $self->a_child;
        if ($pid && kill $signal, $pid) {
            $self->note("child $signal");
            return;
        }
        sleep 0.003;
    }
}

sub command_line {
    my ($pid) = @_;
    open my $fh, '<', "/proc/$pid/cmdline" or return '';
    return <$fh> // '';
}

# Not for as long as anything has time.  One that has not begun its program yet
# is left alone: it may be a vfork(), for which its parent waits.
sub do_child_stopped {
    my ($self) = @_;
    my $pid = $self->a_child or return;
    return if command_line($pid) eq command_line(parent($pid));
    kill 'STOP', $pid or return;
    $self->note('child STOP');
    $self->later(rand 0.7, sub { kill 'CONT', $pid });
}

sub do_forget {
    my ($self) = @_;
    my $key = $self->a_key;
    $self->world->tier($key->{store})->helper('POST',
        '/v1/forget/' . $self->world->store_name($key->{store})
        . "/$key->{lower}");
    $self->note('forget');
}

# What an operator looks at is there as long as the helper is.
sub do_look {
    my ($self) = @_;
    my $key = $self->a_key;
    my $uri = ('/healthz', '/metrics', '/v1/jobs', '/v1/sources',
               '/v1/status', '/v1/misses',
               '/v1/why/' . $self->world->store_name($key->{store})
               . "/$key->{lower}/$key->{id}")[rand 7];
    my $began = time;
    my $t = $self->world->tier($key->{store});
    my $pid = $t->{helper} or return;
    my $r = eval { $t->helper('GET', $uri) };
    $self->note('look');
    my $status = $r ? $r->{status} : 0;
    $self->world->violation("$uri: $status after "
        . sprintf('%.1f s', time - $began))
        if $status != 200 && Test::Symcache::alive($pid);
}

sub do_clean {
    my ($self) = @_;
    my %env = (PATH => "$Test::Symcache::build:$ENV{PATH}",
               $self->t->sanitizer_env(0));
    $self->world->child($self->t->spawn('clean.out', \%env,
        $self->t->program('symcached'), '--clean', '-c',
        $self->t->path('clean.json')));
    $self->note('clean');
}

# The helper of the second tier.
sub do_near_kill {
    my ($self) = @_;
    my $near = $self->world->tier('near');
    my $signal = (qw(TERM KILL))[rand 2];
    $self->note("near helper $signal");
    $signal eq 'KILL' ? $near->stop_symcached('KILL')
        : $self->world->stop_helper('TERM', $near);
    $self->world->start_helper($near);
}

# Which symcached starts again.
sub do_guests {
    my ($self) = @_;
    my $pid = $self->helper or return;
    my ($guests) = Test::Soak::Guests::helpers(
        grep { parent($_) == $pid } descendants($pid)) or return;
    my $signal = (qw(KILL KILL TERM))[rand 3];
    kill $signal, $guests or return;
    $self->note("guests $signal");
}

# --- symbolicated

sub do_symbolicated {
    my ($self) = @_;
    $self->t->{symbolicated} or return;
    my $signal = (qw(TERM KILL HUP))[rand 3];
    $self->note("symbolicated $signal");
    return kill 'HUP', $self->t->{symbolicated} if $signal eq 'HUP';
    my $status = $self->t->stop_symbolicated($signal);
    $self->world->violation("symbolicated: wait status $status on TERM")
        if $signal eq 'TERM' && $status;
    $self->world->start_symbolicated;
    $self->{events}[-1]{until} = time;
}

# --- nginx

sub do_worker {
    my ($self) = @_;
    my @tiers = $self->world->tiers;
    my @workers = $tiers[rand @tiers]->workers or return;
    my $pid = $workers[rand @workers];
    my $signal = (qw(KILL TERM))[rand 2];
    kill $signal, $pid or return;
    $self->note("worker $signal", worker => $pid);
}

sub do_nginx_hup {
    my ($self) = @_;
    kill 'HUP', $self->t->{nginx};
    $self->note('nginx HUP');
}

# --- the store

sub a_key {
    my ($self) = @_;
    my @keys = $self->world->targets;
    my $target = $keys[rand @keys];
    return { %{ $target->{key} }, store => $target->{store} };
}

# Others remove at the same time.  A whole store takes a while, in which what
# is still there is served.
sub remove {
    my ($self, $dir) = @_;
    remove_tree($dir, { error => \my $ignored });
    $self->{events}[-1]{until} = time;
}

sub key_dir {
    my ($self, $key) = @_;
    return $self->world->root($key->{store}) . "/$key->{lower}/$key->{id}";
}

sub do_remove_key {
    my ($self) = @_;
    for (1 .. 1 + rand 6) {
        my $key = $self->a_key;
        $self->note('removed', %$key{qw(store lower id)});
        $self->remove($self->key_dir($key));
    }
}

sub do_remove_file {
    my ($self) = @_;
    my $key = $self->a_key;
    my @files = glob $self->key_dir($key) . '/*' or return;
    $self->note('removed', %$key{qw(store lower id)});
    unlink $files[rand @files];
    $self->{events}[-1]{until} = time;
}

sub do_remove_pdb {
    my ($self) = @_;
    my $key = $self->a_key;
    $self->note('removed', %$key{qw(store lower)});
    $self->remove($self->world->root($key->{store}) . "/$key->{lower}");
}

sub do_remove_store {
    my ($self) = @_;
    my $key = $self->a_key;
    $self->note('store removed', store => $key->{store});
    $self->world->{store_removed} = 1;
    $self->remove($self->world->root($key->{store}));
}

sub do_remove_download {
    my ($self) = @_;
    my $key = $self->a_key;
    $self->note('download removed');
    $self->remove($self->world->disk
                  . "/downloads/$key->{store}/$key->{lower}");
}

# As after a jump of the clock, or a copy with old times.
sub do_grow_old {
    my ($self) = @_;
    my $by = (1800, 7200, 86_400 * 8, -3600)[rand 4];
    for (1 .. 1 + rand 10) {
        my $key = $self->a_key;
        # half an hour is no age for what is in use
        $self->note('aged', $by == 1800 ? () : %$key{qw(store lower id)});
        utime time - $by, time - $by, glob $self->key_dir($key) . '/*';
    }
}

sub do_fill {
    my ($self) = @_;
    return if !$self->world->small_disk;
    my $file = $self->world->disk . '/filler';
    return if -e $file;
    open my $fh, '>', $file or return;
    my $block = "\0" x 65_536;
    1 while syswrite $fh, $block;
    close $fh;
    # to the last byte, or not quite
    truncate $file, (-s $file) - 65_536 * int rand 40 if rand() < 0.5;
    $self->note('disk filled');
    $self->later(0.2 + rand 1.3, sub { unlink $file });
}

# --- the clock

sub do_clock {
    my ($self) = @_;
    my $clock = $self->world->clock or return;
    my $by = (60, 3600, 86_400 * 8, -30, -3600, -86_400 * 8)[rand 6];
    $clock->set($by);
    $self->note('clock step', by => $by);
    my $event = $self->{events}[-1];
    $self->later(0.2 + rand 2, sub {
        $clock->set(0);
        $event->{until} = time;
    });
}

# --- directories among the sources

# A key of that directory; %o: doubted (of those only).
sub key_of {
    my ($self, $source, $doubted) = @_;
    my @keys = grep { $_->{home} eq $source && (!$doubted || $_->{doubted}) }
        $self->world->corpus->keys;
    return @keys ? $keys[rand @keys] : undef;
}

sub do_share { $_[0]->change('share') }
sub do_drop { $_[0]->change('drop') }

sub change {
    my ($self, $source) = @_;
    my $how = (qw(gone damaged cut other))[rand 4];
    # a flat directory has no place of its own for each build
    my $verdict = $how eq 'gone' || $how eq 'other' && $source eq 'drop'
        ? 'absent' : $how eq 'damaged' ? 'damaged' : 'unsure';
    my $key = $self->key_of($source, $verdict ne 'unsure') or return;
    my $world = $self->world;
    return if $self->{changed}{"$source/$key->{i}"}++;
    my $pdb = $how eq 'damaged' ? $world->corpus->damaged($key)
        : $how eq 'cut' ? substr $world->corpus->pdb($key), 0, 9000
        : $how eq 'other' ? $world->corpus->pdb($world->corpus->other($key))
        : undef;
    $world->say_of($source, $key, $verdict, $how);
    $world->put($source, $key, $pdb);
    $self->note("$source: $how");
    $self->later(0.3 + rand 1.5, sub {
        $world->put($source, $key, $world->corpus->pdb($key));
        $world->say_of($source, $key, 'file', 'restored');
        delete $self->{changed}{"$source/$key->{i}"};
    });
}

# A network file system that is not mounted.
sub do_tier_away {
    my ($self) = @_;
    my $dir = $self->t->path('tier');
    rename $dir, "$dir.away" or return;
    $self->note('tier away');
    $self->later(0.2 + rand 1, sub { rename "$dir.away", $dir });
}

# No signal reaches who waits in there.
sub do_hang {
    my ($self) = @_;
    my $net = $self->world->net or return;
    return if $self->{hanging}++;
    $net->hang;
    $self->note('directory hangs');
    $self->later(0.5 + rand 4, sub {
        $net->release;
        delete $self->{hanging};
    });
}

# A directory that is not there is no absence.
sub do_unmounted {
    my ($self) = @_;
    my $dir = $self->t->path('share');
    rename $dir, "$dir.away" or return;
    $self->note('share away');
    $self->later(0.2 + rand 1, sub { rename "$dir.away", $dir });
}

1;
