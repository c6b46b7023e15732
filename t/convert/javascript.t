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

# A sound map that memory does not suffice for is not called a damaged one.
SKIP: {
    skip 'no limit under a sanitizer', 2 if $ENV{SYMCACHE_SAN};
    spew("$dir/large.js", "x = () => 1\n");
    spew("$dir/large.map", '{"names": [], "sources": [], "mappings": "", "x": ['
        . ('0,' x 4_200_000) . '0]}');
    my $said = `sh -c 'ulimit -v 130000; exec "\$@"' sh $build/pdb2symcache --kind jscache $dir/large.js $dir/large.map -o $dir/large 2>&1`;
    is $? >> 8, 9, 'no memory for the JSON of a map';
    like $said, qr/large\.js: needs more memory than it may have\n\z/,
        'which is said';
}

# The name of a class is a part of the names of all its methods; a map that has
# 400,000 tokens for it is not read through for each.
{
    spew("$dir/a.js", 'class A{' . join('', map { "m$_(){}" } 1 .. 100000) . '}');
    spew("$dir/a.map", '{"version":3,"sources":["a"],"names":["Shop","x"],'
        . '"mappings":"MAAAA,AAAAC' . ',AAAAA' x 400000 . '"}');
    my @before = times;
    my ($code, undef, $said) =
        convert("$dir/a.js", "$dir/a.map", '-o', "$dir/c");
    my @after = times;
    is $code, 0, 'a JsCache of many tokens at one place' or diag $said;
    cmp_ok $after[2] + $after[3] - $before[2] - $before[3], '<',
        $ENV{SYMCACHE_SAN} ? 60 : 10, 'in linear time';
    is((look_up("$dir/c", [0, 12]))[0][6], 'new Shop', 'and the first one counts');
}

# Names that all have the text or the parts of a long one.
for (['long names', 'class ' . 'A' x 100000 . '{' . 'a(){}' x 5000 . '}'],
     ['names of many parts',
      join('.', ('a') x 10000) . '={' . 'f(){},' x 2000 . '}']) {
    my ($name, $script) = @$_;
    spew("$dir/a.js", $script);
    spew("$dir/a.map", '{"version":3,"sources":["a"],"names":[],'
        . '"mappings":"AAAA"}');
    my ($code, undef, $said) =
        convert("$dir/a.js", "$dir/a.map", '-o', "$dir/c");
    is $code, 0, "a JsCache of $name";
    like $said, qr/names of (?:some )?functions are missing: /, '... without them';
    cmp_ok -s "$dir/c", '<', 8 << 20, '... which is small';
}

# A map without texts has up to eight times its size of positions.
{
    spew("$dir/dense.js", "x\n");
    spew("$dir/dense.map", '{"sources": ["a"], "names": [], "mappings": "'
        . ('CAAC,C,' x 2_400_000) . 'CAAC"}');
    my ($code, undef, $said) =
        convert("$dir/dense.js", "$dir/dense.map", '-o', "$dir/dense");
    is $code, 0, 'a dense map of 19 MB' or diag $said;
    is_deeply [(look_up("$dir/dense", [0, 4_800_001]))[0]->@[0 .. 4]],
        [0, 4_800_001, 'a', 0, 2_400_001], '... has all of its positions';
    unlink "$dir/dense", "$dir/dense.map";
}

# Maps that lie, or are as large as they can be, end with an answer or a reason.
my $head = '{"sources": ["a", "b"], "names": ["n"], "mappings": "';
my $section = '{"offset": {"line": %d, "column": %d}, "map": %s}';
my $nested = "${head}AAAA\"}";
$nested = '{"sections": [' . sprintf($section, 0, 1, $nested) . ']}'
    for 1 .. 9;
for (['100 MB of lines', $head . (';' x 100_000_000) . 'AAAA"}', 0],
     ['a million segments of one number',
      $head . ('C,' x 1_000_000) . 'C"}', 0],
     ['columns of 31 bits', $head . 'ggggggB,ggggggB,ggggggB"}', 0],
     ['a name of 31 bits', $head . 'ggggggCAAAggggggC"}', 8],
     ['a million tokens at one place',
      $head . ('AAAA,' x 1_000_000) . 'AAAA"}', 0],
     ['sections 9 deep', $nested, 9],
     ['sections at the end of all numbers',
      '{"sections": [' . sprintf($section, 2**32 - 1, 2**32 - 1,
          "${head}AAAA;AAAA\"}") . ']}', 0],
     ['sections beyond', '{"sections": ['
      . sprintf($section, 2**32, 0, "${head}AAAA\"}") . ']}', 8],
     ['sections that overlap', '{"sections": [' . join(',',
      sprintf($section, 0, 0, "${head}AAAA;AACA;AACA\"}"),
      sprintf($section, 1, 0, "${head}AAAA;AACA\"}")) . ']}', 0],
     ['a section in itself', '{"sections": [{"offset": 1}]}', 8],
     ['100,000 brackets', '[' x 100_000, 8],
     ['no object', '[]', 8],
     # types by which Symbolicator 26.8.0 refuses a map, and does not
     (map { [qq("version" $_), qq({"version": $_, "mappings": "AAAA", "sources": ["a"]}), 8] }
         '"3"', '3.0', -3, '[]', '{}', 'true', 4294967296),
     (map { [qq("version" $_), qq({"version": $_, "mappings": "AAAA", "sources": ["a"]}), 0] }
         'null', 2, 4, 0),
     (map { [qq("ignoreList" $_), qq({"ignoreList": $_, "mappings": ""}), 8] } '["a"]', '[null]', 5),
     ['"ignoreList" beyond', '{"ignoreList": [5], "mappings": ""}', 0],
     (map { my $name = $_; map { [qq("$name" $_), qq({"$name": $_, "mappings": ""}), 8] }
         5, '"x"', '[]', '{}', 'true' } 'debugId', 'debug_id'),
     (map { [qq("rangeMappings" $_), qq({"rangeMappings": $_, "mappings": ""}), 8] }
         5, '[]', '{}', 'true'),
     ['nothing', '', 8],
     ['half of a character', qq({"sources": ["\xC3"]}), 8],
     ['half of a pair', '{"sources": ["\ud83d"]}', 8]) {
    my ($name, $map, $wanted) = @$_;
    spew("$dir/lie.js", "x = () => 1\n");
    spew("$dir/lie.map", $map);
    my ($code, undef, $said) =
        convert("$dir/lie.js", "$dir/lie.map", '-o', "$dir/lie");
    is $code, $wanted, $name or diag $said;
    if ($wanted) {
        like $said, qr/lie\.js: .{10,300}\n\z/, 'which is explained';
    } else {
        is((run('', qw(symcachectl verify), "$dir/lie"))[0], 0, 'and sound');
    }
    unlink "$dir/lie.map";
}

# Debug ids of a pair that differ are told, and only these.
my $id = '85314830-023f-4cf1-a267-535f4e37bb17';
for (["//# debugId=$id", qq("debugId": "$id"), ''],
     ["//# debugId=$id", '"debug_id": "' . uc($id) =~ tr/-//dr . '"', ''],
     ['', qq("debugId": "$id"), ''],
     ["//# debugId=$id", '"debugId": "85314830-023f-4cf1-a267-535f4e37bb18", '
      . qq("debug_id": "$id"),
      qr/debug id $id, and its map 85314830-023f-4cf1-a267-535f4e37bb18: they may not/]) {
    my ($comment, $member, $wanted) = @$_;
    spew("$dir/a.js", "x = () => 1\n$comment\n");
    spew("$dir/a.map", "{$member, \"mappings\": \"\"}");
    my ($code, undef, $said) =
        convert("$dir/a.js", "$dir/a.map", '-o', "$dir/c");
    is $code, 0, "$member: a JsCache";
    ref $wanted ? like $said, $wanted, 'ids that differ'
        : is $said, '', 'ids that do not';
}

# Scripts that cannot be read have no names of functions, but all places.
spew("$dir/a.map", "${head}AAAA,CAACA\"}");
for (['too deep', '(' x 100_000], ['too deep', '[' x 100_000],
     ['too deep', 'a=>{' x 100_000], ['too deep', '`${' x 100_000],
     ['too deep', 'if(a)' x 100_000], ['unexpected', 'var a = {'],
     ['unexpected', "\0"], ['not UTF-8', "a = '\xFF'"],
     ['no end', 'a = /x'], ['no end', '`a']) {
    my ($reason, $script) = @$_;
    spew("$dir/a.js", $script);
    my ($code, undef, $said) =
        convert("$dir/a.js", "$dir/a.map", '-o', "$dir/c");
    is $code, 0, "$reason: " . substr $script, 0, 10;
    like $said, qr/note: names of functions are missing: .*$reason/,
        'which is said';
    is_deeply [look_up("$dir/c", [0, 1])], [[0, 1, 'a', 0, 1, 'n', undef]],
        'its places are found';
}
# and those that look deep are not
for (['binary operators', 'x=' . ('a+' x 100_000) . '(()=>1)'],
     ['choices', 'x=' . ('a?b:' x 100_000) . '(()=>1)'],
     ['else if', ('if(a);else ' x 100_000) . 'x=()=>1'],
     ['members', 'x=a' . ('.b()' x 100_000) . ',()=>1'],
     ['brackets that may be parameters',
      'x=' . ('(a=' x 10) . '()=>1' . (')=>1' x 10)]) {
    my ($name, $script) = @$_;
    spew("$dir/a.js", $script);
    my ($code, undef, $said) =
        convert("$dir/a.js", "$dir/a.map", '-o', "$dir/c");
    is $code, 0, $name;
    is $said, '', 'which is read';
}

my ($code, undef, $said) = convert("$data/shop/terser.js", '-o', "$dir/c");
is $code, 8, 'a script without a map in it, and none was named';
like $said, qr/no map in it/, 'says so';
is((convert("$dir/none.js", '-o', "$dir/c"))[0], 2, 'no script');
($code, undef, $said) = convert("$dir/a.js", "$dir/none.map", '-o', "$dir/c");
is $code, 2, 'no map';
like $said, qr/none\.map: cannot be opened/, 'says which';

done_testing;
