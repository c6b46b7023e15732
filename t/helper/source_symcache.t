#!/usr/bin/perl

# Another SymCache server as a source: what it is asked, and what each of its
# answers comes to.  The server is a script that answers as the published text
# and the published sample do.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use POSIX ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $guid = '3249D99D0C4049318610F4E4FB0B6936';
my $id = $guid . '1';
my $type = 'application/vnd.ms-symcache';
my $body = "\x01\x02symcache" x 100;

# A SymCache of the open format, made from one of the fixtures.
sub symfile {
    my ($pdb) = @_;
    my $root = $t->path("made.$pdb");
    mkdir $root or die;
    local $ENV{_NT_SYMCACHE_PATH} = $root;
    system("$Test::Symcache::build/pdb2symcache", '-pdb',
           $t->data("pdb/$pdb.pdb")) == 0 or die;
    my ($file) = glob "$root/$pdb.pdb/*/*.symcache";
    return $t->read_file($file =~ s/^\Q@{[ $t->dir ]}\E\///r);
}
my ($own, $others) = map { symfile($_) } qw(crash omap_stretched);

# A name is a command: what the server does at the n-th request for it.
my %answers = (
    'found.pdb' => sub { [200, { 'Content-Type' => "$type; version=3.1.0" },
                          $body] },
    'quoted.pdb' => sub { [200, { 'Content-Type' =>
        "$type; charset=x; Version=\"3.0.5\"" }, $body] },
    'newer.pdb' => sub { [200, { 'Content-Type' => "$type; version=3.4.0" },
                          $body] },
    'pending.pdb' => sub { $_[0] < 3
        ? [404, { 'Retry-After' => 1 }, '']
        : [200, { 'Content-Type' => "$type; version=3.1.0" }, $body] },
    'now.pdb' => sub { $_[0] < 2
        ? [503, { 'Retry-After' => 0 }, '']
        : [200, { 'Content-Type' => "$type; version=3.1.0" }, $body] },
    'date.pdb' => sub { $_[0] < 2
        ? [404, { 'Retry-After' => POSIX::strftime(
              '%a, %d %b %Y %H:%M:%S GMT', gmtime(time + 2)) }, '']
        : [200, { 'Content-Type' => "$type; version=3.1.0" }, $body] },
    'past.pdb' => sub { $_[0] < 2
        ? [404, { 'Retry-After' => 'Sat, 01 Jan 2000 00:00:00 GMT' }, '']
        : [200, { 'Content-Type' => "$type; version=3.1.0" }, $body] },
    'words.pdb' => sub { $_[0] < 2
        ? [404, { 'Retry-After' => 'soon' }, '']
        : [200, { 'Content-Type' => "$type; version=3.1.0" }, $body] },
    'moved.pdb' => sub { [302, { 'Content-Type' => "$type; version=3.1.0",
                                 Location => '/body' }, ''] },
    'gone.pdb' => sub { [302, { 'Content-Type' => "$type; version=3.1.0",
                                Location => '/nothing' }, ''] },
    'own.pdb' => sub { [200, { 'Content-Type' => "$type; version=3.1.0" },
                        $own] },
    'others.pdb' => sub { [200, { 'Content-Type' => "$type; version=3.1.0" },
                           $others] },
    'absent.pdb' => sub { [404, {}, ''] },
    'page.pdb' => sub { [404, { 'Content-Type' => 'text/html' },
                         '<html>no</html>'] },
    'busy.pdb' => sub { [404, { 'Retry-After' => 7,
                                'X-Symcache-Reason' => 'error' }, ''] },
    'busy503.pdb' => sub { [503, { 'Retry-After' => 7,
                                   'X-Symcache-Reason' => 'error' }, ''] },
    'untyped.pdb' => sub { [200, {}, $body] },
    'plain.pdb' => sub { [200, { 'Content-Type' => $type }, $body] },
    'twice.pdb' => sub { [200, { 'Content-Type' =>
        "$type; version=3.1.0; version=3.0.9" }, $body] },
    'badversion.pdb' => sub { [200, { 'Content-Type' =>
        "$type; version=3.1" }, $body] },
    'major.pdb' => sub { [200, { 'Content-Type' => "$type; version=4.0.0" },
                          $body] },
    'old.pdb' => sub { [200, { 'Content-Type' => "$type; version=3.0.0" },
                        $body] },
    'empty.pdb' => sub { [200, { 'Content-Type' => "$type; version=3.1.0" },
                          ''] },
    'html.pdb' => sub { [200, { 'Content-Type' => "$type; version=3.1.0" },
                         "<!DOCTYPE html><html>sign in</html>"] },
    'json.pdb' => sub { [200, { 'Content-Type' => "$type; version=3.1.0" },
                         qq({"error": "sign in"}\n)] },
    'pdb.pdb' => sub { [200, { 'Content-Type' => "$type; version=3.1.0" },
                        "Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0" . $body] },
    'broken.pdb' => sub { [200, { 'Content-Type' => "$type; version=3.1.0" },
                           "SYMC\x09\0\0\0" . "\xff" x 200] },
    'short.pdb' => sub { [200, { 'Content-Type' => "$type; version=3.1.0",
                                 'Content-Length' => 5000 }, $body] },
    'forever.pdb' => sub { [404, { 'Retry-After' => 1 }, ''] },
    'notmodified.pdb' => sub { [304, {}, undef] },
    map { my $n = $_; ("$n.pdb" => sub { [$n, {}, ''] }) }
        204, 400, 401, 403, 410, 429, 500,
);

my $s = Test::ScriptedServer->new(log => $t->path('requests'), script => sub {
    my ($c, $req) = @_;
    my $path = $req->{path};
    $path =~ s/%([0-9A-F]{2})/chr hex $1/ge;
    if ($path eq '/body') {
        return $c->reply(200, { 'Content-Type' => 'application/octet-stream' },
                         $body);
    }
    my ($name) = $path =~ m{^/symcache/v3\.1\.0/([^/]+)/$guid/\d+$}
        or return $c->reply(404, {}, '');
    open my $fh, '>>', $t->path("n.$name");
    syswrite $fh, '.';
    close $fh;
    my $a = ($answers{$name} // $answers{'absent.pdb'})->(
        -s $t->path("n.$name"), $req);
    $c->reply(@$a);
    $c->close;
});

my @box = (type => 'symcache', url => $s->url . '/symcache', internal =>
           JSON::PP::true());
sub store {
    my ($name, %o) = @_;
    return $name => { root => $t->path("s/$name"), %o };
}
my $copy = 'echo made >"$1/$(basename "$0")-v9.0.0.symcache"';
my $same = 'echo made >"$1/$(basename "$0")-v3.1.0.symcache"';
sub transcoder {
    return { version => $_[0], command => ['/bin/sh', '-c', $_[1], '{pdb}',
                                           '{out}'] };
}
$t->write_file("local/$_/$id/$_", $t->read_file($t->data('pdb/crash.pdb')))
    for qw(absent.pdb busy.pdb found.pdb pending.pdb forever.pdb);

my %config = (
    stores => {
        store('default', sources => ['box']),
        store('first', sources => ['box', 'local'],
              transcoders => [transcoder('3.1.0', $same)]),
        store('second', sources => ['local', 'box'],
              transcoders => [transcoder('3.1.0', $same)]),
        store('failing', sources => ['local', 'box'],
              transcoders => [transcoder('3.1.0', 'exit 1')]),
        store('both', sources => ['box', 'local'],
              transcoders => [transcoder('9.0.0', $copy)]),
        store('down', sources => ['down']),
        store('upgrade', sources => ['box']),
        store('secret', sources => ['secret']),
    },
    sources => {
        box => { @box }, local => { type => 'filesystem',
            path => $t->path('local'), layout => 'symstore' },
        down => { type => 'symcache', internal => JSON::PP::true(),
            url => 'http://127.0.0.1:' . Test::Symcache::free_port() },
        secret => { @box, only => '^found', headers => {
            Authorization => 'Bearer hush' } },
    },
    cache => { retry_errors_after => '1s' },
);
$t->start_symcached(\%config);

sub ask {
    my ($name, %o) = @_;
    my $store = $o{store} // 'default';
    my $version = $o{version} // '3.1.0';
    return $t->helper('GET', "/v1/symcache/$store/$name/" . ($o{id} // $id)
        . "?version=$version&wait=60", @{ $o{headers} // [] });
}

sub attempts {
    my ($name, $store) = @_;
    my $why = $t->helper_json('/v1/why/' . ($store // 'default')
                              . "/$name/$id");
    return map { "$_->{source} $_->{outcome} ($_->{detail})" }
        @{ $why->{attempts} };
}

sub asked {
    my ($name) = @_;
    return grep { $_->{path} =~ m{/\Q$name\E/} } $s->requests;
}

sub version { Test::Symcache::header($_[0], 'X-Symcache-Version') // '' }

# --- found

my $r = ask('found.pdb');
is $r->{status} . ' ' . version($r), '200 3.1.0', 'found, without a transcoder';
is $t->read_file('s/default/' . Test::Symcache::header($r, 'X-Symcache-Path')),
    $body, 'as it was sent';
is $t->read_file('s/default/.transcoders'), "3.1.0\n",
    'nginx knows that this version can be had';
my ($req) = asked('found.pdb');
is $req->{uri}, "/symcache/v3.1.0/found.pdb/$guid/1", 'asked as clients ask';
is $req->{headers}{'allow-retry-after'}, 'true', 'Allow-Retry-After';
is $req->{headers}{'accept-retry-after'}, 'true', 'Accept-Retry-After';
ok !exists $req->{headers}{'if-version-exceeds'}, 'no file, no version';
like $req->{headers}{'x-symcache-via'}, qr/^[0-9a-f]{16}$/, 'and says who';

is version(ask('found.pdb', version => '3.9.0')), '3.1.0',
    'for every client of that major version';
is version(ask('quoted.pdb')), '3.0.5', 'an older version is published';
is version(ask('newer.pdb', version => '3.4.0')), '3.4.0', 'a newer one too';
is ask('a%20b%23%25.pdb')->{status}, 404, 'an odd name';
is scalar(grep { $_->{uri} =~ m{/v3\.1\.0/a%20b%23%25\.pdb/} } $s->requests),
    1, 'is escaped';
is ask('age.pdb', id => $guid . 'FFFFFFFF')->{status}, 404, 'a large age';
is scalar(grep { $_->{uri} =~ m{/age\.pdb/$guid/4294967295$} } $s->requests),
    1, 'is decimal';

$r = ask('moved.pdb');
is $r->{status} . ' ' . version($r), '200 3.1.0',
    'a redirect names the version for a plain file server';
like +(attempts('moved.pdb'))[-1], qr/^box found \(3\.1\.0\)/, 'and is logged';

is ask('own.pdb')->{status}, 200, 'one of the open format, of this PDB';

# --- again

is ask('pending.pdb')->{status}, 200, 'asked until it is there';
is scalar(asked('pending.pdb')), 3, 'as often as told';
is_deeply [attempts('pending.pdb')], ['box found (3.1.0)'],
    'of which the last answer is told';
is ask("$_->[0].pdb")->{status}, 200, "Retry-After: $_->[1]: asked again"
    for ['now', '0'], ['date', 'a date'], ['past', 'one in the past'],
        ['words', 'a word'];

# --- the final answer

$r = ask('absent.pdb');
is $r->{status} . ' ' . Test::Symcache::header($r, 'X-Symcache-Reason'),
    '404 notfound', 'absent there is absent here';
ok $t->absence("s/default/absent.pdb/$id/absent.pdb-v3.1.0.absent"),
    'and is remembered';

# --- no final answer

for (['page.pdb', 'failed', '404 with a page'],
     ['busy.pdb', 'failed', '404, error'],
     ['busy503.pdb', 'failed', '503, error'],
     ['gone.pdb', 'failed', '404 after a redirect'],
     ['untyped.pdb', 'unusable', '200 with no version'],
     ['plain.pdb', 'unusable', '200 with no version'],
     ['twice.pdb', 'unusable', '200 with a bad version'],
     ['badversion.pdb', 'unusable', '200 with a bad version'],
     ['major.pdb', 'unusable', 'a version that was not asked for'],
     ['old.pdb', 'unusable', 'a version that was not asked for'],
     ['empty.pdb', 'unusable', 'empty'],
     ['html.pdb', 'unusable', 'an HTML page'],
     ['json.pdb', 'unusable', 'text'],
     ['pdb.pdb', 'unusable', 'a PDB'],
     ['broken.pdb', 'unusable', 'no sound SymCache'],
     ['others.pdb', 'unusable', 'made from a module with another GUID'],
     ['short.pdb', 'failed', 'truncated body'],
     ['notmodified.pdb', 'failed', '304, which was not asked for'],
     ['204.pdb', 'failed', '204'], ['400.pdb', 'failed', '400'],
     ['401.pdb', 'failed', '401'], ['403.pdb', 'failed', '403'],
     ['410.pdb', 'failed', '410'], ['429.pdb', 'failed', '429'],
     ['500.pdb', 'failed', '500']) {
    my ($name, $outcome, $detail) = @$_;
    $r = ask($name);
    is $r->{status}, 503, "$name: no final answer";
    like +(attempts($name))[-1], qr/^box $outcome \(.*\Q$detail\E/,
        "$name: $detail";
    ok !-e $t->path("s/default/$name"), "$name: nothing is left";
}
is Test::Symcache::header(ask('x.pdb', store => 'down'), 'Retry-After'), 1,
    'nobody there is no final answer';

# --- beside other sources

is version(ask('found.pdb', store => 'first')), '3.1.0', 'the first has it';
like join(' ', attempts('found.pdb', 'first')), qr/^box found \(3\.1\.0\)$/,
    'and the second is not asked';
is_deeply [glob $t->path('downloads/first/*')], [], 'no PDB is needed';
$r = ask('absent.pdb', store => 'first');
is $t->read_file("s/first/" . Test::Symcache::header($r, 'X-Symcache-Path')),
    "made\n", 'the first has it not: the PDB of the second';
is ask('busy.pdb', store => 'first')->{status}, 200,
    'the first cannot tell: not waited for';
ask('found.pdb', store => 'second');
is $t->read_file("s/second/found.pdb/$id/found.pdb-v3.1.0.symcache"),
    "made\n", 'the order is that of the store';
is $t->read_file("s/failing/"
    . (Test::Symcache::header(ask('found.pdb', store => 'failing'),
                              'X-Symcache-Path') // '')), $body,
    'the transcoder fails: the server is asked';
is ask('absent.pdb', store => 'failing')->{status}, 404,
    'and has it not: malformed';
like +($t->helper_json("/v1/why/failing/absent.pdb/$id"))
    ->{transcoders}[0]{blocked}, qr/malformed/, 'is remembered';
is ask('busy.pdb', store => 'failing')->{status}, 503,
    'and cannot tell: nothing final';

is_deeply [sort split /\n/, $t->read_file('s/both/.transcoders')],
    ['3.1.0', '9.0.0'], 'two versions can be had';
is version(ask('absent.pdb', store => 'both', version => '9.0.0')), '9.0.0',
    'a PDB for who reads the higher';
is version(ask('quoted.pdb', store => 'both', version => '9.0.0')), '3.0.5',
    'the lower is better than none';
is version(ask('found.pdb', store => 'both', version => '3.1.0')), '3.1.0',
    'the server for who reads the lower';

# --- an older file

sub old {
    my ($name, $version) = @_;
    $version //= '3.0.5';
    $t->write_file("s/upgrade/$name/$id/$name-v$version.symcache", "old\n");
}

old('found.pdb');
is version(ask('found.pdb', store => 'upgrade')), '3.0.5', 'served at once';
$t->wait_until('the upgrade', sub {
    version(ask('found.pdb', store => 'upgrade')) eq '3.1.0'
});
is +(asked('found.pdb'))[-1]{headers}{'if-version-exceeds'}, '3.0.5',
    'asked for what exceeds it';

my $asked = asked('own.pdb');
old('own.pdb', '0.9.0');
ask('own.pdb', store => 'upgrade');
$t->wait_until('of version 0', sub { asked('own.pdb') > $asked });
ok !exists +(asked('own.pdb'))[-1]{headers}{'if-version-exceeds'},
    'which servers refuse: asked for any';

old('notmodified.pdb');
is version(ask('notmodified.pdb', store => 'upgrade')), '3.0.5', 'served';
my $end = 'symcached_jobs_finished_total{outcome="unchanged"}';
$t->wait_until('304', sub { $t->metric($end) });
my $n = asked('notmodified.pdb');
is version(ask('notmodified.pdb', store => 'upgrade')), '3.0.5', 'served';
is scalar(asked('notmodified.pdb')), $n, 'and not asked at each request';
unlink $t->path("s/upgrade/notmodified.pdb/$id/notmodified.pdb-v3.0.5.symcache");
$r = ask('notmodified.pdb', store => 'upgrade');
is $r->{status}, 503, '304 says nothing about who has no file';
is scalar(asked('notmodified.pdb')), $n + 1, 'so it is asked';

old('500.pdb');
is version(ask('500.pdb', store => 'upgrade')), '3.0.5', 'served';
my $error = 'symcached_jobs_finished_total{outcome="error"}';
my $errors = $t->metric($error);
$t->wait_until('a failed upgrade', sub { $t->metric($error) > $errors })
    if (attempts('500.pdb', 'upgrade')) == 0;
is version(ask('500.pdb', store => 'upgrade')), '3.0.5',
    'an upgrade that fails takes nothing away';

# --- loops

my $via = $req->{headers}{'x-symcache-via'};
my $jobs = $t->metric('symcached_jobs_started_total');
$r = ask('loop.pdb', headers => ["X-Symcache-Via: 0123456789abcdef, $via"]);
is $r->{status}, 503, 'what came through us is not asked again';
like $r->{body}, qr/loop/, 'and is told';
is $t->metric('symcached_loops_refused_total'), 1, 'and counted';
$n = $t->metric('symcached_jobs_started_total');
ask('loop2.pdb', store => 'upgrade', headers => ["X-Symcache-Via: $via"]);
is $t->metric('symcached_jobs_started_total'), $n + 1,
    'another store of ours may have asked';
$jobs++;
ask('loop.pdb', headers => ["X-Symcache-Via: $_"])
    for '0123456789abcdef, ' x 40, 'x', "a\tb";
is $t->metric('symcached_jobs_started_total'), $jobs, 'nor what is not a list';
is version(ask('found.pdb', headers => ["X-Symcache-Via: $via"])), '3.1.0',
    'what there is, is answered';
ask('way.pdb', headers => ['X-Symcache-Via: 0123456789abcdef']);
is +(asked('way.pdb'))[0]{headers}{'x-symcache-via'}, "0123456789abcdef, $via",
    'the way is told on';

$r = join ', ', map { sprintf '%016x', $_ } 1 .. 28;
ask('full.pdb', headers => ["X-Symcache-Via: $r"]);
like +(asked('full.pdb'))[0]{headers}{'x-symcache-via'},
    qr/^(?!0{15}1,).{400,491}, \Q$via\E$/,
    'a client cannot fill the list for who is asked next';

# --- sources

ask('found.pdb', store => 'secret');
is +(asked('found.pdb'))[-1]{headers}{authorization}, 'Bearer hush',
    'headers of the configuration';
is ask('other.pdb', store => 'secret')->{status}, 404, 'and its "only"';
my ($box) = grep { $_->{name} eq 'box' }
    @{ $t->helper_json('/v1/sources')->{sources} };
is $box->{type}, 'symcache', 'shown';
ok $box->{pending} && $box->{found}, 'with what it answered';
ok $t->metric("symcached_symcache_answers_total{answer=\"$_\"}"), "metric: $_"
    for qw(found pending not_modified);
unlike $t->helper_log, qr/hush/, 'no secret in the log';

# --- a server that never has done

$t->stop_symcached;
$t->start_symcached({ %config, limits => { downloads => 1,
    download_time => '4s', transcode_time => '1s' } });
my @forever = map { $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/$_/forever.pdb/$id?version=3.1.0&wait=60") }
    qw(default first);
is ask('found.pdb', store => 'default')->{status}, 200,
    'who waits for it has no slot';
is $t->read_response($forever[0])->{status}, 503,
    'waited for no longer than a download and a conversion take';
is $t->read_response($forever[1])->{status}, 200, 'then the next is asked';
is $t->metric('symcached_symcache_gave_up_total'), 2, 'and counted';

# --- the configuration

sub refused {
    my ($source, $reason) = @_;
    my $file = $t->write_file('bad.json', JSON::PP->new->encode({
        stores => { default => { root => $t->path('x'), sources => ['b'] } },
        sources => { b => $source } }));
    my $out = qx($Test::Symcache::build/symcached -t -c $file 2>&1);
    like $out, qr/sources\.b.*$reason/, "refused: $reason";
}
refused({ type => 'symcache' }, '"url" is missing');
refused({ @box, version => '3.0.0' }, 'is below 3\.0\.1');
refused({ @box, version => '3.1' }, 'is not a version');
refused({ @box, $_->[0] => $_->[1] }, $_->[0] . ': is not for this type')
    for ['layout', 'symstore'], ['path', '/x'], ['bucket', 'b'],
        ['casing', 'lower'];
refused({ type => 'http', url => 'http://h', version => '3.1.0' },
        'version: is not for this type');

$s->stop;
$t->finish;
done_testing;
