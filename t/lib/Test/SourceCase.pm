package Test::SourceCase;

# Asks a real symcached, whose transcoder only copies, for one key after
# another and tells where it looked and what each place answered.
#
#   my $c = Test::SourceCase->new($t, sources => {...}, order => [...]);
#   my $r = $c->ask('crash.pdb');        # id of the fixture crash.pdb
#   # { status, reason, retry, places => [[place, outcome, detail], ...] }

use strict;
use warnings;

use JSON::PP ();
use Test::More ();
use Test::Symcache;

our $id = $Test::Symcache::key{'crash.pdb'};

sub new {
    my ($class, $t, %o) = @_;
    my $copy = 'cp "$0" "$1/$(basename "$0")-v9.0.0.symcache"';
    my $config = {
        stores => { default => {
            root => $t->path('store'),
            transcoders => [{ version => '9.0.0', command =>
                $o{command} // ['/bin/sh', '-c', $copy, '{pdb}', '{out}'],
                %{ $o{transcoder} // {} } }],
            sources => $o{order} // [sort keys %{ $o{sources} }],
        } },
        sources => $o{sources},
        ($o{downloads} ? (downloads => $o{downloads}) : ()),
        limits => $o{limits} // {},
        cache => { retry_errors_after => '1s', %{ $o{cache} // {} } },
    };
    $t->start_symcached($config, env => $o{env} // {},
                        wrapper => $o{wrapper} // []);
    return bless { t => $t, config => $config }, $class;
}

sub escape {
    my ($s) = @_;
    $s =~ s/([^A-Za-z0-9._~-])/sprintf '%%%02X', ord $1/ge;
    return $s;
}

sub ask {
    my ($self, $name, $key) = @_;
    my $path = 'default/' . escape($name) . '/' . ($key // $id);
    my $r = $self->{t}->helper('GET',
        "/v1/symcache/$path?version=9.0.0&wait=600");
    my $why = $self->{t}->helper_json("/v1/why/$path");
    return {
        status => $r->{status},
        body => $r->{body},
        reason => scalar Test::Symcache::header($r, 'X-Symcache-Reason'),
        retry => scalar Test::Symcache::header($r, 'Retry-After'),
        path => scalar Test::Symcache::header($r, 'X-Symcache-Path'),
        places => [map { [@$_{qw(place outcome detail)}] }
                   @{ $why->{attempts} }],
    };
}

# What the job made of the last place; index2.txt has no PDB.
sub last_place {
    return (grep { $_->[0] !~ m{/index2\.txt$} } @{ $_[0]{places} })[-1]
        // ['', '', ''];
}

sub found {
    my ($self, $name, $what, $key) = @_;
    my $r = $self->ask($name, $key);
    Test::More::is($r->{status}, 200, $what)
        or Test::More::diag(Test::More::explain($r));
    return $r;
}

# A final "there is none".
sub absent {
    my ($self, $name, $detail, $what) = @_;
    my $r = $self->ask($name);
    Test::More::is("$r->{status} " . last_place($r)->[1], '404 not found',
        $what) or Test::More::diag(Test::More::explain($r));
    Test::More::like(last_place($r)->[2], $detail, "$what: reason");
    return $r;
}

# No answer that a client takes as final.
sub undecided {
    my ($self, $name, $outcome, $detail, $what) = @_;
    my $r = $self->ask($name);
    Test::More::is("$r->{status} " . last_place($r)->[1], "503 $outcome",
        $what) or Test::More::diag(Test::More::explain($r));
    Test::More::like(last_place($r)->[2], $detail, "$what: reason");
    Test::More::ok($r->{retry}, "$what: the client is told to retry");
    return $r;
}

# The file that was published, as the copying transcoder saw it.
sub published {
    my ($self, $r) = @_;
    return $self->{t}->read_file("store/$r->{path}");
}

1;
