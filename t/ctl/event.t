#!/usr/bin/env perl

# symcachectl symbolicate, with an event of Sentry: from a file, or by its id
# from a server that answers as Sentry's API does.  Names are those that
# t/ctl/symbolicate.t has of the same addresses.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::Ctl;
use Test::File qw(slurp);
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = Test::Ctl->new($t);
my $json = JSON::PP->new->canonical;
my $main = 'main(int, char**) at c:\projects\breakpad-tools\windows\crash\main.cpp:33';
my ($yes, $no) = (JSON::PP::true(), JSON::PP::false());

$t->fill_store('store', $t->data('pdb/crash.pdb'));
my @root = ('--root', $t->path('store'));

my %image = (type => 'pe', code_file => 'C:\Crash\crash.exe', code_id => '5ab380779000',
    debug_file => 'C:\Crash\crash.pdb', debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1',
    image_addr => '0x400000', image_size => 36864);
my $event = {
    event_id => 'a' x 32, platform => 'native', release => 'crash@1.0',
    debug_meta => { images => [\%image, { type => 'proguard', uuid => 'x' }] },
    # the caller comes first, and what was not processed counts; a caller's
    # address is behind its call, as Symbolicator knows
    exception => { values => [{ type => 'EXCEPTION_ACCESS_VIOLATION', thread_id => 7,
        stacktrace => { frames => [{ instruction_addr => '0x1' }] },
        raw_stacktrace => { registers => { eip => '0x402913' }, frames => [
            { instruction_addr => '0x402914', package => 'C:\Crash\crash.exe' },
            { function => 'of a script' },
            { instruction_addr => '0x402913' }] } }] },
    threads => { values => [{ id => 7, crashed => $yes },
        { id => 9, name => 'worker', stacktrace => { frames => [
            { instruction_addr => '0x402913' }] } }] },
};
sub event { my (%changes) = @_; return $json->encode({ %$event, %changes }) }

my $told = <<"END" =~ s/\n\z//r;
\nthread 7 EXCEPTION_ACCESS_VIOLATION, requesting
#0   0x402913 in $main from crash.exe
#1   0x402913 in $main from crash.exe
\nthread 9 worker
#0   0x402913 in $main from crash.exe\n
END
my $all = qr/\A\Q$told\E\n?\z/;
my $file = $t->write_file('event.json', event());

$ctl->is($ctl->run('symbolicate', @root, $file), 0, $all, undef, 'an event');
$ctl->is($ctl->run_with(event(), 'symbolicate', @root, '-'), 0, $all, undef,
    'from standard input');
# one value that is none does not cost the others their names
my $odd = $json->decode(event());
push @{ $odd->{debug_meta}{images} },
    map { +{ %image, image_addr => $_ } } '0x', '0xzz', '1' . '0' x 20, '0x1' . '0' x 16, -1;
push @{ $odd->{exception}{values}[0]{raw_stacktrace}{frames} },
    map { +{ instruction_addr => $_ } } '', '0xzz', '402913h', -1, 2**63, '0x1' . '0' x 16;
$odd->{exception}{values}[0]{raw_stacktrace}{registers}{rip} = '0xzz';
unshift @{ $odd->{exception}{values}[0]{raw_stacktrace}{frames} },
    { instruction_addr => 0x402914 };
my ($first) = $told =~ /(#1.*\n)/;
my $more = $told =~ s/\Q$first\E/$first . $first =~ s{#1}{#2}r/er;
$ctl->is($ctl->run_with($json->encode($odd), 'symbolicate', @root, '-'), 0,
    qr/\A\Q$more\E\n?\z/, qr/^symcachectl: -: images of the event without a valid "image_addr": 5; no frame is found in them by/,
    'addresses that are none');
$odd->{exception}{values}[0]{thread_id} = 2**63;
$ctl->is($ctl->run_with($json->encode($odd), 'symbolicate', @root, '-'), 0,
    qr/EXCEPTION_ACCESS_VIOLATION.*\n#0   0x402913 in main/, qr/image_addr/,
    'a thread id that no double has');

my ($answer) = $ctl->json($ctl->run('symbolicate', '--json', @root, $file));
is_deeply [map { [@$_{qw(thread_id thread_name is_requesting)},
        map { "$_->{instruction_addr} $_->{lineno}" } @{ $_->{frames} }] }
        @{ $answer->{stacktraces} }],
    [[7, 'EXCEPTION_ACCESS_VIOLATION', $yes, '0x402913 33', '0x402913 33'],
     [9, 'worker', $no, '0x402913 33']], '--json';
is $answer->{stacktraces}[0]{registers}{eip}, '0x402913', 'registers';
is scalar(@{ $answer->{modules} }), 1, 'images of programs';

# --- as others ask

$t->start_symbolicated({ stores => { default => { root => $t->path('store') } } });
$ctl->is($ctl->run('symbolicate', '--socket', 'unix:' . $t->symbolicated_socket, $file),
    0, $all, undef, 'names of symbolicated');
$t->stop_symbolicated;
$ctl->is($ctl->run('symbolicate', @root, $t->write_file('lists.json', event(
    exception => $event->{exception}{values}, threads => undef))), 0,
    qr/requesting\n#0 .*\n#1 .*\n\n?\z/, undef, 'a list without "values"');
$ctl->is($ctl->run('symbolicate', @root, $t->write_file('bare.json', event(
    exception => { values => [map { { stacktrace => $_->{stacktrace} } }
        @{ $event->{exception}{values} }] }, threads => undef))), 2,
    qr/^thread, requesting\n#0 /m, undef, 'an exception without thread and type');
$ctl->is($ctl->run('symbolicate', @root, $t->write_file('apple.json', event(
    threads => undef, debug_meta => { images => [{ type => 'apple', name => '/a/crash.pdb',
        uuid => '11111111-2222-3333-4444-555555555555', image_addr => '0x400000',
        image_size => 36864 }] }))), 2,
    qr/module missing: \/a\/crash\.pdb \(crash\.pdb 11111111-2222-3333-4444-555555555555\)\n/,
    undef, 'images as they once were');

# --- frames without names

$ctl->is($ctl->run('symbolicate', @root, $t->write_file('other.json', event(
    threads => { values => [{ id => 1, stacktrace => { frames => [
        { instruction_addr => '0x10' }] } }] }))), 2, qr/#0   0x10\n/, undef,
    'a frame without a name');
$ctl->is($ctl->run('symbolicate', '-c', $t->write_file('none.json', '{}'), $file), 2,
    qr/module missing: C:/, qr/symbolicated is not reached there: No such file.*: frames have no names but/,
    'no symbols at all');
$t->write_file('none.json', '{"symbolication": {"listen": "unix:/' . 'x' x 200 . '/s"}}');
$ctl->is($ctl->run('symbolicate', '-c', $t->path('none.json'), $file), 2, qr/./,
    qr{^symcachectl: unix:/x+/s: symbolicated is not reached there: File name too long: },
    'a path that no socket can have');
for ('symbolicate', 'minidump') {
    $ctl->is($ctl->run($_, '-c', $t->path('gone.json'),
        /mini/ ? $t->data('minidump/null_read_av.dmp') : $file), 3, undef,
        qr{\Asymcachectl: \S+/gone\.json: No such file or directory\n\z},
        "$_: a configuration that is not there");
}
my %placeless = %image;
delete $placeless{image_addr};
$ctl->is($ctl->run('symbolicate', @root, $t->write_file('placeless.json', event(
    debug_meta => { images => [\%placeless] }))), 2, qr/#0   0x402913\n/,
    qr/placeless\.json: images of the event without a valid "image_addr": 1;/,
    'the only image has no address, which is said');
$ctl->is($ctl->run('symbolicate', @root, $t->write_file('relative.json', event(
    threads => { values => [{ stacktrace => { frames => [
        map { { instruction_addr => '0x2913', addr_mode => "rel:$_" } } '0', '+0'] } }] }, exception => undef,
    debug_meta => { images => [\%placeless] }))), 0, qr/#0   0x2913 in \Q$main\E.*\n#1   0x2913 in \Q$main\E/,
    qr/"image_addr": 1; no frame is found in them by its address$/,
    '... and a frame can say which image it is of');
for ([1, 0, qr/#0   0x2913 in \Q$main\E/, 'images that are left out are counted'],
     [0, 2, qr/#0   0x2913\n/, 'one that was left out has no frame of another']) {
    my ($image, $code, $out, $name) = @$_;
    $ctl->is($ctl->run('symbolicate', @root, $t->write_file('left.json', event(
        threads => { values => [{ stacktrace => { frames => [
            { instruction_addr => '0x2913', addr_mode => "rel:$image" }] } }] },
        exception => undef,
        debug_meta => { images => [{ type => 'pe', image_addr => 'x' }, \%placeless] }))),
        $code, $out, qr/"image_addr": 2;/, $name);
}
my %other = (%placeless, code_file => 'C:\\Crash\\other.exe', debug_file => 'other.pdb',
    debug_id => '1249d99d-0c40-4931-8610-f4e4fb0b6936-1');
$ctl->is($ctl->run('symbolicate', @root, $t->write_file('below.json', event(
    threads => { values => [{ stacktrace => { frames => [
        map { { instruction_addr => $_ } } '0x0', '0x2913', '0x402914' ] } }] },
    exception => undef, debug_meta => { images => [\%other, \%image] }))), 2,
    qr/\A\nthread\n#0   0x402914 in \Q$main\E from crash.exe\n#1   0x2913\n#2   0x0\n\n\z/,
    qr/"image_addr": 1;/, 'an address below all images is not of one without an address');
# one frame that names no image does not cost the others their names
$ctl->is($ctl->run('symbolicate', @root, $t->write_file('modes.json', event(
    threads => undef, exception => { values => [{ stacktrace => { frames => [
        { instruction_addr => '0x402914', addr_mode => undef },
        { instruction_addr => '0x402914', addr_mode => 'abs' },
        map { +{ instruction_addr => '0x2914', addr_mode => $_ } }
            'bogus', 'rel:', 'rel:+', 'rel:-1', 'rel:0x', 'rel:2', 'rel:4294967296', 3] } }] }))), 2,
    qr/\A\nthread.*\n(?:#\d   0x2914\n){8}(?:#\d   0x402913 in \Q$main\E from crash.exe\n){2}\n\z/,
    qr/^symcachectl: \S+modes\.json: frames of the event whose "addr_mode" names no image: 8; they get no name$/,
    'frames that name no image');
# processor time that is enough for these, but not for all images at each frame
my $many = $t->write_file('many.json', event(exception => undef,
    threads => { values => [{ stacktrace => { frames => [
        ({ instruction_addr => '0x2913', addr_mode => 'rel:4999' }) x 40_000] } }] },
    debug_meta => { images => [(\%placeless) x 5000] }));
my $lines = `ulimit -t 3; '@{[$t->program('symcachectl')]}' symbolicate @root '$many' 2>/dev/null | grep -cF '$main'`;
is $lines, "40000\n", 'many frames of many images';
for ([{ platform => 'python', exception => { values => [{ stacktrace => { frames => [
        { function => 'f', lineno => 1 }] } }] }, threads => undef }, 'no frame of the event has an address'],
     [{ debug_meta => { images => [] } }, 'has no images']) {
    my ($changes, $said) = @$_;
    $ctl->is($ctl->run('symbolicate', @root, $t->write_file('bad.json', event(%$changes))),
        4, undef, qr/bad\.json: .*\Q$said\E/, $said);
}

# --- by its id

my $id = 'a' x 32;
my $dump = $t->data('minidump/null_read_av.dmp');
my %list = (
    none => [{ id => '1', type => 'event.attachment', name => 'log' }],
    dump => [{ id => '1', type => 'event.attachment', name => 'log' },
             { id => '22', type => 'event.minidump', name => 'a.dmp' }],
    report => [{ id => '3', type => 'event.applecrashreport', name => 'a' }],
);
my $report = slurp($t->data('apple/handcrafted.txt'));
my $server = Test::ScriptedServer->new(log => $t->path('sentry.log'), script => sub {
    my ($c, $req) = @_;
    return $c->reply(401, {}, '{"detail": "Invalid token"}')
        if ($req->{headers}{authorization} // '') ne 'Bearer sntrys_x';
    my ($project, $rest) = $req->{path}
        =~ m{^/base/api/0/projects/my-org/(\w+)/events/$id/(.*)} or return $c->reply(404);
    return $c->reply(200, { 'Content-Type' => 'application/json' }, event())
        if $rest eq 'json/';
    return $c->reply(403, {}, '{}') if $project eq 'denied';
    return $c->reply(200, {}, $json->encode($list{$project})) if $rest eq 'attachments/';
    return $c->reply(200, {}, slurp($dump)) if $req->{uri} =~ m{/attachments/22/\?download=1$};
    return $c->reply(200, {}, $report) if $rest eq 'attachments/3/';
    return $c->reply(404);
});
my $url = $server->url . '/base/';
sub ask { my ($project, @options) = @_;
    return $ctl->run('symbolicate', '--url', $url, '--org', 'my-org', '--project', $project,
        @options, $id) }
my $token = '@' . $t->write_file('token', "sntrys_x\n");

$ctl->is(ask('none', @root, '--token', $token), 0, $all, undef, 'an event by its id');
{
    local $ENV{SENTRY_AUTH_TOKEN} = 'sntrys_x';
    $ctl->is(ask('none', @root), 0, $all, undef, 'the token of the environment');
}
$ctl->is(ask('none', @root), 3, undef,
    qr{/json/: the server answers 401: the token is not allowed}, 'no token');
$ctl->is(ask('denied', @root, '--token', $token), 0, $all,
    qr{/attachments/: the server answers 403}, 'attachments that are not shown');
my $want = $ctl->run('minidump', @root, $dump);
my $got = ask('dump', @root, '--token', $token);
is $got->{out}, $want->{out}, 'its minidump is read';
is $got->{code}, $want->{code}, '... with its exit code';
$want = $ctl->run('symbolicate', @root, $t->data('apple/handcrafted.txt'));
is ask('report', @root, '--token', $token)->{out}, $want->{out}, 'or its crash report';
cmp_ok length($want->{out}), '>', 100, '... which has something';
my $log = slurp($t->path('sentry.log'));
unlike $log, qr{/base//api}, 'paths';
$ctl->is($ctl->run('symbolicate', '--url', $server->url . '/none', '--org', 'my-org',
    '--project', 'none', '--token', $token, @root, $id), 3, undef, qr/answers 404$/, 'no event');
$server->stop;
$ctl->is(ask('none', @root, '--token', $token), 3, undef, qr/json\/: .*(?:connect|refused)/i,
    'no server');
$ctl->is($ctl->run('symbolicate', '--org', 'o', '--project', 'p', $id), 2, undef,
    qr/an EVENT needs --url, --org and --project/, 'no URL');
$ctl->is($ctl->run('symbolicate', '--url', $url, '--org', 'o', $id), 2, undef,
    qr/an EVENT needs/, 'no project');
$ctl->is($ctl->run('symbolicate', '--url', $url, '--org', 'o', '--project', 'p', '--token',
    '@/none', $id), 3, undef, qr/--token: .*none/, 'no file of the token');

$t->finish;
done_testing;
