package Test::Init;

# systemd as the first process of namespaces of its own, on a copy-on-write view
# of this machine, with the programs and units that make install puts there.
# Nothing in it reaches this machine, and it ends with the test.
#
#   my ($init, $why) = Test::Init->new;
#   plan skip_all => $why unless $init;
#   my ($code, $said) = $init->sh('systemctl start symcached');

use strict;
use warnings;

use File::Temp;
use Test::Symcache ();

my $systemd = '/lib/systemd/systemd';
my $cgroups = '/sys/fs/cgroup/unified';
my $seconds = 60; # that a script may take

# Units of this machine are of no use there, but for the journal; nor is what a
# symcached that ran on it has left.
my $boot = <<'SH';
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1"/upper "$1"/work "$1"/root
root=$1/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$root"
rm -rf "$root"/var/cache/symcached "$root"/etc/symcached*
make -C "$2" -s B="$3" install DESTDIR="$root" PREFIX=/usr PACKAGES=no
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for dir in run tmp dev; do mount -t tmpfs tmpfs "$root/$dir"; done
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root"/dev/{shm,pts,mqueue,hugepages} "$root/former"
mount -t devpts devpts "$root/dev/pts"
mount -t mqueue mqueue "$root/dev/mqueue"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s /run/systemd/journal/dev-log "$root/dev/log"
cd "$root"
pivot_root . former
cd /
umount -l /former
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    "$4" --unit=basic.target --log-target=journal
SH

sub output {
    my (@command) = @_;
    open my $f, '-|', @command or return (1, '');
    local $/;
    my $said = <$f> // '';
    close $f;
    return ($?, $said);
}

# Boots it; undef and the reason where that does not work.
sub new {
    my ($class) = @_;
    return (undef, 'namespaces need root') if $> != 0;
    return (undef, "no $systemd") unless -x $systemd;
    $cgroups = '/sys/fs/cgroup' unless -d $cgroups;
    my $self = bless {
        dir => File::Temp->newdir('symcache-init-XXXXXX', TMPDIR => 1),
        cgroup => "$cgroups/symcache-init-$$",
    }, $class;
    mkdir $self->{cgroup} or return (undef, "$self->{cgroup}: $!");
    my $pid = $self->{pid} = fork() // die "fork: $!";
    if ($pid == 0) {
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', "$self->{dir}/out";
        open STDERR, '>&', \*STDOUT;
        open my $f, '>', "$self->{cgroup}/cgroup.procs" or exit 127;
        print $f $$;
        close $f or exit 127;
        mkdir "$self->{dir}/mount";
        exec 'unshare', qw(--mount --pid --fork --ipc --uts --net --cgroup
            --kill-child bash -c), $boot, 'bash', "$self->{dir}/mount",
            $Test::Symcache::top, $Test::Symcache::build, $systemd
            or exit 127;
    }
    for (1 .. 600) {
        last if waitpid($pid, 1) == $pid && delete $self->{pid};
        ($self->{first}) = (output('pgrep', '-P', $pid))[1] =~ /^(\d+)$/m;
        return $self if $self->{first}
            && ($self->sh('systemctl is-active basic.target'))[0] == 0;
        select undef, undef, undef, 0.1;
    }
    open my $f, '<', "$self->{dir}/out";
    return (undef, 'systemd does not start: ' . join '', <$f>);
}

# Runs a script of bash in it: (exit code, what it said).
sub sh {
    my ($self, $script) = @_;
    my ($code, $said) = output('timeout', $seconds, 'nsenter', '-t',
        $self->{first}, qw(-m -p -n -i -u -C -r -w env -i LC_ALL=C.UTF-8
        SYSTEMD_COLORS=0 SYSTEMD_PAGER= PATH=/usr/sbin:/usr/bin:/sbin:/bin
        bash -c), "exec 2>&1\n$script");
    return ($code >> 8 || $code, $said);
}

sub DESTROY {
    my ($self) = @_;
    local ($?, $!);
    kill 'KILL', $self->{first} if $self->{first};
    if ($self->{pid}) {
        kill 'KILL', $self->{pid} unless $self->{first};
        waitpid $self->{pid}, 0;
    }
    # its last processes may take a moment
    for (1 .. 100) {
        last if rmdir $self->{cgroup};
        my ($inner) = glob "$self->{cgroup}/*/";
        system 'find', $self->{cgroup}, '-depth', '-type', 'd', '-delete'
            if $inner;
        select undef, undef, undef, 0.05;
    }
}

1;
