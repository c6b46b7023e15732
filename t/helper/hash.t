#!/usr/bin/env perl

# Keys whose id is a hash, here of a URL: they are looked up, told of, kept,
# forgotten and cleaned like all others, and what is found out with a URL is
# remembered for the key.  What sources make of them: url_files.t.  The ids are
# what sha256sum says.

use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP qw(decode_json);
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c) = @_;
    $c->reply(404, {}, '');
});
my $base = $web->url . '/base';
my $url = $web->url . '/src/app.c?raw=1&x=%2B';
my $query = 'url=' . $web->url . '/src/app.c?raw=1%26x=%252B';
my $id = 'hash-' . sha256_hex($url);
my $other = 'hash-' . sha256_hex('https://a.example/other.c');

my %config = (
    stores => { default => { root => $t->path('store'), sources => ['web'] } },
    sources => { web => { type => 'web', url => $base,
        internal => JSON::PP::true() } },
    downloads => $t->path('downloads'),
);
$t->start_symcached(\%config);

sub ask {
    my ($id, @query) = @_;
    my $r = $t->helper('GET', "/v1/source/default/a.example/$id?"
        . join '&', 'version=1.0.0', 'wait=60', @query);
    return join ' ', $r->{status},
        Test::Symcache::header($r, 'X-Symcache-Reason') // ();
}
sub ctl { my ($command, @args) = @_;
    qx(@{[$t->program('symcachectl')]} $command --socket @{[$t->path('h.sock')]} @args 2>&1) }
sub files { grep { -e } map { $t->path($_) } @_ }

# --- the id proves the URL

is ask($id, 'url=https://a.example/src/app.c'), '400', 'another URL';
is ask($other, $query), '400', 'another id';
is ask(substr($id, 0, -2), $query), '400', 'a part of the hash';
is ask($id, $query =~ s/http:/HTTP:/r), '400',
    'a URL that is not in its normal form';
is ask('buildid-' . substr($id, 5), $query), '400',
    'the same bytes as a build id';

# --- what is found out without it is not said of the key

my $entry = "store/a.example/$id/a.example-v1.0.0.source.absent";
is ask($id), '404 notfound', 'nothing without a URL';
is $t->absence($entry), undef, 'of which nothing is on disk';
is ask($id, $query), '404 notfound', 'nothing with a URL';
like $t->absence($entry), qr/^notfound /, 'which is remembered for the key, on disk';
is ask($id, $query), '404 notfound', 'and the answer from then on';

my $batch = $t->post($t->helper_socket, '/v1/lookups?version=1.0.0',
    "/v1/source/default/a.example/$id?$query\n"
    . "/v1/source/default/a.example/$other?$query\n");
like $batch->{body}, qr/^0 404 .*notfound/m, 'the same among many lookups';
like $batch->{body}, qr/^1 400 /m, 'where the id must be the hash, too';
is_deeply [$web->requests], [], 'no source is asked for a hash';

# --- why, forget

my $why = $t->helper('GET', "/v1/why/default/a.example/$id?kind=source");
is decode_json($why->{body})->{transcoders}[0]{blocked}, 'notfound',
    'why tells the reason' or diag $why->{body};
like ctl('why', 'a.example', $id), qr/notfound/,
    'and so does symcachectl, which asks for a source';

my $file = "store/a.example/$id/a.example-v1.0.0.source";
is $t->helper('POST', "/v1/forget/default/a.example/$id")->{status}, 200,
    'forget';
is $t->absence($entry), undef, 'drops the entry';
$t->write_file($file, "int f;\n");
is ask($id), '200', 'a file is served, whoever asks';
is ask($id, $query), '200', 'and with the URL';
is $t->stop_symcached, 0, 'symcached stops';

# --- cleaning

$entry =~ s/$id/$other/;
for ($file, $t->write_file($entry, "notfound 0 0\nx\n")) {
    my $path = m{^/} ? $_ : $t->path($_);
    utime time - 30 * 86400, time - 30 * 86400, $path or die;
}
system("@{[$t->program('symcached')]} --clean -c @{[$t->path('symcached.json')]}"
    . ' >/dev/null 2>&1') == 0 or die;
is_deeply [files($entry, $file)], [], 'what is old goes';
$t->finish;
done_testing;
