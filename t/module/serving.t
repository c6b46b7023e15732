# Files through what nginx has for sending files: open_file_cache with its
# negative entries, aio threads, directio, sendfile, HTTP/2, subrequests.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Test::More;
use Test::ModuleCase;

my $t = Test::ModuleCase->new;
my $key = Test::ModuleCase::key();

sub h { Test::Symcache::header(@_) }

$t->start_nginx(<<'EON', http => <<'EOH');
    listen unix:%%DIR%%/h2.sock http2;
    symcache_hold_timeout 10s;
    location /cached/ {
        symcache %%DIR%%/store; symcache_pass unix:%%DIR%%/h.sock;
        open_file_cache max=100; open_file_cache_valid 1h;
        open_file_cache_errors on;
    }
    location /zone/ {
        symcache %%DIR%%/store; symcache_pass unix:%%DIR%%/h.sock;
        symcache_zone z;
        open_file_cache max=100; open_file_cache_valid 1h;
        open_file_cache_errors on;
    }
    location /threads/ { symcache %%DIR%%/store; aio threads; sendfile on; }
    location /direct/ { symcache %%DIR%%/store; aio threads; directio 4k; }
    location /chunks/ {
        symcache %%DIR%%/store; sendfile on; sendfile_max_chunk 4k;
    }
    location /nosend/ { symcache %%DIR%%/store; sendfile off; }
    location /slow/ { symcache %%DIR%%/store; limit_rate 10m; }
    location /s/ { symcache %%DIR%%/store; symcache_pass unix:%%DIR%%/h.sock; }
    location /mirror/ { mirror /s/; symcache %%DIR%%/store; }
    location /copied/ { mirror /copy; symcache %%DIR%%/store; }
    location = /copy {
        internal; rewrite ^ /s/v3.1.0/copy.pdb/0123456789ABCDEF0123456789ABCDEF/26 last;
    }
    location /outer/ { ssi on; root %%DIR%%; default_type text/html; }
    location /auth/ { auth_request /check; symcache %%DIR%%/store; }
    location = /check { return 403; }
EON
    symcache_zone z:64k;
EOH

sub uri { $t->uri('3.1.0', location => "/$_[0]") }

my $body = join '', map { pack 'N', $_ * 2654435761 % 4294967296 } 1 .. 75_000;
$t->put('3.1.0', $body);

for my $where (qw(threads direct chunks nosend slow cached zone)) {
    for (1 .. 2) {
        my $r = $t->get(uri($where));
        ok $r->{body} eq $body, "$where: whole";
    }
    my $r = $t->get(uri($where), 'Range: bytes=100000-199999');
    ok $r->{body} eq substr($body, 100_000, 100_000), "$where: range";
}

is $t->get(uri('auth'))->{status}, 403, 'auth_request comes first';

# --- a file that is made after a negative entry

for my $where (qw(cached zone)) {
    my @miss = (location => "/$where", pdb => "$where.pdb");
    my $k = "$where.pdb/${Test::ModuleCase::guid}1A";

    # a file that is replaced and one that vanishes, past the cache
    $t->helper_says(sub { $_[0]->reply(202, {}) });
    is $t->get($t->uri('3.1.0', @miss), 'Allow-Retry-After: true')->{status},
        404, "$where: not there";
    $t->helper_says(sub {
        $t->put('3.1.0', 'made', key => $k);
        $_[0]->reply(200, { 'X-Symcache-Version' => '3.1.0' });
    });
    is $t->get($t->uri('3.1.0', @miss))->{body}, 'made', "$where: made";
    is $t->get($t->uri('3.1.0', @miss))->{body}, 'made', "$where: a hit";
    unlink glob $t->path("store/$k/*");
    $t->helper_says(sub {
        $t->put('3.1.0', 'again', key => $k);
        $_[0]->reply(200, { 'X-Symcache-Version' => '3.1.0' });
    });
    my $r = $t->get($t->uri('3.1.0', @miss));
    like $r->{body}, qr/^(?:made|again)$/,
        "$where: removed: the file still open, or a new one";
}

# --- a subrequest: the file inside of a page

$t->put('3.1.0', '(included)', key => "ssi.pdb/${Test::ModuleCase::guid}1A");
$t->helper_says(sub {
    $t->put('3.1.0', '(made)', key => "ssi2.pdb/${Test::ModuleCase::guid}1A");
    $_[0]->reply(200, { 'X-Symcache-Version' => '3.1.0' });
});
$t->write_file('outer/page.html', join '|', 'a',
    map { sprintf '<!--#include virtual="%s" -->',
          $t->uri('3.1.0', pdb => $_) } 'ssi.pdb', 'ssi2.pdb', 'ssi.pdb');
my $r = $t->get('/outer/page.html');
is $r->{body}, 'a|(included)|(made)|(included)', 'included, one after a hold';

# a subrequest in the background, which nothing waits for, asks and ends:
# the connection goes on after it

my $asked = $t->helper_says(sub {
    $t->put('3.1.0', 'copy', key => "copy.pdb/${Test::ModuleCase::guid}1A");
    $_[0]->reply(200, { 'X-Symcache-Version' => '3.1.0' });
});
my $kept = Test::Symcache::connect_to($t->nginx_socket);
for (1 .. 2) {
    syswrite $kept, 'GET ' . uri('copied') . " HTTP/1.1\r\nHost: x\r\n\r\n";
    ok $t->read_response($kept)->{body} eq $body, 'mirror: answered';
}
is scalar($asked->requests), 1, 'mirror: the helper was asked';

# --- HTTP/2

sub curl {
    my ($uri, @args) = @_;
    my $dir = $t->dir;
    my $out = qx(curl -s -i --http2-prior-knowledge --max-time 60 @args \\
        --unix-socket $dir/h2.sock 'http://localhost$uri' 2>&1);
    return Test::Symcache::parse_response($out, 'GET');
}

SKIP: {
    skip 'curl without HTTP/2', 12
        unless qx(curl --version 2>/dev/null) =~ /^Features:.*\bHTTP2\b/m;

    $r = curl(uri('s'));
    is $r->{status}, 200, 'HTTP/2: 200';
    ok $r->{body} eq $body, 'HTTP/2: whole';
    is h($r, 'content-type'), 'application/vnd.ms-symcache; version=3.1.0',
        'HTTP/2: type';
    is curl(uri('s'), '-r 5-9')->{status}, 206, 'HTTP/2: range';
    is curl(uri('s'), '-X POST')->{status}, 405, 'HTTP/2: POST';
    is curl(uri('s'), '-H "if-version-exceeds: 3.1.0"')->{status}, 400,
        'HTTP/2: 400';

    $t->helper_says(sub { $_[0]->reply(202, { 'Retry-After' => 3 }) });
    $r = curl($t->uri('3.1.0', pdb => 'h2.pdb'),
              '-H "allow-retry-after: true"');
    is $r->{status}, 404, 'HTTP/2: poll';
    is h($r, 'retry-after'), 3, 'HTTP/2: Retry-After';

    my $s = $t->helper_says(sub {
        $_[0]->wait_for_peer(0.5);
        $t->put('3.1.0', 'held', key => "h2.pdb/${Test::ModuleCase::guid}1A");
        $_[0]->reply(200, { 'X-Symcache-Version' => '3.1.0' });
    });
    $r = curl($t->uri('3.1.0', pdb => 'h2.pdb'));
    is $r->{body}, 'held', 'HTTP/2: held';
    is scalar($s->requests), 1, 'HTTP/2: asked once';

    $s = $t->helper_says(sub { $_[0]->wait_for_peer; $t->write_file('gone', '') });
    $r = curl($t->uri('3.1.0', pdb => 'gone.pdb'), '--max-time 0.3');
    is $r->{status}, 0, 'HTTP/2: a client that goes away';
    $t->wait_until('the helper sees it', sub { -e $t->path('gone') });
    pass 'HTTP/2: ends its hold';
}

$t->finish;
done_testing;
