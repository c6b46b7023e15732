#!/usr/bin/perl

# The units of packaging/systemd: systemd understands them, and what they leave
# of the system to a daemon is little; they agree with the users and folders
# that are made for them, and with the defaults of the configuration.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(basename dirname);
use File::Copy qw(copy);
use File::Temp;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::File;
use Test::More;

my $top = abs_path(dirname(__FILE__) . '/..');
my $build = abs_path($ENV{SYMCACHE_BUILD} // "$top/build");
my $dir = File::Temp->newdir('symcache-units-XXXXXX', TMPDIR => 1);
my $dropins = 'conf-examples/symcached.service.d';

my %unit = map { basename($_) => slurp($_) } glob "$top/packaging/systemd/*";
is_deeply [sort keys %unit], [qw(symbolicated.service symbolicated.socket
    symcached.service symcached.socket)], 'units';

# --- what they name is there

my $users = slurp("$top/packaging/sysusers.d/symcached.conf");
my $folders = slurp("$top/packaging/tmpfiles.d/symcached.conf");
my $configuration = slurp("$top/docs/configuration.md");
for (['symcached', 'listen'], ['symbolicated', 'symbolication.listen']) {
    my ($name, $key) = @$_;
    like $unit{"$name.service"}, qr/^User=\Q$name\E$/m, "$name: its user";
    like $users, qr/^u \Q$name\E /m, 'is made';
    like $unit{"$name.service"}, qr/^ExecStart=\/usr\/sbin\/\Q$name\E$/m,
        'starts the program';
    like $unit{"$name.service"}, qr{^ExecReload=/usr/sbin/\Q$name\E\ -t\n
        (?:\#.*\n)*ExecReload=.*kill\ -HUP}mx, 'checks before a reload';
    my ($listen) = $unit{"$name.socket"} =~ /^ListenStream=(.*)$/m;
    like $configuration, qr/^\| `\Q$key\E` \| string \| `unix:\Q$listen\E` /m,
        'the socket is the default';
    like $folders, qr{^d \Q@{[dirname($listen)]}\E 0755 symcached }m,
        'in a folder that is made';
    like $unit{"$name.service"}, qr/^StartLimitIntervalSec=0$/m,
        'is started again without end';
}

# --- what systemd says

sub analyze {
    my ($command) = @_;
    my $out = `LC_ALL=C SYSTEMD_COLORS=0 systemd-analyze $command 2>&1`;
    return ($? >> 8, $out);
}

SKIP: {
    my ($code, $version) = analyze('--version');
    my ($n) = $version =~ /^systemd (\d+)/;
    skip 'systemd-analyze of 250 or later is not here', 1
        unless $code == 0 && $n >= 250;

    for my $name (keys %unit) {
        open my $f, '>', "$dir/$name" or die "$dir: $!";
        print $f $unit{$name} =~ s{/usr/sbin/}{$build/}gr;
        close $f;
    }
    my ($bad, $said) = analyze("verify --man=no $dir/*.service $dir/*.socket");
    my @own = grep { /\Q$dir\E|^sym/ } split /\n/, $said;
    is_deeply \@own, [], 'verify has no complaint';

    # at or below 2.0 of 10; threshold is in tenths.  The document has the score
    # by the systemd that it names.
    my ($installation) = slurp("$top/docs/installation.md")
        =~ /(`systemd-analyze security` says.*?systemd \d+)/s;
    my ($by) = $installation =~ /(\d+)$/;
    for my $name (qw(symcached.service symbolicated.service)) {
        my ($exposed, $out) = analyze('security --offline=true --no-pager '
            . "--threshold=20 $dir/$name");
        my ($score) = $out =~ /Overall exposure level .*: ([\d.]+)/;
        is $exposed, 0, "security of $name: " . ($score // $out);
        my $short = $name =~ s/\.service//r;
        like $installation, qr/\b\Q$score\E (?:of 10 )?for \Q$short\E\b/,
            'is the one that the document has' if $n == $by;
    }
    mkdir "$dir/symcached.service.d";
    copy($_, "$dir/symcached.service.d/") or die "$_: $!"
        for glob "$top/$dropins/*.conf";
    my (undef, $out) = analyze('security --offline=true --no-pager '
        . "$dir/symcached.service");
    my ($score) = $out =~ /Overall exposure level .*: ([\d.]+)/;
    cmp_ok $score // 10, '<=', 3.5,
        'security with foreign-transcoder.conf: ' . ($score // $out);
    ($bad, $said) = analyze("verify --man=no $dir/symcached.service");
    is_deeply [grep { /\Q$dir\E|^sym/ } split /\n/, $said], [],
        'verify has no complaint of that, either';
}

# --- one version everywhere

my ($release) = slurp("$top/src/base/release.h") =~ /"([\d.]+)"/;
my ($deb) = slurp("$top/packaging/debian/changelog") =~ /^\S+ \(([\d.]+)-/;
is $deb, $release, 'the version of the Debian package';

done_testing;
