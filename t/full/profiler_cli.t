#!/usr/bin/perl

# profiler-cli, which is the Firefox Profiler on the command line: it asks
# symbolicated behind nginx for names, and reads the profile that POST /profile
# has named.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::Front;
use Test::More;
use Test::Peer;
use Test::Symcache;

my $cli = Test::Peer::folder('profiler-cli')
    . '/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js';
my $t = Test::Symcache->new;
my $key = $Test::Symcache::key{'crash.pdb'};
$t->fill_store('store', $t->data('pdb/crash.pdb'));
$t->start_symbolicated({ stores => { default => { root => $t->path('store') } } });
my ($front) = Test::Front::start($t);
mkdir $t->path('home') or die $!;
$ENV{HOME} = $t->path('home');

# one stack of two frames, which have the flags of an address and of a category
my $profile = $t->write_file('profile.json', JSON::PP->new->canonical->encode({
    meta => { version => 36, preprocessedProfileVersion => 75, symbolicated => JSON::PP::false(),
        interval => 1, startTime => 0, processType => 0, product => 'app', stackwalk => 1, markerSchema => [],
        categories => [{ name => 'Other', color => 'grey', subcategories => ['Other'] }] },
    libs => [{ arch => '', name => 'crash.exe', path => 'crash.exe', debugName => 'crash.pdb',
        debugPath => 'crash.pdb', breakpadId => $key, codeId => undef }],
    pages => [],
    shared => {
        stringArray => ['crash', '0x2913', '0x1005'],
        sources => { length => 0, map { $_ => [] }
            qw(id filename startLine startColumn sourceMapURL content) },
        sourceLocationTable => { length => 0, map { $_ => [] } qw(source line column) },
        nativeSymbols => { length => 0, map { $_ => [] } qw(libIndex address name functionSize) },
        resourceTable => { length => 1, name => [0], host => [undef], type => [1] },
        stackTable => { length => 2, frame => [0, 1], prefixOffset => [0, 1] },
        funcTable => { length => 2, name => [1, 2], resource => [0, 0], flags => [4, 4],
            map { $_ => [0, 0] } qw(source lineNumber columnNumber originalLocation) },
        frameTable => { length => 2, func => [0, 1], address => [0x2913, 0x1005], flags => [6, 6],
            map { $_ => [0, 0] } qw(lib category subcategory nativeSymbol innerWindowID line
                column originalLocation) } },
    threads => [{ processType => 'default', processStartupTime => 0, registerTime => 0,
        processShutdownTime => undef, unregisterTime => undef, pausedRanges => [],
        name => 'main', isMainThread => JSON::PP::true(), pid => '1', tid => 1,
        samples => { length => 2, weightType => 'samples', weight => undef, stack => [1, 1],
            time => [0, 1] },
        markers => { length => 0, map { $_ => [] }
            qw(category data endTime name phase startTime) } }] }));

# The functions of a profile as profiler-cli lists them.
sub functions {
    my ($session, $server, $file) = @_;
    my ($said, $log);
    # it may be slow to start, and says so
    $log = `timeout 60 node '$cli' load --symbol-server '$server' --session $session '$file' 2>&1`;
    $t->wait_until("$session is loaded", sub {
        $said = `timeout 60 node '$cli' thread functions --session $session 2>&1`;
        return $said =~ /^ *f-0\. /m;
    }) or diag $log, $said;
    system("timeout 60 node '$cli' stop '$session' >/dev/null 2>&1");
    return join "\n", sort $said =~ /^ *f-\d\. .*!(.*?) - self/mg;
}

my $names = join "\n", 'google_breakpad::CrashGenerationClient::RequestDump('
    . '_EXCEPTION_POINTERS*, MDRawAssertionInfo*)', 'main(int, char**)';
is functions('asks', "http://$front", $profile), $names, 'names of the server';

my $r = $t->post($t->symbolicated_socket, '/profile', $t->read_file('profile.json'));
is $r->{status}, 200, 'POST /profile';
my $dead = 'http://127.0.0.1:' . Test::Symcache::free_port();
is functions('reads', $dead, $t->write_file('named.json', $r->{body})), $names,
    '... names it, and the client reads it';

is $t->stop_symbolicated, 0, 'symbolicated stops';
$t->stop_nginx;

$t->finish;
done_testing;
