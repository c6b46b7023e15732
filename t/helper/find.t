#!/usr/bin/env perl

# Is a symbol there?  Names and ids, among uploads, downloads and in stores; and
# the page of conf-examples/find.conf.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Browser;
use Test::Example;
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $u = Test::Uploads->new;
my $t = $u->t;
my $dir = $t->dir;
my $id = $Test::Symcache::key{'crash.pdb'};
my $build = '0123456789abcdef0123456789abcdef01234567';
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));

sub find { $t->http("$dir/h.sock", 'GET', "/v1/find?q=$_[0]") }
sub json { my $r = find(@_); JSON::PP::decode_json($r->{body}) }
sub places { join ' ', sort map { join '/', $_->{where}, grep { $_ ne '' } $_->{store}, $_->{name},
    $_->{id} } @{ json(@_)->{found} } }

my $json = json('crash.pdb');
is_deeply $json->{found}, [], 'nothing is there yet';
ok $json->{complete}, 'and that is all';
is_deeply $json->{stores}, [{ store => 'default', sources => ['uploads', 'empty'] }],
    'the sources, in the order in which they are asked: uploads first, wherever they stand';

$u->put("crash.pdb/$id/crash.pdb", $pdb);
$t->helper('GET', "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=30");
$t->helper('GET', "/v1/debuginfo/default/crash.pdb/$id?version=1.0.0&wait=30");
my $both = "store/default/crash.pdb/$id uploads/crash.pdb/$id";
like places('crash.pdb'), qr{^(?:downloads/default/crash\.pdb/$id )?$both$}, 'by name';
is places('CRASH.pdb'), places('crash.pdb'), 'in any case';
is places($id), places('crash.pdb'), 'by GUID and age';
is places(lc $id), places('crash.pdb'), 'in lower case';
(my $hyphens = lc $id) =~ s/^(.{8})(.{4})(.{4})(.{4})(.{12})(.*)/$1-$2-$3-$4-$5/;
is places("$hyphens-1"), places('crash.pdb'), 'by the debug id of a crash report';
is places("$hyphens-2"), '', 'of no other age';
is places("%7B$hyphens%7D"), places('crash.pdb'), 'by the GUID alone';
is places(substr $id, 0, 32), places('crash.pdb'), 'without hyphens';
my ($file) = map { @{ $_->{files} } } grep { $_->{where} eq 'uploads' } @{ json($id)->{found} };
is_deeply [@$file{qw(file size)}], ['crash.pdb', length $pdb], 'the file';
ok abs($file->{time} - time) < 60, 'its time';
$t->write_file("uploads/$_", 'x') for "app/elf-buildid-$build/app",
    "_.debug/elf-buildid-sym-$build/_.debug", ".index/elf-buildid-$build/app";
$t->write_file("store/app/buildid-$build/app-v9.0.0.symcache", 'x');
is places(uc $build), "store/default/app/buildid-$build "
    . "uploads/_.debug/elf-buildid-sym-$build uploads/app/elf-buildid-$build",
    'by build id';
# Breakpad's debug id is the first 16 bytes of a build id as a GUID, and 0.
is places($_), places($build), "by its debug id, $_"
    for '67452301AB89EFCD0123456789ABCDEF0', '67452301-ab89-efcd-0123-456789abcdef';
is places('67452301AB89EFCD0123456789ABCDEF1'), '', 'which has no age';
$t->write_file('uploads/short/elf-buildid-0123456789abcdef/short', 'x'); # such as of lld's fast
is places('67452301AB89EFCD00000000000000000'), 'uploads/short/elf-buildid-0123456789abcdef',
    'of a short one';
$t->write_file("uploads/$_", 'x') for 'lib/mach-uuid-67e9247c814e392ba027dbde6748fcbf/lib',
    '_.dwarf/mach-uuid-sym-67e9247c814e392ba027dbde6748fcbf/_.dwarf';
is places($_), 'uploads/_.dwarf/mach-uuid-sym-67e9247c814e392ba027dbde6748fcbf '
    . 'uploads/lib/mach-uuid-67e9247c814e392ba027dbde6748fcbf', "by the debug id of a UUID, $_"
    for '67E9247C814E392BA027DBDE6748FCBF0', '67e9247c-814e-392b-a027-dbde6748fcbf';
$t->write_file(sprintf('uploads/many/%031X10/many.sym', $_), 'x') for 0 .. 210;
$json = json('many');
is scalar @{ $json->{found} }, 200, 'at most 200 folders';
ok !$json->{complete}, 'said so';
symlink 'round', "$dir/store/round" or die $!;
ok !json('round')->{complete}, 'a folder that cannot be read: that is not all';

for (['', 'no text'], ['..', 'no name'], ['a%2Fb', 'a path'], ['%0a', 'a line end']) {
    my $r = find($_->[0]);
    is $r->{status}, 400, "$_->[1]: 400";
}
is $t->http("$dir/h.sock", 'POST', '/v1/find?q=x', 'Content-Length: 0')->{status}, 405, 'only GET';

# --- the page

$t->stop_nginx;
Test::Example::start($t, 'find.conf', put => {
    '/run/symcached/symcached.sock' => "$dir/h.sock",
    '/usr/share/doc/symcached' => "$FindBin::Bin/../.." });
my $r = $t->get('/find');
is $r->{status}, 200, 'the page';
is Test::Symcache::header($r, 'Content-Type'), 'text/html', 'its type';
like $r->{body}, qr{find/files\?q=}, 'which asks for files';
is_deeply JSON::PP::decode_json($t->get('/find/files?q=crash.pdb')->{body}), json('crash.pdb'),
    'and gets them';
is JSON::PP::decode_json($t->get("/find/why/default/crash.pdb/$id")->{body})->{files}[0]{source},
    'uploads', 'and where one came from';
is $t->http($t->nginx_socket, 'POST', '/find/files?q=x', 'Content-Length: 0')->{status}, 403,
    'nothing else';

# --- its button "why", for each file

SKIP: {
    skip 'no chromium here', 3 unless Test::Browser::program();
    skip 'chromium loads no library of a sanitizer', 3 if $Test::Symcache::san;
    my $address = '127.0.0.1:' . Test::Symcache::free_port();
    $t->stop_nginx;
    Test::Example::start($t, 'find.conf', address => $address, put => {
        'listen 80;' => "listen $address;",
        '/run/symcached/symcached.sock' => "$dir/h.sock",
        '/usr/share/doc/symcached' => "$FindBin::Bin/../.." });
    my $browser = Test::Browser->start($t->path('browser'));
    $browser->visit("http://$address/find");
    $t->wait_until('the page is loaded', sub {
        $browser->value("document.readyState === 'complete' && location.pathname === '/find'") });
    my $why = sub { $browser->value("find('$_[0]').then(async () => {
        const texts = [];
        for (const button of document.querySelectorAll('td button')) {
            const change = new Promise(done => new MutationObserver(done)
                .observe(by('why'), {childList: true}));
            button.click();
            await change;
            texts.push(by('why').textContent);
        }
        return texts.map(text => text[0] === '{' ? JSON.parse(text).id : text);
    })") };
    is_deeply { map { $_ => 1 } @{ $why->($id) } }, { $id => 1 }, 'why: a PDB and its SymCache';
    is_deeply { map { $_ => 1 } @{ $why->($build) } }, { "buildid-$build" => 1 },
        'a program and its debug file';
    is $browser->stop, 0, 'the browser ends';
}

$t->finish;
done_testing;
