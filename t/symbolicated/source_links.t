#!/usr/bin/env perl

# Lines of source files that debug information links to: fetched only if the
# configuration says so, once for all, and with credentials only for paths that
# the debug information names.

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

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;
my $data = "$FindBin::Bin/../data/sourcebundle";
my $build = 'd11f4ac8ee483d6e69b18b9de238d72346637b94';
my $place = $t->path('symbols/d1/' . substr $build, 2);

my %files = ('/private/main.c' => slurp("$data/ring/main.c"));
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    return $c->reply(401, {}, '')
        if ($req->{headers}{authorization} // '') ne 'Bearer s3cret';
    my $text = $files{ $req->{path} };
    $c->reply(defined $text ? 200 : 404, {}, $text // '');
});
my $host = '127.0.0.1:' . $web->port;
make_path($place);
spew("$place/debuginfo", slurp("$data/ring/ring"));
spew("$place/sourcebundle", "SYSB\2\0\0\0" . Test::Zip::zip(['manifest.json',
    $json->encode({ files => {}, source_links =>
        { '/build/ring/*' => "http://$host/private/*" } })]));

my $config = { stores => { default => { root => $t->path('store'),
        sources => ['local', 'git'], transcoders => [{ version => '9.0.0',
            inputs => ['pdb', 'elf'], command => ['pdb2symcache', '{pdb}'] }] } },
    sources => {
        local => { type => 'filesystem', layout => 'unified',
                   path => $t->path('symbols') },
        git => { type => 'web', url => "http://$host/private/", internal => 1,
                 headers => { Authorization => 'Bearer s3cret' } } },
    symbolication => { symbolicator => { links => JSON::PP::false } } };
$config->{sources}{git}{internal} = JSON::PP::true;

sub start {
    my ($links) = @_;
    $config->{symbolication}{symbolicator}{links} =
        $links ? JSON::PP::true : JSON::PP::false;
    if ($t->{running}++) { $t->stop_symbolicated; $t->stop_symcached }
    $t->start_symcached($config);
    $t->start_symbolicated;
}

sub post {
    my (@frames) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate', $json->encode({
        modules => [{ type => 'elf', code_id => $build, image_addr => '0x1000',
            image_size => 0x10000, code_file => '/build/ring/ring' }],
        options => { dif_candidates => JSON::PP::true },
        stacktraces => [{ frames => [@frames] }] }),
        'Content-Type: application/json');
    is $r->{status}, 200, 'answered' or diag $r->{raw};
    return $json->decode($r->{body});
}
sub frames { @{ $_[0]{stacktraces}[0]{frames} } }
sub links { [map { [$_->{location}, $_->{download}{status}] }
    grep { $_->{source} eq 'sourcelink' } @{ $_[0]{modules}[0]{candidates} }] }

# 0x1142 of the program: ring_at() of lib/ring.h in weigh() of main.c, line 10
my $frame = { instruction_addr => '0x2142' };
utf8::decode(my $main_text = $files{'/private/main.c'});
my @main = split /\n/, $main_text;

start(0);
my $got = post($frame);
is_deeply [map { $_->{source_link} } frames($got)],
    ["http://$host/private/lib/ring.h", "http://$host/private/main.c"],
    'links are told';
is_deeply [grep { exists $_->{context_line} } frames($got)], [],
    'and not followed';
is scalar($web->requests), 0, 'nothing is asked';

start(1);
$got = post($frame);
my (undef, $main) = frames($got);
is $main->{context_line}, $main[9], 'the line';
is_deeply [$main->{pre_context}, $main->{post_context}],
    [[@main[4 .. 8]], [@main[10 .. 14]]], 'and those around it';
is $main->{source_link}, "http://$host/private/main.c", 'beside the link';
is_deeply links($got), [["http://$host/private/lib/ring.h", 'notfound'],
    ["http://$host/private/main.c", 'ok']], 'candidates tell of both';
post($frame) for 1 .. 3;
is scalar(grep { $_->{path} eq '/private/main.c' } $web->requests), 1,
    'asked once';

# a path that only the client names
$files{'/private/secret.c'} = "password\n";
($got) = post({ instruction_addr => '0x1010', abs_path => '/build/ring/secret.c',
    lineno => 1 });
my ($other) = frames($got);
is $other->{source_link}, "http://$host/private/secret.c", 'a link of a client';
ok !exists $other->{context_line}, 'is not followed';
is scalar(grep { $_->{path} =~ /secret/ } $web->requests), 0, 'nor asked for';

# a server that lies
$files{'/private/lib/ring.h'} = "\xff\xfe";
$t->stop_symbolicated;
$t->stop_symcached;
Test::Symcache::remove_tree($t->path('store'));
$t->start_symcached($config);
$t->start_symbolicated;
$got = post($frame);
ok !exists((frames($got))[0]{context_line}), 'what is not UTF-8 is no text';
is((frames($got))[1]{context_line}, $main[9], 'and costs no other file');

$t->finish;
done_testing;
