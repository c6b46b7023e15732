#!/usr/bin/env perl

# Files that a dump needs are cut short one after the other, each while the one
# before is made anew: at the third, its worker gets what there is.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Form;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;
my $dump = $t->data('minidump/cases/sym-windows-mini.sym');

# Modules of the dump's stacks.
my %modules = (
    'crash.pdb' => ['3249d99d-0c40-4931-8610-f4e4fb0b6936-1', 0x2a0000],
    'wkernel32.pdb' => ['d3474559-96f7-47d6-bf43-c176b2171e68-1', 0x75050000],
    'wntdll.pdb' => ['971f98e5-ce60-41ff-b2d7-235bbeb34578-1', 0x77170000],
);
for my $name (keys %modules) {
    my $id = uc($modules{$name}[0] =~ s/-//gr);
    my $text = $name eq 'crash.pdb' ? $t->read_file(glob "$dump/*.sym")
        : "MODULE windows x86 $id $name\n";
    $t->write_file("symbols/$name/$id/" . ($name =~ s/pdb$/sym/r),
        $text . "PUBLIC 1000 0 function\n");
}

# Waits for a gate of its own, by what is made and of which file.
my $gated = $t->write_file('gated', <<'SH');
dir=$1 kind=$2
shift 2
for pdb; do :; done
what=$kind-$(sed '1s/.* //;1q' "$pdb")
echo "$what" >> "$dir/runs"
while [ ! -e "$dir/gate-$what" ]; do sleep 0.02; done
exec "$@"
SH
my @gated = ('/bin/sh', $gated, $t->dir);
my $converter = $t->program('pdb2symcache');
$t->start_symcached({
    stores => { default => {
        root => $t->path('made'), sources => ['text'],
        transcoders => [
            { version => '9.0.0', inputs => ['breakpad'], profile => 'none',
              command => [@gated, 'names', $converter, '{pdb}'] },
            { version => '1.0.0', inputs => ['breakpad'], makes => 'cficache',
              profile => 'none',
              command => [@gated, 'cfi', $converter, '--kind', 'cficache', '{pdb}'] }],
    } },
    sources => { text => { type => 'filesystem', layout => 'breakpad',
        path => $t->path('symbols') } },
    symbolication => { threads => 1 },
});
$t->start_symbolicated;

sub open_gate { $t->write_file("gate-$_[0]", '') }
sub wait_for_run {
    my ($what, $n) = @_;
    $t->wait_until("$what is made", sub {
        return (() = ($t->read_file('runs') // '') =~ /^\Q$what\E$/mg) == $n });
}

# The status of a module's SymCache.
sub names {
    my ($name) = @_;
    my ($id, $at) = @{ $modules{$name} };
    my $r = $t->post($t->symbolicated_socket, '/symbolicate', $json->encode({
        modules => [{ type => 'pe', debug_file => $name, debug_id => $id,
            image_addr => $at, image_size => 0x8000 }],
        stacktraces => [{ frames => [{ instruction_addr => $at + 0x1010 }] }] }),
        'Content-Type: application/json');
    return $r->{status} == 200 ? $json->decode($r->{body})->{modules}[0]{debug_status}
        : $r->{status};
}

# Cuts a file short, which another request notices, and removes it.  Returns
# false if the daemon had looked at it before that.
sub cut {
    my ($name) = @_;
    my ($file) = glob $t->path("made/$name/*/*.symcache");
    my $before = $t->symbolicated_metric('symbolicated_cut_total');
    truncate $file, 0 or die "$file: $!";
    names($name);
    unlink $file or die "$file: $!";
    return $t->symbolicated_metric('symbolicated_cut_total') > $before;
}

for my $name (sort keys %modules) {
    open_gate("names-$name");
    is names($name), 'found', "$name: a file of names";
    unlink $t->path("gate-names-$name");
}
open_gate("cfi-$_") for qw(wkernel32.pdb wntdll.pdb);
$t->wait_until('their folders are remembered, which they are not as long as they are new', sub {
    my @folders = glob $t->path('made/*.pdb/*');
    return @folders == 3 && !grep { time <= (stat)[10] + 2 } @folders;
});
names($_) for keys %modules;

my $body = form(['sources', '[{"id":"text"}]'],
    ['upload_file_minidump', $t->read_file("$dump/dump.dmp"), 'x']);
my $s = Test::Symcache::connect_to($t->symbolicated_socket) or die $!;
print $s Test::Symcache::request_text('POST', '/minidump',
    "Content-Type: $form_type", 'Content-Length: ' . length $body), $body;
$s->flush;

SKIP: {
    my $seen = 'symbolicated looked for stale files in that moment';
    wait_for_run('cfi-crash.pdb', 1);
    cut('crash.pdb') or skip $seen, 1;
    open_gate('cfi-crash.pdb');
    wait_for_run('names-crash.pdb', 2);
    cut('wkernel32.pdb') or skip $seen, 1;
    open_gate('names-crash.pdb');
    wait_for_run('names-wkernel32.pdb', 2);
    cut('wntdll.pdb') or skip $seen, 1;
    open_gate("names-$_") for sort { $b cmp $a } keys %modules;
    my $r = $t->read_response($s, 'POST');
    is $r->{status}, 200, 'an answer' or diag $r->{raw};
    my %found = map { ($_->{debug_file} =~ /([^\\]+)$/)[0] => $_->{debug_status} }
        @{ (eval { $json->decode($r->{body}) } // {})->{modules} };
    is_deeply { map { $_ => $found{$_} } keys %modules },
        { map { $_ => 'found' } keys %modules }, 'has the names of all';
}
open_gate($_) for 'cfi-crash.pdb', map { "names-$_" } keys %modules;
close $s;
$t->finish;
done_testing;
