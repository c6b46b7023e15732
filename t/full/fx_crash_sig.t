#!/usr/bin/perl

# fx-crash-sig, Mozilla's own client of /symbolicate/v5, which makes signatures
# of Firefox's crash pings, before nginx with conf-examples/symbolicate.conf.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::Front;
use Test::More;
use Test::Peer;
use Test::Symcache;

my $client = Test::Peer::folder('fx-crash-sig');
my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;
my $crash = $Test::Symcache::key{'crash.pdb'};

$t->fill_store('store', $t->data('pdb/crash.pdb'));
$t->start_symbolicated({ stores => { default => { root => $t->path('store') } } });
my ($front) = Test::Front::start($t);

# What its own main program does, which has no option for the server.
my $program = $t->write_file('signature.py', <<'PY');
import json
import sys
from fx_crash_sig.crash_processor import CrashProcessor

processor = CrashProcessor(api_url=sys.argv[1])
for line in sys.stdin:
    result = processor.get_signature(json.loads(line))
    print(result.signature if result else "")
PY

sub ping {
    my (@offsets) = @_;
    return $json->encode({ normalized_os => 'Windows', payload => {
      metadata => {}, stack_traces => {
        crash_info => { crashing_thread => 0, address => '0x0',
                        type => 'EXCEPTION_ACCESS_VIOLATION_WRITE' },
        modules => [
            { debug_file => 'crash.pdb', debug_id => $crash,
              filename => 'crash.exe', base_addr => '0x400000',
              end_addr => '0x45a000' },
            { debug_file => 'gone.pdb', debug_id => '0' x 32 . '1',
              filename => 'gone.dll', base_addr => '0x500000',
              end_addr => '0x510000' }],
        threads => [{ frames => [map { {
            module_index => $_ < 0x100000 ? 0 : 1, trust => 'context',
            ip => sprintf '0x%x', 0x400000 + $_ } } @offsets] }],
    } } });
}

# The frames have these names in Symbolicator's answers, too (t/data/vectors);
# which of them make a signature is the client's.
my @pings = (
    [[0x2468, 0x1a3a], 'google_breakpad::ExceptionHandler::UpdateNextID'],
    [[0x100010], 'gone.pdb'],
);
$t->write_file('pings', join '', map { ping(@{ $_->[0] }) . "\n" } @pings);
my $said = qx('$client/bin/python' '$program' http://$front/symbolicate/v5 <'@{[$t->path('pings')]}' 2>&1);
is $?, 0, 'it ran' or diag $said;
my @signatures = split /\n/, $said;
is $signatures[$_], $pings[$_][1], "signature: $pings[$_][1]" for 0 .. $#pings;
is scalar(() = $t->access_log =~ m{^200 \d+ "POST /symbolicate/v5}mg), 2,
    'asked through nginx';

$t->finish;
done_testing;
