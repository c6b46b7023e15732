package Test::Soak;

# A campaign against real nginx, module, symcached and symbolicated: clients ask
# for SymCaches, originals and names of keys that exist and that do not, while
# upstream answers as it likes (Upstream), build machines upload, replace and
# remove files at two machines of a fleet (Sender), processes are killed, files
# go, the disk fills and the clock steps (Chaos).  Each answer is judged (Client,
# Judge, History), and when the faults cease everything has to be as before.  All
# choices come from one seed.
#
#   my $soak = Test::Soak->new(seed => 1, keys => 80, disk => $dir);
#   $soak->round(seconds => 5, without => ['kill', 'term']);
#   $soak->end;
#   print $soak->table;
#   # $soak->violations

use strict;
use warnings;

use parent 'Test::Soak::World';

use File::Path qw(remove_tree);
use List::Util qw(sum0);
use POSIX ();
use Test::Soak::Chaos;
use Test::Soak::Client;
use Test::Soak::Guests;
use Test::Soak::History;
use Test::Soak::Judge;
use Test::Soak::Names;
use Test::Soak::Sender;
use Test::Soak::Watch;
use Test::Symcache;
use Time::HiRes qw(sleep time);

# %o: seed, keys, disk (a small file system, or undef)
sub new {
    my ($class, %o) = @_;
    my $self = bless { %o, rounds => 0, violations => [], status => {},
                       answers => 0, done => {}, children => [] }, $class;
    $self->set_up(%o);
    $self->{judge} = Test::Soak::Judge->new(
        host => \%Test::Soak::Upstream::host, corpus => $self->{corpus});
    $self->{history} = Test::Soak::History->new;
    $self->{names} = $self->name_templates;
    # how long this machine needs without any fault
    $self->recover;
    $self->{usual} = delete $self->{recovery};
    return $self;
}

sub violations { @{ $_[0]{violations} } }

sub violation {
    my ($self, $what, @evidence) = @_;
    push @{ $self->{violations} }, join "\n    ",
        sprintf('%.3f %s', time, $what), @evidence;
}

# --- a round

# %o: seconds, seed, without (actions left out), clients
sub round {
    my ($self, %o) = @_;
    my $n = ++$self->{rounds};
    my $seed = $o{seed} // "$self->{seed}$n";
    unlink $self->path('stop');
    my $before = $self->settled('before');
    $self->set_calm(0);

    my $chaos = Test::Soak::Chaos->new(world => $self, seed => $seed,
                                       without => $o{without});
    my @files = map { $self->path("answers.$n.$_") }
        1 .. $o{clients} // 24;
    my $client = 0;
    my @clients = map { Test::Soak::Client->start(world => $self,
        seed => $seed + 1000 * ++$client, file => $_) } @files;
    my @senders = map { $self->start_sender($seed, $_) } 0, 1;
    my $watch = Test::Soak::Watch->start(world => $self,
        file => $self->path("vanished.$n"));
    $chaos->run($o{seconds});
    push @{ $self->{events} }, $chaos->events;
    $self->{done}{$_} += $chaos->count->{$_} for keys %{ $chaos->count };
    push @{ $self->{workers} }, map { $_->{worker} // () } $chaos->events;

    $self->set_calm(1);
    # which is what has a tier asked again at once
    kill 'HUP', $_->{helper} for grep { $_->{helper} } $self->tiers;
    $self->{t}->write_file('stop', '');
    waitpid $watch, 0;
    $self->check_kept($self->path("vanished.$n"));
    waitpid $_, 0 for @senders;
    $self->recover;
    waitpid $_, 0 for @clients;
    $self->judge($chaos, $_) for @files;
    $self->compare($before, $self->settled('after'));
}

sub read_answers {
    my ($file) = @_;
    open my $fh, '<', $file or return;
    return map {
        chomp;
        my %ask;
        @ask{@Test::Soak::Client::fields} = split;
        \%ask
    } <$fh>;
}

sub judge {
    my ($self, $chaos, $file) = @_;
    $self->{judge}->read_notes($self->{upstream}->journal);
    for my $ask (read_answers($file)) {
        $self->{answers}++;
        $self->{status}{ status_name($ask) }++;
        $self->{asked}{ $ask->{how} }++;
        my $what = $self->wrong($chaos, $ask) or next;
        $self->violation("$what: " . join(' ',
            @$ask{@Test::Soak::Client::fields}),
            $self->{judge}->evidence($ask, @{ $self->sources($ask->{store}) }),
            $self->{history}->evidence($ask), $self->helper_lines($ask));
    }
}

sub status_name {
    my ($ask) = @_;
    return 'no answer' if !$ask->{status};
    return $ask->{status} . ($ask->{flags} eq '-' ? ''
        : $ask->{flags} eq 'again' ? ', ask again' : ', cut');
}

# The rule that an answer breaks, or nothing.
sub wrong {
    my ($self, $chaos, $ask) = @_;
    return $ask->{trouble} if $ask->{trouble} ne '-';
    if (!$ask->{status} || $ask->{flags} eq 'cut') {
        return if $self->cut_off($chaos, $ask) || $self->is_reset($ask);
        return 'no whole answer';
    }
    return if $ask->{status} == 404 && $self->is_alone($chaos, $ask);
    return $self->{history}->wrong($ask) if $self->is_sent($ask);
    return if $ask->{status} != 404 || $ask->{flags} eq 'again';
    my @silent = $self->{judge}->unexcused($ask, [clock_back($chaos, $ask)],
        grep { $ask->{how} ne 'symbols' || $self->has_original($_) }
        @{ $self->sources($ask->{store}) });
    return @silent ? "final 404, and @silent did not say so" : ();
}

sub is_sent {
    my ($self, $ask) = @_;
    my $key = $self->holds(@$ask{qw(store name id)});
    return $key && $key->{versions};
}

# Of each template, by which symbolicated's answers are known.
sub name_templates {
    my ($self) = @_;
    my %key = (name => 'names.pdb', guid => '0' x 32, age => 1);
    return Test::Soak::Names->new($self->{t}, [map {
        $self->{corpus}->converted({ %key, template => $_ })
    } 0 .. $self->{corpus}->templates - 1]);
}

# A symbolicated that has found no symcached since it was started has what is
# on disk only.
sub is_alone {
    my ($self, $chaos, $ask) = @_;
    return if $ask->{how} !~ /^(?:names|guest)$/;
    my @lately = map { $_->{what} } grep {
        $_->{at} < $ask->{ended}
            && ($_->{until} // $_->{at}) > $ask->{began} - 5
    } $chaos->events;
    return grep(/^helper (?:TERM|KILL)/, @lately)
        && grep(/^symbolicated (?:TERM|KILL)/, @lately);
}

# By how many seconds the clock was set back, of which nginx and symbolicated may
# still have an answer.
sub clock_back {
    my ($chaos, $ask) = @_;
    return map { -$_->{by} } grep {
        ($_->{by} // 0) < 0 && $_->{at} < $ask->{ended}
            && ($_->{until} // $_->{at}) > $ask->{began} - 5
    } $chaos->events;
}

# What nginx does where others get 503: docs/symbol-server.md.
sub is_reset {
    my ($self, $ask) = @_;
    return $ask->{how} eq 'symbols' && $ask->{hint} ne '-' && !$ask->{status};
}

# Whether a worker was killed meanwhile; one that is to end in peace, which
# may take it a while, closes a connection over which nobody has asked yet.
sub cut_off {
    my ($self, $chaos, $ask) = @_;
    # symbolicated ends when it finds that, and is started again
    my $is_post = $ask->{how} =~ /^(?:names|guest)$/;
    return 1 if $is_post && $self->{store_removed};
    for my $event ($chaos->events) {
        next if $event->{at} > $ask->{ended} + 1;
        return 1 if $event->{what} =~ /^symbolicated/ && $is_post
            && ($event->{until} // $event->{at}) > $ask->{began} - 1;
        next if $is_post;
        return 1 if $event->{what} =~ /^worker/
            && $event->{at} > $ask->{began} - 1;
        return 1 if $event->{what} eq 'nginx HUP' && $ask->{how} eq 'kept'
            && $event->{at} > $ask->{began} - 15;
    }
    return 0;
}

# What the helper's log says of a key.
sub helper_lines {
    my ($self, $ask) = @_;
    my @lines = map { substr $_, 0, 300 } grep { /\Q$ask->{id}\E/i }
        split /\n/, $self->tier($ask->{store})->helper_log;
    return @lines > 6 ? @lines[-6 .. -1] : @lines;
}

# Files that vanished, and that nobody but symcached can have removed: all are
# younger than what it evicts, unless the clock or somebody made them older.
sub check_kept {
    my ($self, $file) = @_;
    open my $notes, '<', $file or die "$file: $!";
    while (my $line = <$notes>) {
        my ($seen, $gone, $store, $lower, $id) = split ' ', $line;
        $self->{vanished}++;
        next if grep {
            $_->{at} <= $gone && ($_->{what} eq 'clock step'
                || ($_->{store} // '') eq $store
                    && ($_->{lower} // $lower) eq $lower
                    && ($_->{id} // $id) eq $id
                    && ($_->{what} eq 'aged'
                        || ($_->{until} // $_->{at}) >= $seen))
        } @{ $self->{events} };
        $self->violation(sprintf '%s/%s/%s is gone at %.3f, which was there '
            . '%.2f s before', $store, $lower, $id, $gone, $gone - $seen);
    }
}

# --- what is sent

# Keys that nobody else sends: what is there is then no question of order.
sub start_sender {
    my ($self, $seed, $n) = @_;
    my @keys = $self->sent_keys;
    my @mine = grep { $_ % 2 == $n } 0 .. $#keys;
    return Test::Soak::Sender->start(world => $self, seed => $seed + 7 + $n,
        file => $self->sent_file($n), keys => [@keys[@mine]]);
}

sub sent_file { $_[0]->path("sent.$_[0]{rounds}.$_[1]") }
sub sent_keys { grep { $_->{versions} } $_[0]{corpus}->keys }

# One of a round's versions stays, which all machines have to know of soon.
sub send_last {
    my ($self) = @_;
    my $sender = Test::Soak::Sender->new(world => $self,
        file => $self->sent_file('last'));
    for my $key ($self->sent_keys) {
        for my $version (0, 1 + $self->{rounds} % ($key->{versions} - 1)) {
            $sender->put_surely('sent', $key, $version, $self->limit + 5)
                or $self->violation("$key->{id} cannot be sent any more",
                                    $self->helper_lines({ %$key,
                                        store => 'sent' }));
        }
    }
    for my $n (0, 1, 'last') {
        $self->violation("sent: $_")
            for $self->{history}->read_notes($self->sent_file($n));
    }
    my @left = map { $self->uploads($_) . '/.untold' } $self->tiers;
    eval {
        $self->{t}->wait_until('a machine was not told', sub {
            !grep { -s } @left }, $self->limit + 10);
    } or $self->violation($@ =~ s/\n//r, map {
        $self->{t}->read_file($_) // '' } @left);
}

# --- when the faults have ceased

# Each key is asked for until it is served; clients share the keys.
sub recover {
    my ($self) = @_;
    $self->send_last;
    my @guests = Test::Soak::Guests::targets($self);
    Test::Soak::Guests::forget($self, $_) for $self->{corpus}->guests;
    my @targets = ($self->targets, grep { $_->{key} } @guests);
    my $n = 16;
    my @files = map { $self->path("recovery.$self->{rounds}.$_") } 1 .. $n;
    my @pids = map {
        my $i = $_;
        my $pid = fork() // die "fork: $!";
        if ($pid == 0) {
            $self->recover_some($files[$i],
                map { $targets[$_] } grep { $_ % $n == $i } 0 .. $#targets);
            POSIX::_exit(0);
        }
        $pid
    } 0 .. $n - 1;
    while (grep { Test::Symcache::alive($_) } @pids) {
        $self->check_alive;
        sleep 0.1;
    }
    my %asks;
    for my $ask (map { read_answers($_) } @files) {
        $self->{answers}++;
        $self->{status}{ status_name($ask) }++;
        push @{ $asks{"$ask->{store} $ask->{id} $ask->{how}"} }, $ask;
        my $wrong = $ask->{trouble} ne '-' ? $ask->{status} && $ask->{trouble}
            : $self->is_sent($ask) && $self->{history}->wrong($ask) or next;
        $self->violation("recovery: $wrong: " . join(' ',
            @$ask{@Test::Soak::Client::fields}), $self->{history}->evidence($ask),
            $self->helper_lines($ask));
    }
    for my $target (@targets) {
        for my $how ($self->ways($target)) {
            $self->check_recovery($target, $how, @{ $asks{
                "$target->{store} $target->{id} $how"} // [] });
        }
    }
}

# How a file can be asked for.
sub ways {
    my ($self, $target) = @_;
    return 'guest' if Test::Soak::Guests::is_guest($target->{store});
    return 'hold', $target->{store} ne 'near'
            && $self->has_original($target->{key}{home}) ? 'symbols' : (),
        $target->{store} =~ /^(?:web|sent)$/ ? 'names' : ();
}

sub check_recovery {
    my ($self, $target, $how, @asks) = @_;
    my $took = @asks ? $asks[-1]{ended} - $asks[0]{began} : 0;
    my $last = @asks ? status_name($asks[-1]) : 'not asked for';
    $self->{recovery} = $took if $took > ($self->{recovery} // 0);
    $self->violation(sprintf('%s %s/%s (%s) was not served in %.1f s after '
        . 'the faults: %s', @$target{qw(store name id)}, $how, $took, $last),
        $self->helper_lines($target))
        if $last ne '200' || $took > $self->limit;
}

# Not counted is what it took before there were faults, nor that others are at
# work on the machine, who leave less of it than a campaign by itself does.
sub limit {
    my ($self) = @_;
    return $Test::Symcache::patience if !defined $self->{usual};
    my ($load) = split ' ', $self->{t}->read_file('/proc/loadavg');
    my $cores = () = $self->{t}->read_file('/proc/stat') =~ /^cpu\d/mg;
    my $crowd = $load / (4 * $cores);
    return ($self->{limit} + $self->{usual}) * ($crowd > 1 ? $crowd : 1);
}

sub recover_some {
    my ($self, $file, @targets) = @_;
    open my $notes, '>>', $file or die "$file: $!";
    my $client = bless { world => $self, notes => $notes },
        'Test::Soak::Client';
    srand 1;
    for my $target (@targets) {
        for my $how ($self->ways($target)) {
            my $end = time + $self->limit + 5;
            while (time < $end) {
                last if $client->visit($how, $target)->{status} == 200;
                sleep 0.1;
            }
        }
    }
}

# Megabytes that a helper may have taken and not given back.
our $growth = 32;

# What both helpers have now, and had before; one that was started anew
# meanwhile is not compared.
sub compare {
    my ($self, $before, $after) = @_;
    my $kept = Test::Symcache::libcurl() >= 0x080500
        ? qr/^socket$|eventfd|^pipe$/ : qr/^socket$|eventfd/;
    for my $tier (grep { $before->[$_]{pid} == $after->[$_]{pid} } 0, 1) {
        my ($was, $is) = ($before->[$tier], $after->[$tier]);
        for my $what (sort keys %{ $is->{descriptors} }) {
            my ($n, $m) = map { $_->{descriptors}{$what} // 0 } $was, $is;
            # connections to upstreams are kept for a while, each with a pair
            # of sockets, a pipe or an eventfd, as libcurl's version has it,
            # and the work folder of uploads is there from the first one on
            $self->violation("descriptors: $m of $what, before $n")
                if $m > $n + ($what =~ $kept ? 60 : $what eq 'run' ? 1 : 0);
        }
        my $grown = $is->{memory} - $was->{memory};
        $self->{grown} = $grown if $grown > ($self->{grown} // 0);
        $self->violation(sprintf 'memory: %.1f MB, before %.1f MB',
                         $is->{memory}, $was->{memory})
            if $grown > $growth && !$Test::Symcache::san;
    }
}

# --- the end

# Stops everything; what is left behind then is a violation, too.
sub end {
    my ($self) = @_;
    $self->wait_for_guests if $self->{keep};
    $self->{upstream}->stop;
    for my $t (reverse $self->tiers) {
        $t->stop_nginx;
        $self->stop_helper('TERM', $t);
        $t->stop_symbolicated;
        $self->allow_logs($t);
        $t->check_logs;
        $t->check_left_files;
        $self->violation($_) for splice @{ $t->{problems} // [] };
    }
    $self->{net}->stop if $self->{net};
    $self->{t}->stop_pid($_, 'TERM') for @{ $self->{children} };
    $self->violation("left behind: $_")
        for map { glob $self->root($_) . '/.tmp/*' } $self->stores;
    $self->violation($_) for Test::Soak::Guests::left($self, $self->{keep});
    $self->{kinds} = $self->{judge}{kinds};
}

# Their stores are looked at once in ten seconds.
sub wait_for_guests {
    my ($self) = @_;
    eval { $self->{t}->wait_until('what killed guest helpers left goes', sub {
        !Test::Soak::Guests::stale($self) }, 30) };
    $self->violation("stale: $_") for Test::Soak::Guests::stale($self);
}

# What was our doing.
sub allow_logs {
    my ($self, $t) = @_;
    $t->allow_log(qr/not valid JSON near column \d+; the old configuration stays/);
    $t->allow_log(qr/is another one than at the start/);
    $t->allow_log(qr/cannot open .* of store .*: start symcached first/)
        if $self->{store_removed};
    # of workers that were killed, and by those that were to end in peace
    # before that
    $t->allow_log(qr/exited on signal (?:9|15)\b/);
    $t->allow_log(qr/shared memory zone .* was locked by/);
    $t->allow_log(qr/ $_#$_: (?:\*\d+ open socket|aborting)/)
        for @{ $self->{workers} };
}

# Takes away what there is of it, but what a violation may be looked for in.
sub clear {
    my ($self) = @_;
    my $keep = $ENV{SYMCACHE_KEEP} || $self->{keep} && $self->violations;
    remove_tree($self->disk);
    for my $t ($self->tiers) {
        print STDERR '# kept: ', $t->dir, "\n" if $keep;
        remove_tree($t->dir) if !$keep;
        $t->{finished} = 1;
    }
}

sub table {
    my ($self) = @_;
    my %status = %{ $self->{status} };
    my %done = %{ $self->{done} };
    return join '', map { "$_\n" }
        sprintf('seed %s: %d rounds, %d keys in %d stores', $self->{seed},
                $self->{rounds}, scalar $self->{corpus}->keys,
                scalar(() = $self->stores)),
        sprintf('answers checked: %d', $self->{answers}),
        (map { sprintf '  %-16s %d', $_, $status{$_} } sort keys %status),
        sprintf('sent: %d', sum0(values %{ $self->{history}{count} })),
        (map { sprintf '  %-16s %d', $_, $self->{history}{count}{$_} }
            sort keys %{ $self->{history}{count} }),
        (map { sprintf '%-18s %d', "$_ asked:", $self->{asked}{$_} }
            sort keys %{ $self->{asked} }),
        sprintf('violations: %d', scalar $self->violations),
        sprintf('longest recovery: %.2f s, before all faults: %.2f s',
                @$self{qw(recovery usual)}),
        sprintf('most memory that a helper kept: %.1f MB',
                $self->{grown} // 0),
        sprintf('SymCaches that vanished: %d', $self->{vanished} // 0),
        'done to it:',
        (map { sprintf '  %-16s %d', $_, $done{$_} } sort keys %done),
        sprintf('kinds of answers of upstreams: %d, in all %d',
                scalar keys %{ $self->{kinds} },
                sum0(values %{ $self->{kinds} })),
        map { "not done: $_: $self->{not_done}{$_}" }
            sort keys %{ $self->{not_done} // {} };
}

1;
