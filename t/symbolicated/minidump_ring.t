#!/usr/bin/env perl

# POST /minidump with a library for Linux: its CFI, names and lines are those
# that Symbolicator answered, without symbols and with them.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Copy qw(copy);
use File::Path qw(make_path);
use Test::File;
use Test::Form;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->utf8;
my $ring = $t->data('minidump/ring');

my $id = '0200b1bd7eae221944eb39646c85574ccd840e9f';
make_path($t->path("symbols/buildid/$id"));
copy("$ring/libring.so", $t->path("symbols/buildid/$id/$_")) or die $!
    for qw(executable debuginfo);
my $converter = $t->program('pdb2symcache');
$t->start_symcached({
    stores => { default => {
        root => $t->path('made'), sources => ['library'],
        transcoders => [
            { version => '9.0.0', inputs => ['elf'],
              command => [$converter, '{pdb}'] },
            { version => '1.0.0', inputs => ['elf'], makes => 'cficache',
              command => [$converter, '--kind', 'cficache', '{pdb}'] }],
    } },
    sources => { library => { type => 'filesystem', layout => 'debuginfod',
        path => $t->path('symbols') } },
});
$t->start_symbolicated;

# Without what needs source files, and without where they come from: there, the
# peer had a bundle beside the library, in a source of another type.
sub without_sources {
    my ($answer) = @_;
    for my $frame (map { @{ $_->{frames} } } @{ $answer->{stacktraces} }) {
        delete @$frame{qw(pre_context context_line post_context)};
    }
    for my $module (@{ $answer->{modules} }) {
        delete $module->{candidates};
        delete $module->{features}{has_sources};
    }
    return $answer;
}

sub is_peers {
    my ($name, $sources, $prepare) = @_;
    my $wanted = $json->decode(slurp("$ring/libring.$name.json"));
    my $r = $t->post($t->symbolicated_socket, '/minidump', form(
        ['sources', $sources], ['options', '{"dif_candidates":true}'],
        ['upload_file_minidump', slurp("$ring/libring.dmp"), 'ring.dmp']),
        "Content-Type: $form_type");
    is $r->{status}, $wanted->{status}, "$name: status";
    is_deeply $prepare->($json->decode($r->{body})),
        $prepare->($wanted->{answer}), "$name: answer";
}

is_peers('none', '[]', sub { $_[0] });
is_peers('sentry', '[{"id":"library"}]', \&without_sources);

done_testing;
