#!/usr/bin/env perl

# The operator's credentials for source code serve no link that a client names:
# neither by a frame, nor by a report, nor by a bundle or debug file of its own
# source, nor by a redirect of that.

use strict;
use warnings;

use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::File qw(slurp spew);
use Test::More;
use Test::Pdb;
use Test::ScriptedServer;
use Test::Symcache;
use Test::Zip;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;
my $data = "$FindBin::Bin/../data";
my $build = 'd11f4ac8ee483d6e69b18b9de238d72346637b94';
my $below = 'd1/' . substr $build, 2;

# The operator's, with credentials.
my $git = Test::ScriptedServer->new(log => $t->path('git.log'), script => sub {
    my ($c, $req) = @_;
    $c->reply(200, {}, "password\n" x 400);
});
my $private = 'http://127.0.0.1:' . $git->port . '/private';
my $links = "SYSB\2\0\0\0" . Test::Zip::zip(['manifest.json', $json->encode({
    files => {}, source_links => { '/build/ring/*' => "$private/*",
        '/own/*' => "$private/own/*" } })]);

# The client's.
my $folder = 'c:\projects\breakpad-tools\deps\breakpad\src\client\windows'
    . '\crash_generation\\';
my $pdb = Test::Pdb::with_streams(slurp("$data/pdb/crash_with_srcsrv.pdb"),
    srcsrv => '', sourcelink => $json->encode({ documents => {
        "$folder*" => "$private/*" } }));
my %has = ("/$below/debuginfo" => slurp("$data/sourcebundle/ring/ring"),
    "/$below/sourcebundle" => $links,
    '/32/49d99d0c4049318610f4e4fb0b69361/debuginfo' => $pdb);
my $client = Test::ScriptedServer->new(log => $t->path('client.log'), script => sub {
    my ($c, $req) = @_;
    my ($where, $path) = $req->{path} =~ m{^/(plain|moved)(/.*)};
    return $c->reply(404) unless $where && $has{$path};
    return $c->reply(302, { Location => "$private/moved$path" }) if $where eq 'moved';
    $c->reply(200, {}, $has{$path});
});

# The operator's store has the program, and a bundle with a link of its own.
make_path($t->path("symbols/$below"));
spew($t->path("symbols/$below/debuginfo"), $has{"/$below/debuginfo"});
$t->start_symcached({
    stores => { default => { root => $t->path('store'), sources => ['local', 'git'],
        transcoders => [{ version => '9.0.0', inputs => ['pdb', 'elf'],
            command => ['pdb2symcache', '{pdb}'] }] } },
    limits => { attempts => 1 },
    sources => {
        local => { type => 'filesystem', layout => 'unified',
                   path => $t->path('symbols') },
        git => { type => 'web', url => $private, internal => JSON::PP::true,
                 headers => { Authorization => 'Bearer s3cret' } } },
    symbolication => { symbolicator => { links => JSON::PP::true,
        corrections => ['all'], debuginfod => [$private], sources => 'allow',
        tenants => { root => $t->path('tenants'),
            hosts => ['127.0.0.1:' . $client->port] } } } });
$t->start_symbolicated;

sub request {
    my ($path, $request) = @_;
    my $r = $t->post($t->symbolicated_socket, "$path?scope=a", $json->encode($request),
        'Content-Type: application/json');
    is $r->{status}, 200, 'answered' or diag $r->{raw};
    return $json->decode($r->{body});
}
sub post {
    my ($where, $module, @frames) = @_;
    return request('/symbolicate', {
        $where ? (sources => [{ type => 'http', id => 'own', url => $client->url
            . "/$where/", layout => { type => 'unified' }, is_public => JSON::PP::false }])
            : (),
        modules => [{ image_addr => '0x1000', image_size => 0x20000, %$module }],
        stacktraces => [{ frames => \@frames }] });
}
sub frames { @{ $_[0]{stacktraces}[0]{frames} } }
sub is_secret {
    my ($got, $name) = @_;
    is scalar($git->requests), 0, "$name: nothing is asked for";
    unlike $json->encode($got), qr/password/, 'and nothing of it is told';
}

my %elf = (type => 'elf', code_id => $build, code_file => '/build/ring/ring');
my $got = post('', \%elf, { instruction_addr => '0x1010', abs_path => "$private/x.c",
    filename => "$private/x.c", lineno => 1, source_link => "$private/x.c" });
is((frames($got))[0]{source_link}, "$private/x.c", 'a link of a frame is told as it came');
is_secret($got, 'a link of a frame');

$got = post('plain', \%elf, { instruction_addr => '0x2142' });
is((frames($got))[1]{source_link}, "$private/main.c", 'the client\'s bundle has a link');
is_secret($got, 'a bundle of the client\'s source');

$got = post('plain', { type => 'pe', debug_file => 'crash.pdb',
    debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1' }, { instruction_addr => '0x2000' });
is((frames($got))[0]{lineno}, 323, 'the client\'s PDB has a line') or diag explain $got;
is_secret($got, 'a PDB of the client\'s source');

$got = post('moved', \%elf, { instruction_addr => '0x2142' });
is((frames($got))[0]{status}, 'missing', 'a redirect of the client\'s source leads nowhere');
is_secret($got, 'that');

$got = request('/symbolicate', { modules => [{ image_addr => '0x1000',
        image_size => 4096, type => 'sourcebundle', code_file => $private,
        debug_file => $private }], scraping => { enabled => JSON::PP::true,
        allowed_origins => ['*'], headers => { Authorization => 'x' } },
    stacktraces => [{ frames => [{ instruction_addr => '0x1010',
        abs_path => "$private/x.c", lineno => 1 }] }] });
is_secret($got, 'a module that is called so');

# a report names files as well
my $report = slurp("$data/apple/own-0.txt");
$report =~ s/^(\d+ +\S+ +\S+ .*)$/$1 ($private\/x.c:1)/mg;
my $r = $t->post($t->symbolicated_socket, '/applecrashreport?scope=a',
    join("\r\n", '--b', 'Content-Disposition: form-data; name="apple_crash_report"; '
        . 'filename="x"', '', $report, '--b--', ''),
    'Content-Type: multipart/form-data; boundary=b');
is $r->{status}, 200, 'a report is answered' or diag $r->{raw};
is_secret({ body => $r->{body} }, 'a report');

$t->finish;
done_testing;
