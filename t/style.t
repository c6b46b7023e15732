#!/usr/bin/perl

# Rules that a reader should be able to rely on: who may include whom, which
# functions are never called, how long lines, functions and files get.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/lib";
use Test::File;
use Test::More;
use Test::Symcache ();

my $top = abs_path(dirname(__FILE__) . '/..');
chdir $top or die "$top: $!";

# C text without comments and strings, line numbers kept
sub code {
    my ($text) = @_;
    $text =~ s{(/\*.*?\*/)|("(?:\\.|[^"\\\n])*")|('(?:\\.|[^'\\\n])+')}{
        my $s = $1 // ''; my $n = () = $s =~ /\n/g;
        defined $1 ? "\n" x $n : '""'
    }gsex;
    return $text;
}

my @c = grep { -f }
    glob('*.[ch] src/*/*.[ch] src/*/*/*.[ch] src/*/*/*/*.[ch] t/unit/*.[ch]'
        . ' fuzz/*.[ch]');
my %text = map { $_ => slurp($_) } @c;

# --- dependencies point one way

my %may = (    # room => rooms that it may include from
    proto => '',
    base => 'proto',
    sandbox => '',
    metrics => '',
    child => 'base',
    http => 'base',
    config => 'base proto',
    'derived/symcache' => 'base',
    'derived/ppdbcache' => 'base derived/symcache',
    'derived/cficache' => 'base derived/symcache',
    'derived/codecache' => 'base derived/symcache',
    'derived/jscache' => 'base derived/symcache',
    'derived/sourcecache' => 'base derived/symcache',
    'derived/proguardcache' => 'base derived/symcache',
    json => 'base',
    worker_pool => 'base',
    stackwalk => 'base derived/cficache',
    'reports/crash' => '',
    'reports/jstrace' => 'base',
    'reports/multipart' => '',
    'reports/apple' => 'base json derived/symcache',
    'reports/profile' => 'base json derived/symcache symbolication',
    'reports/minidump' => 'base proto stackwalk',
    derived => 'proto derived/cficache derived/codecache derived/jscache derived/ppdbcache'
        . ' derived/proguardcache derived/sourcecache derived/symcache',
    symbolication => 'base derived/sourcecache derived/symcache'
        . ' symbolication/demangle',
    'symbolication/jvm' => 'base derived/proguardcache derived/symcache',
    'symbolication/demangle' => 'derived/symcache symbolication/swift',
    'symbolication/swift' => 'base',
    'symbolication/js' => 'base derived/jscache derived/symcache',
    disassembly => 'json symbolication derived/codecache derived/symcache',
    debuginfo => 'base proto derived/cficache derived/codecache derived/symcache',
    'debuginfo/auxiliary' => 'base proto debuginfo derived/symcache json',
    'debuginfo/breakpad' => 'base debuginfo derived/symcache',
    'debuginfo/dwarf' => 'base debuginfo derived/symcache',
    'debuginfo/elf' => 'base debuginfo debuginfo/dwarf derived/symcache',
    'debuginfo/msfz' => 'base',
    'debuginfo/pdb' => 'base debuginfo debuginfo/msfz debuginfo/sourcelink'
        . ' derived/sourcecache derived/symcache',
    'debuginfo/macho' => 'base debuginfo debuginfo/dwarf derived/symcache',
    'debuginfo/pe' => 'base debuginfo debuginfo/dwarf derived/symcache',
    'debuginfo/sourcelink' => 'base debuginfo derived/symcache json',
    'debuginfo/portablepdb' => 'base debuginfo debuginfo/pe debuginfo/sourcelink'
        . ' derived/ppdbcache derived/sourcecache derived/symcache',
    'debuginfo/zip' => '',
    'debuginfo/sourcebundle' => 'base proto json debuginfo debuginfo/sourcemap'
        . ' debuginfo/zip derived/jscache derived/sourcecache derived/symcache'
        . ' symbolication/js',
    'debuginfo/jsscopes' => 'base',
    'debuginfo/sourcemap' => 'base debuginfo debuginfo/jsscopes'
        . ' derived/jscache json symbolication/js',
    'debuginfo/proguard' => 'base debuginfo json derived/proguardcache'
        . ' derived/symcache',
    'debuginfo/symbfile' => 'base debuginfo derived/symcache',
    'debuginfo/wasm' => 'base debuginfo debuginfo/dwarf derived/symcache',
    'debuginfo/identity' => 'base config proto debuginfo/auxiliary debuginfo/breakpad'
        . ' debuginfo/elf'
        . ' debuginfo/macho debuginfo/msfz debuginfo/pdb debuginfo/pe'
        . ' debuginfo/portablepdb debuginfo/proguard debuginfo/sourcebundle'
        . ' debuginfo/wasm derived/symcache',
    converter => 'base proto derived sandbox symbolication debuginfo debuginfo/auxiliary'
        . ' debuginfo/breakpad'
        . ' debuginfo/elf debuginfo/macho debuginfo/msfz debuginfo/pdb'
        . ' debuginfo/pe debuginfo/portablepdb debuginfo/proguard'
        . ' debuginfo/sourcebundle'
        . ' debuginfo/sourcemap debuginfo/symbfile debuginfo/wasm derived/cficache'
        . ' derived/jscache'
        . ' derived/ppdbcache derived/proguardcache derived/sourcecache'
        . ' derived/symcache',
    module => 'proto',
    'module/status' => 'module proto',
);

# symcachectl: subcommands by what they work on, and what those share
my $ctl = 'base proto sandbox derived derived/jscache derived/symcache symcachectl'
    . ' symcachectl/terminal';
$may{'symcachectl/terminal'} = 'base derived/symcache symcachectl';
$may{'symcachectl/files'} = "$ctl debuginfo/proguard json symbolication/jvm reports/apple reports/minidump converter debuginfo debuginfo/wasm"
    . ' debuginfo/msfz debuginfo/pdb debuginfo/pe debuginfo/identity'
    . ' debuginfo/macho debuginfo/symbfile debuginfo/zip json'
    . ' symbolication symcachectl/helper symcachectl/store';
$may{'symcachectl/files'} .= ' reports/jstrace reports/profile symbolicated/api symbolication/js'
    . ' symcachectl/files/kinds';
$may{'symcachectl/files/kinds'} = 'proto derived symbolication symcachectl/files'
    . ' symcachectl/terminal';
$may{'symcachectl/helper'} = "$ctl symcachectl/files";
$may{'symcachectl/store'} = "$ctl symbolication symbolicated/api symbolicated/files symcachectl/files";
$may{symcachectl} = "$ctl config symcachectl/files";

# symbolicated: protocols know nothing of how modules are got
my $common = 'base proto config json derived derived/symcache'
    . ' symbolication';
$may{'symbolicated/api'} = $common;
$may{"symbolicated/api/$_"} =
    "$common disassembly reports/crash symbolicated/api symbolication/js"
    . ' symbolication/jvm'
    for qw(mozilla symbolicator symbolize);
$may{'symbolicated/api/profile'} =
    "$common reports/crash reports/profile symbolicated/api";
$may{'symbolicated/files'} = 'base proto derived json';
$may{'symbolicated/search'} =
    'base proto derived json symbolicated symbolicated/api symbolicated/files';
$may{'symbolicated/calls'} =
    "$common http worker_pool symbolicated symbolicated/api symbolicated/search";
$may{symbolicated} = "$common http metrics sandbox worker_pool symbolicated/api"
    . ' symbolicated/calls symbolicated/files symbolicated/search';

# symcached: who stands above whom; all may use what both daemons share
my $shared = 'base proto config http metrics child sandbox derived'
    . ' reports/multipart'
    . ' debuginfo/breakpad debuginfo/elf debuginfo/macho debuginfo/msfz'
    . ' debuginfo/pdb'
    . ' debuginfo/pe debuginfo/identity debuginfo/portablepdb'
    . ' debuginfo/sourcebundle debuginfo/symbfile'
    . ' debuginfo/wasm debuginfo/zip derived/symcache';
my %above = (
    server => 'guest upload_index job metadata negcache one_time_fetch space store upload',
    upload => 'job fetch upload_index tier intake space',
    guest => 'job source space store tier',
    metadata => 'fetch upload_index',
    one_time_fetch => 'fetch',
    job => 'upload_index source negcache transcode intake store space tier',
    tier => 'fetch store transcode space',
    source => 'upload_index tier transcode intake fetch space',
    'source/types' => 'source transcode',
    transcode => 'intake space',
    negcache => 'store',
    upload_index => '',
    intake => 'fetch space',
    store => 'space',
    fetch => 'space',
    space => '',
);
$may{"symcached/$_"} = join ' ', $shared,
    map { "symcached/$_" } split ' ', $above{$_} for keys %above;
$may{'symcached/job'} .= ' debuginfo'; # of what our converter says
$may{symcached} = join ' ', $shared, map { "symcached/$_" } keys %above;
$may{symbolicated_worker} = 'sandbox worker_pool base json symbolication reports/profile disassembly'
    . ' derived/codecache'
    . ' derived/cficache derived/symcache'
    . ' reports/apple reports/crash reports/minidump reports/multipart';
$may{symcached_sandboxed} =
    'child sandbox symcached/intake symcached/store symcached/transcode';

# a room is entered through the header of its name; these are shelves of
# nouns, of which each is taken by itself
my %shelf = map { $_ => 1 } qw(base proto debuginfo module
    symbolicated symbolicated/api symbolicated/calls symbolicated/search
    symcachectl symcachectl/files symcachectl/helper symcachectl/store
    symcachectl/terminal symcached/intake symcached/source);

my (@wrong, %includes);
for my $file (grep { m{^src/} } @c) {
    my ($room) = $file =~ m{^src/(.+)/[^/]+$};
    push @wrong, "$room: no such room" unless exists $may{$room};
    for my $inc ($text{$file} =~ /^\s*#\s*include\s+"([^"]+)"/mg) {
        my ($to, $name) = $inc =~ m{^(.+)/([^/]+)\.h$};
        push @{ $includes{$file} }, defined $to ? "src/$inc"
            : "src/$room/$inc";
        next unless defined $to;
        my ($last) = $to =~ m{([^/]+)$};
        push @wrong, "$file includes $inc"
            unless grep { $_ eq $to } split ' ', $may{$room};
        push @wrong, "$file includes $inc, not the header of its room"
            unless $shelf{$to} || $name eq $last;
    }
    push @wrong, "$file includes nginx"
        if $room !~ /^module\b/ && $text{$file} =~ /#\s*include\s+<ngx_/;
}
is_deeply \@wrong, [], 'dependencies point one way';

# no file includes itself by way of others
my (%seen, @cycles);
sub walk {
    my ($file, @path) = @_;
    if (grep { $_ eq $file } @path) {
        push @cycles, join ' -> ', @path, $file;
        return;
    }
    return if $seen{$file};
    walk($_, @path, $file) for @{ $includes{$file} // [] };
    $seen{$file} = 1;
}
walk($_) for sort keys %includes;
is_deeply \@cycles, [], 'no file includes itself by way of others';

@wrong = ();
for my $file (grep { m{^src/proto/} } @c) {
    push @wrong, "$file includes <$_>"
        for grep { !/^(?:stdint|stddef|string)\.h$/ }
            $text{$file} =~ /#\s*include\s+<([^>]+)>/g;
}
is_deeply \@wrong, [], 'src/proto needs no library';

# --- one dialect; the module's is nginx's

# nginx's headers have guards of names, which each move would change
@wrong = grep { /\.h$/ && !m{^src/(?:module|proto)/}
    && $text{$_} !~ /^#pragma once$/m } @c;
is_deeply \@wrong, [], 'each header is read once';

# A header that needs another one must say so itself.
@wrong = ();
for my $file (grep { m{^src/(?!module/).*\.c$} } @c) {
    my ($own) = $file =~ m{([^/]+)\.c$};
    my @all = $text{$file} =~ /^#include ["<]([^">]+)/mg;
    push @wrong, $file
        if (grep { m{^(?:.*/)?\Q$own\E\.h$} } @all[1 .. $#all])
           && -e ($file =~ s/c$/h/r) && $all[0] !~ m{(?:^|/)\Q$own\E\.h$};
}
is_deeply \@wrong, [], 'the own header comes first';

@wrong = ();
for my $file (grep { m{^src/.*\.c$} } @c) {
    my %own = map { $_ => 1 }
        ($text{ $file =~ s/c$/h/r } // '') =~ /^#include (\S+)/mg;
    push @wrong, map { "$file: $_" } grep { $own{$_} }
        $text{$file} =~ /^#include (\S+)/mg;
}
is_deeply \@wrong, [], 'what the own header includes is not included again';

@wrong = ();
for my $file (grep { m{^src/(?!module/|proto/)} } @c) {
    push @wrong, map { "$file: $_" } code($text{$file})
        =~ /^(?:static )?int ((?:is|are|has|can|may|same)_\w+)\(/mg;
}
is_deeply \@wrong, [], 'what is true or false is a bool';

@wrong = ();
for my $file (grep { m{^(?:src/(?:module|proto)/.*|ngx_\w+)\.c$} } @c) {
    push @wrong, map { "$file: $_" } grep { defined } $text{$file} =~
        /^(?:\w+ )+\**(\w+)\([^;{}]*\)\n\{|(\(void\)\w+)/mg;
}
is_deeply \@wrong, [], "the module is in nginx's style: the type has a line";

# --- functions that are never called

@wrong = ();
for my $file (@c) {
    my $n = 0;
    my $alloc = $file =~ m{^src/(?:module|proto)/|^ngx_}
        ? '|malloc|calloc|realloc|free|strdup' : '';
    for my $line (split /\n/, code($text{$file})) {
        $n++;
        push @wrong, "$file:$n: $1" if $line =~
            /(?<![\w.>])(sprintf|vsprintf|strcpy|strcat|strtok|atoi|atol|gets|alloca$alloc)\s*\(/;
        push @wrong, "$file:$n: // comment" if $line =~ m{(?<!:)//};
    }
}
is_deeply \@wrong, [], 'no banned function, no // comment';

# --- sizes: a long file or function asks whether a noun is missing.  What is
# longer than most stands here, with the reason why it is not cut.

my %long = (
    'src/debuginfo/dwarf/entry_walk.c' =>
        'one walk through a unit, and each entry that it takes',
    'src/symcached/fetch/fetch.c' =>
        'the states of one transfer, which are drawn at its top',
    'src/proto/symbol_path.c' =>
        'one path, in each of its forms',
    'src/worker_pool/pool.c' =>
        'one pool, whose workers and works end each other',
    'src/symcached/store/evict_pass.c' =>
        'one walk through all trees, and each rule by which it removes',
    'src/symcached/intake/unpack_main.c' =>
        'one process, from its arguments to its last line',
    'src/symcached/intake/upload_main.c' => 'likewise',
    'src/symbolicated/api/symbolicator/candidates.c' =>
        'one list of places, whose entries each source of them completes',
    't/unit/layout.c' =>
        'the places of each layout, and every rule of a walk through them',
    't/unit/negcache.c' =>
        'one clock and one store, and every rule of what is known of a key',
    'src/symbolicated/search/search.c' =>
        'the steps of a seek, which each lead to any other one',
    'src/symcached/guest/guests.c' => 'one table of stores, and who may have one',
    'src/symcached/tier/s3.c' => 'one request each, and what each answer to it means',
    'src/symcached/server/upload_page.c' =>
        'one request each, and what each outcome of it is answered',
    'src/symcached/upload/upload.c' =>
        'the steps of one upload, and the turn of each',
    'src/symcachectl/helper/upload.c' =>
        'one pass over files, and each answer that ends it',
);
my ($lines_max, $function_max) = (700, 60);

# Tells of everything that is long; remembers what has no reason.
sub long {
    my ($where, $n, $max, $wrong) = @_;
    return if $n <= $max;
    diag "$where: $n lines: ", $long{$where} // 'why?';
    push @$wrong, "$where: $n lines" unless delete $long{$where};
}

@wrong = ();
for my $file (@c) {
    my $n = 0;
    for my $line (split /\n/, $text{$file}) {
        $n++;
        push @wrong, "$file:$n: tab" if $line =~ /\t/;
        push @wrong, "$file:$n: trailing blank" if $line =~ /[ \r]$/;
        push @wrong, "$file:$n: " . length($line) . ' columns'
            if length $line > 80;
    }
    long($file, $n, $lines_max, \@wrong);
}
for my $file (glob 'src/module/status/page.*') {
    push @wrong, map { "$file: $_" }
        grep { length > 80 || /\t|\s$/ } split /\n/, slurp($file);
}
is_deeply \@wrong, [], 'no line over 80 columns, no long file without a reason';

@wrong = ();
for my $file (grep { /\.c$/ } @c) {
    my ($n, $start, $name) = (0, 0);
    for my $line (split /\n/, $text{$file}) {
        $n++;
        $name = $1 if $line =~ /^(?:\w[\w *]*?[ *])?(\w+)\(/;
        $start = $n if $line eq '{';
        if ($line eq '}' && $start) {
            long("$file: $name()", $n - $start - 1,
                 $file =~ m{^t/} ? 110
                 : $file =~ m{^src/module/|^ngx_} ? 65 : $function_max,
                 \@wrong);
            $start = 0;
        }
    }
}
is_deeply \@wrong, [], 'no long function without a reason';
is_deeply [sort keys %long], [], 'each reason is of something that is long';

@wrong = grep { m{/(?:\w+_)?(?:util|utils|common|misc|helpers)\.[ch]$} } @c;
is_deeply \@wrong, [], 'every file is named by a noun';

# A comment that says where something is must be right after a move, too.
my %there = map { $_ => 1 } 'curl.h', 'sysexits.h', # of others
    'ngx_http_try_files_module.c', map { m{([^/]+)$} } @c;
@wrong = ();
for my $file (grep { m{^src/} } @c) {
    for my $comment ($text{$file} =~ m{/\*.*?\*/}gs) {
        push @wrong, map { "$file: $_" } grep { !$there{$_} }
            $comment =~ m{(?<![\w.<>\{\}/-])([a-z]\w*\.[ch])\b(?![(])}g;
    }
}
is_deeply \@wrong, [], 'files that comments name are there';

# --- words: these are former ones.  docs/internals/glossary.md has one word
# for each thing; names on the wire, in metrics and in settings stay as they
# are, and with them an identifier that is called as such a name.

my @former = (    # parts of identifiers, the word for it now, where it counts
    ['verdict', 'classification', ''],
    ['receipts?', 'body_file', ''],
    ['parks?|parked', 'detached, suspend', ''],
    ['held|holds?', 'waiting lookup, attempt queue', 'src/symcached/'],
    ['ahead', 'prefetch', 'src/symcached/(?:job|source)/'],
    ['trails?', 'attempt_log', ''],
    ['tally|tallies', 'source_stats', ''],
    ['remembered|blocked', 'negcache', ''],
    ['spellings?', 'name_variants', 'src/(?!module/)'],
    ['sweeps?|swept', 'evict', ''],
    ['ages', 'age_histogram', ''],
    ['quality', 'provenance', ''],
    ['sidecars?', 'gzip_file', ''],
    ['symfile', 'symc', ''],
    ['remover', 'async_unlink', ''],
    ['tickets?', 'spnego', ''],
    ['guard', 'reaper', ''],
    ['inspect|inspected|inspection', 'validate', ''],
    ['asking', 'warm_run', ''],
    # a tree is also a data structure, and what a pass of cleaning walks
    ['tree', 'dir, casefold', 'src/symcached/(?:source|unpack)/'],
    # elsewhere it is the capacity of an array
    ['rooms?', 'space', 'src/symcached/'],
);
my %called_so = map { $_ => 1 } qw(look_ahead_after OUTDATED_SPELLING
    METRIC_OUTDATED_SPELLING);

@wrong = ();
for my $file (grep { m{^(?:src|t/unit)/|^ngx_} } @c) {
    my %id = map { $_ => 1 } code($text{$file}) =~ /\b([A-Za-z_]\w*)\b/g;
    for my $f (@former) {
        my ($word, $now, $where) = @$f;
        next unless $file =~ /^$where/;
        push @wrong, map { "$file: $_, say $now" }
            grep { /(?:^|_)(?:$word)(?:_|$)/i && !$called_so{$_} } sort keys %id;
    }
    # types that had the names of other things; and words of comments
    push @wrong, map { "$file: $_" } $text{$file} =~
        /(struct (?:jobs|place|names|signature)\b)/g;
    push @wrong, map { "$file: $_" } $text{$file} =~
        /\b(sidecars?|remover|sweeps?|verdicts?|tally|parked)\b/gi;
    push @wrong, map { "$file: $_" } $text{$file} =~
        /(ngx_symcache_(?:made|folder|park|try(?!_files)|peer|tell)_)/g;
}
is_deeply \@wrong, [], 'no former word is left over';

# --- no port of the machine is taken for granted: the configurations that
# tests write are checked when they are written

for (['access_log /l; server { listen unix:/s; server_name x; }', ''],
     ['access_log /l; server { root /r; }', "a server without listen\n"],
     ['access_log /l; server { listen 80; }', "listen 80: not a Unix socket, "
      . "nor a port of 127.0.0.1\n"],
     ['server { listen unix:/s; }', "no access_log\n"]) {
    my ($text, $error) = @$_;
    eval { Test::Symcache::check_nginx_config($text) };
    is $@, $error, "nginx configuration: $text";
}
@wrong = ();
for my $file ('tools/demo', 'bench/rig.py') {
    my (undef, @servers) = split /\bserver\s*\{/, slurp($file);
    push @wrong, $file unless @servers;
    push @wrong, "$file: " . substr($_, 0, 60)
        for grep { !/^\s*\{?\s*listen 127\.0\.0\.1:[\$\{]/ } @servers;
}
is_deeply \@wrong, [], 'each nginx that is started says where it listens';

# --- nothing stands at the top but what a reader looks for there

if (-e '.git') {
    my %at_top = map { s{/.*}{}sr => 1 } split /\0/, `git ls-files -z`;
    is join(' ', sort keys %at_top),
        '.ci .clang-format .gitignore CHANGELOG.md LICENSE Makefile README.md'
        . ' bench completion conf-examples config config.make docs fuzz man'
        . ' ngx_symcache_module.c packaging src t tools',
        'no stray file at the top';
}

# --- what a test leaves behind is looked at

@wrong = grep {
    open my $f, '<', $_ or die "$_: $!";
    my $test = do { local $/; <$f> };
    $test =~ /(?:Symcache|Uploads|ModuleCase)->new/ && $test !~ /\bfinish\b/;
} split /\0/, `git ls-files -z 't/*.t'`;
is_deeply \@wrong, [], 'every test with a folder of daemons has finish()';

# In a condition glob is an iterator: what waits for an empty folder goes on at
# its second or third look.
@wrong = grep {
    open my $f, '<', $_ or die "$_: $!";
    my $test = do { local $/; <$f> };
    $test =~ /(?:!|&&|\|\||\bunless|\bnot) *glob\b/;
} split /\0/, `git ls-files -z 't/*.t' 't/*.pm'`;
is_deeply \@wrong, [], 'no glob is a condition';

# --- licence

@wrong = grep { $text{$_} !~ /Copyright \(C\) the ngx_symcache authors/ } @c;
is_deeply \@wrong, [], 'every C file names its authors';

done_testing;
