#!/usr/bin/perl

# The documents and the code say the same: each directive, variable, metric,
# configuration key, log word, path of the socket and field of the status page
# that the code knows is documented in the one place for it, and nothing else
# is.  Every relative link and anchor leads somewhere, here and where make
# install puts the documents; make uninstall leaves nothing behind.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Find qw(find);
use File::Temp;
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::File;
use Test::More;

my $top = abs_path(dirname(__FILE__) . '/..');
chdir $top or die "$top: $!";
my $build = abs_path($ENV{SYMCACHE_BUILD} // "$top/build");
my $dir = File::Temp->newdir('symcache-docs-XXXXXX', TMPDIR => 1);

# The sources, wherever in src/ they are.
my %code;
find({ no_chdir => 1, wanted => sub { $code{$_} = slurp($_) if /\.[ch]$/ } },
     'src');
$code{$_} = slurp($_) for glob '*.c';

my %doc = map { $_ => slurp($_) } 'README.md', 'CHANGELOG.md',
    'conf-examples/README.md', glob('docs/*.md docs/internals/*.md');
my $directives = $doc{'docs/directives.md'};
my $configuration = $doc{'docs/configuration.md'};
my $operations = $doc{'docs/operations.md'};
my $metrics = $doc{'docs/metrics.md'};

# What stands in only one of the two lists, as "code only: x", "docs only: y".
sub same {
    my ($code, $docs, $name) = @_;
    my %code = map { $_ => 1 } @$code;
    my (%docs, @wrong);
    $docs{$_}++ for @$docs;
    push @wrong, map { "only the code has $_" } grep { !$docs{$_} }
        sort keys %code;
    push @wrong, map { "only the documents have $_" } grep { !$code{$_} }
        sort keys %docs;
    push @wrong, map { "$_ is documented twice" } grep { $docs{$_} > 1 }
        sort keys %docs;
    ok keys %code > 0, "$name: found in the code";
    is_deeply \@wrong, [], "$name: the same in code and documents";
}

# All matches of a pattern in the sources whose path matches another.
sub in_code {
    my ($re, $path) = @_;
    return map { $code{$_} =~ /$re/g } grep { !$path || /$path/ }
        sort keys %code;
}

# --- directives: a heading each, and what the table of commands says

my @directives =
    in_code(qr/ngx_string\("(symcache(?:_\w+)?)"\),?\s*\n\s*NGX_/);
same(\@directives, [$directives =~ /^## (symcache\w*)$/mg], 'directives');

my %section = $directives =~ /^## (symcache\w*)\n(.*?)(?=^## |\z)/gms;
my %commands =
    in_code(qr/ngx_string\("(symcache(?:_\w+)?)"\),\s*\n\s*(NGX_[\w|]+)/);
my %context = (MAIN => 'http', SRV => 'server', LOC => 'location');
my @wrong;
for my $name (sort keys %commands) {
    my %row =
        ($section{$name} // '') =~ /^\| (Syntax|Default|Context) \| (.+) \|$/mg;
    push @wrong, "$name: no $_"
        for grep { !$row{$_} } qw(Syntax Default Context);
    push @wrong, "$name: Syntax of another"
        if ($row{Syntax} // '') !~ /^`\Q$name\E\b/;
    for my $flag (sort keys %context) {
        my $has = ($row{Context} // '') =~ /`$context{$flag}`/;
        push @wrong, "$name: Context: $context{$flag}"
            if $has != ($commands{$name} =~ /NGX_HTTP_${flag}_CONF/);
    }
}
is_deeply \@wrong, [], 'Syntax, Default, and the Context of the source';

my %directive = map { $_ => 1 } @directives;

# --- variables

my @variables = in_code(
    qr/ngx_string\("(symcache_\w+)"\),\s*(?:NULL|ngx_http_symcache_set)/);
same(\@variables, [$directives =~ /^\| `\$(symcache_\w+)` \| (?!answer)/mg],
     'variables');
my %variable = map { $_ => 1 } @variables;
is_deeply [map { my $f = $_; map { "$f: \$$_" } grep { !$variable{$_} }
                 $doc{$f} =~ /\$(symcache_\w+)/g } sort keys %doc],
    [], 'no document names a variable that there is not';

# --- fields of the status page

my $page = slurp('src/module/status/page.html');
my @fields = $page =~ /data-(?:field|job|count)="([a-z_]+)"/g;
ok @fields > 40, 'found the fields of the status page';
is_deeply [grep { $section{symcache_status} !~ /`\Q$_\E`/ } @fields], [],
    'symcache_status has every field of the status page';

# what the helper sends, and what the page shows of it
my ($lists) = grep { m{server/status_page\.c$} } keys %code;
same([map { /"([a-z_]+)"/g } $code{$lists} =~ /_fields = (\{.*?\};)/gs],
     [keys %{ { map { $_ => 1 }
        $page =~ /data-(?:field|job)="(?!pdb|status)([a-z_]+)"/g } }],
     'fields of the helper, on the page');

# counters, and their meaning
my %meaning = in_code(qr/^    X\([A-Z_]+, ([a-z_]+), "([^"]+)"\)/m,
                      qr/module.*zone/);
is_deeply { $page =~ m{<tr><th\ scope="row">([a-z_]+)</th>\s*<td>([^<]+)</td>
                       \s*<td\ data-count="\1"}gx },
    \%meaning, 'counters on the page, and what they mean';

# --- metrics of the module

my %field = map { $_ => 1 } @fields, 'requests';
my @counted = $section{symcache_status} =~ /^\| `symcache_(\w+)_total\{/mg;
is_deeply [grep { !$field{$_} } @counted], [],
    'no counter of the module that there is not';
ok @counted > 4, 'found its counters';
same([in_code(qr/"symcache_(\w+)\{zone=/) ], ['requests_total',
    $section{symcache_status} =~ /`symcache_(zone_\w+)\{zone\}`/g],
    'gauges of the module');

# --- metrics: one row each, with every label and value

my %metrics = map { $_ => 1 } in_code(qr/"(symcached_[a-z_]+)["{]/);
my @rows = grep { /^\| `symcached_/ } split /\n/, $metrics;
my @named = map { my ($first) = /^\| (.*?) \|/; $first =~ /`(symcached_\w+)/g }
    @rows;
same([keys %metrics], \@named, 'metrics of symcached');
my ($process) = grep { /^\| `process_\w+`,/ } split /\n/, $metrics;
same([in_code(qr/"(process_[a-z_]+)"/, qr{src/metrics/})],
     [$process =~ /`(process_\w+)`/g], 'metrics of any process');

my ($counters) = map { s/\\\n//gr } grep { /X\(LOOKUP_HIT/ } values %code;
@wrong = ();
while ($counters =~ /X\(\w+,\s*"(\w+)",\s*"(\w+=[^\s]*)"/g) {
    my ($name, $all) = ($1, $2);
    my @labels = map { [split /=/] } split /,/, $all =~ s/\\"//gr;
    my $labels = join ',', map { $_->[0] } @labels;
    for my $value (map { $_->[1] } @labels) {
        push @wrong, "$name $labels $value"
            unless grep { /`\Q$name\E\{\Q$labels\E\}`.*`\Q$value\E`/ } @rows;
    }
}
is_deeply \@wrong, [], 'every label of a counter, and its values';

my $symbolication = $doc{'docs/symbolication.md'};
same([in_code(qr/"(symbolicated_[a-z_]+)["{ ]/, qr{src/symbolicated/})],
     [map { my ($first) = /^\| (.*?) \|/; $first =~ /`(symbolicated_\w+)/g }
      grep { /^\| `symbolicated_/ } split /\n/, $metrics],
     'metrics of symbolicated');

# --- configuration keys: one row each

my @keys = grep { /^\| `(?:(?:admin_)?listen|downloads|(?:stores|sources|tiers|limits|cache|symbolication|uploads)\b)/ }
    split /\n/, $configuration;
my (%key, @paths);
for my $row (@keys) {
    my ($path, $type, $default, $range, $meaning) =
        map { s/^\s+|\s+$//gr } (split /(?<!\\)\|/, $row)[1 .. 5];
    $path =~ s/^`|`$//g;
    push @paths, $path;
    $key{$path} = { type => $type, default => $default, range => $range };
    push @wrong, "$path: type or meaning is missing"
        if $type eq '' || ($meaning // '') eq '';
}
is_deeply \@wrong, [], 'a key has a type and a meaning';

# the names that the code reads, in any of its tables
my %in_code = map { $_ => 1 } in_code(
    qr/(?:\{"|(?<!define )\b[A-Z][A-Z_]*\("?)([a-z]\w+)"?, *\n? *&?(?:config_|field_|read_|count|size|duration)/,
    qr{config|symcached/source});
same([keys %in_code], [keys %{ { map { m/([a-z_]+)$/ => 1 } @paths } }],
     'names of configuration keys');
my %times;
is_deeply [grep { $times{$_}++ } @paths], [], 'each in one row';

# symcached's opinion of a configuration
sub opinion {
    my ($json) = @_;
    open my $f, '>', "$dir/c.json" or die "$dir: $!";
    print $f $json;
    close $f;
    my $text = `$build/symcached -t -c $dir/c.json 2>&1`;
    return ($? >> 8, $text);
}

# The JSON that has a value at a path, in a file that is good without it.
sub json_with {
    my ($path, $value) = @_;
    my @names = split /\./, $path;
    my $json = $value;
    for my $name (reverse @names) {
        $json = $name =~ /^(\w+)\[\]$/ ? qq({"$1": [$json]})
            : qq({"$name": $json});
    }
    $json =~ s/("uploads": \{)"(?!root)/$1"root": "\/up", "/;
    $json =~ s/^\{/{"stores": {"S": {"root": "\/tmp"}}, /
        unless $path =~ /^stores/;
    return $json;
}

@wrong = ();
for my $path (@paths) {
    my (undef, $said) = opinion(json_with($path, 'null'));
    push @wrong, "$path: $said" if $said =~ /unknown key|is good/;
}
is_deeply \@wrong, [], 'symcached knows each of them where it stands';
my (undef, $unknown) = opinion(json_with('limits.nothing', 1));
like $unknown, qr/limits\.nothing: unknown key/, 'and no other';

# what a document says of a path is a key that there is
is_deeply [map { my $f = $_; map { "$f: $_" }
    grep { !$key{$_} && !$key{s/\.NAME\b.*//r} }
    $doc{$f} =~ /`((?:limits|cache)\.(?!conf\b)\w+|(?:stores|sources)\.NAME\.[\w.\[\]]*\w)`/g }
    sort keys %doc], [], 'documents name keys that there are';

# --- defaults and ranges

# A value as documented, in seconds or bytes; undef for what is none.
sub value {
    my ($text, $type) = @_;
    my %unit = $type eq 'duration'
        ? (w => 604800, d => 86400, h => 3600, m => 60, s => 1)
        : (k => 1024, m => 1024 ** 2, g => 1024 ** 3, t => 1024 ** 4, '' => 1);
    my ($inner) = $text =~ /^"?((?:\d+[a-z]?)+)"?$/ or return undef;
    my $sum = 0;
    $sum += $1 * $unit{$2} while $inner =~ /(\d+)([a-z]?)/g;
    return $sum;
}

my %number = (MIB => 1024 ** 2, GIB => 1024 ** 3, TIB => 1024 ** 4, DAY => 86400);
my %default;
for my $part (in_code(
        qr/(struct \w+_config default_\w+ = \{\n.*?\n\};)/s, qr/config/)) {
    my ($section) = map { s/^symbolication_/symbolication./r }
        $part =~ /default_(\w+)/;
    while ($part =~ /\.(\w+) = ([\w *]+),/g) {
        my ($name, $value) = ($1, 1);
        next if $2 =~ /^(?:true|[A-Z]+_\w+)$/;
        $value *= $number{$_} // $_ for split / \* /, $2;
        $default{"$section.$name"} = $value;
    }
}
delete $default{'cache.min_free_percent'};
@wrong = map { "$_: $key{$_}{default}" }
    grep { my ($text) = $key{$_}{default} =~ /^`?(.*?)`?$/;
           ($default{$_} // -1) != (value($text, $key{$_}{type}) // -2) }
    grep { /^(?:symbolication\.)?(?:limits|cache)\./
           && !/^(?:cache\.min_free|symbolication\.limits\.files)$/ } @paths;
is_deeply \@wrong, [], 'the defaults are those of the code';

@wrong = ();
my $ranges = 0;
for my $path (grep { /^(?:symbolication\.)?(?:limits|cache)\./ } @paths) {
    my ($low, $high) = $key{$path}{range} =~ /^`?("?\w+"?)`? to `?("?\w+"?)`?$/
        or next;
    $ranges++;
    my $quote = $low =~ /"/ ? '"' : '';
    my $unit = $key{$path}{type} eq 'duration' ? 's' : '';
    my ($least, $most) = map { value($_, $key{$path}{type}) } $low, $high;
    my @try = ([$low, 0], [$high, 0],
               [$quote . ($most + 1) . "$unit$quote", 1]);
    push @try, [$quote . ($least - 1) . "$unit$quote", 1] if $least > 0;
    for my $try (@try) {
        my ($code, $said) = opinion(json_with($path, $try->[0]));
        push @wrong, "$path: $try->[0]: $said" if $code != $try->[1];
    }
}
ok $ranges > 20, 'found the ranges';
is_deeply \@wrong, [], 'the ranges are those that symcached accepts';

# --- exit codes

my %exits = (
    'pdb2symcache.1' => [in_code(qr/\b(?:FAILURE|EXIT)_\w+ = (\d+)/,
                                 qr{src/(?:debuginfo|converter)/})],
    'symcachectl.1' => [in_code(qr/\b(?:COMMAND|EXIT)_\w+ = (\d+)/,
                                qr{src/symcachectl/})],
    'symcached.8' => [0, in_code(qr/\bEXIT_\w+ = (\d+)/,
                                 qr{src/(?:base/daemon_start|symcached/tier/tier_command)\.})],
    'symbolicated.8' => [0, in_code(qr/\bEXIT_\w+ = (\d+)/,
                                    qr{src/base/daemon_start\.})],
);
for my $page (sort keys %exits) {
    my ($told) = slurp("man/$page") =~ /^\.Sh EXIT STATUS\n(.*?)^\.Sh /ms;
    same($exits{$page}, [$told =~ /^\.It (\d+)$/mg], "exit codes in $page");
}

# --- words of the log, name=value

my @words = in_code(qr/(?<![\w%?&])([a-z_]+)=%[.lsuzd]/, qr{src/symcached/});
my ($log) = $operations =~ /^## Log\n(.*?)(?=^## |\z)/ms;
my %word = map { $_ => 1 } @words;
same([keys %word], [map { /`(\w+)`/g } $log =~ /^\| (`.*?`) \| `/mg],
     'words of the log');

same([in_code(qr/(?<![\w%?&])([a-z_]+)=(?:%[.lsuzd]|")/,
              qr{src/symbolicated/(?!api|stats)\w*})],
     [map { /`(\w+)`/g } ($symbolication =~ /^## Log\n(.*?)(?=^## |\z)/ms)[0]
      =~ /^\| (`.*?`) \|/mg], 'words of the log of symbolicated');

# --- what the internals say of the code is there

my %function = map { $_ => 1 } in_code(qr/^(?:\w[\w *]*?[ *])?(\w+)\(/m);
@wrong = ();
for my $file (grep { /internals/ } sort keys %doc) {
    push @wrong, map { "$file: $_()" } grep { !$function{$_} }
        $doc{$file} =~ /\b(\w+)\(\)/g;
    push @wrong, map { "$file: $_" } grep { !/NAME/ && !-e }
        $doc{$file} =~ m{`((?:src|t|docs|tools|bench|fuzz)/[\w./-]+)`}g;
}
is_deeply \@wrong, [], 'functions and files that the internals name';

my @rooms = map { s{^src/}{}r } grep { -d }
    glob 'src/* src/module/* src/symcached/* src/symbolicated/*'
    . ' src/symcachectl/*';
my ($table) = $doc{'docs/internals/architecture.md'} =~
    /^## Rooms\n(.*?)^## /ms;
same([grep { $_ ne 'symcached' } @rooms],
     [map { /`([\w\/]+)`/g } $table =~ /^\| (`.*?`) \|/mg], 'rooms');

# --- links

# The anchor that a heading has on the usual hosts.
sub anchors {
    my ($text) = @_;
    my (%seen, @anchors);
    $text =~ s/^```.*?^```//gms;
    for ($text =~ /^#+ +(.*?)\s*$/mg) {
        my $anchor = lc s/\[([^\]]*)\]\([^)]*\)/$1/gr;
        $anchor =~ s/[^\w\- ]//g;
        $anchor =~ tr/ /-/;
        push @anchors, $anchor . ($seen{$anchor} ? "-$seen{$anchor}" : '');
        $seen{$anchor}++;
    }
    return @anchors;
}

my %anchors = map { $_ => { map { $_ => 1 } anchors($doc{$_}) } } keys %doc;

# Links of the documents below a folder that lead nowhere, and how many there
# are.
sub links {
    my ($root) = @_;
    my ($links, @wrong) = (0);
    for my $file (sort keys %doc) {
        (my $text = $doc{$file}) =~ s/^```.*?^```//gms;
        $text =~ s/`[^`\n]*`/`/g;
        for my $link ($text =~ /\]\(([^)\s]+)\)/g) {
            next if $link =~ m{^https?://};
            $links++;
            my ($path, $anchor) = split /#/, $link, 2;
            my $to = $file;
            if ($path ne '') {
                $to = dirname($file) eq '.' ? $path : dirname($file) . "/$path";
                1 while $to =~ s{(^|/)(?!\.\.)[^/]+/\.\./}{$1};
            }
            push @wrong, "$file: $link: no $to" unless -e "$root/$to";
            push @wrong, "$file: $link: no such heading"
                if defined $anchor && !($anchors{$to} && $anchors{$to}{$anchor});
        }
    }
    return ($links, @wrong);
}

my $links;
($links, @wrong) = links($top);
ok $links > 20, 'found the links';
is_deeply \@wrong, [], 'every relative link and anchor leads somewhere';

# --- where they are installed

my $make = "make -s B=$build"
    . ($ENV{SYMCACHE_SAN} ? " SAN=$ENV{SYMCACHE_SAN}" : '')
    . " DESTDIR=$dir/installed PREFIX=/opt";
delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)};
my $said = `$make install 2>&1`;
is $?, 0, 'make install' or diag $said;
($links, @wrong) = links("$dir/installed/opt/share/doc/ngx_symcache");
is_deeply \@wrong, [], 'links of installed documents lead somewhere';
my @pages = map { m{([^/]+)$} } glob "$dir/installed/opt/share/man/man[1578]/*";
is_deeply [sort @pages], [qw(ngx_symcache_module.7 pdb2symcache.1
    symbolicated.8 symcachectl.1 symcached.8 symcached.json.5
    symcachegen-ssh.1 symcachegen-wine.1)], 'manual pages';
mkdir "$dir/installed/opt/include";
$said = `$make uninstall 2>&1`;
is $?, 0, 'make uninstall' or diag $said;
my @left;
find({ no_chdir => 1, wanted => sub { push @left, $_ } }, "$dir/installed");
is_deeply \@left, ["$dir/installed", "$dir/installed/opt", "$dir/installed/opt/include"],
    'leaves nothing but what was not its own';

# --- the shape of README and of the changelog

cmp_ok scalar(() = $doc{'README.md'} =~ /\n/g), '<', 200,
    'README has less than 200 lines';

my $changelog = $doc{'CHANGELOG.md'};
my ($first) = $changelog =~ /^## (.*)$/m;
is $first, '[Unreleased]', 'the changelog begins with what is unreleased';
@wrong = grep { !/^(?:Added|Changed|Deprecated|Removed|Fixed|Security)$/ }
    $changelog =~ /^### (.*)$/mg;
is_deeply \@wrong, [], 'its sections are those of Keep a Changelog';
@wrong = ();
for my $section (split /^## /m, $changelog) {
    my %n;
    push @wrong, grep { $n{$_}++ } $section =~ /^### (.*)$/mg;
}
is_deeply \@wrong, [], 'each once in a release';

# --- sentences that read stiffly: a list to look at with "prove -v", no wall

my %stiff = (
    'a sentence that begins with a free "what" clause' =>
        qr/(?:^|[.:] |^[-|] )((?:What|Whoever|Who) [a-z].{0,40})/m,
    '"is no"' => qr/(.{0,30}\bis no\b.{0,30})/,
    '", too" at the end' => qr/(.{0,40}, too\b)(?! \w)/,
    'an actor without a name' =>
        qr/(.{0,30}\b(?:[Nn]obody|[Ss]omebody|[Ee]verybody|[Ww]hoever)\b.{0,30})/,
    'a heading that is no noun phrase' =>
        qr/^(\#+ (?:What|Who|How|Why|When|Where|Which|Is|Does|Can)\b.*)/m,
);
for my $pattern (sort keys %stiff) {
    my @hits;
    for my $f (sort grep { /^(?:README|docs)/ } keys %doc) {
        # outputs of programs are theirs
        my $text = $doc{$f} =~ s/^ *```.*?^ *```$//gmsr;
        push @hits, map { "$f: $_" } $text =~ /$stiff{$pattern}/g;
    }
    note "$pattern: ", scalar @hits;
    note "    $_" for @hits;
}

done_testing;
