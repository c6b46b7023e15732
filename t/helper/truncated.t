#!/usr/bin/env perl

# Files that arrive in part: a body whose end nobody told, by plain HTTP and by
# TLS that ends without close_notify, and whole answers with a part of the file,
# as a server has it that was filled by a transfer that broke off.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

plan skip_all => 'no zstd' if system('zstd --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $id = $Test::Symcache::key{'crash.pdb'};
my $build = '93ac61ec5a8eb1396f9fbd350e3169a558528a40';
sub fixture { scalar qx(zstd -dcq '@{[ $t->data("convert/$_[0]") ]}.zst') }
sub half { substr $_[0], 0, length($_[0]) / 2 }

# The UUID in the load command LC_UUID.
my $macho = fixture('macho/arm64.dwarf');
my $uuid = lc unpack 'H*', ($macho =~ /\x1b\0\0\0\x18\0\0\0(.{16})/s)[0];
my $fat = $t->read_file($t->data('convert/macho/fat.dwarf'));
my $of_fat = lc unpack 'H*', ($fat =~ /\x1b\0\0\0\x18\0\0\0(.{16})/s)[0];

# By its place at the server: a file, its key, and how it is answered when cut.
my $lines = join '', map { "int f$_(int i);\n" } 1 .. 3000;
my $names = join "\n", 'BCSymbolMap Version: 2.0', map { "name$_" } 1 .. 3000;
my $mapping = join '', map { "org.a$_ -> b$_:\n    void f() -> a\n" } 1 .. 999;
sub unified { lc($_[0] =~ s{^(..)}{$1/}r) . "/$_[1]" }
my %file = (
    "buildid/$build/source/usr/a.c" => [$lines, 'source', '%252fusr%252fa.c', "buildid-$build"],
    "buildid/$build/section/.text" => [$lines, 'section', '%252etext', "buildid-$build"],
    unified($uuid, 'bcsymbolmap') => [$names, 'bcsymbolmap', 'bcsymbolmap', uc "${uuid}0"],
    unified($uuid, 'il2cpp') => ['{"a.cpp":{"b.cs":{"1":2}}}', 'il2cpp', 'il2cpp', uc "${uuid}0"],
    unified($uuid, 'proguard') => [$mapping, 'mapping', 'mapping.txt', uc "${uuid}0"],
    unified($uuid, 'debuginfo') => [$macho, 'debuginfo', 'arm64', "buildid-$uuid"],
    unified($of_fat, 'debuginfo') => [$fat, 'debuginfo', 'fat', "buildid-$of_fat"],
    "crash.pdb/$id/crash.pdb" => [$t->read_file($t->data('pdb/crash.pdb')), 'debuginfo', 'crash.pdb', $id],
);

# The mode is the first part of the path.
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my ($mode, $place) = $req->{path} =~ m{^/([^/]+)/[^/]+/(.*)$} or return $c->close;
    return $c->reply(404, {}, '') unless $file{$place};
    my ($body) = @{ $file{$place} };
    my $cut = half($body);
    my %length = ('Content-Length' => length $body);
    return $c->reply(200, {}, $body) if $mode eq 'whole';
    return $c->reply(200, {}, $cut) if $mode eq 'part';
    $c->send("HTTP/1.0 200 OK\r\n\r\n$body") if $mode eq 'endless';
    $c->send("HTTP/1.0 200 OK\r\n\r\n$cut") if $mode eq 'ends';
    $c->send("HTTP/1.1 200 OK\r\n\r\n$cut") if $mode eq 'ends11';
    $c->send("HTTP/1.1 200 OK\r\nContent-Length: " . length($body) . "\r\n\r\n$cut") if $mode eq 'length';
    $c->send(sprintf "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", length $cut, $cut)
        if $mode eq 'chunk';
    $c->close;
});

# TLS before it, which ends without close_notify, as an attacker's FIN does.
$t->write_file('tls.py', <<'PY');
import socket, ssl, sys, threading
port, key, cert, ready = int(sys.argv[1]), *sys.argv[2:5]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)
listener = socket.create_server(("127.0.0.1", 0))
def copy(a, b, end):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    except OSError:
        pass
    end()
def serve(plain):
    try:
        client = context.wrap_socket(plain, server_side=True)
    except (OSError, ssl.SSLError):
        return
    server = socket.create_connection(("127.0.0.1", port))
    threading.Thread(target=copy, daemon=True, args=(client, server, lambda: server.shutdown(socket.SHUT_WR))).start()
    copy(server, client, lambda: socket.socket.shutdown(client, socket.SHUT_WR))
open(ready + ".new", "w").write(str(listener.getsockname()[1]))
import os
os.rename(ready + ".new", ready)
while True:
    threading.Thread(target=serve, daemon=True, args=(listener.accept()[0],)).start()
PY
my ($python, $tls);
if (system('python3 -c "import ssl" >/dev/null 2>&1') == 0) {
    system("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost "
           . "-addext subjectAltName=DNS:localhost -keyout $dir/key.pem -out $dir/cert.pem >$dir/openssl.out 2>&1") == 0
        or die $t->read_file('openssl.out');
    $python = $t->spawn('tls.out', {}, 'python3', $t->path('tls.py'), $web->port, map { $t->path($_) }
                        qw(key.pem cert.pem tls.port));
    $t->wait_until('TLS is served', sub { $tls = $t->read_file('tls.port') });
}

my %layout = ('%252fusr%252fa.c' => 'debuginfod', '%252etext' => 'debuginfod', 'crash.pdb' => 'symstore');
my @modes = ((map { [$_, $web->url] } qw(whole part endless ends ends11)),
             $tls ? map { ["tls$_", "https://localhost:$tls", $_] } qw(whole ends ends11 length chunk) : ());
my $config = $t->default_config('');
$config->{sources} = {};
for my $m (@modes) {
    my ($name, $url, $mode) = (@$m, $m->[0]);
    for my $layout ('debuginfod', 'symstore', 'unified') {
        $config->{sources}{"$name-$layout"} = { type => 'http', layout => $layout,
            url => "$url/$mode/$layout", internal => JSON::PP::true() };
    }
    $config->{stores}{$name} = { root => $t->path("stores/$name"), sources => [map { "$name-$_" }
        qw(debuginfod symstore unified)], transcoders => $config->{stores}{default}{transcoders} };
}
delete $config->{stores}{default};
# one place fails after another
$config->{limits} = { attempts => 1, breaker_failures => 1000 };
$t->start_symcached($config, env => { SSL_CERT_FILE => "$dir/cert.pem" });

sub ask {
    my ($store, $kind, $name, $key) = @_;
    my $r = $t->helper('GET', "/v1/$kind/$store/$name/$key?version=1.0.0&wait=60");
    my $path = Test::Symcache::header($r, 'X-Symcache-Path') // return $r->{status};
    return "$r->{status} " . $t->sha256($t->read_file("downloads/$store/$path"));
}
sub why {
    my ($store, $kind, $name, $key) = @_;
    return join "\n", map { "$_->{outcome} $_->{detail}" } grep { $_->{outcome} ne 'not found' }
        @{ $t->helper_json("/v1/why/$store/$name/$key?kind=$kind")->{attempts} };
}

# What says its end may come without a length, but whole.
my %says = map { $_ => 1 } "crash.pdb/$id/crash.pdb", map { unified($_, 'debuginfo') } $uuid, $of_fat;
for my $m (@modes) {
    my ($mode) = @$m;
    for my $place (sort keys %file) {
        my ($body, @key) = @{ $file{$place} };
        my $name = "$mode: $key[0] " . ($place =~ s/.*\///r);
        if ($mode =~ /whole$/ || ($mode eq 'endless' && $says{$place})) {
            is ask($mode, @key), '200 ' . $t->sha256($body), $name;
        } elsif ($mode ne 'part' || $says{$place}) {
            is ask($mode, @key), 503, $name;
            like why($mode, @key), $mode =~ /^tls/ ? qr/^(?:failed|unusable) /m
                : $says{$place} ? qr/^unusable .*(?:cut|truncated)/m
                : qr/^unusable 200 without a length/m, "$name: why";
        }
    }
    is_deeply $t->absences("stores/$mode"), {}, "$mode: nothing is remembered of a cut file";
}

# --- a PE image whose sections are there, but not what their names refer to

my $pe = fixture('pe/companion.debug');
my ($folder, $pe_id) = ('pe', 'A2FA80CB07516E61785C1F97E36D5A951');
$t->stop_symcached;
$config->{sources}{folder} = { type => 'filesystem', path => $t->path($folder), layout => 'unified' };
$config->{stores} = { default => { root => $t->path('store'), sources => ['folder'], transcoders => [
    { version => '9.0.0', inputs => ['pe'], command => [$t->program('pdb2symcache'), '{pdb}'] }] } };
$config->{cache}{retry_errors_after} = '1s';
$t->write_file("pe/" . unified($pe_id, 'debuginfo'), substr $pe, 0, -4);
$t->start_symcached($config);
sub made { $t->helper('GET', "/v1/symcache/default/a.dll/$pe_id?version=9.0.0&wait=60")->{status} }
is made(), 503, 'a PE image without the end of the names of its sections';
like why('default', 'symcache', 'a.dll', $pe_id), qr/cut off/, '... is cut off';
$t->write_file("pe/" . unified($pe_id, 'debuginfo'), $pe);
$t->wait_until('the whole file is used', sub { made() == 200 });

# one from which a tool took symbols and names away needs none

my $bare = fixture('pe/mingw-5.dll');
my $header = unpack 'x60 V', $bare;
my ($stamp, $size) = (unpack('V', substr $bare, $header + 8), unpack 'V', substr $bare, $header + 80);
my $code_id = sprintf '%08X%x', $stamp, $size;
substr $bare, $header + 12, 8, "\0" x 8;
$t->write_file("images/bare.dll/$code_id/bare.dll", $bare);
$t->stop_symcached;
$config->{sources}{folder} = { type => 'filesystem', path => $t->path('images'), layout => 'symstore' };
$t->start_symcached($config);
is +(split / /, ask('default', 'executable', 'bare.dll', $code_id))[0], 200, 'a PE image without a table of names';

$t->stop_symcached;
if ($python) {
    kill 'TERM', $python;
    waitpid $python, 0;
}
$t->finish;
done_testing;
