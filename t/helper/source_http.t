#!/usr/bin/perl

# A symbol server: forms, spellings, redirects and what they carry along.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $id = $Test::SourceCase::id;
my $yes = JSON::PP::true();

# --- a real nginx, case-sensitive as static files are

my $port = Test::Symcache::free_port();
my $other = Test::Symcache::free_port();
$t->write_file("sym/plain.pdb/$id/plain.pdb", $crash);
$t->write_file("sym/packed.pdb/$id/packed.pd_",
               do { require Test::Cabinet;
                    Test::Cabinet::cabinet($crash, lzx => 1) });
$t->write_file("sym/lower.pdb/\L$id\E/lower.pdb", $crash);
$t->write_file("sym/lower2.pdb/\L$id\E/lower2.pdb", $crash);
$t->write_file("sym/a b#+%~(1)\xc3\xa4.pdb/$id/a b#+%~(1)\xc3\xa4.pdb",
               $crash);
$t->write_file("sym/ptr.pdb/$id/file.ptr", 'PATH:\\\\srv\\sym\\far.pdb');
$t->write_file("sym/url.pdb/$id/file.ptr",
               "PATH:http://127.0.0.1:$other/far.pdb");
$t->write_file('share/far.pdb', $crash);
$t->write_file("sym/half.pdb/$id/file.ptr",
               "PATH:http://127.0.0.1:$other/half.pdb");
$t->write_file('share/half.pd_', Test::Cabinet::cabinet($crash));
$t->write_file("sym/below.pdb/$id/file.ptr", "PATH:.\\plain.pdb\\$id\\plain.pdb");
$t->write_file("sym/half2.pdb/$id/file.ptr",
               "PATH:packed.pdb\\$id\\packed.pdb\r\n");
$t->write_file("sym/up.pdb/$id/file.ptr", 'PATH:..\\share\\far.pdb');
$t->write_file("sym/msg.pdb/$id/file.ptr", "MSG: not kept\r\n");
$t->write_file("sym/html.pdb/$id/file.ptr", '<html>');
$t->write_file("sym/utf16.pdb/$id/file.ptr", "\xff\xfe" . join '',
               map { "$_\0" } split //, "PATH:http://127.0.0.1:$other/far.pdb");
$t->write_file("sym/ring.pdb/$id/file.ptr",
               "PATH:http://127.0.0.1:$port/ring.pdb/$id/file.ptr");
$t->write_file("sym/store.pdb/$id/file.ptr",
               "PATH:\\\\srv\\sym\\store.pdb\\$id\\store.pdb");
$t->write_file("share/store.pdb/$id/file.ptr",
               "PATH:http://127.0.0.1:$other/far.pdb");
$t->write_file("sym/secret.pdb/$id/file.ptr", 'PATH:/etc/passwd');
$t->start_nginx('', load => 0, http => <<"CONF",
    log_format up '\$request_uri \$http_user_agent|\$http_accept_encoding';
    access_log %%DIR%%/up.log up;
    server { listen 127.0.0.1:$port; root %%DIR%%/sym; }
    server { listen 127.0.0.1:$other; root %%DIR%%/share; }
CONF
    address => "127.0.0.1:$port");

sub asked {
    my ($name) = @_;
    return grep { m{/\Q$name\E} } map { (split)[0] }
        split /\n/, $t->read_file('up.log') // '';
}

my $c = Test::SourceCase->new($t, sources => { up => {
    type => 'http', url => "http://127.0.0.1:$port/", layout => 'symstore',
    internal => $yes, map => { '\\\\srv\\sym' => $t->path('share') },
} });

my $r = $c->found('plain.pdb', 'a plain PDB from nginx');
ok $c->published($r) eq $crash, 'goes to the transcoder as it is';
is_deeply [asked('plain.pdb')], ["/plain.pdb/$id/plain.pdb"],
    'with one request';
like $t->read_file('up.log'),
    qr{Microsoft-Symbol-Server/[\d.]+ .*symcached.*\|identity},
    'that names us and asks for no coding';
$c->found('packed.pdb', 'the form with an underscore');
$c->found("a b#+%~(1)\xc3\xa4.pdb", 'odd characters in the name');
$c->found('ptr.pdb', 'file.ptr to a mapped share');
$c->found('url.pdb', 'file.ptr to a URL');

$c->found('half.pdb', 'file.ptr to a URL that has the packed form only');
$c->found('below.pdb', 'file.ptr to a place below the source');
$c->found('half2.pdb', 'which has the packed form only');
$c->found('utf16.pdb', 'file.ptr in UTF-16');
$c->found('store.pdb', 'file.ptr to a share whose file.ptr names a URL');
$r = $c->ask('up.pdb');
is $r->{status}, 404, 'file.ptr that leads out of the source';
like join("\n", map { $_->[2] } @{ $r->{places} }), qr/dot component/, 'why';
$r = $c->ask('msg.pdb');
is $r->{status}, 404, 'file.ptr with a message';
like join("\n", map { $_->[2] } @{ $r->{places} }), qr/^MSG: not kept$/m, 'why';
$r = $c->ask('secret.pdb');
is $r->{status}, 404, 'file.ptr to a local path';
$r = $c->ask('html.pdb');
is $r->{status}, 503, 'file.ptr that is HTML';
$r = $c->ask('ring.pdb');
is $r->{status}, 503, 'file.ptr that names a file.ptr';
like join("\n", map { $_->[2] } @{ $r->{places} }),
    qr/^the text of a file\.ptr$/m, 'which is not a PDB';

$r = $c->absent('never.pdb', qr/^404$/, 'no such PDB');
my @six = asked('never.pdb');
is scalar @six, 6, 'is known after three forms in two spellings';
is_deeply [sort @six], [sort map { my $k = $_;
    map { "/never.pdb/$k/$_" } qw(never.pdb never.pd_ file.ptr) } $id, lc $id],
    'each asked for once';

$c->found('lower.pdb', 'a key in lower case');
$c->found('lower2.pdb', 'and another');
like((asked('lower2.pdb'))[0], qr{/\L$id\E/lower2\.pdb},
     'is asked for in lower case first, once that has worked');
$t->stop_symcached;

# --- redirects and secrets

my $away = Test::ScriptedServer->new(log => $t->path('away.log'),
    script => sub { $_[0]->reply(200, {}, $crash) });
my $up;
$up = Test::ScriptedServer->new(log => $t->path('script.log'), script => sub {
    my ($c, $req) = @_;
    my ($name, $n) = $req->{path} =~ m{(\w+?)(\d*)\.pdb/};
    return $c->reply(302, { Location => $away->url . '/x?sig=SECRET' }, '')
        if $name eq 'away';
    return $c->reply(301, { Location => '/here/hidden.pdb/x?sig=SECRET' }, '')
        if $name eq 'same';
    return $c->reply(200, {}, $crash) if $req->{path} =~ m{^/here/};
    return $c->reply(302, { Location => $req->{uri} }, '')
        if $name eq 'loop';
    return $c->reply(302, { Location => 'file:///etc/passwd' }, '')
        if $name eq 'file';
    return $c->reply(302, { Location => '/_signin?x=SECRET' }, '')
        if $name eq 'private';
    if ($name eq 'hops') {
        my ($k) = $req->{uri} =~ /hop=(\d+)/;
        $k //= 0;
        return $c->reply(200, {}, $crash) if $k == $n;
        return $c->reply(307, { Location =>
            $req->{path} . '?hop=' . ($k + 1) }, '');
    }
    return $c->reply(404, {}, '');
});

$c = Test::SourceCase->new($t, sources => { up => {
    type => 'http', url => $up->url . '/base',
    layout => 'symstore', internal => $yes,
    headers => { 'X-Api-Key' => '$UP_KEY', 'Cookie' => 'COOKIE',
                 'Authorization' => 'Basic PASSWORD' },
} }, env => { UP_KEY => 'APIKEY' });

$c->found('away5.pdb', 'a redirect to another host');
my ($first) = $up->requests;
is $first->{headers}{'x-api-key'}, 'APIKEY', 'the source got our header';
is $first->{headers}{authorization}, 'Basic PASSWORD', 'and the password';
is $first->{uri}, "/base/away5.pdb/$id/away5.pdb",
    'and was asked below its path';
my ($far) = $away->requests;
is $far->{uri}, '/x?sig=SECRET', 'the other host got its query';
ok !exists $far->{headers}{$_}, "and no $_ of ours"
    for qw(x-api-key cookie authorization);

$c->found('same5.pdb', 'a redirect within the host');
my ($here) = grep { $_->{path} =~ m{^/here/} } $up->requests;
is $here->{headers}{'x-api-key'}, 'APIKEY', 'keeps our headers';

$c->found('hops5.pdb', 'five redirects');
$c->undecided('hops6.pdb', 'failed', qr/too many redirects/, 'six redirects');
$c->undecided('loop.pdb', 'failed', qr/too many redirects/, 'a loop');
$c->undecided('file.pdb', 'failed', qr/protocol/i, 'a redirect to file:');
$c->undecided('private.pdb', 'failed', qr/login page/,
              'a redirect to a login page');

my $said = $t->helper_log . $t->helper('GET', '/v1/jobs')->{body}
    . $t->helper('GET', '/v1/sources')->{body} . join '', map {
        $t->helper('GET', "/v1/why/default/$_.pdb/$id")->{body}
    } qw(away5 same5 private loop);
unlike $said, qr/APIKEY|PASSWORD|COOKIE|SECRET/,
    'no log line and no answer holds a secret';
$t->stop_symcached;

# --- addresses

$c = Test::SourceCase->new($t, sources => { up => {
    type => 'http', url => $up->url . '/base', layout => 'symstore',
} });
my $before = () = $up->requests;
$c->undecided('same6.pdb', 'failed', qr/reserved/,
              'a loopback address is refused');
is scalar(() = $up->requests), $before, 'and is not connected to';

(my $named = $up->url) =~ s/127\.0\.0\.1/localhost/;
$t->stop_symcached;
$c = Test::SourceCase->new($t, sources => { up => {
    type => 'http', url => "$named/base", layout => 'symstore',
} });
$c->undecided('same7.pdb', 'failed', qr/reserved/, 'by name as well');

$t->finish;
done_testing;
