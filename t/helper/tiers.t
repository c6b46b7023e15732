#!/usr/bin/perl

# Odd answers about index2.txt, about odd names and in place of file.ptr: none
# of them makes a PDB that is there an absence, now or later.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use File::Path qw(remove_tree);
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $id = $Test::SourceCase::id;
my $yes = JSON::PP::true();

# A helper that has nothing and knows nothing.
sub fresh {
    my (%source) = @_;
    $t->stop_symcached;
    remove_tree($t->path('store'), $t->path('downloads'));
    return Test::SourceCase->new($t, sources => { up => \%source });
}

# --- answers that leave it open whether there is an index2.txt

my %open = (
    json => sub { $_[0]->reply(200, {}, '{"error":"try later"}') },
    typed => sub { $_[0]->reply(200, { 'Content-Type' => 'application/json' },
                                '"try later"') },
    html => sub { $_[0]->reply(200, {}, "\xef\xbb\xbf\n<html>sign in") },
    page => sub { $_[0]->reply(200, { 'Content-Type' => 'text/html' }, '') },
    gzip => sub { $_[0]->reply(200, {}, Compress::Zlib::memGzip('text')) },
    pdb => sub { $_[0]->reply(200, {}, $crash) },
    endless => sub { $_[0]->reply(200, { 'Content-Length' => undef }, "1\r\n");
                     $_[0]->close },
    cut => sub { $_[0]->reply(200, { 'Content-Length' => 9 }, "1\r\n");
                 $_[0]->close },
    signin => sub { $_[0]->reply(302, { Location => '/_signin' }, '') },
    moved => sub { $_[0]->reply(302, { Location => '/elsewhere' }, '') },
    later => sub { $_[0]->reply(404, { 'Retry-After' => 9 }, '') },
    reset => sub { $_[0]->reset },
    map { my $status = $_;
          ("is$_" => sub { $_[0]->reply($status, {}, '') }) }
        204, 304, 400, 401, 403, 405, 500,
);
my $odd = Test::ScriptedServer->new(index2 => 1, log => $t->path('odd.log'),
    script => sub {
        my ($s, $req) = @_;
        my ($tiers, $kind, $path) = $req->{path} =~ m{^/(\w+)/(\w+)/(.*)}
            or return $s->reply(200, {}, '');
        return $open{$kind}->($s) if $path eq 'index2.txt';
        my $there = $tiers eq 'one' ? qr{^here} : qr{^(?:he/here|hi/hit)};
        $s->reply($path =~ m{$there[^/]*/$id/[^/]+\.pdb$} ? (200, {}, $crash)
                                                       : (404, {}, ''));
    });
my $c = Test::SourceCase->new($t, sources => { map {
    my $kind = $_;
    map { ("$_$kind" => { type => 'http', internal => $yes,
                          url => $odd->url . "/$_/$kind",
                          only => "^\\w+-$_-$kind\\." }) } qw(one two)
} keys %open }, limits => { attempts => 1, breaker_failures => 0 });
# Asks for all at once, as these are lookups of servers of their own.
sub statuses {
    my @held = map { $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/$_.pdb/$id?version=9.0.0&wait=60") } @_;
    return map { $t->read_response($_)->{status} } @held;
}

my @rows = map { my $kind = $_; map { "$_-$kind" } qw(one two) }
    sort keys %open;
my @two = grep { /^two/ } @rows;
is_deeply [statuses(map { "hit-$_" } @two)], [(200) x @two],
    'whatever is said of index2.txt: a hit in two tiers';
is_deeply [statuses(map { "never-$_" } @rows)], [(404) x @rows],
    'a miss is one';
for my $row (@rows) {
    my $why = $t->helper_json("/v1/why/default/never-$row.pdb/$id");
    my @places = @{ $why->{attempts} };
    my ($index) = grep { $_->{place} =~ /index2/ } @places;
    is scalar(grep { $_->{place} =~ m{/ne/never} } @places), 6,
        "$row: of two tiers";
    is @places, 13, 'and of one';
    like "@$index{qw(outcome detail)}", qr/^failed .*no plain answer$/,
        'and "why" says that it was left open';
}
is_deeply [statuses(map { "here-$_" } @rows)], [(200) x @rows],
    'and behind that, what is there is found';

# one lie in a plain form: what is there is found all the same
my $lie = Test::ScriptedServer->new(index2 => 1, log => $t->path('lie.log'),
    script => sub {
        my ($s, $req) = @_;
        return $s->reply(-e $t->path('lies') ? 200 : 404, {}, '')
            if $req->{path} =~ /index2/;
        $s->reply($req->{path} =~ m{^/here} ? (200, {}, $crash)
                                            : (404, {}, ''));
    });
$c = fresh(type => 'http', url => $lie->url, internal => $yes);
$t->write_file('lies', '');
$c->absent('never.pdb', qr/^404$/, 'a store of one tier that says two');
unlink $t->path('lies');
$c->found('here.pdb', 'has what it has');
$c->absent('never2.pdb', qr/^404$/, 'and says the truth again');
is scalar(() = $lie->requests), 13 + 1 + 7, 'with no request too many';

# --- 400: about an odd name, or about us

my $strict = Test::ScriptedServer->new(index2 => 1,
    log => $t->path('strict.log'), script => sub {
        my ($s, $req) = @_;
        return $s->reply(400, {}, '')
            if -e $t->path('refuses') || $req->{path} =~ /%20/;
        $s->reply($req->{path} =~ /here[.]pdb$/ ? (200, {}, $crash)
                                                : (404, {}, ''));
    });
for my $layout (qw(symstore two_tier flat)) {
    unlink $t->path('refuses');
    $c = fresh(type => 'http', url => $strict->url, internal => $yes,
               layout => $layout);
    my $r = $c->absent('odd name.pdb', qr/^400$/, "$layout: 400 for an odd name");
    like $r->{places}[-1][0], qr{/index2\.txt$},
        'which has an answer to another question beside it';
    $c->found('here.pdb', 'a server that has told of a PDB');
    $t->write_file('refuses', '');
    $r = $c->ask('odd here.pdb');
    is $r->{status}, 503, 'and then answers 400 to everything';
    like "@{ $r->{places}[-1] }", qr{/index2\.txt failed 400, no plain},
        'as "why" shows';
}

# --- something else in place of file.ptr, or the start of it

my %ptr = (
    json => sub { $_[0]->reply(200, {}, '{"error":"try later"}') },
    words => sub { $_[0]->reply(200, {}, 'try later') },
    start => sub { $_[0]->reply(200, { 'Content-Length' => undef },
                                'PATH:\\\\srv\\sym\\he'); $_[0]->close },
);
my $pointing = Test::ScriptedServer->new(log => $t->path('ptr.log'),
    script => sub {
        my ($s, $req) = @_;
        my ($kind) = $req->{path} =~ m{^/(\w+)[.]pdb/$id/file[.]ptr$};
        return $s->reply(404, {}, '') if !$kind;
        return $ptr{$kind}->($s) if !-e $t->path('points');
        $s->reply(200, {}, 'PATH:\\\\srv\\sym\\here.pdb');
    });
$t->write_file('share/here.pdb', $crash);
$c = fresh(type => 'http', url => $pointing->url, internal => $yes,
           map => { '\\\\srv\\sym' => $t->path('share') });
my %why = (json => 'names no location', words => 'names no location',
           start => 'may be cut');
for my $kind (sort keys %ptr) {
    my $r = $c->ask("$kind.pdb");
    is $r->{status}, 503, "file.ptr: $kind: no absence";
    my ($place) = grep { $_->[1] ne 'not found' } @{ $r->{places} };
    like "@$place", qr/file\.ptr unusable .*$why{$kind}/, 'as "why" shows';
}
$t->write_file('points', '');
$t->wait_until('what it leads to is found', sub {
    $c->ask("$_.pdb")->{status} == 200 }) for sort keys %ptr;

$t->stop_symcached;
$t->finish;
done_testing;
