# symcache_min_version above the files that the helper has: it is asked for
# a newer one.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Test::More;
use Test::ModuleCase;

my $t = Test::ModuleCase->new;
my $key = Test::ModuleCase::key();

$t->start_nginx(<<'EON', http => 'symcache_zone main:1m;');
    symcache_zone main;
    symcache_pass unix:%%DIR%%/h.sock;
    location /s/ {
        symcache %%DIR%%/store; symcache_min_version 9.0.0;
        symcache_async_after 10.0.0;
    }
    location /patch/ {
        symcache %%DIR%%/store; symcache_min_version 9.1.2;
        symcache_async_after 10.0.0;
    }
    location /minor/ {
        symcache %%DIR%%/store; symcache_min_version 9.1.0;
        symcache_async_after 10.0.0;
    }
    location /any/ { symcache %%DIR%%/store; }
EON

sub h { Test::Symcache::header(@_) }

# 3.1.0 is there, and $answer's is what comes of more; a hold has its file.
my $answer;
sub helper {
    my ($c, $req) = @_;
    return $c->reply(200, { 'X-Symcache-Version' => '3.1.0' })
        if ($req->{query}{exceeds} // '3.0.0') lt '3.1.0';
    return $answer->($c);
}

sub get {
    my ($where, @headers) = @_;
    my $s = $t->helper_says(\&helper);
    my $r = $t->get($t->uri('9.2.0', location => "/$where"), @headers);
    return ($r, map { $_->{query}{exceeds} // '' } $s->requests);
}

sub is_final { $_[0]{status} == 404 && !h($_[0], 'Retry-After') }

$t->put('3.1.0', 'old');
$answer = sub { $_[0]->reply(304, {}) };
my ($r, @exceeds) = get('s');
is "@exceeds", ' 8.65535.65535', 'asked again, for more';
ok is_final($r), 'no more can be made: final';
($r, @exceeds) = get('s', 'If-Version-Exceeds: 3.0.5');
is "@exceeds", '3.0.5 8.65535.65535', 'a client with a file';
is $r->{status}, 304, 'keeps it';
($r, @exceeds) = get('minor');
is "@exceeds", ' 9.0.65535', 'below a minor version';
($r, @exceeds) = get('patch');
is "@exceeds", ' 9.1.1', 'below a patch';
is $t->get($t->uri('9.2.0', location => '/any'))->{body}, 'old',
    'served where it may be';

$answer = sub { $_[0]->reply(202, { 'Retry-After' => 4 }) };
($r) = get('s', 'Allow-Retry-After: true');
is h($r, 'Retry-After'), 4, 'a job runs';
is $t->get($t->uri('9.2.0', location => '/any'))->{body}, 'old',
    'which is no answer elsewhere';

$answer = sub { $_[0]->reply(200, { 'X-Symcache-Version' => '3.1.0' }) };
($r, @exceeds) = get('s');
is "@exceeds", ' 8.65535.65535', 'a helper that does not listen: asked twice';
is $r->{status}, 503, 'and an error';

$answer = sub {
    $t->put('9.1.0', 'new');
    $_[0]->reply(200, { 'X-Symcache-Version' => '9.1.0' });
};
($r) = get('s');
is $r->{body}, 'new', 'held until there is one';

$t->finish;
done_testing;
