# Each directive as a request shows it: its default, its value in a server and
# in http, inherited by a location, and another in the location itself.
#
# symcache_send_timeout is not here: a request to the helper always fits into
# a socket's buffer.  symcache_valid and symcache_gzip have files of their own.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Test::More;
use Test::ModuleCase;

my $guid = $Test::ModuleCase::guid;
my ($t, $helper, $n, @tried);

sub h { Test::Symcache::header(@_) }

# A request for a PDB that nobody has asked for before.
sub fresh {
    my ($at, $version, @headers) = @_;
    $n++;
    return $t->http($at->[0], 'GET', "$at->[1]/v$version/p$n.pdb/$guid/1",
                    @headers);
}

sub last_request { ($helper->requests)[-1] }

# --- how the value of a directive is seen from outside; $_[0] is [address,
# location]

sub retry_after { h(fresh($_[0], '9.0.0'), 'Retry-After') }
sub hold { fresh($_[0], '3.0.9'); last_request()->{query}{wait} }
sub authorization {
    fresh($_[0], '9.0.0');
    return (last_request()->{head} =~ /^Authorization: (.*?)\r?$/m)[0];
}
sub store { fresh($_[0], '9.0.0'); (split m{/}, last_request()->{path})[3] }

sub type {
    my ($at) = @_;
    my $r = $t->http($at->[0], 'GET', "$at->[1]/v9.0.0/app.pdb/$guid/26");
    return (split /;/, h($r, 'Content-Type') // '')[0];
}

# Of those that are tried.
sub lowest_served {
    my ($at) = @_;
    for my $v (map { "3.0.$_" } 0 .. 5) {
        my $r = $t->http($at->[0], 'GET', "$at->[1]/v3.0.9/$v.pdb/$guid/26");
        return $v if $r->{status} == 200;
    }
    return 'none';
}

sub highest_held {
    my ($at) = @_;
    my $held;
    for my $v ('3.0.1', '3.0.5', '3.1.0', '3.1.1', '3.2.0', '3.2.1') {
        fresh($at, $v);
        $held = $v if defined last_request()->{query}{wait};
    }
    return $held;
}

# The timers that a request begins, from nginx's debug log.
sub timer {
    my ($at, $kind) = @_;
    my $before = length $t->error_log;
    fresh($at, '9.0.0');
    my $log = substr $t->error_log, $before;
    my @ms = $log =~ /event timer add: \d+: (\d+):/g;
    return join ' ', grep { $_ % 1000 == $kind || $_ == 60000 } @ms;
}

# The longest head of a reply that is taken.
sub buffer {
    my ($at) = @_;
    my $taken = 0;
    for my $size (600, 1500, 3000, 6000, 12000) {
        my $r = fresh($at, "9.0.$size");
        $taken = $size if !defined h($r, 'Retry-After');
    }
    return $taken;
}

sub peer { fresh($_[0], '9.0.0'); $t->read_file('peer') }

# Of the dead servers before the good one, how many may be passed by.
sub passed_by {
    my ($at) = @_;
    my $max = 'none';
    for my $dead (0 .. 3) {
        my $r = fresh([$at->[0], "$at->[1]/d$dead"], '9.0.404');
        $max = $dead if !defined h($r, 'Retry-After');
    }
    return $max;
}

# [directive, default, values of the location, the server and http, all as
# they are written, what is seen, by default first, and the observer]
my @directives = (
    ['retry_after', '31s', '32s', '33s', [1, 31, 32, 33], \&retry_after],
    ['hold_timeout', '41s', '42s', '43s', [900, 41, 42, 43], \&hold],
    ['store', 'a', 'b', 'c', ['default', 'a', 'b', 'c'], \&store],
    ['pass_token', map({ "\@%%DIR%%/token.$_" } 'a' .. 'c'),
     [undef, map { "Bearer $_" } 'a' .. 'c'], \&authorization],
    ['type', 'a/a', 'b/b', 'c/c',
     ['application/vnd.ms-symcache', 'a/a', 'b/b', 'c/c'], \&type],
    ['min_version', '3.0.0', '3.0.3', '3.0.4',
     ['3.0.1', '3.0.0', '3.0.3', '3.0.4'], \&lowest_served],
    ['async_after', '3.0.1', '3.1.1', '3.2.0',
     ['3.1.0', '3.0.1', '3.1.1', '3.2.0'], \&highest_held],
    ['connect_timeout', '5001ms', '6001ms', '7001ms',
     ['60000 60000', '5001 60000', '6001 60000', '7001 60000'],
     sub { timer(@_, 1) }],
    ['read_timeout', '5002ms', '6002ms', '7002ms',
     ['60000 60000', '60000 5002', '60000 6002', '60000 7002'],
     sub { timer(@_, 2) }],
    ['buffer_size', '1k', '2k', '8k', [3000, 600, 1500, 6000], \&buffer],
    ['error', '500', '502', '504', [404, 500, 502, 504],
     sub { fresh($_[0], '9.0.12000')->{status} }],
    ['bind', '127.0.0.2', '127.0.0.3', '127.0.0.4',
     ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'], \&peer],
    ['next_upstream', 'off', 'timeout', 'error', [3, 0, 0, 3], \&passed_by],
    ['next_upstream_tries', '1', '2', '3', [3, 0, 1, 2], \&passed_by],
    ['redirect', '/a', '/b', '/c', [undef, '/a', '/b', '/c'], sub {
        my ($at) = @_;
        my $r = $t->http($at->[0], 'GET', "$at->[1]/v9.0.0/app.pdb/$guid/26");
        return h($r, 'Location') && substr h($r, 'Location'), 0, 2;
    }],
    ['accel', '/in/a', '/in/b', '/in/c', [200, 201, 202, 203], sub {
        my ($at) = @_;
        $t->http($at->[0], 'GET', "$at->[1]/v9.0.0/app.pdb/$guid/26")
            ->{status};
    }],
);

# The locations of a server; $own: its directives are set in them, too.
sub locations {
    my ($prefix, $pass, $own, $port) = @_;
    return join "\n", map {
        my $i = $_;
        my ($name, $value) = @{ $directives[$i] };
        my $line = $own ? "symcache_$name $value;" : '';
        my $dead = join '', map { "location ~ ^/$prefix$i/d$_/ {
            symcache %%DIR%%/store; symcache_pass dead$_; $line }\n" }
            $name =~ /^next/ ? 0 .. 3 : ();
        "$dead location ~ ^/$prefix$i/ { symcache %%DIR%%/store;
         symcache_pass $pass; $line }\n";
    } @tried;
}

my $inner = join '', map { "location /in/$_->[0] { internal;
    return $_->[1]; }\n" } ['a', 201], ['b', 202], ['c', 203];

sub settings {
    my ($column) = @_;
    return join ' ', map { "symcache_$_->[0] $_->[$column];" }
        @directives[@tried];
}

sub start {
    my (%o) = @_;
    $t = Test::ModuleCase->new;
    $helper = Test::ScriptedServer->new(log => $t->path('requests'),
                                         script => sub {
        my ($c, $req) = @_;
        my ($size) = $req->{query}{version} =~ /^9\.0\.(\d+)$/;
        $t->write_file('peer', $c->{fh}->peerhost);
        return $c->reply(202, {}) if !$size && !$req->{query}{wait};
        $size //= 404;
        my $text = $c->reply_text(404, { 'X-Symcache-Reason' => 'notfound' });
        return $c->reply(404, { 'X-Symcache-Reason' => 'notfound',
            'X-Fill' => 'x' x ($size > 404 ? $size - length $text : 1) });
    });
    $t->write_file("token.$_", "$_\n") for 'a' .. 'c';
    $t->put('3.1.0', 'x');
    $t->put($_, 'x', key => "$_.pdb/${guid}1A") for map { "3.0.$_" } 0 .. 5;
    my $good = '127.0.0.1:' . $helper->port;
    my $dead = join '', map {
        my $k = $_;
        "upstream dead$k { " . join('', map {
            'server 127.0.0.1:' . $t->free_port . ' max_fails=0; ' } 1 .. $k)
            . "server $good" . ($k ? ' backup' : '') . "; }\n";
    } 0 .. 3;
    $t->start_nginx($o{server}->($good), http => "$dead $o{http}
        client_header_timeout 59s; send_timeout 59s; keepalive_timeout 59s;",
        main => 'error_log %%DIR%%/debug.log debug;');
}

# nginx writes to the last error_log of a level
sub Test::ModuleCase::error_log { $_[0]->read_file('debug.log') // '' }

sub check {
    my ($what, $prefix, $address, $column) = @_;
    for my $i (@tried) {
        my $d = $directives[$i];
        my $got = $d->[5]->([$address, "/$prefix$i"]);
        is $got, $d->[4][$column], "symcache_$d->[0]: $what";
    }
}

@tried = 0 .. $#directives;
start(http => '', server => sub { locations('d', $_[0]) . $inner });
check('default', 'd', $t->nginx_socket, 0);
$helper->stop;
$t->finish;

for my $i (0 .. $#directives) {
    @tried = $i;
    start(http => settings(3), server => sub {
        my $here = locations('h', $_[0]);
        "$here $inner } server { listen unix:%%DIR%%/other.sock; server_name x; "
        . settings(2) . locations('s', $_[0]) . locations('l', $_[0], 1)
        . $inner;
    });
    check('from http', 'h', $t->nginx_socket, 3);
    check('from the server', 's', $t->path('other.sock'), 2);
    check('in the location', 'l', $t->path('other.sock'), 1);
    $helper->stop;
    $t->finish;
}

done_testing;
