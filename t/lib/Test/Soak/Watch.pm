package Test::Soak::Watch;

# Looks all the time which SymCaches are in the stores of a campaign, but those
# of files that are sent, which are removed with them, in a
# process of its own until the file "stop" is there, and notes each that
# vanishes as a line, with when it was seen last and when no more:
#
#   seen gone store name id

use strict;
use warnings;

use POSIX ();
use Test::Soak::Client;
use Time::HiRes qw(sleep time);

# %o: world (Test::Soak), file (for its notes)
sub start {
    my ($class, %o) = @_;
    my $pid = fork() // die "fork: $!";
    return $pid if $pid;
    my $self = bless {%o}, $class;
    $SIG{$_} = 'DEFAULT' for qw(TERM INT);
    eval { $self->run; 1 } or print STDERR "# watch: $@";
    POSIX::_exit(0);
}

sub run {
    my ($self) = @_;
    my $world = $self->{world};
    open $self->{notes}, '>>', $self->{file} or die "$self->{file}: $!";
    my @places = map {
        my ($store, $lower, $id) = ($_->{store}, @{ $_->{key} }{qw(lower id)});
        my $version = Test::Soak::Client::version($_);
        { words => "$store $lower $id", path => $world->root($store)
            . "/$lower/$id/$lower-v$version.symcache" };
    } grep { !$_->{key}{versions} } $world->targets;
    until ($world->is_over) {
        $self->look($_) for @places;
        sleep 0.02;
    }
}

# A cleaner takes a file aside to see whether it is still the one it means: a
# file has vanished if it is not there at the second look, either.
sub look {
    my ($self, $place) = @_;
    my $began = time;
    if (-e $place->{path}) {
        @$place{qw(seen missed)} = ($began);
    } elsif ($place->{seen} && !$place->{missed}) {
        $place->{missed} = time;
    } elsif ($place->{seen}) {
        syswrite $self->{notes}, sprintf "%.4f %.4f %s\n",
            @$place{qw(seen missed words)};
        delete $place->{seen};
    }
}

1;
