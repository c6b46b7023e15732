#!/usr/bin/env perl

# Files at URLs: a source of the type "web" has them, one job asks for a
# thousand clients, and they lie in the store with what their answers said.
# The ids are what sha256sum says.

use strict;
use warnings;

use Compress::Zlib qw(memGzip);
use Digest::SHA qw(sha256_hex sha256_base64);
use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $text = "int main() { return 0; }\n" x 100;
my $go = $t->path('go');
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my $path = $req->{path};
    if ($path eq '/slow.c') {
        select undef, undef, undef, 0.05 until -e $go;
        $c->reply(200, {}, $text);
    } elsif ($path eq '/gz.c') {
        $c->reply(200, { 'Content-Encoding' => 'gzip' }, memGzip($text));
    } elsif ($path =~ m{^/secret/} && ($req->{headers}{authorization} // '')
            ne 'Bearer s3cret') {
        $c->reply(401, {}, '');
    } elsif ($path eq '/away.c') {
        $c->reply(302, { Location => 'http://localhost:' . $ENV{OTHER_PORT}
            . '/other.c' }, '');
    } elsif ($path eq '/no.c') { $c->reply(404, {}, '') }
    elsif ($path eq '/busy.c') { $c->reply(429, {}, '') }
    elsif ($path eq '/empty.js') {
        $c->reply(200, { SourceMap => 'empty.js.map' }, '');
    } else {
        $c->reply(200, { 'X-SourceMap' => 'old.map', SourceMap => 'app.map' },
            $text);
    }
});
my $host = '127.0.0.1:' . $web->port;
my %config = (
    stores => { default => { root => $t->path('store'),
        sources => ['private', 'web'] } },
    sources => {
        private => { type => 'web', url => "http://$host/secret/",
            headers => { Authorization => 'Bearer s3cret' } },
        web => { type => 'web' },
    },
    symbolication => { symbolicator => { tenants => { hosts => [$host] } } },
    cache => { retry_errors_after => '1s' },
    downloads => $t->path('downloads'),
);
$t->start_symcached(\%config);

sub path_of {
    my ($url, $since, $scraped) = @_;
    my $id = 'hash-' . sha256_hex($url . ($since ? "#$since" : '')
        . ($scraped ? '#scraped' : ''));
    my ($name) = $url =~ m{//([^:/]+)};
    return "$name/$id";
}
sub query_of {
    my ($url, $since, $scraped) = @_;
    (my $value = $url) =~ s/([&+%])/sprintf '%%%02X', ord $1/ge;
    return "version=1.0.0&wait=60&url=$value" . ($since ? "&since=$since" : '')
        . ($scraped ? '&scraped=1' : '');
}
sub ask {
    my $r = $t->helper('GET',
        '/v1/source/default/' . path_of(@_) . '?' . query_of(@_));
    return join ' ', $r->{status},
        Test::Symcache::header($r, 'X-Symcache-Reason') // ();
}
sub stored {
    my $path = path_of(@_);
    my ($name) = split m{/}, $path;
    return $t->path("store/$path/$name-v1.0.0.source");
}
sub content { my ($file) = @_;
    open my $fh, '<:raw', $file or return undef; local $/; <$fh> }
my $get = { x86_64 => 191, aarch64 => 8 }->{ (POSIX::uname())[4] };
sub attribute {
    my ($file, $name) = @_;
    my $text = "\0" x 4096;
    my $n = defined $get ? syscall($get, $file, $name, $text, 4096) : -1;
    return $n > 0 ? substr $text, 0, $n : undef;
}

# --- a file

my $url = "http://$host/app.js";
is ask($url), '200', 'a file at a URL';
ok content(stored($url)) eq $text, 'it lies in the store';
my $properties = attribute(stored($url), 'user.symcached.properties');
SKIP: {
    skip 'no extended attributes here', 2
        unless defined $properties;
    is $properties, "sourcemap: app.map\n", 'with the newer of both headers';
    like attribute(stored($url), 'user.symcached.sha256'),
        qr/^sha-256=:\Q@{[sha256_base64($text)]}\E=:/, 'and its digest';
}
is ask($url), '200', 'it is asked for once';
is scalar($web->requests), 1, 'at its server, too';
is ask("http://$host/gz.c"), '200', 'a body with a coding';
ok content(stored("http://$host/gz.c")) eq $text, 'is stored without it';
is ask("http://$host/empty.js"), '200', 'an empty file';
is -s stored("http://$host/empty.js"), 0, 'is one';
is ask($url, 1700000000), '200', 'from a time on';
is scalar(grep { $_->{path} eq '/app.js' } $web->requests), 2,
    'it is another file';

# --- the longest URL, of which each byte is an escape in the question

my $long = "http://$host/long.js?" . '&' x 9000;
is ask(substr $long, 0, 8192), '200', 'a URL of 8,192 bytes';
is ask(substr $long, 0, 8193), '400', '... and of one more';

# --- credentials

is ask("http://$host/secret/a.c"), '200', 'credentials below their URL';
is ask("http://$host/secretly.c"), '200', 'not beside it';
my ($beside) = grep { $_->{path} eq '/secretly.c' } $web->requests;
is $beside->{headers}{authorization}, undef, 'are sent there';
for my $path (qw(..%2Fother.c a/..%5C..%5Cother.c a%2F../other.c)) {
    my $n = () = $web->requests;
    is ask("http://$host/secret/$path"), '503 error', "nor for $path";
    my @all = $web->requests;
    is_deeply [grep { $_->{headers}{authorization} } @all[$n .. $#all]], [],
        '... which servers may take for a path beside it';
}
is ask("http://$host/secret/a..%2Fb..c"), '200', 'other dots are none';
is ask("http://$host/secret/a.c", 1700000000, 1), '503 error',
    'what a client names is asked for without them';
is ask("http://$host/secret/a.c", 0, 1), '503 error',
    'and is no answer that was had with them';

# --- absences and failures

is ask("http://$host/no.c"), '404 notfound', 'an absence';
is ask("http://$host/no.c"), '404 notfound', 'is remembered';
is scalar(grep { $_->{path} eq '/no.c' } $web->requests), 1, 'for the key';
is ask("http://$host/busy.c"), '503 error', '429 is a failure';
is $t->absence(stored("http://$host/busy.c") . '.absent'), undef, 'and no absence';

# --- addresses

my $inside = 'http://localhost:' . $web->port . '/app.js';
is ask($inside), '503 error', 'a loopback address that is not allowed';
my $why = $t->helper('GET', '/v1/why/default/' . path_of($inside)
    . '?kind=source');
like $why->{body}, qr/reserved/, 'is not connected to';

# --- a thousand clients

my $slow = "http://$host/slow.c";
my $line = '/v1/source/default/' . path_of($slow) . '?'
    . query_of($slow) =~ s/&wait=60//r;
my @clients = map {
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        my $r = $t->post($t->helper_socket, '/v1/lookups?version=1.0.0&wait=60',
            "$line\n" x 50);
        my @good = $r->{body} =~ /^\d+ 200 /mg;
        POSIX::_exit(@good == 50 ? 0 : 1);
    }
    $pid;
} 1 .. 20;
$t->wait_until('a thousand wait',
    sub { $t->helper_json('/v1/jobs')->{waiters} >= 1000 });
open my $fh, '>', $go or die;
close $fh;
my $good = grep { waitpid($_, 0) && $? == 0 } @clients;
is $good, 20, 'a thousand clients have it';
is scalar(grep { $_->{path} eq '/slow.c' } $web->requests), 1,
    'of one request';

# --- the configuration

is $t->stop_symcached, 0, 'symcached stops';
$config{sources}{web}{headers} = { Authorization => 'x' };
$t->write_helper_config(\%config);
like qx(@{[$t->program('symcached')]} -t -c @{[$t->path('symcached.json')]} 2>&1),
    qr/sources\.web.*"headers" need "url"/, 'credentials are not for everybody';
$t->finish;
done_testing;
