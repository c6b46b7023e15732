#!/usr/bin/env perl

# "tenants.tier": what one machine has made of a client's sources is taken from
# the tier on another one, by the same client and nobody else; and what a tier
# must be for that.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Find ();
use Test::File qw(slurp spew);
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my @machines = map { Test::Symcache->new } 0, 1;
my $t = $machines[0];
my $json = JSON::PP->new->canonical->utf8;
my $crash = slurp($t->data('pdb/crash.pdb'));
my $key = $Test::Symcache::key{'crash.pdb'};
my $tier = $t->path('tier');
mkdir $tier;
my $mac_key = 'm' x 32;

# Each token has its own file, as long as nobody has taken the rights away.
my $denied = $t->path('denied');
my $server = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my ($folder, $path) = $req->{path} =~ m{^/([^/]+)/(.*)} or return $c->reply(404);
    return $c->reply(403) if $folder eq 'private'
        && (($req->{headers}{'x-token'} // '') !~ /^s3cret-[ab]$/ || -e $denied);
    return $c->reply(403) if -e $denied;
    return $c->reply(200, {}, $crash) if $path eq "crash.pdb/$key/crash.pdb";
    return $c->reply(404);
});
my $port = $server->port;

sub configuration {
    my ($m, %tier) = @_;
    return {
        stores => { default => { root => $m->path('store') } },
        limits => { attempts => 1 },
        tiers => { fleet => { type => 'filesystem', path => $tier,
                              mac_key => $mac_key, %tier } },
        symbolication => { symbolicator => { sources => 'allow', tenants => {
            root => $m->path('tenants'), tier => 'fleet',
            hosts => ["127.0.0.1:$port"] } } },
    };
}

sub start {
    my ($m, %tier) = @_;
    $m->start_symcached(configuration($m, %tier));
    $m->start_symbolicated;
}
sub stop { $_[0]->stop_symbolicated; $_[0]->stop_symcached }

sub web { my ($folder, %more) = @_;
    return { type => 'http', id => $folder, url => "http://127.0.0.1:$port/$folder/",
             layout => { type => 'symstore' }, filters => { filetypes => ['pdb'] }, %more } }
sub private { return web('private', headers => { 'X-Token' => "s3cret-$_[0]" }) }
sub public { return web('public', is_public => \1) }

my $options = { apply_source_context => \0 };
my $module; # of the last answer

sub post {
    my ($m, $scope, @sources) = @_;
    my $r = $m->post($m->symbolicated_socket, "/symbolicate?scope=$scope", $json->encode({
        stacktraces => [{ frames => [{ instruction_addr => '0x402913' }] }],
        modules => [{ type => 'pe', debug_file => 'crash.pdb', image_addr => '0x400000',
                      debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1' }],
        sources => \@sources, options => $options,
    }), 'Content-Type: application/json');
    my $body = $json->decode($r->{body});
    $module = $body->{modules}[0];
    return $module->{debug_status} // $r->{body};
}

sub objects {
    my @files;
    File::Find::find({ no_chdir => 1, wanted => sub {
        push @files, $File::Find::name if -f && m{symcache$} } }, $tier);
    return sort @files;
}

my $seen = 0;
sub asked { my @all = $server->requests; my $n = @all - $seen; $seen = @all; return $n }

# --- one machine fetches, the other takes it from the tier

my ($m1, $m2) = @machines;
start($m1);
is post($m1, 'x', private('a')), 'found', 'the first machine: a private file';
is post($m1, 'x', public()), 'found', 'and a public one';
$t->wait_until('both are in the tier', sub { 2 == scalar(my @all = objects()) });
cmp_ok asked(), '>', 0, 'the sources were asked';

spew($denied, '');
start($m2);
is post($m2, 'x', private('a')), 'found', 'the second machine has the private one';
is post($m2, 'x', public()), 'found', 'and the public one';
is post($m2, 'other', public()), 'found', 'of which any scope';
is asked(), 0, 'and has asked no source';

# --- where the file was found, only the first machine knows

my $place = "http://127.0.0.1:$port/private/crash.pdb/$key/crash.pd";
for ([$m1, ['notfound', 'No object files listed on this source'], # of its code
        ['notfound', "${place}_"], ['ok', "${place}b"]], [$m2]) {
    my ($m, @places) = @$_;
    $options = { dif_candidates => \1 };
    is post($m, 'x', private('a')), 'found', 'candidates';
    is_deeply [map { [$_->{download}{status}, $_->{location}] }
        grep { $_->{location} !~ /src\.zip$/ } @{ $module->{candidates} // [] }],
        \@places, '... are those that are known, and not "notfound" where it is not';
    $options = { apply_source_context => \0 };
}
asked();

isnt post($m2, 'other', private('a')), 'found', 'another scope: not what is private';
isnt post($m2, 'x', private('b')), 'found', 'nor another token';
isnt post($m2, 'x', web('private', headers => {})), 'found', 'nor without one';
cmp_ok asked(), '>', 0, 'the source was asked, and refuses';

# --- names and contents say nothing of secrets

my @objects = objects();
is scalar(grep { /s3cret/ || slurp($_) =~ /s3cret/ } @objects), 0,
    'no secret in names and files of the tier';
my @names = map { m{/([0-9a-f]{32})/} } @objects;
is scalar(@names), 2, 'a folder for each store';
is_deeply [sort map { m{/([0-9a-f]{32})$} } grep { -d } glob $m1->path('tenants/*')],
    [sort @names], 'of the same name as on the machine';

# they are in use, although no store of the configuration has these names

my $file = $m1->path('symcached.json');
like qx(@{[$m1->program('symcached')]} --tier clean --former -c $file 2>&1), qr/\b0\b/,
    '"tier clean --former"';
is_deeply [objects()], \@objects, 'removes none of them';

# --- what the tier has is checked: bytes that were changed are not used

for my $file (@objects) {
    my $bytes = slurp($file);
    substr $bytes, -10, 1, chr(1 ^ ord substr $bytes, -10, 1);
    spew($file, $bytes);
}
stop($m2);
system 'rm', '-rf', $m2->path('tenants');
start($m2);
isnt post($m2, 'x', private('a')), 'found', 'a changed object is not used';
like $m2->helper_log, qr/tier fleet: .*is refused/, 'as the log says';
unlink $denied;
stop($m2);
start($m2);
is post($m2, 'x', private('a')), 'found', 'the source is asked then';

# --- another key of the fleet: other names, nothing is found by the old ones

stop($m2);
start($m2, mac_key => 'n' x 32);
spew($denied, '');
isnt post($m2, 'x', private('a')), 'found', 'with another key it is another store';
$t->wait_until('the old folders go', sub {
    my %old = map { $_ => 1 } @names;
    !grep { m{/([0-9a-f]{32})$} && $old{$1} } glob $m2->path('tenants/*') });
stop($m2);
stop($m1);

# --- what the tier must be

sub refused {
    my ($pattern, $what, %tier) = @_;
    my $config = configuration($m1, %tier);
    delete $config->{tiers}{fleet}{mac_key} if exists $tier{mac_key} && !defined $tier{mac_key};
    $file = $m1->write_helper_config($config);
    my $said = qx(@{[$m1->program('symcached')]} -t -c $file 2>&1);
    is $? >> 8, 1, "$what: refused";
    like $said, $pattern, "$what: why";
}
refused(qr/tenants\.tier: has no "mac_key"/, 'without a key', mac_key => undef);
$ENV{TIER_KEY} = $mac_key;
refused(qr/tenants\.tier: has variables of the environment/, 'with a variable',
    mac_key => '$TIER_KEY');

for my $m (@machines) {
    $m->allow_log(qr/tier fleet: .*is refused/);
}
$_->finish for @machines;
done_testing;
