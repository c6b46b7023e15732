#!/usr/bin/env perl

# Sources of clients with credentials: they reach the client's server as
# Symbolicator sends them, and nobody else.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use MIME::Base64 qw(encode_base64);
use Test::More;
use Test::ScriptedServer;
use Test::SigV4;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $key = "crash.pdb/$Test::Symcache::key{'crash.pdb'}";

# "$" and "@" begin names of variables and files in a configuration
my $api_key = '@$PATH${HOME}$$-key-hush1';
my $secret = 'wJalrXUtnFEMI/K7MDENG$bPxRfiCY-hush2';
my $password = 'p:hush3/@$';
my $basic = 'Basic ' . encode_base64("user:$password", '');

my $server = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my %h = %{ $req->{headers} };
    my ($path) = split /\?/, $req->{uri};
    my $is_right =
        $path =~ m{^/header/} ? ($h{'x-api-key'} // '') eq $api_key
        : $path =~ m{^/basic/} ? ($h{authorization} // '') eq $basic
        : $path =~ m{^/own/} ? ($h{authorization} // '') eq 'Bearer hush4'
        : $path =~ m{^/bucket/} ? !Test::SigV4::check($req,
            secrets => { AKIDhush5 => $secret }, region => 'eu-west-1')
        : 0;
    return $c->reply(403) if !$is_right;
    return $c->reply(302, { Location => 'http://localhost:'
        . $c->{fh}->sockport . "/away" }) if $path =~ m{/away/};
    return $c->reply(200, {}, $crash) if $path =~ m{/\Q$key\E/crash\.pdb$};
    return $c->reply(404, { 'Content-Type' => 'application/xml' },
        '<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>');
});
my $port = $server->port;
my $url = "http://127.0.0.1:$port";

my $config = {
    stores => { default => { root => $t->path('store') } },
    limits => { attempts => 1 },
    symbolication => { symbolicator => { sources => 'allow', tenants => {
        root => $t->path('tenants'), count => 100, hosts => ["127.0.0.1:$port"] } } },
};
$t->start_symcached($config, args => ["-v"]);
$t->start_symbolicated;

my @answers;
our $type = 'pe';
sub ask {
    my (@sources) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate', $json->encode({
        stacktraces => [{ frames => [{ instruction_addr => '0x402913' }] }],
        modules => [{ type => $type, debug_file => 'crash.pdb', image_addr => '0x400000',
                      debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1' }],
        sources => \@sources,
        options => { dif_candidates => \1, apply_source_context => \0 },
    }), 'Content-Type: application/json');
    push @answers, $r->{body};
    my $body = $r->{status} == 200 ? $json->decode($r->{body}) : {};
    return $body->{modules}[0];
}
sub web { my ($path, %more) = @_;
    return { type => 'http', id => 'web', url => "$url$path",
             layout => { type => 'symstore' }, %more } }

my %header = (headers => { 'X-Api-Key' => $api_key, Empty => '' });
my %s3 = (type => 's3', id => 'own', bucket => 'bucket', prefix => '/pre fix/',
          region => ['eu-west-1', "$url/"], access_key => 'AKIDhush5',
          secret_key => $secret);
my $in_bucket = "s3://bucket/pre fix/$key/crash.pdb";

my $m = ask(web('/header/', %header));
is $m->{debug_status}, 'found', 'a header';
is $m->{candidates}[-1]{location}, "$url/header/$key/crash.pdb", 'its place';
is ask(web('/header/'))->{debug_status}, 'fetching_failed',
    'who does not have it gets no file that it gave';
$m = ask(web('/header/', headers => { 'X-Api-Key' => 'other' }));
is $m->{debug_status}, 'fetching_failed', 'nor does who has another';
is $m->{candidates}[0]{download}{status}, 'noperm', 'and is told so';

my $login = $url =~ s{//}{//user:p%3Ahush3%2f%40\$@}r;
$m = ask(web('', url => "$login/basic"));
is $m->{debug_status}, 'found', 'a user name and a password in the URL';
is $m->{candidates}[-1]{location}, "$url/basic/$key/crash.pdb", 'are not told';
is ask(web('', url => "$login/own/", headers => { authorization => 'Bearer hush4' }))
    ->{debug_status}, 'found', 'a header of the name wins';

$m = ask({ %s3 });
is $m->{debug_status}, 'found', 'a bucket';
is $m->{candidates}[-1]{location}, $in_bucket, 'its place, as Symbolicator has it';
is ask({ %s3, layout => { type => 'symstore' }, filters => { filetypes => ['pdb'] } })
    ->{debug_status}, 'found', 'with a layout and filters';
$m = ask({ %s3, secret_key => 'other' });
is $m->{candidates}[-1]{download}{status}, 'noperm', 'wrong keys';
$m = ask({ %s3, region => ['eu-west-1', "http://10.0.0.1:9000/"] });
like $m->{candidates}[-1]{download}{details}, qr/address is reserved/,
    'no bucket in the own network';
my $before = () = $server->requests;
is ask({ %s3, filters => { filetypes => ['elf_debug'] } })->{debug_status}, 'missing',
    'a source without PDBs';
is scalar(() = $server->requests), $before, 'is not asked';

is ask(web('/header/away/', %header))->{debug_status}, 'fetching_failed',
    'a redirect to another host';
ok !(grep { $_->{path} eq '/away' } $server->requests), 'is not followed';

# --- who knows it

sub names { return map { m{/([0-9a-f]{32})$} } glob $t->path('tenants/*') }
my @names = names();
cmp_ok scalar(@names), '>', 8, 'a store for each';
my $shown = join "\n", @answers, map { $t->read_file($_) }
    qw(symcached.log symbolicated.log);
$shown .= $t->http($t->path('tenants/sock'), 'GET', $_)->{body}
    for qw(/v1/sources /v1/jobs /v1/misses /v1/status /metrics),
        map { "/v1/why/$_/$key" } @names;
$shown .= $t->helper('GET', $_)->{body} for qw(/v1/status /v1/sources /metrics);
like $shown, qr/crash\.pdb/, 'much is told';
# words and no numbers, which a time, a port or a process could have, too
my @secrets = ($api_key, $secret, $password, $basic, map { "hush$_" } 1 .. 5);
unlike $shown, qr/\Q$_\E/, 'but not: ' . $_ for @secrets;
my @files = split /\n/, qx(find @{[ $t->path('tenants'), $t->path('store') ]} -type f);
ok @files > 5, 'files were written';
for my $secret (@secrets) {
    is_deeply [grep { index($t->read_file($_), $secret) >= 0 } @files], [],
        "none of them has: $secret";
}

# the names are made with a key that nobody else has
my %name = map { $_ => 1 } @names;
is +(stat $t->path('tenants/.key'))[2] & 0777, 0600, 'the key of the names';
sub again {
    $t->stop_symbolicated;
    $t->stop_symcached;
    $_[0]->();
    $t->start_symcached($config);
    $t->start_symbolicated;
    ask(web('/header/', %header));
}
again(sub { });
is_deeply [grep { !$name{$_} } names()], [], 'stores have their names after a restart';
again(sub { unlink $t->path('tenants/.key') });
$t->wait_until('stores without a key go', sub { !grep { $name{$_} } names() });
is scalar(names()), 1, 'and the same secrets have another name';

# --- all forms, as symcached is asked for them

$t->stop_symbolicated;
$t->stop_symcached;
my $helper = Test::ScriptedServer->new(unix => $t->path('tenants/sock'), script => sub {
    my ($c, $req) = @_;
    $t->write_file('asked', $c->read_body($req)) if $req->{path} eq '/v1/tenants';
    $c->reply(503);
});
$t->start_symbolicated;
my %http = (type => 'http', url => 'https://h/a');
my %gcs = (type => 'gcs', bucket => 'b');
my %all = (layout => 'symstore', casing => 'default');
for (
    [{ %gcs, prefix => 'p', client_email => 'a@b', private_key => "-----BEGIN \nx\n-----END \n" },
     { %gcs, %all, layout => 'native', prefix => 'p', client_email => 'a@b',
       private_key => '-----BEGIN \nx\n-----END \n' }],
    # in one line, as in Google's file, and with the line ends of Windows
    map({ [{ %gcs, client_email => 'a@b', private_key => $_, layout => { type => 'ssqp' } },
           { %gcs, %all, layout => 'ssqp', client_email => 'a@b', private_key => '-----BEGIN \nx\n-----END \n' }] }
        '-----BEGIN \nx\n-----END \n', "-----BEGIN \r\nx\r\n-----END \r\n"),
    [{ %gcs, bearer_token => 't', layout => { type => 'symstore_index2' } },
     { %gcs, %all, token => 't', layout => 'two_tier' }],
    [{ type => 's3', bucket => 'b', region => 'r', access_key => 'i', secret_key => 's',
       aws_credentials_provider => 'static', layout => { type => 'unified' } },
     { %all, type => 's3', bucket => 'b', region => 'r', access_key => 'i',
       secret_key => 's', layout => 'unified' }],
    [{ %http, layout => { type => 'ssqp', casing => 'lowercase' },
       filters => { filetypes => ['elf_debug', 'pdb'] }, is_public => \1,
       accept_invalid_certs => \0, has_index => \1 },
     { %http, %all, layout => 'ssqp', casing => 'lower', headers => {}, public => JSON::PP::true }],
    [{ %http, url => 'https://h/buildid/', layout => { type => 'debuginfod' } },
     { %http, %all, url => 'https://h', layout => 'debuginfod', headers => {} },
     'elf'],
    [{ %http, layout => { type => 'slashsymbols' } },
     { %http, %all, layout => 'slashsymbols', headers => {} }, 'elf'],
) {
    my ($source, $want, $of) = @$_;
    local $type = $of // 'pe';
    unlink $t->path('asked');
    ask({ id => 'x', %$source });
    my @want = { name => 's0', %$want };
    push @want, { %$want, name => 's0-sym', layout => 'breakpad' }
        if $want->{layout} eq 'native';
    my $asked = $json->decode($t->read_file('asked') || '{}');
    # a public source is named by its place, wherever it stands
    for (grep { $_->{public} } @{ $asked->{sources} }) {
        like $_->{name}, qr/^p[0-9a-f]{8}$/, 'the name of a public source';
        $_->{name} = 's0';
    }
    is_deeply $asked,
        { scope => '', sources => \@want },
        "$want->{type}, $want->{layout}" or diag $t->read_file('asked');
}
unlink $t->path('asked');
ask({ id => 'x', %http, layout => { type => 'slashsymbols' },
      filters => { filetypes => ['pdb'] } });
ask({ id => 'x', %http, filters => { filetypes => ['proguard'] } });
ok !-e $t->path('asked'), 'nothing to be asked for';
$helper->stop;

$t->finish;
done_testing;
