#!/usr/bin/env perl

# PpdbCaches from one machine through the next: nginx, symcached, the built-in
# converter, and a second machine whose source is the first one.  The oracle is
# what the symbolic library wrote (t/data/ppdb/README.md).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $near = Test::Symcache->new;
my $true = JSON::PP::true();

# name => (GUID, PDB, what the library wrote)
my %module = map {
    my ($name, $guid) = @$_;
    ("$name.pdb" => [$guid, $t->read_file($t->data("ppdb/$name.pdb")),
                     $t->read_file($t->data("ppdb/$name.ppdbc"))])
} ['plain', '198A378EEC0A47DA8FB2289C2BDAD68F'],
  ['weave', '6022E78B4BF44D048F9E21D7790ECE60'],
  ['parcel', 'FF5420FFCC744EE69140BB74453C7E71'],
  ['vbnote', 'A297898839994320B9D1645E6D0BF034'],
  ['fsnote', 'F7E3EF0BCE844612965806E61B424B4B'],
  ['bare', '4C71116D95464A0484BC4FFCAD6EC781'];
while (my ($name, $m) = each %module) {
    $t->write_file("sym/$name/$m->[0]FFFFFFFF/$name", $m->[1]);
}
my ($windows) = $Test::Symcache::key{'crash.pdb'} =~ /^(.{32})/;
$t->write_file("sym/crash.pdb/${windows}1/crash.pdb",
    $t->read_file($t->data('pdb/crash.pdb')));

my @command = ($t->program('pdb2symcache'), '-pdb', '{pdb}');
$t->start_symcached({
    stores => { default => { root => $t->path('store'), gzip => $true,
        transcoders => [{ version => '9.0.0', command => \@command },
            { version => '1.0.0', makes => 'ppdbcache',
              command => \@command }],
        sources => ['sym'] } },
    sources => { sym => { type => 'filesystem', path => $t->path('sym') } },
});
my $port = Test::Symcache::free_port();
$t->start_nginx('location /s/ { symcache %%DIR%%/store;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_async_after 65535.65535.65535; }',
    listen => "listen 127.0.0.1:$port; listen unix:" . $t->nginx_socket . ';');
$near->start_symcached({
    stores => {
        default => { root => $near->path('store'), sources => ['far'] },
        plain => { root => $near->path('plain'), sources => ['former'] } },
    sources => { map { $_->[0] => { type => 'symcache', version => '9.0.0',
        internal => $true, url => "http://127.0.0.1:$port/s",
        %{ $_->[1] } } } ['far', { ppdbcaches => $true }], ['former', {}] },
});
$near->start_nginx('location /s/ { symcache %%DIR%%/store;
    symcache_pass unix:%%DIR%%/h.sock;
        symcache_async_after 65535.65535.65535; }');

sub said { my $r = shift; join ' ', $r->{status},
    map { Test::Symcache::header($r, $_) // '-' } @_ }

for my $name (sort keys %module) {
    my ($guid, undef, $cache) = @{ $module{$name} };
    for (['far', $t], ['near', $near]) {
        my ($where, $machine) = @$_;
        my $r = $machine->get("/s/ppdb/v1.0.0/$name/$guid");
        is said($r, 'Content-Type'),
            '200 application/vnd.ppdbcache; version=1.0.0', "$where: $name";
        ok $r->{body} eq $cache, "$where: $name: as the library's";
    }
}
my ($guid) = @{ $module{'weave.pdb'} };
ok -e $near->path("store/weave.pdb/${guid}FFFFFFFF/"
    . 'weave.pdb-v1.0.0.ppdbcache'), 'the near machine has a file of its own';
is $near->get("/s/ppdb/v1.0.0/weave.pdb/$guid")->{status}, 200,
    'which it serves';
is said($near->get("/s/ppdb/v1.0.0/none.pdb/$guid"), 'Retry-After'), '404 -',
    'absent there is absent here';
is said($near->get("/s/ppdb/v1.0.0/crash.pdb/$windows"), 'Retry-After'),
    '404 -', 'a Windows PDB has none';
is said($t->get("/s/v9.0.0/weave.pdb/$guid/4294967295"), 'Retry-After'),
    '404 -', 'a portable PDB has no SymCache';
is $near->get("/s/v9.0.0/crash.pdb/$windows/1")->{status}, 200,
    'SymCaches come by the same source';
is said($near->helper('GET', "/v1/ppdbcache/plain/weave.pdb/${guid}FFFFFFFF"
    . '?version=1.0.0&wait=60'), 'X-Symcache-Reason'), '404 no-transcoder',
    'a server that is not said to have any is not asked';

$_->finish for $near, $t;
done_testing;
