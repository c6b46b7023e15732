package Test::Symcache;

# Starts real nginx and real symcached in a temporary directory, talks raw
# HTTP to them over Unix sockets, and at the end asserts that nothing was left
# behind and that no log holds an alert or a sanitizer's report.
#
#   my $t = Test::Symcache->new;
#   $t->start_symcached({ stores => {...}, sources => {...} });
#   $t->start_nginx('location /symcache/ { symcache %%DIR%%/store; ... }');
#   my $r = $t->get('/symcache/v3.1.0/...', 'Allow-Retry-After: true');
#   is $r->{status}, 200;
#   $t->finish;           # counts as one test
#   done_testing;

use strict;
use warnings;

use Cwd qw(abs_path);
use Digest::SHA ();
use File::Basename qw(dirname);
use File::Find ();
use File::Path qw(make_path remove_tree);
use File::Temp ();
use IO::Socket::INET;
use IO::Socket::UNIX;
use JSON::PP ();
use POSIX qw(:sys_wait_h);
use Test::More ();
use Time::HiRes qw(sleep time);

our $top   = abs_path(dirname(__FILE__) . '/../../..');
our $build = $ENV{SYMCACHE_BUILD} // "$top/build";
our $san   = $ENV{SYMCACHE_SAN};
our $nginx = $ENV{SYMCACHE_NGINX} // '/usr/sbin/nginx';
our $static = $ENV{SYMCACHE_STATIC};    # the module is linked into it

# Seconds after which a wait is over.  It only ends tests that hang: everything
# is slower under a sanitizer and on a small or loaded machine.
our $patience = 300;

# A signal that ends the test ends it as exit does, so that nothing that it has
# started lives on, for whose end prove would wait.  A forked child has none of
# that to do.  What nohup or a shell has ignored stays so.
my $main = $$;
for (grep { ($SIG{$_} // '') ne 'IGNORE' } qw(HUP INT PIPE TERM)) {
    $SIG{$_} = \&end_by_signal;
}

sub end_by_signal {
    my ($name) = @_;
    if ($$ != $main) {
        $SIG{$name} = 'DEFAULT';
        kill $name, $$;
        return;
    }
    $SIG{PIPE} = 'IGNORE';
    print STDERR "# ended by SIG$name\n";
    exit 1;
}

sub new {
    my ($class) = @_;
    my $dir = File::Temp::tempdir('sc.XXXXXX', TMPDIR => 1);
    chmod 0755, $dir;
    return bless { dir => $dir, owner => $$, allow => [] }, $class;
}

sub dir  { $_[0]{dir} }
sub path { "$_[0]{dir}/$_[1]" }

# --- files

sub write_file {
    my ($self, $name, $content) = @_;
    my $file = $name =~ m{^/} ? $name : $self->path($name);
    my $fh;
    for my $try (1 .. 5) {
        # a cleaner may take an empty folder away
        eval { make_path(dirname($file)) };
        last if open $fh, '>', $file;
        die "$file: $!" if $try == 5 || !$!{ENOENT};
    }
    binmode $fh;
    print $fh $content;
    close $fh or die "$file: $!";
    return $file;
}

# Do files here take extended attributes, as their digests need?
sub has_attributes {
    my ($self) = @_;
    my $set = { x86_64 => 188, aarch64 => 5 }->{ (POSIX::uname())[4] };
    my ($name, $value) = ('user.x', 'y');
    $self->write_file('probe', 'x');
    return defined $set &&
        syscall($set, $self->path('probe'), $name, $value, 1, 0) == 0;
}

# Seconds of processor time that a process has had.
sub processor_time {
    my ($self, $pid) = @_;
    my @fields = split ' ', $self->read_file("/proc/$pid/stat") =~ s/.*\) //sr;
    return ($fields[11] + $fields[12]) / POSIX::sysconf(POSIX::_SC_CLK_TCK());
}

sub read_file {
    my ($self, $name) = @_;
    my $file = $name =~ m{^/} ? $name : $self->path($name);
    open my $fh, '<', $file or return;
    binmode $fh;
    local $/;
    return scalar <$fh>;
}

# A file of the repository's t/data.
# What a store says to be absent, in the form of an entry that has a file of its
# own: "<reason> <time> <fingerprint>\n<text>\n[<spellings>\n]", by the path
# that this file has; those in the store's journal and those with a file.
sub absences {
    my ($self, $store) = @_;
    my %entry;
    for my $line (split /\n/, $self->read_file("$store/.absent") // '') {
        my (undef, $path, @of) = split /\t/, $line, -1;
        next unless defined $path;
        delete $entry{"$store/$path"};
        next unless @of == 5;
        my ($reason, $since, $fingerprint, $spellings, $text) = @of;
        $entry{"$store/$path"} = "$reason $since $fingerprint\n$text\n"
            . ($spellings eq '' ? '' : "$spellings\n");
    }
    for my $file (glob $self->path("$store/*/*/*.absent")) {
        my $path = substr $file, length($self->dir) + 1;
        $entry{$path} = $self->read_file($file) // '';
    }
    return \%entry;
}

# That of the path, or undef.
sub absence {
    my ($self, $path) = @_;
    $path =~ s{^\Q$self->{dir}\E/}{};
    my ($store) = $path =~ m{^(.*)/[^/]+/[^/]+/[^/]+$} or die $path;
    return $self->absences($store)->{$path};
}

# Removes an entry from the journal, as another helper does that writes the
# journal anew.
sub remove_absence {
    my ($self, $path) = @_;
    my ($store, $of) = $path =~ m{^(.*)/([^/]+/[^/]+/[^/]+)$} or die $path;
    my $journal = $self->read_file("$store/.absent");
    if (defined $journal) {
        $journal =~ s/^[0-9a-f]+\t\Q$of\E(?:\t.*)?\n//mg;
        $self->write_file("$store/.absent.new", $journal);
        rename $self->path("$store/.absent.new"), $self->path("$store/.absent")
            or die "$store/.absent: $!";
    }
}

# Puts an entry in place of one, in a file of its own.
sub write_absence {
    my ($self, $path, $text) = @_;
    $self->remove_absence($path);
    rename $self->write_file("$path.new", $text), $self->path($path)
        or die "$path: $!";
}

sub data { "$top/t/data/$_[1]" }

sub program { "$build/$_[1]" }

# --- waiting

# Runs $check until it is true; dies with $what after the deadline.
sub wait_until {
    my ($self, $what, $check, $seconds) = @_;
    my $end = time + ($seconds // $patience);
    while (1) {
        my $v = $check->();
        return $v if $v;
        die "timed out waiting: $what\n" if time > $end;
        sleep 0.01;
    }
}

sub connects {
    my ($address) = @_;
    my $s = connect_to($address) or return 0;
    close $s;
    return 1;
}

sub connect_to {
    my ($address) = @_;
    return $address =~ m{^/}
        ? IO::Socket::UNIX->new(Peer => $address)
        : IO::Socket::INET->new(PeerAddr => $address, Proto => 'tcp');
}

# --- processes

sub sanitizer_env {
    my ($self, $preload) = @_;
    return () unless $san;
    my $log = $self->path('sanitizer');
    my %env = (
        ASAN_OPTIONS => "log_path=$log:detect_odr_violation=0:"
            . "detect_leaks=" . ($preload ? 0 : 1) . ":abort_on_error=0",
        UBSAN_OPTIONS => "log_path=$log:print_stacktrace=1",
    );
    if ($preload) {
        my @libs = map { my $f = qx(gcc -print-file-name=lib$_.so);
                         chomp $f; $f } qw(asan ubsan);
        $env{LD_PRELOAD} = join ' ', @libs;
    }
    return %env;
}

# Starts a program with stdout and stderr in a file; returns its pid.  If
# $self->{under} is set, that is a command that starts it.
sub spawn {
    my ($self, $log, $env, @cmd) = @_;
    unshift @cmd, @{ $self->{under} // [] };
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        open STDIN,  '<',  '/dev/null';
        open STDOUT, '>>', $self->path($log);
        open STDERR, '>&', \*STDOUT;
        $ENV{$_} = $env->{$_} for keys %$env;
        exec { $cmd[0] } @cmd or POSIX::_exit(127);
    }
    return $pid;
}

sub alive {
    my ($pid) = @_;
    return waitpid($pid, WNOHANG) == 0;
}

# Whether any process has ended.  A zombie has: in a container the first process
# may be one that does not wait for those whose parents are gone.
sub gone {
    my ($pid) = @_;
    open my $file, '<', "/proc/$pid/stat" or return 1;
    return (<$file> // ') Z ') =~ /\) Z /;
}

# Sends a signal and waits for the end; returns the wait status.
sub stop_pid {
    my ($self, $pid, $signal) = @_;
    my $status;
    my $end = time + $patience;
    kill $signal, $pid;
    while (1) {
        my $r = waitpid $pid, WNOHANG;
        if ($r == $pid) { $status = $?; last }
        if ($r == -1) { $status = -1; last }
        if (time > $end) {
            kill 'KILL', $pid;
            waitpid $pid, 0;
            $self->problem("pid $pid did not stop on $signal");
            $status = -1;
            last;
        }
        sleep 0.005;
    }
    return $status;
}

# The same for one of the daemons, if it runs: without a signal it is to end well.
sub stop {
    my ($self, $daemon, $signal) = @_;
    my $pid = delete $self->{$daemon} or return;
    my $status = $self->stop_pid($pid, $signal // ($daemon eq 'nginx' ? 'QUIT' : 'TERM'));
    $self->problem("$daemon: wait status $status") if $status && !$signal;
    return $status;
}

sub problem { push @{ $_[0]{problems} }, $_[1] }

# --- symcached

sub helper_socket { $_[0]->path('h.sock') }

# $config: hash (missing listen, downloads and cache.min_free are filled in; where
# the last is undef, it is the default) or JSON text.
sub write_helper_config {
    my ($self, $config) = @_;
    if (ref $config) {
        # those of tests leave notes wherever they like
        for (map { @{ $_->{transcoders} // [] } }
             values %{ $config->{stores} // {} }) {
            $_->{profile} //= 'none';
        }
        my %c = (
            listen => 'unix:' . $self->helper_socket,
            downloads => $self->path('downloads'),
            %$config,
            # how full the disk of this machine is decides nothing
            cache => { min_free => '1', %{ $config->{cache} // {} } },
            symbolication => {
                listen => 'unix:' . $self->symbolicated_socket,
                %{ $config->{symbolication} // {} },
            },
        );
        delete $c{cache}{min_free} if !defined $c{cache}{min_free};
        $config = JSON::PP->new->canonical->pretty->encode(\%c);
    } else {
        my $dir = $self->dir;
        $config =~ s/%%DIR%%/$dir/g;
    }
    # whole at once: the helper may be about to read it
    my $file = $self->path('symcached.json');
    rename $self->write_file('symcached.json.new', $config), $file
        or die "$file: $!";
    return $file;
}

sub start_symcached {
    my ($self, $config, %o) = @_;
    my $file = defined $config ? $self->write_helper_config($config)
                               : $self->path('symcached.json');
    my %env = ($self->sanitizer_env(0), PATH => "$build:$ENV{PATH}",
               %{ $o{env} // {} });
    $self->{helper} = $self->spawn('symcached.log', \%env,
        @{ $o{wrapper} // [] }, "$build/symcached", '-c', $file, @{ $o{args} // [] });
    my $address = $self->{helper_address} = $o{address} // $self->helper_socket;
    $self->wait_until('symcached accepts', sub {
        if (!alive($self->{helper})) {
            my $log = $self->read_file('symcached.log');
            delete $self->{helper};
            die "symcached ended: $log";
        }
        return connects($address);
    });
    return $self->{helper};
}

# Returns the wait status.  A child of a helper that is killed has its socket a
# moment longer: the next helper would be taken for started by that.
sub stop_symcached {
    my ($self, $signal) = @_;
    my $status = $self->stop('helper', $signal);
    $self->wait_until('no child of symcached accepts', sub {
        !connects($self->{helper_address}) })
        if defined $status && ($signal // '') eq 'KILL';
    return $status;
}

# Takes up the configuration and waits until that has been done.
sub reload_symcached {
    my ($self, $config) = @_;
    my $ok = 'symcached_reloads_total{result="ok"}';
    my $before = $self->metric($ok);
    $self->write_helper_config($config);
    kill 'HUP', $self->{helper};
    $self->wait_until('a reload', sub { $self->metric($ok) > $before });
}

sub helper_log { $_[0]->read_file('symcached.log') // '' }

# --- symbolicated

sub symbolicated_socket { $_[0]->path('s.sock') }

# $config as for symcached, whose file it shares; undef: the file there is.
sub start_symbolicated {
    my ($self, $config, %o) = @_;
    my $file = defined $config ? $self->write_helper_config($config)
                               : $self->path('symcached.json');
    $self->{symbolicated} = $self->spawn('symbolicated.log',
        { $self->sanitizer_env(0), %{ $o{env} // {} } },
        "$build/symbolicated", '-c', $file, @{ $o{args} // [] });
    my $address = $o{address} // $self->symbolicated_socket;
    $self->wait_until('symbolicated accepts', sub {
        if (!alive($self->{symbolicated})) {
            delete $self->{symbolicated};
            die 'symbolicated ended: ' . $self->symbolicated_log;
        }
        return connects($address);
    });
    return $self->{symbolicated};
}

# Returns the wait status.
sub stop_symbolicated {
    my ($self, $signal) = @_;
    return $self->stop('symbolicated', $signal);
}

sub symbolicated_log { $_[0]->read_file('symbolicated.log') // '' }

# The value of one of its Prometheus samples, or undef.
sub symbolicated_metric {
    my ($self, $name) = @_;
    my $r = $self->http($self->symbolicated_socket, 'GET', '/metrics')
        or return;
    return $r->{body} =~ /^\Q$name\E (\S+)$/m ? $1 : undef;
}

# Puts the SymCaches of PDBs into a store, with the names of the reference, so
# that answers can be compared with those of other servers.
sub fill_store {
    my ($self, $store, @pdbs) = @_;
    local $ENV{_NT_SYMCACHE_PATH} = $self->path($store);
    make_path($self->path($store));
    for my $pdb (@pdbs) {
        system("$build/pdb2symcache", '--like-symbolic', '-pdb', $pdb) == 0
            or die "pdb2symcache $pdb: $?";
    }
}

# --- nginx

sub nginx_socket { $_[0]->path('n.sock') }

# The tests run beside whatever else the machine serves, as any user: each
# server says where it listens, on a Unix socket or on a port that was free a
# moment ago, and no log is the machine's own.
sub check_nginx_config {
    my ($text) = @_;
    die "no access_log\n" unless $text =~ /\baccess_log\b/;
    my (undef, @servers) = split /\bserver\s*\{/, $text;
    for (@servers) {
        my @listen = /\blisten\s+([^;]+);/g;
        die "a server without listen\n" unless @listen;
        # 10.0.0.*: of Test::Network, which no machine has by itself
        for (grep { !/^(?:unix:|127\.0\.0\.1:\d|10\.0\.0\.\d)/ } @listen) {
            die "listen $_: not a Unix socket, nor a port of 127.0.0.1\n";
        }
    }
}

# $server: what stands in server {}; %o: http, main, events (more text),
# listen, workers, load (0 = without the module), module (path), daemon, env.
# %%DIR%% becomes the temporary directory.
sub nginx_config {
    my ($self, $server, %o) = @_;
    my $dir = $self->dir;
    my $module = $o{module} // "$build/ngx_symcache_module.so";
    my $load = ($o{load} // 1) && !$static ? "load_module $module;" : '';
    my $user = $> == 0 && !$o{user} ? 'user root;' : '';
    my $workers = $o{workers} // 1;
    my $daemon = $o{daemon} // 'off';
    my $listen = $o{listen} // "listen unix:$dir/n.sock;";
    my $main = $o{main} // '';
    my $events = $o{events} // '';
    my $http = $o{http} // '';
    my $text = <<"CONF";
$load
$user
$main
daemon $daemon;
worker_processes $workers;
pid $dir/nginx.pid;
error_log $dir/error.log info;
events {
    worker_connections 2048;
    $events
}
http {
    log_format symcache '\$status \$body_bytes_sent "\$request"';
    access_log $dir/access.log symcache;
    client_body_temp_path $dir/ngx.body;
    proxy_temp_path $dir/ngx.proxy;
    fastcgi_temp_path $dir/ngx.fastcgi;
    uwsgi_temp_path $dir/ngx.uwsgi;
    scgi_temp_path $dir/ngx.scgi;
    $http
    server {
        $listen
        server_name localhost;
        root $dir/html;
        $server
    }
}
CONF
    $text =~ s/%%DIR%%/$dir/g;
    check_nginx_config($text);
    return $self->write_file($o{conf} // 'nginx.conf', $text);
}

# nginx -t: (exit code, output)
sub test_nginx {
    my ($self, $server, %o) = @_;
    my $file = $self->nginx_config($server, %o, conf => 'test.conf');
    my %env = $self->sanitizer_env(1);
    my $env = join ' ', map { "$_='$env{$_}'" } sort keys %env;
    my $dir = $self->dir;
    my $out = qx(env $env $nginx -t -p $dir -c $file 2>&1);
    return ($? >> 8, $out);
}

# nginx before 1.19.1 leaves its own sockets behind on QUIT, with a module or
# without (its ticket 753), and then cannot listen there again.
sub leaves_sockets { return qx($nginx -v 2>&1) =~ m{nginx/1\.1\d\.} }

sub start_nginx {
    my ($self, $server, %o) = @_;
    make_path($self->path('html'));
    unlink $self->nginx_socket if leaves_sockets();
    my $file = $self->nginx_config($server, %o);
    $self->{nginx} = $self->spawn('nginx.out',
        { $self->sanitizer_env(1), %{ $o{env} // {} } }, $nginx, '-p', $self->dir, '-c', $file);
    my $address = $o{address} // $self->nginx_socket;
    $self->wait_until('nginx accepts', sub {
        if (!alive($self->{nginx})) {
            delete $self->{nginx};
            die 'nginx ended: ', $self->read_file('nginx.out') // '',
                $self->read_file('error.log') // '';
        }
        return connects($address);
    });
    return $self->{nginx};
}

sub stop_nginx {
    my ($self, $signal) = @_;
    return $self->stop('nginx', $signal);
}

# Pids of the workers that run now.
sub workers {
    my ($self) = @_;
    my $pid = $self->{nginx};
    open my $fh, '<', "/proc/$pid/task/$pid/children" or return;
    return split ' ', <$fh> // '';
}

# HUP, and waits until new workers run; old ones may still finish requests.
sub reload_nginx {
    my ($self) = @_;
    my %old = map { $_ => 1 } $self->workers;
    kill 'HUP', $self->{nginx};
    $self->wait_until('new workers', sub {
        return grep { !$old{$_} } $self->workers;
    });
}

sub error_log  { $_[0]->read_file('error.log') // '' }
sub access_log { $_[0]->read_file('access.log') // '' }

# --- raw HTTP

# Request text; $uri is sent as it is.
sub request_text {
    my ($method, $uri, @headers) = @_;
    my @h = grep { defined } @headers;
    unshift @h, 'Host: localhost' unless grep { /^Host:/i } @h;
    push @h, 'Connection: close' unless grep { /^Connection:/i } @h;
    return join "\r\n", "$method $uri HTTP/1.1", @h, '', '';
}

# One request on a connection of its own.  Returns undef when no connection
# was made, else { status, reason, headers => { lower-case => [values] },
# head, body, raw }; status is 0 when no answer came.
sub http {
    my ($self, $address, $method, $uri, @headers) = @_;
    my $s = $self->open_http($address, $method, $uri, @headers) or return;
    return $self->read_response($s, $method);
}

# The same with a body.
sub post {
    my ($self, $address, $uri, $body, @headers) = @_;
    my $s = connect_to($address) or return;
    binmode $s;
    local $SIG{PIPE} = 'IGNORE';
    print $s request_text('POST', $uri, @headers,
                          'Content-Length: ' . length $body), $body;
    $s->flush;
    return $self->read_response($s, 'POST');
}

# Sends only; the socket is for read_response().
sub open_http {
    my ($self, $address, $method, $uri, @headers) = @_;
    my $s = connect_to($address) or return;
    binmode $s;
    local $SIG{PIPE} = 'IGNORE';
    syswrite $s, request_text($method, $uri, @headers);
    return $s;
}

# Reads one response: to the end of the connection, or of its Content-Length
# or chunks.
sub read_response {
    my ($self, $s, $method, $seconds) = @_;
    my ($raw, $end) = ('', time + ($seconds // $patience));
    my $r;
    while (1) {
        $r = parse_response($raw, $method // 'GET');
        last if $r->{complete};
        my $bits = '';
        vec($bits, fileno $s, 1) = 1;
        my $left = $end - time;
        die "timed out reading a response, got: $raw\n" if $left <= 0;
        next unless select $bits, undef, undef, $left;
        my $n = sysread $s, $raw, 1 << 20, length $raw;
        last unless $n;
    }
    return parse_response($raw, $method // 'GET');
}

sub parse_response {
    my ($raw, $method) = @_;
    my %r = (raw => $raw, status => 0, headers => {}, body => '');
    my ($head, $body) = $raw =~ /^(.*?)\r\n\r\n(.*)$/s or return \%r;
    my ($line, @lines) = split /\r\n/, $head;
    my (undef, $status, $reason) = split / /, $line, 3;
    for (@lines) {
        my ($n, $v) = split /:\s*/, $_, 2;
        push @{ $r{headers}{lc $n} }, $v;
    }
    @r{qw(head status reason body)} = ($head, $status, $reason, $body);
    my $len = $r{headers}{'content-length'};
    if ($method eq 'HEAD' || $status == 304 || $status == 204) {
        $r{complete} = 1;
    } elsif ($len) {
        $r{complete} = length $body >= $len->[0];
    } elsif (lc(($r{headers}{'transfer-encoding'} // [''])->[0])
             eq 'chunked') {
        my ($out, $rest, $done) = ('', $body, 0);
        while ($rest =~ s/^([0-9a-fA-F]+)\r\n//) {
            my $n = hex $1;
            if ($n == 0) { $done = $rest =~ /^\r\n/; last }
            last if length $rest < $n + 2;
            $out .= substr $rest, 0, $n;
            substr $rest, 0, $n + 2, '';
        }
        $r{body} = $out;
        $r{complete} = $done;
    }
    return \%r;
}

# The first value of a header, or undef.
sub header {
    my ($r, $name) = @_;
    my $v = $r->{headers}{lc $name} or return;
    return $v->[0];
}

# To nginx and to the helper.
sub get  { my $s = shift; $s->http($s->nginx_socket, 'GET', @_) }
sub head { my $s = shift; $s->http($s->nginx_socket, 'HEAD', @_) }
sub helper { my $s = shift; $s->http($s->helper_socket, @_) }

sub helper_json {
    my ($self, $uri) = @_;
    my $r = $self->helper('GET', $uri);
    return JSON::PP::decode_json($r->{body});
}

# The value of one Prometheus sample of the helper, or undef.
sub metric {
    my ($self, $name) = @_;
    my $r = $self->helper('GET', '/metrics') or return;
    return $r->{body} =~ /^\Q$name\E (\S+)$/m ? $1 : undef;
}

# --- the fixtures

# The PDBs of t/data/pdb as symbol servers name them: name => key.
our %key = (
    'crash.pdb' => '3249D99D0C4049318610F4E4FB0B69361',
    'basic32.pdb' => '34060D222DBB44E5AA72243CE8326C2F2',
);

# Makes a symbol store below $dir: crash.pdb plain, basic32.pdb as cabinet.
sub symbol_store {
    my ($self, $dir) = @_;
    require File::Copy;
    for my $f (['crash.pdb', 'crash.pdb'], ['basic32.pdb', 'basic32.pd_']) {
        my ($name, $file) = @$f;
        my $to = $self->path("$dir/$name/$key{$name}");
        make_path($to);
        File::Copy::copy($self->data("pdb/$file"), "$to/$file")
            or die "$to/$file: $!";
    }
    return $self->path($dir);
}

# An nginx that has it on a port: returns it, and its address.
sub symbol_nginx {
    my ($class) = @_;
    my $up = $class->new;
    $up->symbol_store('html');
    my $address = '127.0.0.1:' . $up->free_port;
    $up->start_nginx('', load => 0, listen => "listen $address;", address => $address);
    return ($up, "http://$address");
}

# A configuration with one HTTP source and the built-in converter, whose runs
# are counted in the file "runs" and wait for the file "gate" if $o{gated}.
sub default_config {
    my ($self, $url, %o) = @_;
    my @command = ("$build/pdb2symcache", '-pdb', '{pdb}');
    my $gate = $self->path('gate');
    $self->write_file('gate', '') unless $o{gated};
    unshift @command, "$top/t/bin/gated", $gate, $self->path('runs');
    return {
        stores => { default => {
            root => $self->path('store'),
            transcoders => [{ version => '9.0.0', command => \@command }],
            sources => ['upstream'],
        } },
        sources => { upstream => { type => 'http', url => $url,
            layout => 'symstore', internal => JSON::PP::true() } },
        limits => $o{limits} // {},
        cache => $o{cache} // {},
    };
}

# How many times the transcoder of default_config() was started.
sub runs { scalar(() = ($_[0]->read_file('runs') // '') =~ /\n/g) }

# The location that goes with it.  Requests of version 9.0.0 under /poll/
# retry, under /hold/ they are held.
sub default_locations {
    my ($self, $more) = @_;
    $more //= '';
    return join '', map { "location /$_->[0]/ {
            symcache %%DIR%%/store;
            symcache_pass unix:%%DIR%%/h.sock;
            symcache_async_after $_->[1];
            $more
        }
        " } ['poll', '3.1.0'], ['hold', '65535.65535.65535'];
}

# The version of libcurl, as LIBCURL_VERSION_NUM has it: of the command, which is
# linked with the same one.
sub libcurl {
    return qx(curl --version) =~ m{ libcurl/(\d+)\.(\d+)\.(\d+)}
        ? $1 << 16 | $2 << 8 | $3 : 0;
}

# A port of 127.0.0.1 that was free a moment ago.  It is below those from which
# the kernel takes the ports of other tests' connections meanwhile.
sub free_port {
    for (1 .. 1000) {
        my $s = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Proto => 'tcp',
            LocalPort => 10000 + int rand 22768, Listen => 1) or next;
        return $s->sockport;
    }
    die "no port is free: $!";
}

# The path of a fixture's SymCache behind the location.
sub request_path {
    my ($self, $name, $version) = @_;
    my ($guid, $age) = $key{$name} =~ /^(.{32})(.*)$/;
    return sprintf 'v%s/%s/%s/%u', $version // '9.0.0', $name, $guid, hex $age;
}

sub sha256 { Digest::SHA::sha256_hex($_[1]) }

# --- end

# Text in a log that is expected in this test and is not to fail it.
sub allow_log { push @{ $_[0]{allow} }, $_[1] }

sub left_children {
    open my $fh, '<', "/proc/$$/task/$$/children" or return;
    return split ' ', <$fh> // '';
}

sub check_logs {
    my ($self) = @_;
    my $re = qr/\[(?:alert|emerg)\]|exited on signal|open socket #|Sanitizer|runtime error:|\bpanic\b/;
    for my $log (qw(error.log nginx.out symcached.log symbolicated.log)) {
        for my $line (split /\n/, $self->read_file($log) // '') {
            next unless $line =~ $re;
            next if grep { $line =~ $_ } @{ $self->{allow} };
            $self->problem("$log: $line");
        }
    }
    for my $f (glob $self->path('sanitizer*')) {
        my $text = $self->read_file($f);
        # a worker that is killed while it looks for leaks at its end, and a child
        # of a process with threads, which it does not have
        next if $text =~ /\A(?:==\d+==(?:Unable to get registers from thread \d+\.|Running thread \d+ was not suspended\. False leaks are possible\.)\n?)*\z/;
        $self->problem("$f: " . substr $text, 0, 4000);
    }
}

# What must be gone when a store's helper has stopped.
sub check_left_files {
    my ($self) = @_;
    File::Find::find({ no_chdir => 1, wanted => sub {
        return unless m{/\.tmp/.} || m{\.part$};
        $self->problem("left behind: $File::Find::name");
    } }, $self->dir);
    for my $s (leaves_sockets() ? () : $self->nginx_socket, $self->helper_socket,
               $self->symbolicated_socket) {
        $self->problem("left socket: $s") if -S $s;
    }
}

sub parent {
    my ($pid) = @_;
    open my $fh, '<', "/proc/$pid/stat" or return 0;
    return (<$fh> // '') =~ /^.*\) \S (\d+)/s ? $1 : 0;
}

# Processes that this folder was given to, and whose parents are gone.
sub orphans {
    my ($self) = @_;
    my @found;
    for my $file (glob '/proc/[0-9]*/cmdline') {
        open my $fh, '<', $file or next;
        my $line = join ' ', split /\0/, do { local $/; <$fh> } // '';
        next if index($line, $self->dir) < 0;
        my ($pid) = $file =~ /(\d+)/;
        my $top = $pid;
        $top = parent($top) while $top > 1 && $top != $$;
        push @found, "$pid: $line" if $top != $$;
    }
    return @found;
}

sub check_left_processes {
    my ($self) = @_;
    my $end = time + 30; # what has lost its parent may need a moment to notice
    my @left;
    sleep 0.1 while (@left = $self->orphans) && time < $end;
    $self->problem("left running: $_") for @left;
}

sub finish {
    my ($self) = @_;
    $self->stop_nginx;
    $self->stop_symbolicated;
    $self->stop_symcached;
    $self->check_logs;
    $self->check_left_processes;
    $self->check_left_files;
    if (!$ENV{SYMCACHE_KEEP}) {
        remove_tree($self->dir, { error => \my $left });
        $self->problem(join ': ', %$_) for @$left;
    }
    my $ok = Test::More::ok(!@{ $self->{problems} // [] }, 'clean teardown');
    Test::More::diag($_) for @{ $self->{problems} // [] };
    $self->{finished} = 1;
    return $ok;
}

sub DESTROY {
    my ($self) = @_;
    return unless $self->{owner} == $$;
    local ($?, $!, $@);
    for my $pid (grep { $_ } @$self{qw(nginx helper symbolicated)}) {
        kill 'TERM', $pid;
        sleep 0.2 if alive($pid);
        kill 'KILL', $pid if alive($pid);
        waitpid $pid, 0;
    }
    return if $self->{finished};
    if ($ENV{SYMCACHE_KEEP}) {
        print STDERR '# kept: ', $self->dir, "\n";
    } else {
        remove_tree($self->dir);
    }
}

1;
