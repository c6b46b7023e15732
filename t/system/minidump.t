#!/usr/bin/env perl

# Minidumps through nginx as conf-examples/symbolicate.conf has it: who may send
# them, how large they may be, and that nginx writes none of them to its folder
# of bodies.  Nobody else writes anything of a dump, either.

use strict;
use warnings;

use File::Find qw(find);
use FindBin;
use lib "$FindBin::Bin/../lib";
use MIME::Base64 qw(encode_base64);
use Test::File;
use Test::Form;
use Test::Front;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8;
mkdir $t->path('store');
my $symcached = $t->start_symcached($t->default_config('http://127.0.0.1:1'));
$t->start_symbolicated({ stores => { default => { root => $t->path('store') } } });
my ($open, $signed_in) = Test::Front::start($t);
my $token = 'Authorization: Basic ' . encode_base64('me:secret', '');
my $type = "Content-Type: $form_type";

# What a process may have in its memory, behind the dump's streams, and 2 MB
# more than nginx keeps of a body.
my $secret = 'hunter2-of-a-user';
my $dump = slurp($t->data('minidump/ring/libring.dmp')) . $secret . "\0" x 2e6;
my $form = form(['sources', '[]'], ['upload_file_minidump', $dump, 'x.dmp']);

my $r = $t->post($signed_in, '/minidump', $form, $type, $token);
is $r->{status}, 200, 'a dump';
is scalar @{ $json->decode($r->{body})->{stacktraces} }, 3, 'is answered';
is $t->post($signed_in, '/minidump', form(['x', 1]), $type)->{status}, 401,
    'without a password';
$r = $t->http($signed_in, 'POST', '/minidump', $type, $token,
    'Content-Length: ' . 251 * 1024 * 1024);
is $r->{status}, 413, 'more than 250 MB, of which nothing is read';

unlike $t->error_log, qr/buffered to a temporary file/, 'nginx wrote no file';
my @files;
find(sub { push @files, $File::Find::name if -f && slurp($_) =~ /\Q$secret\E/ },
    $t->dir);
is_deeply \@files, [], 'nothing of it is in a log or another file';
my $metrics = $t->http($t->symbolicated_socket, 'GET', '/metrics')->{body};
unlike $metrics, qr/libring|ringcrash|\Q$secret\E/, 'or a metric';
is $t->symbolicated_metric('symbolicated_spool_bytes'), 0, 'or kept in memory';

# a core file would have all of it
for my $pid ($symcached, $t->{symbolicated}, map { split ' ' }
        map { slurp($_) } glob "/proc/$t->{symbolicated}/task/*/children") {
    my ($soft, $hard) = slurp("/proc/$pid/limits") =~
        /^Max core file size\s+(\S+)\s+(\S+)/m;
    my $name = slurp("/proc/$pid/comm") =~ s/\n//r;
    is "$soft $hard", '0 0', "$name has no core file";
}

# the same body where nginx buffers it: there this test would find it
$r = $t->post($signed_in, '/symbolicate', $form, $type, $token);
like $t->error_log, qr/buffered to a temporary file/,
    'another location writes a file';

$t->finish;
done_testing;
