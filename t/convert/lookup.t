#!/usr/bin/env perl

# What symcachectl lookup finds in a SymCache of pdb2symcache, for addresses
# whose functions, files, lines and inline frames an independent program has
# told (t/convert/lookups, each file says which and how).

use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib";
use IPC::Open2;
use Test::More;

use Corpus;

my $corpus = Corpus->new;
my $ctl = $corpus->build . '/symcachectl';


sub lookups {
    my ($file) = @_;
    my (%frames, @addresses, $origin, $path);

    open my $f, '<:raw', $file or die "$file: $!";

    while (<$f>) {
        chomp;
        if (/^# (\S+) (\S+\.pd[b_]\S*)$/) {
            ($origin, $path) = ($1, $2);
            next;
        }
        next if /^#/;
        my ($address, @frame) = split /\t/;
        push @addresses, $address unless $frames{$address};
        push @{$frames{$address}}, \@frame;
    }

    return ($origin, $path, \@addresses, \%frames);
}


# As symcachectl prints it.

sub text {
    my ($frames) = @_;

    return "    not found\n" if $frames->[0][1] eq '-';

    my $last = $#$frames;

    return join '', map {
        my (undef, $function, $file, $line) = @{$frames->[$_]};
        $file = '?' if $file eq '-';
        "    $function at $file:$line" . ($_ < $last ? ' (inlined)' : '')
            . "\n";
    } 0 .. $last;
}


for my $file (sort glob "$Bin/lookups/*.tsv") {
    my ($origin, $path, $addresses, $frames) = lookups($file);
    my ($name) = $file =~ m{([^/]+)\.tsv$};

    SKIP: {
        my ($input) = grep { $_->{origin} eq $origin && $_->{path} eq $path }
            $corpus->inputs;
        die "$path is not in the manifest" unless $input;
        my $pdb = $corpus->pdb($input);
        skip "$name: " . $corpus->reason($input), 3 unless $pdb;

        my ($code, $err, $cache) = $corpus->convert($pdb);
        is($code, 0, "$name: converted") or diag($err);

        system($ctl, 'verify', $cache);
        is($?, 0, "$name: verified");

        my $pid = open2(my $from, my $to, $ctl, 'lookup', $cache);
        binmode $_, ':raw' for $from, $to;
        my $writer = fork() // die "fork: $!";
        if ($writer == 0) {
            print $to map { "$_\n" } @$addresses;
            close $to;
            exit 0;
        }
        close $to;

        my (%got, $address);
        while (<$from>) {
            if (/^(0x[0-9a-f]+)$/) {
                $address = $1;
                $got{$address} = '';
            } else {
                $got{$address} .= $_;
            }
        }
        waitpid $_, 0 for $writer, $pid;

        my @wrong = grep { ($got{$_} // '') ne text($frames->{$_}) }
            @$addresses;
        is(scalar @wrong, 0, "$name: " . @$addresses . ' addresses');
        diag("$_\ngot:\n$got{$_}expected:\n" . text($frames->{$_}))
            for splice @wrong, 0, 3;
    }
}

done_testing;
