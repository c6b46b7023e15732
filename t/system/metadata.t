#!/usr/bin/perl

# What debuginfod tells of files beside their bytes: of those that are here, and
# of what servers of debuginfod say that are sources.  Requests and answers are
# those of debuginfod(8), "WEBAPI", /metadata, as nginx passes them on
# (conf-examples/symbols.conf).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::Example;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;
use Test::Uploads;

plan skip_all => 'no zstd' if system('zstd --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;
my $so = qx(zstd -qdc @{[$t->data('convert/elf/gcc-5.so.zst')]});
my ($build) = qx(readelf -n @{[$t->write_file('so', $so)]}) =~ /Build ID: (\w+)/
    or die 'no build id';
my $other = 'ab' x 20;
my ($file, $archive) = ('/usr/lib/debug/libshapes.so.debug', '/m/shapes-debuginfo.rpm');
my %said = (type => 'debuginfo', buildid => $other, file => '/usr/lib/debug/other.debug',
    archive => '/m/other.rpm');
my @asked;
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    return $c->reply(200, { 'X-DEBUGINFOD-FILE' => $file,
        'X-DEBUGINFOD-ARCHIVE' => $archive }, $so) if $req->{path} =~ m{/debuginfo$};
    return $c->reply(404, {}, '') if $req->{path} ne "/metadata";
    my ($what) = -e $t->path('what') ? $t->read_file('what') : 'results';
    if ($what eq 'slow') {
        until (-e $t->path('go')) {
            return $c->close if $c->wait_for_peer(0.01);
        }
        $what = 'results';
    }
    return $c->reply(404, {}, '') if $what eq 'old';
    return $c->reply(200, {}, $what) if $what ne 'results';
    $c->reply(200, { 'Content-Type' => 'application/json' }, $json->encode({
        complete => JSON::PP::true(), results => [\%said,
            { type => 'debuginfo', buildid => $build, file => $file, archive => $archive },
            { type => 'malice', buildid => $other }, { type => 'debuginfo', buildid => '../x' },
            'text', {}] }));
});

my $config = $t->default_config($web->url);
$config->{sources}{upstream}{layout} = 'debuginfod';
$config->{downloads} = $t->path('downloads');
$t->start_symcached($config);
Test::Example::start($t, 'symbols.conf',
    put => { '/var/cache/symcached/downloads' => $t->path('downloads') });

sub ask {
    my ($key, $value) = @_;
    my $r = $t->get("/symbols/metadata?key=$key&value=$value");
    return $r->{status} if $r->{status} != 200;
    my $answer = $json->decode($r->{body});
    # in the order in which they came
    @{ $answer->{results} } = sort { $a->{buildid} cmp $b->{buildid} } @{ $answer->{results} };
    return $answer;
}
sub answer {
    my ($complete, @results) = @_;
    return { complete => $complete ? JSON::PP::true() : JSON::PP::false(),
             results => [@results] };
}
my %here = (type => 'debuginfo', buildid => $build, file => $file, archive => $archive);

is $t->get("/symbols/buildid/$build/debuginfo")->{status}, 200, 'a file comes here';
is $t->get("/buildid/$build/debuginfo")->{body}, $so,
    '- and to clients that leave the path of their URL out';
is $t->get("/buildid/$build/section/%2ecomment")->{status}, 200, '- so does a section';
for (['buildid', $build], ['buildid', uc $build], ['file', $file],
     ['glob', '/usr/lib/debug/*shapes*'], ['glob', '/usr/*.debug']) {
    is_deeply ask(@$_), answer(1, \%here, \%said), "by $_->[0] $_->[1]"
        or diag $t->helper_log;
}
is_deeply ask('file', '/usr/lib/debug/other'), answer(1, \%here, \%said),
    'what is not here, the source tells';
my ($question) = grep { m{key=glob} } map { $_->{uri} } $web->requests;
is $question, '/metadata?key=glob&value=%2Fusr%2Flib%2Fdebug%2F%2Ashapes%2A',
    'it is asked in the same way';

# --- sources that do not tell

$t->write_file('what', 'old');
is_deeply ask('buildid', $build), answer(0, \%here), 'a source without this page';
for my $what ('no JSON', '{"results": 1}', '[]', '{"results": [], "complete": false}', '[' x 5000) {
    $t->write_file('what', $what);
    is_deeply ask('buildid', $build), answer(0, \%here), 'one that sends ' . substr $what, 0, 40;
}
my $copy = $json->encode({ type => 'debuginfo', buildid => $build, file => $file,
    archive => $archive });
$t->write_file('what', '{"results": [' . join(',', ($copy) x 2000) . ']}');
is_deeply ask('buildid', $build), answer(1, \%here), 'one that repeats itself';
$t->write_file('what', '{"results": [' . join(',', ($copy) x 2001) . ']}');
is_deeply ask('buildid', $build), answer(0, \%here), 'one that does so too often';
$t->write_file('what', '{"results": []}');
is_deeply ask('buildid', $build), answer(1, \%here), 'one that knows of none';
is_deeply ask('glob', '*'), answer(1, \%here), 'all that is here';
is_deeply ask('file', '/usr/lib'), answer(1), 'nothing';

sub counted { $t->metric(qq(symcached_metadata_total{answer="$_[0]"})) }
is join(' ', map { counted($_) } qw(complete incomplete busy)), '10 7 0',
    'complete and incomplete answers are counted';

# --- what is refused

is ask(@$_), 400, "key=$_->[0] value=" . substr $_->[1], 0, 20
    for ['archive', 'x'], ['buildid', 'xyz'], ['buildid', 'abc'], ['buildid', 'ab' x 65],
    ['file', ''], ['glob', '[a'], ['file', 'x' x 1025];
is $t->get('/symbols/metadata')->{status}, 400, 'no query';

# --- clients that go away, and a helper that stops, while a source is silent

$t->write_file('what', 'slow');
sub begin {
    my $n = grep { $_->{path} eq '/metadata' } $web->requests;
    my $s = Test::Symcache::connect_to($t->helper_socket) or die $!;
    print $s Test::Symcache::request_text('GET', "/v1/metadata?key=buildid&value=$build");
    $s->flush;
    $t->wait_until('the source is asked',
        sub { $n < grep { $_->{path} eq '/metadata' } $web->requests });
    return $s;
}
close begin();
my $waits = begin();
is $t->helper_json('/v1/status')->{jobs}{inquiries}, 2, 'the status tells how many run';
$t->write_file('go', '');
is $t->read_response($waits)->{status}, 200, 'another client is answered';
unlink $t->path('go');
$waits = begin();
$t->stop_nginx;
kill TERM => $t->{helper};
my $r = $t->read_response($waits);
is join(' ', $r->{status}, Test::Symcache::header($r, 'Retry-After') // '-'), '503 1',
    'a helper that stops says so';
$t->stop_symcached;
$t->finish;

# --- uploads, which need not be asked for first

my $u = Test::Uploads->new(inputs => ['elf']);
sub of_uploads {
    my $said = $u->t->helper_json("/v1/metadata?key=buildid&value=$_[0]");
    return join ' ', ($said->{complete} ? 'complete' : 'incomplete'),
        sort map { "$_->{type}:$_->{buildid}" } @{ $said->{results} };
}
is of_uploads($build), 'complete', 'a build id that nobody knows';
is $u->put("libshapes.so/elf-buildid-$build/libshapes.so", $so)->{status}, 201, 'a program is uploaded';
is of_uploads($build), "complete executable:$build", '... and listed';
is $u->put("_.debug/elf-buildid-sym-$build/_.debug", $so)->{status}, 201, 'and a debug file';
is of_uploads(uc $build), "complete debuginfo:$build executable:$build", 'both are listed';
is of_uploads($other), 'complete', 'another build id';
$u->t->finish;
done_testing;
