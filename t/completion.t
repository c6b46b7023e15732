#!/usr/bin/perl

# What bash and zsh complete is what symcachectl takes: its commands, and the
# options of each in the tables that parse them.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::File;
use Test::More;

my $top = abs_path(dirname(__FILE__) . '/..');
chdir $top or die "$top: $!";

# --- what the code takes

my %source = map { $_ => slurp($_) } 
    glob 'src/symcachectl/*.[ch] src/symcachectl/*/*.[ch]';
my ($table) = $source{'src/symcachectl/main.c'} =~ /\} commands\[\] = \{(.*?)\n\};/s;
my @commands = $table =~ /\{"([\w-]+)"/g;
cmp_ok @commands, '>', 10, 'commands';

my %macro;
for (values %source) {
    $macro{$1} = $2 while /#define (\w+_OPTIONS)\(s\)((?:.*\\\n)+.*)/g;
}

sub options {
    my ($text) = @_;
    $text =~ s/\b(\w+_OPTIONS)\([^)]*\)/$macro{$1}/ while $text =~ /_OPTIONS\(/;
    return $text =~ /\{?\s*"(--?[\w-]+)",/g;
}

my %options;
for my $command (@commands) {
    my $name = $command =~ tr/-/_/r;
    my ($file) = grep { m{/$name\.c$} } keys %source;
    my $code = $source{$file};
    $options{$command} = $code =~ /option_spec specs\[\] = \{(.*?)\};/s
        ? [sort(options($1))]
        : [$code =~ /"(--json)"/ ? '--json' : ()];
}
is_deeply $options{forget},
    [sort qw(-c --store --json --socket --peers --malformed-since)], 'as read here';

# --- bash

sub lines_of {
    my (@command) = @_;
    open my $p, '-|', @command or die "$command[0]: $!";
    chomp(my @lines = <$p>);
    return @lines;
}

sub bash {
    my (@words) = @_;
    return [sort grep { length } lines_of('bash', '-c', <<'EOS', '-', @words)];
. completion/symcachectl.bash
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_symcachectl
printf '%s\n' "${COMPREPLY[@]}"
EOS
}

is_deeply [grep { !/^-/ } @{ bash('symcachectl', '') }], [sort @commands],
    'bash: commands';
is_deeply bash('symcachectl', 'symbo'), ['symbolicate'], 'bash: one of them';
for my $command (@commands) {
    is_deeply bash('symcachectl', $command, '-'),
        [sort @{ $options{$command} }, '--help'], "bash: $command";
}
for my $words (['symbfile', qw(lookup make push show)], ['tier', qw(clean ls rule)],
    ['transcoder', qw(check init)], ['uploads', qw(builds forget ls pin rm unpin)])
{
    my ($command, @want) = @$words;
    is_deeply bash('symcachectl', $command, ''), \@want, "bash: words of $command";
    is_deeply bash('symcachectl', $command, substr $want[0], 0, 2), [$want[0]],
        "bash: one of $command";
}
is_deeply bash('symcachectl', 'ls', '-c', 'conf-examples/symcached.j'),
    ['conf-examples/symcached.json'], 'bash: a file';
is_deeply bash('symcachectl', 'ls', '--root', 'conf-ex'), ['conf-examples'],
    'bash: a folder';

my @kinds = sort(slurp('src/proto/kind.c') =~ /KIND_TEXT\("(\w+)"\)/g);
for my $command (qw(why warm)) {
    is_deeply bash('symcachectl', $command, '--kind', ''), \@kinds, "bash: kinds of $command";
}
is_deeply bash('symcachectl', 'convert', '--kind', 'symc'), ['symcache'], 'bash: one of convert';
my ($zsh_kinds) = slurp('completion/_symcachectl') =~ /^kind='.*?:\(([^)]*)\)'/m;
is_deeply [sort split ' ', $zsh_kinds], \@kinds, 'zsh: kinds';

# --- zsh: what the function hands to those that list it

SKIP: {
    grep { -x "$_/zsh" } split /:/, $ENV{PATH} or skip 'no zsh', 2;
    my $zsh = sub {
        my (@words) = @_;
        return lines_of('zsh', '-f', '-c', <<'EOS', '-', @words);
_describe()  { print -rl -- ${(P)2%%:*}; }
_arguments() { print -rl -- ${@%%\[*}; }
words=("$@"); CURRENT=$#
_symcachectl() { . completion/_symcachectl }; _symcachectl
EOS
    };
    is_deeply [sort($zsh->('symcachectl', ''))], [sort @commands],
        'zsh: commands';
    my %wrong;
    for my $command (@commands) {
        my @got = sort grep { /^-/ } $zsh->('symcachectl', $command, '-');
        my @want = sort @{ $options{$command} }, '--help';
        $wrong{$command} = "@got" if "@got" ne "@want";
    }
    is_deeply \%wrong, {}, 'zsh: options';
}

done_testing;
