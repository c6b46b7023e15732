#!/usr/bin/env perl

# Links of Windows PDBs to their source code, Source Link's and those of a source
# server: told and followed if the configuration says so, and no PDB is fetched
# twice for them.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::File qw(slurp);
use Test::More;
use Test::Pdb;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;
my $key = '3249D99D0C4049318610F4E4FB0B69361';
my $plain = slurp("$FindBin::Bin/../data/pdb/crash_with_srcsrv.pdb");
my $folder = 'c:\projects\breakpad-tools\deps\breakpad\src\client\windows'
    . '\crash_generation\\';
my $file = 'crash_generation_client.cc'; # which has line 323, at 0x1000
my @text = map { "line $_" } 1 .. 400;

my $git = Test::ScriptedServer->new(log => $t->path('git.log'), script => sub {
    my ($c, $req) = @_;
    $c->reply($req->{path} eq "/raw/$file" ? 200 : 404, {}, join "\n", @text);
});
my $raw = 'http://127.0.0.1:' . $git->port . '/raw';
my %pdbs = (none => $plain,
    sourcelink => Test::Pdb::with_streams($plain, srcsrv => '',
        sourcelink => $json->encode({ documents => { ucfirst("$folder*") => "$raw/*" } })),
    srcsrv => Test::Pdb::with_streams($plain, srcsrv => <<"END"));
SRCSRV: ini ---
VERSION=2
VERCTRL=http
SRCSRV: variables ---
SRCSRVTRG=$raw/%var2%
SRCSRVCMD=cmd.exe /c "del *.*"
SRCSRV: source files ---
${\ uc "$folder$file"}*$file
SRCSRV: end ---
END
my $symbols = Test::ScriptedServer->new(log => $t->path('symbols.log'), script => sub {
    my ($c, $req) = @_;
    my ($which) = $req->{path} =~ m{^/(\w+)/crash\.pdb/$key/crash\.pdb$};
    $c->reply($which ? 200 : 404, {}, $which ? $pdbs{$which} : '');
});

sub start {
    my ($which, %symbolicator) = @_;
    if ($t->{running}++) { $t->stop_symbolicated; $t->stop_symcached }
    Test::Symcache::remove_tree($t->path($_)) for qw(store downloads);
    $t->start_symcached({ downloads => $t->path('downloads'),
        stores => { default => { root => $t->path('store'),
            sources => ['symbols', 'git'], transcoders => [{ version => '9.0.0',
                command => ['pdb2symcache', '{pdb}'] }] } },
        sources => {
            symbols => { type => 'http', internal => JSON::PP::true,
                url => 'http://127.0.0.1:' . $symbols->port . "/$which" },
            git => { type => 'web', url => $raw, internal => JSON::PP::true } },
        symbolication => { symbolicator => \%symbolicator } });
    $t->start_symbolicated;
}

sub post {
    my ($candidates) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate', $json->encode({
        modules => [{ type => 'pe', debug_file => 'crash.pdb', image_addr => '0x400000',
            debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1', image_size => 0x20000 }],
        options => { dif_candidates => $candidates // JSON::PP::false },
        stacktraces => [{ frames => [{ instruction_addr => '0x401000' }] }] }),
        'Content-Type: application/json');
    is $r->{status}, 200, 'answered' or diag $r->{raw};
    return $json->decode($r->{body});
}
sub frame { $_[0]{stacktraces}[0]{frames}[0] }
sub asked { scalar grep { $_->{path} =~ m{/\Q$_[0]\E$} } $symbols->requests }

for my $which (qw(sourcelink srcsrv)) {
    my ($before, $git_before) = (asked('crash.pdb'), scalar $git->requests);
    start($which);
    my $got = post();
    is frame($got)->{lineno}, 323, "$which: the line of the PDB";
    ok !exists frame($got)->{source_link}, 'no link, as Symbolicator tells none';
    ok !$got->{modules}[0]{features}{has_sources}, 'and no sources';
    is asked('crash.pdb') - $before, 1, 'the PDB is fetched once';

    start($which, corrections => ['pdb-links']);
    $got = post();
    is frame($got)->{source_link}, "$raw/$file", 'with the correction, a link';
    ok !exists frame($got)->{context_line}, 'and no text';
    is scalar($git->requests), $git_before, 'nothing is fetched for it';

    start($which, corrections => ['pdb-links'], links => JSON::PP::true);
    $got = post(JSON::PP::true);
    is frame($got)->{context_line}, 'line 323', 'with "links", the line';
    is_deeply frame($got)->{post_context}, [map { "line $_" } 324 .. 328], 'and more';
    ok $got->{modules}[0]{features}{has_sources}, 'the module has sources';
    is_deeply [map { [@$_{qw(location)}, $_->{download}{status}] }
        grep { $_->{source} eq 'sourcelink' } @{ $got->{modules}[0]{candidates} }],
        [["$raw/$file", 'ok']], 'candidates tell of it';
    is asked('crash.pdb') - $before, 3, 'the PDB is fetched once for each store';
}

my $before = asked('crash.pdb');
start('none', corrections => ['pdb-links'], links => JSON::PP::true);
my $got = post();
is frame($got)->{lineno}, 323, 'a PDB without links has its names';
ok !exists frame($got)->{source_link}, 'and no link';
is asked('crash.pdb') - $before, 1, 'and is not fetched again to find that out';
is asked('crash.src.zip') > 0, 1, 'while a bundle is asked for';

$t->finish;
done_testing;
