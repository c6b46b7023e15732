package Test::Tier;

# Machines of a fleet that share a tier, one after the other, each with a disk
# of its own: a real symcached with the built-in converter.
#
#   my $fleet = Test::Tier->new($t, tier => { type => ... }, env => { ... },
#                               sources => [...], more => { uploads => ... });
#   $fleet->machine;                    # the next one, with an empty disk
#   is $fleet->ask($fleet->{key}), 200;
#
# While the file "closed" is there, the converter does not begin.

use strict;
use warnings;

use POSIX ();
use Test::Symcache;

our $id = $Test::Symcache::key{'crash.pdb'};
my $name = 'crash.pdb-v9.0.0.symcache';

sub new {
    my ($class, $t, %o) = @_;
    $t->symbol_store('symbols');
    return bless { t => $t, n => 0, key => "crash.pdb/$id", env => {}, absent => 0,
                   %o }, $class;
}

# The configuration of the present machine; what is given is added to its tier.
sub config {
    my ($self, %more) = @_;
    my ($t, $n) = @$self{qw(t n)};
    my $count = $t->path("runs$n");
    return {
        stores => { default => {
            root => $t->path("store$n"),
            transcoders => [{ version => '9.0.0', profile => 'none',
                command => ['/bin/sh', '-c', "echo >>$count; "
                    . 'while [ -e ' . $t->path('closed') . ' ]; do sleep 0.02; '
                    . 'done; exec ' . $t->program('pdb2symcache') . ' -pdb "$0" -o "$1"',
                    '{pdb}', "{out}/$name"] },
                { version => '1.0.0', makes => 'ppdbcache',
                  command => [$t->program('pdb2symcache'), '-pdb', '{pdb}'] }],
            sources => $self->{sources} // ['local'], tier => 'fleet',
        } },
        downloads => $t->path("downloads$n"),
        sources => { local => { type => 'filesystem',
            path => $t->path('symbols'), layout => 'symstore' } },
        tiers => { fleet => { %{ $self->{tier} }, %more } },
        cache => { retry_errors_after => '1s' },
        %{ $self->{more} // {} },
    };
}

# Starts the next machine in place of the one before.
sub machine {
    my ($self, %more) = @_;
    $self->{t}->stop_symcached if $self->{n};
    $self->{n}++;
    $self->{t}->start_symcached($self->config(%more), env => $self->{env});
}

# Starts the present machine again, with its disk.
sub restart {
    my ($self, %more) = @_;
    $self->{t}->stop_symcached;
    $self->{t}->start_symcached($self->config(%more), env => $self->{env});
}

# How often its transcoder ran.
sub runs {
    my ($self) = @_;
    return scalar(() = ($self->{t}->read_file("runs$self->{n}") // '') =~ /\n/g);
}

# The path of its SymCache.
sub file { $_[0]{t}->path("store$_[0]{n}/$_[0]{key}/$name") }

sub downloads { $_[0]{t}->path("downloads$_[0]{n}") }

# A key that no source has, another one each time.
sub absent { sprintf 'absent%d.pdb/%s1', ++$_[0]{absent}, 'A' x 32 }

# The status of a lookup.
sub ask {
    my ($self, $key) = @_;
    return $self->{t}->helper('GET',
        "/v1/symcache/default/$key?version=9.0.0&wait=600")->{status};
}

# The status of a lookup by a new machine; before each is started, $prepare is
# called.  A loaded computer may take longer than the two seconds that a tier
# has for an answer; then the next machine asks.
sub ask_anew {
    my ($self, $key, $prepare) = @_;
    my $status;
    for (1 .. 5) {
        $prepare->() if $prepare;
        $self->machine;
        $status = $self->ask($key);
        last if !$self->metric('gets_total{result="failed"}');
    }
    return $status;
}

sub why { $_[0]{t}->helper_json("/v1/why/default/$_[1]") }
sub metric { $_[0]{t}->metric("symcached_tier_$_[1]") }

sub wait_metric {
    my ($self, $metric, $value) = @_;
    $self->{t}->wait_until("$metric is $value",
        sub { $self->metric($metric) == $value });
}

sub wait_log {
    my ($self, $re) = @_;
    $self->{t}->wait_until("in the log: $re",
        sub { $self->{t}->helper_log =~ $re });
}

# What the file knows of its object, or is to know; undef without extended
# attributes.
my $calls = { x86_64 => [188, 191], aarch64 => [5, 8] }->{ (POSIX::uname())[4] };

sub note {
    my ($self, $value) = @_;
    my $buf = defined $value ? "$value" : "\0" x 400;
    my ($file, $attribute) = ($self->file, 'user.symcached.tier');
    return unless $calls;
    my $r = defined $value
        ? syscall($calls->[0], $file, $attribute, $buf, length $buf, 0)
        : syscall($calls->[1], $file, $attribute, $buf, length $buf);
    return $r >= 0 ? substr $buf, 0, $r : undef;
}

# Makes the file look unused for two hours.  With a time, its object as old.
sub grow_old {
    my ($self, $stored) = @_;
    my $old = time - 7200;
    if ($stored) {
        $self->{t}->wait_until('the age of the object is noted',
            sub { ($self->note // '') =~ /^(\d+)$/ && $1 > time - 3600 });
        $self->note($stored);
    }
    utime $old, $old, $self->file or die $self->file . ": $!";
}

1;
