#!/usr/bin/perl

# Profiles of programs in C++ and Rust as pprof has them: made here of what perf
# records, with mappings and build ids and no names, in gzip.  Through the
# server, of a stripped program and a debug file that were uploaded, they have the
# names that pprof, of the Go module github.com/google/pprof, gives the same profile
# with the debug information at hand: inlined functions, files and lines, too.  (The
# pprof that comes with Go reads the symbols of Go's programs only.)

use strict;
use warnings;
no warnings 'portable';    # addresses have 64 bits

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib qw(memGunzip memGzip);
use Test::More;
use Test::Programs qw(program);
use Test::Symcache;
use Test::Uploads;
use Test::Wire qw(field fields number);

my ($go) = grep { -x } map { "$_/go" } split(/:/, $ENV{PATH}), '/usr/local/go/bin';
plan skip_all => 'there is no go' unless $go;
local $ENV{PATH} = "$ENV{PATH}:" . $go =~ s{/go$}{}r;
my $peer = "$Test::Symcache::build/pprof";
my $reason = qx{'$Test::Symcache::top/tools/peer' pprof '$peer' 2>&1};
plan skip_all => $reason =~ s/\s+\z//r if $?;
my $pprof = "$peer/bin/pprof";
plan skip_all => 'there is no perf' unless program('perf');

my $u = Test::Uploads->new(inputs => ['elf']);
my $t = $u->t;
my $dir = $t->dir;
plan skip_all => 'perf cannot record here'
    if system("cd $dir && perf record -q -e cpu-clock -o try.data true >/dev/null 2>&1");
$ENV{HOME} //= $dir;

# What perf recorded as it was in the process: mappings of files with build ids,
# and stacks of addresses, the leaf first.
sub recorded {
    my (%mapping, @stacks, $stack);
    for (qx{cd $dir && perf script -D -i p.data 2>/dev/null}) {
        if (m{RECORD_MMAP2 .*: \[0x(\w+)\(0x(\w+)\) @ (?:0x)?(\w+) <(\w+)>\]: \S*x\S* (/.*)$}) {
            $mapping{ hex $1 } = { start => hex $1, end => hex($1) + hex $2,
                offset => hex $3, id => $4, file => $5 };
        } elsif (/RECORD_SAMPLE\(/) {
            push @stacks, $stack = [];
        } elsif ($stack && /^\.\.\.\.\.\s+\d+: (\w{16})$/) {
            # the first one says whether user or kernel follows
            push @$stack, hex $1 if $1 !~ /^ffff/;
        } elsif (/ \.+ thread:/) {
            undef $stack;
        }
    }
    return ([map { $mapping{$_} } sort { $a <=> $b } keys %mapping], \@stacks);
}

# A pprof of them.  Addresses of callers are those of their calls, as pprof
# asks for.  Also returns which locations are in a file.
sub pprof {
    my ($file) = @_;
    my ($mappings, $stacks) = recorded();
    my (@strings, %string, %location, %ours);
    my $text = sub { $string{ $_[0] } //= push(@strings, $_[0]) - 1 };
    my $out = '';
    $text->('');
    my $type = number(1, $text->('samples')) . number(2, $text->('count'));
    $out .= field(1, $type);
    for my $stack (@$stacks) {
        my $ids = '';
        for my $i (0 .. $#$stack) {
            my $address = $stack->[$i] - ($i > 0);
            my ($n) = grep { $mappings->[$_]{start} <= $address &&
                             $address < $mappings->[$_]{end} } 0 .. $#$mappings;
            defined $n or next;
            $location{$address} //= [keys(%location) + 1, $n + 1];
            $ours{$address} = 1 if $mappings->[$n]{file} eq $file;
            $ids .= number(1, $location{$address}[0]);
        }
        $out .= field(2, $ids . number(2, 1));
    }
    for my $i (0 .. $#$mappings) {
        my $m = $mappings->[$i];
        $out .= field(3, number(1, $i + 1) . number(2, $m->{start})
            . number(3, $m->{end}) . number(4, $m->{offset})
            . number(5, $text->($m->{file})) . number(6, $text->($m->{id})));
    }
    for my $address (sort { $a <=> $b } keys %location) {
        $out .= field(4, number(1, $location{$address}[0])
            . number(2, $location{$address}[1]) . number(3, $address));
    }
    $out .= join '', map { field(6, $_) } @strings;
    return ($out . field(11, $type) . number(12, 1), \%ours);
}

# The functions of each address: "NAME FILE:LINE", the innermost first.  Where
# there is only a symbol, there is no line, and the file is not compared: llvm's
# symbolizer then has the one that the linker names last.  pprof takes one of two
# underscores away that names of Rust begin with.
sub named {
    my @f = fields($_[0]);
    my @text = map { $_->[1] } grep { $_->[0] == 6 } @f;
    my %function;
    for (grep { $_->[0] == 5 } @f) {
        my %v = map { @$_ } fields($_->[1]);
        $function{ $v{1} } = "$text[$v{2} // 0] $text[$v{4} // 0]";
    }
    my %named;
    for (grep { $_->[0] == 4 } @f) {
        my ($address, @lines);
        for (fields($_->[1])) {
            $address = $_->[1] if $_->[0] == 3;
            next unless $_->[0] == 4;
            my %v = map { @$_ } fields($_->[1]);
            my $function = $function{ $v{1} } =~ s/::_rust_begin/::__rust_begin/r;
            push @lines, $v{2} ? "$function:$v{2}" : $function =~ s/ \S*$//r;
        }
        $named{$address} = join '; ', @lines;
    }
    return \%named;
}

# pprof puts the type that it returns before a function made of a template, and
# we do not.
sub without_returns {
    my ($wanted, $got) = @_;
    my @got = split /; /, $got // '';
    return join '; ', map {
        my $ours = shift(@got) // '';
        $ours =~ /^[^(]*</ && / \Q$ours\E$/ ? $ours : $_
    } split /; /, $wanted;
}

$t->start_symbolicated($u->config);
my %build = Test::Programs::builds($t);
for my $name (sort keys %build) {
    SKIP: {
        skip "$name: a program is missing", 5 unless $build{$name};
        system("cd $dir && $build{$name} 2>build.err") == 0
            or skip "$name: it cannot be built", 5;
        my ($id) = qx{readelf -n $dir/app} =~ /Build ID: (\w+)/ or die;
        # lld 14 has 8 bytes; a shorter id has zeros behind in these names
        $id = substr $id . '0' x 40, 0, 40;
        system("cd $dir && perf record -q -e cpu-clock --buildid-mmap -g -o p.data"
            . ' ./app >/dev/null 2>&1 && objcopy --only-keep-debug app app.debug'
            . ' && strip -o app.stripped app') == 0
            or skip "$name: perf does not record", 5;
        my ($profile, $ours) = pprof("$dir/app");
        $t->write_file('in.pprof', memGzip($profile));

        # the oracle: the program with its debug information is where it was
        my $tool = qx{cd $dir && '$pprof' -proto -output=tool.pprof -symbolize=local:force:demangle=full in.pprof 2>&1 && echo made};
        like $tool, qr/made$/, "$name: pprof takes the profile" or diag $tool;
        my $wanted = named(memGunzip($t->read_file('tool.pprof')));
        my %wanted = map { $_ => $wanted->{$_} } keys %$ours;
        cmp_ok scalar(grep { /; / } values %wanted), '>', 0,
            '... and names inlined functions';

        # Rust may use lld by itself: then the file is there
        like $u->put("app/elf-buildid-$id/app", $t->read_file('app.stripped'))->{status},
            qr/^20[01]$/, '... the stripped program is uploaded';
        like $u->put("_.debug/elf-buildid-sym-$id/_.debug", $t->read_file('app.debug'))
            ->{status}, qr/^20[01]$/, '... and its debug file';
        my $got;
        $t->wait_until('names', sub {
            my $r = $t->post($t->symbolicated_socket, '/profile',
                             $t->read_file('in.pprof'));
            my $body = memGunzip($r->{body}) // return;
            $got = named($body);
            grep { $got->{$_} } keys %$ours;
        });
        is_deeply { map { $_ => $got->{$_} } keys %$ours },
            { map { $_ => without_returns($wanted{$_}, $got->{$_}) } keys %wanted },
            '... the server has the names of pprof';
    }
}
$t->finish;
done_testing;
