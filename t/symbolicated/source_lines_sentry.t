#!/usr/bin/env perl

# What Symbolicator answered, with lines of source code and candidates, where
# both files come from a source of the type sentry, as they did there.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::File qw(slurp);
use Test::More;
use Test::Sentry;
use Test::Symcache;

my $t = Test::Symcache->new;
my $s = Test::Sentry->new($t, token => 's3cret');
my $json = JSON::PP->new->utf8->canonical;
my $data = "$FindBin::Bin/../data/sourcebundle/ring";
my %ids = (code_id => 'd11f4ac8ee483d6e69b18b9de238d72346637b94',
           debug_id => 'c84a1fd1-48ee-6e3d-69b1-8b9de238d723');
my $id = 0;
while ($id < 10) { # files of other modules
    $id = $s->add(type => 'elf', data => 'x', code_id => "0$id",
        debug_id => "00000000-0000-0000-0000-00000000000$id");
}
is $s->add(type => 'elf', data => slurp("$data/ring"), %ids), 11, 'the program';
is $s->add(type => 'sourcebundle', data => slurp("$data/ring.src.zip"), %ids),
    12, 'its source code';

$t->start_symcached({
    stores => { default => { root => $t->path('store'), sources => ['project'],
        transcoders => [{ version => '9.0.0', inputs => ['pdb', 'elf'],
            command => ['pdb2symcache', '--like-symbolic', '{pdb}'] }] } },
    downloads => $t->path('downloads'),
    sources => { project => { type => 'sentry', url => $s->debug_files,
        token => 's3cret', internal => JSON::PP::true() } },
});
$t->start_symbolicated;

for (@{ $json->decode(slurp("$data/answers.json")) }) {
    my ($name, $request, $want) = @$_{qw(name request answer)};
    my $r = $t->post($t->symbolicated_socket, '/symbolicate',
        $json->encode($request), 'Content-Type: application/json');
    for my $module (@{ $want->{modules} }) {
        $_->{source} = 'project' for @{ $module->{candidates} // [] };
    }
    is_deeply eval { $json->decode($r->{body}) }, $want, "ring: $name"
        or diag $r->{body};
}

$t->finish;
done_testing;
