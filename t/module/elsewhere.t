# symcache_accel and symcache_redirect: who sends the file, with which headers,
# also after a hold, and what nginx -t refuses.

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
    location /accel/ {
        symcache %%DIR%%/store;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_accel /files/;
    }
    location /bare/ { symcache %%DIR%%/store; symcache_accel /files; }
    location /relative/ { symcache %%DIR%%/store; symcache_accel $arg_to; }
    location /var/ { symcache %%DIR%%/store; symcache_accel /$arg_to; }
    location /files/ {
        internal;
        alias %%DIR%%/store/;
        default_type text/wrong;
        add_header X-Sent-By files;
    }
    location /away/ { symcache %%DIR%%/store; symcache_accel /server/; }
    location /server/ {
        internal;
        proxy_pass http://unix:%%DIR%%/n.sock:/plain/;
        proxy_hide_header Content-Type;
    }
    location /plain/ { alias %%DIR%%/store/; default_type text/wrong; }
    location /told/ {
        symcache %%DIR%%/store;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_accel /proxied/;
    }
    location /proxied/ { internal; proxy_pass http://unix:%%DIR%%/back.sock:; }
    location /redirect/ {
        symcache %%DIR%%/store;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_redirect https://cdn.example/sym;
        error_page 302 /index.html;
    }
    location /host/ {
        symcache %%DIR%%/store;
        symcache_redirect https://$arg_host/sym/;
        location /host/off/ { symcache %%DIR%%/store; symcache_redirect off; }
        location /host/accel/ { symcache %%DIR%%/store; symcache_accel /files; }
    }
    location ~ ^/capture/(?<at>[^/]+)/ {
        symcache %%DIR%%/store;
        symcache_redirect https://cdn.example/$at;
    }
EON
    log_format vars '$status $symcache_status $symcache_version $symcache_key';
    access_log %%DIR%%/vars.log vars;
EOH

sub logged {
    my ($re, $name) = @_;
    $t->wait_until($name, sub { ($t->read_file('vars.log') // '') =~ $re });
    pass $name;
}

sub uri { $t->uri('3.1.0', location => "/$_[0]") }

my $type = 'application/vnd.ms-symcache; version=3.1.0';
my $rel = "$key/app.pdb-v3.1.0.symcache";
$t->put('3.1.0', 'content');

# --- accel

for my $where ('accel', 'bare', 'away') {
    my $r = $t->get(uri($where));
    is $r->{status}, 200, "$where: 200";
    is $r->{body}, 'content', "$where: the file";
    is h($r, 'Content-Type'), $type, "$where: the type with the version";
    is h($r, 'X-Sent-By'), $where eq 'away' ? undef : 'files',
        "$where: sent by the other location";
}
is $t->get(uri('var') . '?to=files')->{body}, 'content', 'a variable';
$t->allow_log(qr/the value of "symcache_accel" is not a URI: "files/);
is $t->get(uri('relative') . '?to=files/')->{status}, 500,
    'a variable that is not a URI: not looked for beside the root';
is $t->get(uri('accel'), 'Range: bytes=0-2')->{body}, 'con', 'accel: range';
my $r = $t->http($t->nginx_socket, 'HEAD', uri('accel'));
is $r->{status}, 200, 'accel: HEAD';
is h($r, 'Content-Length'), 7, 'accel: HEAD: length';
is $t->get("/files/$rel")->{status}, 404, 'the other location is internal';
logged(qr{^200 HIT 3\.1\.0 \Q$key\E$}m, 'accel: variables outlive it');

# --- redirect

$r = $t->get(uri('redirect'));
is $r->{status}, 302, 'redirect: 302';
is h($r, 'Location'), "https://cdn.example/sym/$rel", '302: Location';
is h($r, 'Content-Type'), $type, '302: the type with the version';
is h($r, 'Cache-Control'), 'no-store', '302: not kept';
is $r->{body}, '', '302: no body';
is $t->http($t->nginx_socket, 'HEAD', uri('redirect'))->{status}, 302,
    '302: HEAD';
logged(qr{^302 HIT 3\.1\.0 \Q$key\E$}m, '302: variables');
is h($t->get(uri('host') . '?host=a.b'), 'Location'),
    "https://a.b/sym/$rel", '302: a variable';
is h($t->get(uri('capture/sym')), 'Location'), "https://cdn.example/sym/$rel",
    '302: a part of the URI';
for my $control (qw(%0d%0aX-Evil:1 %0a %7f)) {
    $r = $t->get(uri("capture/a$control"));
    is $r->{status}, 400, "302: none with $control in it";
    is h($r, $_), undef, "- nor a header $_" for qw(X-Evil Location);
}
is $t->get(uri('host/off'))->{body}, 'content', 'off in an inner location';
is h($t->get(uri('host/accel')), 'X-Sent-By'), 'files',
    'and the other one in it';

$t->put('3.1.0', 'odd', key => "a b#%.pdb/${Test::ModuleCase::guid}1");
my $odd = "/redirect/v3.1.0/a%20b%23%25.pdb/$Test::ModuleCase::guid/1";
is h($t->get($odd), 'Location'), 'https://cdn.example/sym/a%20b%23%25.pdb/'
    . "${Test::ModuleCase::guid}1/a%20b%23%25.pdb-v3.1.0.symcache",
    '302: the path is escaped';
$odd =~ s/redirect/accel/;
is $t->get($odd)->{body}, 'odd', 'accel: the path is not';

# --- after a hold, and when the file has vanished

$t->helper_says(sub {
    $t->put('3.1.0', 'made');
    $_[0]->reply(200, { 'X-Symcache-Version' => '3.1.0' });
});
for my $where (qw(accel redirect)) {
    unlink glob $t->path("store/$key/*");
    $r = $t->get(uri($where));
    is $r->{status}, ($where eq 'accel' ? 200 : 302), "$where after a hold";
}
is $t->get(uri('accel'))->{body}, 'made', 'accel: the file made';
logged(qr{^200 HELD 3\.1\.0 \Q$key\E$}m, 'accel: HELD');

# --- a file that has not been used for long: the helper is told, and answers
# in the middle of the header of the server that sends the file

sub reached {
    my ($file) = @_;
    $t->wait_until($file, sub { -e $t->path($file) });
}

$t->helper_says(sub {
    my ($c) = @_;
    reached('half');
    $c->reply(200, { 'X-Symcache-Version' => '3.1.0' });
    $c->wait_for_peer;
    $t->write_file('told', '');
});
my $back = Test::ScriptedServer->new(unix => $t->path('back.sock'),
    script => sub {
        my ($c) = @_;
        $c->send("HTTP/1.1 200 OK\r\nContent-Le");
        $t->write_file('half', '');
        reached('told');
        $c->send("ngth: 6\r\nX-Sent-By: back\r\n\r\nbehind");
    });
$t->put('3.1.0', 'old');
utime 1, 1, glob $t->path("store/$key/*");
$r = $t->get(uri('told'));
is h($r, 'X-Sent-By'), 'back', 'told meanwhile: the header of the sender';
is $r->{body}, 'behind', 'and its body';
$back->stop;

# --- a body does not go with a request that is passed on, so no length of it
# may go either: the server would take the next request for the body

for my $body (['Content-Length: 5', 'hello'],
              ['Transfer-Encoding: chunked', "5\r\nhello\r\n0\r\n\r\n"]) {
    my ($header, $bytes) = @$body;
    my $c = $t->open_http($t->nginx_socket, 'GET', uri('away'), $header,
                          'Connection: keep-alive');
    $r = $t->read_response($c);
    is $r->{status}, 400, "$header: 400";
    is $r->{body}, "A request for a file has no body\n", "$header: why";
    syswrite $c, $bytes . Test::Symcache::request_text('GET', uri('away'),
                                                       'Content-Length: 0');
    is $t->read_response($c)->{status}, 200, "$header: the next request";
}

# --- nginx -t

for (
    ['symcache_accel /a; symcache_redirect http://b;',
     qr/only one of "symcache_accel" and "symcache_redirect"/],
    ['symcache_redirect http://b; symcache_accel /a;',
     qr/only one of "symcache_accel" and "symcache_redirect"/],
    ['symcache_accel /a; symcache_accel /a;', qr/is duplicate/],
    ['symcache_accel a;', qr/needs a URI that starts with "\/"/],
    ['symcache_redirect $no_such;', qr/unknown "no_such" variable/],
) {
    my ($conf, $re) = @$_;
    my ($rc, $out) = $t->test_nginx($conf);
    isnt $rc, 0, "refused: $conf";
    like $out, $re, 'with words that help';
}

$t->finish;
done_testing;
