package Test::Root;

# Fresh roots of a distribution, made by debootstrap, in which packages are
# installed and used as on a machine of their own.
#
#   my ($root, $why) = Test::Root->new('bookworm', 'install');
#   plan skip_all => $why unless $root;
#   my ($code, $output) = $root->sh('apt-get update');
#   $root->offline('nginx; curl http://localhost/');
#   $root->remove;

use strict;
use warnings;

use File::Path qw(make_path);
use Test::Symcache ();

our $folder = "$Test::Symcache::build/roots";

sub output {
    my ($log, @command) = @_;
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', $log or die "$log: $!";
        open STDERR, '>&', \*STDOUT;
        exec { $command[0] } @command or exit 127;
    }
    waitpid $pid, 0;
    my $code = $?;
    open my $f, '<', $log or return ($code, '');
    local $/;
    return ($code, scalar(<$f>) // '');
}

# The tarball of a suite, which is made once; undef and the reason if it cannot
# be.
sub tarball {
    my ($suite) = @_;
    my $tar = "$folder/$suite.tar";
    return $tar if -e $tar;
    return (undef, 'roots need root') if $> != 0;
    return (undef, 'no debootstrap') unless grep { -x "$_/debootstrap" }
        split(/:/, $ENV{PATH}), '/usr/sbin';
    my $dir = "$folder/$suite.new";
    make_path($folder);
    system 'rm', '-rf', $dir;
    my ($code, $said) = output("$folder/$suite.log", '/usr/sbin/debootstrap',
        '--variant=minbase', $suite, $dir);
    my ($why) = $said =~ /^(E: .*|.*No such script.*)$/m;
    $code ||= system 'tar', '-C', $dir, '-cf', "$tar.new", '.' unless $code;
    system 'rm', '-rf', $dir;
    return (undef, "no root of $suite: " . ($why // 'see debootstrap.log'))
        if $code;
    rename "$tar.new", $tar or die "$tar: $!";
    return $tar;
}

# A root of its own, in which packages start no service.
sub new {
    my ($class, $suite, $name) = @_;
    my ($tar, $why) = tarball($suite);
    return (undef, $why) unless $tar;
    my $self = bless { dir => "$folder/$suite-$name" }, $class;
    $self->remove;
    make_path($self->{dir});
    system('tar', '-C', $self->{dir}, '-xf', $tar) == 0 or die "tar: $?";
    system('cp', '-L', '/etc/resolv.conf', "$self->{dir}/etc/resolv.conf");
    $self->write('usr/sbin/policy-rc.d', "#!/bin/sh\nexit 101\n", 0755);
    return $self;
}

sub path { "$_[0]{dir}/$_[1]" }

sub write {
    my ($self, $name, $text, $mode) = @_;
    open my $f, '>', $self->path($name) or die "$name: $!";
    print $f $text;
    close $f or die "$name: $!";
    chmod $mode // 0644, $self->path($name);
}

# Runs a script of the shell; its processes end with it.  Returns the exit
# code and what it said.
sub sh {
    my ($self, $script, @more) = @_;
    $self->write('tmp/script', "set -e\nexport PATH=/usr/sbin:/usr/bin:/sbin:"
        . "/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive\n"
        . "unset TMPDIR\n"
        . "mount -t proc proc /proc\n$script\n");
    my ($code, $said) = output("$self->{dir}.log", 'unshare', '--mount',
        '--pid', '--fork', '--kill-child', @more, 'chroot', $self->{dir},
        'bash', '/tmp/script');
    return ($code >> 8 || $code, $said);
}

# The same without a network but the loopback device, whose ports are all free.
sub offline {
    my ($self, $script) = @_;
    return $self->sh($script, '--net');
}

sub remove { system 'rm', '-rf', '--one-file-system', $_[0]{dir} }

1;
