package Test::Soak::Sender;

# A build machine of a campaign: a process that uploads, replaces and removes
# files of keys that are its own, at one machine of the fleet or the other,
# until the file "stop" is there, and notes each request as a line:
#
#   began ended store name id version fate untold
#
# version: what is there from then on, or "none".  fate: "done", "refused"
# (nothing has changed), "unsure_" and a status (nobody knows), or what is wrong.  untold: the
# store of the machine that was not told, or "-".

use strict;
use warnings;

use JSON::PP ();
use POSIX ();
use Test::Symcache;
use Time::HiRes qw(sleep time);

our @fields = qw(began ended store name id version fate untold);
my %other = (sent => 'peer', peer => 'sent');

# %o: world (Test::Soak), seed, file (for its notes), keys
sub start {
    my ($class, %o) = @_;
    my $pid = fork() // die "fork: $!";
    return $pid if $pid;
    my $self = $class->new(%o);
    $SIG{$_} = 'DEFAULT' for qw(TERM INT);
    srand $o{seed};
    eval {
        until ($o{world}->is_over) {
            $self->one;
            sleep rand 0.3;
        }
        1;
    } or print STDERR "# sender: $@";
    POSIX::_exit(0);
}

sub new {
    my ($class, %o) = @_;
    my $self = bless {%o}, $class;
    open $self->{notes}, '>>', $o{file} or die "$o{file}: $!";
    return $self;
}

sub one {
    my ($self) = @_;
    my $key = $self->{keys}[rand @{ $self->{keys} }];
    my $store = (sort keys %other)[rand 2];
    return $self->remove($store, $key) if rand() < 0.2;
    $self->put($store, $key, int rand $key->{versions}, rand() < 0.8);
}

# Until the machine has that version, and has said so.
sub put_surely {
    my ($self, $store, $key, $version, $seconds) = @_;
    my $end = time + $seconds;
    while (time < $end) {
        return 1 if $self->put($store, $key, $version, 1) eq 'done';
        sleep 0.2;
    }
    return 0;
}

sub path { "$_[0]{lower}/$_[0]{id}/$_[0]{lower}" }

# Through nginx, as a build machine does; by force, or if nothing else is there.
sub put {
    my ($self, $store, $key, $version, $force) = @_;
    my $t = $self->{world}->tier($store);
    my $began = time;
    my $r = $self->request($t->nginx_socket, 'PUT', '/put/' . path($key)
        . ($force ? '?force=1' : ''),
        $self->{world}->corpus->pdb($key, $version));
    my $fate = $r->{status} =~ /^20[01]$/ ? 'done'
        : $r->{status} == 409 && !$force ? 'refused'
        : fate_of_failure($r);
    return $self->note($began, $store, $key, $version, $fate, $r);
}

# Of a file that is not there an operator is told so.
sub remove {
    my ($self, $store, $key) = @_;
    my $t = $self->{world}->tier($store);
    my $began = time;
    my $r = $self->request($t->helper_socket, 'POST',
        '/v1/discard/' . path($key), '');
    my $fate = $r->{status} == 200 ? 'done'
        : $r->{status} == 404 ? 'refused' : fate_of_failure($r);
    return $self->note($began, $store, $key, 'none', $fate, $r);
}

# What was taken in part is not known, but that a tier was not even asked.
sub fate_of_failure {
    my ($r) = @_;
    return $r->{status} !~ /^(?:0|50[02347])$/ ? "status_$r->{status}"
        : $r->{body} =~ /it is left alone/ ? 'refused' : "unsure_$r->{status}";
}

sub request {
    my ($self, $address, $method, $uri, $body) = @_;
    my $r = eval {
        local $SIG{PIPE} = 'IGNORE';
        my $s = Test::Symcache::connect_to($address) or die "no connection\n";
        print $s Test::Symcache::request_text($method, $uri,
            'Content-Length: ' . length $body), $body;
        $s->flush;
        $self->{world}->t->read_response($s, $method);
    };
    return $r if $r && $r->{complete};
    return { status => $@ =~ /^timed out/ ? 'timed_out' : 0, body => '' };
}

sub note {
    my ($self, $began, $store, $key, $version, $fate, $r) = @_;
    my $json = eval { JSON::PP::decode_json($r->{body}) };
    my $untold = ref $json eq 'HASH' && $json->{untold} ? $other{$store} : '-';
    syswrite $self->{notes}, sprintf "%.4f %.4f %s %s %s %s %s %s\n", $began,
        time, $store, @$key{qw(lower id)}, $version, $fate, $untold;
    return $fate;
}

1;
