package Test::Clock;

# A time of day that steps, for programs that are started with it; clocks for
# intervals do not.
#
#   my $clock = Test::Clock->new($t) or plan skip_all => Test::Clock::why();
#   $t->start_nginx($conf, env => $clock->env);
#   $clock->set(3600);    # an hour ahead, from now on
#
# With $clock->env(all => 1) they step, too: so much time has passed.  A step of
# more than two seconds is a pause of the program, which counts for no limit.
#
#   $clock->pass(60, sub { ask() });   # 60 seconds that the program runs

use strict;
use warnings;

use Test::Symcache;

my $why = '';
sub why { $why }

# undef: there is no compiler.
sub new {
    my ($class, $t) = @_;
    my $self = bless { file => $t->path('clock'),
                       library => $t->path('clock_step.so'),
                       seconds => 0 }, $class;
    my $source = "$Test::Symcache::top/t/bin/clock_step.c";
    my $out = qx(cc -std=c11 -D_GNU_SOURCE -O2 -shared -fPIC \\
                 -o $self->{library} $source -ldl 2>&1);
    if ($? != 0) {
        ($why) = split /\n/, "no compiler: $out";
        return;
    }
    $t->write_file($self->{file}, pack 'q<', 0);
    return $self;
}

# Seconds from the real time.
sub set {
    my ($self, $seconds) = @_;
    # in place: it is mapped
    open my $fh, '+<', $self->{file} or die "$self->{file}: $!";
    syswrite $fh, pack 'q<', $seconds;
    $self->{seconds} = $seconds;
}

# After each second, twice what lets the loop of the program turn.
sub pass {
    my ($self, $seconds, $turn) = @_;
    for (1 .. $seconds) {
        $self->set($self->{seconds} + 1);
        $turn->() for 1, 2;
    }
}

# A sanitizer's library wants to be the first.
sub env {
    my ($self, %o) = @_;
    my @first = $Test::Symcache::san ? map {
        my $lib = qx(gcc -print-file-name=lib$_.so); chomp $lib; $lib
    } qw(asan ubsan) : ();
    return { CLOCK_STEP => $self->{file},
             $o{all} ? (CLOCK_STEP_ALL => 1) : (),
             LD_PRELOAD => join ' ', @first, $self->{library} };
}

1;
