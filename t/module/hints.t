#!/usr/bin/env perl

# What clients say beyond the key: it is passed on, and what the helper answers
# is for those who say the same.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::ModuleCase;
use Test::More;

my $t = Test::ModuleCase->new;
my $guid = $Test::ModuleCase::guid;

# "slow..." is answered when the file "open" is there.
my $s = $t->helper_says(sub {
    my ($c, $req) = @_;
    $t->wait_until('open', sub { -e $t->path('open') })
        if $req->{path} =~ m{/slow};
    return $c->reply(202, { 'Retry-After' => 3 }, '')
        if $req->{path} =~ m{/pending};
    $c->reply(404, { 'X-Symcache-Reason' => 'notfound',
                     'X-Symcache-Valid' => 60 }, '');
});
$t->start_nginx(<<'EON', http => 'symcache_zone z:64k;');
    location /s/ {
        symcache %%DIR%%/store;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_zone z;
    }
    location /sym/ {
        symcache_symbols %%DIR%%/downloads;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_zone z;
    }
EON

sub uri { "/s/ppdb/v1.0.0/$_[0].pdb/$guid" }
sub symbol { "/sym/$_[0].pdb/${guid}ffffffff/$_[0].pdb" }
sub asked { scalar grep { $_->{path} =~ m{/$_[0]\.pdb/} } $s->requests }
sub hint { my ($asked) = reverse $s->requests;
    $asked->{uri} =~ /&(checksum=.*)/ ? $1 : '' }
sub checksum { map { "SymbolChecksum: $_" } @_ }

# --- what is passed on

for my $way (\&uri, \&symbol) {
    my $what = $way->('x') =~ m{^/(\w+)/} ? $1 : '';
    my $n = 0;
    my $said = sub {
        $t->get($way->($what . 'a' . $n++), @_);
        return hint();
    };
    is $said->(checksum('SHA256:0aF')), 'checksum=SHA256:0aF',
        "$what: a checksum";
    is $said->(checksum('SHA256:00;SHA-384:11')),
        'checksum=SHA256:00%3BSHA-384:11', "$what: two";
    is $said->('symbolchecksum: A:0', checksum('A:1')), 'checksum=A:0',
        "$what: the first of two headers";
    is $said->(checksum($_)), '', "$what: no checksum: " . substr $_, 0, 20
        for 'x', 'SHA256:', 'SHA256:0&wait=1', 'A:0%0a', 'A:' . '0' x 511, '';
    is $said->(), '', "$what: none";
}

# --- the code id of a module

my $code = sub {
    $t->get('/s/v9.0.0/code' . $_[0] . ".so/$guid/0", @_[1 .. $#_]);
    my ($asked) = reverse $s->requests;
    return $asked->{uri} =~ /[&?]((?:checksum|code_id)=.*)/ ? $1 : '';
};
is $code->(0, 'X-Symcache-Code-Id: buildid-00ff'), 'code_id=buildid-00ff',
    'a build id';
is $code->(1, 'x-symcache-code-id: 5DDC1E9A6c000'), 'code_id=5DDC1E9A6c000',
    'an image';
is $code->(2, 'X-Symcache-Code-Id: buildid-00', checksum('A:0')),
    'checksum=A:0&code_id=buildid-00', 'with a checksum';
is $code->(3, 'X-Symcache-Code-Id: 00ff'), '', 'none';

# --- the way through other helpers

my $n = 0;
for ('0123456789abcdef', '0123456789abcdef, 0123456789abcdef', 'a' x 511) {
    $t->get(uri('via' . $n++), "X-Symcache-Via: $_");
    is ((reverse $s->requests)[0]{headers}{'x-symcache-via'}, $_,
        'passed on: ' . substr $_, 0, 40);
}
for ("\x01", "a\x7f", "\xff", "0123456789abcdef\t, a", 'x', 'a' x 512, 'a' x 7000) {
    $t->get(uri('via' . $n++), "X-Symcache-Via: $_");
    is ((reverse $s->requests)[0]{headers}{'x-symcache-via'}, undef,
        sprintf 'ignored: %vd', substr $_, 0, 20);
}

# --- what is remembered

for my $way (\&uri, \&symbol) {
    my $name = $way->('x') =~ m{^/sym/} ? 'b' : 'c';
    for (['', 1], ['', 1], ['A:0', 2], ['A:0', 3], ['A:1', 4], ['', 4]) {
        my ($said, $n) = @$_;
        is $t->get($way->($name), $said ? checksum($said) : ())->{status}, 404,
            "$name is absent for '$said'";
        is asked($name), $n, "asked $n times";
    }
}
# That a job runs is remembered for a second, and only without a checksum: where
# the machine took longer, another key is polled.
my ($tries, @polls) = (0);
do {
    my $name = 'pending' . $tries++;
    @polls = map {
        $t->get(uri($name), 'Allow-Retry-After: true', $_ ? checksum($_) : ());
        asked($name);
    } 'A:0', 'A:0', '', '', 'A:0';
} until "@polls" eq '1 2 3 3 4' || $tries == 20;
is "@polls", '1 2 3 3 4', 'polls, of which one is not passed on';

# --- who waits at the same time

my @held = map { my @said = $_ ? checksum($_) : ();
    $t->open_http($t->nginx_socket, 'GET', uri('slow'), @said) }
    'A:0', 'A:1', '';
$t->wait_until('each asks', sub { asked('slow') == 3 });
$t->write_file('open', '');
is join(' ', map { $t->read_response($_)->{status} } @held),
    '404 404 404', 'and is answered';

$t->finish;
done_testing;
