package Test::Soak::Upstream;

# The symbol servers and SymCache servers of a campaign: one real server with
# a host name for each.  What it answers is chosen by the seed, the path and
# how often that was asked for; while the file "calm" exists, it answers
# rightly.  Each answer is noted before it is sent:
#
#   time host path verdict kind
#
# verdict: "absent" (the file is not there, told so that it is to be
# believed), "damaged" (whole, and beyond conversion), "file", or "unsure".

use strict;
use warnings;

use Compress::Zlib ();
use Digest::SHA qw(sha256);
use Test::Cabinet;
use Test::ScriptedServer;
use Time::HiRes qw(sleep time);

our $html = "<!DOCTYPE html>\n<html><body>Please sign in</body></html>\n";
our $type = 'application/vnd.ms-symcache';

# Which hosts have an index2.txt and are compared with regard to case, and
# which have files under build ids only.
our %host = (
    web => {}, honest => { honest => 1 }, liar => { liar => 1 },
    tiers => { index2 => 1, cased => 1 }, far => { symcache => '9.0.0' },
    opaque => { symcache => '3.1.0' }, builds => { debuginfod => 1 },
    public => { guests => 1 }, private => { guests => 1 },
);

# %o: corpus, dir (for what is noted), seed
sub new {
    my ($class, $t, %o) = @_;
    my $self = bless { t => $t, %o, calm => "$o{dir}/calm" }, $class;
    mkdir "$o{dir}/count";
    $self->{server} = Test::ScriptedServer->new(unrecorded => 1, index2 => 1,
        log => "$o{dir}/requests", script => sub { $self->answer(@_) });
    return $self;
}

sub port { $_[0]{server}->port }
sub stop { $_[0]{server}->stop }
sub journal { "$_[0]{dir}/answers" }

# --- in the connection's process

sub calm { -e $_[0]{calm} }

# The nth request for a path.
sub nth {
    my ($self, $path) = @_;
    (my $name = $path) =~ s/[^A-Za-z0-9._-]/+/g;
    open my $fh, '>>', "$self->{dir}/count/$name" or die "$name: $!";
    syswrite $fh, '.';
    my $n = -s $fh;
    close $fh;
    return $n;
}

sub note {
    my ($self, $q, $verdict, $kind, $path) = @_;
    open my $fh, '>>', $self->journal or die $self->journal, ": $!";
    syswrite $fh, sprintf "%.4f %s %s %s %s\n", time, $q->{host},
        $path // $q->{path}, $verdict, $kind;
    close $fh;
}

# Waits, but not for longer than there are faults.
sub linger {
    my ($self, $c, $seconds) = @_;
    my $end = time + $seconds;
    while (time < $end && !$self->calm) {
        return if $c->wait_for_peer(0.05);
    }
}

# What is at a path: { key, body } or undef; pointers lead to /at/.
sub truth {
    my ($self, $host, $path) = @_;
    my $h = $host{$host};
    if ($h->{guests}) {
        my ($scope, $name, $id) =
            $path =~ m{^(?:/token(\d+))?/sym/([^/]+)/([^/]+)/\2$} or return;
        my $key = $self->{corpus}->guest_file($name, $id, $scope // 0);
        return if !$key || $key->{home} ne $host;
        return { key => $key, body => $self->{corpus}->pdb($key) };
    }
    if ($h->{debuginfod}) {
        my ($id) = $path =~ m{^/buildid/([0-9a-f]+)/debuginfo$} or return;
        my $key = $self->{corpus}->find_build_id($id) or return;
        return { key => $key, body => $self->{corpus}->body($key) };
    }
    if ($h->{symcache}) {
        my ($name, $guid, $age) =
            $path =~ m{^/v[\d.]+/([^/]+)/([^/]+)/(\d+)$} or return;
        my $key = $self->{corpus}->find($name, sprintf '%s%X', $guid, $age)
            or return;
        return if $key->{home} ne $host;
        return { key => $key, body => $key->{expected} };
    }
    if ($path =~ m{^/at/([^/]+)/([0-9A-F]+)$}) {
        my $key = $self->{corpus}->find($1, $2) or return;
        return { key => $key, body => $self->{corpus}->pdb($key) };
    }
    $path =~ s{^/sym/..(?=/[^/]+/[^/]+/)}{/sym} or return if $h->{index2};
    my ($name, $id, $file) = $path =~ m{^/sym/([^/]+)/([^/]+)/([^/]+)$}
        or return;
    return if $h->{cased} && ($name ne lc $name || $id ne uc $id);
    my $key = $self->{corpus}->find($name, $id) or return;
    # the PDB of another build, in whatever form it is asked for
    return { key => $key,
             body => $self->{corpus}->pdb($self->{corpus}->other($key)) }
        if $h->{liar};
    return if $key->{home} ne $host || lc $file ne file_name($key);
    return { key => $key, body => $key->{form} eq 'pointer'
        ? "PATH:http://$self->{authority}/at/$key->{lower}/$key->{id}"
        : $self->{corpus}->body($key) };
}

sub file_name {
    my ($key) = @_;
    return $key->{form} eq 'pointer' ? 'file.ptr'
        : $key->{form} eq 'packed' ? $key->{lower} =~ s/.$/_/r
        : $key->{lower};
}

sub answer {
    my ($self, $c, $req) = @_;
    $self->{authority} = $req->{headers}{host} // '';
    my ($host) = $self->{authority} =~ /^(\w+)\.localhost:/;
    return $c->reply(400, {}, '') if !$host || !$host{$host};
    my $q = { host => $host, path => $req->{path}, req => $req };

    # a redirect leads there, which was noted
    return $c->reply(404, {}, '') if $q->{path} =~ m{^/gone/};
    return $c->reply(200, { 'Content-Type' => 'text/html' }, $html)
        if $q->{path} eq '/signin';
    my $moved = $q->{path} =~ s{^/moved/}{/};
    if ($host eq 'private') {
        my $token = $req->{headers}{'x-token'};
        return $c->reply(403, {}, '') if !defined $token;
        $q->{path} =~ s{^(?:/token\d+)?}{/token$token};
    }

    $q->{n} = $self->nth("$host$q->{path}");
    $q->{truth} = $self->truth($host, $q->{path});
    if ($q->{path} =~ m{^/sym/index2\.txt$}) {
        $q->{index2} = 1;
        $q->{truth} = { body => '' } if $host{$host}{index2};
    }
    my $fault = $moved ? 'right' : $self->choose($q);
    my $do = Test::Soak::Faults->can($fault) or die "no fault $fault";
    $do->($self, $c, $q, $fault);
}

# A number below $n for this request.
sub roll {
    my ($self, $q, $n, $what) = @_;
    return unpack('N', sha256(join ' ', $self->{seed}, $q->{host}, $q->{path},
                              $q->{n}, $what)) % $n;
}

# How bad a host is changes each second or two: in percent.
sub mood {
    my ($self, $host) = @_;
    return 0 if $self->calm || $host{$host}{honest};
    return 100 if $host{$host}{liar};
    my $slot = int(time / 1.5);
    return (10, 30, 60, 100)[unpack('N', sha256("$self->{seed} $host $slot"))
                             % 4];
}

sub choose {
    my ($self, $q) = @_;
    return 'right' if $self->roll($q, 100, 'fault') >= $self->mood($q->{host});
    my $list = Test::Soak::Faults::list($q);
    my $total = 0;
    $total += $_->[0] for @$list;
    my $at = $self->roll($q, $total, 'which');
    for (@$list) {
        return $_->[1] if ($at -= $_->[0]) < 0;
    }
}

package Test::Soak::Faults;

# One function for each way to answer: ($upstream, $connection, $question).
# It notes what it says, and says it.

use strict;
use warnings;

use Digest::SHA qw(sha256 sha256_hex);
use List::Util qw(min);
use MIME::Base64 ();

# Weight and name.  "anywhere" fits each request; the others are for where
# there is a file, for a PDB, for where there is none, and for index2.txt.
my @anywhere = (map({ [1, $_] } qw(s401 s403 s400 s429 s429_later s500 s502
    s503 s503_later s504 reset hang_up hang_up_in_header stall_in_header
    garbage s404_later s404_cut s404_short login loop page empty)));
my @file = (@anywhere, [6, 'late'], [2, 'moved'],
    map { [1, $_] } qw(body_closed body_reset body_stalled body_resumable
        chunks_cut no_length_cut long_length huge_length zero_length
        http10_cut drip range_unasked));
my @pdb = (@file, map { [1, $_] } qw(other_pdb truncated_framed short_length
    gzip gzip_cut gzip_damaged gzip_checksum gzip_of_gzip cabinet_cut
    encoded encoded_wrongly));
my @none = (@anywhere, [20, 's404'], [4, 'late'], map { [2, $_] } qw(s410 s204
    s404_page gone));
my @index = (@anywhere, [6, 's404'], [4, 'late']);
my @resumed = ([8, 'right'], [2, 'resumed_whole'], [4, 'zero_length'],
    [3, 'resumed_other'], [3, 'resumed_elsewhere'], [2, 's416'],
    [1, 'body_resumable'], [1, 'reset']);
# clear enough that the key is not there, or not fit
my @doubts = map { [3, $_] } qw(s404 s410 gone damaged);

sub list {
    my ($q) = @_;
    my $h = $Test::Soak::Upstream::host{ $q->{host} };
    return \@index if $q->{index2};
    # a SymCache server says it in one way only
    my $other = qr/^(?:s410|s204|s404_page|gone)$/;
    return [grep { !$h->{symcache} || $_->[1] !~ $other } @none]
        if !$q->{truth};
    return \@resumed if $q->{req}{headers}{range};
    my $key = $q->{truth}{key};
    # damaged() has nothing to break in an ELF file
    return [@pdb, [4, 's404'], $key->{build_id} ? () : [4, 'damaged']]
        if $h->{liar};
    my $has_pdb = !$h->{symcache} && $key->{form} ne 'pointer'
        || $q->{path} =~ m{^/at/};
    my @list = $has_pdb ? @pdb : @file;
    push @list, map { [1, $_] } qw(other_symcache truncated_framed
        short_length page_as_symcache) if $q->{host} eq 'far';
    push @list, [1, 'encoded'], [4, 'pending'], map { [2, $_] }
        qw(digest_wrong digest_of_other digest_no_length digest_cut)
        if $h->{symcache};
    push @list, grep { $has_pdb && !$key->{build_id} || $_->[1] ne 'damaged' }
        $h->{symcache} ? [4, 's404'] : @doubts if $key->{doubted};
    return \@list;
}

# --- parts

sub head {
    my ($line, %h) = @_;
    return "HTTP/1.1 $line\r\n" . join('', map { "$_: $h{$_}\r\n" }
        sort keys %h) . "\r\n";
}

sub tag { sprintf '"%.16s"', sha256_hex($_[0]{truth}{body}) }

# Headers of a good answer.
sub headers {
    my ($q) = @_;
    my $version = $Test::Soak::Upstream::host{ $q->{host} }{symcache};
    return () if !$version;
    # as our own servers have it, and others do not
    my @digest = $q->{req}{headers}{'want-repr-digest'} && $q->{n} % 2
        && $q->{truth} ? digest($q->{truth}{body}) : ();
    return ('Content-Type' => "$Test::Soak::Upstream::type; version=$version",
            @digest);
}

sub good {
    my ($q, %more) = @_;
    return head('200 OK', headers($q),
                'Content-Length' => length $q->{truth}{body}, %more);
}

sub resumable {
    my ($q) = @_;
    return good($q, ETag => tag($q), 'Accept-Ranges' => 'bytes');
}

# Some of a body, and not all.
sub part {
    my ($u, $q) = @_;
    my $body = $q->{truth}{body};
    my $n = length $body;
    return substr $body, 0, $n < 2 ? 0 : 1 + $u->roll($q, $n - 1, 'part');
}

sub status {
    my ($u, $c, $q, $kind, $status, %headers) = @_;
    $u->note($q, 'unsure', $kind);
    $c->reply($status, \%headers, '');
}

# Sends bytes as the whole answer to everything, and closes.
sub text {
    my ($u, $c, $q, $kind, $bytes, $end) = @_;
    $u->note($q, 'unsure', $kind);
    $c->send($bytes);
    $u->linger($c, $end) if $end;
    $c->close;
}

sub body {
    my ($u, $c, $q, $kind, $body, %headers) = @_;
    $u->note($q, $headers{verdict} // 'unsure', $kind);
    delete $headers{verdict};
    $c->reply(200, { headers($q), %headers }, $body);
}

# --- the truth

sub right {
    my ($u, $c, $q, $kind) = @_;
    my $h = $Test::Soak::Upstream::host{ $q->{host} };
    if (!$q->{truth}) {
        $u->note($q, 'absent', $kind);
        return $c->reply(404, {}, '');
    }
    $u->note($q, 'file', $kind);
    my ($from) = ($q->{req}{headers}{range} // '') =~ /^bytes=(\d+)-$/;
    my $size = length $q->{truth}{body};
    if (defined $from && $from < $size
        && ($q->{req}{headers}{'if-range'} // tag($q)) eq tag($q)) {
        return $c->reply(206, { headers($q), ETag => tag($q),
            'Content-Range' => sprintf 'bytes %d-%d/%d', $from, $size - 1,
                $size }, substr $q->{truth}{body}, $from);
    }
    $c->send(resumable($q) . $q->{truth}{body});
}

sub late {
    my ($u, $c, $q, $kind) = @_;
    $u->linger($c, (1 + $u->roll($q, 12, 'late')) / 10);
    right(@_);
}

sub moved {
    my ($u, $c, $q, $kind) = @_;
    status($u, $c, $q, $kind, (301, 302, 303, 307, 308)[$q->{n} % 5],
           Location => "/moved$q->{path}");
}

sub s404 {
    my ($u, $c, $q, $kind) = @_;
    $u->note($q, 'absent', $kind);
    $c->reply(404, {}, '');
}

sub s404_page {
    my ($u, $c, $q, $kind) = @_;
    $u->note($q, 'absent', $kind);
    $c->reply(404, { 'Content-Type' => 'text/html' },
              $Test::Soak::Upstream::html);
}

sub s410 {
    my ($u, $c, $q, $kind) = @_;
    $u->note($q, 'absent', $kind);
    $c->reply(410, {}, '');
}

sub s204 {
    my ($u, $c, $q, $kind) = @_;
    $u->note($q, 'absent', $kind);
    $c->reply(204, { 'Content-Length' => undef }, '');
}

sub gone {
    my ($u, $c, $q, $kind) = @_;
    $u->note($q, 'absent', $kind);
    $c->reply(302, { Location => '/gone/' }, '');
}

# --- statuses

sub s400 { status(@_, 400) }
sub s401 { status(@_, 401, 'WWW-Authenticate' => 'Basic realm="x"') }
sub s403 { status(@_, 403) }
sub s416 { status(@_, 416) }
sub s429 { status(@_, 429) }
sub s429_later { status(@_, 429, 'Retry-After' => 1) }
sub s500 { status(@_, 500) }
sub s502 { status(@_, 502) }
sub s503 { status(@_, 503) }
sub s503_later { status(@_, 503, 'Retry-After' => 1) }
sub s504 { status(@_, 504) }
sub s404_later { status(@_, 404, 'Retry-After' => 1) }
sub pending { status(@_, 404, 'Retry-After' => 1) }
sub login { status(@_, 302, Location => '/signin') }
sub loop { status(@_, 302, Location => $_[2]{path}) }

# --- connections

sub reset {
    my ($u, $c, $q, $kind) = @_;
    $u->note($q, 'unsure', $kind);
    $c->reset;
}

sub hang_up { text(@_, '') }
sub hang_up_in_header { text(@_, "HTTP/1.1 200 OK\r\nContent-Le") }
sub stall_in_header { text(@_, "HTTP/1.1 200 OK\r\nX: ", 3) }
sub garbage { text(@_, "\0\1\2 garbage\r\n\r\n") }

# A line that was lost could have been Retry-After.
sub s404_cut {
    text(@_, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nRetry-A");
}

# An answer that did not end says nothing.
sub s404_short {
    text(@_, "HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\nNot");
}

# --- bodies

sub page {
    body(@_, $Test::Soak::Upstream::html, 'Content-Type' => 'text/html');
}

sub page_as_symcache { body(@_, $Test::Soak::Upstream::html) }

# What an index2.txt is.
sub empty { body(@_, '', verdict => $_[2]{index2} ? 'file' : 'unsure') }

sub body_closed {
    my ($u, $c, $q) = @_;
    text(@_, good($q) . part($u, $q));
}

sub body_reset {
    my ($u, $c, $q, $kind) = @_;
    $u->note($q, 'unsure', $kind);
    $c->send(good($q) . part($u, $q));
    $c->reset;
}

sub body_stalled {
    my ($u, $c, $q) = @_;
    text(@_, good($q) . part($u, $q), 3);
}

sub body_resumable {
    my ($u, $c, $q) = @_;
    text(@_, resumable($q) . part($u, $q));
}

sub drip {
    my ($u, $c, $q, $kind) = @_;
    $u->note($q, 'unsure', $kind);
    my $part = part($u, $q);
    $c->send(good($q) . $part);
    # never as many as are missing: that would be a whole file, of another content
    my $missing = length($q->{truth}{body}) - length $part;
    for (1 .. min(30, $missing - 1)) {
        last if $u->calm || !$c->send('x') || $c->wait_for_peer(0.1);
    }
    $c->close;
}

sub chunks_cut {
    my ($u, $c, $q) = @_;
    my $part = part($u, $q);
    text(@_, head('200 OK', headers($q), 'Transfer-Encoding' => 'chunked')
         . sprintf("%x\r\n", length $q->{truth}{body}) . $part);
}

sub no_length_cut {
    my ($u, $c, $q) = @_;
    text(@_, head('200 OK', headers($q), Connection => 'close')
         . part($u, $q));
}

sub http10_cut {
    my ($u, $c, $q) = @_;
    text(@_, head('200 OK', headers($q)) =~ s/1\.1/1.0/r . part($u, $q));
}

sub long_length {
    my ($u, $c, $q) = @_;
    text(@_, good($q, 'Content-Length' => 1000 + length $q->{truth}{body})
         . $q->{truth}{body});
}

sub huge_length {
    my ($u, $c, $q) = @_;
    text(@_, good($q, 'Content-Length' => 10_000_000_000)
         . $q->{truth}{body}, 1);
}

sub short_length {
    my ($u, $c, $q) = @_;
    text(@_, good($q, 'Content-Length' => length part($u, $q))
         . $q->{truth}{body});
}

sub zero_length { body(@_, '') }

# A part that nobody asked for, as if somebody had.
sub range_unasked {
    my ($u, $c, $q, $kind) = @_;
    $u->note($q, 'unsure', $kind);
    my $part = part($u, $q);
    $c->reply(206, { headers($q), 'Content-Range' => sprintf 'bytes 0-%d/%d',
        length($part) - 1, length $q->{truth}{body} }, $part);
}

sub other_pdb {
    my ($u, $c, $q) = @_;
    body(@_, $u->{corpus}->pdb($u->{corpus}->other($q->{truth}{key})));
}

sub other_symcache {
    my ($u, $c, $q) = @_;
    body(@_, $u->{corpus}->other($q->{truth}{key})->{expected});
}

sub truncated_framed {
    my ($u, $c, $q) = @_;
    body(@_, part($u, $q));
}

sub damaged {
    my ($u, $c, $q) = @_;
    body(@_, $u->{corpus}->damaged($q->{truth}{key}), verdict => 'damaged');
}

# --- packed

sub gzip {
    my $body = $_[2]{truth}{body};
    body(@_, Compress::Zlib::memGzip($body), again($body));
}

# What is packed twice came whole, and nothing takes it.
sub again {
    my ($body) = @_;
    return $body =~ /^(?:\x1f\x8b|\x78|MSCF|\x28\xb5\x2f\xfd)/s
        ? (verdict => 'damaged') : ();
}

sub gzip_cut {
    my $gzip = Compress::Zlib::memGzip($_[2]{truth}{body});
    body(@_, substr $gzip, 0, length($gzip) / 2);
}

sub gzip_damaged {
    my $gzip = Compress::Zlib::memGzip($_[2]{truth}{body});
    substr $gzip, length($gzip) / 2, 100, "\0" x 100;
    body(@_, $gzip);
}

sub gzip_checksum {
    my $gzip = Compress::Zlib::memGzip($_[2]{truth}{body});
    body(@_, substr($gzip, 0, -8) . "\0" x 8);
}

sub gzip_of_gzip {
    body(@_, Compress::Zlib::memGzip(
        Compress::Zlib::memGzip($_[2]{truth}{body})), verdict => 'damaged');
}

sub cabinet_cut {
    my $cabinet = Test::Cabinet::cabinet($_[2]{truth}{body});
    body(@_, substr $cabinet, 0, length($cabinet) / 2);
}

# A Content-Encoding that nobody asked for.
sub encoded {
    my $body = $_[2]{truth}{body};
    body(@_, Compress::Zlib::memGzip($body), again($body),
         'Content-Encoding' => 'gzip');
}

sub encoded_wrongly {
    body(@_, $_[2]{truth}{body}, 'Content-Encoding' => 'gzip');
}

# --- digests

sub digest {
    return 'Repr-Digest' => 'sha-256=:'
        . MIME::Base64::encode_base64(sha256($_[0]), '') . ':';
}

sub digest_wrong {
    body(@_, $_[2]{truth}{body}, digest('another file'));
}

# Of a format that nobody can look into only the digest shows it.
sub digest_of_other {
    my ($u, $c, $q) = @_;
    body(@_, reverse($q->{truth}{body}) . '', digest($q->{truth}{body}));
}

# Whole, though only the digest says so.
sub digest_no_length {
    my ($u, $c, $q) = @_;
    my $body = $q->{truth}{body};
    text(@_, head('200 OK', headers($q), Connection => 'close',
                  digest($body)) . $body);
}

sub digest_cut {
    my ($u, $c, $q) = @_;
    text(@_, head('200 OK', headers($q), Connection => 'close',
                  digest($q->{truth}{body})) . part($u, $q));
}

# --- the rest of a body that broke off

sub resumed_whole {
    my ($u, $c, $q) = @_;
    body(@_, $q->{truth}{body}, ETag => tag($q));
}

sub resumed {
    my ($u, $c, $q, $kind, $shift, $tag) = @_;
    $u->note($q, 'unsure', $kind);
    my ($from) = $q->{req}{headers}{range} =~ /^bytes=(\d+)-/;
    my $size = length $q->{truth}{body};
    my $rest = $size - $from;
    $rest = 1 if $rest < 1;
    $c->reply(206, { headers($q), ETag => $tag, 'Content-Range' =>
        sprintf 'bytes %d-%d/%d', $from + $shift, $from + $shift + $rest - 1,
        $size + $shift }, 'x' x $rest);
}

sub resumed_other { resumed(@_, 0, '"another"') }
sub resumed_elsewhere { resumed(@_, 7, tag($_[2])) }

1;
