#!/usr/bin/env perl

# URLs of up to 8 KiB: of scripts on the web, of artifacts of a project of
# Sentry, in bundles, and of the project itself.  In the answer each is as it
# was; a longer one is a file that is missing.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::File qw(slurp);
use Test::More;
use Test::ScriptedServer;
use Test::Sentry;
use Test::Symcache;
use Test::Zip;

my $t = Test::Symcache->new;
plan skip_all => 'no extended attributes here, so files have no digest'
    if !$t->has_attributes;
my $json = JSON::PP->new->canonical->utf8;
my $shop = $t->data('javascript/shop');
my $s = Test::Sentry->new($t, token => 's3cret');
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my ($name) = $req->{path} =~ m{/([^/]+)$};
    return $c->reply(404, {}, '') if !-e "$shop/$name";
    $c->reply(200, {}, slurp("$shop/$name"));
});
$t->start_symcached($s->config(javascript => { scraping => JSON::PP::true() },
    hosts => ['127.0.0.1:' . $web->port]));
$t->start_symbolicated;

sub frames_of {
    my ($urls, %o) = @_;
    my $scope = delete $o{scope};
    my $lookup = $s->artifact_lookup . (delete $o{below} // '');
    my $r = $t->post($t->symbolicated_socket, "/symbolicate-js?why=1&scope=$scope",
        $json->encode({ source => { id => 'x', token => 's3cret', url => $lookup },
            stacktraces => [map { { frames => [{ abs_path => $_, lineno => 1,
                colno => 224 }] } } @$urls], %o }),
        'Content-Type: application/json');
    return $r if $r->{status} != 200;
    my $answer = $json->decode($r->{body});
    return $answer, [map { $_->{frames}[0]{filename} // 'given' }
        @{ $answer->{stacktraces} }];
}

# A path with folders, so that each name fits into a file system.
sub folders {
    my ($size) = @_;
    return substr join('/', map { $_ . 'x' x 95 } 'a0000' .. 'a0200'), 0, $size;
}

# --- the web: each byte of these needs an escape where symcached is asked

my $url = $web->url;
my $tail = '/terser.js?t=';
my $long = "$url$tail" . '&;' x ((8192 - length "$url$tail") / 2);
$long .= '&' x (8192 - length $long);
my ($answer, $files) = frames_of([map { my $i = $_; map { "$_$i" } "$url$tail" .
    '%26' x 2600 } 100 .. 199], scope => 'many');
is_deeply $files, [('src/money.js') x 100], 'a hundred URLs of 8 KB'
    or diag explain $answer->{errors};
($answer, $files) = frames_of([$long, "${long}x"], scope => 'web');
is_deeply $files, ['src/money.js', 'given'],
    'a script with a URL of 8,192 bytes, and of one more'
    or diag explain $answer->{errors};
is_deeply [map { [length $_->{url}, $_->{status}] }
    @{ $answer->{scraping_attempts} }],
    [[length "$url/terser.js.map", 'success'], [8192, 'success'],
        [8193, 'failure']], '... and what is told of each'
    or diag explain $answer->{scraping_attempts};

# --- artifacts: the source is asked for the end of a long path

my $path = '/' . folders(7000) . "/\x{e4}" . 'y' x 1023;
my $page = "https://cdn.example.com$path.js";
$s->artifact("~$path.js", slurp("$shop/terser.js"), id => 'script');
$s->artifact('~' . $path =~ s{[^/]*$}{terser.js.map}r,
    slurp("$shop/terser.js.map"), id => 'map');
($answer, $files) = frames_of([$page], scope => 'files', release => 'r1');
is_deeply $files, ['src/money.js'], 'an artifact with a path of 8 KB'
    or diag explain $answer->{stacktraces}[0]{frames}[0]{why};
my ($lookup) = grep { /^lookup/ && /&url=/ } $s->requests;
my ($stem) = $lookup =~ /&url=([^&]*)/;
is $stem, 'y' x 1023, '... by the end of its stem, of whole characters';

# --- a bundle

$s->store('artifacts', []);
my %entries = (
    a => { type => 'minified_source', url => "~$path.js",
        headers => { sourcemap => 'terser.js.map' } },
    b => { type => 'source_map',
        url => '~' . $path =~ s{[^/]*$}{terser.js.map}r });
$s->artifact('', "SYSB\2\0\0\0" . Test::Zip::zip(
    ['a', slurp("$shop/terser.js")], ['b', slurp("$shop/terser.js.map")],
    ['manifest.json', $json->encode({ files => \%entries })]),
    id => 'bundle', bundle => 1);
($answer, $files) = frames_of([$page], scope => 'bundle', release => 'r1',
    below => folders(6000) . '/');
is_deeply $files, ['src/money.js'],
    'a bundle with such a name, of a project with a long URL'
    or diag explain $answer->{stacktraces}[0]{frames}[0]{why};
($answer) = frames_of([$page], scope => 'query', release => 'r1',
    below => '?x=' . 'z' x 6000);
is $answer->{stacktraces}[0]{frames}[0]{why}[0]{asked}[0]{answer}, 'found',
    'the list of a project whose URL has a query gets the token';
($answer) = frames_of([$page], scope => 'bundle', below => 'z' x 8192);
is $answer->{status}, 422, 'a project with a longer one is refused';
is $t->stop_symbolicated, 0, 'symbolicated stops';
is $t->stop_symcached, 0, 'symcached stops';
$t->finish;
done_testing;
