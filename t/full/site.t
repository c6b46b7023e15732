#!/usr/bin/env perl

# The documents as a site (make docs): every link leads somewhere, nothing comes
# from elsewhere, the search finds a directive, and no page is wider than a phone.

use strict;
use warnings;

use File::Find qw(find);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Browser;
use Test::File;
use Test::More;
use Test::Symcache;

plan skip_all => 'nothing is installed with PACKAGES=no'
    if ($ENV{SYMCACHE_PACKAGES} // '') eq 'no';
plan skip_all => 'chromium loads no library of a sanitizer'
    if $Test::Symcache::san;

my $t = Test::Symcache->new;
my $site = "$Test::Symcache::build/site";
my $said = `'$Test::Symcache::top/tools/site/make' '$site' 2>&1`;
is $?, 0, 'no link leads nowhere, and no page is left out' or diag $said;

my (@pages, @elsewhere);
find({ no_chdir => 1, wanted => sub {
    /\.html\z/ or return;
    my $text = slurp($_);
    push @pages, s{^\Q$site\E/html/}{}r unless /404/;
    push @elsewhere, map { "$File::Find::name: $_" }
        $text =~ m{<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(?:https?:)?(//[^"]+)"}g;
} }, "$site/html");
cmp_ok scalar(@pages), '>', 30, 'pages';
is_deeply \@elsewhere, [], 'no script, style or picture from elsewhere';

SKIP: {
    skip 'no chromium here', 3 unless Test::Browser::program();
    my $address = '127.0.0.1:' . Test::Symcache::free_port();
    $t->start_nginx("location /site/ { alias $site/html/; }",
        listen => "listen $address;", address => $address,
        http => 'include /etc/nginx/mime.types;');
    my $browser = Test::Browser->start($t->path('browser'));
    my @wide;
    for my $page (sort @pages) {
        $browser->visit("http://$address/site/$page");
        $browser->call('Emulation.setDeviceMetricsOverride', width => 390,
            height => 844, deviceScaleFactor => 1, mobile => JSON::PP::true());
        $t->wait_until("$page is there",
            sub { $browser->value('document.readyState') eq 'complete' });
        my $width = $browser->value('document.documentElement.scrollWidth');
        push @wide, "$page: $width" if $width > 390;
    }
    is_deeply \@wide, [], 'no page is wider than a phone';

    $browser->visit("http://$address/site/index.html?q=symcache_hold_timeout");
    ok $t->wait_until('the search answers',
        sub { grep { /symcache_hold_timeout/ }
              $browser->texts('#mkdocs-search-results a') }),
        'the search finds a directive';
    is $browser->stop, 0, 'the browser ends';
}

$t->finish;
done_testing;
