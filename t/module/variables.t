# $symcache_* in the access log, for every status; after internal redirects;
# where there is no key.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Test::More;
use Test::ModuleCase;

my $t = Test::ModuleCase->new;
my $key = Test::ModuleCase::key();
my $guid = $Test::ModuleCase::guid;

$t->start_nginx($t->location('symcache_hold_timeout 2s;') . <<'EON',
    location /re/ { rewrite ^/re(/.*)$ /s$1 last; }
    location /vary/ {
        add_header X-S $symcache_status always;
        symcache %%DIR%%/store;
    }
    location /ranges/ { return 200 "$symcache_pdb|$symcache_id|$symcache_age"; }
EON
    http => <<'EOH');
    symcache_zone off;
    log_format vars '$status "$symcache_status" "$symcache_version" '
        '"$symcache_pdb" "$symcache_id" "$symcache_age" "$symcache_key"';
    access_log %%DIR%%/access.log vars;
EOH

my $n = 0;

# the harness' own log is the same file: two lines for each request
sub logged {
    my ($uri, @headers) = @_;
    $t->get($uri, @headers);
    $n++;
    return $t->wait_until("log line $n", sub {
        my @lines = grep { /^\d+ "[A-Z_-]+" "[\d.-]+" / } split /\n/,
            $t->access_log;
        return @lines >= $n ? $lines[$n - 1] : undef;
    });
}

my $vars = qq("app.pdb" "$guid" "26" "$key");

$t->put('3.0.9', 'x');
is logged($t->uri('3.1.0')), qq(200 "HIT" "3.0.9" $vars), 'HIT';
is logged('/re' . substr($t->uri('3.1.0'), 2)), qq(200 "HIT" "3.0.9" $vars),
    'HIT after a rewrite';
is logged($t->uri('3.1.0'), 'Range: bytes=0-0'), qq(206 "HIT" "3.0.9" $vars),
    'HIT with a range';

$t->helper_says(sub { $_[0]->reply(202, {}) });
is logged($t->uri('3.1.0'), 'If-Version-Exceeds: 3.0.9',
          'Allow-Retry-After: true'),
    qq(404 "PENDING" "-" $vars), 'PENDING, poll';

$t->helper_says(sub { $_[0]->reply(304, {}) });
is logged($t->uri('3.1.0'), 'If-Version-Exceeds: 3.0.9'),
    qq(304 "NOT_MODIFIED" "-" $vars), 'NOT_MODIFIED, by the helper';
is logged($t->uri('3.1.0'), 'If-Version-Exceeds: 3.1.0'),
    qq(400 "BAD" "-" $vars), 'BAD, 400';
is logged('/s/v3.1.0/x'), '404 "BAD" "-" "-" "-" "-" "-"', 'BAD, path';
is logged($t->uri('3.0.0')), qq(404 "BAD" "-" $vars), 'BAD, version';

$t->write_file('store/.transcoders', "3.1.0\n");
$t->wait_until('.transcoders is read', sub {
    $n++;
    $t->get($t->uri('3.1.0'));
    $t->access_log =~ /STALE/;
});
is logged($t->uri('3.1.0')), qq(200 "STALE" "3.0.9" $vars), 'STALE';
unlink glob $t->path("store/$key/*");

$t->helper_says(sub { $_[0]->reply(404, { 'X-Symcache-Reason' => 'no' }) });
is logged($t->uri('3.1.0')), qq(404 "ABSENT" "-" $vars), 'ABSENT';

$t->helper_says(sub { $_[0]->reply(503, {}) });
is logged($t->uri('3.1.0')), qq(503 "ERROR" "-" $vars), 'ERROR, hold';
is logged($t->uri('3.1.0'), 'Allow-Retry-After: true'),
    qq(404 "ERROR" "-" $vars), 'ERROR, poll';

for (['MISS', 'Allow-Retry-After: true'], ['HELD']) {
    my ($status, @headers) = @$_;
    $t->helper_says(sub {
        $t->put('3.1.0', 'x');
        $_[0]->reply(200, { 'X-Symcache-Version' => '3.1.0' });
    });
    is logged($t->uri('3.1.0'), @headers), qq(200 "$status" "3.1.0" $vars),
        $status;
    unlink glob $t->path("store/$key/*");
}

$t->helper_says(sub { $_[0]->reply(202, {}) });
is logged($t->uri('3.1.0')), qq(503 "PENDING" "-" $vars),
    'PENDING, end of the hold';

is logged('/nothing'), '404 "-" "-" "-" "-" "-" "-"', 'another location';
is logged($t->uri('3.1.0', location => '/ranges')),
    qq(200 "-" "-" $vars), 'the key of another location';
my ($folder) = $key =~ m{/(.*)};
for ("App.pdb/\L$folder/app.PDB", "ap/app.pdb/$folder/app.pdb",
     "app.pdb/$folder//app.pdb") {
    is $t->get("/ranges/$_")->{body}, "app.pdb|$guid|26",
        "a front sends $_ where the SymCache is";
}
is $t->get('/ranges/buildid/0123456789abcdef/debuginfo')->{body},
    '_|buildid-0123456789abcdef|', 'a build id';
is $t->get('/ranges/app.pdb/1/app.pdb')->{body}, '||', 'no path of a symbol';
is $t->get($t->uri('3.1.0', location => '/ranges'))->{body},
    "app.pdb|$guid|26", 'in a "return"';
is Test::Symcache::header($t->get($t->uri('3.1.0', location => '/vary')),
                          'X-S'), 'ABSENT', 'in add_header';

$t->finish;
done_testing;
