package Test::Misbehaviour;

# Rows of a table: a kind of upstream misbehaviour each, with a PDB name, a
# source and a host of its own in one symcached, behind one nginx.  All run at
# once; what the clients saw and what was cached is compared with the class
# of the row, and the rows with a document.
#
#   my $m = Test::Misbehaviour->new;
#   $m->section('Statuses');
#   $m->web('500', error => qr/^failed 500/, sub { $_[0]->reply(500, {}, '') });
#   $m->source('a file that is missing', miss => qr/no such file/,
#              { type => 'filesystem', path => '/srv' });
#   $m->start;
#   $m->run;
#   $m->document('Title of its part');
#   $m->finish;

use strict;
use warnings;

use File::Find ();
use JSON::PP ();
use Test::More ();
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;
use Time::HiRes qw(sleep time);

our $id = $Test::SourceCase::id;

# The three that there are for what is not a file, and the file.  seconds is
# for how long it is believed.
our %class = (
    error => { poll => '404, ask again', hold => '503, ask again',
               cached => 'a failure, in memory', blocked => 'error',
               seconds => 60 },
    miss => { poll => '404', hold => '404', cached => 'a miss, on disk',
              blocked => 'notfound', seconds => 3600 },
    malformed => { poll => '404', hold => '404',
                   cached => 'malformed, on disk', blocked => 'malformed',
                   seconds => 86400 },
    file => { poll => '200', hold => '200', cached => 'the right file',
              blocked => '', seconds => 0 },
);

# What makes the rows quick; the document has them.
our %limits = (
    download_size => '4m', download_time => '12s', connect_time => '2s',
    first_byte_time => '3s', stall_time => '2s', attempts => 2,
    downloads => 500, transcodes => 4, transcode_time => '10s',
    transcode_memory => '1g', breaker_failures => 6,
);

sub new {
    my ($class, %o) = @_;
    my $t = Test::Symcache->new;
    my $self = bless { t => $t, rows => [], sources => {}, limits => \%limits,
                       begun => time,
                       pdb => $t->read_file($t->data('pdb/crash.pdb')),
                       %o }, $class;
    mkdir $t->path($_) for qw(count faults);
    return $self;
}

# What rows are made of: $t, the key's id, its PDB, another's, a page.
sub given {
    my ($self) = @_;
    my $t = $self->t;
    return ($t, $id, $self->pdb,
        $t->read_file($t->data('pdb/omap_stretched.pdb')),
        "<!DOCTYPE html>\n<html><body>Please sign in</body></html>\n");
}

sub t { $_[0]{t} }
sub pdb { $_[0]{pdb} }
sub rows { @{ $_[0]{rows} } }
sub section { $_[0]{section} = $_[1] }

# %o: name (behind "rowNNN"), key, seconds, store, slow, before (so many other
# PDBs are asked for first), sources (more of them, behind the row's own).
sub source {
    my ($self, $kind, $class, $why, $source, %o) = @_;
    my $n = @{ $self->{rows} } + 1;
    my $row = { n => $n, kind => $kind, class => $class, why => $why,
                section => $self->{section}, key => $id, store => 'default',
                base => sprintf('row%03d', $n), %o };
    $row->{pdb} = $row->{base} . ($o{name} // '') . '.pdb';
    $row->{seconds} //= $class{$class}{seconds};
    my $i = 'a';
    for my $s ($source, @{ $o{sources} // [] }) {
        my $s = ref $s eq 'CODE' ? $s->($row) : $s;
        my %source = (only => "^(before\\d)?$row->{base}", %$s);
        delete @source{grep { !defined $source{$_} } keys %source};
        s/%%HOST%%/$row->{base}/ for grep { defined && !ref } values %source;
        $self->{sources}{"$row->{base}$i"} = \%source;
        $i++;
    }
    push @{ $self->{rows} }, $row;
    return $row;
}

# A server whose every answer is $script->($connection, $request, n): n counts
# the requests for this row.  source => { more keys }.
sub web {
    my ($self, $kind, $class, $why, $script, %o) = @_;
    my $more = delete $o{source} // {};
    my $row = $self->source($kind, $class, $why, sub {
        my ($r) = @_;
        return { type => 'http', internal => JSON::PP::true(),
                 url => "http://$r->{base}.localhost:%%PORT%%/s", %$more };
    }, %o);
    $row->{script} = $script;
    return $row;
}

# A symbol server that answers every request with one status and body.
sub answers {
    my ($self, $kind, $class, $why, $status, $headers, $body, %o) = @_;
    return $self->web($kind, $class, $why,
                      sub { $_[0]->reply($status, $headers, $body) }, %o);
}

# --- servers

# The nth time that this is called for a row.
sub nth {
    my ($self, $base) = @_;
    my $file = $self->t->path("count/$base");
    open my $fh, '>>', $file or die "$file: $!";
    syswrite $fh, '.';
    close $fh;
    return -s $file;
}

sub is_place { $_[0] =~ m{/(?:before\d)?row\d+[^/]*\.pdb$} }

sub start_server {
    my ($self) = @_;
    my %script = map { $_->{base} => $_->{script} } grep { $_->{script} }
        $self->rows;
    my $healed = $self->t->path('healed');
    $self->{server} = Test::ScriptedServer->new(unrecorded => 1,
        index2 => 1, log => $self->t->path('requests'), script => sub {
            my ($c, $req) = @_;
            my ($base) = ($req->{headers}{host} // '') =~ /^(row\d+)\./;
            # another host, which has the PDB
            return $c->reply($req->{path} eq '/other.pdb'
                ? (200, {}, $self->pdb) : (404, {}, '')) if !defined $base;
            return $c->reply(is_place($req->{path}) ? (200, {}, $self->pdb)
                                                    : (404, {}, ''))
                if -e $healed;
            $script{$base}->($c, $req, $self->nth($base));
        });
    return $self->{server}->port;
}

sub config {
    my ($self, $port, %cache) = @_;
    my $t = $self->t;
    my $json = JSON::PP->new->canonical->encode($self->{sources});
    $json =~ s/%%PORT%%/$port/g;
    my $names = [sort keys %{ $self->{sources} }];
    my $command = [$t->path('transcoder'), '{pdb}'];
    my %version = (version => '9.0.0');
    return {
        stores => {
            default => { root => $t->path('default'), sources => $names,
                transcoders => [{ %version, command => $command }] },
            full => { root => $t->path('full'), sources => $names,
                transcoders => [{ %version, command => $command }] },
            tool => { root => $t->path('tool'), sources => $names,
                transcoders => [{ %version,
                                  command => ['no-such-program', '{pdb}'] }] },
        },
        sources => JSON::PP::decode_json($json),
        limits => $self->{limits},
        cache => { min_free => '1', %cache },
    };
}

# A file of shell commands in faults/ comes before the converter.
sub start {
    my ($self, %nginx) = @_;
    my $t = $self->t;
    my $dir = $t->dir;
    my $convert = $t->program('pdb2symcache');
    $t->write_file('transcoder', <<"SH");
#!/bin/sh
fault=$dir/faults/\$(basename "\$1")
[ ! -e "\$fault" ] || . "\$fault"
exec "$convert" -pdb "\$1"
SH
    chmod 0755, $t->path('transcoder');
    $self->{port} = $self->start_server;
    $t->start_symcached($self->config($self->{port}),
                        env => $self->{env} // {});
    my @locations = map {
        my $store = $_;
        map { "location /$_->[0]/$store/ {
                symcache %%DIR%%/$store; symcache_store $store;
                symcache_pass unix:%%DIR%%/h.sock;
                symcache_hold_timeout 60s;
                symcache_async_after $_->[1]; }\n" }
            ['poll', '3.1.0'], ['hold', '9.0.0'];
    } qw(default full tool);
    $t->start_nginx("@locations", %nginx);
    system($convert, '-pdb', $t->data('pdb/crash.pdb'), '-o',
           $t->path('right')) == 0 or die 'pdb2symcache';
    $self->{right} = $t->read_file('right');
}

# --- clients

sub uri {
    my ($self, $how, $row, $pdb) = @_;
    my ($guid, $age) = $row->{key} =~ /^(.{32})(.*)$/;
    return sprintf '/%s/%s/v9.0.0/%s/%s/%u', $how, $row->{store},
        Test::SourceCase::escape($pdb // $row->{pdb}), $guid, hex $age;
}

sub saw {
    my ($r) = @_;
    my $after = Test::Symcache::header($r, 'Retry-After');
    return $r->{status} . (defined $after ? ', ask again' : '');
}

sub ask { return $_[0]->t->get($_[0]->uri(@_[1 .. $#_])) }

sub why {
    my ($self, $row) = @_;
    return $self->t->helper_json("/v1/why/$row->{store}/"
        . Test::SourceCase::escape($row->{pdb}) . "/$row->{key}");
}

# Where the row's entries lie, and what is there: suffix => content.
sub on_disk {
    my ($self, $row) = @_;
    my $pdb = lc $row->{pdb};
    my $base = "$row->{store}/$pdb/$row->{key}/$pdb-v9.0.0";
    my $absence = $self->t->absence("$base.absent");
    return (defined $absence ? (absent => $absence) : (),
        -e $self->t->path("$base.symcache")
            ? (symcache => $self->t->read_file("$base.symcache")) : ());
}

sub begin {
    my ($self, $row) = @_;
    $self->ask('hold', $row, "before$_$row->{pdb}")
        for 1 .. $row->{before} // 0;
    $row->{held} = $self->t->open_http($self->t->nginx_socket, 'GET',
                                       $self->uri('hold', $row));
    $row->{first} = saw($self->ask('poll', $row));
}

sub finish_row {
    my ($self, $row) = @_;
    $row->{hold} = saw($self->t->read_response(delete $row->{held}));
    $row->{poll} = saw($self->ask('poll', $row));
}

# What the row has to be: its class, never what was seen.
sub check {
    my ($self, $row) = @_;
    my %expected = %{ $class{$row->{class}} };
    my $kind = "$row->{pdb}: $row->{kind}";
    my $why = $self->why($row);
    my $made = $why->{transcoders}[0];
    my %disk = $self->on_disk($row);
    my ($entry) = ($disk{absent} // '') =~ /^(\w+) /;
    my %file = $row->{class} eq 'file' ? (symcache => 1) : ();
    my $left = $made->{retry_in} // 0;
    my $least = $row->{seconds} - (time - $self->{begun}) - 1;
    my $text = join "\n", ($made->{reason} // ''),
        map { "$_->{outcome} $_->{detail}" } @{ $why->{attempts} };
    my $seen = {
        poll => $row->{poll}, hold => $row->{hold},
        blocked => $made->{blocked} // '',
        right => ($disk{symcache} // '') eq $self->{right} ? 1 : 0,
        entry => $entry // '', files => scalar @{ $why->{files} },
        seconds => $left > $row->{seconds} || $left < $least
            ? $left : $row->{seconds},
    };
    my $entries = $expected{blocked} =~ /^(notfound|malformed)$/ ? $1 : '';
    my $wanted = {
        (map { $_ => $expected{$_} } qw(poll hold blocked)),
        right => $file{symcache} // 0, files => $file{symcache} // 0,
        entry => $entries, seconds => $row->{seconds},
    };
    Test::More::is_deeply($seen, $wanted, $kind)
        or Test::More::diag(Test::More::explain($seen, $text));
    Test::More::ok($row->{first} eq $expected{poll}
                   || $row->{first} eq '404, ask again',
                   "$kind: no other answer before that");
    Test::More::like($text, $row->{why}, "$kind: why")
        if $row->{class} ne 'file';
}

sub has_answer {
    my ($socket) = @_;
    vec(my $bits = '', fileno $socket, 1) = 1;
    return select $bits, undef, undef, 0;
}

# A failure is looked at soon, as it is not remembered for long.
sub end {
    my ($self, $row) = @_;
    $self->finish_row($row);
    $self->check($row);
}

sub run {
    my ($self) = @_;
    my @rows = grep { !$_->{skip} } $self->rows;
    my @quick = grep { !$_->{slow} } @rows;
    my @slow = grep { $_->{slow} } @rows;

    # those that wait do not need the processor
    $self->begin($_) for @slow;
    while (my @some = splice @quick, 0, 16) {
        $self->begin($_) for @some;
        $self->end($_) for @some;
        my @over = grep { $_->{held} && has_answer($_->{held}) } @slow;
        $self->end($_) for @over;
    }
    $self->end($_) for grep { $_->{held} } @slow;
    Test::More::is_deeply([$self->wrong_downloads], [],
                          'no PDB is kept but right ones');
}

# Files below downloads that are not the right PDB.
sub wrong_downloads {
    my ($self) = @_;
    my @wrong;
    File::Find::find({ no_chdir => 1, wanted => sub {
        push @wrong, $_ if -f && $self->t->read_file($_) ne $self->pdb;
    } }, $self->t->path('downloads'));
    return @wrong;
}

# --- what comes after

# Does the script answer as a symbol server does, when it is healed?
sub heals {
    my ($self, $row) = @_;
    my $source = $self->{sources}{"$row->{base}a"};
    return $row->{script} && !$row->{slow} && $row->{key} eq $id
        && $row->{store} eq 'default' && $source->{type} ne 'symcache'
        && ($source->{url} // $source->{endpoint}) =~ m{^http://$row->{base}\.}
        && ($source->{proxy} // '%%PORT%%') =~ /%%PORT%%/;
}

sub sick {
    my ($self, $class) = @_;
    return grep { $_->{class} eq $class
        && $_->{seconds} == $class{$class}{seconds} && $self->heals($_) }
        $self->rows;
}

# Puts a negative entry back by the time for which it is believed.
sub grow_old {
    my ($self, $row) = @_;
    my $pdb = lc $row->{pdb};
    my $file = "$row->{store}/$pdb/$row->{key}/$pdb-v9.0.0.absent";
    my $entry = $self->t->absence($file);
    $entry =~ s/^(\w+) (\d+)/"$1 " . ($2 - $row->{seconds})/e or die $file;
    $self->t->write_absence($file, $entry);
}

# Every fault ends, where that is up to the server.  What is remembered is
# believed until its time is over, and then the PDB is found: of failures a
# sample, of the others all.
sub recover {
    my ($self) = @_;
    my $t = $self->t;
    my $n = 0;
    my @error = grep { $n++ % 8 == 0 } $self->sick('error');
    my @final = map { $self->sick($_) } qw(miss malformed);

    Test::More::is($t->stop_symcached, 0, 'the helper restarts');
    $t->start_symcached($self->config($self->{port},
        retry_errors_after => '1s'), env => $self->{env} // {});
    $_->{held} = $t->open_http($t->nginx_socket, 'GET',
                               $self->uri('hold', $_)) for @error, @final;
    for (@error, @final) {
        my $saw = saw($t->read_response(delete $_->{held}));
        Test::More::is($saw, $class{ $_->{class} }{hold},
                       "$_->{pdb}: $_->{kind}: the same after a restart");
    }

    $t->write_file('healed', '');
    unlink glob $t->path('faults/*');
    Test::More::is(saw($self->ask('hold', $_)), '404',
                   "$_->{pdb}: $_->{kind}: remembered") for @final;
    $self->grow_old($_) for @final;
    for my $row (@error, @final) {
        my %saw;
        $t->wait_until("$row->{pdb}: found", sub {
            my $saw = saw($self->ask('poll', $row));
            $saw{$saw}++;
            return $saw eq '200';
        });
        delete @saw{'200', '404, ask again'};
        Test::More::is_deeply([keys %saw], [],
            "$row->{pdb}: $row->{kind}: found when that is over");
    }
}

# --- the document

sub duration {
    my ($s) = @_;
    return 'its use' if !$s;
    return $s % 3600 == 0 ? $s / 3600 . ' h' : $s / 60 . ' min';
}

# The tables, as the document has them.
sub tables {
    my ($self) = @_;
    my ($text, $section) = ('', '');
    for my $row ($self->rows) {
        my $c = $class{$row->{class}};
        if ($section ne $row->{section}) {
            $section = $row->{section};
            $text .= "\n### $section\n\n| the upstream | client that retries "
                . "| client that waits | remembered | for |\n"
                . "|---|---|---|---|---|\n";
        }
        (my $kind = $row->{kind}) =~ s/\|/\\|/g;
        $text .= "| $kind | $c->{poll} | $c->{hold} | $c->{cached} | "
            . duration($row->{seconds}) . " |\n";
    }
    return $text;
}

# Is the part of the document with that title the table of these rows?
sub document {
    my ($self, $title) = @_;
    my $file = "$Test::Symcache::top/docs/internals/misbehaviour.md";
    my $text = $self->t->read_file($file);
    my ($head, $part, $rest) =
        $text =~ /\A(.*\n## \Q$title\E\n)(.*?)((?=\n## ).*)?\z/s
        or die "$file: no \"$title\"";
    if ($ENV{SYMCACHE_WRITE_DOCUMENT}) {
        $part = $self->tables;
        $self->t->write_file($file, $head . $part . ($rest // ''));
    }
    Test::More::ok($part eq $self->tables, 'the document has the same rows')
        or Test::More::diag('SYMCACHE_WRITE_DOCUMENT=1 writes them');
}

# Ends everything; $between is called when the helper has stopped.
sub finish {
    my ($self, $between) = @_;
    my $t = $self->t;
    $self->{server}->stop;
    Test::More::is($t->stop_symcached, 0, 'the helper stops');
    $between->() if $between;
    $t->allow_log(qr/SSL_do_handshake|SSL_shutdown/);
    $t->finish;
}

1;
