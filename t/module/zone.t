# symcache_zone and symcache_valid: what is answered without a look at the
# store or a question to the helper, for how long, in which location, and what
# happens when the zone is full.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Test::More;
use JSON::PP qw(decode_json);
use Test::ModuleCase;
use Time::HiRes qw(sleep time);

my $t = Test::ModuleCase->new;
my $key = Test::ModuleCase::key();

sub h { Test::Symcache::header(@_) }

my @poll = ('Allow-Retry-After: true');

$t->start_nginx(<<'EON', workers => 2, http => <<'EOH');
    symcache_zone main;
    symcache_pass unix:%%DIR%%/h.sock;
    symcache_hold_timeout 5s;
    location /s/ { symcache %%DIR%%/store; }
    location /same/ { symcache %%DIR%%/store/; }
    location /other/ { symcache %%DIR%%/other; }
    location /store/ { symcache %%DIR%%/store; symcache_store second; }
    location /off/ { symcache %%DIR%%/store; symcache_zone off; }
    location /var/ { symcache $arg_root; }
    location /short/ { symcache %%DIR%%/store; symcache_valid pending 60s;
                       symcache_valid 1s; }
    location /never/ { symcache %%DIR%%/never; symcache_valid 0; }
    location /small/ { symcache %%DIR%%/store; symcache_zone small; }
    location /spread/ { symcache %%DIR%%/store; symcache_zone spread; }
    location /disk/ { symcache %%DIR%%/disk; symcache_pass off; }
EON
    symcache_zone main:1m;
    symcache_zone small:32k;
    symcache_zone spread:1m;
EOH

sub uri { my ($where, $n) = @_;
          $t->uri('3.1.0', location => "/$where", pdb => "$n.pdb") }

# --- absent

my $s = $t->helper_says(sub { $_[0]->reply(404, { 'X-Symcache-Reason' => 'x',
    'X-Symcache-Valid' => $_[1]{path} =~ /brief/ ? 1 : 3600 }) });

for my $headers ([], \@poll, ['If-Version-Exceeds: 3.0.1']) {
    my $r = $t->get(uri('s', 'absent'), @$headers);
    is $r->{status}, 404, "absent: 404 @$headers";
    is h($r, 'Retry-After'), undef, "absent: final @$headers";
}
$t->get(uri('s', 'absent')) for 1 .. 20;
is scalar($s->requests), 1, 'an absent key is asked for once, by all workers';
$t->get(uri('same', 'absent'));
is scalar($s->requests), 1, 'the same root and store, the same key';
$t->get(uri('var', 'absent') . '?root=' . $t->path('store'));
is scalar($s->requests), 1, 'also when the root is a variable';
$t->get(uri('s', 'Absent')) for 1 .. 5;
is scalar($s->requests), 2, 'another spelling is asked for, once';
$t->get(uri('s', 'absent')) for 1 .. 5;
is scalar($s->requests), 3, 'an entry knows of one spelling';
for my $where (qw(other store off)) {
    my $n = $s->requests;
    $t->get(uri($where, 'absent'));
    is scalar($s->requests), $n + 1, "/$where/ is asked for by itself";
}
my $n = $s->requests;
$t->get($t->uri('3.2.0', location => '/s', pdb => 'absent.pdb'));
is scalar($s->requests), $n + 1, 'another version is asked for by itself';

# --- forgotten: by the helper, in a file

$n = $s->requests;
$t->get(uri('s', 'absent')); # of the right version again
$n = $s->requests;
for my $change (sub { $t->write_file('store/.forgotten', '') },
                sub { utime 1, 1, $t->path('store/.forgotten') or die },
                sub { $t->write_file('store/.forgotten', "\n") },
                sub { unlink $t->path('store/.forgotten') or die }) {
    $change->();
    $t->get(uri('s', 'absent')) for 1 .. 20;
    is scalar($s->requests), ++$n,
        'after a change of .forgotten the key is asked for once, by all workers';
}
$s = $t->helper_says(sub {
    $t->write_file('store/.forgotten', '') if !-e $t->path('store/.forgotten');
    $_[0]->reply(404, { 'X-Symcache-Reason' => 'x' });
});
$t->get(uri('s', 'late')) for 1 .. 5;
is scalar($s->requests), 2, 'an answer from before a change is not believed';
unlink $t->path('store/.forgotten');
$s = $t->helper_says(sub { $_[0]->reply(404, { 'X-Symcache-Reason' => 'x',
    'X-Symcache-Valid' => $_[1]{path} =~ /brief/ ? 1 : 3600 }) });

$t->get(uri('s', 'brief'));
$n = $s->requests;
$t->wait_until('X-Symcache-Valid ends', sub {
    $t->get(uri('s', 'brief'));
    return $s->requests > $n;
}, 50);
pass 'X-Symcache-Valid is the limit';

$t->get(uri('short', 'short'));
$n = $s->requests;
$t->wait_until('symcache_valid absent ends', sub {
    $t->get(uri('short', 'short'));
    return $s->requests > $n;
}, 50);
pass 'symcache_valid absent ends';

$n = $s->requests;
$t->get(uri('never', 'never')) for 1 .. 3;
is scalar($s->requests), $n + 3, 'symcache_valid 0 remembers nothing';

# --- pending

$s = $t->helper_says(sub { $_[0]->reply(202, { 'Retry-After' => 40 }) });
for (1 .. 5) {
    my $r = $t->get(uri('short', 'pending'), @poll);
    is $r->{status}, 404, 'pending: 404';
    is h($r, 'Retry-After'), 40, 'pending: the Retry-After of the helper';
}
sleep 2;
$t->get(uri('short', 'pending'), @poll);
is scalar($s->requests), 1, 'six polls, one question: 60s and not 1s';
$s = $t->helper_says(sub {
    $t->put('3.1.0', 'made', key => "pending.pdb/${Test::ModuleCase::guid}1A");
    $_[0]->reply(200, { 'X-Symcache-Version' => '3.1.0' });
});
is $t->get(uri('short', 'pending'))->{body}, 'made',
    'who is held asks the helper all the same';
is $t->get(uri('short', 'pending'), @poll)->{body}, 'made',
    'and then all know the file';

# one that is older than a final answer, but comes behind it

$s = $t->helper_says(sub {
    my ($c, $req) = @_;
    return $c->reply(404, { 'X-Symcache-Reason' => 'x' })
        if $req->{query}{wait};
    $t->wait_until('it is let go', sub { -e $t->path('go') });
    $c->reply(202, { 'Retry-After' => 4 });
});
my $late = $t->open_http($t->nginx_socket, 'GET', uri('s', 'overtaken'), @poll);
$t->wait_until('it is asked', sub { $s->requests == 1 });
is h($t->get(uri('s', 'overtaken')), 'Retry-After'), undef, 'a final answer';
$t->write_file('go', '');
is h($t->read_response($late), 'Retry-After'), 4, 'and one from before it';
is h($t->get(uri('s', 'overtaken'), @poll), 'Retry-After'), undef,
    'the final one is known';
is scalar($s->requests), 2, 'to all';

# --- present

$t->put('3.1.0', 'one', key => "present.pdb/${Test::ModuleCase::guid}1A");
is $t->get(uri('s', 'present'))->{body}, 'one', 'present';
$t->put('3.0.9', 'x', key => "present.pdb/${Test::ModuleCase::guid}1A");
is $t->get(uri('s', 'present'))->{body}, 'one', 'present, remembered';
$t->put('3.2.0', 'two', key => "present.pdb/${Test::ModuleCase::guid}1A");
is $t->get(uri('s', 'present'))->{body}, 'one', 'and believed for a while';
is $t->get(uri('off', 'present'))->{body}, 'two', 'not where there is no zone';
unlink $t->path("store/present.pdb/${Test::ModuleCase::guid}1A/"
                . 'present.pdb-v3.1.0.symcache');
is $t->get(uri('s', 'present'))->{body}, 'two',
    'vanished: the highest that is there, at once';

# a version that another one has replaced, and no helper that knows of that

$t->put('3.1.0', 'one', root => 'disk');
is $t->get($t->uri('3.9.0', location => '/disk'))->{body}, 'one', 'replaced';
$t->put('3.2.0', 'two', root => 'disk');
unlink $t->path("disk/$key/app.pdb-v3.1.0.symcache") or die;
is $t->get($t->uri('3.9.0', location => '/disk'))->{body}, 'two',
    'replaced: the new one at once, and no 404';
$t->put('3.3.0', 'three', root => 'disk');
is $t->get($t->uri('3.9.0', location => '/disk'))->{body}, 'three',
    'and the next one, as the folder is read again';

my $brief = "brief2.pdb/${Test::ModuleCase::guid}1A";
$t->put('3.1.0', 'one', key => $brief);
$t->get(uri('short', 'brief2'));
$t->put('3.2.0', 'two', key => $brief);
$t->wait_until('symcache_valid present ends',
               sub { $t->get(uri('short', 'brief2'))->{body} eq 'two' }, 50);
pass 'symcache_valid present ends';

# more versions than are remembered: always looked up

my $many = "many.pdb/${Test::ModuleCase::guid}1A";
$t->put("3.1.$_", $_, key => $many) for 1 .. 3;
is $t->get(uri('s', 'many'))->{body}, 3, 'three versions';
$t->put('3.1.4', 4, key => $many);
is $t->get(uri('s', 'many'))->{body}, 4, 'a fourth one is seen at once';

# --- what is said to a client that wants a newer one is for nobody else

$t->made('3.2.0');
for ([202, { 'Retry-After' => 4 }, 4],
     [404, { 'X-Symcache-Reason' => 'malformed' }]) {
    my ($status, $headers, $after) = @$_;
    my @it = (pdb => "upgrade$status.pdb");
    $t->put('3.1.0', 'old',
            key => "upgrade$status.pdb/${Test::ModuleCase::guid}1A");
    $s = $t->helper_says(sub { $_[0]->reply($status, $headers) });
    my $r = $t->get($t->uri('3.2.0', @it), 'If-Version-Exceeds: 3.1.0', @poll);
    is $r->{status}, 404, "has the file, wants a newer one: $status";
    is h($r, 'Retry-After'), $after, 'and when to come back';
    is $t->get($t->uri('3.2.0', @it), @poll)->{body}, 'old',
        'who has none gets the old file at once';
}
unlink $t->path('store/.transcoders');

# --- different clients of the same key

$t->put('3.1.0', 'three', key => "both.pdb/${Test::ModuleCase::guid}1A");
$t->put('4.1.0', 'four', key => "both.pdb/${Test::ModuleCase::guid}1A");
for (1 .. 2) {
    is $t->get($t->uri('3.9.0', pdb => 'both.pdb'))->{body}, 'three',
        'a client of major 3';
    is $t->get($t->uri('4.9.0', pdb => 'both.pdb'))->{body}, 'four',
        'a client of major 4';
}

# --- a full zone works as well as none

my $absent = sub { $_[0]->reply(404, { 'X-Symcache-Reason' => 'x' }) };
$s = $t->helper_says($absent);
my $wrong = 0;
for my $i (1 .. 400) {
    my $r = $t->get(uri('small', 'f' . 'x' x ($i % 200) . $i));
    $wrong++ if $r->{status} != 404 || h($r, 'Retry-After');
}
is $wrong, 0, 'a full zone';
$n = $s->requests;
$t->get(uri('small', 'f' . 'x' x (400 % 200) . 400));
is scalar($s->requests), $n, 'the last key is still known';
$t->get(uri('small', 'fx1'));
is scalar($s->requests), $n + 1, 'the first one is not';

$t->get(uri('small', 'used'));
for my $i (1 .. 300) {
    $t->get(uri('small', "g$i"));
    $t->get(uri('small', 'used')) if $i % 20 == 0;
}
$n = $s->requests;
$t->get(uri('small', 'g1'));
is scalar($s->requests), $n + 1, 'what is not used goes';
$t->get(uri('small', 'used'));
is scalar($s->requests), $n + 1, 'what is used stays';

# keys that count up are spread like others, wherever they differ

my %counted = (
    'first bytes of the GUID' => sub { sprintf 'app.pdb/%08X%024X/1', $_, 0 },
    'last bytes of the GUID'  => sub { sprintf 'app.pdb/%032X/1', $_ },
    'age'                     => sub { sprintf 'app.pdb/%032X/%d', 0, $_ },
    'name'                    => sub { sprintf 'm%d.pdb/%032X/1', $_, 0 },
    'middle of a name'        => sub {
        sprintf 'contoso.service.%06d.worker.pdb/%032X/1', $_, 0 },
    'number of builds'        => sub {
        sprintf 'm%d.pdb/%032X/1', $_ % 10, $_ },
);
for my $where (sort keys %counted) {
    my @keys = map { '/spread/v3.1.0/' . $counted{$where}->() } 1 .. 300;
    $s = $t->helper_says($absent);
    $t->get($_) for @keys, @keys;
    is scalar($s->requests), 300, "300 keys are kept: $where";
}

# GUIDs with the same hash: the second half makes up for the first

sub twin {
    my $n = shift;
    no warnings 'portable';
    my $first = do { use integer; $n * 0x9e3779b97f4a7c15 };
    return '/spread/v3.1.0/twin.pdb/'
        . uc(unpack 'H*', pack 'QQ', $n, $first ^ $first >> 32) . '/1';
}
$t->get(twin($_)) for 1 .. 40;
$n = $s->requests;
$t->get(twin(40));
is scalar($s->requests), $n, 'the last of many keys with one hash is known';
$t->get(twin(1));
is scalar($s->requests), $n + 1, 'the first one is not: a chain has an end';

# --- reload: the zone is kept

$t->get(uri('s', 'absent'));
$t->reload_nginx;
$n = $s->requests;
$t->get(uri('s', 'absent')) for 1 .. 5;
is scalar($s->requests), $n, 'known across a reload';

# --- a worker that dies

kill 'KILL', ($t->workers)[0];
$t->allow_log(qr/exited on signal 9/);
$t->wait_until('a new worker', sub { ($t->workers) == 2 });
$t->get(uri('s', 'absent')) for 1 .. 5;
is scalar($s->requests), $n, 'known after the death of a worker';

# --- without any setting

my $d = Test::ModuleCase->new;
my @default = (<<'EON', workers => 2);
    location /s/ {
        symcache %%DIR%%/store; symcache_pass unix:%%DIR%%/h.sock;
        location /s/named/ {
            symcache %%DIR%%/store; symcache_pass unix:%%DIR%%/h.sock;
            symcache_zone named;
        }
    }
    location /status { symcache_status; }
EON
my $named = 'symcache_zone named:32k;';

sub default_zone {
    my ($status) = decode_json($d->get('/status?format=json')->{body});
    return @$status{qw(zone size)};
}

$d->start_nginx(@default, http => $named);
is_deeply [default_zone()], ['symcache', 8 << 20], 'the default zone';
$s = $d->helper_says(sub { $_[0]->reply(404, { 'X-Symcache-Reason' => 'x',
    'X-Symcache-Valid' => 3600 }) });
my @in_named = ('3.1.0', location => '/s/named', pdb => 'named.pdb');
$d->get($d->uri(@in_named));
is $d->get($d->uri('3.1.0'))->{status}, 404, 'absent';
$d->wait_until('asked again, long before the 60 s of a named zone', sub {
    $d->get($d->uri('3.1.0'));
    (grep { $_->{path} =~ /app/ } $s->requests) > 1 });
$d->get($d->uri(@in_named));
is scalar(grep { $_->{path} =~ /named/ } $s->requests), 1,
    'a zone that is named in a nested location has its 60 s';
$s->stop;
$d->put('3.1.0', 'x');
$d->wait_until('it has come', sub {
    $d->get($d->uri('3.1.0'))->{status} == 200 });
$d->stop_nginx;

$d->start_nginx(@default, http => "symcache_zone symcache:64k; $named");
is_deeply [default_zone()], ['symcache', 64 << 10], 'as it is declared';
$d->stop_nginx;

$d->start_nginx(@default, http => "symcache_zone symcache; $named");
is_deeply [default_zone()], ['symcache', 8 << 20],
    'the default zone, which is named';
$d->finish;

# --- nginx -t

for (
    ['symcache_zone x;', '',
     qr/"symcache_zone x" needs "symcache_zone x:size" in "http" in .*:\d+/],
    ['location / { symcache_zone x; }', '', qr/"symcache_zone x" needs/],
    ['', 'symcache_zone x;', qr/"symcache_zone x" needs/],
    ["symcache_zone '';", '', qr/needs a name/],
    ['', 'symcache_zone off:1m;', qr/needs another name/],
    ['symcache_zone x:1m;', '', qr/takes a size in "http" only/],
    ['', 'symcache_zone x:1k;', qr/too small/],
    ['', 'symcache_zone x:y;', qr/invalid size/],
    ['', 'symcache_zone :1m;', qr/needs a name/],
    ['', "symcache_zone 'a\"b:1m';", qr/needs a name without quotes/],
    ['', "symcache_zone 'a<b:1m';", qr/needs a name without quotes/],
    ['', 'symcache_zone x:1m; symcache_zone x:1m;', qr/is duplicate/],
    ['', 'symcache_zone x:1m; limit_req_zone $uri zone=x:1m rate=1r/s;',
     qr/already declared for a different use|conflict|already bound/],
    ['symcache_zone a; symcache_zone b;',
     'symcache_zone a:1m; symcache_zone b:1m;', qr/is duplicate/],
    ['symcache_valid x;', '', qr/needs a time/],
    ['symcache_valid 999ms;', '', qr/needs a time in whole seconds/],
    ['symcache_valid 2d;', '', qr/at most one day/],
    ['symcache_valid 1s; symcache_valid 1s;', '', qr/valid".*is duplicate/],
    ['symcache_valid absent 1s; symcache_valid 2s; symcache_valid absent 1s;',
     '', qr/"symcache_valid" directive is duplicate/],
    ['symcache_valid found 1s;', '', qr/takes "present", "absent" or/],
) {
    my ($server, $http, $re) = @$_;
    my ($rc, $out) = $t->test_nginx($server, http => $http);
    isnt $rc, 0, "refused: $http $server";
    like $out, $re, 'with words that help';
}

$t->finish;
done_testing;
