#!/usr/bin/env perl

# POST /profile: profiles come back with names.  Names are those of the worked
# example of the symbfile format; of a program that is compiled here, what
# addr2line says.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib qw(memGzip memGunzip);
use File::Copy qw(copy);
use File::Path qw(make_path);
use IO::Socket::UNIX;
use MIME::Base64 qw(encode_base64);
use POSIX qw(WNOHANG);
use Test::Front;
use Test::More;
use Test::Symcache;
use Test::Wire qw(bytes field fields number varint);

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;
my $build = '9a2b77f0c1d35ec6a86f0ba5aa3cde21f2a7a001';
my $hash = 'a7e79e8a85da69bad5c3fea209342ac9';
my $debug = 'F0772B9AD3C1C65EA86F0BA5AA3CDE210';
my $other = '0123456789abcdef0123456789abcdef01234567';
my $store = $t->path('store');

$t->write_file('example.symc', '');
system($t->program('symcachectl'), 'convert', '-o', $t->path('example.symc'),
       $t->data('convert/symbfile/ranges.symbfile')) == 0 or die;
for ("_/$debug/_", "_/hash-$hash/_", "app.pdb/$debug/app.pdb",
     '_/F0772B9AD3C1C65E00000000000000000/_', "app.pdb/@{[$debug =~ s/0\z/1A3/r]}/app.pdb") {
    my ($dir) = m{(.*)/};
    make_path("$store/$dir");
    copy($t->path('example.symc'), "$store/$_-v9.0.0.symcache") or die;
}
$t->start_symbolicated({ stores => { default => { root => $store } },
    symbolication => { limits => { crash_size => '1m', modules => 100,
        body_size => '64k', answer_size => '512k' } } });

sub ask {
    my ($body, @headers) = @_;
    return $t->post($t->symbolicated_socket, '/profile', $body, @headers);
}

# --- perf script

my $perf = <<"EOS";
$build /usr/bin/app
app   12/13 [000]  1.000000: PERF_RECORD_MMAP2 12/13: [0x55550000(0x3000) \@ 0 fd:01 12 0]: r--p /usr/bin/app
app   12/13 [000]  1.000000: PERF_RECORD_MMAP2 12/13: [0x55552000(0x1000) \@ 0x2000 fd:01 12 0]: r-xp /usr/bin/app
app   12/13 [000]  1.000000: PERF_RECORD_MMAP2 12/13: [0x7000000(0x1000) \@ 0x1000 <$other>]: r-xp /usr/lib/other.so
app   12/13 [000]  1.100000:     250000 cpu-clock:
\t        55552024 [unknown] (/usr/bin/app)
\t        5555203b [unknown] (/usr/bin/app)
\t            2010 [unknown] (/usr/bin/app)
\t        55552000 kept (/usr/bin/app)
\t         7000010 [unknown] (/usr/lib/other.so)
\t        55552040 [unknown] (/usr/bin/app)
\t               0 [unknown] ([unknown])

app   12/13 [000]  1.200000:     250000 cpu-clock:      55552000 [unknown] (/usr/bin/app+0x2000)
EOS
(my $named = $perf) =~ s/^(\s+55552024 )\[unknown\](.*)$/$1vec_push (inlined)\n$1run_loop$2/m;
$named =~ s/^(\s+5555203b )\[unknown\]/$1run_loop/m;
$named =~ s/^(\s+2010 )\[unknown\](.*)$/$1vec_push (inlined)\n$1run_loop$2/m;
$named =~ s/ 55552000 \[unknown\]/ 55552000 run_loop/;
my $r = ask($perf);
is $r->{status}, 200, 'the text of perf script' or diag $r->{raw};
is $r->{body}, $named, '... has names, and else nothing has changed';
is ask($named)->{body}, $named, '... and again';
$perf =~ s/\n\z//;
$named =~ s/\n\z//;
is ask($perf)->{body}, $named, 'a last line without an end';

(my $of_windows = $perf) =~ s/\n/\r\n/g;
(my $named_there = $named) =~ s/(?<!inlined\))\n/\r\n/g;
is ask($of_windows)->{body}, $named_there, 'ends of lines as Windows has them';

# perf buildid-list puts blanks behind ids of MD5, and of lld's default
for my $digits (32, 16) {
    my $short = sprintf '%-40s', substr $build, 0, $digits;
    is ask($perf =~ s/^$build/$short/r)->{body}, $named =~ s/^$build/$short/r,
        "a build id of $digits digits";
}

# as an older perf has mappings
my $older = "$build /usr/bin/app\n"
    . "app 12/12 1.0: PERF_RECORD_MMAP 12/12: [0x55550000(0x3000) \@ 0]: x /usr/bin/app\n"
    . "app 13/13 1.0: PERF_RECORD_MMAP 13/13: [0x55552000(0x1000) \@ 0x2000]: x /usr/bin/app\n"
    . join '', map { "app $_ 1.1: cycles:\t55552000 [unknown] (/usr/bin/app)\n" } '12/12', '13/13';
is scalar(() = ask($older)->{body} =~ /55552000 run_loop \(/g), 2, 'lines of PERF_RECORD_MMAP';

# another process has the file elsewhere, and a number in the name of a thread
my $elsewhere = <<"EOS";
app 30/30 [000]  1.0: PERF_RECORD_MMAP2 30/30: [0x55552010(0x1000) \@ 0x2000 fd:01 12 0]: r-xp /usr/bin/app
loop 12 of [io] 7 30/31 [000]  1.3:     250000 cpu-clock:      5555204b [unknown] (/usr/bin/app)
loop 12 30/31  1.3:     250000 cpu-clock:      5555204b [unknown] (/usr/bin/app)
loop 30/31 cpu-clock:      5555204b [unknown] (/usr/bin/app)
EOS
like ask("$perf\n$elsewhere")->{body},
    qr/(?:loop .*30\/31 .*5555204b run_loop \(.*\n){3}\z/,
    'the process is the number before processor or time, or the first one';

# the number of a thread, of a process that is not known: two others have
# another part of the file at the address
my $thread = <<"EOS";
$build /usr/bin/app
app 1 1.0: PERF_RECORD_MMAP2 1/1: [0x10000(0x3000) \@ 0 fd:01 12 0]: r-xp /usr/bin/app
app 2 1.0: PERF_RECORD_MMAP2 2/2: [0x11000(0x3000) \@ 0 fd:01 12 0]: r-xp /usr/bin/app
app 3 1.0: PERF_RECORD_MMAP2 3/3: [0x20000(0x3000) \@ 0 fd:01 12 0]: r-xp /usr/bin/app
app 4 1.0: PERF_RECORD_MMAP2 4/4: [0x20000(0x3000) \@ 0 fd:01 12 0]: r-xp /usr/bin/app
app 2 1.1: cycles:\t 13000 [unknown] (/usr/bin/app)
app 9 1.1: cycles:\t 13000 [unknown] (/usr/bin/app)
app 9 1.1: cycles:\t 22000 [unknown] (/usr/bin/app)
app 9 1.1: cycles:\t 24000 [unknown] (/usr/bin/app)
EOS
(my $sure = $thread) =~ s/(app 2 .* 13000|app 9 .* 22000) \[unknown\]/$1 run_loop/g;
is ask($thread)->{body}, $sure,
    'of a thread that no mapping names, where a file is mapped must be sure';

# --- pprof

my @strings = ('', 'cpu', 'nanoseconds', '/usr/bin/app', $build, 'kept',
               'kept.c', '/usr/lib/other.so', $other);
sub pprof {
    my (%o) = @_;
    return field(1, number(1, 1) . number(2, 2))
        . field(2, field(1, join '', map { varint($_) } 1 .. 4) . number(2, 7))
        . field(3, number(1, 1) . number(2, 0x400000) . number(3, 0x404000)
                . number(5, 3) . number(6, 4) . ($o{flags} // ''))
        . field(3, number(1, 9) . number(2, 0x700000) . number(3, 0x701000)
                . number(5, 7) . number(6, 8))
        . field(4, number(1, 1) . number(2, 1) . number(3, 0x402024)
                . ($o{lines} // ''))
        . field(4, number(1, 2) . number(2, 1) . number(3, 0x402040))
        . field(4, number(1, 3) . number(2, 9) . number(3, 0x700010))
        . field(4, number(1, 4) . number(2, 1) . number(3, 0x402000)
                . field(4, number(1, 5) . number(2, 3)))
        . field(5, number(1, 5) . number(2, 5) . number(3, 5) . number(4, 6))
        . ($o{functions} // '')
        . join('', map { field(6, $_) } @strings, @{ $o{strings} // [] })
        . number(9, 77) . number(12, 1);
}
# fields of the same number stay in order; which follows which is the writer's
sub sorted { join '|', map { "$_->[0]:" . unpack 'H*', $_->[1] }
             sort { $a->[0] <=> $b->[0] } fields($_[0]) }
my $wanted = pprof(
    flags => join('', map { number($_, 1) } 7 .. 10),
    lines => field(4, number(1, 6) . number(2, 44))
           . field(4, number(1, 7) . number(2, 21)),
    functions => field(5, number(1, 6) . number(2, 11) . number(3, 11) . number(4, 12))
               . field(5, number(1, 7) . number(2, 10) . number(3, 10) . number(4, 9)),
    strings => ['/src/app.c', 'run_loop', '/src/vec.h', 'vec_push']);
$r = ask(pprof());
is $r->{status}, 200, 'pprof' or diag $r->{raw};
my %got = named_pprof($r->{body});
is_deeply $got{1}, ['vec_push /src/vec.h:44', 'run_loop /src/app.c:21'],
    '... has names, the innermost first';
is_deeply [@got{2, 3}], [[], []], '... what is not found has none';
is_deeply $got{4}, ['kept kept.c:3'], '... and a name stays';
is_deeply [unchanged($r->{body})], [unchanged(pprof())],
    '... all else is as it was';
$r = ask(memGzip(pprof()), 'Content-Type: application/octet-stream');
is_deeply {named_pprof(memGunzip($r->{body}) // '')}, \%got,
    'pprof in gzip comes back in gzip';
$r = ask(memGzip(memGzip(pprof())), 'Content-Encoding: gzip');
is_deeply {named_pprof(memGunzip($r->{body}) // '')}, \%got,
    '... and a Content-Encoding is undone';

# The names of the locations of a pprof, by their ids.
sub named_pprof {
    my @f = fields($_[0]);
    my @text = map { $_->[1] } grep { $_->[0] == 6 } @f;
    my %function;
    for (grep { $_->[0] == 5 } @f) {
        my %v = map { @$_ } fields($_->[1]);
        $function{ $v{1} } = "$text[$v{2}] $text[$v{4} // 0]";
    }
    my %named;
    for (grep { $_->[0] == 4 } @f) {
        my ($id, @lines);
        for (fields($_->[1])) {
            $id = $_->[1] if $_->[0] == 1;
            next unless $_->[0] == 4;
            my %v = map { @$_ } fields($_->[1]);
            push @lines, "$function{ $v{1} }:$v{2}";
        }
        $named{$id} = \@lines;
    }
    return %named;
}
# What names do not change: samples, times, former strings and functions, and
# the first fields of mappings and locations.
sub unchanged {
    my @f = fields($_[0]);
    my ($strings, $functions) = (0, 0);
    return map {
        my ($n, $v) = @$_;
        $n == 3 || $n == 4 ? do { my @g = grep { $_->[0] < 4 } fields($v);
                                  "$n: " . join ',', map { "@$_" } @g }
            : $n == 6 && $strings++ >= @strings ? ()
            : $n == 5 && $functions++ >= 1 ? ()
            : "$n:" . unpack 'H*', $v
    } @f;
}

# --- OTLP

my @texts = ('', 'process.executable.build_id.gnu',
             'process.executable.build_id.htlhash', '/usr/bin/app', 'kept');
my $otlp = field(1, field(2, 'whatever it has'))
    . field(2, field(1, '')
        . field(1, number(1, 0x400000) . number(2, 0x404000) . number(4, 3)
                . field(5, varint(1)))
        . field(1, number(4, 3) . field(5, varint(2)))
        . field(2, '')
        . field(2, number(1, 1) . number(2, 0x402010))
        . field(2, number(1, 2) . number(2, 0x203b) . field(4, varint(9)))
        . field(2, number(1, 1) . number(2, 0x402000) . field(3, number(1, 1) . number(2, 3)))
        . field(3, '') . field(3, number(1, 4))
        . join('', map { field(5, $_) } @texts)
        . field(6, '') . field(6, number(1, 1) . field(2, field(1, $build)))
        . field(6, number(1, 2) . field(2, field(1, $hash)))
        . field(7, 'a stack'));
$r = ask($otlp);
is $r->{status}, 200, 'profiles of OTLP' or diag $r->{raw};
my @top = fields($r->{body});
is_deeply [$top[0], scalar @top], [[1, field(2, 'whatever it has')], 2],
    '... with all profiles as they were';
my @dictionary = fields($top[1][1]);
my @text = map { $_->[1] } grep { $_->[0] == 5 } @dictionary;
my @functions = map { { map { @$_ } fields($_->[1]) } }
    grep { $_->[0] == 3 } @dictionary;
my @locations = map { my @l = grep { $_->[0] == 3 } fields($_->[1]);
    join '; ', map { my %l = map { @$_ } fields($_->[1]);
                     my $f = $functions[$l{1}];
                     $text[$f->{1}] . ' ' . $text[$f->{3} // 0] . ":$l{2}" } @l }
    grep { $_->[0] == 2 } @dictionary;
is_deeply \@locations,
    ['', 'vec_push /src/vec.h:40; run_loop /src/app.c:21',
     'run_loop /src/app.c:24', 'kept :3'],
    '... names by build id and by the hash of the file';

# One that the project's own library has written; of what comes back it reads
# these frames, see t/data/profile.
my $written = $t->read_file($t->data('profile/app.otlp'));
$r = ask($written);
is $r->{status}, 200, 'profiles of the library of OTLP' or diag $r->{raw};
is_deeply [otlp_frames($r->{body})],
    ['7f0000002024 vec_push /src/vec.h:44 run_loop /src/app.c:21',
     '203b run_loop /src/app.c:24', '7f0000002000 kept :3', '7f0000002050'],
    '... have names';
my @before = fields($written);
my @after = fields($r->{body});
is_deeply [grep { $_->[0] != 2 } @after], [grep { $_->[0] != 2 } @before],
    '... and the profiles themselves as they were';

# The frames of the dictionary, by the numbers of fields of version 1.11.
sub otlp_frames {
    my ($dictionary) = map { $_->[1] } grep { $_->[0] == 2 } fields($_[0]);
    my @d = fields($dictionary);
    my @text = map { $_->[1] } grep { $_->[0] == 5 } @d;
    my @function = map { { map { @$_ } fields($_->[1]) } } grep { $_->[0] == 3 } @d;
    my @frames = map {
        my @l = fields($_->[1]);
        my ($address) = map { $_->[1] } grep { $_->[0] == 2 } @l;
        join ' ', sprintf('%x', $address // 0), map {
            my %line = map { @$_ } fields($_->[1]);
            my $f = $function[$line{1}];
            $text[$f->{1}] . ' ' . $text[$f->{3} // 0] . ":$line{2}"
        } grep { $_->[0] == 3 } @l
    } grep { $_->[0] == 2 } @d;
    return @frames[1 .. $#frames];
}

# --- the Firefox Profiler

sub firefox {
    my (@n) = @_;
    return <<"EOS";
{ "meta": {"version": 27, "x": "\\u00e9"}, "libs": [
    {"name": "x.so", "breakpadId": "", "codeId": null},
    {"debugName": "app.pdb", "breakpadId": "$debug", "codeId": null}],
  "threads": [{"name": "main",
    "stringArray": ["0x2024", "kept", "0x\\"", "0x203b"$n[0]],
    "funcTable": {"length": 4, "name": [$n[1], 1, 2, $n[2]], "resource": [0, 0, -1, 0],
                  "fileName": [$n[3], null, null, $n[4]], "lineNumber": [null, null, null, null]},
    "resourceTable": {"length": 1, "lib": [1], "name": [1]},
    "frameTable": {"length": 4, "func": [0, 1, 2, 3], "address": [8228, 8192, 1, 8251],
                   "line": [$n[5], null, null, $n[6]]}}]}
EOS
}
$r = ask(firefox('', 0, 3, ('null') x 4));
is $r->{status}, 200, 'the Firefox Profiler' or diag $r->{raw};
is $r->{body}, firefox(',"run_loop","/src/app.c"', 4, 4, 5, 5, 21, 24),
    '... has the functions that have the code';
is ask(firefox('', 0, 3, ('null') x 4) =~ s/$debug/@{[$debug =~ s{0\z}{1A3}r]}/r)->{body},
    firefox(',"run_loop","/src/app.c"', 4, 4, 5, 5, 21, 24) =~ s/$debug/@{[$debug =~ s{0\z}{1A3}r]}/r,
    '... also with an age of three digits';
my $twice = qr/"threads": \[\K(.*)(?=\]\})/s;
is ask(firefox('', 0, 3, ('null') x 4) =~ s/$twice/$1, $1/r)->{body},
    firefox(',"run_loop","/src/app.c"', 4, 4, 5, 5, 21, 24) =~ s/$twice/$1, $1/r,
    '... in each thread, which has strings of its own';
my $flag = qr/"version": 27\K/;
my $unmarked = firefox('', 0, 3, ('null') x 4) =~ s/$flag/, "symbolicated": false/r;
is ask($unmarked)->{body}, firefox(',"run_loop","/src/app.c"', 4, 4, 5, 5, 21, 24)
    =~ s/$flag/, "symbolicated": true/r, '... which it is said to have';
$unmarked =~ s/$debug/@{[$debug =~ tr{0-9}{1-90}r]}/;
is ask($unmarked)->{body}, $unmarked, '... unless it has none';
# Later versions: 56 has the strings of all threads in "shared", 58 the files
# of functions, 60 all tables; in 70 frames have the library, and in 71 and 75
# flags say which columns of frames and functions count.
sub firefox_later {
    my ($version, $n, $name, $file, $line, $files, $flags, $function_flags) = @_;
    my $columns = $version < 58 ? qq("fileName": [$file, null, null])
        : qq("source": [$file]) =~ s/\]/$version < 75 ? ', null, null]' : ', 0, 0]'/er;
    my $tables = <<"EOS" =~ s/\n\z//r;
"funcTable": {"length": 3, "name": [$name, 1, 2], "resource": [0, 0, -1], $columns
          @{[$version < 75 ? '' : qq(, "flags": [$function_flags, 4, 0])]}},
     "resourceTable": {"length": 1, "name": [1] @{[$version < 70 ? ', "lib": [1]' : '']}},
     "frameTable": {"length": 3, "func": [0, 1, 2], "address": [8228, 8192, 8228],
          @{[$version < 70 ? '' : $version < 71 ? '"lib": [1, 1, -1],' : '"lib": [1, 1, 1],']}
          @{[$version < 71 ? '' : qq("flags": [$flags, 2, 0],)]}
          "line": [$line, null, null]}
EOS
    my $sources = $version < 58 ? '' : qq("sources": {"length": $files->[0],
        "id": ["u"$files->[1]], "filename": [2$files->[2]], "startLine": [1$files->[3]],
        "content": [null$files->[1]]},);
    my ($shared, $thread) = $version < 60 ? ('', ", $tables") : (", $tables", '');
    return <<"EOS";
{ "meta": {"version": 36, "preprocessedProfileVersion": $version},
  "libs": [{"name": "x.so", "breakpadId": "", "codeId": null},
    {"debugName": "app.pdb", "breakpadId": "$debug", "codeId": null}],
  "shared": {$sources "stringArray": ["0x2024", "kept", "0x2024"$n] $shared},
  "threads": [{"name": "main" $thread}]}
EOS
}
for my $version (56, 58, 60, 70, 71, 75) {
    my $none = $version < 75 ? 'null' : 0;
    my $before = firefox_later($version, '', 0, $none, 'null', [1, ('') x 3], 6, 4);
    my $after = firefox_later($version, ',"run_loop","/src/app.c"', 3,
        $version < 58 ? 4 : 1, 21, [2, ',null', ',4', ',1'], 22, 12);
    $r = ask($before);
    is $r->{body}, $after, "... of version $version";
    is ask($after)->{body}, $after, '... and again';
    ok eval { $json->decode($r->{body}) }, '... it is JSON' or diag $@;
}
my @wide = map { firefox_later(58, @$_) =~ s/"sources": \{\K/join '', map { qq("$_": [],) } 1 .. 61/er }
    ['', 0, 'null', 'null', [1, ('') x 3]], [',"run_loop"', 3, 'null', 21, [1, ('') x 3]];
is ask($wide[0])->{body}, $wide[1], '... a table of sources of 65 columns gets no rows';
for my $last ('{ }', '[ ]') { # an item that is no string, at the end of the strings
    my $odd = firefox('', 0, 3, ('null') x 4) =~ s/"0x203b"\K/, $last/r;
    is ask($odd)->{body}, firefox(", $last,\"run_loop\",\"/src/app.c\"", 5, 5, 6, 6, 21, 24),
        "names behind $last";
}
for my $far (2 ** 32, 2 ** 32 + 1) {
    my $wrong = firefox('', 0, 3, ('null') x 4) =~ s/"lib": \[1\]/"lib": [$far]/r
        =~ s/"resource": \[0, 0, -1, 0\]/"resource": [0, 0, -1, 4294967296]/r;
    is ask($wrong)->{body}, $wrong, "a resource 4294967296, a library $far: none";
}

# --- what is none

for (['', 'empty'], ["\0\1\2", 'not a profile'], ["\x0a\5\xff", 'not a profile.* at byte 0$'],
     ["\x32\0\x22\x02\x08\1\x22\5\xff", 'not a profile.* or is damaged: no whole field of a message begins at byte 6$'],
     ["PERFILE2\150\0", 'of perf record: give the text'], ["text\n", 'no frames'],
     ["FUNC 10 2 0 run(void (*)(int))\nint f (void) {\n", 'no frames'], ['{"a": 1}', 'no "libs"'], ['{"a": ', 'damaged: .* at line 1 column 7'],
     ["{}\n{}", 'ends at byte 3, but the file goes on'],
     ["\x1f\x8b\x08damaged", 'damaged']) {
    $r = ask($_->[0]);
    ok $r->{status} == 400 && $json->decode($r->{body})->{error} =~ /$_->[1]/,
        "400: $_->[1]" or diag $r->{raw};
}
is ask('x' x (1 << 20) . 'x')->{status}, 413, 'a profile that is too large';
$r = ask('text', 'Content-Type: multipart/form-data; boundary=x');
is "$r->{status} $r->{body}", '415 {"error":"the body is a form; send the profile itself, as curl --data-binary does"}', 'a form';
$t->wait_until('the log says why', sub {
    $t->symbolicated_log =~ / failure=the body is a form; send .* does$/m });
my $frame = "\t            2010 [unknown] (/usr/bin/app)\n";
is ask($frame x (300_000 / length $frame))->{status}, 200,
    'one that is larger than "limits.body_size"';
$r = ask($frame x (800_000 / length $frame));
is $r->{status}, 413, 'one that is larger than "limits.answer_size" with names';
like $r->{body}, qr/answer_size/, '... which is told';
is ask(memGzip("\n" x (1 << 21)))->{status}, 413, '... when it is unpacked';
my $random = encode_base64(join('', map { chr int rand 256 } 1 .. 700_000), '');
$r = ask(memGzip("# $random\n$perf"));
is $r->{status}, 413, 'one that is packed and larger than "limits.answer_size"';
like $r->{body}, qr/answer_size/, '... which is told';

# A function with a name of 1 MB, in 400 frames.
my $long = 'fedcba9876543210fedcba9876543210fedcba98';
$t->write_file('long.sym', "MODULE Linux x86_64 98BADCFE54761032FEDCBA98765432100 long\n"
    . 'FUNC 2000 40 0 ' . 'n' x 1_000_000 . "\n");
system($t->program('symcachectl'), 'convert', '-o', $t->path('long.symc'),
       $t->path('long.sym')) == 0 or die;
make_path("$store/_/98BADCFE54761032FEDCBA98765432100");
copy($t->path('long.symc'),
     "$store/_/98BADCFE54761032FEDCBA98765432100/_-v9.0.0.symcache") or die;
my $frames = "$long /long\n" . "\t 2010 [unknown] (/long)\n" x 400;
# a sanitizer leaves workers their memory, and packed names are few bytes
note('names of 400 MB, packed: not with a sanitizer') if $Test::Symcache::san;
for ([$frames, 'as they are'],
     $Test::Symcache::san ? () : [memGzip($frames), 'packed']) {
    $r = ask($_->[0]);
    is $r->{status}, 413, "names of 400 MB, $_->[1]: refused" or diag substr $r->{raw}, 0, 200;
    like $r->{body}, qr/answer_size/, '... with a reason';
}
is ask($perf)->{body}, $named, 'others have names then';
is ask('x', 'Content-Encoding: br')->{status}, 415, 'another coding';
is $t->http($t->symbolicated_socket, 'GET', '/profile')->{status}, 405, 'GET';
is ask(join '', map { sprintf "%040x /lib/%d\n\t 10 [unknown] (/lib/%d)\n", $_, $_, $_ }
       1 .. 101)->{status}, 413, 'more modules than limits.modules';

# --- through nginx, as the example has it

my ($front, $signed_in) = Test::Front::start($t);
is $t->post($front, '/profile', $perf)->{body}, $named, 'a profile through nginx';
is $t->post($front, '/profile', memGzip($perf), 'Content-Encoding: gzip')->{body},
    $named, '... packed';
is $t->post($signed_in, '/profile', $perf)->{status}, 401, '... with a password';
my $question = $json->encode({ file => $build, addrs => [0x2024] });
my $wanted_lines = $t->post($t->symbolicated_socket, '/symbolize/v1', $question)->{body};
like $wanted_lines, qr/run_loop/, 'addresses';
is $t->post($front, '/symbolize/v1', $question)->{body}, $wanted_lines,
    '... through nginx';
$r = $t->post($front, '/symbolize/v1', $question, 'Accept-Encoding: gzip');
is memGunzip($r->{body}), $wanted_lines, '... packed';
is $t->post($signed_in, '/symbolize/v1', $question)->{status}, 401,
    '... with a password';

# --- a program, and what addr2line says

SKIP: {
    my ($cc) = grep { -x } map { "$_/cc" } split /:/, $ENV{PATH};
    my ($addr2line) = grep { -x } map { "$_/addr2line" } split /:/, $ENV{PATH};
    skip 'there is no cc, or no addr2line', 1 unless $cc && $addr2line;
    my $source = $t->write_file('program.c', <<'EOS');
static inline __attribute__((always_inline)) unsigned mix(unsigned a)
{
    for (int i = 0; i < 50; i++) a = (a * 2654435761u) ^ (a >> 13);
    return a;
}
__attribute__((noinline)) unsigned inner(unsigned n)
{
    unsigned s = 0;
    for (unsigned i = 0; i < n; i++) s += mix(i);
    return s;
}
int main(int argc, char **argv) { return (int)inner((unsigned)argc); }
EOS
    my $program = $t->path('program');
    system($cc, '-g', '-O2', '-Wl,--build-id=0x' . $other, '-o', $program,
           $source) == 0 or skip 'cc fails', 1;
    system($t->program('symcachectl'), 'convert', '-o', $t->path('program.symc'),
           $program) == 0 or die;
    make_path("$store/_/67452301AB89EFCD0123456789ABCDEF0");
    copy($t->path('program.symc'),
         "$store/_/67452301AB89EFCD0123456789ABCDEF0/_-v9.0.0.symcache") or die;
    my ($begin) = qx{nm '$program'} =~ /^(\w+) T inner$/m;
    my @addresses = map { hex($begin) + $_ } 0 .. 40;
    my $text = "$other /program\n" . join '', map { sprintf "\t%16x [unknown] (/program)\n", $_ } @addresses;
    my $expected = "$other /program\n";
    for my $address (@addresses) {
        my $hex = sprintf '%x', $address;
        my @lines = split /\n/, qx{addr2line -i -f -e '$program' 0x$hex};
        my @f = map { $lines[2 * $_] } 0 .. @lines / 2 - 1;
        my $outer = pop @f;
        $expected .= sprintf "\t%16x %s\n", $address, $_
            for map({ "$_ (inlined)" } @f), "$outer (/program)";
    }
    is ask($text)->{body}, $expected, 'each byte of a function, as addr2line has it';
}

is $t->symbolicated_metric('symbolicated_requests_running'), 0, 'nothing runs';

# --- the process that starts workers is killed

sub is_spawner {
    my $stat = -e "$_[0]/stat" ? $t->read_file("$_[0]/stat") // '' : '';
    return $stat =~ /^\d+ \(spawner\) \S $t->{symbolicated} /;
}
my ($spawner) = map { m{(\d+)$} } grep { is_spawner($_) } glob '/proc/[0-9]*';
kill 'KILL', $spawner or die $!;
my $pid = delete $t->{symbolicated};
my $status;
$t->wait_until('symbolicated ends', sub {
    my $ended = waitpid $pid, WNOHANG;
    $status = $?;
    return $ended == $pid;
});
is $status >> 8, 71, 'without it symbolicated ends with 71, which has it started again';
like $t->symbolicated_log,
    qr/\[emerg\] .*the process that starts workers is gone, or hangs: this needs a restart, stopping/,
    '... and the log says why';
$t->allow_log(qr/the process that starts workers is gone/);
$t->start_symbolicated;
(my $lacks = $perf) =~ s/\Q$other/@{['ee' x 20]}/;
my $whole = ask($lacks);
is $whole->{status}, 200, '... and profiles are answered then';
is Test::Symcache::header($whole, 'X-Symcache-Reason'), undef, 'what nobody has is missing';

# --- symcached does not answer

$t->stop_symbolicated;
close(IO::Socket::UNIX->new(Local => $t->helper_socket, Listen => 1) or die "listen: $!");
$t->start_symbolicated;
$r = ask($lacks);
is $r->{status}, 200, 'without symcached a profile has the names that are here';
ok $r->{body} eq $whole->{body}, '... in the places where they were';
is Test::Symcache::header($r, 'X-Symcache-Reason'), 'incomplete', '... and others could not be had';
$t->write_file('other.perf', $lacks);
like qx(@{[$t->program('symcachectl')]} symbolicate --socket unix:${\ $t->symbolicated_socket} ${\ $t->path('other.perf')} 2>&1 >/dev/null),
    qr/^symcachectl: some files could not be fetched/, 'symcachectl says so';
unlink $t->helper_socket;

# --- a profile of a machine: 40000 mappings of 2000 processes, 300000 frames

$t->stop_symbolicated;
$t->start_symbolicated({ stores => { default => { root => $store } } });
my @map = ("$build /lib/0");
for my $p (1 .. 2000) {
    push @map, map { sprintf 'app %d/%d [000]  1.0: PERF_RECORD_MMAP2 %d/%d: '
        . '[0x%x(0x3000) @ 0 fd:01 12 0]: r-xp /lib/%d', ($p) x 4,
        2 ** 32 * $_ + 0x2000 * $p, $_ } 0 .. 19;
}
my @sample = map {
    my $p = $_;
    (sprintf("app %d/%d [000]  2.0:     1 cpu-clock:", $p, $p),
     map { sprintf "\t%16x [unknown] (/lib/%d)",
           2 ** 32 * ($_ % 20) + 0x2000 * $p + 0x203b, $_ % 20 } 0 .. 149)
} 1 .. 2000;
my $names = join "\n", @map, @sample, '';
$r = ask($names);
is $r->{status}, 200, 'a profile of a machine is not too much' or diag substr $r->{raw}, 0, 300;
$names =~ s/\[unknown\] \(\/lib\/0\)/run_loop (\/lib\/0)/g;
ok $r->{body} eq $names, '... addresses are those of the process of each sample';

# one process that maps a file often, as it loads and unloads it: what looks
# through all of it for each frame ends at the limit of time
my $often = join "\n", "$build /lib/0", (map { sprintf 'app 1/1 [000]  1.0: '
        . 'PERF_RECORD_MMAP2 1/1: [0x%x(0x3000) @ 0 fd:01 12 0]: r-xp /lib/0',
        0x3000 * $_ } 1 .. 60000),
    'app 1/1 [000]  2.0:     1 cpu-clock:',
    ("\t            503b [unknown] (/lib/0)") x 60000, '';
$r = ask($often);
is $r->{status}, 200, 'a file that is mapped often';
is scalar(() = $r->{body} =~ / run_loop /g), 60000, '... has its names';

# threads of Firefox, each of which has tables, and members beside them
my $empty = '{"stringArray":[],"funcTable":{"name":[]},"frameTable":{"address":[]},'
    . '"resourceTable":{}}';
$r = ask('{' . '"x":0,' x 100_000 . '"libs":[],"threads":[' . "$empty," x 100_000
    . "$empty]}");
is $r->{status}, 200, 'many threads of Firefox' or diag $r->{raw};
SKIP: {
    skip 'a worker may have all memory under a sanitizer', 2 if $ENV{SYMCACHE_SAN};
    $r = ask(memGzip('{"threads":[' . '0,' x 10_000_000 . '0]}'));
    is $r->{status}, 413, 'one that takes more memory than the worker may have' or diag $r->{raw};
    like $r->{body}, qr/more memory/, '... which is told';
}

$t->finish;
done_testing;
