#!/usr/bin/env perl

# ProguardCaches: of mappings in a source of the layout unified, under any UUID,
# packed or not; what is no mapping is refused.  No nginx here.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Compress::Gzip qw(gzip);
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $mapping = <<'MAPPING';
# compiler: R8
# {"id":"com.android.tools.r8.mapping","version":"2.2"}
org.example.Main -> a.a:
# {"id":"sourceFile","fileName":"Main.kt"}
    1:3:void run():10:12 -> a
MAPPING
gzip \$mapping => \my $packed;

sub uuid { sprintf '5c1d3f3a-0000-4000-8000-%012d', shift }
sub key { (my $id = uc uuid(shift)) =~ tr/-//d; $id . '0' }
sub path {
    (my $id = lc uuid(shift)) =~ tr/-//d;
    return '/' . substr($id, 0, 2) . '/' . substr($id, 2) . '/proguard';
}

my %files = (path(1) => $mapping, path(2) => $packed,
    path(3) => "just text\n" x 100, path(4) => '<!DOCTYPE html><html></html>');
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my $body = $files{ $req->{path} };
    $c->reply(defined $body ? 200 : 404, {}, $body // '');
});
my $config = $t->default_config($web->url);
$config->{sources}{upstream}{layout} = 'unified';
my $transcoder = $config->{stores}{default}{transcoders}[0];
$config->{stores}{default}{transcoders} = [ { %$transcoder,
    version => '1.0.0', makes => 'proguardcache',
    command => [$t->program('pdb2symcache'), '{pdb}'] } ];
delete $config->{stores}{default}{transcoders}[0]{inputs};
$t->start_symcached($config);

sub lookup {
    my ($n, $kind) = @_;
    $kind //= 'proguardcache';
    return $t->helper('GET', "/v1/$kind/default/mapping.txt/" . key($n)
        . '?version=1.0.0&wait=60');
}

my $r = lookup(1);
is $r->{status}, 200, 'a ProguardCache is made' or diag $r->{raw};
my $file = $t->path('store/mapping.txt/' . key(1)
    . '/mapping.txt-v1.0.0.proguardcache');
ok -f $file, 'and is where others are';
like `@{[$t->program('symcachectl')]} verify $file`,
    qr/: sound: ProguardCache, version 1, 1 classes, 1 members$/,
    'it is sound';
is_deeply [map { $_->{path} } $web->requests], [path(1)],
    'one place is asked for';
is lookup(2)->{status}, 200, 'of a packed mapping';
is lookup(2, 'mapping')->{status}, 200, 'a mapping can be had itself';

$r = lookup(3);
is $r->{status}, 404, 'nothing is made of other text';
is Test::Symcache::header($r, 'X-Symcache-Reason'), 'malformed',
    'the file is malformed, not its source';
$r = lookup(4);
is $r->{status}, 503, 'but a page of errors';
like $r->{raw}, qr/unusable \(an HTML page\)/, 'is one of the source';
is Test::Symcache::header(lookup(5), 'X-Symcache-Reason'), 'notfound',
    'without a mapping there is none';

$t->finish;
done_testing;
