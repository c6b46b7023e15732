#!/usr/bin/env perl

# POST /minidump with 27 real dumps: what Symbolicator 26.8.0 answered to those
# that it was asked about, without symbols, with Breakpad's text and with a
# PDB.  The others are walked as well.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use File::Basename qw(basename dirname);
use File::Copy qw(copy);
use File::Path qw(make_path);
use Test::File;
use Test::Form;
use Test::More;
use Test::Symcache;

plan skip_all => 'no zstd' if system('zstd --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->utf8;
my $data = $t->data('minidump');
my $real = $t->path('real');
make_path($real);
system("zstd -qdc --long=24 '$data/real.tar.zst' | tar xf - -C '$real'") == 0 or die;
for my $gz (glob "$data/symbols/*/*/*.gz") {
    my ($path) = $gz =~ m{(symbols/.*)\.gz\z};
    make_path("$real/" . dirname($path));
    spew("$real/$path", Compress::Zlib::memGunzip(slurp($gz)));
}
my $pdb = "pdb/crash.pdb/$Test::Symcache::key{'crash.pdb'}";
make_path("$real/$pdb");
copy($t->data('pdb/crash.pdb'), "$real/$pdb/crash.pdb") or die $!;

my $converter = $t->program('pdb2symcache');
my %layouts = (sym => ['symbols', 'breakpad'], pdb => ['pdb', 'symstore']);
$t->start_symcached({
    stores => { map { ($_ => {
        root => $t->path("made/$_"), sources => [$_],
        transcoders => [
            { version => '9.0.0', command => [$converter, '{pdb}'],
              inputs => ['breakpad', 'pdb'] },
            { version => '1.0.0', makes => 'cficache',
              inputs => ['breakpad', 'pdb'],
              command => [$converter, '--kind', 'cficache', '{pdb}'] }],
    }) } keys %layouts },
    sources => { map { ($_ => { type => 'filesystem',
        path => "$real/$layouts{$_}[0]", layout => $layouts{$_}[1] }) }
        keys %layouts },
});
$t->start_symbolicated;

# Members that are not compared, and why.
sub comparable {
    my ($answer) = @_;
    for my $module (@{ $answer->{modules} // [] }) {
        # the peer's source had other names for its folders
        delete $module->{candidates};
    }
    return $answer;
}

sub ask {
    my ($name, $sources) = @_;
    my $r = $t->post($t->symbolicated_socket, '/minidump',
        form(['sources', $sources], ['options', '{"dif_candidates":false}'],
            ['upload_file_minidump', slurp("$real/dumps/$name.dmp"), 'x']),
        "Content-Type: $form_type");
    return ($r->{status}, $json->decode($r->{body}));
}

my %asked;
for my $file (sort glob "$real/peer/*.json") {
    my ($name, $kind) = basename($file) =~ /^(.+)\.(none|sym|pdb)\.json\z/
        or die $file;
    $asked{$name} = 1;
    my $wanted = $json->decode(slurp($file));
    my ($status, $got) = ask($name, $kind eq 'none' ? '[]' : "[{\"id\":\"$kind\"}]");
    is $status, $wanted->{status}, "$name, $kind: status";
    is_deeply comparable($got), comparable($wanted->{answer}), "$name, $kind";
}

my @dumps = map { basename($_, '.dmp') } sort glob "$real/dumps/*.dmp";
is scalar @dumps, 27, 'all dumps';
for my $name (grep { !$asked{$_} } @dumps) {
    my ($status, $got) = ask($name, '[{"id":"sym"}]');
    is "$status $got->{status}", '200 completed', "$name, which nobody asked about";
    ok((grep { $_->{is_requesting} && @{ $_->{frames} } }
        @{ $got->{stacktraces} }), '... has a frame in the thread that crashed');
}

$t->finish;
done_testing;
