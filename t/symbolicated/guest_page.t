#!/usr/bin/env perl

# A client's source that sends a page for one place, and fails at its index: who
# asks is told of it as Symbolicator tells it, "missing" after a 404 at the first
# place, and nothing of it is remembered as the file's.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::File qw(slurp);
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->utf8;
my $crash = slurp($t->data('pdb/crash.pdb'));
my $key = $Test::Symcache::key{'crash.pdb'};
my $page = "<!DOCTYPE html>\n<html><body>Please sign in</body></html>\n";

# Folders by what their server says of the PDB, until it is well again: "none",
# "page", or "page-index" where index2.txt leads to a place that is not there.
my $server = Test::ScriptedServer->new(log => $t->path('web.log'), index2 => 1, script => sub {
    my ($c, $req) = @_;
    my ($folder, $path) = $req->{path} =~ m{^/([\w-]+)/(.*)} or return $c->reply(404);
    return $c->reply(302, { Location => '/gone/x' }) if $path eq 'index2.txt' && $folder =~ /index/;
    return $c->reply(404) if $path ne "crash.pdb/$key/crash.pdb";
    return $c->reply(200, {}, $crash) if -e $t->path('well');
    return $c->reply(404) if $folder eq 'none';
    return $c->reply(200, { 'Content-Type' => 'text/html' }, $page);
});
my $port = $server->port;
$t->start_symcached({
    stores => { default => { root => $t->path('store') } },
    symbolication => { symbolicator => { sources => 'allow', tenants => {
        root => $t->path('tenants'), hosts => ["127.0.0.1:$port"] } } },
});
$t->start_symbolicated;

sub ask {
    my ($folder) = @_;
    my $r = $t->post($t->symbolicated_socket, "/symbolicate?scope=$folder", $json->encode({
        stacktraces => [{ frames => [{ instruction_addr => '0x402913' }] }],
        modules => [{ type => 'pe', debug_file => 'crash.pdb', image_addr => '0x400000',
                      debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1' }],
        sources => [{ type => 'http', id => 'web', url => "http://127.0.0.1:$port/$folder/",
                      layout => { type => 'symstore' }, filters => { filetypes => ['pdb'] } }],
        options => { dif_candidates => \1, apply_source_context => \0 },
    }), 'Content-Type: application/json');
    return $json->decode($r->{body})->{modules}[0];
}

# What the stores of all scopes remember on disk: reasons.
sub remembered {
    return map { /^(\S+)/ } map { values %{ $t->absences($_) } }
        map { m{([^/]+/[^/]+/store)$} } glob $t->path('tenants/*/store');
}

for my $folder ('page', 'page-index') {
    my $m = ask($folder);
    is $m->{debug_status}, 'missing', "$folder: what the first place said";
    is_deeply [map { $_->{download}{status} } grep { $_->{location} =~ m{/$key/} } @{ $m->{candidates} }],
        [qw(notfound malformed)], "$folder: the places, packed first"
        or diag explain $m->{candidates};
    like $t->helper_log, qr{key=crash\.pdb/$key outcome=error .*/$folder/\S+/crash\.pdb unusable \(an HTML page\)},
        "$folder: no verdict of symcached";
    is_deeply [remembered()], [], "$folder: nothing of it is on disk";
}
like $t->helper_log, qr{/page-index/index2\.txt failed \(404, no plain answer\)}, 'nor is a 404 elsewhere one of the index';

is ask('none')->{debug_status}, 'missing', 'a source without the file: the same word';
is_deeply [remembered()], ['notfound'], 'and that is on disk';

# An error is remembered for a minute, which "forget" ends.
$t->write_file('well', '');
for my $tenant (map { m{([0-9a-f]{32})$} } glob $t->path('tenants/*')) {
    $t->http($t->path('tenants/sock'), 'POST', "/v1/forget/$tenant/crash.pdb/$key");
}
is ask($_)->{debug_status}, 'found', "$_: it is asked again, and has the file" for 'page', 'page-index';

$t->stop_symbolicated;
$t->stop_symcached;
$server->stop;
$t->finish;
done_testing;
