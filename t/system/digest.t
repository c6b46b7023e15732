#!/usr/bin/perl

# SHA-256 from one of our servers to the next: kept with the file when it is
# made, told to whoever asks for it, and checked by whoever receives.  On the
# way between the two is a proxy that damages what it is told to.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Digest::SHA ();
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my ($far, $near) = map { Test::Symcache->new } 1, 2;
my %port = map { $_ => Test::Symcache::free_port() } qw(far symbols);
my %key = %Test::Symcache::key;
my ($name, $other) = qw(crash.pdb basic32.pdb);

$far->symbol_store('symbols');
my %config = %{ $far->default_config("http://127.0.0.1:$port{symbols}") };
$config{stores}{default}{gzip} = JSON::PP::true();
$far->start_symcached(\%config);
$far->start_nginx($far->default_locations(<<'CONF') . <<'MORE',
    gzip on; gzip_types application/vnd.ms-symcache; gzip_min_length 1;
CONF
    location /sidecar/ {
        symcache %%DIR%%/store;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_gzip always;
    }
    location /added/ {
        symcache %%DIR%%/store;
        symcache_pass unix:%%DIR%%/h.sock;
        addition_types *;
        add_after_body /symbols/none;
    }
MORE
    listen => "listen 127.0.0.1:$port{far}; "
        . 'listen unix:' . $far->nginx_socket . ';',
    http => "symcache_zone off; server { listen 127.0.0.1:$port{symbols};
                      root %%DIR%%/symbols; }");

sub file { "store/$_[0]/$key{$_[0]}/$_[0]-v9.0.0.symcache" }
sub sum { 'sha-256=:' . Digest::SHA::sha256_base64($_[0]) . '=:' }
sub digest { Test::Symcache::header($_[0], 'Repr-Digest') }
sub ask {
    my ($want, %o) = @_;
    my $uri = ($o{at} // '/hold') . '/' . $far->request_path($o{name} // $name);
    return $far->http($far->nginx_socket, $o{method} // 'GET', $uri,
        defined $want ? "Want-Repr-Digest: $want" : (),
        @{ $o{headers} // [] });
}

my $r = ask('sha-256=10');
die $r->{raw} if $r->{status} != 200;
my $body = $r->{body};
my $sum = sum($body);
if (!defined digest($r)) {
    # the file system of the test has no extended attributes
    # why shows the other attribute
    my $why = $far->helper_json("/v1/why/default/$name/$key{$name}");
    die 'no Repr-Digest' if $why->{files}[0]{source};
    SKIP: { skip 'no extended attributes here', 1 }
    $_->finish for $far, $near;
    done_testing;
    exit;
}

# --- who gets it

is digest($r), $sum, 'the file that was made while the client waited';
is digest(ask('sha-256=1')), $sum, 'from the store';
is digest(ask('sha-512=10, sha-256=3')), $sum, 'beside another one';
is digest(ask('sha-256=10', method => 'HEAD')), $sum, 'for HEAD';
$r = ask('sha-256=10', headers => ['Range: bytes=5-9']);
is "$r->{status} " . digest($r), "206 $sum", 'for a range: that of the file';
is $r->{body}, substr($body, 5, 5), 'and not of the part';
$r = ask('sha-256=10', headers => ['Range: bytes=99999999-']);
is $r->{status}, 416, 'a range behind the end';
is digest($r), undef, 'of whose text it is not the digest';
is digest(ask(@$_)), undef, "not: $_->[0]"
    for ['sha-256=0'], ['sha-512=10'], ['sha-256'], ['md5=1'];
is digest(ask(undef)), undef, 'nor unasked';
is digest(ask('sha-256=1', headers => ['Accept-Encoding: identity'])), $sum,
    'the file as it is';
$r = ask('sha-256=1', headers => ['Accept-Encoding: gzip']);
is Test::Symcache::header($r, 'Content-Encoding'), 'gzip', 'nginx compresses';
is digest($r), undef, 'and that is another representation';
is digest(ask('sha-256=1', headers => ['Accept-Encoding: br'])), $sum,
    'one that nginx does not compress for this client';
is digest(ask('sha-256=1', at => '/added')), undef, 'a changed body';
$far->wait_until('the sidecar', sub { -e $far->path(file($name) . '.gz') });
$r = ask('sha-256=1', at => '/sidecar');
is Test::Symcache::header($r, 'Content-Encoding'), 'gzip', 'the sidecar';
is digest($r), undef, 'as well';

# one that only symbolicated waits for, which reads it itself
$Test::Symcache::key{'late.pdb'} = $key{$name};
$far->write_file("symbols/late.pdb/$key{$name}/late.pdb",
                 $far->read_file("symbols/$name/$key{$name}/$name"));
like $far->post($far->helper_socket, '/v1/lookups?version=9.0.0&wait=60',
                "/v1/symcache/default/late.pdb/$key{$name}\n")->{body},
    qr/^0 200 /, 'made for a lookup of many';
$far->wait_until('it has its digest a moment later', sub {
    digest(ask('sha-256=10', name => 'late.pdb'))
});
$r = ask('sha-256=10', name => 'late.pdb');
is digest($r), sum($r->{body}), 'and the right one';

# Files that a use finds without a digest, as a kill may leave them, get one;
# one that was written to does not.
sub spoil {
    my ($file, $how) = @_;
    my $path = $far->path($file);
    $how->($path);
    utime time - 7200, time - 7200, $path or die "$path: $!";
}
$Test::Symcache::key{'written.pdb'} = $key{$name};
my $written = "store/written.pdb/$key{$name}/written.pdb-v9.0.0.symcache";
$far->write_file("symbols/written.pdb/$key{$name}/written.pdb",
                 $far->read_file("symbols/$name/$key{$name}/$name"));
$r = ask('sha-256=10', name => 'written.pdb');
is digest($r), sum($r->{body}), 'another file';
spoil($written, sub {
    open my $f, '+<', $_[0] or die "$_[0]: $!";
    print $f substr $r->{body}, 0, 1;
    close $f;
});
spoil("store/late.pdb/$key{$name}/late.pdb-v9.0.0.symcache", sub {
    system('cp', $_[0], $far->path('copy')) == 0 or die 'cp';
    rename $far->path('copy'), $_[0] or die "$_[0]: $!";
});
is digest(ask('sha-256=10', name => $_)), undef, "$_: none now"
    for 'written.pdb', 'late.pdb';
$far->wait_until('one is made when its use is noted', sub {
    digest(ask('sha-256=10', name => 'late.pdb'))
});
is digest(ask('sha-256=10', name => 'late.pdb')), sum($r->{body}), 'right';
cmp_ok((stat $far->path($written))[9], '>', time - 3600, 'as that of the other');
is digest(ask('sha-256=10', name => 'written.pdb')), undef,
    'which was written to: none';

# a file from elsewhere, in whatever format
my $imported = "made on Windows\0" x 3000;
$Test::Symcache::key{'win.pdb'} = '0' x 31 . '11';
$far->write_file('win/win.pdb/' . '0' x 31 . '11/win.pdb-v9.0.0.symcache',
                 $imported);
is system($far->program('symcachectl'), 'import', '--root',
          $far->path('store'), $far->path('win')), 0, 'imported';
$r = ask('sha-256=1', name => 'win.pdb');
is $r->{body}, $imported, 'a file that was imported';
is digest($r), sum($imported), 'has its digest as well';

# --- the next server

mkdir $far->path('seen');
my $proxy = Test::ScriptedServer->new(log => $near->path('proxy.log'),
    script => sub {
        my ($c, $req) = @_;
        my (undef, @headers) = split /\r\n/, $req->{head};
        my $from = $far->http("127.0.0.1:$port{far}", $req->{method},
                              $req->{uri}, grep { !/^Connection/i } @headers);
        my $bytes = $from->{raw};
        my ($pdb) = $req->{path} =~ m{/(\w+\.pdb)/};
        # one bit: in nobody's checksum but this one
        if ($from->{status} == 200
            && ($pdb eq $other || mkdir $far->path("seen/$pdb"))) {
            substr $bytes, -1, 1, chr(1 ^ ord substr $bytes, -1);
        }
        $c->send($bytes);
        $c->close;
    });
$near->start_symcached({
    stores => { default => { root => $near->path('store'),
                             sources => ['far'] } },
    sources => { far => { type => 'symcache', version => '9.0.0',
        url => $proxy->url . '/hold', internal => JSON::PP::true() } },
    cache => { retry_errors_after => '1s' },
});
sub near {
    return $near->helper('GET',
        "/v1/symcache/default/$_[0]/$key{$_[0]}?version=9.0.0&wait=60");
}

is near($name)->{status}, 200, 'damaged once on the way';
is $near->read_file(file($name)), $body, 'asked again, and right';
my @asked = grep { $_->{path} =~ /\Q$name\E/ } $proxy->requests;
is scalar(@asked), 2, 'at once';
is $asked[0]{headers}{'want-repr-digest'}, 'sha-256=10', 'with the wish';
is $near->metric("symcached_digests_total{result=\"$_\"}"), 1, "metric: $_"
    for qw(match differ);

$far->wait_until('it has its digest a moment later', sub {
    digest(ask('sha-256=1', name => $other))
});
is near($other)->{status}, 503, 'damaged each time';
my ($last) = reverse @{ $near->helper_json(
    "/v1/why/default/$other/$key{$other}")->{attempts} };
is "$last->{outcome}: $last->{detail}",
    'failed: damaged on the way: its SHA-256 is another one', 'why says so';
ok !-e $near->path(file($other)), 'and nothing is published';

# --- a file that is not the one that was made

ok digest(ask('sha-256=1', name => $other)), 'the far one has it';
my $path = $far->path(file($other));
open my $fh, '+<', $path or die $!;
binmode $fh;
seek $fh, -1, 2;
syswrite $fh, '!';
close $fh;
$r = ask('sha-256=1', name => $other);
is "$r->{status} " . substr($r->{body}, -1), '200 !', 'edited in place';
is digest($r), undef, 'no digest';

$path = $far->path(file($name));
rename $far->write_file('replaced', 'something else'), $path or die $!;
$r = ask('sha-256=1');
is $r->{body}, 'something else', 'replaced';
is digest($r), undef, 'no digest';

$proxy->stop;
$_->finish for $near, $far;
done_testing;
