#!/usr/bin/env perl

# Requests that workers read, each kind without the others: machine code alone,
# and crash reports that a reload switches on.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Form;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;
my ($true, $false) = (JSON::PP::true(), JSON::PP::false());

my $pe = do {
    my $file = $t->data('convert/pe/mingw-5.dll');
    -e $file ? $t->read_file($file) : scalar qx(zstd -qdc '$file.zst');
};
plan skip_all => 'no zstd' unless $pe;
my $at = unpack 'V', substr $pe, 0x3c, 4;
my $code_id = sprintf '%08X%x', map { unpack 'V', substr $pe, $at + $_, 4 } 8, 80;
$t->write_file("sym/a.dll/$code_id/a.dll", $pe);

my $config = {
    stores => { default => { root => $t->path('store'), sources => ['local'],
        transcoders => [{ version => '9.0.0', inputs => ['pe'],
            command => ['pdb2symcache', '-pdb', '{pdb}'] }] } },
    sources => { local => { type => 'filesystem', path => $t->path('sym') } },
    symbolication => {
        mozilla => { code => $true },
        symbolicator => { minidump => { enabled => $false }, apple => { enabled => $false } },
        profile => { enabled => $false } },
};
$t->start_symcached($config);
my $daemon = $t->start_symbolicated;

my $r;
$t->wait_until('an answer about machine code', sub {
    $r = $t->post($t->symbolicated_socket, '/asm/v1', $json->encode({
        name => 'a.dll', codeId => $code_id, startAddress => '0x1000', size => '0x10' }));
    return $r && $r->{status} && $r->{status} != 503 || !Test::Symcache::alive($daemon);
});
is $r->{status}, 200, 'machine code, without crash reports and profiles';
like $r->{body}, qr/"instructions":\[\[/, '... is disassembled';

sub send_dump {
    return $t->post($t->symbolicated_socket, '/minidump', form(['sources', '[]'],
        ['upload_file_minidump', $t->read_file($t->data('minidump/ring/libring.dmp')), 'x']),
        "Content-Type: $form_type");
}
is send_dump()->{status}, 404, 'dumps are not taken';
$config->{symbolication}{symbolicator}{minidump}{enabled} = $true;
$t->write_helper_config($config);
kill HUP => $daemon;
$t->wait_until('a reload', sub { $t->symbolicated_log =~ / reloaded/ });
$t->wait_until('dumps are taken', sub { $r = send_dump(); $r->{status} != 404 });
like "$r->{status} $r->{body}", qr/^200 \{"status":"completed"/, 'a dump, after a reload';

$t->finish;
done_testing;
