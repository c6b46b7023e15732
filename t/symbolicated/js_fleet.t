#!/usr/bin/env perl

# Bundles of scripts that were uploaded to one machine of a fleet are found on
# the others with their next request, by debug id and by release, the newest one
# first; also on a machine that was away, or has lost its disk.  In a tier that
# is a folder, and in one that is a bucket.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::File qw(slurp);
use Test::More;
use Test::S3;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;

my $u = Test::Uploads->new;
my $m1 = $u->t;
plan skip_all => 'no extended attributes here, so files have no digest'
    if !$m1->has_attributes;
my @machines = ($m1, Test::Symcache->new, Test::Symcache->new);
my (undef, $m2, $m3) = @machines;
my $json = JSON::PP->new->canonical->utf8;
my $shop = $m1->data('javascript/shop');
my $page = 'https://cdn.example.com/js/x.js';
my $s3 = Test::S3->new($m1, region => 'eu-west-1',
    secrets => { AKIDexample => 'secret' });
my $folder = $m1->path('tier');
mkdir $folder or die;
my %tiers = (
    folder => { type => 'filesystem', path => $folder },
    bucket => { type => 's3', bucket => 'sym', region => 'eu-west-1',
        endpoint => $s3->url, path_style => JSON::PP::true(),
        access_key => 'AKIDexample', secret_key => 'secret' },
);
$m1->stop_symcached;

sub start {
    my ($m, $tier) = @_;
    my $c = $u->config;
    $c->{uploads}{peers} = [map { 'unix:' . $_->path('a.sock') } @machines];
    $c->{uploads}{listen} = 'unix:' . $m->path('machine.sock');
    $c->{uploads}{spool} = $m1->path('uploads/.spool');
    $c->{uploads}{root} = $m->path("uploads-$tier");
    $c->{sources}{empty}{path} = $m->path('empty');
    $c->{stores}{default}{root} = $m->path("store-$tier");
    $c->{stores}{default}{tier} = 'fleet';
    $c->{stores}{default}{transcoders}[0]{command} =
        ['pdb2symcache', '-pdb', '{pdb}'];
    $c->{downloads} = $m->path("downloads-$tier");
    $c->{listen} = 'unix:' . $m->path('h.sock');
    $c->{admin_listen} = 'unix:' . $m->path('a.sock');
    $c->{tiers}{fleet} = $tiers{$tier};
    $c->{cache} = { retry_errors_after => '1s' };
    mkdir $_ for $m->path("uploads-$tier"), $m->path('empty');
    $m->start_symcached($c);
    $m->start_symbolicated;
}

sub stop {
    my ($m) = @_;
    $m->stop_symbolicated;
    $m->stop_symcached;
}

# The machine that nginx passes uploads on to.
sub uploads_go_to {
    my ($m) = @_;
    unlink $m1->path('u.sock');
    symlink $m->path('machine.sock'), $m1->path('u.sock') or die $!;
}

# A position of a build: [line, column, file, line, column, function], from 0.
sub place_of {
    my ($tool) = @_;
    my @peer = grep { defined $_->[2] && $_->[5] } @{ $json->decode(
        slurp("$shop/$tool.positions.json"))->{peer} };
    return $peer[@peer / 2];
}
my %place = map { $_ => place_of($_) } qw(terser esbuild);

sub bundle {
    my ($tool, $debug_id) = @_;
    my %id = $debug_id ? ('debug-id' => $debug_id) : ();
    return "SYSB\2\0\0\0" . Test::Zip::zip(
        ['x.js', slurp("$shop/$tool.js")], ['x.js.map', slurp("$shop/$tool.js.map")],
        ['manifest.json', $json->encode({ files => {
            'x.js' => { type => 'minified_source', url => '~/js/x.js',
                headers => { %id, sourcemap => 'x.js.map' } },
            'x.js.map' => { type => 'source_map', url => '~/js/x.js.map',
                headers => { %id } } } })]);
}

# What a machine answers: the file of a frame of the build, or the error.
sub ask {
    my ($m, $tool, %o) = @_;
    my $place = $place{$tool};
    my $r = $m->post($m->symbolicated_socket, '/symbolicate-js',
        $json->encode({ source => { id => 'x', token => 'y',
            url => 'http://127.0.0.1:1/' }, stacktraces => [{ frames => [{
            abs_path => $page, lineno => $place->[0] + 1,
            colno => $place->[1] + 1 }] }], %o }), 'Content-Type: application/json');
    return "status $r->{status}" if $r->{status} != 200;
    my $answer = $json->decode($r->{body});
    my $f = $answer->{stacktraces}[0]{frames}[0];
    return $f->{data}{symbolicated}
        ? "$f->{filename}:$f->{lineno}:$f->{colno} $f->{function}"
        : $answer->{errors}[0]{type};
}
sub id_of {
    my ($id) = @_;
    return (modules => [{ type => 'sourcemap', code_file => $page,
        debug_id => $id }]);
}
my %wanted = map { my $p = $place{$_}; ($_ => sprintf '%s:%d:%d %s', $p->[2],
    $p->[3] + 1, $p->[4] + 1, $p->[5]) } keys %place;
my $none = 'scraping_disabled';

for my $tier (qw(folder bucket)) {
    start($_, $tier) for @machines;
    uploads_go_to($m1);
    my $id = 'ecabd945-b6dc-5376-ae84-ab686148470d';
    is ask($_, 'terser', id_of($id)), $none, "$tier: nobody has it" for @machines;
    is ask($m3, 'terser', release => 'web@1'), $none, "$tier: nor the release";
    is $u->send_bundle(bundle('terser', $id), version => 'web@1')->{state}, 'ok',
        "$tier: a bundle comes to the first machine";
    is ask($_, 'terser', id_of($id)), $wanted{terser},
        "$tier: all find it at once by debug id" for @machines;
    is ask($_, 'terser', release => 'web@1'), $wanted{terser},
        "$tier: ... and by the release" for @machines;
    ok !-d $m2->path("uploads-$tier/_"), "$tier: ... without a copy of theirs";

    uploads_go_to($m2);
    is $u->send_bundle(bundle('esbuild'), version => 'web@1')->{state}, 'ok',
        "$tier: another one for the release comes to the second machine";
    is ask($_, 'esbuild', release => 'web@1'), $wanted{esbuild},
        "$tier: ... which is the newest everywhere" for @machines;
    is ask($m1, 'terser', id_of($id)), $wanted{terser},
        "$tier: ... and the former is found by its debug id";

    stop($m3);
    uploads_go_to($m1);
    is $u->send_bundle(bundle('terser'), version => 'web@1')->{state}, 'ok',
        "$tier: a third one comes while a machine is away";
    start($m3, $tier);
    ok $m3->wait_until("$tier: it hears of that", sub {
        ask($m3, 'terser', release => 'web@1') eq $wanted{terser} }),
        "$tier: ... which hears of it when it is back";

    stop($m3);
    system('rm', '-rf', map { $m3->path("$_-$tier") } qw(uploads store downloads));
    start($m3, $tier);
    is ask($m3, 'terser', id_of($id)), $wanted{terser},
        "$tier: a machine that has lost its disk finds all";

    next if $tier ne 'folder';
    stop($m3);
    system('rm', '-rf', map { $m3->path("$_-$tier") } qw(uploads store downloads));
    start($m3, $tier);
    rename $folder, "$folder.away" or die $!;
    is ask($m3, 'terser', release => 'web@1'), 'fetching_failed',
        'a tier that does not answer: that is not known';
    rename "$folder.away", $folder or die $!;
    ok $m3->wait_until('it answers again', sub {
        ask($m3, 'terser', release => 'web@1') eq $wanted{terser} }),
        '... which is not remembered';
} continue {
    stop($_) for @machines;
}
$_->finish for @machines;
done_testing;
