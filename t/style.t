#!/usr/bin/perl

# Rules that a reader should be able to rely on: who may include whom, which
# functions are never called, how long lines, functions and files get, and
# that the README knows every directive, configuration key and metric.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Test::More;

my $top = abs_path(dirname(__FILE__) . '/..');
chdir $top or die "$top: $!";

sub slurp {
    my ($file) = @_;
    open my $fh, '<', $file or die "$file: $!";
    local $/;
    return scalar <$fh>;
}

# C text without comments and strings, line numbers kept
sub code {
    my ($text) = @_;
    $text =~ s{(/\*.*?\*/)|("(?:\\.|[^"\\\n])*")|('(?:\\.|[^'\\\n])+')}{
        my $s = $1 // ''; my $n = () = $s =~ /\n/g;
        defined $1 ? "\n" x $n : '""'
    }gsex;
    return $text;
}

my @c = grep { -f } glob('*.[ch] src/*/*.[ch] t/unit/*.[ch] fuzz/*.[ch]');
my %text = map { $_ => slurp($_) } @c;

# --- dependencies point one way

my %may = (    # folder => folders of src that it may include from
    proto => [],
    pdb => [qw(proto)],
    symcache => [qw(proto)],
    sandbox => [],
    module => [qw(proto)],
    symcached => [qw(proto pdb symcache sandbox)],
    pdb2symcache => [qw(proto pdb symcache sandbox)],
    symcachectl => [qw(proto pdb symcache sandbox)],
);
my @wrong;
for my $file (grep { m{^src/} } @c) {
    my ($folder) = $file =~ m{^src/([^/]+)/};
    for my $inc ($text{$file} =~ /^\s*#\s*include\s+"([^"]+)"/mg) {
        my ($to) = $inc =~ m{^([^/]+)/} or next;
        push @wrong, "$file includes $inc"
            unless $to eq $folder || grep { $_ eq $to } @{ $may{$folder} };
    }
    push @wrong, "$file includes nginx"
        if $folder ne 'module' && $text{$file} =~ /#\s*include\s+<ngx_/;
}
is_deeply \@wrong, [], 'dependencies point one way';

@wrong = ();
for my $file (grep { m{^src/proto/} } @c) {
    push @wrong, "$file includes <$_>"
        for grep { !/^(?:stdint|stddef|string)\.h$/ }
            $text{$file} =~ /#\s*include\s+<([^>]+)>/g;
}
is_deeply \@wrong, [], 'src/proto needs no library';

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

# --- sizes

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
    push @wrong, "$file: $n lines"
        if $n > ($file =~ m{^src/symcached/} ? 700 : 1000);
}
is_deeply \@wrong, [], 'no line over 80 columns, no file too long';

@wrong = ();
for my $file (grep { /\.c$/ } @c) {
    my ($n, $start) = (0, 0);
    for my $line (split /\n/, $text{$file}) {
        $n++;
        $start = $n if $line eq '{';
        if ($line eq '}' && $start) {
            my $len = $n - $start - 1;
            push @wrong, "$file:$start: function of $len lines"
                if $len > ($file =~ m{^src/symcached/} ? 60 : 140);
            $start = 0;
        }
    }
}
is_deeply \@wrong, [], 'no function too long';

@wrong = grep { m{/(?:\w+_)?(?:util|utils|common|misc|helpers)\.[ch]$} } @c;
is_deeply \@wrong, [], 'every file is named by a noun';

# --- licence

@wrong = grep { $text{$_} !~ /Copyright \(C\) the ngx_symcache authors/ } @c;
is_deeply \@wrong, [], 'every C file names its authors';

# --- README

my $readme = slurp('README.md');
my @directives = map { $text{$_} =~ /ngx_string\("(symcache(?:_\w+)?)"\),?\s*\n\s*NGX_/g }
    grep { /^ngx_|^src\/module\// } @c;
ok @directives > 10, 'found the directives';
is_deeply [grep { $readme !~ /^#+ `?\Q$_\E`?$/m } @directives], [],
    'README has a heading for every directive';

# what the table of commands says: where a directive may stand
my %section = $readme =~ /^### (symcache\w*)\n(.*?)(?=^##|\z)/gms;
my %commands = map { /ngx_string\("(symcache(?:_\w+)?)"\),\s*\n\s*(NGX_[\w|]+)/g }
    map { $text{$_} } grep { /^ngx_/ } @c;
my %context = (MAIN => 'http', SRV => 'server', LOC => 'location');
@wrong = ();
for my $name (sort keys %commands) {
    my %row = ($section{$name} // '') =~ /^\| (Syntax|Default|Context) \| (.+) \|$/mg;
    push @wrong, "$name: no $_" for grep { !$row{$_} } qw(Syntax Default Context);
    push @wrong, "$name: Syntax of another"
        if ($row{Syntax} // '') !~ /^`\Q$name\E\b/;
    for my $flag (sort keys %context) {
        my $has = ($row{Context} // '') =~ /`$context{$flag}`/;
        push @wrong, "$name: Context: $context{$flag}"
            if $has != ($commands{$name} =~ /NGX_HTTP_${flag}_CONF/);
    }
}
is_deeply \@wrong, [], 'with Syntax, Default, and the Context of the source';

my @fields = (
    ($text{'src/module/ngx_symcache_page.c'} =~ /^    \{ "([a-z_]+)", "[^"]+", NGX_/mg),
    ($text{'src/module/ngx_symcache_zone.h'} =~ /^    X\([A-Z_]+, ([a-z_]+),/mg));
ok @fields > 40, 'found the fields of the status page';
is_deeply [grep { $section{symcache_status} !~ /`\Q$_\E`/ } @fields], [],
    'README has every field of the status page';

my @variables = map { $text{$_} =~ /ngx_string\("(symcache_\w+)"\),\s*(?:NULL|ngx_http_symcache_set)/g }
    grep { /variables/ } @c;
is_deeply [grep { $readme !~ /[\$]\Q$_\E\b/ } @variables], [],
    'README has every variable';

my %metrics = map { $_ => 1 } map { $_ =~ /"(symcached?_[a-z_]+)["{]/g }
    map { $text{$_} } grep { m{metrics|^src/symcached/} } @c;
is_deeply [grep { $readme !~ /\Q$_\E\b/ } sort keys %metrics], [],
    'README has every metric';

# a label stands in the row of its metric, and each of its values
my @rows = grep { /^\| `symcached_/ } split /\n/, $readme;
my $counters = $text{'src/symcached/metrics.h'} =~ s/\\\n//gr;
@wrong = ();
while ($counters =~ /X\(\w+,\s*"(\w+)",\s*"(\w+)=\\"(\w+)\\"/g) {
    my ($name, $label, $value) = ($1, $2, $3);
    push @wrong, "$name $label $value"
        unless grep { /`\Q$name\E\{\Q$label\E\}`.*`\Q$value\E`/ } @rows;
}
is_deeply \@wrong, [], 'README has every label of a counter';

my %keys = map { $_ => 1 } map { /(?:\{"|(?<!define )\b(?:LIMIT|CACHE|FIELD|TRANSPORT|BUCKET)\("?)([a-z_]\w+)[",]/g }
    map { $text{$_} } grep { m{symcached/config} } @c;
ok keys %keys > 20, 'found the configuration keys';
is_deeply [grep { $readme !~ /[`."]\Q$_\E[`."]/ } sort keys %keys], [],
    'README has every configuration key';

done_testing;
