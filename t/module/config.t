# nginx -t: what is refused and with which words; defaults, values and
# inheritance of directives that a request shows.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Test::More;
use Test::ModuleCase;

my $t = Test::ModuleCase->new;

sub h { Test::Symcache::header(@_) }

my $s = 'symcache /store;';
my $p = 'symcache_pass unix:/x;';

my @refused = (
    ["location / { $s $s }", qr/"symcache" directive is duplicate/],
    ['location / { symcache ""; }', qr/"symcache".*needs the root of a store/],
    ['location / { symcache; }', qr/invalid number of arguments in "symcache"/],
    ['symcache /store;', qr/"symcache" directive is not allowed here/],
    ['location / { symcache $no_such; }', qr/unknown "no_such" variable/],
    ["location = /x { $s }", qr/cannot be used in a location "= \.\.\."/],
    ["location / { $s proxy_pass http://127.0.0.1:1; }",
     qr/"symcache" and another directive that answers requests, such as "proxy_pass", in location "\/"/],
    ["location / { proxy_pass http://127.0.0.1:1; $s }",
     qr/"symcache".*conflicts with another directive that answers/],
    ["location /a/ { $s alias /x/; }",
     qr/"alias" has no effect beside "symcache".* in location "\/a\/"/],
    ["location ~ ^/a/(.*) { alias /x/\$1; $s }", qr/"alias" has no effect/],
    ["location /a/ { alias /x/; location /a/b/ { $s alias /x/; } }",
     qr/"alias" has no effect.* in location "\/a\/b\/"/],
    ["location / { $s try_files \$uri =404; }",
     qr/"try_files" answers before "symcache" in location "\/"/],
    ["location / { try_files \$uri \@x; $s } location \@x { return 404; }",
     qr/"try_files" answers before "symcache" in location "\/"/],
    ["location / { $s $p $p }", qr/"symcache_pass" directive is duplicate/],
    ["location / { $s $p symcache_pass off; }",
     qr/"symcache_pass" directive is duplicate/],
    ["location / { $s symcache_pass unix:; }", qr/no path in the unix domain/],
    ["location / { $s symcache_pass http://x; }", qr/without "http:\/\/"/],
    ["location / { $s symcache_pass https://x; }", qr/without "http:\/\/"/],
    ["location / { $s symcache_pass /run/x; }", qr/needs "unix:" before/],
    ["location / { $s symcache_pass \$arg_x; }", qr/takes no variables/],
    ["location / { $s symcache_pass 127.0.0.1; }", qr/no port in upstream/],
    ["location / { $s symcache_pass no-such-upstream; }",
     qr/no port in upstream "no-such-upstream"|host not found in upstream/],
    ["location / { $s symcache_pass unix:/" . 'x' x 120 . '; }',
     qr/too long path in the unix domain socket/],
    ["symcache_store a/b;", qr/"symcache_store" directive needs a name/],
    ["symcache_store '';", qr/"symcache_store" directive needs a name/],
    ["symcache_store ..;", qr/needs a name that does not begin with a dot/],
    ["symcache_store .a;", qr/needs a name that does not begin with a dot/],
    ["symcache_store " . 'a' x 65 . ";", qr/needs a name of at most 64 characters/],
    ["symcache_store a; symcache_store a;", qr/duplicate/],
    (map { ["$_ 200;", qr/"$_" must be off, 403, 500, 502 or 504 in /] }
        'symcache_error', 'symcache_draining'),
    ["symcache_type text;", qr/needs a media type without parameters/],
    ["symcache_type /;", qr/needs a media type without parameters/],
    ["symcache_type a/;", qr/needs a media type without parameters/],
    ["symcache_type a/b/c;", qr/needs a media type without parameters/],
    ["symcache_type 'text/x; a=b';", qr/needs a media type without parameters/],
    ["symcache_retry_after 0;", qr/must be between one second and one day/],
    ["symcache_retry_after 500ms;", qr/invalid value/],
    ["symcache_retry_after 2d;", qr/must be between one second and one day/],
    ["symcache_hold_timeout 25h;", qr/must not exceed one day/],
    ["symcache_hold_timeout x;", qr/invalid value/],
    ["symcache_min_version 3;", qr/needs a version such as 3\.1\.0/],
    ["symcache_min_version v3.1.0;", qr/needs a version such as 3\.1\.0/],
    ["symcache_async_after 3.1.x;", qr/needs a version such as 3\.1\.0/],
    ["symcache_async_after 3.1.0; symcache_async_after 3.1.0;",
     qr/"symcache_async_after" directive is duplicate/],
    ["symcache_next_upstream http_500;", qr/invalid value "http_500"/],
    ["symcache_next_upstream_tries x;", qr/invalid number/],
    ["symcache_next_upstream_timeout x;", qr/invalid value/],
    ["symcache_connect_timeout x;", qr/invalid value/],
    ["symcache_send_timeout x;", qr/invalid value/],
    ["symcache_read_timeout x;", qr/invalid value/],
    ["symcache_buffer_size x;", qr/invalid value/],
    ["symcache_buffer_size 1023;", qr/must be at least 1024/],
    ["symcache_bind x;", qr/invalid address "x"/],
    (map { ["symcache_redirect $_;", qr/"symcache_redirect" directive needs a URL that starts with/] }
        "''", 'on', 'cdn.example/sym', 'ftp://cdn.example/'),
    ["symcache_accel '';", qr/"symcache_accel".*needs a URI that starts with/],
    ["symcache_accel http://x/;", qr/needs a URI that starts with "\/"/],
    ["symcache_accel /a/; symcache_redirect /b/;",
     qr/only one of "symcache_accel" and "symcache_redirect"/],
);

for (@refused) {
    my ($conf, $re) = @$_;
    my ($rc, $out) = $t->test_nginx($conf);
    isnt $rc, 0, "refused: $conf";
    like $out, $re, 'with words that help';
}

my @accepted = (
    'location / { symcache off; }',
    "location / { symcache off; proxy_pass http://127.0.0.1:1; }",
    "location / { $s symcache_pass off; }",
    "location / { $s $p location /in/ { $s symcache_pass off; } }",
    "location ~ x { $s }", "location ^~ /x { $s }", "location \@x { $s }",
    "location / { $s if (\$arg_a) { set \$x 1; } }",
    "location / { $s if (\$arg_a) { set \$x 1; } } try_files \$uri =404;",
    "location /a/ { alias /x/; location /a/b/ { $s if (\$arg_a) { } } }",
    "location /a/ { alias /x/; location /a/b/ { location /a/b/c/ { $s } } }",
    'location / { symcache off; alias /x/; try_files $uri =404; }',
    "location / { $s root /x; location /a/ { alias /x/; } }",
    'location / { symcache store; }', 'location / { symcache /a/$host/b; }',
    'symcache_pass unix:/x; symcache_store s; symcache_type a/b;
     symcache_retry_after 5; symcache_hold_timeout 1d;
     symcache_min_version 4.0.0; symcache_async_after 4.0.0;
     symcache_connect_timeout 1s; symcache_send_timeout 1s;
     symcache_read_timeout 1s; symcache_buffer_size 8k;
     symcache_next_upstream error timeout invalid_response not_found busy;
     symcache_next_upstream_tries 2; symcache_next_upstream_timeout 3s;
     symcache_bind 127.0.0.1;',
    'symcache_next_upstream off; symcache_bind off;',
    'symcache_store ' . 'a' x 64 . ';',
);

for my $conf (@accepted) {
    my ($rc, $out) = $t->test_nginx($conf);
    is $rc, 0, "accepted: $conf" or diag $out;
}

my ($rc) = $t->test_nginx('', http => $accepted[-3]);
is $rc, 0, 'the same in http';

# --- inheritance: http, server, location, and below

$t->put('3.0.1', 'x');
$t->helper_says(sub {
    my ($c, $req) = @_;
    return $c->reply(404, { 'X-Symcache-Reason' => 'x' })
        if $req->{path} =~ m{/absent/};
    $c->reply(202, {});
});

$t->start_nginx(<<'EON', http => <<'EOH');
    symcache_type server/type;
    symcache_hold_timeout 0;
    location /inherit/ { symcache %%DIR%%/store; }
    location /own/ {
        symcache %%DIR%%/store;
        symcache_type own/type;
        symcache_retry_after 22;
        symcache_store absent;
        symcache_async_after 3.0.0;
        symcache_min_version 3.0.2;
    }
    location /none/ { symcache %%DIR%%/store; symcache_pass off; }
    location /outer/ {
        symcache_retry_after 33;
        location /outer/inner/ { symcache %%DIR%%/store; }
        location /outer/off/ { symcache off; }
    }
    location /if/ {
        symcache %%DIR%%/store;
        if ($arg_later) { add_header X-If 1 always; }
    }
EON
    symcache_zone off;
    symcache_pass unix:%%DIR%%/h.sock;
    symcache_retry_after 11;
    symcache_type http/type;
    symcache_store http;
EOH

my $r = $t->get($t->uri('3.1.0', location => '/inherit'));
is h($r, 'Content-Type'), 'server/type; version=3.0.1', 'server before http';
my @miss = (pdb => 'miss.pdb');
$r = $t->get($t->uri('3.1.0', @miss, location => '/inherit'));
is $r->{status}, 503, 'symcache_hold_timeout of the server';
is h($r, 'Retry-After'), 11, 'symcache_retry_after of http';

$r = $t->get($t->uri('3.1.0', location => '/own'));
is $r->{status}, 404, 'symcache_min_version of the location';
is h($r, 'Retry-After'), undef, 'and symcache_store: absent there';
$t->put('3.0.2', 'x');
$r = $t->get($t->uri('3.1.0', location => '/own'));
is h($r, 'Content-Type'), 'own/type; version=3.0.2', 'its own type';

$r = $t->get($t->uri('3.1.0', @miss, location => '/none'));
is $r->{status}, 404, 'symcache_pass off';
is h($r, 'Retry-After'), undef, 'nobody to ask';

$r = $t->get($t->uri('3.1.0', @miss, location => '/outer/inner'));
is h($r, 'Retry-After'), 33, 'from the outer location';
is $t->get($t->uri('3.1.0', location => '/outer/off'))->{status}, 404, 'off';
is h($t->get($t->uri('3.1.0', location => '/outer/off')), 'Cache-Control'),
    undef, 'off: an ordinary 404';

$r = $t->get($t->uri('3.1.0', @miss, location => '/if') . '?later=1');
is h($r, 'X-If'), 1, '"if" block';
is $r->{status}, 503, 'is still a SymCache location';

$r = $t->get($t->uri('3.1.1', @miss, location => '/inherit'));
is $r->{status}, 404, 'symcache_async_after: 3.1.1 takes retries';
$r = $t->get($t->uri('3.1.0', @miss, location => '/inherit'));
is $r->{status}, 503, 'and 3.1.0 does not';

$t->finish;
done_testing;
