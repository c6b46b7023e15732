package Test::Soak::Judge;

# Knows from the upstream's notes what was said of each place, and when; so
# which final 404 is one that had to be believed.
#
# A key is absent if all sources of the store said so of all places that
# docs/layouts.md names for it (forms, spellings, tiers), or sent a file that
# nothing can be made of, within the time for which that is remembered.

use strict;
use warnings;

# Seconds that an answer may be old: what a job takes that asks places which
# stall, each until its time is over, and what is remembered then.
our $window = 30;

# index2.txt is asked for once a minute
our $index_window = 60 + $window;

sub new {
    my ($class, %o) = @_;
    return bless { %o, said => {} }, $class;
}

# Reads what was noted since the last time.
sub read_notes {
    my ($self, $file) = @_;
    open my $fh, '<', $file or return;
    seek $fh, $self->{at} // 0, 0;
    while (<$fh>) {
        last if !/\n\z/;
        my ($at, $host, $path, $verdict, $kind) = split;
        # SymCache servers are asked in whatever case
        my $h = $self->{host}{$host};
        $path = lc $path if $h && $h->{symcache};
        my %said = (at => $at, verdict => $verdict, kind => $kind);
        push @{ $self->{said}{"$host $path"} }, \%said;
        # whoever began the job may have spelled the name in another way
        push @{ $self->{damaged}{lc "$host $path"} }, \%said
            if $verdict eq 'damaged';
        $self->{kinds}{$kind}++;
    }
    $self->{at} = tell $fh;
}

# Was one of the verdicts in force between two times?  What a directory holds
# is so until the next note.
sub said {
    my ($self, $verdict, $place, $from, $to, $lasts) = @_;
    my $last;
    for my $s (@{ $self->{said}{$place} // [] }) {
        last if $s->{at} > $to;
        return 1 if $s->{verdict} eq $verdict && $s->{at} >= $from;
        $last = $s;
    }
    return $lasts && $last && $last->{verdict} eq $verdict;
}

# --- places, as docs/layouts.md has them

sub spellings {
    my ($name, $id) = @_;
    my %seen;
    return grep { !$seen{"@$_"}++ } [$name, $id], [lc $name, lc $id],
        [lc $name, $id];
}

sub places {
    my ($base, $name, $id, $tier) = @_;
    return map {
        my ($n, $i) = @$_;
        my $dir = "$base/" . ($tier ? substr($n, 0, 2) . '/' : '') . "$n/$i";
        ("$dir/$n", "$dir/" . $n =~ s/.$/_/r, "$dir/file.ptr");
    } spellings($name, $id);
}

# A place of a symbol server, or where its file.ptr leads.
sub place_says {
    my ($self, $verdict, $host, $place, $ask, $from) = @_;
    return 1 if $self->said($verdict, "$host $place", $from, $ask->{ended});
    return $place =~ /file\.ptr$/ && $self->said($verdict,
        "$host /at/\L$ask->{name}\E/$ask->{id}", $from, $ask->{ended});
}

sub place_is_damaged {
    my ($self, $host, $place, $ask, $from) = @_;
    return grep { $_->{at} >= $from && $_->{at} <= $ask->{ended} }
        @{ $self->{damaged}{lc "$host $place"} // [] };
}

sub server_excuses {
    my ($self, $host, $ask) = @_;
    my $from = $ask->{began} - $window;
    my @one = places('/sym', @$ask{qw(name id)});
    my @two = places('/sym', @$ask{qw(name id)}, 1);
    return 1 if grep {
        $self->place_is_damaged($host, $_, $ask, $from)
    } @one, @two, "/at/$ask->{name}/$ask->{id}";
    my ($no_one, $no_two) = map {
        !grep { !$self->place_says('absent', $host, $_, $ask, $from) } @$_
    } \@one, \@two;
    my ($no_index, $index) = map {
        $self->said($_, "$host /sym/index2.txt",
                    $ask->{began} - $index_window, $ask->{ended})
    } qw(absent file);
    return $no_one && $no_two || $no_one && $no_index || $no_two && $index;
}

sub symcache_excuses {
    my ($self, $host, $version, $ask) = @_;
    my ($guid, $age) = $ask->{id} =~ /^(.{32})(.+)$/;
    my $path = lc "/v$version/$ask->{name}/$guid/" . hex $age;
    return $self->said('absent', "$host $path", $ask->{began} - $window,
                       $ask->{ended});
}

# Misses of clients' sources are remembered for an hour.
sub guest_excuses {
    my ($self, $host, $ask) = @_;
    my $token = $host eq 'private' ? '/token' . $ask->{store} =~ s/.*\.//r : '';
    my $place = "$host $token/sym/$ask->{name}/$ask->{id}/$ask->{name}";
    return grep { $self->said($_, $place, 0, $ask->{ended}) }
        qw(absent damaged);
}

# Who does not say the build id is told of no file, nor who says another.  The
# program may stand in for its debug file.
sub debuginfod_excuses {
    my ($self, $host, $ask) = @_;
    my $key = $self->{corpus}->find(@$ask{qw(name id)});
    return 1 if !$key || $ask->{hint} ne 'right';
    return !grep {
        my $place = "$host /buildid/$key->{build_id}/$_";
        !grep { $self->said($_, $place, $ask->{began} - $window,
                            $ask->{ended}) } qw(absent damaged)
    } $ask->{how} eq 'symbols' ? 'debuginfo' : qw(debuginfo executable);
}

sub directory_excuses {
    my ($self, $source, $ask) = @_;
    my $place = "$source \L$ask->{name}\E/$ask->{id}";
    return 1 if !$self->{said}{$place};    # it never had that
    my $from = $ask->{began} - $window;
    return $self->said('absent', $place, $from, $ask->{ended}, 1)
        || $self->said('damaged', $place, $from, $ask->{ended}, 1);
}

# Of a final 404: the sources that did not say so.  While the clock is set back,
# what was remembered at the time that it shows holds again, as nothing tells that
# it is over; @$back has by how many seconds it was.
sub unexcused {
    my ($self, $ask, $back, @sources) = @_;
    my @silent;
    for my $seconds (0, @$back) {
        @silent = $self->unexcused_at({ %$ask,
            map { $_ => $ask->{$_} - $seconds } qw(began ended) }, @sources);
        last if !@silent;
    }
    return @silent;
}

# That a file is malformed is remembered for its key, and others may have been
# asked in another spelling.
sub unexcused_at {
    my ($self, $ask, @sources) = @_;
    my @silent = $self->silent($ask, @sources);
    return @silent if !@silent || !grep {
        $self->said('damaged', "$_ \L$ask->{name}\E/$ask->{id}",
                    $ask->{began} - $window, $ask->{ended}, 1)
    } @sources;
    return $self->silent({ %$ask, name => lc $ask->{name} }, @sources);
}

sub silent {
    my ($self, $ask, @sources) = @_;
    return grep {
        my $h = $self->{host}{$_};
        !($h && $h->{symcache}
          ? $self->symcache_excuses($_, $h->{symcache}, $ask)
          : $h && $h->{guests} ? $self->guest_excuses($_, $ask)
          : $h && $h->{debuginfod} ? $self->debuginfod_excuses($_, $ask)
          : $h ? $self->server_excuses($_, $ask)
          : $self->directory_excuses($_, $ask));
    } @sources;
}

# What was said lately, for who looks into a violation.
sub evidence {
    my ($self, $ask, @sources) = @_;
    my $sources = join '|', @sources;
    my $key = $self->{corpus}->find(@$ask{qw(name id)}) // {};
    my $id = join '|', map { quotemeta } $ask->{id}, $key->{build_id} // ();
    my @lines;
    for my $place (sort keys %{ $self->{said} }) {
        next if $place !~ /^(?:$sources) /;
        next if $place !~ /$id|index2/i
            && $place !~ m{\Q/$ask->{name}/\E}i;
        for my $s (@{ $self->{said}{$place} }) {
            next if $s->{at} < $ask->{began} - $window
                || $s->{at} > $ask->{ended};
            push @lines, sprintf '%.3f %s %s %s', $s->{at}, $place,
                @$s{qw(verdict kind)};
        }
    }
    return sort @lines;
}

1;
