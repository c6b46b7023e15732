#!/usr/bin/env perl

# Whose fault a failure is: a source that answers is not blamed for a disk of
# this machine that does not take the file, and the machine is not ready.

use strict;
use warnings;

use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::Mount;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $id = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $path = "crash.pdb/$id/crash.pdb";

$t->write_file("files/$path", $pdb);
my $server = Test::ScriptedServer->new(log => "$dir/requests", script => sub {
    $_[0]->reply(200, { 'Content-Type' => 'application/octet-stream' }, $pdb);
});
Test::Mount::small($t->path('downloads'), '16m');
my $config = $t->default_config($server->url);
$config->{downloads} = "$dir/downloads";
$config->{sources} = {
    folder => { type => 'filesystem', path => "$dir/files" },
    web => { type => 'http', url => $server->url, layout => 'symstore',
             internal => JSON::PP::true() },
};
$config->{stores} = { map { $_ => { %{ $config->{stores}{default} },
    root => "$dir/stores/$_", sources => [$_] } } qw(folder web) };
$t->start_symcached($config);

sub ask {
    my ($store) = @_;
    return $t->helper('GET', "/v1/symcache/$store/crash.pdb/$id?version=9.0.0"
        . '&wait=30')->{status};
}

sub attempts {
    my ($source, $outcome) = @_;
    return $t->metric('symcached_source_attempts_total'
        . "{source=\"$source\",outcome=\"$outcome\"}") // 0;
}

sub health {
    my ($source) = @_;
    my $r = JSON::PP::decode_json($t->helper('GET', '/v1/sources')->{body});
    return (grep { $_->{name} eq $source } @{ $r->{sources} })[0]{health};
}

sub latest {
    my ($store) = @_;
    my $why = JSON::PP::decode_json($t->helper('GET',
        "/v1/why/$store/crash.pdb/$id")->{body});
    return $why->{attempts}[-1];
}

sub ready {
    my ($name, $status, $why) = @_;
    ok $t->wait_until($name, sub {
        my $r = $t->helper('GET', '/readyz');
        return $r->{status} == $status
            && (Test::Symcache::header($r, 'X-Symcache-Reason') // '') eq $why;
    }), $name;
    is $t->metric('symcached_ready'), $status == 200 ? 1 : 0, '- in the metrics';
}

ready('a disk that takes files', 200, '');
Test::Mount::again("$dir/downloads", 'ro');
for my $store (qw(folder web)) {
    my $before = attempts($store, 'failed_here');
    isnt ask($store), 200, "$store: nothing comes to a read-only disk";
    is latest($store)->{outcome}, 'failed here', "$store: failed here";
    like latest($store)->{detail}, qr/Read-only file system/, '- why';
    cmp_ok attempts($store, 'failed_here'), '>', $before, '- counted so';
    is attempts($store, 'failed'), 0, "$store: the source has not failed";
    isnt health($store), 'failing', "$store: and is well";
}
ready('a disk that takes none', 503, 'no-disk');
like $t->helper_log, qr{not ready \(no-disk\): "\Q$dir\E/downloads" takes no files \(30: Read-only},
    '- the log has the reason';

my ($used) = qx(df --output=iused '$dir/downloads') =~ /(\d+)/;
Test::Mount::again("$dir/downloads", "rw,nr_inodes=$used");
ready('a disk without room for one more file', 503, 'no-room');
Test::Mount::again("$dir/downloads", 'nr_inodes=1000');
$t->helper('POST', "/v1/forget/web/crash.pdb/$id", 'Content-Length: 0');
is ask('web'), 200, 'the file comes when the disk takes it';
is attempts('web', 'failed'), 0, 'the source has not failed';

is $t->stop_symcached, 0, 'stopped';
Test::Mount::gone("$dir/downloads");
$t->finish;
done_testing;
