#!/usr/bin/env perl

# Where modules were looked for: what Symbolicator answered to requests with
# sources that lack a file, refuse it, fail or lie, from sources that do the
# same here.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib", "$FindBin::Bin/../convert/lib";
use Corpus;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->allow_nonref;

# A unified source has no packed form here, so that place is not asked for.
my %asks_less = ('sources-unified' => qr{/debuginf_$});

my $corpus = Corpus->new;
my ($input) = grep { $_->{origin} eq 'node-pty'
    && $_->{path} =~ m{/win32-x64/winpty\.pdb$} } $corpus->inputs;
my $winpty = $corpus->pdb($input);
my $pdb = $winpty && $t->read_file($winpty);

# The server of that run, which is asked for one PDB.
my $server = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my $path = $req->{path};
    return $c->reply(401) if $path =~ m{^/unauth/};
    return $c->reply(403) if $path =~ m{^/forbidden/};
    return $c->reply(500) if $path =~ m{^/error/|^/half/.*\.pdb$};
    return $c->reply(413) if $path =~ m{^/large/};
    return $c->reply(200, { 'Content-Type' => 'text/html' },
        "<!DOCTYPE html><html><form>Sign in</form></html>\n")
        if $path =~ m{^/html/};
    return $c->reply(200, {}, $pdb) if $pdb
        && $path eq '/ok/winpty.pdb/3198517245D844EDB92B943840F8C3D81/winpty.pdb';
    return $c->reply(404);
});
my $closed = Test::Symcache::free_port();

sub moved {
    my ($text) = @_;
    my $url = $server->url;
    $text =~ s{http://127\.0\.0\.1:8102}{$url}g;
    $text =~ s{http://127\.0\.0\.1:9/}{http://127.0.0.1:$closed/}g;
    return $text;
}

# A configuration that has the sources of a request.
sub configuration {
    my ($name, @sources) = @_;
    my $true = JSON::PP::true;
    return {
        stores => { $name => { root => $t->path($name),
            sources => [map { $_->{id} } @sources],
            transcoders => [{ version => '9.0.0', command =>
                [$t->program('pdb2symcache'), '--like-symbolic', '-pdb', '{pdb}'] }] } },
        sources => { map { $_->{id} => { type => 'http', internal => $true,
            url => $_->{url} =~ s{/$}{}r, layout => $_->{layout}{type},
            casing => $_->{layout}{casing} // 'default',
            $_->{layout}{type} eq 'symstore'
                ? (forms => ['packed', 'plain']) : () } } @sources },
        limits => { attempts => 1, breaker_failures => 0 },
    };
}

sub post {
    my ($body, $path) = @_;
    my $r = $t->post($t->symbolicated_socket, $path // '/symbolicate', $body,
        'Content-Type: application/json');
    return $r->{status} == 200 ? $json->decode($r->{body}) : $r->{status};
}

# --- the captured pairs

open my $pairs, '<', $t->data('vectors/symbolicator.jsonl') or die $!;
my $replayed = 0;
while (my $line = <$pairs>) {
    my $pair = $json->decode(moved($line));
    my ($name, $q, $w) = @$pair{qw(name request response)};
    next if $name !~ /^sources-/ || $w->{status} != 200;
    my $asked = $json->decode($q->{body_text});
    SKIP: {
        skip "$name: " . $corpus->reason($input), 1
            if !$pdb && $name eq 'sources-http-ok';
        $t->start_symcached(configuration($name, @{ $asked->{sources} }));
        $t->start_symbolicated;
        my $module = $w->{body}{modules}[0];
        my $less = $asks_less{$name};
        $module->{candidates} = [grep { $_->{location} !~ $less }
            @{ $module->{candidates} }] if $less;
        is_deeply post($q->{body_text}), $w->{body}, $name;
        is_deeply post($q->{body_text}), $w->{body}, "$name: again";
        $t->stop_symbolicated;
        $t->stop_symcached;
        $replayed++;
    }
}
cmp_ok $replayed, '>', 10, 'pairs were replayed';

# --- what is told, and to whom

my $id = '3249d99d-0c40-4931-8610-f4e4fb0b6936-1';
my $key = $Test::Symcache::key{'crash.pdb'};
sub request {
    my (%o) = @_;
    return $json->encode({
        stacktraces => [{ frames => [{ instruction_addr => '0x402913' }] }],
        modules => [{ type => 'pe', debug_file => $o{file} // 'crash.pdb',
                      debug_id => $id, image_addr => '0x400000' }],
        options => { dif_candidates => $o{no} ? \0 : \1,
                     apply_source_context => $o{context} ? \1 : \0 },
        $o{sources} ? (sources => [map { { id => $_ } } @{ $o{sources} }]) : (),
    });
}

# [source, location, status, debug] of each candidate
sub told {
    my $answer = post(request(@_));
    my $list = $answer->{modules}[0]{candidates} or return [];
    return [map { [$_->{source}, $_->{location}, $_->{download}{status},
        $_->{debug} ? $_->{debug}{status} : ()] } @$list];
}

# The packed form was answered before the plain one failed.
$t->start_symcached(configuration('half',
    { id => 'half', url => $server->url . '/half', layout => { type => 'symstore' } }));
$t->start_symbolicated;
my $place = $server->url . "/half/crash.pdb/$key/crash";
is_deeply told(), [['half', "$place.pd_", 'notfound'], ['half', "$place.pdb", 'error']],
    'each form of a file is told as it was answered';
is post(request())->{modules}[0]{debug_status}, 'missing', '... and the first one decides';
$t->stop_symbolicated;
$t->stop_symcached;

# The phrases of statuses are those of HTTP's registry.
$t->start_symcached(configuration('large',
    { id => 'large', url => $server->url . '/large', layout => { type => 'symstore' } }));
$t->start_symbolicated;
is post(request())->{modules}[0]{candidates}[0]{download}{details},
    'download failed: 413 Payload Too Large', 'a status is told with its phrase';
$t->stop_symbolicated;
$t->stop_symcached;

$t->symbol_store('sym');
$t->write_file('secret', "token\n");
my $config = configuration('default',
    { id => 'web', url => $server->url . '/nothing', layout => { type => 'symstore' } });
$config->{stores}{default}{sources} = ['web', 'local', 'never'];
$config->{sources}{web}{auth} = { type => 'bearer', token => '@' . $t->path('secret') };
$config->{sources}{local} = { type => 'filesystem', path => $t->path('sym'),
                              forms => ['packed', 'plain'] };
$config->{sources}{never} = { type => 'filesystem', path => $t->path('none') };
$t->start_symcached($config);
$t->start_symbolicated;

my $dir = 'file://' . $t->path('sym') . "/crash.pdb/$key";
my $url = $server->url . "/nothing/crash.pdb/$key";
my @local = (["local", "$dir/crash.pd_", 'notfound'],
             ["local", "$dir/crash.pdb", 'ok', 'ok']);
my @web = map { ['web', "$url/crash.$_", 'notfound'] } qw(pd_ pdb);
is_deeply told(), [@local, @web], 'all places, by source and location';
is_deeply told(), [@local, @web], 'a module that is mapped';
my $nothing = 'No object files listed on this source';
is_deeply told(context => 1), [['local', $nothing, 'notfound'], @local,
    ['never', $nothing, 'notfound'], ['web', $nothing, 'notfound'], @web],
    'sources of code have no place';
is_deeply told(no => 1), [], 'not wanted';
is_deeply told(sources => ['local']), \@local, 'of the sources that count';
is_deeply [grep { $_->[0] eq 'web' } @{ told(file => 'other.pdb') }],
    [map { ['web', "$url/other.$_" =~ s{/crash\.pdb/}{/other.pdb/}r, 'notfound'] }
     qw(pd_ pdb)], 'a module that nobody has';
unlike $json->encode(post(request(context => 1))), qr/token/, 'no secret';

# a place whose PDB cannot be converted

my $bad = $t->path("sym/bad.pdb/$key");
File::Path::make_path($bad);
$t->write_file("sym/bad.pdb/$key/bad.pdb", 'no PDB at all' x 100);
is_deeply [grep { $_->[2] ne 'notfound' }
           @{ told(file => 'bad.pdb', sources => ['local']) }],
    [['local', "file://$bad/bad.pdb", 'malformed']],
    'what was there is malformed';

# one that is found, and cannot be stored here: a file is where its folder goes

my $full = $t->path("sym/full.pdb/$key");
File::Path::make_path($full);
$t->write_file("sym/full.pdb/$key/full.pdb", $t->read_file($t->data('pdb/crash.pdb')));
$t->write_file('default/full.pdb', '');
is_deeply [map { $_->[2] } @{ told(file => 'full.pdb', sources => ['local']) }],
    ['notfound', 'ok'], 'its places';
is post(request(file => 'full.pdb', sources => ['local']))->{modules}[0]{debug_status},
    'fetching_failed', 'a failure of this machine does not make it missing';

# many modules, with fewer descriptors than there are of them

SKIP: {
    skip 'needs prlimit(1)', 1 if system('prlimit --version >/dev/null 2>&1');
    system('prlimit', "--pid=$t->{symbolicated}", '--nofile=64:') == 0 or die;
    my $many = $json->decode(request(sources => ['local']));
    my ($module) = @{ $many->{modules} };
    $many->{modules} = [map { { %$module, debug_file => "many$_.pdb",
        image_addr => 0x400000 + $_ * 0x10000 } } 1 .. 200];
    $many->{stacktraces} = [{ frames => [map {
        { instruction_addr => $_->{image_addr} + 0x2913 } } @{ $many->{modules} }] }];
    post($json->encode($many)); # from now on it is known that nobody has them
    my $answer = post($json->encode($many));
    is grep({ @{ $_->{candidates} // [] } == 2 } @{ $answer->{modules} }), 200,
        'all modules have theirs';
}

# what is noted beside the files is known without symcached, too

my $before = told();
$t->stop_symcached;
is_deeply told(), $before, 'it is noted beside the file';
is post(request())->{modules}[0]{debug_status}, 'found', 'but it is answered';

# the operator does not want it told

$t->stop_symbolicated;
$config->{symbolication}{symbolicator}{candidates} = JSON::PP::false;
$t->start_symcached($config);
$t->start_symbolicated;
is_deeply told(context => 1), [], 'switched off';
is post(request())->{modules}[0]{debug_status}, 'found', 'answered all the same';

$t->finish;
done_testing;
