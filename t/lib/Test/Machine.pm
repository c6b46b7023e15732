package Test::Machine;

# A root of a distribution as a machine of its own under qemu, with systemd as
# its first process: what a script says in it.
#
#   my $why = Test::Machine::missing();
#   my $said = Test::Machine::run($root, 'systemctl is-system-running', 300);

use strict;
use warnings;

use Test::Symcache ();

my $qemu = 'qemu-system-x86_64';

sub missing {
    return "$qemu is for x86-64" if qx(uname -m) !~ /^x86_64$/;
    for my $program ($qemu, 'mke2fs') {
        return "no $program" unless grep { -x "$_/$program" }
            split(/:/, $ENV{PATH}), '/usr/sbin', '/sbin';
    }
    return;
}

# Adds a kernel and systemd to a root: (exit code, output).
sub prepare {
    my ($root) = @_;
    return $root->sh(<<'SH');
apt-get -q update
apt-get -q -y --no-install-recommends install systemd-sysv udev dbus \
    linux-image-cloud-amd64 initramfs-tools zstd
passwd -d root
systemctl mask systemd-networkd-wait-online.service systemd-timesyncd.service
SH
}

my $unit = <<'UNIT';
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash /root/script
ExecStopPost=/bin/systemctl --no-block --force poweroff
StandardOutput=file:/dev/ttyS1
StandardError=inherit
[Install]
WantedBy=graphical.target
UNIT

# Starts it, runs the script of bash, and turns it off; dies after so many
# seconds.
sub run {
    my ($root, $script, $seconds) = @_;
    my $dir = $root->{dir};
    $root->write('root/script', "export PATH=/usr/sbin:/usr/bin:/sbin:/bin "
        . "HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive\n$script");
    $root->write('etc/systemd/system/script.service', $unit);
    mkdir "$dir/etc/systemd/system/graphical.target.wants";
    symlink '/etc/systemd/system/script.service',
        "$dir/etc/systemd/system/graphical.target.wants/script.service";
    unlink $root->path('usr/sbin/policy-rc.d');

    # what the script says has a port of its own: the console is getty's
    my ($image, $console, $log) = map { "$dir.$_" } qw(img console said);
    unlink $image, $console, $log;
    system("mke2fs -q -t ext4 -d '$dir' '$image' 3G") == 0
        or die "mke2fs: $?";
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        open STDIN, '<', '/dev/null';
        # KVM inside of a virtual machine may not work where it seems to
        exec $qemu, '-accel', 'tcg,thread=multi', '-cpu', 'max', '-m', 1024,
            '-smp', 2, '-display', 'none', '-no-reboot',
            '-nic', 'none', '-serial', "file:$console", '-serial', "file:$log",
            '-kernel', "$dir/vmlinuz", '-initrd', "$dir/initrd.img",
            '-append', 'root=/dev/vda rw console=ttyS0 quiet panic=-1',
            '-drive', "file=$image,if=virtio,format=raw" or exit 127;
    }
    my $end = time + $seconds;
    while (Test::Symcache::alive($pid)) {
        if (time > $end) {
            kill 'KILL', $pid;
            waitpid $pid, 0;
            last;
        }
        select undef, undef, undef, 0.2;
    }
    unlink $image;
    open my $f, '<', $log or return '';
    local $/;
    return (scalar(<$f>) // '') =~ s/\r//gr;
}

1;
