#!/usr/bin/env perl

# Manual pages: they are well-formed, and those of programs name every option
# and exit code of which the programs' own help tells.  That they are installed
# is shown by t/docs.t.

use strict;
use warnings;

use Cwd qw(abs_path);
use FindBin qw($Bin);
use Test::More;

my $root = abs_path("$Bin/..");
my $build = abs_path($ENV{SYMCACHE_BUILD} // "$root/build");

my @pages = (sort(glob "$root/man/*.[18]"), sort glob "$build/man/*.[57]");
is_deeply([map { m{([^/]+)$} } @pages],
          [qw(pdb2symcache.1 symbolicated.8 symcachectl.1 symcached.8
              symcachegen-ssh.1 symcachegen-wine.1
              ngx_symcache_module.7 symcached.json.5)], 'pages');

sub has { return scalar grep { -x "$_/$_[0]" } split /:/, $ENV{PATH} }

my $lint = has('mandoc') ? 'mandoc -Tlint -Wwarning %s 2>&1'
    : has('man') && has('groff')
    ? 'man --warnings -E UTF-8 -l -Tutf8 -Z %s 2>&1 >/dev/null' : undef;

for my $page (@pages) {
    my ($name) = $page =~ m{([^/]+)\.\d$};

    SKIP: {
        skip 'neither mandoc nor man and groff', 1 unless $lint;
        my $command = sprintf $lint, "'$page'";
        is(`LC_ALL=C.UTF-8 $command`, '', "$name: well-formed");
    }

    open my $f, '<', $page or die "$page: $!";
    my $text = do { local $/; <$f> };
    next if $page =~ /[57]$/;       # made from documents
    my $help = `'$build/$name' -h`;

    # -x of the help is "Fl x" or "Fl tv" in the page, --word "Fl -word"

    my %options = map { $_ => 1 } $help =~ /(?<![^\s\[])-(-?\w[\w-]*)/g;
    my @missing = grep {
        my $option = quotemeta;
        length == 1 ? $text !~ /\bFl (?:\w*$option|[^\n]*\| \w*$option)/
                    : $text !~ /\bFl $option\b/;
    } sort keys %options;
    is_deeply(\@missing, [], "$name: options");

    my ($codes) = $help =~ /^exit[^:]*:(.*)/ms;
    my @codes = $codes =~ /(?:^|[,;])\s*(\d+) /gm;
    my ($told) = $text =~ /^\.Sh EXIT STATUS\n(.*?)^\.Sh /ms;
    is_deeply([$told =~ /^\.It (\d+)$/mg], \@codes, "$name: exit codes");
}

done_testing;
