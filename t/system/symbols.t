#!/usr/bin/perl

# A debugger's way to its file: the requests that clients of symbol servers were
# seen to send, in their order and spelling, against nginx and symcached before
# upstreams that have a file plain, packed only, by a pointer only, in two
# tiers, or not at all.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use lib "$FindBin::Bin/../convert/lib";
use Corpus;
use Digest::SHA qw(sha256_hex);
use File::Copy qw(copy);
use File::Path qw(make_path);
use JSON::PP ();
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my %id = %Test::Symcache::key;
my $image = 'basic32.dll';
my $stamp = '5DDC1E9A6c000';

# What the files are, unpacked.
my %plain = (
    'crash.pdb' => $t->read_file($t->data('pdb/crash.pdb')),
    $image => $t->read_file($t->data("pdb/$image")),
);
$id{$image} = $stamp;

# --- upstreams: folders in symstore's layout

sub put {
    my ($name, $path, $from) = @_;
    my $to = $t->path("$name/$path");
    make_path($to =~ s{/[^/]+$}{}r);
    copy($from, $to) or die "$to: $!";
}

sub gzipped {
    my ($file) = @_;
    system("gzip -c '$file' > " . $t->path('gz')) == 0 or die 'gzip';
    return $t->path('gz');
}

for my $name (sort keys %plain) {
    my $from = $t->data("pdb/$name");
    my $dir = "$name/$id{$name}";
    put('plain', "$dir/$name", $from);
    put('packed', $dir . '/' . ($name =~ s/.$/_/r), gzipped($from));
    put('tiers', substr($name, 0, 2) . "/$dir/$name", $from);
    $t->write_file('tiers/index2.txt', '');
    put('archive', "there/$name", $from);
    $t->write_file("pointer/$dir/file.ptr",
        'PATH:\\\\archive\\share\\there\\' . $name);
}
make_path($t->path('none'));

# What Symbolicator was asked for by its proxy: files of a package of npm, and
# two that are damaged.
my ($corpus, $winpty) = (Corpus->new, '');
my ($input) = grep { $_->{origin} eq 'node-pty'
    && $_->{path} =~ m{/win32-x64/winpty\.pdb$} } $corpus->inputs;
if ($winpty = $corpus->pdb($input)) {
    put('proxy', 'winpty.pdb/3198517245D844EDB92B943840F8C3D81/winpty.pdb',
        $winpty);
    put('proxy', 'winpty.dll/69485E8C45000/winpty.dll',
        $winpty =~ s/pdb$/dll/r);
}
$t->write_file('proxy/text.pdb/' . 'B' x 32 . '1/text.pdb', "no PDB\n");
$t->write_file('proxy/truncated.pdb/' . 'A' x 32 . '1/truncated.pdb',
    substr $t->read_file($t->data('pdb/crash.pdb')), 0, 5000);

my %config = (stores => {}, sources => {});
for my $name (qw(plain packed tiers pointer none proxy)) {
    $config{sources}{$name} = { type => 'filesystem', layout => 'symstore',
        path => $t->path($name),
        map => { '\\\\archive\\share' => $t->path('archive') } };
    $config{stores}{$name} = { root => $t->path("stores/$name"),
        sources => [$name], transcoders => [{ version => '9.0.0',
            command => [$t->program('pdb2symcache'), '-pdb', '{pdb}'] }] };
}
$t->start_symcached(\%config);
my $locations = join '', map { "location /$_/ {
        symcache_symbols %%DIR%%/downloads;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_store $_;
        symcache_zone z;
    }
    location /symcache/$_/ {
        symcache %%DIR%%/stores/$_;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_store $_;
        symcache_async_after 65535.65535.65535;
    }
    " } sort keys %{ $config{stores} };
$t->start_nginx($locations, http => 'symcache_zone z:64k;');

# --- clients: header lines, and what one asks for, in order, until it has it

my $ms = 'User-Agent: Microsoft-Symbol-Server/';
my @six = map { ("%N/%K/%N", "%N/%K/%_", "%N/%K/file.ptr") } 1;
push @six, map { "%2/$_" } @six;
my %clients = (
    TraceEvent => [["${ms}6.13.0009.1140", 'Accept: application/msfz0'],
        { 'crash.pdb' => \&as_it_is, $image => sub { lc $_[0] } }, @six],
    symsrv => [["${ms}10.0.0.0"], { map { $_ => \&as_it_is } keys %plain },
        @six[0 .. 2]],
    'symsrv, packed first' => [["${ms}10.0.0.0"],
        { map { $_ => \&as_it_is } keys %plain }, @six[1, 0, 2]],
    'symsrv of 2025' => [["${ms}10.0.0.0"],
        { map { $_ => \&as_it_is } keys %plain }, 'index2.txt', @six[2, 0, 1]],
    ClrMD => [[], { $image => sub { lc $_[0] } }, '%N/%K/%N'],
    'dotnet-symbol' => [['X-TFS-FedAuthRedirect: Suppress'],
        { 'crash.pdb' => sub { lc $_[0] }, $image => \&as_it_is },
        '%N/%K/%N'],
    lldb => [[], { 'crash.pdb' => \&as_it_is }, '%N/%K/%N'],
);

sub as_it_is { $_[0] }

# The statuses that a client sees, and what it ends with.
sub goes {
    my ($client, $store, $name) = @_;
    my ($headers, $files, @forms) = @{ $clients{$client} };
    my $key = $files->{$name}->($id{$name});
    my @statuses;
    for my $form (@forms) {
        my $path = $form =~ s/%N/$name/gr =~ s/%K/$key/r
            =~ s{%_}{$name =~ s/.$/_/r}er =~ s/%2/substr $name, 0, 2/er;
        my $r = $t->get("/$store/$path", @$headers);
        push @statuses, $r->{status};
        return ("@statuses", $r) if $r->{status} == 200;
    }
    return ("@statuses");
}

for my $client (sort keys %clients) {
    for my $name (sort keys %{ $clients{$client}[1] }) {
        my @forms = @{ $clients{$client} }[2 .. $#{ $clients{$client} }];
        my ($before) = grep { $forms[$_] eq '%N/%K/%N' } 0 .. $#forms;
        my $expect = join ' ', (404) x $before, 200;
        for my $store (qw(plain packed pointer tiers)) {
            my ($got, $r) = goes($client, $store, $name);
            is $got, $expect, "$client, $name, upstream $store";
            ok $r && $r->{body} eq $plain{$name}, '- the file itself';
        }
        my ($got) = goes($client, 'none', $name);
        is $got, join(' ', (404) x @forms), "$client, $name, nowhere";
    }
}

# --- one download for a debugger and for WPA

for my $store (qw(plain packed)) {
    my $r = $t->get("/symcache/$store/"
        . Test::Symcache::request_path(undef, 'crash.pdb'));
    is $r->{status}, 200, "the SymCache, upstream $store";
}
is $t->metric('symcached_downloads_reused_total'), 2,
    'is made of what the debuggers had fetched';

# --- a portable PDB is asked for under two keys, whichever the upstream has

my $guid = '198A378EEC0A47DA8FB2289C2BDAD68F';
my $portable = $t->read_file($t->data('ppdb/plain.pdb'));
for my $there ('FFFFFFFF', '1') {
    put('plain', "p$there.pdb/$guid$there/p$there.pdb",
        $t->data('ppdb/plain.pdb'));
    for my $asked ($there, $there eq '1' ? 'ffffffff' : '1') {
        my $r = $t->get("/plain/p$there.pdb/\L$guid\E$asked/p$there.pdb");
        is $r->{status}, 200, "a portable PDB under $there, asked for as $asked";
        ok $r->{body} eq $portable, '- the file';
    }
}

# --- published later: forgotten, and there at the next request

my $uri = "/none/crash.pdb/$id{'crash.pdb'}/crash.pdb";
is $t->get($uri)->{status}, 404, 'absent, and known to be';
put('none', "crash.pdb/$id{'crash.pdb'}/crash.pdb", $t->data('pdb/crash.pdb'));
is $t->get($uri)->{status}, 404, 'published, and not looked for yet';
is $t->helper('POST', "/v1/forget/none/crash.pdb/$id{'crash.pdb'}")->{status},
    200, 'an operator has it forgotten';
my $r = $t->get($uri);
is $r->{status}, 200, 'the next request finds it';
ok $r->{body} eq $plain{'crash.pdb'}, '- the file';

# --- what Symbolicator's proxy answered

# docs/symbol-server.md says what differs: names have no case here, and nothing
# that is damaged is called an error of ours.
my %differs = ('proxy-name-upper' => 200, 'proxy-malformed' => 503,
               'proxy-truncated' => 503);
open my $pairs, '<', $t->data('vectors/proxy.jsonl') or die $!;
while (my $line = <$pairs>) {
    my ($name, $q, $theirs) = @{ JSON::PP->new->decode($line) }
        {qw(name request response)};
    my $status = $differs{$name} // $theirs->{status};
    SKIP: {
        skip "$name: " . $corpus->reason($input), 3
            if !$winpty && $line =~ /winpty/i && $status == 200;
        my $r = $t->http($t->nginx_socket, $q->{method}, $q->{path},
                         map { "$_: $q->{headers}{$_}" } keys %{ $q->{headers} });
        is $r->{status}, $status, "$name: status";
        next if $theirs->{status} != 200;
        is_deeply { map { $_ => scalar Test::Symcache::header($r, $_) }
                    keys %{ $theirs->{headers} } }, $theirs->{headers},
            "$name: headers";
        is sha256_hex($r->{body}), $theirs->{body_sha256}, "$name: body";
    }
}

$t->finish;
done_testing;
