#!/usr/bin/env perl

# A web page of another origin reads files of a symbol server as
# conf-examples/symbols.conf has it.  That it may, a Chromium decides.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Browser;
use Test::Example;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $id = 'A' x 32 . '1';
my $text = "MODULE windows x86 $id page.pdb\nPUBLIC 1000 0 main\n";

$t->write_file("files/page.pdb/$id/page.sym", $text);
$t->start_symcached({
    stores => { default => { root => "$dir/store", sources => ['files'],
        transcoders => [{ version => '9.0.0',
            command => [$t->program('pdb2symcache'), '-pdb', '{pdb}'] }] } },
    sources => { files => { type => 'filesystem', layout => 'breakpad',
        path => "$dir/files" } },
});
my ($here, $there) = map { '127.0.0.1:' . Test::Symcache::free_port() } 1, 2;
Test::Example::start($t, 'symbols.conf', address => $there, put => {
    'listen 80;' => "listen $here;\nlisten $there;",
    '/var/cache/symcached/downloads' => "$dir/downloads" });

my %files = ("page.pdb/$id/page.sym" => [200, $text],
    "gone.pdb/$id/gone.sym" => [404, '']);
for my $path (sort keys %files) {
    my $r = $t->http($there, 'GET', "/symbols/$path", "Origin: http://$here");
    is $r->{status}, $files{$path}[0], $path;
    is_deeply $r->{headers}{'access-control-allow-origin'}, ['*'],
        "$path: any page may read it";
}

SKIP: {
    skip 'no chromium here', 3 unless Test::Browser::program();
    skip 'chromium loads no library of a sanitizer', 3 if $Test::Symcache::san;
    my $browser = Test::Browser->start($t->path('browser'));
    $browser->visit("http://$here/none");
    for my $path (sort keys %files) {
        is_deeply $browser->value("fetch('http://$there/symbols/$path')
            .then(async r => [r.status, await r.text()],
                  e => [0, String(e)])"), $files{$path}, "a page reads $path";
    }
    is $browser->stop, 0, 'the browser ends';
}

$t->finish;
done_testing;
