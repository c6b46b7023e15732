package Test::Browser;

# A headless Chromium, driven over pipes by the Chrome DevTools Protocol
# (https://chromedevtools.github.io/devtools-protocol/): messages are JSON with
# a null byte behind each.
#
#   my $browser = Test::Browser->start($t->path('profile'));
#   $browser->visit($url);
#   is $browser->value('document.title'), 'Title';
#   is_deeply [$browser->complaints], [];
#   $browser->stop;

use strict;
use warnings;

use Fcntl qw(F_DUPFD);
use File::Path qw(make_path remove_tree);
use IO::Select;
use JSON::PP qw(decode_json encode_json);
use MIME::Base64 qw(decode_base64);
use POSIX ();
use Test::Symcache ();
use Time::HiRes qw(time);

sub program {
    return (grep { -x } map { "$_/chromium" } split /:/, $ENV{PATH})[0];
}

# Chromium with all of its files in a folder, which goes with it.
sub start {
    my ($class, $folder) = @_;
    make_path($folder);
    pipe my $its_in, my $out or die "pipe: $!";
    pipe my $in, my $its_out or die "pipe: $!";
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        POSIX::setpgid(0, 0);
        open STDIN,  '<', '/dev/null';
        open STDOUT, '>', "$folder/stdout";
        open STDERR, '>', "$folder/stderr";
        # it reads from descriptor 3, and writes to 4
        my @fd = map { fcntl($_, F_DUPFD, 10) } $its_in, $its_out;
        POSIX::dup2($fd[$_], 3 + $_) for 0, 1;
        POSIX::close($_) for @fd;
        $ENV{HOME} = $folder;
        exec program(), qw(--headless --no-sandbox --disable-gpu
            --disable-quic --no-first-run --disable-background-networking
            --disable-component-update --disable-sync --disable-dev-shm-usage
            --hide-scrollbars --remote-debugging-pipe),
            '--window-size=1200,900', "--user-data-dir=$folder"
            or POSIX::_exit(127);
    }
    $out->autoflush;
    return bless {
        pid => $pid, folder => $folder, in => $in, out => $out, id => 0,
        buffer => '', complaints => [],
    }, $class;
}

# The result of a method of the protocol.
sub call {
    my ($self, $method, %params) = @_;
    my $id = ++$self->{id};
    local $SIG{PIPE} = 'IGNORE';
    print { $self->{out} } encode_json({ id => $id, method => $method,
        params => \%params,
        $self->{session} ? (sessionId => $self->{session}) : () }), "\0";
    while (1) {
        my $message = $self->message;
        $self->event($message) if $message->{method};
        next unless ($message->{id} // 0) == $id;
        die "$method: $message->{error}{message}\n" if $message->{error};
        return $message->{result};
    }
}

sub message {
    my ($self) = @_;
    my $end = time + $Test::Symcache::patience;
    my $len;
    while (($len = index $self->{buffer}, "\0") < 0) {
        my $left = $end - time;
        die "the browser is silent\n"
            unless $left > 0 && IO::Select->new($self->{in})->can_read($left);
        sysread $self->{in}, $self->{buffer}, 65536, length $self->{buffer}
            or die "the browser has ended\n";
    }
    my $message = substr $self->{buffer}, 0, $len + 1, '';
    return decode_json(substr $message, 0, $len);
}

# What a reader of the console would see: errors, and what a policy forbids.
sub event {
    my ($self, $event) = @_;
    my ($method, $p) = @$event{qw(method params)};
    push @{ $self->{complaints} },
          $method eq 'Log.entryAdded' ? $p->{entry}{text}
        : $method eq 'Runtime.exceptionThrown'
            ? $p->{exceptionDetails}{exception}{description}
              // $p->{exceptionDetails}{text}
        : $method eq 'Runtime.consoleAPICalled'
            ? join(' ', map { $_->{value} // '' } @{ $p->{args} })
        : ();
}

sub complaints { @{ $_[0]{complaints} } }

# A page in a tab of its own; its script, if it may run, may still do so.
sub visit {
    my ($self, $url, %o) = @_;
    delete $self->{session};
    $self->{complaints} = [];
    my $tab = $self->call('Target.createTarget', url => 'about:blank');
    my $target = $self->call('Target.attachToTarget',
        targetId => $tab->{targetId}, flatten => JSON::PP::true());
    $self->{session} = $target->{sessionId};
    $self->call("$_.enable") for qw(Page Runtime Log);
    $self->call('Emulation.setScriptExecutionDisabled',
                value => JSON::PP::true()) if $o{no_script};
    $self->call('Page.navigate', url => $url);
}

# Of an expression in JavaScript; a promise is waited for.
sub value {
    my ($self, $expression) = @_;
    my $r = $self->call('Runtime.evaluate', expression => $expression,
        returnByValue => JSON::PP::true(), awaitPromise => JSON::PP::true());
    die "$expression: $r->{exceptionDetails}{exception}{description}\n"
        if $r->{exceptionDetails};
    return $r->{result}{value};
}

# Text content of the elements that a selector finds.
sub texts {
    my ($self, $selector) = @_;
    my $quoted = JSON::PP->new->allow_nonref->encode($selector);
    return @{ $self->value(
        "[...document.querySelectorAll($quoted)].map(e => e.textContent)") };
}

# PNG of the whole page, or of a part of it (x, y, width, height, scale).
sub picture {
    my ($self, %part) = @_;
    my $r = $self->call('Page.captureScreenshot', format => 'png',
        captureBeyondViewport => JSON::PP::true(),
        %part ? (clip => \%part) : ());
    return decode_base64($r->{data});
}

# Returns the status that it ended with, and removes its folder.
sub stop {
    my ($self) = @_;
    my $pid = delete $self->{pid} or return;
    delete $self->{session};
    eval { $self->call('Browser.close') };
    my $end = time + $Test::Symcache::patience;
    Time::HiRes::sleep(0.05)
        while waitpid($pid, POSIX::WNOHANG()) == 0 && time < $end;
    my $status = time < $end ? $? : -1;
    kill 'KILL', -$pid;
    waitpid $pid, 0;
    remove_tree($self->{folder});
    return $status;
}

sub DESTROY { local ($@, $?); $_[0]->stop }

1;
