package Test::Soak::Client;

# A client of a campaign: a process that asks nginx for one key after the
# other until the file "stop" is there, and notes each answer as a line:
#
#   began ended store name id how status flags trouble version hint
#
# flags: "again" (Retry-After), "cut" (not whole), or "-".  trouble is what is
# wrong with the answer as such, or "-"; version is which one came, of a file
# that has several, or "-"; hint is whether the client said the file's build
# id: "right", "wrong" or "-".

use strict;
use warnings;

use Compress::Zlib ();
use Digest::SHA qw(sha256 sha256_hex);
use List::Util qw(min sum);
use MIME::Base64 qw(encode_base64);
use POSIX ();
use Test::Soak::Guests;
use Test::Symcache;
use Time::HiRes qw(sleep time);

my %version = (opaque => '3.1.0');
our @fields = qw(began ended store name id how status flags trouble version
    hint);

# %o: world (Test::Soak), seed (of this client), file (for its notes)
sub start {
    my ($class, %o) = @_;
    my $pid = fork() // die "fork: $!";
    return $pid if $pid;
    my $self = bless {%o}, $class;
    $SIG{$_} = 'DEFAULT' for qw(TERM INT);
    srand $o{seed};
    eval { $self->run; 1 } or print STDERR "# client: $@";
    POSIX::_exit(0);
}

sub run {
    my ($self) = @_;
    open $self->{notes}, '>>', $self->{file} or die "$self->{file}: $!";
    $self->one until $self->{world}->is_over;
}

# --- what is asked for

# { store, name, id, key (undef: there is none) }
sub target {
    my ($self) = @_;
    my $world = $self->{world};
    my @stores = $world->stores;
    my $kind = rand 100;
    my $key = ($world->corpus->keys)[rand scalar $world->corpus->keys];
    my ($name, $id) = @$key{qw(name id)};
    my $store = $kind >= 85 ? $stores[rand @stores]
        : $key->{store} eq 'web' && rand() < 0.5 ? 'near' : $key->{store};
    if ($kind >= 94) {    # a build that there is not, of a few
        $id = uc(substr sha256_hex('none' . int rand 30), 0, 32) . '1';
        $name = 'none' . int(rand 10) . '.pdb' if rand() < 0.5;
    }
    my $spell = rand 100;
    $name = $spell < 70 ? lc $name : $spell < 95 ? $name : uc $name;
    my $hint = rand 100;
    return { store => $store, name => $name, id => $id,
             hint => $hint < 80 ? 'right' : $hint < 90 ? 'wrong' : '-',
             key => $world->holds($store, $name, $id) };
}

# What a client says of a file that has a build id.
sub build_id_header {
    my ($self, $target) = @_;
    my $key = ($target->{key} // {})->{build_id} && $target->{key} or return;
    my $hint = $target->{hint} // 'right';
    return if $hint eq '-';
    $key = $self->{world}->corpus->other($key) if $hint eq 'wrong';
    return "X-Symcache-Code-Id: buildid-$key->{build_id}";
}

# The version of the request; %version has the files'.
sub uri {
    my ($self, $how, $target) = @_;
    my $key = $target->{key};
    return "/symbols/$target->{store}/buildid/$key->{build_id}/debuginfo"
        if $how eq 'symbols' && $key && $key->{build_id};
    return "/symbols/$target->{store}/$target->{name}/"
        . (rand() < 0.2 ? lc $target->{id} : $target->{id})
        . "/$target->{name}" if $how eq 'symbols';
    my ($guid, $age) = $target->{id} =~ /^(.{32})(.+)$/;
    if (rand() < 0.2) {
        $guid = lc $guid;
        $guid =~ s/^(.{8})(.{4})(.{4})(.{4})/$1-$2-$3-$4-/;
    }
    return sprintf '/%s/%s/v%s/%s/%s/%u', $how eq 'poll' ? 'poll' : 'hold',
        $target->{store}, $how eq 'exceeds' ? '10.0.0' : version($target),
        $target->{name}, $guid, hex $age;
}

sub version { $version{ $_[0]{store} } // '9.0.0' }

# One visit, of one of the kinds that clients are of.
my @kinds = ([38, 'hold'], [32, 'poll'], [10, 'abort'], [4, 'head'],
             [4, 'gzip'], [4, 'range'], [4, 'etag'], [3, 'exceeds'],
             [4, 'kept'], [12, 'symbols'], [10, 'names'], [10, 'guest']);
my $kinds = sum map { $_->[0] } @kinds;

sub one {
    my ($self) = @_;
    my $target = $self->target;
    my $at = rand $kinds;
    my ($kind) = map { $_->[1] } grep { ($at -= $_->[0]) < 0 } @kinds;
    my $do = $self->can("do_$kind");
    return $do->($self, $target) if $do;
    my @headers = $kind eq 'gzip' ? 'Accept-Encoding: gzip'
        : $kind eq 'range' ? 'Range: bytes=100-399'
        : $kind eq 'exceeds' ? 'If-Version-Exceeds: ' . version($target)
        : ();
    push @headers, 'Want-Repr-Digest: sha-256=10' if rand() < 0.3;
    push @headers, hints()
        if !($target->{key} // {})->{build_id} && rand() < 0.2;
    $self->ask($kind, $target, @headers);
}

# They are wrong, so they may lead to no file, and must harm nobody else.
sub hints {
    return map { sprintf $_, int rand 3 } (
        ['SymbolChecksum: SHA256:%064x'], ['X-Symcache-Code-Id: buildid-%040x'],
        ['SymbolChecksum: SHA256:%064x', 'X-Symcache-Code-Id: 5DDC1E9%xc000'],
    )[rand 3]->@*;
}

sub do_poll {
    my ($self, $target) = @_;
    for (1 .. 6) {
        my $r = $self->ask('poll', $target, 'Allow-Retry-After: true');
        my $again = header($r, 'Retry-After') or last;
        sleep 0.02 + rand min 1, $again;
    }
}

sub do_etag {
    my ($self, $target) = @_;
    my $tag = header($self->ask('hold', $target), 'ETag');
    $self->ask('etag', $target, "If-None-Match: $tag") if $tag;
}

# Several requests over one connection.
sub do_kept {
    my ($self, $target) = @_;
    my $s = $self->connection($target) or return;
    for (1 .. 3) {
        my $r = $self->ask_over($s, 'kept', $target,
                                'Connection: keep-alive');
        last if !$r->{complete};
        my $tier = $self->{world}->tier($target->{store});
        do { $target = $self->target }
            while $self->{world}->tier($target->{store}) != $tier;
    }
}

sub do_abort {
    my ($self, $target) = @_;
    my $s = $self->connection($target) or return;
    syswrite $s, Test::Symcache::request_text('GET',
        $self->uri('hold', $target));
    sleep rand 0.3;
    close $s;
}

# An original file, where the store can have one.
sub do_symbols {
    my ($self, $target) = @_;
    return $self->do_poll($target)
        if !$self->{world}->has_originals($target->{store});
    $self->visit('symbols', $target, rand() < 0.2 ? hints() : ());
}

sub do_names {
    my ($self, $target) = @_;
    my ($store) = grep {
        $self->{world}->holds($_, @$target{qw(name id)})
    } qw(sent web);
    $store //= 'web';
    $self->visit('names', { %$target, store => $store,
        key => $self->{world}->holds($store, @$target{qw(name id)}) });
}

# Somebody tells sometimes that a file is there now.
sub do_guest {
    my ($self) = @_;
    my @targets = Test::Soak::Guests::targets($self->{world});
    my $target = $targets[rand @targets];
    Test::Soak::Guests::forget($self->{world}, $target) if rand() < 0.2;
    $self->ask_guest($target);
}

sub visit {
    my ($self, $how, $target, @headers) = @_;
    return $how eq 'names' ? $self->ask_names($target)
        : $how eq 'guest' ? $self->ask_guest($target)
        : $self->ask($how, $target, @headers);
}

# --- one answer

# To nginx of the tier that has the store.
sub connection {
    my ($self, $target) = @_;
    my $tier = $self->{world}->tier($target->{store});
    return Test::Symcache::connect_to($tier->nginx_socket);
}

sub ask {
    my ($self, $how, $target, @headers) = @_;
    return $self->ask_over($self->connection($target), $how, $target, @headers);
}

sub ask_over {
    my ($self, $s, $how, $target, @headers) = @_;
    my $t = $self->{world}->t;
    my $method = $how eq 'head' ? 'HEAD' : 'GET';
    my $began = time;
    my $r = eval {
        local $SIG{PIPE} = 'IGNORE';
        $s or die "no connection\n";
        syswrite $s, Test::Symcache::request_text($method,
            $self->uri($how, $target), $self->build_id_header($target),
            @headers);
        $t->read_response($s, $method);
    };
    my ($late) = $@ =~ /^(timed out|no connection)/;
    $r //= { status => 0, headers => {}, body => '' };
    $self->note($began, $target, $how, $r, $late
                ? $late =~ s/ /_/r : $self->trouble($how, $target, $r));
    return $r;
}

# Whose functions symbolicated finds: 404 stands for a module that it says is
# nowhere.
sub ask_names {
    my ($self, $target) = @_;
    my ($began, $world) = (time, $self->{world});
    my $r = eval {
        $world->t->post($world->t->symbolicated_socket, '/symbolicate/v5',
            Test::Soak::Names::question(@$target{qw(name id)}));
    };
    my ($late) = $@ =~ /^(timed out)/;
    $r //= { status => 0, headers => {}, body => '' };
    my ($trouble, @version) = ('-');
    if ($r->{status} == 200 && $r->{complete}) {
        my $whose = $world->{names}->judge($r->{body});
        if (!defined $whose) {
            $trouble = 'wrong_names';
        } elsif ($whose eq 'missing') {
            $r->{status} = 404;
        } else {
            ($trouble, @version) = compare($target, sub {
                $whose == Test::Soak::Corpus::template_of($target->{key}, $_[0])
                    ? '-' : 'wrong_template' });
        }
    } elsif ($r->{status} !~ /^(?:0|200|503)$/) {
        $trouble = "status_$r->{status}";
    }
    $self->note($began, $target, 'names', $r,
                $late ? 'timed_out' : $trouble, @version);
    return $r;
}

sub ask_guest {
    my ($self, $target) = @_;
    my $began = time;
    my ($r, $trouble) = eval {
        Test::Soak::Guests::ask($self->{world}, $target) };
    $trouble = 'timed_out' if $@ =~ /^timed out/;
    $r //= { status => 0, headers => {}, body => '' };
    $self->note($began, $target, 'guest', $r, $trouble // '-');
    return $r;
}

sub header { scalar Test::Symcache::header(@_) }

# Is the answer whole?  Those without a body are, with their header.
sub whole {
    my ($r) = @_;
    return $r->{complete} || $r->{status} == 0;
}

# What is wrong, and of what came which version.
sub trouble {
    my ($self, $how, $target, $r) = @_;
    my $status = $r->{status};
    return '-' if $status == 0;
    my $again = header($r, 'Retry-After');
    return $again ? '-' : 'no_Retry-After' if $status == 503;
    return '-' if $status == 404;
    return "status_$status" if $status != 200 && $status != 206
        && !($status == 304 && $how =~ /^(?:etag|exceeds)$/);
    # nobody has a newer one, whether or not there is one at all
    return '-' if $how eq 'exceeds' && $status == 304;
    return $self->original($target, $r) if $how eq 'symbols';
    return 'from_nowhere' if !$target->{key};
    return '-' if $status == 304;
    return 'not_newer' if $how eq 'exceeds';
    my $key = $target->{key};
    return 'no_version'
        if (header($r, 'Content-Type') // '') !~ /; version=\d+\.\d+\.\d+$/;
    my ($trouble, @version) = compare($target, sub { content($how,
        $key->{versions} ? $key->{expected}[$_[0]] : $key->{expected}, $r) });
    # a part may be the same in several
    return ($trouble, $r->{complete} && $r->{status} == 200 ? @version : ());
}

# What a check finds, and of a file with several versions the one that it likes.
sub compare {
    my ($target, $check) = @_;
    my $key = $target->{key} or return 'from_nowhere';
    return $check->(0) if !$key->{versions};
    my @found = map { $check->($_) } 0 .. $key->{versions} - 1;
    my ($version) = grep { $found[$_] eq '-' } 0 .. $#found;
    return defined $version ? ('-', $version) : $found[0];
}

# One that no converter takes is an original all the same, whoever has sent it.
sub original {
    my ($self, $target, $r) = @_;
    my $corpus = $self->{world}->corpus;
    my $key = $target->{key};
    my @found = compare($target, sub {
        content('symbols', $corpus->pdb($key, $_[0]), $r) });
    return $found[0] if $key && $key->{build_id};
    my $lies = $target->{store} eq 'behind' || $target->{store} eq 'ahead';
    $key = $corpus->find(@$target{qw(name id)}) if $lies;
    return $found[0] eq '-' || !$key || !$lies && !$key->{doubted} ? @found
        : content('symbols', $corpus->damaged($key), $r);
}

# Compares what came with what has to; of what is cut, what is there.
sub content {
    my ($how, $full, $r) = @_;
    my $expected = $full;
    my $body = $r->{body};
    if ($r->{status} == 206) {
        return 'range_unasked' if $how ne 'range';
        $expected = substr $full, 100, 300;
    }
    my $digest = header($r, 'Repr-Digest');
    return 'wrong_digest' if $digest && $digest ne 'sha-256=:'
        . encode_base64(sha256($full), '') . ':';
    my $length = header($r, 'Content-Length');
    if ((header($r, 'Content-Encoding') // '') eq 'gzip') {
        return 'gzip_unasked' if $how ne 'gzip';
        return '-' if !$r->{complete};
        $body = Compress::Zlib::memGunzip($body) // '';
    } elsif (($length // -1) != length $expected) {
        return 'wrong_length';
    }
    return '-' if $how eq 'head';
    return $body eq $expected ? '-' : 'wrong_bytes' if $r->{complete};
    return $body eq substr($expected, 0, length $body) ? '-' : 'wrong_bytes';
}

# A path with a build id says it as well.
sub said_hint {
    my ($how, $target) = @_;
    return !($target->{key} // {})->{build_id} ? '-'
        : $how eq 'symbols' ? 'right' : $target->{hint} // 'right';
}

sub note {
    my ($self, $began, $target, $how, $r, $trouble, $version) = @_;
    my $flags = header($r, 'Retry-After') ? 'again'
        : whole($r) ? '-' : 'cut';
    my $line = join(' ', (map { sprintf '%.4f', $_ } $began, time),
        @$target{qw(store name id)}, $how, $r->{status}, $flags, $trouble,
        $version // '-', said_hint($how, $target)) . "\n";
    syswrite $self->{notes}, $line;
    return if $trouble !~ /^wrong/;
    my $file = $self->{world}->path("wrong.$$." . ++$self->{wrong});
    $self->{world}->t->write_file($file, "$line$r->{raw}");
}

1;
