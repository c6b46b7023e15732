#!/usr/bin/env perl

# symcachectl uploads, of bundles of scripts: whose they are, what is there of a
# release, and its removal.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Digest::SHA qw(sha1_hex);
use JSON::PP qw(decode_json);
use Test::Ctl;
use Test::More;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;

my $u = Test::Uploads->new;
my $t = $u->t;
my $dir = $t->dir;
my $ctl = Test::Ctl->new($t);
my @on = ('-c', "$dir/symcached.json");
my @ids = map { sprintf '%08x-1111-4111-8111-111111111111', $_ } 0 .. 2;

# A bundle of a script and its map, which have a debug id.
sub bundle {
    my ($id) = @_;
    my $map = qq({"version":3,"sources":["a.ts"],"names":[],"mappings":"AAAA","debug_id":"$id"});
    my %files = ('_/app.js' => { type => 'minified_source', url => '~/app.js',
        headers => { 'debug-id' => $id, sourcemap => 'app.js.map' } },
        '_/app.js.map' => { type => 'source_map', url => '~/app.js.map',
        headers => { 'debug-id' => $id } });
    return "SYSB\2\0\0\0" . Test::Zip::zip(
        ['manifest.json', JSON::PP->new->canonical->encode({ files => \%files })],
        ['_/app.js', "f();\n//# debugId=$id\n//# sourceMappingURL=app.js.map\n"],
        ['_/app.js.map', $map]);
}

my @bundles = map { bundle($_) } @ids;
my @paths = map { '_/hash-' . sha1_hex($_) . '/_.artifacts' } @bundles;
for ([0, 'web@1.0', '5'], [0, 'web@1.1'], [1, 'web@1.0'], [2]) {
    my ($i, $release, $dist) = @$_;
    my $r = $u->send_bundle($bundles[$i], $release ? (version => $release) : (),
        $dist ? (dist => $dist) : ());
    is $r->{state}, 'ok', "bundle $i" or diag explain $r;
}

sub ls { return $ctl->run('uploads', 'ls', @_, @on) }

sub listed {
    my %files = map { $_->{file} => $_ } map { decode_json($_) } split /\n/,
        ls('--json', @_)->{out};
    return [map { $files{$_} } @paths];
}

my $all = listed();
is_deeply [map { $_->{releases} } @$all],
    [[{ release => 'web@1.0', dist => '5' }, { release => 'web@1.1' }],
     [{ release => 'web@1.0' }], []], 'ls: releases';
is_deeply [map { $_->{debug_ids} } @$all], [map { [$_] } @ids], 'ls: debug ids';
my $text = ls()->{out};
like $text, qr{  \Q$paths[0]\E(?:  by ci\@example\.com)?  release web\@1\.0 dist 5  release web\@1\.1  1 debug id$}m,
    'ls: as text';
like $text, qr{^ +[\d.]+ \w+  3 chunks of files, until uploads\.parts_kept is over\n\z}m,
    '... with one line for all chunks';
unlike $text, qr/_\.chunk/, '... and none for each';
like $t->helper_log, qr{upload user=ci\@example\.com file=\Q$paths[0]\E bytes=\d+ stored$}m,
    'the log has who has sent it';
SKIP: {
    skip 'no extended attributes here', 1
        if $ctl->run('uploads', 'pin', @on, $paths[0])->{code} != 0;
    $ctl->run('uploads', 'unpin', @on, $paths[0]);
    is $all->[0]{user}, 'ci@example.com', 'so has ls';
}
is_deeply [map { defined } @{ listed('--release', 'web@1.0') }], [1, 1, ''],
    'ls of a release';
is_deeply [map { defined } @{ listed('--release', '*1.1') }], [1, '', ''],
    'ls of those that a pattern matches';
is ls('--release', 'web@2')->{code}, 1, 'none: 1';

# a list of before, which has no name
my @named = glob "$dir/uploads/.artifacts/release-*/.release";
is @named, 3, 'each release has a name';
my $name = $t->read_file(substr $named[0], 1 + length $dir);
unlink $named[0] or die;
my ($list) = $named[0] =~ m{(release-\w+)/};
like ls()->{out}, qr/release $list/, 'ls: a release without a name';
$t->write_file(substr($named[0], 1 + length $dir), $name);

# --- forget

my $lookup = '/api/0/projects/acme/web/artifact-lookup/?debug_id=';
my @bearer = ('Authorization: Bearer 0123456789abcdef0123456789abcdef');
sub found { scalar @{ $u->request('GET', "$lookup$ids[$_[0]]", '', @bearer)->{json} } }
is found(1), 1, 'a bundle is found';
my @forget = ('uploads', 'forget', @on, '--release');
my $has_pins = $ctl->run('uploads', 'pin', @on, $paths[1])->{code} == 0;
SKIP: {
    skip 'no extended attributes here', 2 if !$has_pins;
    my $r = $ctl->run(@forget, 'web@1.0', '--json');
    is_deeply [map { my $o = decode_json($_); [@$o{qw(file removed kept)}] } split /\n/, $r->{out}],
        [map { [$paths[$_], 0, $_ ? 'pinned' : 'has another release'] }
            sort { $paths[$a] cmp $paths[$b] } 0, 1], 'forget: JSON has what is kept';
    is found(1), 1, '... and a pinned bundle is there';
    $ctl->run('uploads', 'unpin', @on, $paths[1]);
}
my $build = $t->write_file('uploads/.builds/p/%/1', "$paths[1]\n");
like $ctl->run(@forget, 'web@1.0')->{out},
    qr{^kept: a build has it  \Q$paths[1]\E  release web\@1\.0}m, 'forget: a bundle of a build';
is found(1), 1, '... stays';
truncate $build, 2 ** 28 or die $!; # too large to be read
$ctl->is($ctl->run(@forget, 'web@1.0'), 3, qr/\A\z/, qr{\.builds/p/%/1: File too large},
    'forget: a list of a build that cannot be read');
is found(1), 1, '... and may have the bundle';
unlink $build or die;
my $r = $ctl->run(@forget, 'web@1.0');
is $r->{code}, 0, 'forget' or diag explain $r;
like $r->{out}, qr{^removed  \Q$paths[1]\E  release web\@1\.0  1 debug id$}m, '... says what it removes';
like $r->{out}, qr{^kept: has another release  \Q$paths[0]\E  release web\@1\.0 dist 5}m,
    '... and what it keeps';
is_deeply [map { defined } @{ listed() }], [1, '', 1],
    '... removes what is of no other release';
is found(1), 0, '... and is not found any more';
is $ctl->run(@forget, 'web@2')->{code}, 1, 'no such release: 1';
$r = $ctl->run(@forget, 'web@*', '--json');
is $r->{code}, 0, 'forget both';
my $gone = decode_json($r->{out});
is_deeply [@$gone{qw(file removed)}, map { $_->{release} } @{ $gone->{releases} }],
    [$paths[0], 1, 'web@1.0', 'web@1.1'], '... in JSON, too';
$ctl->is($ctl->run(@forget, 'web@1.0'), 1, undef, qr/no such release/, 'a release that is gone: 1');
is_deeply [map { defined } @{ listed() }], ['', '', 1],
    '... but not what is of none';
$ctl->is($ctl->run(@$_), 2, undef, qr/--release: is for ls and forget/, "@$_[1 .. $#$_]")
    for ['uploads', 'pin', '--release', 'x', 'a/b/c'],
        ['uploads', 'ls', '--release', 'x', '--build', '1'];

# --- cleaning removes the lists of what is gone, with their names

$t->reload_symcached({ %{ $u->config }, cache => { clean_every => '1s' } });
ok $t->wait_until('cleaned', sub {
    !(() = glob "$dir/uploads/.artifacts/release-*");
}), 'lists without bundles go';

$t->finish;
done_testing;
