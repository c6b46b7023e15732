#!/usr/bin/env perl

# Profiles of programs in C++ and Rust, without names, get back those that perf
# tells with the debug information at hand: recorded with perf here, of programs
# that GNU ld links and that lld does, in whose files code does not lie where it
# lies in memory; from SymCaches of the program and of its debug file.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(make_path);
use Test::More;
use Test::Programs qw(program);
use Test::Symcache;
use Test::Wire qw(field fields number);

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $perf = program('perf');
plan skip_all => 'there is no perf' unless $perf;
plan skip_all => 'perf cannot record here'
    if system("cd $dir && perf record -q -e cpu-clock -o try.data true >/dev/null 2>&1");

my %build = Test::Programs::builds($t);

# perf leaves out the parameters of C++, and inlined functions are only in what
# comes back.  A frame outside of every symbol's size, which a broken stack may
# have, has a name in a SymCache, where the last function has no end, and none
# of perf.  Of several names of one function each has chosen another.
sub as_perf {
    my ($text, $full) = @_;
    my (%at, %names);
    for (`nm -C --defined-only $dir/app`) {
        my ($address, $name) = /^(\w+) [tTwW] (.*)$/ or next;
        $at{$name} = $address;
        push @{ $names{$address} }, $name;
    }
    my %name = $full =~ /^\s+([0-9a-f]+) (\S.*) \(\Q$dir\E\/app\)$/mg;
    for my $address (keys %name) {
        my $same = join '|', map { quotemeta } @{ $names{ $at{ $name{$address} } // '' } // [] };
        $text =~ s/^(\s+$address) (?:$same) \(/$1 $name{$address} (/mg if $same;
    }
    my %unknown = map { $_ => 1 }
        $full =~ /^\s+([0-9a-f]+) \[unknown\] \(\Q$dir\E\/app\)$/mg;
    $text =~ s/^[^\n]*\(inlined\)\n//mg;
    $text =~ s/^(\s+([0-9a-f]+) )\S.* (\(\Q$dir\E\/app\))$/
        $unknown{$2} ? "$1\[unknown] $3" : $&/mge;
    $text =~ s/^(\s+[0-9a-f]+ [\w:<>]+)\([^()]*\)( \()/$1$2/mg;
    return $text;
}

# The names of an address of the program in a pprof of one mapping: that of the
# code alone, as perf's recordings have it, and one of all of the file.
sub names_in_pprof {
    my ($id, $address) = @_;
    my ($offset, $begin, $file, $memory) = map { hex } `readelf -lW $dir/app` =~
        /^\s+LOAD\s+(\w+) (\w+) \w+ (\w+) (\w+) R E/m or die;
    my ($base, $page) = (0x7f000000, 0xfff);
    my @mappings = ([$base + ($begin & ~$page), $offset & ~$page], [$base, 0]);
    return map {
        my ($start, $at) = @$_;
        my $limit = $base + (($begin + $memory + $page) & ~$page);
        my $profile = field(2, number(1, 1) . number(2, 1))
            . field(3, number(1, 1) . number(2, $start) . number(3, $limit)
                . number(4, $at) . number(5, 1) . number(6, 2))
            . field(4, number(1, 1) . number(2, 1) . number(3, $base + $address))
            . join '', map { field(6, $_) } '', "$dir/app", $id;
        my @f = fields($t->post($t->symbolicated_socket, '/profile', $profile)->{body});
        my @text = map { $_->[1] } grep { $_->[0] == 6 } @f;
        join ' ', map { my %v = map { @$_ } fields($_->[1]); $text[$v{2}] }
            grep { $_->[0] == 5 } @f;
    } @mappings;
}

for my $name (sort keys %build) {
    SKIP: {
        skip "$name: a program is missing", 4 unless $build{$name};
        system("cd $dir && $build{$name} 2>build.err") == 0
            or skip "$name: it cannot be built", 4;
        my ($id) = qx{readelf -n $dir/app} =~ /Build ID: (\w+)/ or die;
        (my $debug = uc substr $id . "0" x 16, 0, 32) =~ # lld 14 has 8 bytes
            s/^(..)(..)(..)(..)(..)(..)(..)(..)/$4$3$2$1$6$5$8$7/;
        system("cd $dir && perf record -q -e cpu-clock --buildid-mmap -g -o p.data"
            . ' ./app >/dev/null 2>&1 && objcopy --only-keep-debug app app.debug') == 0
            or skip "$name: perf does not record", 4;
        my $full = qx{cd $dir && perf script -i p.data --show-mmap-events --no-inline -F comm,pid,tid,time,event,ip,sym,dso 2>/dev/null};
        (my $stripped = $full) =~ s/^(\s+[0-9a-f]+) \S.* (\(\Q$dir\E\/app\))$/$1 [unknown] $2/mg;
        cmp_ok scalar(() = $stripped =~ /\[unknown\] \(\Q$dir\E\/app\)/g), '>', 20,
            "$name: a profile without names";
        my $store = "$dir/store/_/${debug}0";
        make_path($store);
        my $convert = $t->program('symcachectl')
            . " convert -o $store/_-v9.0.0.symcache $dir";
        system("$convert/app.debug") == 0 or die;
        $t->start_symbolicated(
            { stores => { default => { root => $t->path('store') } } });
        my $r = $t->post($t->symbolicated_socket, '/profile', $stripped);
        is as_perf($r->{body}, $full), $full,
            '... has those of perf, through the server, of the debug file';
        my ($main) = `nm $dir/app` =~ /^(\w+) T main$/m;
        is_deeply [map { /\bmain\b/ ? 1 : 0 } names_in_pprof($id, hex $main)], [1, 1],
            '... in pprof, whether code or all of the file is mapped at offset 0';
        $t->stop_symbolicated;
        system("$convert/app") == 0 or die;
        $t->write_file('stripped.txt', $stripped);
        is as_perf(scalar qx{'@{[$t->program('symcachectl')]}' symbolicate --root $dir/store $dir/stripped.txt}, $full),
            $full, '... and of the program, by symcachectl';
    }
}
$t->finish;
done_testing;
