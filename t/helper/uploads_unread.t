#!/usr/bin/env perl

# Bodies of uploads for which nginx has no room.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Mount;
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $u = Test::Uploads->new(prepare => sub {
    my ($t) = @_;
    Test::Mount::small($t->path('uploads/.spool'), '600k');
    chmod 0777, $t->path('uploads/.spool') or die $!;
});
my ($t, $dir) = ($u->t, $u->t->dir);
my $path = "crash.pdb/$Test::Symcache::key{'crash.pdb'}/crash.pdb";
my $pdb = $t->read_file($t->data('pdb/crash.pdb')); # 1 MB

sub failed { $t->metric('symcached_uploads_refused_total{reason="failed"}') }

is failed(), 0, 'none has failed';
for my $n (1, 2) {
    my $r = $u->put($path, $pdb);
    is $r->{status}, 500, 'a body for which nginx has no room' or diag $r->{raw};
    is $r->{json}{detail}, 'the web server cannot take the file: its error log says why',
        '... the answer';
    is failed(), $n, '... counted';
}
is scalar(() = $t->helper_log =~ /nginx could not write the body/g), 1, '... logged once';
like $t->read_file('error.log'), qr/No space left on device/, '... with the reason where it says';
$t->wait_until('nothing is left of them', sub { !(() = glob "$dir/uploads/.spool/*") });
is $u->request('GET', '/.unread', '')->{status}, 404, 'no page for clients';
my $other = $t->http("$dir/u.sock", 'GET', '/v1/unread', 'Host: localhost');
is $other->{status}, 500, 'another failure of nginx';
like $other->{body}, qr/nginx failed/, '... is called that';
is failed(), 2, '... and no upload';
my $sym = "MODULE windows x86_64 $Test::Symcache::key{'crash.pdb'} crash.pdb\n";
is $u->put($path =~ s/pdb$/sym/r, $sym)->{status}, 201, 'a small one is stored';

$t->stop_nginx;
is $t->stop_symcached, 0, 'stopped';
Test::Mount::gone("$dir/uploads/.spool");
$t->finish;
done_testing;
