#!/usr/bin/env perl

# Breakpad's text that pdb2symcache makes beside that of dump_syms, of 20 files
# and more of each of PDB, ELF, Mach-O and PE: the same module, functions with
# their addresses, sizes and names, lines, public symbols and unwind information.
# Each difference is of a class that is named here; others are faults.
# DUMP_SYMS_FILES names folders with further files.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use lib "$FindBin::Bin/../convert/lib";
use Corpus;
use File::Basename qw(basename);
use Test::File qw(slurp);
use Test::More;
use Test::Peer;
use Test::Symcache;

my $dump_syms = Test::Peer::folder('dump_syms') . '/bin/dump_syms';
my $t = Test::Symcache->new;
my $dir = $t->dir;
my $data = "$Test::Symcache::top/t/data";

# A text: {module, functions {address => [size, name, is folded]}, lines
# {address of the function => {address => [line, file, size]}}, public {address =>
# name}, stack {record => 1}, inlined [[begin, end]...]}
sub parsed {
    my ($text) = @_;
    my (%r, %files, $function) = (module => '');
    for (split /\r?\n/, $text) {
        if (/^MODULE (.*)/) { $r{module} = $1 }
        elsif (/^FILE (\d+) (.*)/) { $files{$1} = $2 }
        elsif (/^FUNC (m )?(\w+) (\w+) \w+ ?(.*)/) {
            $function = hex $2;
            $r{functions}{$function} = [hex $3, $4, defined $1];
        }
        elsif (/^PUBLIC (?:m )?(\w+) \w+ (.*)/) { $r{public}{ hex $1 } = $2 }
        elsif (/^STACK /) { $r{stack}{$_} = 1 }
        elsif (/^INLINE \d+ \d+ \d+ \d+ (.*)/) {
            my @ranges = map { hex } split ' ', $1;
            while (my ($at, $size) = splice @ranges, 0, 2) {
                push @{ $r{inlined}{$function} }, [$at, $at + $size];
            }
        }
        elsif (/^([0-9a-f]+) ([0-9a-f]+) (\d+) (\d+)$/) {
            $r{lines}{$function}{ hex $1 } = [$3, $files{$4} // '', hex $2];
        }
    }
    return \%r;
}

my $is_x86;    # the module that is looked at

# Words for the same: parts of functions that GCC names, nullptr, namespaces
# without a name, and underscores before names of C on x86.
sub name {
    my ($name) = @_;
    $name =~ s/ \[clone [^\]]*\]//g;
    $name =~ s/\.(?:constprop|isra|part|lto_priv)\.\d+//g;
    $name =~ s/std::nullptr_t/decltype(nullptr)/g;
    $name =~ s/`anonymous[ -]namespace'/(anonymous namespace)/g;
    $name =~ s/^_+// if $is_x86;
    return $name;
}
# The line at an address: a row may be several ones of the other text.
sub line_at {
    my ($rows, $address) = @_;
    my ($begin) = grep { $_ <= $address && $address < $_ + $rows->{$_}[2] } keys %$rows;
    return defined $begin ? $rows->{$begin} : undef;
}
sub inside { my ($at, $f) = @_; $at >= $f->[0] && $at < $f->[0] + $f->[1] }
sub path { $_[0] =~ s{\\}{/}gr =~ s{/(?:\./)+}{/}gr }

# What is between the two, as words; and how often, of what is of a class.
sub differences {
    my ($ours, $theirs, $class) = @_;
    my @faults;
    my ($mine, $other) = map { s/^Mac/mac/r =~ s/ armv7 / arm /r } $ours->{module}, $theirs->{module};
    # an image has the name of its PDB there, even an empty one
    s/ [^ ]*$// for $mine, $other;
    $is_x86 = $ours->{module} =~ /^\w+ x86 /;
    push @faults, "MODULE $mine, $other" if $mine ne $other;
    for my $at (sort { $a <=> $b } keys %{ $theirs->{functions} }) {
        my ($size, $name, $folded) = @{ $theirs->{functions}{$at} };
        my $here = $ours->{functions}{$at};
        if (!$here) {
            $name =~ /^<unknown in / || $ours->{public}{$at}
                ? $class->{'functions by unwind information alone have no FUNC here'}++
                : push @faults, sprintf 'no FUNC %x %s', $at, $name;
            next;
        }
        if ($here->[0] != $size) {
            $ours->{name} =~ /^omap/ ? $class->{'sizes of code that was moved'}++
                : $folded ? $class->{'folded functions of which one is a part of the other'}++
                : push @faults, sprintf 'FUNC %x size %x, %x', $at, $here->[0], $size;
        }
        if (name($here->[1]) ne name($name)) {
            $folded ? $class->{'folded functions: another of the names'}++
                : push @faults, sprintf 'FUNC %x %s, %s', $at, $here->[1], $name;
        }
        next if $folded;
        for my $line (keys %{ $theirs->{lines}{$at} }) {
            my $there = $theirs->{lines}{$at}{$line};
            my $got = $ours->{lines}{$at}{$line} // line_at($ours->{lines}{$at} // {}, $line);
            if ($got && $got->[0] == $there->[0] && path($got->[1]) eq path($there->[1])) {
                $class->{lines}++;
            } elsif (grep { $line >= $_->[0] && $line < $_->[1] }
                    @{ $ours->{inlined}{$at} // [] }, @{ $theirs->{inlined}{$at} // [] }) {
                $class->{'lines of inlined calls'}++;
            } else {
                push @faults, sprintf 'line at %x: %s, %s', $line,
                    join(' ', @{ $got // ['none'] }), join ' ', @$there[0, 1];
            }
        }
    }
    my @folded = map { [$_, @{ $theirs->{functions}{$_} }[0, 2]] } keys %{ $theirs->{functions} };
    for (grep { !$theirs->{functions}{$_} } keys %{ $ours->{functions} }) {
        my $at = $_;
        $at == 0 ? $class->{'a function at address 0'}++
            : (grep { $_->[2] && inside($at, $_) } @folded)
            ? $class->{'functions inside a folded one'}++
            : $ours->{lines}{$at}
                && name($theirs->{public}{$at} // '') eq name($ours->{functions}{$at}[1])
            ? $class->{'functions with lines, but without an entry in DWARF, are PUBLIC there'}++
            : push @faults, sprintf 'FUNC %x only here', $_;
    }
    for my $at (keys %{ $theirs->{public} }) {
        my ($name, $here) = ($theirs->{public}{$at}, $ours->{public}{$at});
        next if defined $here && name($here) eq name($name);
        # that name is of nothing in the file
        if ($name =~ /^<(?:unknown|\S+ ELF section)/) {
            $class->{'names for what has none'}++;
        } elsif (defined $here && !$is_x86 && $here eq "_$name") {
            $class->{'public symbols whose underscore dump_syms takes for one of x86'}++;
        } elsif (defined $here && $name =~ /^(?:\?|\$|_*Z)/) {
            $class->{'names that dump_syms leaves decorated'}++;
        } elsif (defined $here && $here =~ /^\?/) {
            $class->{'names that are left decorated here'}++;
        } elsif ($ours->{functions}{$at}) {
            $class->{'a symbol of a function'}++;
        } elsif ($at % 2 && $ours->{module} =~ / arm / && ($ours->{public}{$at - 1} // '') eq $name) {
            $class->{'symbols of Thumb code, whose lowest bit dump_syms leaves'}++;
        } else {
            push @faults, sprintf 'PUBLIC %x %s, %s', $at, $here // 'none', $name;
        }
    }
    my @missing = grep { !$ours->{stack}{$_} } keys %{ $theirs->{stack} // {} };
    my @more = grep { !$theirs->{stack}{$_} } keys %{ $ours->{stack} // {} };
    if ($ours->{module} =~ / riscv/) {
        $class->{'unwind information of RISC-V is not known there'} += @missing + @more;
    } elsif (@missing || @more) {
        push @faults, 'STACK: ' . @missing . ' are missing, ' . @more . ' more';
    }
    return @faults;
}

# The format of a file by its first bytes.
sub format_of {
    my ($file) = @_;
    open my $in, '<:raw', $file or return '';
    read $in, my $start, 0x400;
    return 'PDB' if $start =~ /^Microsoft C/;
    return 'ELF' if $start =~ /^\x7fELF/;
    return 'Mach-O' if $start =~ /^(?:[\xce\xcf]\xfa\xed\xfe|\xfe\xed\xfa[\xce\xcf])/;
    return $start =~ /^MZ/ && $start =~ /PE\0\0/ ? 'PE' : '';
}

# --- the files: those of t/data, of the corpus' packages, objects that clang
# makes, and what lies in the folders of DUMP_SYMS_FILES (with ":" between)

my %files;    # format => [file...]
my %name_seen;

# One folder a format: an image's PDB is not beside it.
sub add_file {
    my ($path, $name) = @_;
    $name //= basename($path, '.zst');
    # cfi_chained_loop.exe keeps dump_syms busy for ever
    return if $name =~ /\.cfi$|^cfi_chained_loop/;
    my $copy = $path =~ /\.zst$/ ? "zstd -qdcf '$path'" : "cat '$path'";
    my $file = "$dir/taken";
    system("$copy >'$file'") == 0 or die $path;
    my $format = format_of($file) or return;
    $name = "$name_seen{$name}-$name" if $name_seen{$name}++;
    mkdir "$dir/$format";
    rename $file, "$dir/$format/$name" or die $!;
    push @{ $files{$format} }, $name;
}

add_file($_) for map { glob "$data/$_" } 'pdb/*.pdb', 'convert/msvc/*.zst', 'convert/llvm/*.zst',
    'convert/elf/*.so.zst', 'convert/elf/*.debug.zst', 'convert/macho/*.dwarf.zst',
    'convert/macho/*.dylib.zst', 'convert/macho/*.o.zst', 'convert/pe/*.zst', 'cfi/*.zst';

my $corpus = Corpus->new;
for my $package (map { /^([^#\t]+)/ } split /\n/, slurp("$Test::Symcache::top/tools/corpus/packages.tsv")) {
    my $why = $corpus->fetch($package);
    note("$package: $why"), next if $why ne '';
    # the same bytes come in several packages
    add_file($_, basename($_)) for grep { !$name_seen{ -s $_ }++ } split /\n/,
        qx(find '$Test::Symcache::build/corpus/$package/' -type f -size -9M);
}

my $source = "$Test::Symcache::top/tools/corpus/src";
for my $target (qw(x86_64-apple-macos10.15 arm64-apple-macos11)) {
    for my $level (qw(O0 O1 O2 O3 Os)) {
        for my $name (qw(shapes second)) {
            my $out = "$dir/clang.o";
            system("clang++ --target=$target -std=c++17 '-D__declspec(x)=' -g -gdwarf-4 -$level -w "
                . "-ffreestanding -fno-exceptions -c '$source/$name.cpp' -o '$out' 2>'$dir/clang.err'") == 0
                or next;
            add_file($out, "$name-" . ($target =~ s/-.*//r) . "-$level.o");
        }
    }
}
for my $folder (split /:/, $ENV{DUMP_SYMS_FILES} // '') {
    add_file($_, basename($_)) for split /\n/, qx(find -L '$folder' -type f -size -64M);
}

# --- each by both

for my $format (qw(ELF Mach-O PDB PE)) {
    my ($taken, %class) = (0);
    local %ENV = (%ENV, HOME => $dir);
    for my $name (@{ $files{$format} // [] }) {
        system("cd '$dir/$format' && timeout 60 '$dump_syms' --inlines '$name' -o ../theirs.sym >/dev/null 2>&1") == 0
            or note("$format: $name: dump_syms does not take it"), next;
        my $said = qx(cd '$dir/$format' && '$Test::Symcache::build/pdb2symcache' --kind breakpad -o ../ours.sym '$name' 2>&1);
        if ($? != 0) {
            is $said, '', "$format: $name: both take it";
            next;
        }
        my ($ours, $theirs) = map { parsed(slurp("$dir/$_.sym")) } 'ours', 'theirs';
        $ours->{name} = $name;
        my @faults = differences($ours, $theirs, \%class);
        is scalar @faults, 0, "$format: $name" or diag join "\n", grep { defined } @faults[0 .. 3];
        $taken++;
    }
    note "$format: $taken files; $_: $class{$_}" for sort keys %class;
  SKIP: {
        skip "$format: $taken files: " . (-x '/usr/bin/clang++' ? 'packages were not fetched' : 'no clang++'), 1
            if $taken < 20 && $format =~ /Mach-O|PE/;
        cmp_ok $taken, '>=', 20, "$format: $taken files";
    }
}

$t->finish;
done_testing;
