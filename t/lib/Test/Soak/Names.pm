package Test::Soak::Names;

# What symbolicated answers in a campaign: a request has one module and some
# addresses, and the answer is the functions that "symcachectl lookup" finds
# there in the SymCache of the module.
#
#   my $names = Test::Soak::Names->new($t, \@expected);   # of each template
#   Test::Soak::Names::question($name, $id);    # the body of a request
#   $names->judge($body);

use strict;
use warnings;

use JSON::PP ();

my @offsets = map { 0x1000 + 0x48 * $_ } 0 .. 23;
sub offsets { @offsets }

my @addresses = map { sprintf '0x%x', $_ } @offsets;

# The SymCaches tell each other apart by these functions.
sub new {
    my ($class, $t, $files) = @_;
    my (@functions, %seen);
    for my $i (0 .. $#$files) {
        my $file = $t->write_file('names.symcache', $files->[$i]);
        my @lines = qx(@{[$t->program('symcachectl')]} lookup $file @addresses);
        push @functions, functions(@lines);
        die "template $i has no name, or not its own"
            if $functions[-1] !~ /[a-z]/ || $seen{ $functions[-1] }++;
        unlink $file;
    }
    return bless { functions => \@functions }, $class;
}

# The last line of an address has the function that was not inlined.
sub functions {
    my @found;
    for (@_) {
        push @found, '' if /^0x/;
        $found[-1] = $1 if /^ +(.*?)(?: at .*)?$/;
    }
    return join "\n", map { $_ eq 'not found' ? '' : $_ } @found;
}

sub question {
    my ($name, $id) = @_;
    return JSON::PP::encode_json({ memoryMap => [[$name, $id]],
        stacks => [[map { [0, $_] } @offsets]] });
}

# "missing", a template's number, or nothing if it is no such answer.
sub judge {
    my ($self, $body) = @_;
    my $result = eval { JSON::PP::decode_json($body)->{results}[0] } or return;
    my ($found) = values %{ $result->{found_modules} };
    return 'missing' if defined $found && !$found;
    my $got = join "\n", map { $_->{function} // '' } @{ $result->{stacks}[0] };
    return $self->whose($got);
}

# The template whose functions these are.
sub whose {
    my ($self, $got) = @_;
    return (grep { $self->{functions}[$_] eq $got }
        0 .. $#{ $self->{functions} })[0];
}

1;
