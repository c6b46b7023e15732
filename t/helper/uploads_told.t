#!/usr/bin/env perl

# What other machines are told of uploads is not lost: by a kill between the
# name of a file and the telling, by a message that a machine refuses, by another
# root of uploads.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Digest::SHA qw(sha256);
use JSON::PP ();
use Test::Clock;
use Test::Ctl;
use Test::More;
use Test::S3;
use Test::ScriptedServer;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;

my $u = Test::Uploads->new;
my $t = $u->t;
my $dir = $t->dir;
my $clock = Test::Clock->new($t);
my $key = "crash.pdb/$Test::Symcache::key{'crash.pdb'}";
my $path = "$key/crash.pdb";
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));

# The other machine: it hangs, or refuses what is called bad.
my $peer = Test::ScriptedServer->new(log => $t->path('peer'), script => sub {
    my ($c, $req) = @_;
    sleep 60 if -e "$dir/hangs";
    return $c->reply(400, {}, '{}') if $req->{path} =~ m{/bad} && -e "$dir/refuses";
    $c->reply(200, {}, '{}');
});
my ($address) = $peer->url =~ m{http://([^/]+)};

my ($access, $secret) = ('AKIDexample', 'se/cr+et=');
my $s3 = Test::S3->new($t, region => 'eu-west-1',
    secrets => { $access => $secret });

sub config {
    my (%uploads) = @_;
    my $c = $u->config;
    $c->{stores}{default}{transcoders}[0]{inputs} = [qw(pdb elf)];
    $c->{uploads} = { %{ $c->{uploads} }, peers => [$address], %uploads };
    return $c;
}

sub with_tier {
    my $c = config();
    $c->{tiers}{fleet} = { type => 's3', bucket => 'b', region => 'eu-west-1',
        endpoint => $s3->url, path_style => JSON::PP::true(),
        access_key => $access, secret_key => $secret };
    $c->{stores}{default}{tier} = 'fleet';
    return $c;
}

sub start { $t->start_symcached($_[0] // config(),
                                $clock ? (env => $clock->env) : ()) }
sub touch { $t->write_file($_, '') for @_ }
sub untold { $t->read_file('uploads/.untold') // '' }
sub intents { grep { -e } glob "$dir/uploads/.changing/*" }

# A small file of its own, and where it belongs.
sub sym {
    my ($name) = @_;
    my $id = 'A' x 32 . '0';
    return ("$name.pdb/$id/$name.sym", "MODULE windows x86 $id $name.pdb\n");
}

# The messages since the last call: path and query without the sender's id.
my $seen = 0;
sub told {
    my @all = $peer->requests;
    my @new = map { $_->{uri} =~ s{^/v1/changed/}{}r =~ s/&from=\w+$//r }
        @all[$seen .. $#all];
    $seen = @all;
    return @new;
}

# Begins an upload and kills the helper when that is so.
sub kill_when {
    my ($what, $is_so, @upload) = @_;
    my $s = $u->begin('PUT', @upload, @Test::Uploads::token);
    $t->wait_until($what, $is_so);
    $t->stop_symcached('KILL');
    close $s;
}

$t->stop_symcached;
start();

# --- a message that is refused

my ($bad, $text) = sym('bad');
my ($worse, $worse_text) = sym('bad2');
my ($good, $good_text) = sym('good');
touch('refuses');
is $u->put($bad, $text)->{json}{untold}, $address, 'refused: the answer says so';
is $u->put($good, $good_text)->{json}{untold}, undef, 'others are not in its way';
is $u->put($worse, $worse_text)->{json}{untold}, $address, 'another one';
$t->wait_until('both are kept', sub { 2 == (() = untold() =~ /^\Q$address\E /mg) });
unlike untold(), qr/good/, 'and no other';
is $t->metric('symcached_uploads_untold'), 2, 'they are counted';
is scalar(() = $t->helper_log =~ m{refuses to be told of /v1/changed/bad\.}g), 1,
    'and the log tells of it once';
unlink "$dir/refuses";
told();
$t->wait_until('later it takes them', sub { !-e "$dir/uploads/.untold" });
is $t->metric('symcached_uploads_untold'), 0, 'none is left';
sub end_is_logged { scalar(() = $t->helper_log =~ /\Q$address\E has been told/g) }
is end_is_logged(), 1, 'the log tells of the end';
my @late = told();
is_deeply [sort map { s/\?.*//r } @late], [$bad, $worse], 'both';
is scalar(grep { !/&late=1/ } @late), 0, 'which may have changed since, as it says';

# What is refused is written once a second, not for each message.
sub written { $t->read_file("/proc/$t->{helper}/io") =~ /^wchar: (\d+)/m; $1 }
sub many {
    my ($letter) = @_;
    my @zip = map { [sym("$letter$_")] } 1 .. 400;
    my $before = written();
    my $r = $u->upload(Test::Zip::zip(@zip));
    is $r->{status}, 201, 'an archive' or diag $r->{raw};
    $t->wait_until('all is told, or kept', sub {
        return (() = untold() =~ m{/changed/$letter\d}g) == (-e "$dir/refuses" ? 400 : 0) });
    return written() - $before;
}
my $told = many('a');
touch('refuses');
my $refused = many('bada');
cmp_ok $refused - $told, '<', 50 * length untold(),
    'what is kept of an archive that is refused is not written for each file';
unlink "$dir/refuses";
$t->wait_until('it is told later', sub { untold() eq '' });

SKIP: {
    skip Test::Clock::why(), 6 if !$clock;
    touch('refuses');
    is $u->put("$bad?force=1", "${text}x\n")->{json}{untold}, $address, 'once more';
    $t->wait_until('since when it is refused is kept', sub { untold() =~ / \d+$/ });
    $clock->set(7200);
    told();
    $t->wait_until('refused twice more', sub { scalar($peer->requests) > $seen + 1 });
    unlike $t->helper_log, qr/never told/, 'a clock that is set drops nothing';
    $t->stop_symcached;
    $clock->set(9000);
    told();
    my $ends = end_is_logged();
    $t->start_symcached(config(), env => $clock->env(all => 1));
    $t->wait_until('refused by another process', sub { told() > 0 });
    $t->wait_until('and again', sub { told() > 0 });
    is end_is_logged(), $ends, 'which is not the end';
    $clock->set(10900);
    $t->wait_until('it is dropped after an hour', sub {
        $t->helper_log =~ m{\Q$address\E is never told of /v1/changed/bad\.} });
    $t->wait_until('it is not kept', sub { !-e "$dir/uploads/.untold" });
    unlike $t->helper_log, qr/is never told.*has been told/s, '... which is no success';
    $t->stop_symcached;
    $clock->set(0);
    start();
    is $u->put("$good?force=1", "${good_text}x\n")->{json}{untold}, undef,
        'and others go on';
}

# --- a list that cannot be read is not lost

$t->stop_symcached;
mkdir "$dir/uploads/.untold" or die "mkdir: $!";
start();
ok -d "$dir/uploads/.untold.unread", 'what cannot be read is kept';
like $t->helper_log, qr/cannot be read: it is kept in "\S+\.unread"/, 'as the log says';
$t->allow_log(qr/cannot be read: it is kept/);

# --- a short build id, of which the path has more digits

my $build = '0123456789abcdef';
my $padded = $build . '0' x 24;
my $debug = '67452301AB89EFCD00000000000000000';
$t->write_file('x.c', "int seven(int a) { return a + 7; }\n");
system("cd $dir && gcc -shared -nostdlib -Wl,--build-id=0x$build -o x.so x.c") == 0
    or BAIL_OUT('gcc');
told();
my $program = "libx.so/elf-buildid-$padded/libx.so";
is $u->put($program, $t->read_file('x.so'))->{status}, 201, 'a program';
my $bytes = $t->read_file('x.so');
my $hash = substr unpack('H*', sha256(substr($bytes, 0, 4096)
    . substr($bytes, -4096) . pack 'Q>', length $bytes)), 0, 32;
is_deeply [told()], ["$program?id=buildid-$build&id=$debug&id=hash-$hash"],
    'the other machine is told its ids';

sub changed { $u->admin('POST', "/v1/changed/$_[0]", 'Content-Length: 0')->{status} }
my $jobs = 0;
sub asks_anew {
    $t->helper('GET', '/v1/symcache/default/libx.so/' . 'B' x 32 . '0?version=9.0.0'
        . "&code_id=buildid-$build&wait=60")->{status} == 404 or die;
    my $before = $jobs;
    $jobs = $t->metric('symcached_jobs_started_total');
    return $jobs > $before;
}
ok asks_anew(), 'a module with this build id';
ok !asks_anew(), 'is known to be absent';
is changed("$program?from=1&id=buildid-$build"), 200, 'until who is told of its ids';
ok asks_anew(), 'drops what he knows of each';
is changed("$good?from=1$_"), 400, "refused: $_" for '&id=x', '&id=' . 'A' x 33 x 2,
    map { '&id=buildid-aaaa' x 7 } 1;

# --- killed when the file has its name and nobody knows of it

touch('hangs');
told();
kill_when('the other machine is being told', sub { told() > 0 },
    "/symbols/$path", $pdb);
is $t->read_file("uploads/$path"), $pdb, 'killed: the file has its name';
is untold(), '', 'nothing is kept of whom to tell';
is scalar(intents()), 1, 'but what was about to change';
unlink "$dir/hangs";
start();
my @told;
$t->wait_until('the next process tells of it', sub { push @told, told(); @told });
like $told[0], qr{^\Q$path\E\?id=}, 'of this file';
unlike $told[0], qr/keep/, 'which is there';
$t->wait_until('then it is done', sub { !intents() });

# --- killed when a file is removed and nobody knows of it

touch('hangs');
told();
my $s = Test::Symcache::connect_to($t->path('a.sock')) or die "a.sock: $!";
print $s Test::Symcache::request_text('POST', "/v1/discard/$path",
    'Content-Length: 0');
$s->flush;
$t->wait_until('the other machine is being told', sub { told() > 0 });
$t->stop_symcached('KILL');
close $s;
ok !-e "$dir/uploads/$path", 'killed: the file is gone';
is untold(), '', 'nothing is kept of whom to tell';
unlink "$dir/hangs";
start();
@told = ();
$t->wait_until('the next process tells of it', sub { push @told, told(); @told });
like $told[0], qr{^\Q$path\E\?id=}, 'of this file';
unlike $told[0], qr/keep/, 'which nobody is to keep';
$t->wait_until('then it is done', sub { !intents() });
is $u->put($path, $pdb)->{status}, 201, 'uploaded again';
is $u->admin('POST', "/v1/discard/$path", 'Content-Length: 0')->{status}, 200,
    'removed';
is scalar(intents()), 0, 'when all know, nothing is left to be told';
is $u->put($path, $pdb)->{status}, 201, 'and uploaded';

# --- killed while it was stored in the tier

$t->stop_symcached;
start(with_tier());
is $t->helper('GET', "/v1/symcache/default/$key?version=9.0.0&wait=60")->{status},
    200, 'its SymCache';
my $made = "$dir/store/$key/crash.pdb-v9.0.0.symcache";
ok -e $made, 'is there';
$s3->fail('held');
my ($new, $new_text) = sym('new');
my $puts = sub { my ($name) = @_;
    sub { grep { $_->{method} eq 'PUT' && $_->{uri} =~ /$name/ } $s3->requests } };
kill_when('it is stored', $puts->('uploads/crash'), "/symbols/$path?force=1",
    substr($pdb, 0, -1) . chr(1 ^ ord substr $pdb, -1));
start(with_tier());
$t->wait_until('the SymCache of the former file is dropped', sub { !-e $made });
# or it looks again at the tier, which has got it then
$t->wait_until('and others know', sub { !intents() });
kill_when('another one is', $puts->('uploads/new'), "/symbols/$new", $new_text);
$s3->fail('');
told();
# what says nothing of a file changes nothing of what others say
$t->write_file("uploads/.changing/empty$_", "removal\n") for 1 .. 8;
start(with_tier());
@told = ();
$t->wait_until('the other machine is told of it', sub { push @told, told(); @told });
like $told[0], qr{^\Q$new\E\?id=A+0&keep=1$}, 'and that it keeps what it has';
$t->wait_until('all is done', sub { !intents() });

# the tier has got that of the killed process, or not
ok -e "$dir/uploads/$_", 'a file of our own' for $good, $path;
is changed("$good?from=1&keep=1"), 200, 'another machine is unsure';
ok -e "$dir/uploads/$good", 'it stays';
is changed("$path?from=1"), 200, 'another machine has it';
ok !-e "$dir/uploads/$path", 'it goes';
SKIP: {
    skip Test::Clock::why(), 5 if !$clock;
    mkdir "$dir/tier" or die;
    my $c = with_tier();
    $c->{tiers}{fleet} = { type => 'filesystem', path => "$dir/tier" };
    $t->reload_symcached($c);
    is $u->put($path, $pdb)->{status}, 201, 'sent here again';
    $clock->set(7200);
    is changed("$path?from=1&late=1"), 200, 'what another machine could not tell before';
    ok -e "$dir/uploads/$path", 'was before that: it stays';
    is changed("$path?from=1"), 200, 'another machine has it now';
    ok !-e "$dir/uploads/$path", 'it goes';
    $clock->set(0);
    $t->reload_symcached(with_tier());
}

# --- an upload that is refused has changed nothing

is $u->put($good, "$good_text\n")->{status}, 409, 'other bytes: 409';
is scalar(intents()), 0, 'nothing is to be told';

# --- another root

$t->stop_symcached;
touch('refuses');
start();
is $u->put("$bad?force=1", "$text\nx\n")->{json}{untold}, $address, 'refused';
$t->wait_until('it is kept', sub { untold() =~ m{/bad} });
$t->write_file('other/.untold', "$address /v1/changed/$worse?id=" . 'A' x 32 . "0\n");
told();
$t->reload_symcached(config(root => "$dir/other"));
$t->wait_until('it goes along', sub {
    ($t->read_file('other/.untold') // '') =~ m{/bad\.} && untold() eq '' });
unlink "$dir/refuses";
$t->wait_until('all is told', sub { !-e "$dir/other/.untold" });
is_deeply [keys %{{ map { s/\?.*//r => 1 } grep { /bad2/ } told() }}], [$worse],
    'what lay there, too';

# --- symcachectl upload says it, as it does of a removal

my $url = $u->start_nginx_on_port;
$t->reload_symcached(config());
touch('refuses');
$t->write_file('token', "0123456789abcdef0123456789abcdef\n");
for my $json (0, 1) {
    my ($name, $content) = sym("bad_ctl$json");
    $t->write_file("bad_ctl$json.sym", $content);
    my $r = Test::Ctl->new($t)->run('upload', '--url', "$url/symbols", '--token',
        "\@$dir/token", $json ? '--json' : (), "$dir/bad_ctl$json.sym");
    is $r->{code}, 0, 'symcachectl upload';
    if ($json) {
        my ($file) = split /\n/, $r->{out};
        is JSON::PP::decode_json($file)->{untold}, $address, '... in JSON';
    } else {
        like $r->{err}, qr{/bad_ctl0\.sym: not known yet to: \Q$address\E$},
            '... says which machine does not know of the file';
    }
}
unlink "$dir/refuses";
$t->wait_until('all is told again', sub { !-e "$dir/uploads/.untold" });

$t->finish;
done_testing;
