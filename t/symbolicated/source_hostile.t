#!/usr/bin/env perl

# Source code of strangers: bundles that unpack to far too much or have far too
# many members, and servers behind links that hang, lie or redirect.  Each costs
# the lines of its own files, says why, and no other request waits for it.

use strict;
use warnings;

use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::File qw(slurp spew);
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;
use Test::Zip;
use Time::HiRes qw(time);

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;
my $data = "$FindBin::Bin/../data/sourcebundle";
my $build = 'd11f4ac8ee483d6e69b18b9de238d72346637b94';
my $place = $t->path('symbols/d1/' . substr $build, 2);
my $main = slurp("$data/ring/main.c");
utf8::decode(my $text = $main);
my $line = (split /\n/, $text)[9];

# What the server behind the links does, by the first part of a path.
my %does = (
    good => sub { $_[0]->reply(200, {}, $main) },
    huge => sub { $_[0]->reply(200, {}, "x\n" x (5 << 19)) },
    bytes => sub { $_[0]->reply(200, {}, "\xff\xfe" x 100) },
    short => sub { $_[0]->send("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n"
        . "Connection: close\r\n\r\nint main"); $_[0]->close },
    moved => sub { $_[0]->reply(302, { Location => slurp($t->path('moved')) }, '') },
    failing => sub { $_[0]->reply(500, {}, '') },
    login => sub { $_[0]->reply(401, {}, '') },
    hanging => sub { select undef, undef, undef, 0.05 while -e $t->path('hangs') },
);
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my ($what) = $req->{path} =~ m{^/git/(\w+)/main\.c$};
    return $c->reply(404) unless $what;
    ($does{$what} // sub { $_[0]->reply(404) })->($c);
});
my $other = Test::ScriptedServer->new(log => $t->path('other.log'), script => sub {
    my ($c, $req) = @_;
    $c->reply(200, {}, $main);
});
my $git = 'http://127.0.0.1:' . $web->port . '/git';

make_path($place);
spew("$place/debuginfo", slurp("$data/ring/ring"));
my $config = { stores => { default => { root => $t->path('store'),
        sources => ['local', 'git'], transcoders => [{ version => '9.0.0',
            inputs => ['pdb', 'elf'], command => ['pdb2symcache', '{pdb}'] }] } },
    limits => { attempts => 1, first_byte_time => '2s' },
    sources => {
        local => { type => 'filesystem', layout => 'unified',
                   path => $t->path('symbols') },
        git => { type => 'web', url => $git, internal => JSON::PP::true,
                 headers => { Authorization => 'Bearer s3cret' } } },
    symbolication => { symbolicator => { links => JSON::PP::true } } };

sub start {
    my ($bundle) = @_;
    if ($t->{running}++) { $t->stop_symbolicated; $t->stop_symcached }
    Test::Symcache::remove_tree($t->path($_)) for qw(store downloads);
    spew("$place/sourcebundle", $bundle);
    $t->start_symcached($config);
    $t->start_symbolicated;
}
sub links_to {
    my ($url) = @_;
    return "SYSB\2\0\0\0" . Test::Zip::zip(['manifest.json', $json->encode({
        files => {}, source_links => { '/build/ring/*' => "$url/*" } })]);
}
sub request {
    my ($code_id) = @_;
    return $json->encode({ modules => [{ type => 'elf', code_id => $code_id,
            image_addr => '0x1000', image_size => 0x10000,
            code_file => '/build/ring/ring' }],
        options => { dif_candidates => JSON::PP::true },
        stacktraces => [{ frames => [{ instruction_addr => '0x2142' }] }] });
}
sub post {
    my ($path, $code_id) = @_;
    my $r = $t->post($t->symbolicated_socket, $path, request($code_id // $build),
        'Content-Type: application/json');
    is $r->{status}, 200, 'answered' or diag $r->{raw};
    return $json->decode($r->{body});
}
sub frame { $_[0]{stacktraces}[0]{frames}[1] }
sub links { return { map { $_->{location} => $_->{download}{status} }
    grep { $_->{source} eq 'sourcelink' } @{ $_[0]{modules}[0]{candidates} } } }
sub why {
    my $page = $t->helper_json("/v1/why/default/ring/C84A1FD148EE6E3D69B18B9DE238D7230"
        . '?kind=sourcecache');
    return join '; ', map { $_->{detail} // '' } @{ $page->{attempts} };
}

# --- servers behind links

for (['good', 'ok', $line], ['huge', 'ok'], ['bytes', 'ok'], ['short', 'error'],
     ['failing', 'error'], ['login', 'error'], ['missing', 'notfound']) {
    my ($what, $status, $want) = @$_;
    start(links_to("$git/$what"));
    my $got = post('/symbolicate');
    is frame($got)->{function}, 'weigh', "$what: the name";
    is frame($got)->{source_link}, "$git/$what/main.c", 'and the link';
    is frame($got)->{context_line}, $want, $want ? 'the line' : 'no line';
    is links($got)->{"$git/$what/main.c"}, $status, "told as $status"
        or diag explain $got->{modules}[0]{candidates};
}

# A redirect: the credentials stay with their own origin, and where the source may
# not reach internal addresses, none is reached by it.
spew($t->path('moved'), 'http://127.0.0.1:' . $other->port . '/main.c');
start(links_to("$git/moved"));
my $got = post('/symbolicate');
is scalar($other->requests), 1, 'a redirect of a source that may reach internal addresses';
is_deeply [grep { $_->{headers}{authorization} } $other->requests], [],
    'no credentials go there';
$config->{sources}{git}{internal} = JSON::PP::false;
$config->{symbolication}{symbolicator}{tenants} = { hosts => [$web->url =~ m{//(.*)}] };
start(links_to("$git/moved"));
$got = post('/symbolicate');
ok !exists frame($got)->{context_line}, 'one that may reach its own address only';
is links($got)->{"$git/moved/main.c"}, 'error', 'that is a failure';
is scalar($other->requests), 1, 'nothing is asked there';
spew($t->path('moved'), "$git/good/main.c");
start(links_to("$git/moved"));
is frame(post('/symbolicate'))->{context_line}, $line, 'one within the source is followed';

# Is another request answered within a second, or before the one that is pending?
sub before {
    my ($pending) = @_;
    my $began = time;
    post('/symbolicate', '00' x 20);
    return 1 if time - $began < 1;
    my $r = $t->http($t->symbolicated_socket, 'GET', "/requests/$pending->{request_id}?timeout=0");
    return $json->decode($r->{body})->{status} eq 'pending';
}

# A server that hangs: the answer is pending, others are not, and it has an end.
spew($t->path('hangs'), '');
start(links_to("$git/hanging"));
my $pending = post('/symbolicate?timeout=0');
is $pending->{status}, 'pending', 'a server that hangs: the answer is pending';
ok before($pending), 'another request is answered before that';
my $answer;
$t->wait_until('its end', sub {
    my $r = $t->http($t->symbolicated_socket, 'GET', "/requests/$pending->{request_id}?timeout=1");
    $answer = $json->decode($r->{body});
    return $answer->{status} eq 'completed';
});
is frame($answer)->{function}, 'weigh', 'it has its names';
ok !exists frame($answer)->{context_line}, 'and no line';
is links($answer)->{"$git/hanging/main.c"}, 'error', 'the server has failed';
unlink $t->path('hangs');

# --- bundles

start(slurp("$data/own/bad-bomb.zip"));
$got = post('/symbolicate');
is frame($got)->{function}, 'weigh', 'a bomb: the name';
ok !exists frame($got)->{context_line}, 'and no line';

my @members = map { ["files/f$_.c", "int f$_;\n", method => 0] } 1 .. 99_998;
my %files = map { $_->[0] => { type => 'source', path => "/many/$_->[0]" } } @members;
$files{'files/main.c'} = { type => 'source', path => '/build/ring/main.c' };
local $Test::Zip::base = 8;
my $many = "SYSB\2\0\0\0" . Test::Zip::zip(@members, ['files/main.c', $main],
    ['manifest.json', $json->encode({ files => \%files })]);
start($many);
$pending = post('/symbolicate?timeout=0');
ok before($pending), '100,000 members: another request does not wait for them';
$got = post('/symbolicate');
is frame($got)->{context_line}, $line, 'and the line of one is answered';
my $cache = (glob $t->path('store') . '/ring/*/*.sourcecache')[0];
cmp_ok -s $cache, '<', 40e6, 'its SourceCache is bounded' if $cache;

# What is damaged counts as unpacked, too: 1 GiB of each bundle is.
$text = ('x' x 63 . "\n") x 2 ** 20;
my $packed = Test::Zip::deflate($text);
sub damaged {
    my ($n) = @_;
    %files = map { ("files/d$_.c" => { type => 'source', path => "/d$_.c" }) } 1 .. $n;
    $files{'files/main.c'} = { type => 'source', path => '/build/ring/main.c' };
    start("SYSB\2\0\0\0" . Test::Zip::zip((map { ["files/d$_.c", '', crc => 1,
        packed => $packed, size => length $text] } 1 .. $n), ['files/main.c', $main],
        ['manifest.json', $json->encode({ files => \%files })]));
    return frame(post('/symbolicate'))->{context_line};
}
is damaged(2), $line, 'damaged members cost no other one';
is damaged(17), undef, '... while they are not too much to be unpacked';

start("SYSB\2\0\0\0" . Test::Zip::zip(['manifest.json',
    $json->encode({ files => {}, source_links =>
        { map { ("/d$_/*" => "https://x.example/$_/*") } 1 .. 1001 } })]));
post('/symbolicate');
like why(), qr/1,?001|1,?000|links/, 'too many links: why says so' or diag why();

$t->finish;
done_testing;
