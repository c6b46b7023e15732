#!/usr/bin/perl

# packaging/container/Containerfile: no container engine is needed, its steps
# are executed in roots of debootstrap, and what it starts is used.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::File;
use Test::More;
use Test::Root;
use Test::Symcache;

my $top = $Test::Symcache::top;
my $key = $Test::Symcache::key{'crash.pdb'};
my $uri = '/symcache/v9.0.0/crash.pdb/' . substr($key, 0, 32) . '/1';
my %suite = ('debian:12' => 'bookworm');

my $text = slurp("$top/packaging/container/Containerfile");
$text =~ s/^#.*\n//mg;
$text =~ s/\\\n\s*//g;

my (@stages, %stage, $root, $start);

sub copy {
    my ($from, @paths) = @_;
    my $to = pop @paths;
    $to = $root->path($to =~ s{^/}{}r);
    return system("mkdir -p '$to' && tar -C '$top' --exclude-vcs "
        . "--exclude=./build --exclude='./build-*' -cf - . | tar -C '$to' -xf -")
        if !$from && "@paths" eq '.';
    my $base = $from ? $stage{$from}->path('') : "$top/";
    return system 'cp', '-r', (map { $base . s{^/}{}r } @paths), $to;
}

for my $line (grep { /\S/ } split /\n/, $text) {
    my ($step, $rest) = $line =~ /^(\w+) (.*)$/;
    my ($code, $said) = (0, '');
    if ($step eq 'FROM') {
        my ($image, $name) = $rest =~ /^(\S+)(?: AS (\w+))?$/;
        ($root, my $why) = Test::Root->new($suite{$image},
                                           'container' . @stages);
        plan skip_all => $why unless $root;
        push @stages, $root;
        $stage{$name} = $root if $name;
    } elsif ($step eq 'COPY') {
        my $from = $rest =~ s/^--from=(\w+) // ? $1 : undef;
        $code = copy($from, split / /, $rest);
    } elsif ($step eq 'RUN') {
        ($code, $said) = $root->sh($rest);
    } elsif ($step eq 'CMD') {
        ($start) = $rest =~ /^\["(.*)"\]$/;
    } else {
        like $step, qr/^(?:VOLUME|EXPOSE|STOPSIGNAL)$/, "$step is known";
        next;
    }
    is $code, 0, $line or BAIL_OUT(substr $said, -4000);
}

system("mkdir -p '" . $root->path("srv/symbols/crash.pdb/$key") . "'");
system('cp', "$top/t/data/pdb/crash.pdb",
       $root->path("srv/symbols/crash.pdb/$key/"));
my ($code, $said) = $root->offline(<<"SH");
ip link set lo up
$start >/tmp/start.log 2>&1 &
pid=\$!
get() {
    perl -MIO::Socket::INET -e '
        my \$s = IO::Socket::INET->new("127.0.0.1:80") or exit 1;
        print \$s "GET \$ARGV[0] HTTP/1.0\\r\\n\\r\\n";
        print <\$s>' "\$1"
}
for i in \$(seq 600); do
    get $uri >/tmp/answer 2>/dev/null || true
    ! head -n 1 /tmp/answer | grep -q ' 200 ' || break
    sleep 0.1
done
head -n 1 /tmp/answer
ps=\$(cat /proc/[0-9]*/comm | grep -cE '^(nginx|symcached|symbolicated)\$')
echo "processes \$ps"
kill -TERM \$pid
wait \$pid || true
cat /tmp/start.log
SH
is $code, 0, 'it starts and stops';
like $said, qr/^HTTP\S+ 200 /m, 'and has a SymCache between that';
like $said, qr/^processes [4-9]$/m, 'from nginx, symcached and symbolicated';
diag $said unless $said =~ / 200 /;
$_->remove for @stages;

done_testing;
