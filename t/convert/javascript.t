#!/usr/bin/env perl

# JsCaches, made of scripts and source maps, answer as an independent library
# does (t/data/javascript/README.md).

use strict;
use warnings;

use Cwd qw(abs_path);
use Encode qw(encode);
use File::Temp qw(tempdir);
use FindBin qw($Bin);
use JSON::PP;
use lib "$Bin/../lib";
use Test::File;
use Test::More;

my $top = abs_path("$Bin/../..");
my $build = abs_path($ENV{SYMCACHE_BUILD} // "$top/build");
my $data = "$top/t/data/javascript";
my $dir = tempdir('javascript.XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $json = JSON::PP->new->utf8->allow_nonref->canonical;

# Runs a program with its standard input; returns exit code, output, messages.
sub run {
    my ($input, $program, @args) = @_;
    spew("$dir/in", $input);
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        open STDIN, '<', "$dir/in" or die;
        open STDOUT, '>', "$dir/out" or die;
        open STDERR, '>', "$dir/err" or die;
        exec "$build/$program", @args;
        exit 127;
    }
    waitpid $pid, 0;
    return ($? >> 8, slurp("$dir/out"), slurp("$dir/err"));
}

sub convert { return run('', qw(pdb2symcache --kind jscache), @_) }

# What a JsCache answers for places, as in the README's "right".
sub look_up {
    my ($file, @places) = @_;
    my (undef, $out) = run(join('', map {
        ($_->[0] + 1) . ':' . ($_->[1] + 1) . "\n" } @places),
        qw(symcachectl lookup --json), $file);
    return map {
        my $r = $json->decode($_);
        my $f = $r->{function};
        [$r->{line} - 1, $r->{column} - 1, defined $r->{file}
            ? (@$r{'file'}, $r->{original_line} - 1,
               $r->{original_column} - 1, $r->{name},
               defined $f && $f eq '<anonymous>' ? { anonymous => JSON::PP::true }
               : $f)
            : undef];
    } split /\n/, $out;
}

for my $positions (glob "$data/shop/*.positions.json") {
    my ($tool) = $positions =~ m{([^/]+)\.positions};
    my $script = "$data/shop/$tool.js";
    my ($code, undef, $said) =
        convert($script, (grep { -e } "$script.map"), '-o', "$dir/c");
    is $code, 0, "$tool: a JsCache" or diag $said;
    is((run('', qw(symcachectl verify), "$dir/c"))[0], 0, "$tool: it is sound");
    my @right = @{ $json->decode(slurp($positions))->{right} };
    $#$_ = 2 for grep { !defined $_->[2] } @right;
    my @got = look_up("$dir/c", @right);
    my @wrong = grep { $json->encode($got[$_]) ne $json->encode($right[$_]) }
        0 .. $#right;
    is scalar(@wrong), 0, "$tool: " . @right . ' places'
        or diag join "\n", map { $json->encode($got[$_]) . ', not '
            . $json->encode($right[$_]) } grep { defined } @wrong[0 .. 4];
}

for my $case (@{ $json->decode(slurp("$data/crafted.json")) }) {
    spew("$dir/a.js", encode('UTF-8', $case->{minified}));
    spew("$dir/a.map", encode('UTF-8', $case->{map}));
    my ($code, undef, $said) =
        convert("$dir/a.js", "$dir/a.map", '-o', "$dir/c");
    if ($case->{error}) {
        is $code, 8, $case->{name};
        like $said, qr/a\.js: \S+ .+: .+/, 'which is explained';
        next;
    }
    is $code, 0, "$case->{name}: a JsCache" or diag $said;
    is_deeply [look_up("$dir/c", @{ $case->{answers} })], $case->{answers},
        $case->{name};
}

my ($code, undef, $said) = convert("$data/shop/terser.js", '-o', "$dir/c");
is $code, 8, 'a script without a map in it, and none was named';
like $said, qr/no map in it/, 'says so';
is((convert("$dir/none.js", '-o', "$dir/c"))[0], 2, 'no script');
($code, undef, $said) = convert("$dir/a.js", "$dir/none.map", '-o', "$dir/c");
is $code, 2, 'no map';
like $said, qr/none\.map: cannot be opened/, 'says which';

done_testing;
