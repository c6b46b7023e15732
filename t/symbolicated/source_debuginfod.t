#!/usr/bin/env perl

# Lines of source files that servers of debuginfod have: asked for by the build
# id of a module and the path in its debug information, if the configuration
# names a server.

use strict;
use warnings;

use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::File qw(slurp spew);
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;
my $data = "$FindBin::Bin/../data/sourcebundle";
my $build = 'd11f4ac8ee483d6e69b18b9de238d72346637b94';
my $place = $t->path('symbols/d1/' . substr $build, 2);

my %files = map { ("/buildid/$build/source/build/ring/$_" => slurp("$data/ring/$_")) }
    qw(main.c lib/ring.h);
my $server = Test::ScriptedServer->new(log => $t->path('server.log'), script => sub {
    my ($c, $req) = @_;
    my $text = $files{ $req->{path} };
    $c->reply(defined $text ? 200 : 404, {}, $text // '');
});
my $url = 'http://127.0.0.1:' . $server->port;
make_path($place);
spew("$place/debuginfo", slurp("$data/ring/ring"));

my $config = { stores => { default => { root => $t->path('store'),
        sources => ['local', 'lines'], transcoders => [{ version => '9.0.0',
            inputs => ['pdb', 'elf'], command => ['pdb2symcache', '{pdb}'] }] } },
    sources => {
        local => { type => 'filesystem', layout => 'unified',
                   path => $t->path('symbols') },
        lines => { type => 'web', url => "$url/buildid/", internal => JSON::PP::true } } };

sub start {
    my (%symbolicator) = @_;
    if ($t->{running}++) { $t->stop_symbolicated; $t->stop_symcached }
    Test::Symcache::remove_tree($t->path('store'));
    $config->{symbolication} = { symbolicator => \%symbolicator };
    $t->start_symcached($config);
    $t->start_symbolicated;
}

sub post {
    my ($module, @frames) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate', $json->encode({
        modules => [{ type => 'elf', code_id => $build, image_addr => '0x1000',
            image_size => 0x10000, code_file => '/build/ring/ring', %$module }],
        options => { dif_candidates => JSON::PP::true },
        stacktraces => [{ frames => [@frames] }] }),
        'Content-Type: application/json');
    is $r->{status}, 200, 'answered' or diag $r->{raw};
    return $json->decode($r->{body});
}
sub frames { @{ $_[0]{stacktraces}[0]{frames} } }
sub lines { [map { $_->{context_line} } frames($_[0])] }

# 0x1142 of the program: ring_at() of lib/ring.h in weigh() of main.c, line 10
my $frame = { instruction_addr => '0x2142' };
utf8::decode(my $text = $files{"/buildid/$build/source/build/ring/main.c"});
my @main = split /\n/, $text;

start();
is_deeply lines(post({}, $frame)), [undef, undef], 'without a server there are none';
start(links => JSON::PP::true);
is_deeply lines(post({}, $frame)), [undef, undef], 'links are not that';
is scalar($server->requests), 0, 'nothing is asked';

start(debuginfod => ["$url/"]);
my $got = post({}, $frame);
is((frames($got))[1]{context_line}, $main[9], 'the line');
is_deeply((frames($got))[1]{post_context}, [@main[10 .. 14]], 'and more');
like((frames($got))[0]{context_line}, qr/\S/, 'of the inlined function as well');
ok !exists((frames($got))[1]{source_link}), 'it is no link';
is_deeply [map { [$_->{location}, $_->{download}{status}] }
    grep { $_->{source} eq 'debuginfod' } @{ $got->{modules}[0]{candidates} }],
    [map { ["$url/buildid/$build/source/build/ring/$_", 'ok'] } qw(lib/ring.h main.c)],
    'candidates tell of it';
my $asked = $server->requests;
post({}, $frame) for 1 .. 3;
is scalar($server->requests), $asked, 'each file is fetched once';

# what only a client names
$got = post({}, { instruction_addr => '0xf010', abs_path => '/build/ring/main.c',
    lineno => 3 });
ok !exists((frames($got))[0]{context_line}), 'a path that only a client names';
$got = post({ debug_id => 'c84a1fd1-48ee-6e3d-69b1-8b9de238d723',
    code_id => '00' x 20 }, $frame);
is_deeply lines($got), [undef, undef], 'a build id that is another module\'s';
is scalar($server->requests), $asked, 'nothing is asked for both';

# a bundle goes first
spew("$place/sourcebundle", slurp("$data/ring/ring.src.zip"));
start(debuginfod => [$url]);
is((frames(post({}, $frame)))[1]{context_line}, $main[9], 'the line of a bundle');
is scalar($server->requests), $asked, 'a server is not asked for it';

$t->finish;
done_testing;
