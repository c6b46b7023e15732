package Test::ScriptedServer;

# A server whose every answer is a few lines of Perl: the helper's socket for
# module tests, a symbol server with faults for helper tests.  One process
# accepts, and a process per connection runs the script.
#
#   my $s = Test::ScriptedServer->new(unix => $path, script => sub {
#       my ($c, $req) = @_;
#       # $req: method uri path query headers (lower-case names) head n
#       $c->reply(404, { 'Content-Type' => 'text/plain' }, "no\n");
#   });
#
# Without unix => it needs log => a file, and listens on an ephemeral port of
# 127.0.0.1; with
# tls => { cert =>, key => } use a real nginx instead.
# The question for index2.txt is answered 404 behind the script's back, unless
# index2 => 1.  $s->requests gives every request so far, in order of arrival,
# but with unrecorded => 1, for very many of them.

use strict;
use warnings;

use Fcntl qw(:flock SEEK_SET);
use IO::Socket::INET;
use IO::Socket::UNIX;
use POSIX ();
use Socket qw(SOMAXCONN IPPROTO_TCP TCP_NODELAY SOL_SOCKET SO_LINGER);
use Time::HiRes qw(sleep);

sub new {
    my ($class, %o) = @_;
    my $self = bless {%o}, $class;

    $self->{log} //= "$o{unix}.requests";
    open my $log, '>', $self->{log} or die "$self->{log}: $!";
    close $log;

    my $listen;
    if ($o{unix}) {
        $listen = IO::Socket::UNIX->new(
            Local => $o{unix}, Listen => $o{backlog} // SOMAXCONN)
            or die "listen $o{unix}: $!";
        chmod 0666, $o{unix};
    } else {
        $listen = IO::Socket::INET->new(
            LocalAddr => $o{address} // '127.0.0.1', Proto => 'tcp', ReuseAddr => 1,
            Listen => $o{backlog} // SOMAXCONN)
            or die "listen: $!";
        $self->{port} = $listen->sockport;
        $self->{url} = 'http://' . ($o{address} // '127.0.0.1')
            . ":$self->{port}";
    }

    $self->{owner} = $$;
    $self->{pid} = fork() // die "fork: $!";
    if ($self->{pid} == 0) {
        setpgrp(0, 0);
        $SIG{$_} = 'DEFAULT' for qw(TERM INT);
        $SIG{CHLD} = 'IGNORE';
        $SIG{PIPE} = 'IGNORE';
        while (1) {
            my $c = $listen->accept or next;
            my $pid = fork();
            if (!defined $pid || $pid) {
                close $c;
                next;
            }
            close $listen;
            eval { $self->serve($c); 1 } or print STDERR "# script: $@";
            POSIX::_exit(0);
        }
    }
    setpgrp($self->{pid}, $self->{pid});
    close $listen;
    return $self;
}

sub port { $_[0]{port} }
sub url  { $_[0]{url} }

# --- in the connection's process

sub serve {
    my ($self, $fh) = @_;
    my $c = Test::ScriptedServer::Connection->new($fh);
    while (my $req = $c->read_request) {
        if (!$self->{index2} && $req->{path} =~ m{/index2\.txt$}) {
            $c->reply(404, {}, '');
            next;
        }
        if (!$self->{unrecorded}) {
            $req->{n} = $self->record($req);
        }
        $self->{script}->($c, $req);
        last if $c->{closed};
    }
}

# Returns how many requests there are with this one.
sub record {
    my ($self, $req) = @_;
    open my $log, '+>>', $self->{log} or die "$self->{log}: $!";
    flock $log, LOCK_EX;
    (my $head = $req->{head}) =~ s/\r\n/\x01/g;
    syswrite $log, "$head\n";
    sysseek $log, 0, SEEK_SET;
    my $n = 0;
    $n += $head =~ tr/\n// while sysread $log, $head, 1 << 16;
    close $log;
    return $n;
}

# --- in the test

# List of requests: hashes as the script gets them.
sub requests {
    my ($self) = @_;
    open my $log, '<', $self->{log} or return;
    my @r = map {
        chomp;
        s/\x01/\r\n/g;
        Test::ScriptedServer::Connection::parse_head($_)
    } <$log>;
    close $log;
    return @r;
}

sub stop {
    my ($self) = @_;
    return unless $self->{pid} && $self->{owner} == $$;
    kill 'KILL', -$self->{pid};
    waitpid $self->{pid}, 0;

    # the processes of its connections are nobody's children now; when they
    # are gone, peers have been told
    my $end = Time::HiRes::time() + 60;
    sleep 0.005 while running_in_group($self->{pid})
        && Time::HiRes::time() < $end;

    delete $self->{pid};
    unlink $self->{unix} if $self->{unix};
    unlink $self->{log};
}

sub running_in_group {
    my ($group) = @_;
    return 0 unless kill 0, -$group;
    for my $stat (glob '/proc/[0-9]*/stat') {
        open my $fh, '<', $stat or next;
        my ($state, $pgrp) = (<$fh> // '') =~ /\) (\S) \d+ (\d+) / or next;
        return 1 if $pgrp == $group && $state ne 'Z';
    }
    return 0;
}

sub DESTROY {
    my ($self) = @_;
    local ($?, $!, $@);
    $self->stop;
}

package Test::ScriptedServer::Connection;

use strict;
use warnings;

use Time::HiRes qw(sleep);

sub new {
    my ($class, $fh) = @_;
    $fh->autoflush(1);
    binmode $fh;
    return bless { fh => $fh, buf => '' }, $class;
}

sub parse_head {
    my ($head) = @_;
    my ($line, @lines) = split /\r\n/, $head;
    my ($method, $uri) = split / /, $line;
    my %h;
    for (@lines) {
        my ($n, $v) = split /:\s*/, $_, 2;
        push @{ $h{lc $n} }, $v;
    }
    my ($path, $query) = split /\?/, $uri // '', 2;
    return {
        method => $method, uri => $uri, path => $path,
        query => { map { split /=/, $_, 2 } split /&/, $query // '' },
        headers => { map { $_ => join ', ', @{ $h{$_} } } keys %h },
        head => $head,
    };
}

# undef when the peer closes
sub read_request {
    my ($self) = @_;
    until ($self->{buf} =~ /\r\n\r\n/) {
        my $n = sysread $self->{fh}, $self->{buf}, 65536,
            length $self->{buf};
        return unless $n;
    }
    $self->{buf} =~ s/^(.*?)\r\n\r\n//s;
    return parse_head($1);
}

sub send {
    my ($self, $bytes) = @_;
    while (length $bytes) {
        my $n = syswrite $self->{fh}, $bytes;
        if (!defined $n) {
            $self->{closed} = 1;
            return 0;
        }
        substr $bytes, 0, $n, '';
    }
    return 1;
}

# The body of a request that was read, by its Content-Length.
sub read_body {
    my ($self, $req) = @_;
    my $len = $req->{headers}{'content-length'} // 0;
    while (length $self->{buf} < $len) {
        my $n = sysread $self->{fh}, $self->{buf}, 65536, length $self->{buf};
        last unless $n;
    }
    return substr $self->{buf}, 0, $len, '';
}

# One write per byte, so that the peer sees every split.
sub send_bytewise {
    my ($self, $bytes, $pause) = @_;
    for (split //, $bytes) {
        $self->send($_) or return 0;
        sleep($pause // 0.0005);
    }
    return 1;
}

sub reply_text {
    my ($self, $status, $headers, $body) = @_;
    $body //= '';
    my %h = ('Content-Length' => length $body, %{ $headers // {} });
    delete $h{$_} for grep { !defined $h{$_} } keys %h;
    return join "\r\n", "HTTP/1.1 $status Scripted",
        (map { "$_: $h{$_}" } sort keys %h), '', $body;
}

# A header with the value undef is left out, Content-Length too.
sub reply {
    my ($self, $status, $headers, $body) = @_;
    return $self->send($self->reply_text($status, $headers, $body));
}

sub close {
    my ($self) = @_;
    CORE::close($self->{fh});
    $self->{closed} = 1;
}

# RST instead of FIN
sub reset {
    my ($self) = @_;
    setsockopt $self->{fh}, Socket::SOL_SOCKET, Socket::SO_LINGER,
        pack('ii', 1, 0);
    $self->close;
}

# Waits until the peer closes or sends; for scripts that hang.
sub wait_for_peer {
    my ($self, $seconds) = @_;
    my $r = '';
    vec($r, fileno $self->{fh}, 1) = 1;
    return select $r, undef, undef, $seconds // 600;
}

1;
