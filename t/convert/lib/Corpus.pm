package Corpus;

# The inputs of t/convert/manifest.tsv, unpacked or fetched when asked for.

use strict;
use warnings;

use Cwd qw(abs_path);
use Digest::SHA;
use File::Basename qw(basename dirname);
use File::Temp;

my $root = abs_path(dirname(__FILE__) . '/../../..');
my $build = abs_path($ENV{SYMCACHE_BUILD} // "$root/build");


sub new {
    my ($class) = @_;

    return bless {
        work => File::Temp->newdir('symcache-corpus-XXXXXX', TMPDIR => 1),
        cache => "$build/corpus",
        fetched => {},
    }, $class;
}


sub root { return $root }
sub build { return $build }
sub work { return $_[0]{work}->dirname }


# All inputs of the manifest, as hashes.

sub inputs {
    my @inputs;

    open my $f, '<', "$root/t/convert/manifest.tsv" or die "manifest: $!";

    while (<$f>) {
        next if /^#/;
        chomp;
        my %input;
        @input{qw(origin path sha256 kinds size digest)} = split /\t/;
        push @inputs, \%input;
    }

    return @inputs;
}


# The file name of an input's PDB, or undef: then reason() says why.

sub pdb {
    my ($self, $input) = @_;
    my $file;

    if ($input->{origin} eq 'tree') {
        $file = $self->unpacked("$root/$input->{path}");

    } else {
        my $why = $self->fetch($input->{origin});
        return undef if $why ne '';
        $file = "$self->{cache}/$input->{origin}/$input->{path}";
    }

    my $sum = Digest::SHA->new(256)->addfile($file)->hexdigest;
    die "$file is not what the manifest says" if $sum ne $input->{sha256};

    return $file;
}


sub reason {
    my ($self, $input) = @_;
    return $self->{fetched}{$input->{origin}};
}


# The PDB inside a .zst or .pd_; any other file as it is.

sub unpacked {
    my ($self, $file) = @_;

    return $file unless $file =~ m{([^/]+?)(?:\.zst|_)$};

    my $name = $1;
    $name .= 'b' if $name =~ /\.pd$/;
    my $out = $self->work . "/$name";

    if ($file =~ /\.zst$/) {
        system('zstd', '-qdf', $file, '-o', $out) == 0
            or die "zstd -d $file: $?";
    } else {
        system("gcab", "-x", "-C", $self->work, $file) == 0
            or die "gcab -x $file: $?";
    }

    return $out;
}


# Fetches a package into the cache of the build folder, once; '' or the
# reason why it is not there.

sub fetch {
    my ($self, $name) = @_;

    $self->{fetched}{$name} //= do {
        my $why = `flock '$build/.corpus-$name.lock' '$root/tools/corpus/fetch' '$self->{cache}' '$name' 2>&1`;
        chomp $why;
        $? == 0 ? '' : $why || 'tools/corpus/fetch failed';
    };

    return $self->{fetched}{$name};
}


# Runs pdb2symcache: exit code (128 + signal), stderr, output file or undef.
# It gets no more than memory_kb() of address space, if that was called.

sub memory_kb { $_[0]{memory_kb} = $_[1] }


sub convert {
    my ($self, $pdb, @options) = @_;

    my $out = $self->work . '/out';
    my $err = $self->work . '/err';
    system('rm', '-rf', $out, $err);
    mkdir $out or die "mkdir $out: $!";

    my $pid = fork() // die "fork: $!";

    if ($pid == 0) {
        open STDOUT, '>', '/dev/null';
        open STDERR, '>', $err;
        $ENV{_NT_SYMCACHE_PATH} = $out;
        my @command = ("$build/pdb2symcache", @options, '-pdb', $pdb);
        unshift @command, 'sh', '-c', 'ulimit -v "$0" && exec "$@"',
            $self->{memory_kb} if $self->{memory_kb};
        exec @command;
        exit 127;
    }

    waitpid $pid, 0;
    my $code = $? & 127 ? 128 + ($? & 127) : $? >> 8;

    my $text = do {
        local $/;
        open my $f, '<', $err or die "$err: $!";
        <$f> // '';
    };

    my @files = grep { $_ ne '' } split /\n/, `find '$out' -type f`;

    return ($code, $text, @files == 1 ? $files[0] : undef, \@files);
}


1;
