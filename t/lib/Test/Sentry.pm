package Test::Sentry;

# A project of Sentry, as far as symbol servers ask it: the list of debug files
# by debug id and code id, the files by their ids, and the artifacts of scripts.
# What it has may change at any time.
#
#   my $s = Test::Sentry->new($t, token => 'secret');
#   $s->add(type => 'elf', data => $bytes, debug_id => ..., code_id => ...,
#       features => ['debug']);                # returns the id of the file
#   $s->artifact('~/app.js', $text, headers => {...});
#   $s->answer(list => 503);                   # or file => ...; undef: no more
#   $s->answer(per_page => 2);                 # elements of a page of a list
#   { type => 'sentry', id => 'x', url => $s->debug_files, token => 'secret' }
#
# Elements of lists have the members that those of Sentry have.  It is read
# from source, and an answer of it is in t/data/javascript and in
# t/data/sourcebundle as Symbolicator took it.

use strict;
use warnings;

use Digest::SHA qw(sha1_hex);
use JSON::PP ();
use Test::ScriptedServer;

my $json = JSON::PP->new->canonical->utf8;

sub new {
    my ($class, $t, %o) = @_;
    my $self = bless { t => $t, n => 0, token => $o{token},
        cookies => $o{cookies}, dir => $t->path('project') }, $class;
    mkdir $self->{dir};
    $self->store('files', []);
    $self->store('artifacts', []);
    $self->store('answers', {});
    $self->{server} = Test::ScriptedServer->new(
        log => $t->path('project.log'), script => sub { $self->serve(@_) });
    return $self;
}

sub store {
    my ($self, $name, $value) = @_;
    open my $fh, '>', "$self->{dir}/$name.new" or die $!;
    print $fh $json->encode($value);
    close $fh or die $!;
    rename "$self->{dir}/$name.new", "$self->{dir}/$name" or die $!;
}

sub load {
    my ($self, $name) = @_;
    open my $fh, '<', "$self->{dir}/$name" or die $!;
    local $/;
    return $json->decode(<$fh>);
}

sub project { $_[0]{server}->url . '/api/0/projects/org/app' }
sub debug_files { $_[0]->project . '/files/dsyms/' }
sub artifact_lookup { $_[0]->project . '/artifact-lookup/' }
sub host { '127.0.0.1:' . $_[0]{server}->port }

# A configuration whose clients bring this project as a source.  %o: hosts (that
# they may name, too), javascript (of that section)
sub config {
    my ($self, %o) = @_;
    my $t = $self->{t};
    return {
        stores => { default => { root => $t->path('store') } },
        limits => { attempts => 1 },
        symbolication => {
            $o{javascript} ? (javascript => $o{javascript}) : (),
            symbolicator => { sources => 'allow', tenants => {
                root => $t->path('tenants'), count => 40,
                hosts => [$self->host, @{ $o{hosts} // [] }] } },
        },
    };
}

# POST /symbolicate-js with the artifacts of this project.  %o: scope, query.
# Returns the answer, or what else came.
sub symbolicate_js {
    my ($self, $body, %o) = @_;
    my $t = $self->{t};
    my $r = $t->post($t->symbolicated_socket,
        '/symbolicate-js?scope=' . ($o{scope} // 'a') . ($o{query} // ''),
        $json->encode({ source => { id => 'x', token => 's3cret',
            url => $self->artifact_lookup }, %$body }),
        'Content-Type: application/json');
    return $r->{status} == 200 ? $json->decode($r->{body}) : $r;
}

# Of each request that had come: "list QUERY", "file ID", "lookup QUERY", ...
sub requests {
    my ($self) = @_;
    return map {
        my ($q) = $_->{uri} =~ /\?(.*)/s;
        $q //= '';
        $_->{path} =~ m{/dsyms/$} && $q =~ /^id=(.*)/ ? "file $1"
            : $_->{path} =~ m{/dsyms/$} ? "list $q"
            : $q =~ /^download=(.*)/ ? "artifact $1" : "lookup $q"
    } $self->{server}->requests;
}

sub add {
    my ($self, %file) = @_;
    my $id = $file{id} // ++$self->{n};
    open my $fh, '>:raw', "$self->{dir}/$id.file" or die $!;
    print $fh delete $file{data};
    close $fh or die $!;
    $self->store('files', [@{ $self->load('files') }, { %file, id => "$id" }]);
    return $id;
}

# A file of a release: its name, its text, headers, debug ids.
sub artifact {
    my ($self, $name, $text, %o) = @_;
    my $id = $o{id} // ++$self->{n};
    (my $file = $id) =~ s{/}{_}g;
    open my $fh, '>:raw', "$self->{dir}/$file.artifact" or die $!;
    print $fh $text;
    close $fh or die $!;
    $self->store('artifacts', [@{ $self->load('artifacts') },
        { %o, id => "$id", abs_path => $name }]);
    return $id;
}

sub answer {
    my ($self, $what, $status) = @_;
    my $answers = $self->load('answers');
    $answers->{$what} = $status;
    $self->store('answers', $answers);
}

sub element {
    my ($f, $size, $sha1) = @_;
    return { id => $f->{id}, symbolType => $f->{type}, uuid => $f->{debug_id},
        debugId => $f->{debug_id}, codeId => $f->{code_id},
        cpuName => 'x86_64', objectName => 'app', size => $size,
        headers => { 'Content-Type' => 'application/x-executable' },
        sha1 => $sha1, dateCreated => '2026-08-01T12:00:00.000000Z',
        data => { type => 'dbg', features => $f->{features} // [] } };
}

sub content {
    my ($self, $name) = @_;
    open my $fh, '<:raw', "$self->{dir}/$name" or return;
    local $/;
    return <$fh> // '';
}

sub serve {
    my ($self, $c, $req) = @_;
    my %q = map { s/\+/ /gr =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ger }
        map { my @pair = split /=/, $_, 2; (@pair, ('') x (2 - @pair)) }
        split /&/, $req->{uri} =~ /\?(.*)/s ? $1 : '';
    my $answers = $self->load('answers');
    my $what = $req->{path} !~ m{/dsyms/$}
        ? (defined $q{download} ? 'artifact' : 'lookup')
        : defined $q{id} ? 'file' : 'list';
    return $c->reply($answers->{$what}, {}, '') if $answers->{$what};
    return $c->reply(401, {}, '') if defined $self->{token} &&
        ($req->{headers}{authorization} // '') ne "Bearer $self->{token}";
    return $c->reply(401, {}, '') if defined $self->{cookies} &&
        ($req->{headers}{cookie} // '') ne $self->{cookies};
    if ($what eq 'list') {
        my @list = map { my $d = $self->content("$_->{id}.file");
                element($_, length $d, sha1_hex($d)) }
            grep { (defined $q{debug_id} &&
                    ($_->{debug_id} // '') eq $q{debug_id}) ||
                (defined $q{code_id} &&
                    ($_->{code_id} // '') eq $q{code_id}) }
            @{ $self->load('files') };
        # as cursors of Sentry: elements of a page, its number, backwards
        my $per_page = $self->load('answers')->{per_page} // 100;
        my $page = ($q{cursor} // '') =~ /^$per_page:(\d+):0$/ ? $1 : 0;
        my $url = 'http://inner.invalid/' . 'x' x ($answers->{inner} // 0)
            . ($req->{uri} =~ s/&cursor=.*//r);
        my $link = sub {
            my ($rel, $to, $more) = @_;
            return qq(<$url&cursor=$per_page:$to:@{[ $rel ne 'next' || 0 ]}>;)
                . qq( rel="$rel"; results="@{[ $more ? 'true' : 'false' ]}";)
                . qq( cursor="$per_page:$to:@{[ $rel ne 'next' || 0 ]}");
        };
        my $first = $per_page * $page;
        my @links = ($link->('previous', $page - 1, $page > 0),
                     $link->('next', $page + 1, @list > $first + $per_page));
        # as a proxy may hand them on: a line each
        return $c->reply(200, { 'Content-Type' => 'application/json',
                Link => $answers->{lines} ? join "\r\nLink: ", reverse @links
                                          : join ', ', @links },
            $json->encode([grep { defined }
                @list[$first .. $first + $per_page - 1]]));
    }
    if ($what eq 'lookup') {
        return $c->reply(200, { 'Content-Type' => 'application/json' },
            $json->encode([map { found($_, "http://$req->{headers}{host}$req->{path}") }
                grep { looks_for($_, \%q) }
                @{ $self->load('artifacts') }]));
    }
    my $id = $what eq 'file' ? $q{id} : $q{download};
    $id =~ s{/}{_}g;
    my $data = $self->content("$id."
        . ($what eq 'file' ? 'file' : 'artifact'));
    return $c->reply(404, {}, '{"detail":"The requested resource does not'
        . ' exist"}') unless defined $data;
    return $c->reply(200, { 'Content-Type' => 'application/octet-stream' },
        $data);
}

# An artifact of a bundle is found by debug id or by release; one of its own by
# release, and if its name has the stem.
sub looks_for {
    my ($a, $q) = @_;
    return 1 if defined $q->{debug_id} && grep { $_ eq $q->{debug_id} }
        @{ $a->{debug_ids} // [] };
    return 0 unless defined $q->{release};
    return $a->{bundle} || index(lc $a->{abs_path}, lc($q->{url} // '')) >= 0;
}

sub found {
    my ($a, $lookup) = @_;
    my $url = "$lookup?download=$a->{id}";
    return { type => 'bundle', id => $a->{id}, url => $url,
        resolved_with => $a->{resolved_with} // 'index' } if $a->{bundle};
    return { type => 'file', id => $a->{id}, url => $url,
        abs_path => $a->{abs_path}, headers => $a->{headers} // {},
        resolved_with => $a->{resolved_with} // 'release' };
}

1;
