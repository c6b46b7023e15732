#!/usr/bin/perl

# packaging/container/Containerfile: no container engine is needed, its steps
# are executed in roots of debootstrap, and what it starts is used.

use strict;
use warnings;

use File::Basename qw(dirname);
use File::Path qw(make_path);
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

my (@stages, %stage, $root, $start, $health);

sub copy {
    my ($from, @paths) = @_;
    my $to = pop @paths;
    $to = $root->path($to =~ s{^/}{}r);
    return system("mkdir -p '$to' && tar -C '$top' --exclude-vcs "
        . "--exclude=./build --exclude='./build-*' -cf - . | tar -C '$to' -xf -")
        if !$from && "@paths" eq '.';
    make_path(dirname($to));
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
    } elsif ($step eq 'HEALTHCHECK') {
        ($health) = $rest =~ / CMD (.*)$/;
    } else {
        like $step, qr/^(?:VOLUME|EXPOSE|STOPSIGNAL)$/, "$step is known";
        next;
    }
    is $code, 0, $line or BAIL_OUT(substr $said, -4000);
}

# The transcoder waits for a file; the second name is for a request that is held.
for my $name (qw(crash.pdb held.pdb)) {
    my $folder = $root->path("srv/symbols/$name/$key");
    system("mkdir -p '$folder' && cp '$top/t/data/pdb/crash.pdb' '$folder/$name'");
}
$root->write('etc/symcached.json', <<'JSON');
{ "stores": { "default": { "root": "/var/cache/symcached/default",
  "transcoders": [ { "version": "9.0.0", "profile": "none", "command": ["sh", "-c",
    "echo run >>/var/cache/symcached/runs; until [ -e /srv/gate ]; do sleep 0.1; done; exec pdb2symcache -pdb $1",
    "sh", "{pdb}"] } ], "sources": ["local"] } },
  "sources": { "local": { "type": "filesystem", "path": "/srv/symbols" } } }
JSON
my ($code, $said) = $root->offline(<<"SH");
ip link set lo up
trap 'cat /tmp/start.log' EXIT
touch /srv/gate
sed -i 's|symcache_pass .*|& symcache_async_after 65535.65535.65535;|' \\
    /etc/nginx/symcache.d/symcache.conf
# a root is no mount point; and what nohup has it ignore, bash cannot trap
env --default-signal unshare --pid --fork --propagation unchanged --mount-proc \\
    $start >/tmp/start.log 2>&1 &
outer=\$!
get() {
    perl -MIO::Socket::INET -e '
        my \$s = IO::Socket::INET->new("127.0.0.1:80") or exit 1;
        print \$s "GET \$ARGV[0] HTTP/1.0\\r\\n\\r\\n";
        print <\$s>' "\$1"
}
until_ok() { for i in \$(seq 600); do ! "\$@" 2>/dev/null || return 0; sleep 0.1; done; return 1; }
first() { get $uri >/tmp/answer && head -n 1 /tmp/answer | grep -q ' 200 '; }
until_ok first
head -n 1 /tmp/answer
ps=\$(cat /proc/[0-9]*/comm | grep -cE '^(nginx|symcached|symbolicated)\$')
echo "processes \$ps"
healthy() { $health; }
! healthy || echo healthy
pid=\$(cat /proc/\$outer/task/\$outer/children)
kill -HUP \$pid
until_ok grep -q reloaded /tmp/start.log
cp /etc/symcached.json /tmp/good.json
echo '{ "bogus": 1 }' >/etc/symcached.json
kill -HUP \$pid
until_ok grep -q 'bogus: unknown key' /tmp/start.log && echo refused
cp /tmp/good.json /etc/symcached.json
rm /srv/gate
get ${\ ($uri =~ s/crash\.pdb/held.pdb/r)} >/tmp/held &
held=\$!
twice() { [ \$(wc -l </var/cache/symcached/runs) -ge 2 ]; }
until_ok twice
kill -TERM \$pid
closed() { ! (: </dev/tcp/127.0.0.1/80); }
until_ok closed
touch /srv/gate
wait \$held
echo "held \$(head -n 1 /tmp/held)"
wait \$outer
echo "ended with \$?"
SH
is $code, 0, 'it starts and stops';
like $said, qr/^HTTP\S+ 200 /m, 'and has a SymCache between that';
like $said, qr/^processes [4-9]$/m, 'from nginx, symcached and symbolicated';
like $said, qr/^healthy$/m, 'its health check is content';
like $said, qr/^refused$/m, 'a wrong configuration is not taken';
like $said, qr/^held HTTP\S+ 200 /m, 'TERM: what is held is answered';
like $said, qr/^ended with 0$/m, 'and then it ends';
diag $said unless $said =~ /^ended with 0$/m;
$_->remove for @stages;

done_testing;
