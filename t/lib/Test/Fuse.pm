package Test::Fuse;

# A directory that hangs at will: a small read-only file system in a process
# of the test, spoken to through /dev/fuse.  While it hangs, it reads every
# question and answers none; who asked waits in the kernel, where no signal
# reaches it, until release() answers them all.
#
#   use Test::Mount;                 # for a mount namespace; needs root
#   use Test::Fuse;
#   my $fuse = Test::Fuse->new($t->path('net'), \%files,
#                              hang => $t->path('net.hang'));
#   $fuse->hang; ...; $fuse->waiting; $fuse->release;
#   $fuse->hang('list'); ...         # only who lists a directory waits,
#   $fuse->hang('read'); ...         # only who reads a file
#   $fuse->pause; ...; $fuse->resume; $fuse->stop;
#   $fuse->opened;                   # how often files were opened so far

use strict;
use warnings;

use Fcntl qw(F_SETFD O_APPEND O_CREAT O_WRONLY);
use POSIX qw(ENOENT ENOSYS);
use Test::More ();
use Time::HiRes qw(sleep);

my %opcode = (list => 28, read => 15, open => 14);

# %files: path below the directory => content
sub new {
    my ($class, $dir, $files, %o) = @_;
    my $self = bless { dir => $dir, flag => $o{hang}, owner => $$,
                       why => $o{why}, log => "$o{hang}.opened" }, $class;
    mkdir $dir;
    open my $fuse, '+<', '/dev/fuse' or return $self->none("/dev/fuse: $!");
    my $options = 'fd=' . fileno($fuse)
        . ',rootmode=40000,user_id=0,group_id=0,allow_other';
    fcntl $fuse, F_SETFD, 0;
    # mount(2): util-linux would look for a helper program
    my ($name, $type) = ('test', 'fuse');
    my $mount = { x86_64 => 165, aarch64 => 40 }->{(POSIX::uname())[4]}
        // Test::More::plan(skip_all => 'number of mount(2) not known here');
    syscall($mount, $name, "$dir", $type, 0, $options) == 0
        or return $self->none("mount of fuse: $!");

    my @nodes = (undef, { names => {} });
    for my $path (sort keys %$files) {
        my $at = $nodes[1];
        my @parts = split m{/}, $path;
        my $last = pop @parts;
        for my $part (@parts) {
            $at->{names}{$part} //= push(@nodes, { names => {} }) - 1;
            $at = $nodes[$at->{names}{$part}];
        }
        $at->{names}{$last} = push(@nodes, { text => $files->{$path} }) - 1;
    }
    $self->{nodes} = \@nodes;

    $self->{pid} = fork() // die "fork: $!";
    if ($self->{pid} == 0) {
        $SIG{$_} = 'DEFAULT' for qw(TERM INT);
        eval { $self->serve($fuse); 1 } or print STDERR "# fuse: $@";
        POSIX::_exit(0);
    }
    close $fuse;
    stat $dir or die "$dir: $!"; # its first words with the kernel are over
    return $self;
}

# Where there can be none, the test is skipped, or told why in $o{why}.
sub none {
    my ($self, $why) = @_;
    Test::More::plan(skip_all => $why) if !$self->{why};
    ${ $self->{why} } = $why;
    return;
}

sub hang {
    my ($self, $only) = @_;
    unlink map { "$self->{flag}.$_" } keys %opcode;
    for my $file ($only ? "$self->{flag}.$only" : (), $self->{flag}) {
        open my $fh, '>', $file or die "$file: $!";
    }
}

# The processes that wait for an answer.
sub waiting {
    my ($self) = @_;
    open my $fh, '<', $self->{flag} or return;
    my %pids = map { int $_ => 1 } <$fh>;
    return grep { -e "/proc/$_" } sort keys %pids;
}

sub opened { -s $_[0]{log} // 0 }

sub release { unlink $_[0]{flag} }

# No question is even read: who asks waits, too, but can be killed.
sub pause { kill 'STOP', $_[0]{pid} }
sub resume { kill 'CONT', $_[0]{pid} }

# Ends the file system: who still waits gets an error.
sub stop {
    my ($self) = @_;
    return unless $self->{pid} && $self->{owner} == $$;
    kill 'KILL', $self->{pid};
    waitpid delete $self->{pid}, 0;
    system('umount', '-l', $self->{dir});
}

sub DESTROY {
    my ($self) = @_;
    local ($?, $!, $@);
    $self->stop;
}

# --- in its process

use constant { TTL => 0, HEADER => 40 };

sub serve {
    my ($self, $fuse) = @_;
    my @waiting;
    while (1) {
        my $bits = '';
        vec($bits, fileno $fuse, 1) = 1;
        my $hangs = -e $self->{flag};
        $self->answer($fuse, shift @waiting) while @waiting && !$hangs;
        next unless select $bits, undef, undef, @waiting ? 0.02 : 1;
        my $n = sysread $fuse, my $request, 1 << 20;
        return unless $n || $!{EINTR} || $!{EAGAIN} || $!{ENOENT};
        next unless $n;
        my ($opcode) = unpack 'x4 L', $request;
        # the kernel's first words, and those that want no answer
        if (-e $self->{flag} && $opcode != 26
            && !grep { -e "$self->{flag}.$_" && $opcode != $opcode{$_} }
                keys %opcode) {
            push @waiting, $request;
            sysopen my $fh, $self->{flag}, O_WRONLY | O_APPEND or next;
            syswrite $fh, unpack('x32 L', $request) . "\n";
        } else {
            $self->answer($fuse, $request);
        }
    }
}

my %answers = (
    # with lookups in parallel
    26 => sub { pack 'LLLLSSLLSSL8', 7, 31, 65536, 1 << 18, 16, 12, 65536,
                1, 1 },
    1 => \&lookup,
    3 => sub { pack('QLL', TTL, 0, 0) . attributes(@_[0, 1]) },
    14 => sub {                            # open
        my ($self) = @_;
        sysopen my $fh, $self->{log}, O_WRONLY | O_APPEND | O_CREAT
            or die "$self->{log}: $!";
        syswrite $fh, '.';
        return pack 'QLL', 0, 0, 0;
    },
    27 => sub { pack 'QLL', 0, 0, 0 },     # opendir
    15 => sub {                            # read
        my ($self, $node, $body) = @_;
        my (undef, $offset, $size) = unpack 'QQL', $body;
        my $text = $self->{nodes}[$node]{text};
        return $offset < length $text ? substr $text, $offset, $size : '';
    },
    28 => \&readdir,
    17 => sub { pack 'QQQQQLLLLL6', 1, 0, 0, 1, 0, 4096, 255, 4096, 0 },
    (map { $_ => sub { '' } } 18, 25, 29, 34), # release, flush, access
);

sub answer {
    my ($self, $fuse, $request) = @_;
    my ($opcode, $unique, $node) = unpack 'x4 L Q Q', $request;
    return if $opcode == 2 || $opcode == 36 || $opcode == 42; # no answer
    my $do = $answers{$opcode};
    my $text = $do ? $do->($self, $node, substr $request, HEADER) : \ENOSYS();
    my ($error, $body) = ref $text ? (-$$text, '') : (0, $text);
    syswrite $fuse, pack('Ll Q', 16 + length $body, $error, $unique) . $body;
}

sub attributes {
    my ($self, $node) = @_;
    my $n = $self->{nodes}[$node];
    my $size = length($n->{text} // '');
    return pack 'Q6 L3 L7', $node, $size, ($size + 511) >> 9, (1) x 3,
        (0) x 3, $n->{names} ? 040755 : 0100755, 1, 0, 0, 0, 4096, 0;
}

sub lookup {
    my ($self, $node, $body) = @_;
    my ($name) = $body =~ /^([^\0]*)/;
    my $found = $self->{nodes}[$node]{names}{$name} or return \ENOENT();
    return pack('Q4 L2', $found, 0, TTL, TTL, 0, 0)
        . $self->attributes($found);
}

sub readdir {
    my ($self, $node, $body) = @_;
    my (undef, $offset) = unpack 'QQ', $body;
    my $names = $self->{nodes}[$node]{names};
    my @names = sort keys %$names;
    my $text = '';
    for my $i ($offset .. $#names) {
        my $name = $names[$i];
        $text .= pack('QQLL', $names->{$name}, $i + 1, length $name, 0)
            . $name . "\0" x (-length($name) % 8);
    }
    return $text;
}

1;
