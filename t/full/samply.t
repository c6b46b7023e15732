#!/usr/bin/perl

# samply gives the Firefox Profiler its own server of /symbolicate/v5, which
# reads PDBs by itself: what it answers the Profiler, symbolicated answers
# behind nginx; and it answers the same of a PDB that it has from a symbol
# server, which is this one (conf-examples/symbols.conf).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::Example;
use Test::Front;
use Test::More;
use Test::Peer;
use Test::Symcache;

my $samply = Test::Peer::folder('samply') . '/bin/samply';
my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;
my $key = $Test::Symcache::key{'crash.pdb'};

$t->fill_store('store', $t->data('pdb/crash.pdb'));
$t->start_symbolicated({ stores => { default => { root => $t->path('store') } } });
my ($front) = Test::Front::start($t);

# samply, with a profile of nothing

my $profile = $t->write_file('profile.json',
    '{"meta": {"version": 24}, "libs": [], "threads": []}');

# Starts it: its process, its address and the path before its endpoints.
sub samply {
    my ($home, @options) = @_;
    mkdir $t->path($home) or die $!;
    my $port = Test::Symcache::free_port();
    my $pid = $t->spawn("$home.out", { HOME => $t->path($home) }, $samply,
        'load', '--no-open', '--port', $port, @options, $profile);
    my $prefix = $t->wait_until('samply listens', sub {
        my $out = $t->read_file("$home.out") // '';
        die $out unless Test::Symcache::alive($pid);
        $out =~ m{symbolServer=http%3A%2F%2F127\.0\.0\.1%3A$port%2F(\w+)} && $1;
    });
    return ($pid, "127.0.0.1:$port", $prefix);
}

my ($pid, $address, $prefix) = samply('home', '--symbol-dir', $t->data('pdb'));

# The same request to both, in the Profiler's form.
my @addresses = map { 0x1000 + 5 * $_ } 0 .. 2035;
my $body = $json->encode({ jobs => [
    { memoryMap => [['crash.pdb', $key]],
      stacks => [[map { [0, $_] } @addresses]] },
    { memoryMap => [['gone.pdb', $key]], stacks => [[[0, 1]]] },
] });
my @origin = 'Origin: https://profiler.firefox.com';

sub answer {
    my ($address, $path) = @_;
    my $r = $t->post($address, $path, $body, @origin);
    is $r->{status}, 200, "$path answers";
    return $json->decode($r->{body})->{results};
}

my $theirs = answer($address, "/$prefix/symbolicate/v5");
my $ours = answer($front, '/symbolicate/v5');
is_deeply [map { $_->{found_modules} } @$ours],
    [map { $_->{found_modules} } @$theirs], 'the same modules are found';

# Neither has the names of C as they are written, and of functions that were
# folded into one each takes another.
my $folded = qr/^(?:scrt_initialize_winrt|matherr
    |scrt_stub_for_acrt_uninitialize|should_initialize_environment)\b/x;

sub name {
    my $name = $_[0]{function} =~ s/^_+//r;
    return $name =~ $folded ? 'folded' : $name;
}

# What both know of an address is the same.  samply goes on where a function
# ends and nothing follows, and has lines in functions that the compiler made.
my ($both, @differ) = (0);
for my $i (0 .. $#addresses) {
    my ($our, $their) = map { $_->[0]{stacks}[0][$i] } $ours, $theirs;
    next unless defined $our->{function} && defined $their->{function};
    $both++;
    my $has_line = defined $our->{line} && name($our) ne 'folded';
    my @texts = map { my $f = $_; join ' ', name($f),
        (@$f{'function_offset', 'function_size'}), !$has_line ? ()
            : map { "$_->{file}:$_->{line}" } $f, @{ $f->{inlines} // [] }
    } $our, $their;
    push @differ, sprintf '%x: %s | %s', $addresses[$i], @texts
        if $texts[0] ne $texts[1];
}
cmp_ok $both, '>', 1900, "$both of " . @addresses . ' addresses are in functions';
is_deeply \@differ, [], 'both say the same of them';

# --- a PDB from the symbol server

my $server = Test::Symcache->new;
my $files = $server->symbol_store('symbols');
my $config = $server->default_config('http://127.0.0.1:1');
$config->{sources} = { upstream => { type => 'filesystem', path => $files } };
$config->{downloads} = $server->path('downloads');
$server->start_symcached($config);
my $listen = '127.0.0.1:' . Test::Symcache::free_port();
Test::Example::start($server, 'symbols.conf', address => $listen, put => {
    'listen 80;' => "listen $listen;",
    '/var/cache/symcached/downloads' => $server->path('downloads') });
my ($asking, $its_address, $its_prefix) = samply('asking',
    '--windows-symbol-server', "http://$listen/symbols",
    '--breakpad-symbol-server', "http://$listen/symbols");
my $asked = answer($its_address, "/$its_prefix/symbolicate/v5");
is_deeply $asked->[0]{stacks}, $theirs->[0]{stacks},
    'with this symbol server it says the same';
like $server->access_log, qr{"GET /symbols/crash\.pdb/$key/crash\.pdb \S+" 200},
    'of the file that it got there';

$t->stop_pid($_, 'INT') for $pid, $asking;
$server->finish;
$t->finish;
done_testing;
