package Test::Soak::History;

# What has been sent in a campaign, from the notes of Test::Soak::Sender: which
# versions of a file a machine may have served between two times.
#
# Whoever asks after an upload was answered gets that file, at every machine
# that was told.  While one was not, the others may have what it made of the
# former file (docs/fleet.md).

use strict;
use warnings;

use Test::Soak::Sender;

# Seconds for which a request that nobody heard the answer of may go on.
our $linger = 3;

# Seconds after which every machine has been told: no fault lasts as long.
our $told_after = 30;

sub new { bless { sent => {} }, $_[0] }

# Adds what a file notes; returns the lines of which something is wrong.
sub read_notes {
    my ($self, $file) = @_;
    my @wrong;
    open my $fh, '<', $file or return;
    while (my $line = <$fh>) {
        my %sent;
        @sent{@Test::Soak::Sender::fields} = split ' ', $line;
        push @{ $self->{sent}{"$sent{name}/$sent{id}"} }, \%sent
            if $sent{fate} ne 'refused';
        $self->{count}{ $sent{fate} . ($sent{untold} eq '-' ? '' : ', untold') }++;
        push @wrong, $line if $sent{fate} !~ /^(?:done|refused|unsure_\d+)$/;
    }
    return @wrong;
}

# Requests for one key follow each other.
sub versions {
    my ($self, $ask) = @_;
    my %may = (none => 1);
    my @unsure;
    for my $sent (@{ $self->{sent}{"\L$ask->{name}\E/$ask->{id}"} // [] }) {
        last if $sent->{began} > $ask->{ended};
        if ($sent->{fate} eq 'done' && $sent->{ended} < $ask->{began}
            && ($sent->{untold} eq '-' || $sent->{untold} ne $ask->{store}
                && $sent->{ended} + $told_after < $ask->{began})) {
            @unsure = grep { $_->{ended} > $sent->{began} - $linger } @unsure;
            %may = map { $_->{version} => 1 } $sent, @unsure;
        } else {
            $may{ $sent->{version} } = 1;
            push @unsure, $sent if $sent->{fate} ne 'done';
        }
    }
    return \%may;
}

# The rule that an answer breaks, or nothing.
sub wrong {
    my ($self, $ask) = @_;
    my $may = $self->versions($ask);
    my $got = $ask->{status} == 404 && $ask->{flags} ne 'again' ? 'none'
        : $ask->{version};
    return if $got eq '-' || $may->{$got};
    return "version $got, and not " . join ' or ', sort keys %$may;
}

sub evidence {
    my ($self, $ask) = @_;
    my @lines = map { join ' ', @$_{@Test::Soak::Sender::fields} }
        grep { $_->{began} <= $ask->{ended} }
        @{ $self->{sent}{"\L$ask->{name}\E/$ask->{id}"} // [] };
    return @lines > 8 ? @lines[-8 .. -1] : @lines;
}

1;
