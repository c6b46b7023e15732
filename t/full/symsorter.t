#!/usr/bin/env perl

# symcachectl sort beside symsorter, and the two folders read by Symbolicator
# itself and by symbolicated.  Neither program is in a registry: build both at
# the tag 26.8.0 of getsentry/symbolicator (cargo build --release -p symbolicator
# -p symsorter), and name them in SYMSORTER and SYMBOLICATOR.

use strict;
use warnings;

use File::Copy qw(copy);
use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Socket::INET;
use JSON::PP ();
use Test::Ctl;
use Test::File qw(slurp);
use Test::More;
use Test::Symcache;

my ($symsorter, $symbolicator) = @ENV{qw(SYMSORTER SYMBOLICATOR)};
plan skip_all => 'SYMSORTER and SYMBOLICATOR do not name programs, which are built from source'
    if !-x ($symsorter // '') || !-x ($symbolicator // '');
plan skip_all => 'no zstd' if system('zstd --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $ctl = Test::Ctl->new($t);
my $data = "$FindBin::Bin/../data";
my $dir = $t->dir;
my $json = JSON::PP->new->canonical;

# --- one folder of everything that both know

make_path("$dir/in");
my $n = 0;
for my $file (glob("$data/convert/{elf,macho,pe,msvc,llvm,generated,wasm}/*"),
              glob("$data/pdb/*.pdb $data/sourcebundle/ring/ring*")) {
    my $name = ($file =~ s{.*/}{}r) =~ s/[.]zst$//r;
    next if $name =~ /[.]md$/;
    # the same name in two folders
    my $to = "$dir/in/" . $n++;
    mkdir $to or die "$to: $!";
    if ($file =~ /[.]zst$/) {
        system("zstd -qd '$file' -o '$to/$name'") == 0 or die "$file: $?";
    } else {
        copy($file, "$to/$name") or die "$file: $!";
    }
}
cmp_ok $n, '>', 100, 'files to sort';
for (qw(theirs ours)) {
    my @cmd = $_ eq 'ours'
        ? ($t->program('symcachectl'), 'sort', '--bundle-id', '1.0')
        : ($symsorter, '-q', '-I', '-b', '1.0');
    # ours has status 1 for those that are damaged, which symsorter passes over
    is system("@cmd -o '$dir/$_' '$dir/in' >'$dir/$_.log' 2>&1") & ~256, 0, "sorted: $_"
        or diag slurp("$dir/$_.log");
}

# Path -> what it is
sub tree {
    my ($folder) = @_;
    return { map { chomp; (s{^\Q$folder\E/}{}r => slurp($_)) } qx(find '$folder' -type f) };
}
my ($theirs, $ours) = map { tree("$dir/$_") } qw(theirs ours);

# Of several files with one identity each takes another one.
my %id = map { $_ => 0 } grep { m{/(?:debuginfo|executable|sourcebundle)$} } keys %$theirs;
is_deeply [grep { !exists $ours->{$_} } sort keys %id], [],
    'each file of symsorter has its place here';
is_deeply [grep { !exists $ours->{$_} } grep { /[.]meta$|refs/ } sort keys %$theirs], [],
    'so have what describes it and the reference';
note 'here alone: ', join ' ', grep { !exists $theirs->{$_} && !/[.]meta$/ } sort keys %$ours;
my @other = grep { $theirs->{$_} ne $ours->{$_} } sort keys %id;
note 'another file of the same identity: ', join ' ', @other;
cmp_ok scalar(@other), '<=', keys(%id) / 10, 'the bytes are equal, but of twins';
my %twin = map { $_ => 1 } @other;
# A bundle's own word of a processor is not read here.
for my $field (qw(arch file_format)) {
    is_deeply { map { $_ => $json->decode($ours->{"$_.meta"})->{$field} }
            grep { !$twin{$_} && !/sourcebundle$/ } keys %id },
        { map { $_ => $json->decode($theirs->{"$_.meta"})->{$field} }
            grep { !$twin{$_} && !/sourcebundle$/ } keys %id }, "and so is $field";
}

# --- both read both

my $request = {
    stacktraces => [{ frames => [{ instruction_addr => '0x402913' }] },
        { frames => [{ instruction_addr => '0x7f0000001139' }] }],
    modules => [
        { type => 'pe', image_addr => '0x400000', image_size => 0x100000,
          debug_file => 'crash.pdb', code_file => 'crash.exe',
          debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1' },
        { type => 'elf', image_addr => '0x7f0000000000', image_size => 0x10000,
          code_id => 'd11f4ac8ee483d6e69b18b9de238d72346637b94', code_file => '/ring',
          debug_id => 'c84a1fd1-48ee-6e3d-69b1-8b9de238d723' }],
};
my $port = $t->free_port;
$t->write_file('symbolicator.yml', "bind: '127.0.0.1:$port'\ncache_dir: $dir/cache\n"
    . "logging: {level: warn}\nsymstore_proxy: false\n");
make_path("$dir/cache");
my $pid = $t->spawn('symbolicator.log', {}, $symbolicator, '-c', "$dir/symbolicator.yml", 'run');
$t->wait_until('Symbolicator serves', sub { Test::Symcache::connects("127.0.0.1:$port") }, 60);

# Functions, files and lines of both frames.
sub names {
    my ($answer) = @_;
    my $r = $json->decode($answer->{body});
    return $r if ($r->{status} // '') ne 'completed';
    return [map { [@{$_}{qw(status function filename lineno context_line)}] }
        map { @{ $_->{frames} } } @{ $r->{stacktraces} }];
}
my %answer;
for my $tree (qw(theirs ours)) {
    my $source = { id => $tree, type => 'filesystem', path => "$dir/$tree",
                   layout => { type => 'unified' } };
    $answer{"Symbolicator, $tree"} = names($t->post("127.0.0.1:$port",
        '/symbolicate?timeout=60', $json->encode({ %$request, sources => [$source] }),
        'Content-Type: application/json'));
}
is $t->stop_pid($pid, 'TERM') & 127, 15, 'Symbolicator is stopped' if kill 0, $pid;

for my $tree (qw(theirs ours)) {
    my $config = $t->default_config('');
    $config->{stores}{default} = { %{ $config->{stores}{default} },
        root => "$dir/store-$tree", sources => ['tree'],
        transcoders => [{ version => '9.0.0', command => ['pdb2symcache', '-pdb', '{pdb}'],
            inputs => ['pdb', 'elf'] },
            { makes => 'sourcecache', version => '1.0.0', command => ['pdb2symcache', '{pdb}'] }] };
    $config->{downloads} = "$dir/downloads-$tree";
    $config->{sources} = { tree => { type => 'filesystem', path => "$dir/$tree",
        layout => 'unified' } };
    $t->start_symcached($config);
    $t->start_symbolicated($config);
    $answer{"symbolicated, $tree"} = names($t->post($t->symbolicated_socket,
        '/symbolicate?timeout=60', $json->encode($request), 'Content-Type: application/json'));
    $t->stop_symbolicated;
    $t->stop_symcached;
}
my $want = $answer{'Symbolicator, theirs'};
is ref $want, 'ARRAY', 'Symbolicator answers' or diag explain $want;
is_deeply $want, [['symbolicated', 'main(int, char**)', 'main.cpp', 33, undef],
    ['symbolicated', 'weigh', 'main.c', 6, '{']], 'with names of both, and a line of the bundle'
    or diag explain $want;
is_deeply $answer{$_}, $want, $_ or diag explain [$answer{$_}, $want] for sort keys %answer;

$t->finish;
done_testing;
