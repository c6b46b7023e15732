#!/usr/bin/env perl

# A worker is lost while the files that its dump needs are searched for, and
# one of those that were found is cut short meanwhile.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Form;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;

my $case = $t->data('minidump/cases/sym-windows-mini.sym');
my ($id) = map { m{([^/]+)\.sym$} } glob "$case/*.sym";
$t->write_file('symbols/crash.pdb/' . uc($id =~ s/-//gr) . '/crash.sym',
    $t->read_file("$case/$id.sym") . "PUBLIC 2d00 0 crash\n");

my @gated = ("$FindBin::Bin/../bin/gated", $t->path('gate'), $t->path('runs'));
my @converter = ($t->program('pdb2symcache'));
$t->start_symcached({
    stores => { default => {
        root => $t->path('made'), sources => ['text'],
        transcoders => [
            { version => '9.0.0', inputs => ['breakpad'],
              command => [@converter, '{pdb}'] },
            { version => '1.0.0', inputs => ['breakpad'], makes => 'cficache',
              profile => 'none',
              command => [@gated, @converter, '--kind', 'cficache', '{pdb}'] }],
    } },
    sources => { text => { type => 'filesystem', layout => 'breakpad',
        path => $t->path('symbols') } },
    symbolication => { threads => 1 },
});
my $daemon = $t->start_symbolicated;

sub children {
    my ($parent) = @_;
    open my $c, '<', "/proc/$parent/task/$parent/children" or return;
    return split ' ', <$c> // '';
}
plan skip_all => 'this kernel does not list children'
    unless -e "/proc/$$/task/$$/children";
my $spawner;
$t->wait_until('what starts workers is there, which may be after the socket',
    sub { ($spawner) = children($daemon) });

# The status of the module's SymCache.
sub names {
    my $r = $t->post($t->symbolicated_socket, '/symbolicate', $json->encode({
        modules => [{ type => 'pe', debug_file => 'crash.pdb', debug_id => $id,
            image_addr => '0x2a0000', image_size => 36864 }],
        stacktraces => [{ frames => [{ instruction_addr => '0x2a2d97' }] }] }),
        'Content-Type: application/json');
    return $json->decode($r->{body})->{modules}[0]{debug_status};
}
is names(), 'found', 'a file of names';
my ($file) = glob $t->path('made/crash.pdb/*/*.symcache');
$t->wait_until('its folder is remembered, which it is not as long as it is new',
    sub { time > (stat $file =~ s{/[^/]+$}{}r)[10] + 2 && names() });

my $body = form(['sources', '[{"id":"text"}]'],
    ['options', '{"dif_candidates":true}'],
    ['upload_file_minidump', $t->read_file("$case/dump.dmp"), 'x']);
my $s = Test::Symcache::connect_to($t->symbolicated_socket) or die $!;
print $s Test::Symcache::request_text('POST', '/minidump',
    "Content-Type: $form_type", 'Content-Length: ' . length $body), $body;
$s->flush;
$t->wait_until('the file to unwind with is made', sub { -s $t->path('runs') });

truncate $file, 0 or die "$file: $!";
is names(), 'malformed', 'it is cut short, and another request has noticed';
kill 'ABRT', children($spawner); # which no sanitizer catches
my $r = $t->read_response($s, 'POST');
is "$r->{status} $r->{body}", '200 {"status":"failed","message":"internal error"}',
    'without its worker, the dump does not wait for the other file';
ok !-e $t->path('gate'), '... which is not there yet';
my $size = length $body;
like $t->symbolicated_log, qr/\[error\] \S+ a worker ended by signal 6 \(Aborted\): it had the body of protocol=minidump size=$size scope=; the request fails$/m,
    'one line says how it ended, of what, and what follows';
$t->wait_until('the line of the request has it, too', sub {
    $t->symbolicated_log =~ /request protocol=minidump status=200 .* failure=its worker ended by signal 6 \(Aborted\)$/m });
is $t->symbolicated_metric('symbolicated_workers_died_total'), 1, 'it is counted';

$s = Test::Symcache::connect_to($t->symbolicated_socket) or die $!;
print $s Test::Symcache::request_text('POST', '/minidump',
    "Content-Type: $form_type", 'Content-Length: ' . length $body), $body;
$s->flush;
$t->wait_until('another one waits for the file',
    sub { $t->symbolicated_metric('symbolicated_bodies_total') == 2 });
kill 'KILL', children($spawner);
$r = $t->read_response($s, 'POST');
is "$r->{status} $r->{body}", '503 {"detail":"no worker is available"}',
    'one that something else has killed is not the fault of the dump';
like $t->symbolicated_log, qr/\[error\] \S+ a worker was killed from outside by signal 9 \(Killed\): it had .*; its client is told to try again$/m,
    '... as the log says';
is $t->symbolicated_metric('symbolicated_workers_died_total'), 1, '... and is not counted';

$t->write_file('gate', '');
is names(), 'malformed', 'the daemon lives';
$t->finish;
done_testing;
