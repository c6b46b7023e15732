package Test::Pairs;

# Requests that another service has answered (t/data/vectors), sent to
# symbolicated, which has SymCaches of the same PDBs.
#
#   my $pairs = Test::Pairs->new($t, ID => 'win32-x64/winpty.pdb', ...);
#   $pairs->replay('mozilla', sub {
#       my ($name, $answer, $theirs) = @_;   # as of http(); as in the file
#       ...
#   });
#
# $pairs->{pdbs} has the PDB of each id.
#
# The PDBs are those of the package node-pty, by the ids that the requests have
# for them; crash.pdb is always there.  A pair whose PDB cannot be fetched is
# skipped, unless its answer is an error.

use strict;
use warnings;

use File::Basename qw(dirname);
use lib dirname(__FILE__) . '/../../convert/lib';
use Corpus;
use JSON::PP ();
use Test::More;
use Test::Symcache;

# Fills the folder "store" of $t.
sub new {
    my ($class, $t, %wanted) = @_;
    my $self = bless { t => $t, corpus => Corpus->new, missing => {},
                       pdbs => {} }, $class;
    for my $id (sort keys %wanted) {
        my ($input) = grep { $_->{origin} eq 'node-pty'
            && $_->{path} =~ m{/\Q$wanted{$id}\E$} } $self->{corpus}->inputs;
        my $pdb = $self->{corpus}->pdb($input);
        if ($pdb) {
            $self->{pdbs}{$id} = $pdb;
        } else {
            $self->{missing}{$id} = $wanted{$id};
            diag("$wanted{$id}: ", $self->{corpus}->reason($input));
        }
    }
    $t->fill_store('store', $t->data('pdb/crash.pdb'),
                   values %{ $self->{pdbs} });
    return $self;
}

sub send_request {
    my ($t, $q) = @_;
    my @headers = map { "$_: $q->{headers}{$_}" } keys %{ $q->{headers} };
    my $address = $t->symbolicated_socket;
    return $t->http($address, $q->{method}, $q->{path}, @headers)
        if $q->{method} ne 'POST';
    utf8::encode(my $body = $q->{body_text} // '');
    return $t->post($address, $q->{path}, $body, @headers);
}

sub replay {
    my ($self, $service, $check) = @_;
    my $t = $self->{t};
    my ($replayed, $skipped) = (0, 0);
    open my $pairs, '<', $t->data("vectors/$service.jsonl") or die $!;
    while (my $line = <$pairs>) {
        my ($name, $q, $theirs) =
            @{ JSON::PP->new->decode($line) }{qw(name request response)};
        my @missing = map { $self->{missing}{$_} }
            grep { $line =~ /$_/i } sort keys %{ $self->{missing} };
        SKIP: {
            if (@missing && $theirs->{status} == 200) {
                $skipped++;
                skip "$name: no @missing", 1;
            }
            $replayed++;
            $check->($name, send_request($t, $q), $theirs);
        }
    }
    note "$replayed pairs replayed, $skipped skipped";
    cmp_ok $replayed, '>', 30, 'pairs were replayed';
}

# Of the headers of an answer, those that the other service's answer has.
sub headers {
    my ($answer, $theirs) = @_;
    return { map { $_ => scalar Test::Symcache::header($answer, $_) }
                 keys %{ $theirs->{headers} } };
}

1;
