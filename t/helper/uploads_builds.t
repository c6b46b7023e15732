#!/usr/bin/env perl

# Uploads with labels: the list of each build, from every dialect, and how long
# builds and their files are kept.  The clock is that of the lists: their times
# are set.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib qw(memGzip);
use Digest::MD5 qw(md5_hex);
use Digest::SHA qw(sha1_hex);
use IO::Socket::UNIX;
use JSON::PP ();
use Test::Ctl;
use Test::More;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;
use Time::HiRes qw(clock_gettime CLOCK_REALTIME CLOCK_REALTIME_COARSE);

my $u = Test::Uploads->new;
my $t = $u->t;
my $dir = $t->dir;
my $root = "$dir/uploads";
my $ctl = Test::Ctl->new($t);
my $now = time;

sub id { sprintf '%031X1%X', $_[0], 0 }
sub sym { "MODULE Linux x86_64 ${\ id($_[0])} app$_[0]\nPUBLIC 1000 0 f$_[0]\n" }
sub path { "app$_[0]/${\ id($_[0])}/app$_[0].sym" }
sub put { my ($n, $query, @headers) = @_;
    $u->put(path($n) . $query, sym($n), @Test::Uploads::token, @headers) }
sub list { my $text = eval { $t->read_file("uploads/.builds/$_[0]") } // return;
    [sort map { m{^app(\d+)/} ? $1 : $_ } split /\n/, $text] }
sub labels { 'X-Symcached-Labels: ' . shift }
# since Linux 6.13 files may be of a later time than the coarse clock has
sub were_sent_before { my $sent = clock_gettime(CLOCK_REALTIME);
    $t->wait_until('they were sent before', sub { clock_gettime(CLOCK_REALTIME_COARSE) > $sent }) }

# --- labels

my $r = put(1, '?product=app&branch=nightly&build=1');
is $r->{status}, 201, 'PUT with labels: 201' or diag $r->{raw};
is_deeply list('app/nightly/1'), [1], 'the build has its file';
put(2, '?build=1&branch=nightly&product=app');
is_deeply list('app/nightly/1'), [1, 2], 'and another one';
is put(2, '?build=1&branch=nightly&product=app')->{status}, 200, 'the same: 200';
is_deeply list('app/nightly/1'), [1, 2], 'it is there once';
$r = $u->put(path(2) . '?force=1&build=1&branch=nightly&product=app', sym(2) . "PUBLIC 2000 0 g\n",
    @Test::Uploads::token);
is $r->{status}, 201, 'another one in its place' or diag $r->{raw};
is_deeply list('app/nightly/1'), [1, 2], '... is there once, too';
$u->put(path(2) . '?force=1&build=1&branch=nightly&product=app', sym(2), @Test::Uploads::token);
is put(1, '?product=app&branch=nightly&build=2')->{status}, 200,
    'a file of two builds';
is_deeply list('app/nightly/2'), [1], 'is in the lists of both';
put(3, '?build=feature%2Fx%201&branch=.%2e');
is_deeply list('%/%2E./feature%2Fx%201'), [3], 'labels are encoded as names of files';
put(4, '', labels('product=app&branch=&build=h%261'));
is_deeply list('app/%/h%261'), [4], 'by a header; an empty one counts for none';
put(4, '?try=1&build=t');
ok -f "$root/.try/.builds/%/%/t", 'a try build is beside its files';

# A full disk or a kill can cut off the end of a list.
put(16, '?build=torn');
truncate "$root/.builds/%/%/torn", length(path(16)) - 3 or die $!;
put($_, '?build=torn') for 17, 18;
is_deeply list('%/%/torn'), [16, 17, 18], 'the next line of a list that was cut off is whole';
like $t->read_file('uploads/.builds/%/%/torn'), qr/^\Q${\ path(17)}\E$/m, 'and has its path';

my @bad = (
    ['?branch=x', qr/need the name of a build/, 'no build'],
    ['?build=', qr/1 to 64 bytes/, 'an empty build'],
    ['?build=' . 'x' x 65, qr/1 to 64 bytes/, 'a long one'],
    ['?build=a%0ab', qr/without control/, 'a line end'],
    ['?build=a%00b', qr/NUL/, 'a NUL'],
    ['', qr/not written as a query/, 'a NUL in the header', 'X-Symcached-Labels: build=a%00b'],
    ['?build=%ff', qr/UTF-8/, 'no UTF-8'],
    ['?build=1&build=2', qr/given once/, 'two of them'],
    ['', qr/given once/, 'two in the header', labels('build=1&build=2')],
    ['?build=1', qr/given once/, 'one in the header as well', labels('build=2')],
    ['', qr/something else/, 'another key in the header', labels('builds=2')],
);
for (@bad) {
    my ($query, $detail, $name, @headers) = @$_;
    $r = put(5, $query, @headers);
    is $r->{status}, 400, "$name: 400";
    like $r->{json}{detail}, $detail, "$name: said so";
}
ok !-e "$root/app5", 'and nothing is stored';

# --- every dialect

my $zip = Test::Zip::zip(map { [path($_), sym($_)] } 6, 7);
my ($body, $type) = Test::Zip::form('symbols.zip', $zip);
$r = $u->request('POST', '/upload/?build=tecken', $body, $type, @Test::Uploads::token);
is $r->{status}, 201, 'an archive' or diag $r->{raw};
is_deeply list('%/%/tecken'), [6, 7], 'all members are in the list';

my @bearer = ('Authorization: Bearer 0123456789abcdef0123456789abcdef');
my $sum = sha1_hex(sym(8));
my $assemble = '/api/0/projects/acme/web/files/difs/assemble/';
$u->request('POST', '/api/0/organizations/acme/chunk-upload/',
    "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"$sum\"\r\n\r\n"
        . sym(8) . "\r\n--b--\r\n", 'Content-Type: multipart/form-data; boundary=b', @bearer);
sub assembled {
    my ($label) = @_;
    $t->wait_until('assembled', sub {
        $u->request('POST', $assemble, JSON::PP::encode_json({ $sum => {
            name => 'app8.sym', chunks => [$sum] } }), @bearer, labels($label))
            ->{json}{$sum}{state} eq 'ok' });
}
assembled('build=sentry');
is_deeply list('%/%/sentry'), [8], 'sentry-cli';
assembled('build=sentry2');
is_deeply list('%/%/sentry2'), [8], 'once more, for another build';
is $u->request('POST', $assemble, '{}', @bearer, labels('product=x'))->{status}, 400,
    'wrong labels are refused';

# two files of one request for one place: each build gets the better one
my %two = map { sha1_hex($_) => $_ } sym(20), sym(20) . "PUBLIC 2000 0 g\n";
$u->request('POST', '/api/0/organizations/acme/chunk-upload/',
    join('', map { "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"$_\""
        . "\r\n\r\n$two{$_}\r\n" } sort keys %two) . "--b--\r\n",
    'Content-Type: multipart/form-data; boundary=b', @bearer);
for my $build (qw(two1 two2 two1)) {
    unlink "$root/.builds/%/%/$build";
    $t->wait_until('both are assembled', sub {
        my $states = $u->request('POST', $assemble, JSON::PP::encode_json({ map { $_ => {
            name => 'app20.sym', chunks => [$_] } } keys %two }), @bearer,
            labels("build=$build"))->{json};
        return 2 == grep { $_->{state} eq 'ok' } values %$states;
    });
    is list("%/%/$build")->[0], 20, "$build has it";
}

my $key = 'key=0123456789abcdef0123456789abcdef';
$r = $u->request('POST', "/symupload/v1/uploads:create?$key", '');
my ($send) = $r->{json}{uploadUrl} =~ m{(/symupload\S+)};
is $u->request('PUT', $send, sym(9), labels('product=x'))->{status}, 400,
    'symupload: wrong labels';
is $u->request('PUT', $send, sym(9), labels('build=symupload'))->{status}, 200,
    'symupload';
is_deeply list('%/%/symupload'), [9], 'its build';

# by a URL alone
my $builds = '/builds/app/main/7';
$r = $u->request('POST', "$builds/symupload/v1/uploads:create?$key", '');
($send) = $r->{json}{uploadUrl} =~ m{://[^/]+(\S+)};
like $send, qr{^\Q$builds\E/symupload/}, 'symupload below the URL of a build';
is $u->request('PUT', $send, sym(10), labels('build=other'))->{status}, 200,
    'is sent there';
is_deeply list('app/main/7'), [10], 'and belongs to the build';
is $u->request('PUT', "$builds/symbols/${\ path(11)}", sym(11), @Test::Uploads::token)
    ->{status}, 201, 'a single file';
is_deeply list('app/main/7'), [10, 11], 'below such a URL';
ok !-e "$root/.builds/%/%/other", 'whose labels count, and not those of a header';

is $u->request('PUT', '/builds/a%0d%0aX-Symcached-Labels:%20build=x/b/c/symbols/' . path(12),
    sym(12), @Test::Uploads::token)->{status}, 400, 'a line end in it is no label';
$r = $u->request('PUT', '/builds/my%20app/main/7/symbols/' . path(12), sym(12), @Test::Uploads::token);
is $r->{status}, 400, 'nor a blank';
like $r->{json}{detail}, qr/letters, digits and \._~- in these three: others go into the header/,
    '... and the answer says how';
ok !-e "$root/app12", 'and nothing is stored';

# --- what a client would skip

# A file that only a build has goes with it, so one without labels has to send it
# again; and a build gets a file only by sending it.
put($_, $_ == 13 ? '?build=skip' : $_ == 14 ? '?expires=1d' : '') for 13 .. 15;
sub head { Test::Symcache::header($u->request('HEAD', "/symbols/${\ path($_[0])}", '',
    @Test::Uploads::token, 'Want-Repr-Digest: sha-256=1', @_[1 .. $#_]), 'Repr-Digest') }
is head(13), undef, 'HEAD of a file of a build: no digest';
is head(15, labels('build=x')), undef, 'nor with labels';
isnt head(15), undef, 'but of one that stays';
sub tecken {
    my ($n, @headers) = @_;
    return $u->request('POST', '/upload/v2/', JSON::PP::encode_json({ files => [{
        key => path($n), size => length sym($n), md5_hash => md5_hex(sym($n)) }] }),
        'Content-Type: application/json', @Test::Uploads::token, @headers)
        ->{json}{files}[0]{action}{type};
}
is join(' ', map { tecken($_) } 13 .. 15), 'upload upload skip',
    'Tecken: sent are a file of a build and one that expires';
is tecken(15, labels('build=x')), 'upload', 'and all with labels';
sub status {
    my ($n, $before, @headers) = @_;
    return $u->request('GET', "$before/symupload/v1/symbols/app$n/${\ id($n)}:checkStatus?$key",
        '', @headers)->{json}{status};
}
is join(' ', map { status($_, '') } 13 .. 15), 'MISSING MISSING FOUND', 'symupload: the same';
is status(15, $builds), 'MISSING', 'and with labels';
my $folder = $t->path('once');
$t->write_file('once/app13.sym', sym(13));
my $port = $u->start_nginx_on_port;
is $ctl->run('upload', '--url', "$port/symbols", '--token', '0123456789abcdef0123456789abcdef',
    $folder)->{out}, "0 stored, 1 skipped, 0 refused, 0 failed, 0 left out\n",
    'symcachectl upload: the server has it';
$t->stop_nginx;
$u->start_nginx;
isnt head(13), undef, 'and keeps it without its build';

# --- how long they are kept

# Builds 1 to 5 of a branch, each with a file of its own; 20 is in all, and 21 in
# the first and the last one.
for my $n (1 .. 5) {
    put($_, "?product=p&branch=nightly&build=$n")
        for 30 + $n, 20, $n == 1 || $n == 5 ? 21 : ();
    put(40 + $n, "?product=p&branch=release-$n&build=$n");
}
put(50, '?product=p&branch=topic&build=1');
put(51, '?product=p&branch=other&build=1');
put(31, ''); # once without labels: it is for others, too
put(22, '?product=p&branch=nightly&build=2');
put(23, '?product=p&branch=nightly&build=1');
sub age { my ($list, $seconds) = @_;
    utime $now - $seconds, $now - $seconds, "$root/.builds/$list" or die "$list: $!" }
age("p/nightly/$_", 1000 - 100 * $_) for 1 .. 5;
age('p/topic/1', 7200);
my $old = $now - 7200;
utime $old, $old, "$root/" . path($_) for 41 .. 45, 51;
is $ctl->run('uploads', 'pin', '--root', $root, path(23))->{code}, 0, 'one is pinned';

sub restart {
    my (%uploads) = @_;
    my $c = $u->config;
    %{ $c->{uploads} } = (%{ $c->{uploads} }, %uploads);
    $c->{cache}{clean_every} = '1s';
    $t->stop_symcached;
    $t->start_symcached($c);
}
sub has { -f "$root/" . path($_[0]) }
sub builds { join ' ', map { s{.*/}{}r } sort glob "$root/.builds/p/$_[0]/*" }

restart(keep => [{ branch => 'release-*' },
                 { product => 'p', branch => 'nightly', builds => 2 },
                 { branch => 'topic', max_age => '1h' }]);
$t->wait_until('builds of the branch are removed', sub { builds('nightly') eq '4 5' });
is join(' ', grep { has($_) } 31 .. 35), '31 34 35',
    'with their files, but for one that was also sent without labels';
ok has(20), 'a file of all builds stays';
ok has(21), 'as does one of an old and a new build';
ok !has(22), 'a file that was sent again for an old one goes';
ok has(23), 'a pinned file stays';
$t->wait_until('an old build goes, and its folder', sub { !-e "$root/.builds/p/topic" });
ok !has(50), 'with its file';
is join(' ', map { builds("release-$_") } 1 .. 5), '1 2 3 4 5', 'releases stay';
is_deeply list('app/nightly/1'), [1, 2], 'as does a build of a branch without a rule';
like $t->helper_log, qr{clean uploads product=p branch=nightly build=1 removed},
    'the log names each build';
$t->wait_until('they are counted', sub { $t->http("$dir/a.sock", 'GET', '/metrics')->{body}
    =~ m{^symcached_uploads_builds_removed_total 4$}m });
sub gauge {
    my ($name) = @_;
    return $t->http("$dir/a.sock", 'GET', '/metrics')->{body} =~ /^\Q$name\E (\d+)$/m ? $1 : 'none';
}
my $left = grep { -f } map { glob "$_/.builds/*/*/*" } $root, "$root/.try";
$t->wait_until('those that stay are counted', sub { gauge('symcached_uploads_builds{rule="yes"}') == 7 });
is gauge('symcached_uploads_builds{rule="no"}'), $left - 7, 'without a rule: all others';
is $t->helper_json('/v1/status')->{jobs}{builds}, $left, 'the status has all';
is gauge('symcached_uploads_builds_unread'), 0, 'all lists are read';
rename "$root/.try/.builds", "$dir/builds" or die $!;
symlink '.builds', "$root/.try/.builds" or die $!;    # it leads to itself
$t->wait_until('lists that cannot be read are counted',
    sub { gauge('symcached_uploads_builds_unread') == 1 });
like $t->helper_log, qr{the lists of builds in "[^"]*/\.try/\.builds" cannot be read: no build is removed},
    'and logged';
unlink "$root/.try/.builds" or die $!;
rename "$dir/builds", "$root/.try/.builds" or die $!;
is $t->helper('GET', "/v1/breakpad/default/app32/${\ id(32)}?version=1.0.0&wait=60")
    ->{status}, 404, 'a removed file is not found';

# A rule without an end protects from the other limits; without a rule they
# apply.
restart(max_unused_for => '1s', keep => [{ branch => 'release-*' }]);
$t->wait_until('an unused file goes', sub { !has(51) });
is join(' ', grep { has($_) } 41 .. 45), '41 42 43 44 45',
    'unused files of a release stay';

# While lists cannot be read, any file may be of such a build.
put($_, '?build=1&branch=release-9&expires=1s') for 90, 91;
put(91, '?try=1&build=1&expires=1s');
my $broken = "$root/.builds/%/x";
mkdir $broken;
truncate $t->write_file('uploads/.builds/%/x/1', ''), 200 << 20 or die $!; # too large for a list
$t->wait_until('a file of a try build expires', sub { !-f "$root/.try/" . path(91) });
$t->wait_until('lists cannot be read', sub { gauge('symcached_uploads_builds_unread') == 1 });
ok has(90), 'a file of a build that is kept has not';
unlink "$broken/1" or die $!;
rmdir $broken;
$t->wait_until('lists can be read', sub { gauge('symcached_uploads_builds_unread') == 0 });
ok has(90), 'and does not, when they can be read';

restart();
put($_, "?product=p&branch=nightly&build=${\ ($_ - 30)}") for 34, 35;
age("p/nightly/$_", 1000 - 100 * $_) for 4, 5;

# A build whose files are sent again is a new one.
put(34, '?product=p&branch=nightly&build=4');
restart(keep => [{ branch => 'nightly', builds => 1 }]);
$t->wait_until('the older build goes', sub { builds('nightly') eq '4' });
ok has(34) && !has(35), 'which is the one that was sent earlier';

# --- with a tier: the object goes first, then the file and the list

my $tier = "$dir/fleet";
mkdir $tier;
my $c = $u->config;
$c->{tiers} = { fleet => { type => 'filesystem', path => $tier, mac_key => 'm' x 32 } };
$c->{stores}{default}{tier} = 'fleet';
sub objects { join ' ', sort map { m{/app(\d+)/[^/]+/app\d+\.sym$} ? $1 : () }
    split /\n/, qx{find '$tier' -path '*/uploads/app*' -type f} }
$t->stop_symcached;
$t->start_symcached($c);
put(70 + $_, "?product=t&branch=nightly&build=$_") for 1 .. 3;
put(80, "?product=t&branch=nightly&build=$_") for 1, 3;
is objects(), '71 72 73 80', 'the tier has files of builds';
age("t/nightly/$_", 1000 - 100 * $_) for 1 .. 3;
$c->{uploads}{keep} = [{ product => 't', branch => 'nightly', builds => 1 }];
$c->{cache}{clean_every} = '1s';
$t->stop_symcached;
$t->start_symcached($c);
$t->wait_until('builds are removed', sub {
    join(' ', map { s{.*/}{}r } glob "$root/.builds/t/nightly/*") eq '3' });
is join(' ', grep { has($_) } 71 .. 73, 80), '73 80', 'with their files here';
is objects(), '73 80', 'and in the tier';
like $t->helper_log, qr{clean uploads product=t branch=nightly build=1 removed}, 'said so';
restart();

# --- the command

sub ctl { $ctl->run('uploads', @_, '--root', $root) }
sub out { my $r = ctl(@_); is $r->{code}, 0, "@_" or diag $r->{err}; $r->{out} }

put(60, '?product=q&branch=main&build=1');
put(61, '?product=q&branch=main&build=1');
put(61, '?product=q&branch=main&build=2');
put(62, '?product=q&branch=main&build=2');
put(63, '?try=1&product=q&branch=main&build=3');
is join(' ', map { s/^ +//r =~ s/ bytes.*:\d\d//r =~ s/ +/ /gr }
    split /\n/, out('builds', '--product', 'q')),
    join(' ', "2 files ${\ (2 * length sym(60))} q main 2",
        "2 files ${\ (2 * length sym(60))} q main 1",
        "1 file ${\ length sym(60)} q main 3"), 'builds, the newest first';
my @json = map { JSON::PP::decode_json($_) }
    split /\n/, out('builds', '--product', 'q', '--build', 1, '--json');
is @json, 1, 'one build as JSON';
ok abs($json[0]{uploaded} - time) < 60, 'with the time';
is_deeply { %{ $json[0] }, uploaded => 0 },
    { product => 'q', branch => 'main', build => '1', files => 2,
      size => length(sym(60)) + length sym(61), uploaded => 0 }, 'and its labels';
is join(' ', map { m{(app\d+)\.sym} } split /\n/, out('ls', '--build', '[12]',
    '--product', 'q')), 'app61 app62 app60', 'ls by labels: each file once';
like out('ls', '--product', 'q', '--build', 3), qr{ \.try/\S+app63\.sym(?:  by \S+)?$}, 'of a try build';
is ctl('ls', '--product', 'none')->{code}, 1, 'none: 1';
is ctl('forget')->{code}, 2, 'forget without labels: 2';
is ctl('pin', '--build', 1, 'a/b/c')->{code}, 2, 'pin by labels: 2';
$ctl->is(ctl('forget', '--product', 'none'), 1, undef, qr/: no such build\n/,
         'none to forget: 1, and said so');
my @admin = ('--socket', "unix:$dir/a.sock");
like out('forget', '--product', 'q', '--build', 1, @admin), qr{^removed  \S*app60\.sym\nkept: in other builds  1 file\nremoved  the build  q  main  1$},
    'forget says what it removes';
ok !has(60), 'a file of that build alone';
ok has(61) && has(62), 'and none of others';
ok !-e "$root/.builds/q/main/1", 'and the build';
out('forget', '--product', 'q', '--build', '[23]', @admin);
ok !has(61) && !has(62) && !-e "$root/.try/" . path(63), 'several builds';
$ctl->is(ctl('builds', '--product', 'q'), 1, qr/^$/, qr/: no such build\n/, 'none is left');

put(61, "?product=q&build=$_") for 1, 1, 2, 3; # twice to one
were_sent_before();
like out('forget', '--product', 'q', '--build', '[12]', @admin),
    qr{\A(?:kept: in other builds  1 file\nremoved  the build  q  -  [12]\n?){2}\z},
    'forget tells of each build what others have';
out('forget', '--product', 'q', '--build', 3, @admin);

put(68, $_) for '?product=q&build=4', '';
were_sent_before();
is out('forget', '--product', 'q', '--build', 4, @admin),
    'kept: also sent without labels  ' . path(68) . "\nremoved  the build  q  -  4\n", 'forget says what it keeps';

# files that are sent while the command waits for the removal of another one
my $listen = IO::Socket::UNIX->new(Local => "$dir/slow.sock", Listen => 5, Timeout => 60)
    or die $!;
sub forget_while {
    my ($meanwhile) = @_;
    put($_, '?product=s&build=1') for 65, 66;
    were_sent_before();
    my $run = $ctl->begin('', 'uploads', 'forget', '--product', 's', '--build', 1,
        '--root', $root, '--socket', "unix:$dir/slow.sock");
    my $client = $listen->accept or die $!;
    while (defined(my $line = <$client>)) {
        last if $line eq "\r\n";
    }
    $meanwhile->();
    print $client "HTTP/1.1 200 OK\r\nContent-Length: 13\r\nConnection: close\r\n\r\n",
        '{"removed":1}';
    close $client;
    return $ctl->end($run);
}
is forget_while(sub { put(66, '?product=s&build=2') })->{code}, 0,
    'a file that is sent for another build meanwhile stays'; # nobody answers a second request
ok !-e "$root/.builds/s/%/1", 'and the build has gone';
$ctl->is(forget_while(sub { put($_, '?product=s&build=1') for 66, 67 }), 3,
    qr{^removed  \S+app65\.sym\nkept: in other builds  1 file$},
    qr{\.builds/s/%/1: the build has been sent meanwhile\n}, 'a build that is sent meanwhile stays');
is_deeply list('s/%/1'), [65, 66, 67], 'and has its files';

# while a list cannot be read, any file could be of its build
put(64, "?product=r&branch=main&build=$_") for 1, 2;
truncate "$root/.builds/r/main/2", 200 << 20 or die $!; # too large for a list
$ctl->is(ctl('forget', '--product', 'r', '--build', 1, @admin), 3, undef,
    qr{\.builds/r/main/2: File too large\n}, 'a list that cannot be read: 3');
ok has(64) && -e "$root/.builds/r/main/1", 'and nothing is removed';
$ctl->is(ctl('forget', '--product', 'r', '--build', 2, @admin), 3, undef,
    qr{\.builds/r/main/2: File too large\n}, 'nor is a build whose own list it is');
unlink "$root/.builds/r/main/2" or die $!;

# whose files stay for another build, and whose list this user may not remove
put(64, "?product=r&branch=main&build=$_") for 1, 2;
chmod 0555, "$root/.builds/r/main";
SKIP: {
    local $ctl->{wrapper} = $> == 0
        ? [qw(setpriv --bounding-set=-dac_override)] : undef;
    skip 'no setpriv, or no capability to drop', 3
        if $ctl->{wrapper} && $ctl->run('--version')->{code} != 0;
    $ctl->is(ctl('forget', '--product', 'r', '--build', 1, @admin), 3, qr{^kept: in},
        qr{\.builds/r/main/1: Permission denied\n}, 'no right to forget');
}
chmod 0755, "$root/.builds/r/main";
ok -e "$root/.builds/r/main/1", 'the build is still there';

$t->finish;
done_testing;
