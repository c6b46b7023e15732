package Test::Ctl;

# Runs symcachectl against the helper of a Test::Symcache, which has a real
# nginx as its symbol server.
#
#   my $t = Test::Symcache->new;
#   my $ctl = Test::Ctl->new($t);
#   $ctl->start_all;                     # crash.pdb is there, plain
#   my $r = $ctl->run('why', 'crash.pdb', $guid, 1);
#   # { code, out, err, progress }

use strict;
use warnings;

use JSON::PP ();
use Test::More ();
use Test::Symcache;

sub new {
    my ($class, $t) = @_;
    return bless { t => $t }, $class;
}

# The symbol server, and a helper with one store and the built-in converter.
sub start_all {
    my ($self, %o) = @_;
    my $t = $self->{t};
    my $port = Test::Symcache::free_port();
    my $nginx = $o{nginx} // '';
    $t->symbol_store('sym');
    $t->start_nginx('', load => 0, http => <<"CONF",
        access_log %%DIR%%/up.log symcache;
        server { listen 127.0.0.1:$port; root %%DIR%%/sym; $nginx }
CONF
        address => "127.0.0.1:$port");
    $t->start_symcached($t->default_config("http://127.0.0.1:$port", %o));
    $self->{url} = "http://127.0.0.1:$port";
}

# The options that name the helper.
sub socket { ('--socket', 'unix:' . $_[0]{t}->helper_socket) }

# Starts it with the text as standard input; end() waits for it.
sub begin {
    my ($self, $stdin, @args) = @_;
    my $t = $self->{t};
    my $n = ++$self->{n};
    $t->write_file("ctl.$n.in", $stdin // '');
    my %env = $t->sanitizer_env(0);
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        open STDIN, '<', $t->path("ctl.$n.in") or die;
        open STDOUT, '>', $t->path("ctl.$n.out") or die;
        open STDOUT, '>&', $self->{out} or die if $self->{out};
        open STDERR, '>', $t->path("ctl.$n.err") or die;
        $ENV{$_} = $env{$_} for keys %env;
        exec @{ $self->{wrapper} // [] }, $t->program('symcachectl'), @args
            or POSIX::_exit(127);
    }
    return { pid => $pid, n => $n };
}

sub end {
    my ($self, $run) = @_;
    waitpid $run->{pid}, 0;
    my $status = $?;
    my %r = (code => $status & 127 ? 'signal ' . ($status & 127)
                                   : $status >> 8);
    for my $what (qw(out err)) {
        $r{$what} = $self->{t}->read_file("ctl.$run->{n}.$what");
    }

    # what a slow run tells of itself, on a busy machine any
    my @progress = $r{err} =~ /^(\S+ warm: \d+ of \d+ known: .*\n)/mg;
    $r{err} =~ s/\Q$_\E// for @progress;
    $r{progress} = join '', @progress;
    return \%r;
}

sub run_with {
    my ($self, $stdin, @args) = @_;
    return $self->end($self->begin($stdin, @args));
}

sub run {
    my ($self, @args) = @_;
    return $self->run_with('', @args);
}

# One object a line
sub json {
    my ($self, $r) = @_;
    return map { JSON::PP::decode_json($_) } split /\n/, $r->{out};
}

# Tests exit code, output and errors; undef: nothing there.
sub is {
    my ($self, $r, $code, $out, $err, $what) = @_;
    my $bad = 0;
    Test::More::is($r->{code}, $code, "$what: exit code") or $bad = 1;
    for ([out => $out], [err => $err]) {
        my ($name, $re) = @$_;
        $re //= qr/\A\z/;
        Test::More::like($r->{$name}, $re, "$what: $name") or $bad = 1;
    }
    Test::More::diag(Test::More::explain($r)) if $bad;
}

# What it says on a terminal: with its standard error there, all in one.
sub on_terminal {
    my ($self, @args) = @_;
    my %env = $self->{t}->sanitizer_env(0);
    my $command = join ' ', (map { "$_='$env{$_}'" } sort keys %env),
        map { "'$_'" } $self->{t}->program('symcachectl'), @args;
    $command =~ s/"/\\"/g;
    return qx(script -qec "$command" /dev/null </dev/null);
}

sub has_script { system('script --version >/dev/null 2>&1') == 0 }

1;
