#!/usr/bin/perl

# What a shared tier costs: the requests to a store of objects, of the machines
# and of clients that are sent there, and to a symbol server, as the table in
# docs/fleet.md has them.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::S3;
use Test::ScriptedServer;
use Test::Symcache;
use Test::Tier;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my ($access, $secret) = ('AKIDexample', 'se/cr+et=');
my $s3 = Test::S3->new($t, region => 'eu-west-1',
    secrets => { $access => $secret });
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $web = Test::ScriptedServer->new(log => $t->path('web'), script => sub {
    my ($c, $req) = @_;
    my $there = $req->{path} eq "/crash.pdb/$Test::Tier::id/crash.pdb";
    return $c->reply($there ? 200 : 404, {}, $there ? $pdb : '');
});
my $fleet = Test::Tier->new($t,
    tier => { type => 's3', bucket => 'symbols', region => 'eu-west-1',
              prefix => 'prod', endpoint => $s3->url, lifetime => '30d',
              path_style => JSON::PP::true(), mac_key => 'm' x 32,
              access_key => $access, secret_key => $secret });
my $key = $fleet->{key};

# The next machine, with these sources, of which uploads are its own; it is asked
# by debuggers as well.
my $port = Test::Symcache::free_port();
sub machine {
    my ($sources, %tier) = @_;
    my $root = 'uploads' . ($fleet->{n} + 1);
    mkdir "$dir/$_" or die for $root, "$root/.spool";
    $t->stop_nginx if $fleet->{n};
    $fleet->{sources} = $sources;
    $fleet->{more} = { uploads => { root => "$dir/$root",
                                    listen => "unix:$dir/u.sock" },
        sources => { web => { type => 'http', url => $web->url,
            layout => 'symstore', internal => JSON::PP::true() } } };
    $fleet->machine(%tier);
    $t->start_nginx('location / { symcache_pass unix:%%DIR%%/h.sock;
        symcache_symbols ' . $fleet->downloads . '; }',
        listen => "listen 127.0.0.1:$port;", address => "127.0.0.1:$port");
}

sub upload {
    my $root = "uploads$fleet->{n}";
    my $file = $t->write_file("$root/.spool/1", $pdb);
    return $t->http("$dir/u.sock", 'PUT', "/v1/uploads/$key/crash.pdb",
        'Content-Length: 0', "X-Symcached-Body: $file")->{status};
}

# A debugger that follows a redirect.
sub debug {
    return 0 + qx(curl -sL -o $dir/o -w '%{http_code}' \\
                  http://127.0.0.1:$port/$key/crash.pdb);
}

sub stored { $fleet->wait_metric('puts_total{result="stored"}', $_[0]) }

# A row: what $do costs, which tells whether it went well.
my ($objects, $places, @rows) = (0, 0);
sub row {
    my ($what, $do) = @_;
    ($objects, $places) = map { scalar $_->requests } $s3, $web;
    ok $do->(), $what;
    my @asked = $s3->requests;
    my %n = map { $_ => 0 } qw(GET HEAD PUT DELETE client);
    for (@asked[$objects .. $#asked]) {
        $n{ $_->{uri} =~ /X-Amz-Signature/ ? 'client' : $_->{method} }++;
    }
    push @rows, join ' ', '|', join(' | ', $what,
        @n{qw(GET HEAD PUT DELETE client)}, $web->requests - $places), '|';
}

machine(['web']);
row('made here', sub { $fleet->ask($key) == 200 && stored(1) });
row('on the disk', sub { $fleet->ask($key) == 200 });
row('absent everywhere', sub { $fleet->ask($fleet->absent) == 404 });
row('the same, asked again',
    sub { $fleet->{absent}--; $fleet->ask($fleet->absent) == 404 });
machine(['web']);
row('made by another machine', sub { $fleet->ask($key) == 200 });

SKIP: {
    skip 'no extended attributes', 1 if !defined $fleet->note;
    my $old = time - 16 * 86400;
    my $object = $s3->file("/symbols/prod/1/default/$key/v9.0.0.symcache");
    $fleet->grow_old($old);
    utime $old, $old, $object or die "$object: $!";
    row('in use, once in half of `lifetime`', sub {
        $fleet->ask($key) == 200
            && $fleet->wait_metric('puts_total{result="refreshed"}', 1) });
}

my @both = (['uploads', 'web'], generation => '2');
machine(@both);
row('made here, with uploads among the sources', sub {
    $fleet->ask($key) == 200 && stored(1) });
row('absent everywhere, with uploads among the sources',
    sub { $fleet->ask($fleet->absent) == 404 });
sub removed { $fleet->wait_metric('puts_total{result="removed"}', $_[0]) }
row('uploaded here', sub { upload() == 201 && removed(2) });
row('the same file once more, within the hour',
    sub { upload() == 200 });
machine(@both);
row('uploaded elsewhere, and made here', sub {
    $fleet->ask($key) == 200 && stored(1) });
machine(@both);
row('uploaded elsewhere, for a debugger', sub { debug() == 200 });
machine(@both, redirect => '1m', redirect_endpoint => $s3->url);
row('the same with `redirect`, each time', sub { debug() == 200 }) for 1, 2;
is pop @rows, $rows[-1], 'each time the same';

# --- the document

open my $f, '<', "$Test::Symcache::top/docs/fleet.md" or die $!;
my @table = grep { /^\|/ } map { s/\n//r } <$f>;
my @differ = grep { my $row = $_; !grep { $_ eq $row } @table } @rows;
is_deeply \@differ, [], 'the rows are those of docs/fleet.md'
    or diag join "\n", @rows;

$t->stop_nginx;
$t->finish;
done_testing;
