#!/usr/bin/env perl

# Files of several kinds that are made of one original: one job at a time, one
# download for all, an answer for each.  No nginx here.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $id = $Test::Symcache::key{'crash.pdb'};
my $portable = $t->read_file($t->data('ppdb/plain.pdb'));
my $portable_id = '198A378EEC0A47DA8FB2289C2BDAD68F1';
my %version = (symcache => '9.0.0', debuginfo => '1.0.0');

# A dSYM, and the UUID of one image in it.
my $dsym = $t->read_file($t->data('convert/macho/fat.dwarf'));
my $uuid = '4C4C448955553144A18069A34E2AD5E1';

# "slow..." is answered when the file "open" is there.
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    $t->wait_until('open', sub { -e $t->path('open') })
        if $req->{path} =~ m{/slow};
    return $c->reply(200, {}, $portable)
        if $req->{path} =~ m{FFFFFFFF/slowportable\.pdb$};
    return $c->reply(200, {}, $dsym)
        if $req->{path} =~ m{/mach-uuid-sym-\L$uuid\E/};
    return $c->reply(404, {}, '') if $req->{path} !~ m{/\w*has\w*\.pdb$};
    $c->reply(200, {}, $crash);
});

my $config = $t->default_config($web->url, gated => 1,
    cache => { retry_errors_after => '1s' });
$config->{sources}{upstream}{layout} = 'two_tier';
$config->{sources}{upstream}{forms} = ['plain'];
$config->{stores}{text} = { %{ $config->{stores}{default} },
    root => $t->path('text'), sources => ['sym'],
    transcoders => [{ version => '9.0.0', inputs => ['breakpad'],
        command => [$t->program('pdb2symcache'), '-pdb', '{pdb}'] }] };
$config->{sources}{sym} = { type => 'filesystem', layout => 'breakpad',
    path => $t->path('sym') };
$config->{stores}{modules} = { %{ $config->{stores}{text} },
    root => $t->path('modules'), sources => ['upstream'] };
$config->{stores}{modules}{transcoders} = [{
    %{ $config->{stores}{text}{transcoders}[0] }, inputs => ['macho'] }];
$t->start_symcached($config);

sub path {
    my ($kind, $name, $store) = @_;
    return "/v1/$kind/" . ($store // 'default') . "/$name.pdb/"
        . ($name eq 'slowportable' ? $portable_id : $id);
}

sub lookup {
    my ($kind, $name, $store) = @_;
    return $t->helper('GET',
        path($kind, $name, $store) . "?version=$version{$kind}&wait=60");
}

sub start {
    my ($kind, $name, $wait) = @_;
    return $t->open_http($t->helper_socket, 'GET',
        path($kind, $name) . "?version=$version{$kind}&wait=" . ($wait // 60));
}

sub status { map { $t->read_response($_)->{status} } @_ }
sub asked { scalar grep { $_->{path} =~ m{/$_[0]\.pdb$} } $web->requests }
sub said { my $r = shift; join ' ', $r->{status},
    map { Test::Symcache::header($r, $_) // '-' } @_ }
sub open_gate { $t->write_file($_[0], '') }
sub close_gate { unlink $t->path($_[0]) }
sub waiters {
    my ($n) = @_;
    $t->wait_until("$n wait", sub { $t->metric('symcached_waiters') == $n });
}

# --- an original alone

my $r = lookup('debuginfo', 'has');
is said($r, 'X-Symcache-Version', 'X-Symcache-Path'),
    "200 1.0.0 has.pdb/$id/has.pdb", 'an original is found';
ok $t->read_file("downloads/default/has.pdb/$id/has.pdb") eq $crash,
    'and is there, among the downloads';
is $t->runs, 0, 'nothing is made of it';
is said(lookup('debuginfo', 'has'), 'X-Symcache-Version'), '200 1.0.0',
    'asked again';
is asked('has'), 1, 'it was downloaded once';

$r = lookup('debuginfo', 'none');
is said($r, 'X-Symcache-Reason'), '404 notfound', 'one that is absent';
ok $t->absence("store/none.pdb/$id/none.pdb-v1.0.0.debuginfo.absent"),
    'has a negative entry of its own';
my $n = asked('none');
is lookup('debuginfo', 'none')->{status}, 404, 'which answers';
is asked('none'), $n, 'and nobody is asked';
is said(lookup('symcache', 'none'), 'X-Symcache-Reason'), '404 notfound',
    'but of a SymCache nothing is known';
# half as often: a PDB may be a portable one, which has another key, too
is asked('none'), $n + $n / 2, 'and the source is asked';
like $t->helper_log, qr{key=debuginfo:none\.pdb/$id outcome=notfound},
    'the log names the kind';

my $why = $t->helper_json("/v1/why/default/none.pdb/$id?kind=debuginfo");
is $why->{attempts}[0]{outcome}, 'not found', 'why knows where it was';

# --- the original while a SymCache is being made of it

my $symcache = start('symcache', 'hasboth');
$t->wait_until('the transcoder runs', sub { $t->runs == 1 });
is lookup('debuginfo', 'hasboth')->{status}, 200,
    'an original is served while the transcoder runs';
open_gate('gate');
is_deeply [status($symcache)], [200], 'and then the SymCache';
close_gate('gate');

$symcache = start('symcache', 'slowhas');
my $original = start('debuginfo', 'slowhas');
waiters(2);
is scalar @{ $t->helper_json('/v1/jobs')->{jobs} }, 1, 'one job for both';
open_gate('open');
is_deeply [status($original)], [200],
    'who waits for the original gets it before the SymCache is made';
is $t->metric('symcached_waiters'), 1, 'while the other one waits';
open_gate('gate');
is_deeply [status($symcache)], [200], 'and gets the SymCache';
is asked('slowhas'), 1, 'one download for both';
close_gate('open');

# --- a SymCache asked for while the original is looked for

$original = start('debuginfo', 'slowhas2');
waiters(1);
$symcache = start('symcache', 'slowhas2');
waiters(2);
open_gate('open');
is_deeply [status($original, $symcache)], [200, 200], 'both are answered';
is asked('slowhas2'), 1, 'after one download';
close_gate('open');

$original = start('debuginfo', 'slowhas3');
waiters(1);
is_deeply [status(start('symcache', 'slowhas3', 0))], [202],
    'a client that does not wait';
is_deeply [status(start('symcache', 'slowhas3', 0))], [202], 'asks again';
open_gate('open');
is_deeply [status($original)], [200], 'the original is there';
$t->wait_until('the SymCache is made for who asks later',
    sub { -e $t->path("store/slowhas3.pdb/$id/slowhas3.pdb-v9.0.0.symcache") });
is asked('slowhas3'), 1, 'of the same download';
is $t->metric('symcached_waiters'), 0, 'nobody waited';
close_gate('open');

# --- what a source does not have is absent for all kinds

$original = start('debuginfo', 'slow');
waiters(1);
$symcache = start('symcache', 'slow');
waiters(2);
open_gate('open');
$_ = said($t->read_response($_), 'X-Symcache-Reason') for $original, $symcache;
is "$original, $symcache", '404 notfound, 404 notfound', 'both are told so';
is asked('slow'), $n, 'and the source was asked once';
ok $t->absence("store/slow.pdb/$id/slow.pdb-$_"), "with a negative entry: $_"
    for 'v9.0.0.absent', 'v1.0.0.debuginfo.absent';
like $t->absence("store/slow.pdb/$id/slow.pdb-v9.0.0.absent"),
    qr{upstream: http.*/slow\.pdb not found}, 'that says where it was';

# --- but not where a SymCache cannot be: a portable PDB under its other key

close_gate('open');
$symcache = start('symcache', 'slowportable');
waiters(1);
$original = start('debuginfo', 'slowportable');
waiters(2);
open_gate('open');
is_deeply [status($symcache, $original)], [404, 200],
    'it is looked for after a SymCache was not';

# --- nor where only a SymCache can be: a module by its own id

close_gate('open');
my @held;
for (['debuginfo', '1.0.0'], ['symcache', '9.0.0']) {
    push @held, $t->open_http($t->helper_socket, 'GET',
        "/v1/$_->[0]/modules/slow/${uuid}0?version=$_->[1]&wait=60");
    waiters(scalar @held);
}
open_gate('open');
is_deeply [status(@held)], [404, 200],
    'a SymCache is looked for after an original was not';

# --- forget is for all kinds

like $t->helper('POST', "/v1/forget/default/slow.pdb/$id")->{body}, qr{"forgotten":\s*2\b},
    'an operator forgets all kinds';
is lookup('symcache', 'slow')->{status}, 404, 'who asks then';
is asked('slow'), $n + $n / 2, 'has the source asked';

# --- Breakpad's text is no original of a PDB

my $text = $t->read_file($t->data('convert/breakpad/crlf.sym'));
my ($so, $name) = $text =~ /^MODULE \S+ \S+ (\w+) (\S+)/;
$t->write_file("sym/$name/$so/$name.sym", $text);
$r = $t->helper('GET', "/v1/symcache/text/$name/$so?version=9.0.0&wait=60");
is $r->{status}, 200, 'a SymCache of Breakpad text';
ok -e $t->path("downloads/text/$name/$so/$name.sym"),
    'which lies apart from other originals';
$r = $t->helper('GET', "/v1/debuginfo/text/$name/$so?version=1.0.0&wait=60");
is said($r, 'X-Symcache-Reason'), '404 no-source',
    'and never stands for one';

$t->finish;
done_testing;
