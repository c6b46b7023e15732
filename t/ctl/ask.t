#!/usr/bin/env perl

# symcachectl why, forget, jobs, sources: a running helper told to people and
# to programs; what is said when there is none, or one that lies.

use strict;
use warnings;

use FindBin;
use POSIX ();
use lib "$FindBin::Bin/../lib";
use Test::Ctl;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = Test::Ctl->new($t);
my $id = $Test::Symcache::key{'crash.pdb'};
my ($guid) = $id =~ /^(.{32})/;
my @socket = $ctl->socket;

$ctl->start_all(gated => 1);
$t->write_file("sym/broken.pdb/$id/broken.pdb", 'no PDB');

# --- a job that runs

my $held = $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=60");
$t->wait_until('the transcoder runs', sub { $t->runs });

my $r = $ctl->run('jobs', @socket);
$ctl->is($r, 0, qr{^STORE \s+ PDB/ID .*\n
    default \s+ crash\.pdb/$id \s+ 9\.0\.0 \s+ transcoding \s+ \d+\.\d \s+ 1
    \s+ no\n
    jobs\ 1:\ queued\ 0,\ asking\ sources\ 0,\ transcoding\ 1;
    \ waiting\ requests\ 1$}x,
    undef, 'jobs');
my ($object) = $ctl->json($ctl->run('jobs', '--json', @socket));
is $object->{jobs}[0]{key}, "crash.pdb/$id", 'jobs --json';
$r = $ctl->run('why', @socket, 'crash.pdb', $guid, 1);
$ctl->is($r, 1, qr/^crash\.pdb $id, store default\n  not cached\n  next: a job runs: transcoding\n\n/,
    undef, 'why: a job runs');

$t->write_file('gate', '');
is $t->read_response($held)->{status}, 200, 'the job ends';
$r = $ctl->run('jobs', @socket);
$ctl->is($r, 0, qr/^jobs 0: .*$/, undef, 'jobs: none');

# --- why

my $cached = qr{^crash\.pdb $id, store default
  cached: crash\.pdb/$id/crash\.pdb-v9\.0\.0\.symcache(?:, from upstream)?
  next: the next request is served from disk

  TIME +SOURCE +ANSWER +PLACE +DETAIL *
};
my $dashed = join '-', $guid =~ /^(.{8})(.{4})(.{4})(.{4})(.{12})$/;
for (['PDB GUID AGE', 'crash.pdb', $guid, '1'],
     ['the default age', 'crash.pdb', $guid],
     ['a GUID with dashes', 'crash.pdb', lc $dashed, '1'],
     ['a GUID in braces', 'crash.pdb', "{$dashed}"],
     ["Symbolicator's id", 'crash.pdb', lc "$dashed-1"],
     ['GUIDAGE', 'crash.pdb', lc $id], ['PDB/GUIDAGE', "crash.pdb/$id"]) {
    my ($what, @operands) = @$_;
    $ctl->is($ctl->run('why', @socket, @operands), 0, $cached, undef,
        "why: $what");
}
$r = $ctl->run('why', @socket, "crash.pdb/$id");
like $r->{out}, qr{^  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  upstream  found +\Q$ctl->{url}\E/crash\.pdb/$id/crash\.pdb }m,
    'why: where it was found';
($object) = $ctl->json($ctl->run('why', @socket, '--json', "crash.pdb/$id"));
is $object->{files}[0]{version}, '9.0.0', 'why --json';
($object) = $ctl->json($ctl->run('why', @socket, '--json', "Never.pdb/$id"));
is $object->{pdb}, 'never.pdb', 'why --json: a PDB that nobody asked for';

is $t->helper('GET', "/v1/symcache/default/never.pdb/$id?version=9.0.0&wait=60")
    ->{status}, 404, 'a PDB that is nowhere';
$r = $ctl->run('why', @socket, "never.pdb/$id");
$ctl->is($r, 1, qr{not cached
  version 9\.0\.0 is not made: notfound; known since \d{4}-.*, for another \d+ s
  next: the next request in \d+ s or later looks again
.*upstream  not found  \Q$ctl->{url}\E/never\.pdb/}s, undef, 'why: nowhere');

my $build_id = 'bb10f859098824e79b1c774baa3fd5d70fb9c6eb';
my $hinted = '59F810BB8809E7249B1C774BAA3FD5D70';
is $t->helper('GET', "/v1/symcache/default/hinted/$hinted?version=9.0.0&wait=60"
    . "&code_id=buildid-$build_id")->{status}, 404, 'a module asked for with its build id';
$r = $ctl->run('why', @socket, "hinted/$hinted");
$ctl->is($r, 1, qr{not cached
  version 9\.0\.0 is not made: notfound for the hints code_id=buildid-$build_id; known since \d{4}-.*, for another \d+ s
  next: the next request starts a job, unless it has these hints
}, undef, 'why: what is remembered for the build id alone');

is $t->helper('GET', "/v1/symcache/default/NeVer.pdb/$id?version=9.0.0&wait=60")
    ->{status}, 404, 'in another spelling, too';
$r = $ctl->run('why', @socket, "never.pdb/$id");
like $r->{out}, qr/^    looked for as never\.pdb, NeVer\.pdb$/m,
    'why: the spellings of a miss';

# a file of another format is an error, whose reason the table gives
like $t->helper('GET', "/v1/symcache/default/broken.pdb/$id?version=9.0.0&wait=60")
    ->{status}, qr/^(?:404|503)$/, 'a file that is no PDB';
my $uuid = 'ae0f32d0-9f98-5f9a-a801-464ed9f06232';
for (["mapping.txt", $uuid], ['mapping.txt/AE0F32D09F985F9AA801464ED9F062320']) {
    my ($object) = $ctl->json($ctl->run('why', @socket, '--json', @$_));
    is $object->{id}, 'AE0F32D09F985F9AA801464ED9F062320',
        "why: the mapping @$_";
}

$r = $ctl->run('why', @socket, "broken.pdb/$id");
like $r->{out}, qr/^  version 9\.0\.0 is not made: \w+(?:: (?:(?!http).)*)?; known since/m,
    'why: the line above the table does not repeat it' or diag $r->{out};

# --- originals

for (['executable', 'a.exe', '5DDC1E9A6c000'], ['debuginfo', '_', 'buildid-ab12'],
     ['debuginfo', 'never.pdb', $id], ['executable', '_', 'buildid-ab12'])
{
    my ($kind, @key) = @$_;
    my $path = join '/', @key;
    my @kind = $path =~ /exe|_/ && $path !~ /ab12/ ? () : ('--kind', $kind);
    is $t->helper('GET', "/v1/$kind/default/$path?version=1.0.0&wait=60")
        ->{status}, 404, "$kind of $path is nowhere";
    $r = $ctl->run('why', @socket, @kind, @key);
    $ctl->is($r, 1, qr{^\Q$key[0] $key[1]\E, store default\n  not cached}, undef,
             "why: $kind");
    $r = $ctl->run('why', @socket, @kind, $path);
    $ctl->is($r, 1, qr/^  not fetched: notfound;/m, undef, '- with a slash');
    $r = $ctl->run('forget', @socket, @key);
    $ctl->is($r, 0, qr/^forgotten entries: \d$/, undef, '- is forgotten');
    $r = $ctl->run('why', @socket, @kind, $path);
    unlike $r->{out}, qr/notfound/, '- nothing is known of it any more';
}
is $t->helper('GET', "/v1/symcache/default/never.pdb/$id?version=9.0.0&wait=60")
    ->{status}, 404, 'as before';

# --- a file instead of a module's name

$ctl->is($ctl->run('why', @socket, $t->data('pdb/crash.pdb')), 0,
    qr{^crash\.pdb $id, store default\n  cached: }, undef, 'why: a PDB');
my $build = '0123456789abcdef0123456789abcdef01234567';
my $debug = '67452301AB89EFCD0123456789ABCDEF0'; # the first half, as a GUID
$t->write_file('x.c', "int seven(int a) { return a + 7; }\n");
system('cd ' . $t->dir . " && cc -g -shared -nostdlib -Wl,--build-id=0x$build"
    . ' -o libx.so x.c && cp libx.so libx.so.debug') == 0 or BAIL_OUT('cc');
is $t->helper('GET', "/v1/$_&wait=60")->{status}, 404, "nowhere: $_"
    for "symcache/default/libx.so/$debug?version=9.0.0",
        "executable/default/_/buildid-$build?version=1.0.0";
for ('libx.so', 'libx.so.debug') {
    $ctl->is($ctl->run('why', @socket, $t->path($_)), 1,
        qr{^libx\.so $debug, .*not made: notfound}s, undef, "why: $_");
}
$ctl->is($ctl->run('why', @socket, '--kind', 'executable', $t->path('libx.so')), 1,
    qr{^_ buildid-$build, .*not fetched: notfound}s, undef, 'why: by its build id');
for my $id ($build, uc $build, "buildid-$build") {
    $ctl->is($ctl->run('why', @socket, '--kind', 'executable', '_', $id), 1,
        qr{^_ buildid-$build, .*not fetched: notfound}s, undef, "why: _ $id");
}
$ctl->is($ctl->run('forget', @socket, $t->path('libx.so.debug')), 0,
    qr/^forgotten entries: 1$/, undef, 'forget: its debug file');
$ctl->is($ctl->run('why', @socket, $t->path('x.c')), 2, undef,
    qr/belongs to no module/, 'why: a text');
$ctl->is($ctl->run('why', @socket, $t->write_file('empty.so', '')), 2, undef,
    qr/is empty: /, 'why: an empty file');
$t->write_file('mapping.txt', "a.B -> a.a:\n    1:1:void c():5:5 -> a\n");
$ctl->is($ctl->run('why', @socket, $t->path('mapping.txt')), 2, undef,
    qr/is a mapping, which has no id in it: give its UUID as well: /,
    'why: a mapping alone');
for (["MSCF\0\0\0\0", 'a.pd_'], ["\x1f\x8b\x08\0\0\0\0\0", 'a.pdb.gz']) {
    $t->write_file($_->[1], $_->[0]);
    $ctl->is($ctl->run('why', @socket, $t->path($_->[1])), 2, undef,
        qr/is packed: unpack it, or give its name and id/, "why: $_->[1]");
}
$ctl->is($ctl->run('why', @socket, $t->path('none/app.exe')), 2, undef,
    qr{no such file, and not PDB/GUIDAGE: .*/none/app\.exe}, 'why: no such file');
$ctl->is($ctl->run($_, $t->path('.')), 2, undef,
    qr{^symcachectl $_: is a folder, and not PDB/GUIDAGE: \Q${\$t->path(q(.))}\E$}m, "$_: a folder")
    for 'why', 'forget';
mkdir $t->path("symbols$_") for '', '/crash.pdb', "/crash.pdb/$id", '/app.exe', '/app.exe/5DDC1E9A6c000';
$ctl->is($ctl->run('why', @socket, $t->path("symbols/crash.pdb/$id$_")), 0, qr/^crash\.pdb $id, /i,
    undef, "why: a folder of a symbol store$_") for '', '/';
$ctl->is($ctl->run('why', @socket, $t->path('symbols/app.exe/5DDC1E9A6c000')), 1,
    qr/^app\.exe 5DDC1E9A6c000, /, undef, 'why: the folder of an image');
for (["/symcache/v9.0.0/crash.pdb/$guid/1"], ["crash.pdb/$guid/1"], ['C:\\build\\crash.pdb', $id],
     ['C:\\build\\crash.pdb', $guid, 1], ['/build/crash.pdb', $id]) {
    $ctl->is($ctl->run('why', @socket, @$_), 0, qr/^crash\.pdb $id, /i, undef, "why: @$_");
}
for (["/symcache/v3.1.0/crash.pdb/$guid/1", 'cached: '],
     ["http://server/symcache/V3.1.0/other.pdb/$guid/1", 'not cached']) {
    $ctl->is($ctl->run('why', @socket, $_->[0]), 1,
        qr/^  $_->[1].*^  next: 404 for this client, which reads versions up to 3: /ms,
        undef, "why: $_->[0], of a client that reads other versions");
}
$ctl->is($ctl->run('why', @socket, "/symcache/v9.1.0/other.pdb/$guid/1"), 1,
    qr/^  next: the next request starts a job$/m, undef,
    'why: the path of a client that reads what is made');
$ctl->is($ctl->run('why', @socket, "/symbols/app.exe/5DDC1E9A6c000/app.exe"), 1,
    qr/^app\.exe 5DDC1E9A6c000, /, undef, 'why: the path of an image');
$ctl->is($ctl->run('why', @socket, "/symbols/buildid/$build/debuginfo"), 1,
    qr/^_ buildid-$build, /, undef, 'why: the path of debuginfod');
for (["debuginfo/default/gone.pdb/$id", "/symbols/gone.pdb/$id/GONE.pdb"],
     ["debuginfo/default/gone.pdb/$id", "http://server/symbols/gone.pdb/$id/gone.pdb"],
     ["executable/default/_/buildid-$build", "/symbols/buildid/$build/executable"])
{
    my ($original, $path) = @$_;
    is $t->helper('GET', "/v1/$original?version=1.0.0&wait=60")->{status}, 404,
        "nowhere: $original";
    $ctl->is($ctl->run('why', @socket, $path), 1, qr/not fetched: notfound/, undef,
        "why: $path is about the original");
}
$ctl->is($ctl->run('why', @socket, 'a:b.pdb', $id), 2, undef,
    qr/invalid PDB name: a:b\.pdb/, 'why: the wrong one of two is named');
for my $kind ([], ['--kind', 'ppdbcache']) {
    for my $file ('plain.dll', 'plain.pdb') {
        my ($line) = $ctl->run('why', @socket, '--json', @$kind,
            $t->data("ppdb/$file"))->{out};
        my $is_pdb = $line =~ /"pdb": *"plain\.pdb"/;
        ok $is_pdb, "why: $file, of a portable PDB @$kind" or diag $line;
        like $line, qr/FFFFFFFF"/, '... by its id';
    }
}
$r = $ctl->run('why', @socket, '--kind', 'debuginfo', "crash.pdb/$id");
$ctl->is($r, 0, qr{^  cached: crash\.pdb/$id/crash\.pdb, from upstream$}m, undef,
         'why: an original that is there');
$r = $ctl->run('why', @socket, '--kind', 'pdb', "crash.pdb/$id");
$ctl->is($r, 2, undef, qr/bad-query/, 'why: no such kind');

# --- a machine that drains

is $ctl->run('drain', @socket)->{code}, 0, 'drain';
$r = $ctl->run('why', @socket, "other.pdb/$id");
like $r->{out}, qr/next: the next request is refused: this machine drains, and starts no job$/m,
    'why: a file that a machine which drains does not look for';
is $ctl->run('drain', @socket, '--end')->{code}, 0, 'drain --end';

# --- forget

$r = $ctl->run('forget', @socket, "never.pdb/$id");
$ctl->is($r, 0, qr/^forgotten entries: 1$/, undef, 'forget: one build');
$r = $ctl->run('why', @socket, "never.pdb/$id");
like $r->{out}, qr/next: the next request starts a job/, 'and it is';
$t->helper('GET', "/v1/symcache/default/never.pdb/$id?version=9.0.0&wait=60");
$r = $ctl->run('forget', @socket, '--json', 'never.pdb');
$ctl->is($r, 0, qr/^\{"forgotten":1\}$/, undef, 'forget: all builds, as JSON');
$r = $ctl->run('forget', @socket, 'never.pdb');
$ctl->is($r, 0, qr/^forgotten entries: 0$/, undef, 'forget: nothing');

sub malformed {
    my ($name, $ago) = @_;
    $t->write_file("store/$name.pdb/$id/$name.pdb-v9.0.0.absent",
                   sprintf "malformed %d 0123456789abcdef\nwhy\n", time - $ago);
}

malformed("old$_", $_) for 100, 4000, 8000, 90000;
$ctl->is($ctl->run('forget', @socket, '--malformed-since', '2h'), 0,
         qr/^forgotten entries: 2$/, undef, 'forget: since a duration');
my $local = POSIX::strftime('%Y-%m-%d %H:%M:%S', localtime time - 8100);
$ctl->is($ctl->run('forget', @socket, "--malformed-since=$local", '--json'), 0,
         qr/^\{"forgotten":1\}$/, undef, 'forget: since a local time, as JSON');
$local = POSIX::strftime('%Y-%m-%d %H:%M', localtime time - 90100);
$ctl->is($ctl->run('forget', @socket, '--malformed-since', $local), 0,
         qr/^forgotten entries: 1$/, undef, 'forget: since a minute');
$ctl->is($ctl->run('forget', @socket, '--malformed-since', time - 9), 0,
         qr/^forgotten entries: 0$/, undef, 'forget: since Unix seconds');

# --- sources

$t->helper('GET', "/v1/symcache/default/broken.pdb/$id?version=9.0.0&wait=60");
$r = $ctl->run('sources', @socket);
$ctl->is($r, 0, qr{^SOURCE \s+ TYPE \s+ HEALTH \s+ FOUND .* PLACE\n
    upstream \s+ http \s+ ok \s+ 1 \s+ \d+ \s+ 1 \s+ 0 \s+ \d.*
    \Q$ctl->{url}\E.*\n
    upstream:\ latest\ failure\ \d{4}-.*:\ no\ debug\ file\ of\ a\ known\ format$}x, undef, 'sources');
($object) = $ctl->json($ctl->run('sources', @socket, '--json'));
is $object->{sources}[0]{name}, 'upstream', 'sources --json';

# --- status

$ctl->is($ctl->run('status', @socket), 0, qr{^symcached:\ jobs\ 0,
    \ waiting\ requests\ 0\nsymbolicated:\ none\ has\ reported$}x, undef,
    'status: nobody');
$t->post($t->helper_socket, '/v1/symbolicated', '{"name": "m\u001b", "version":
    "1.0", "listen": "unix:/s", "started": 1800000000, "requests": 5,
    "frames": 70, "valid": 300}');
$ctl->is($ctl->run('status', @socket), 0, qr{^symcached:.*\n
    MACHINE \s+ ADDRESS \s+ VERSION \s+ STARTED \s+ REQUESTS \s+ FRAMES
    \s+ REPORTED \s+ CONFIG\n
    m\\x1b \s+ unix:/s \s+ 1\.0 \s+ 2027-\S+\ \S+ \s+ 5 \s+ 70 \s+
    \d{4}-\S+\ \S+ \s+ the\ file's$}x, undef, 'status');
($object) = $ctl->json($ctl->run('status', @socket, '--json'));
is $object->{symbolicated}[0]{frames}, 70, 'status --json';
$t->post($t->helper_socket, '/v1/symbolicated', '{"name": "m\u001b", "version":
    "1.0", "listen": "unix:/s", "started": 1800000000, "requests": 5,
    "frames": 70, "valid": 300, "config_stale": true}');
$ctl->is($ctl->run('status', @socket), 0, qr{not\ the\ file's\n
    not\ the\ file's:\ SIGHUP\ makes\ symbolicated\ read\ .*its\ log\ says\ why$}x, undef,
    'status: what to do where a configuration is not that of the file');

# --- drain

$ctl->is($ctl->run('drain', @socket), 0,
         qr/^draining: jobs 0, waiting requests 0$/, undef, 'drain');
$ctl->is($ctl->run('status', @socket), 0, qr/^symcached:.* 0, draining\n/,
         undef, 'status: draining');
($object) = $ctl->json($ctl->run('drain', '--json', '--end', @socket));
ok !$object->{draining}, 'drain --end --json';
$ctl->is($ctl->run('drain', '--end', @socket), 0,
         qr/^not draining: jobs 0, waiting requests 0$/, undef, 'drain --end');

# --- where the helper is

$r = $ctl->run('jobs', '-c', $t->path('symcached.json'));
is $r->{code}, 0, '-c: the socket of a configuration';
$r = $ctl->run('jobs', '--socket=' . $t->helper_socket);
is $r->{code}, 0, '--socket=PATH';
$t->write_file('comments.json', "// socket\n{ /* here */ \"listen\": \"unix:"
    . $t->helper_socket . '" }');
$r = $ctl->run('jobs', '-c', $t->path('comments.json'));
is $r->{code}, 0, '-c: comments';

SKIP: {
    local $ctl->{wrapper} = $> == 0
        ? [qw(setpriv --reuid=nobody --clear-groups)] : undef;
    skip 'no setpriv, or no program for nobody', 1
        if $ctl->{wrapper} && $ctl->run('--version')->{code} != 0;
    mkdir $t->path('closed') or die $!;
    chmod 0, $t->path('closed');
    $ctl->is($ctl->run('jobs', '--socket', 'unix:' . $t->path('closed/s')), 3,
        undef, qr/cannot connect: Permission denied\nonly root may, and users /,
        'a socket of others');
    chmod 0700, $t->path('closed');
}

my $n = 0;
for ([3, qr/\Q${\$t->path('none')}\E: cannot connect: No such file.*\n.*running there\?/,
      'no socket', 'jobs', '--socket', 'unix:' . $t->path('none')],
     [3, qr/none\.json: No such file/, 'no configuration',
      'jobs', '-c', $t->path('none.json')],
     [3, qr/^symcachectl: --socket or --peers: an address is empty\n\z/, 'no address',
      'jobs', '--socket', ''],
     [3, qr/: an address is empty\n\z/, 'no address of a peer', 'status', '--peers', ''],
     [3, qr/gate: is empty/, 'an empty one', 'jobs', '-c', $t->path('gate')],
     (map {
         my ($text, $reason, @command) = @$_;
         [3, qr/^symcachectl: \S+wrong$n\.json:$reason\n\z/, "one of '$text'",
          @command, '-c', $t->write_file('wrong' . $n++ . '.json', $text)]
     } ['[]', '1: must be an object', 'jobs'],
       ["{\n\"listen\": \"\" }", '2: listen: must not be empty', 'jobs'],
       ["{\n\n\"admin_listen\": [] }", '3: admin_listen: must be a string', 'jobs'],
       ["{ \"listen\": \"h:1\",\n\"listen_token\": 1 }",
        '2: listen_token: must be a string', 'jobs'],
       ["{\"symbolication\":\n\"on\" }", '2: symbolication: must be an object',
        'symbolicate', "crash.pdb/$id", '0x1000'],
       ["{ \"listen\" 1 }", '1: not valid JSON near column 12', 'jobs'],
       ["{\"stores\": {\"default\": {\n\"root\": \"\" } } }",
        '2: stores\.default\.root: must not be empty', 'ls'],
       ["{\"uploads\": {\n\"root\": 1 } }", '2: uploads\.root: must be a string',
        'uploads', 'ls']),
     [2, qr/unknown-store.*--store/s, 'an unknown store',
      'why', @socket, '--store', 'none', "crash.pdb/$id"],
     [2, qr/unknown option: --frob/, 'an option', 'why', '--frob'],
     [2, qr/no value: --socket/, 'an option without value',
      'jobs', '--socket'],
     [2, qr/no operands: x/, 'an operand', 'jobs', 'x'],
     [2, qr/no operands: x/, 'an operand', 'drain', 'x'],
     [2, qr/no operands: a\\x1b\[2J/, 'hostile', 'sources', "a\e[2J"],
     [2, qr/which module\? Say PDB GUID AGE, or/, 'no PDB', 'why'],
     [2, qr/which module\? Say PDB GUID AGE, or/, 'no PDB', 'forget'],
     [2, qr/no operands with --malformed-since: crash\.pdb/, 'both',
      'forget', '--malformed-since', '2h', 'crash.pdb'],
     (map { [2, qr/bad-query: malformed_since= must be/, "no time: $_",
             'forget', @socket, '--malformed-since', $_] }
          'x', '2', '2h ago', '2026-13-01 00:00', '9999-01-01 00:00', '&a=b'),
     [3, qr/: ir\/none: cannot connect: No such file/, 'a relative path',
      'jobs', '--socket', 'ir/none'],
     [3, qr/: none: cannot connect: No such file/, 'a name', 'jobs',
      '--socket', 'none'],
     [2, qr/: $dashed-100000000$/m, 'an age of 9 digits', 'why', 'crash.pdb',
      "$dashed-100000000"],
     [2, qr/: $dashed-$/m, 'no age behind the dash', 'why', 'crash.pdb',
      "$dashed-"],
     [2, qr/no GUID/, 'no GUID', 'why', 'crash.pdb'],
     [2, qr/: 12$/m, 'no GUID either', 'why', 'crash.pdb', '12'],
     [2, qr/age/i, 'no age', 'why', 'crash.pdb', $guid, '1x'],
     [2, qr/name/, 'no name', 'why', 'a?b', $guid, '1'],
     [2, qr/name/, 'no name', 'forget', '..']) {
    my ($code, $err, $what, @args) = @$_;
    $ctl->is($ctl->run(@args), $code, undef, $err, "refused: $what");
}

# --- a transcoder that is left alone

my $config = $t->default_config($ctl->{url});
$config->{stores}{default}{transcoders}[0]{command} =
    ['/bin/sh', '-c', 'echo "no license" >&2; exit 75', '{pdb}'];
$t->reload_symcached($config);
for my $name (map { "e$_.pdb" } 1 .. 3) {
    $t->write_file("sym/$name/$id/$name",
                   $t->read_file($t->data('pdb/crash.pdb')));
    is $t->helper('GET', "/v1/symcache/default/$name/$id?version=9.0.0&wait=60")
        ->{status}, 503, "$name: not the file's fault";
}
$ctl->is($ctl->run('why', @socket, "e4.pdb/$id"), 1,
    qr{^  the transcoder of version 9\.0\.0 is left alone for another \d+ s, it failed: exit code 75, not the file's fault: no license(?:\\x0a)?$}m,
    undef, 'why: a transcoder that is left alone');

# --- a helper that lies

my $evil = "a\e]0;x\a\x{c2}\x{9b}\xff\x{e2}\x{80}\x{ae}b";
my $liar = Test::ScriptedServer->new(log => $t->path('liar.requests'),
    script => sub {
        my ($c, $req) = @_;
        my $text = JSON::PP->new->encode({ name => '?', health => '?' });
        $text =~ s/\?/a\\u001b]0;x\\u0007\x{c2}\x{9b}\xff\x{e2}\x{80}\x{ae}b/g;
        return $c->reply(200, {}, "{\"sources\":[$text]}")
            if $req->{path} eq '/v1/sources';
        return $c->reply(200, {}, '<html>') if $req->{path} eq '/v1/jobs';
        return $c->reply(500, {}, '{"error": "\u001b[2J", "detail": "x"}');
    });
my @liar = ('--socket', '127.0.0.1:' . $liar->port);
$r = $ctl->run('sources', @liar);
my $escaped = quotemeta 'a\x1b]0;x\x07\u009b\xff\u202eb';
$ctl->is($r, 0, qr/^$escaped +$escaped/m, undef,
    'hostile text is escaped; TCP');
$r = $ctl->run('sources', '--json', @liar);
unlike $r->{out}, qr/[\x00-\x09\x0b-\x1f\x7f\xff]|\xc2\x9b|\xe2\x80\xae/,
    'in JSON, too';
is +($ctl->json($r))[0]{sources}[0]{name},
    "a\e]0;x\a\x{9b}\x{fffd}\x{202e}b", 'and it is the same';
$ctl->is($ctl->run('jobs', @liar), 3, undef, qr/not a JSON object/,
    'an answer of somebody else');
$ctl->is($ctl->run('why', @liar, "crash.pdb/$id"), 3, undef,
    qr/: \\x1b\[2J: x$/, 'an error');
$liar->stop;

SKIP: {
    skip 'no /dev/full', 1 unless -c '/dev/full';
    my $command = join ' ', $t->program('symcachectl'), 'jobs', @socket;
    is system("$command >/dev/full 2>/dev/null") >> 8, 3,
        'output that cannot be written';
}

$t->finish;
done_testing;
