#!/usr/bin/env perl

# Several transcoders in a store, and transcoders that make another version
# than the configuration says.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};

sub version { Test::Symcache::header($_[0], 'X-Symcache-Version') }
sub jobs { $t->metric('symcached_jobs_started_total') }

sub uri {
    my ($store, $version, $more) = @_;
    return "/v1/symcache/$store/crash.pdb/$id?version=$version"
        . ($more // '&wait=60');
}

sub lookup { $t->helper('GET', uri(@_)) }

# Answers when the file "open" is there.  "first" has a name as it was asked for,
# and one in lower case; "second" has none, which it does not tell at first;
# "modules" has an ELF file.
my $build = '93ac61ec5a8eb1396f9fbd350e3169a558528a40';
my $module = 'EC61AC938E5A39B16F9FBD350E3169A50';
$t->write_file('m.c', "int main(void) { return 0; }\n");
system('cd ' . $t->dir . " && cc -g -Wl,--build-id=0x$build -o m m.c") == 0
    or die "cc: $?";
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    $t->wait_until('open', sub { -e $t->path('open') });
    return $c->reply(200, {}, $t->read_file($t->data('pdb/crash.pdb')))
        if $req->{path} =~ m{^/first/(?:Known|rare)\.pdb/.*\.pdb$};
    return $c->reply(200, {}, $t->read_file('m'))
        if $req->{path} =~ m{^/modules/m/elf-buildid-$build/m$};
    my $tells = $req->{path} !~ m{^/second/Rare} || -e $t->path('told');
    $t->write_file('told', '') if !$tells;
    $c->reply($tells ? 404 : 403, {}, '');
});

# The stand-in makes the version that its last argument says.
sub transcoder {
    my ($version, $makes, %more) = @_;
    return { version => $version, command => ["$FindBin::Bin/../bin/gated",
        $t->path('gate'), $t->path('runs'), 'sh', '-c',
        'cp "$1" "$_NT_SYMCACHE_PATH/$(basename "$1")-v$2.symcache"', 'sh',
        '{pdb}', $makes // $version], %more };
}

my @both = (transcoder('3.5.0'), transcoder('9.0.0'));
my %stores = (two => \@both, lower => [transcoder('9.2.0', '9.1.0')],
    older => [transcoder('9.0.0', '8.0.0')],
    newer => [transcoder('9.0.0', '9.0.5')],
    major => [transcoder('9.0.0', '10.0.0')]);
$t->symbol_store('sym');
$t->start_symcached({
    stores => { (map { $_ => { root => $t->path("s/$_"),
        sources => ['local'], transcoders => $stores{$_} } } keys %stores),
        names => { root => $t->path('s/names'), transcoders => \@both,
            sources => ['first', 'second'] },
        formats => { root => $t->path('s/formats'), sources => ['modules'],
            transcoders => [transcoder('3.5.0'), transcoder('9.0.0', undef,
                inputs => ['pdb', 'elf'])] } },
    sources => { local => { type => 'filesystem', path => $t->path('sym') },
        map { $_ => { type => 'http', url => $web->url . "/$_",
            internal => JSON::PP::true() } } qw(first second modules) },
});

# two kinds of clients wait for one key

my @old = map { $t->open_http($t->helper_socket, 'GET', uri('two', '3.9.0')) }
    1 .. 5;
$t->wait_until('the first transcoder', sub { $t->runs == 1 });
my @new = map { $t->open_http($t->helper_socket, 'GET', uri('two', '9.3.0')) }
    1 .. 5;
$t->wait_until('all wait', sub { $t->metric('symcached_waiters') == 10 });
is jobs(), 1, 'one job for the key';
$t->write_file('gate', '');
is_deeply [map { version($t->read_response($_)) } @old], [('3.5.0') x 5],
    'who reads only the lower version gets it';
# what is on disk then would do for the others, who are told so
is_deeply [map { version($t->read_response($_)) } @new], [('3.5.0') x 5],
    'who reads both gets what there is';
is version(lookup('two', '9.3.0')), '3.5.0', 'and is served at once';
$t->wait_until('the upgrade', sub {
    version(lookup('two', '9.3.0')) eq '9.0.0'
});
is version(lookup('two', '3.9.0')), '3.5.0', 'each has its own file';
is $t->metric('symcached_downloads_reused_total'), 1, 'one download for both';
is_deeply [sort split /\n/, $t->read_file('s/two/.transcoders')],
    ['3.5.0', '9.0.0'], 'the module can read both versions';

# the one who has a version waits for the better one

Test::Symcache::remove_tree($t->path('s/two/crash.pdb'));
unlink $t->path('gate');
my $runs = $t->runs;
my $low = $t->open_http($t->helper_socket, 'GET', uri('two', '3.9.0'));
$t->wait_until('a transcoder', sub { $t->runs == $runs + 1 });
my $has = $t->open_http($t->helper_socket, 'GET',
    uri('two', '9.3.0', '&exceeds=3.5.0&wait=60'));
$t->wait_until('both wait', sub { $t->metric('symcached_waiters') == 2 });
$t->write_file('gate', '');
is version($t->read_response($low)), '3.5.0', 'the first job answers one';
is version($t->read_response($has)), '9.0.0', 'a second one the other';

# other versions than configured

is version(lookup('newer', '9.0.0')), '9.0.5', 'a newer one of the same major';
is version(lookup('older', '9.0.0')), '8.0.0', 'an older one is served';
is version(lookup('lower', '9.2.0')), '9.1.0', 'a lower one too';
my $r = lookup('major', '9.0.0');
is $r->{status}, 503, 'one that the client does not read is not';
like $r->{body}, qr/made version 10\.0\.0/, 'and it is said why';
is version(lookup('major', '10.0.0')), '10.0.0', 'others get it';

my $jobs = jobs();
is lookup($_, '9.2.0')->{status}, 200, "$_: asked again"
    for qw(newer older lower);
is lookup('major', '9.0.0')->{status}, 503, 'major: asked again';
is jobs(), $jobs, 'nothing of this is made again';
like $t->helper_log, qr/\[warn\].*older.*the transcoder made version 8\.0\.0, which is not the one that the configuration names/,
    'the log tells';

# What the first job did not look for is looked for by the second.  Both clients
# wait for one that has a version 3, or none.

sub both {
    my ($key, $hints) = @_;
    unlink $t->path('open');
    my @waiters;
    for my $version ('3.9.0', '9.3.0') {
        push @waiters, $t->open_http($t->helper_socket, 'GET',
            "/v1/symcache/$key?version=$version&wait=60" . ($hints // ''));
        $t->wait_until('it waits', sub {
            $t->metric('symcached_waiters') == @waiters
        });
    }
    $t->write_file('open', '');
    return map { my $r = $t->read_response($_);
        $r->{status} == 200 ? version($r) : $r->{status} } @waiters;
}

is_deeply [both("formats/m/$module", "&code_id=buildid-$build")], [404, '9.0.0'],
    'a module of a format that only the second version is made of';
is $t->helper('GET', "/v1/symcache/names/Known.pdb/$id?version=9.3.0&wait=60")
    ->{status}, 200, 'a name as it was asked for';
is_deeply [both("names/Rare.pdb/$id")], [503, '9.0.0'],
    'one in lower case, after another source could not tell';

$t->finish;
done_testing;
