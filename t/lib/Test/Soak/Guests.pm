package Test::Soak::Guests;

# Sources that clients of a campaign bring: scopes that each have a token for a
# server, which gives some of them a file of their own under ids that all have in
# common, and a public source that has the same files for all.  Whose file an
# answer is from is known by its functions.
#
#   my @targets = Test::Soak::Guests::targets($world);
#   # { store => 'private.3', name, id, scope, key (undef: it gets none) }
#   my $r = Test::Soak::Guests::ask($world, $target);    # status as of a file
#   Test::Soak::Guests::forget($world, $target);
#   my @violations = Test::Soak::Guests::left($world, $clean);   # in the stores

use strict;
use warnings;

use JSON::PP ();
use Test::Soak::Names;

our $scopes = 6;
# the first scopes have a private file, the last have none
our $owners = 4;

# As the words "store" of a campaign's answers: the host, and who asks.
sub is_guest { $_[0] =~ /^(public|private)\.(\d+)$/ }

sub targets {
    my ($world) = @_;
    return map {
        my $key = $_;
        map { { store => "$key->{home}.$_", %$key{qw(name id)}, scope => $_,
                key => scalar $world->corpus->guest_file(@$key{qw(name id)}, $_) }
        } 0 .. $scopes - 1;
    } $world->corpus->guests;
}

# The words for symcached and symbolicated.
sub settings {
    my ($world) = @_;
    my $port = $world->{upstream}->port;
    return { sources => 'allow', tenants => { root => root($world),
        size => '16m', hosts => [map { "$_.localhost:$port" } qw(public private)],
    } };
}

sub root { $_[0]->disk . '/tenants' }

sub sources {
    my ($world, $scope) = @_;
    my %common = (type => 'http', layout => { type => 'symstore' },
                  filters => { filetypes => ['pdb'] });
    my $port = $world->{upstream}->port;
    my @list = ({ %common, id => 'private', headers => { 'X-Token' => "$scope" },
                  url => "http://private.localhost:$port/sym/" },
                { %common, id => 'public', is_public => JSON::PP::true(),
                  url => "http://public.localhost:$port/sym/" });
    return $scope % 2 ? \@list : [reverse @list];
}

# One frame in each stack, as addresses of callers are changed.
sub question {
    my ($world, $target) = @_;
    my ($guid, $age) = $target->{id} =~ /^(.{32})(.+)$/;
    return JSON::PP::encode_json({
        stacktraces => [map { { frames => [{ instruction_addr => sprintf '0x%x',
            0x10000000 + $_ }] } } Test::Soak::Names::offsets()],
        modules => [{ type => 'pe', image_addr => '0x10000000',
            image_size => 0x1000000, debug_file => $target->{name},
            debug_id => lc($guid =~ s/^(.{8})(.{4})(.{4})(.{4})/$1-$2-$3-$4-/r
                           . "-$age") }],
        sources => sources($world, $target->{scope}),
        options => { apply_source_context => JSON::PP::false(),
                     dif_candidates => JSON::PP::true() },
    });
}

# The response, with the status and "Retry-After" that a file would have, and
# what is wrong with it, or "-".
sub ask {
    my ($world, $target) = @_;
    my $t = $world->t;
    my $r = $t->post($t->symbolicated_socket,
        "/symbolicate?scope=s$target->{scope}&timeout=10",
        question($world, $target), 'Content-Type: application/json') or return;
    return ($r, $r->{status} =~ /^(?:0|503)$/ ? '-' : "status_$r->{status}")
        if $r->{status} != 200;
    return ($r, '-') if !$r->{complete};
    my $answer = eval { JSON::PP::decode_json($r->{body}) }
        or return ($r, 'wrong_json');
    my $status = $answer->{modules} ? $answer->{modules}[0]{debug_status}
        : $answer->{status} // '';
    my $symbols = join "\n", map { $_->{frames}[-1]{symbol} // '' }
        @{ $answer->{stacktraces} // [] };
    if ($status eq 'found') {
        my $whose = $world->{names}->whose($symbols);
        return ($r, !defined $whose ? 'wrong_names'
            : !$target->{key} ? 'wrong_scope'
            : $whose != $target->{key}{template} ? 'wrong_template' : '-');
    }
    return ($r, 'wrong_names') if $symbols =~ /\w/;
    if (is_final($status, $answer)) {
        $r->{status} = 404;
        return ($r, '-');
    }
    return ($r, "wrong_status_$status")
        if $status !~ /^(?:missing|malformed|fetching_failed|timeout|pending)$/;
    $r->{status} = 503;
    $r->{headers}{'retry-after'} = [1];
    return ($r, '-');
}

# Whether a module is nowhere, or nothing can be made of its file, by the word of
# all places.  As Symbolicator has it, the status is what the first place said,
# also if another one failed; and a place that sent a page is "malformed", which
# is no verdict.  Where the status is "malformed", the file was looked into,
# unless the page came first: from the place of the packed form, which no file
# has.
sub is_final {
    my ($status, $answer) = @_;
    return 0 if $status !~ /^(?:missing|malformed)$/;
    my @places = map { @{ $_->{candidates} // [] } } @{ $answer->{modules} // [] };
    return !grep {
        my $said = $_->{download}{status};
        $said !~ /^(?:notfound|malformed|ok)$/ || $said eq 'malformed'
            && ($status eq 'missing' || $_->{location} =~ /\.pd_$/)
    } @places;
}

# Misses are remembered for an hour there, for which nobody waits.
sub forget {
    my ($world, $target) = @_;
    my $socket = root($world) . '/sock';
    for my $dir (glob root($world) . '/*/store') {
        my ($tenant) = $dir =~ m{([0-9a-f]{32})/store$} or next;
        eval { $world->t->http($socket, 'POST',
            "/v1/forget/$tenant/$target->{name}/$target->{id}") };
    }
}

# The guest helper and its guard, among processes.
sub helpers {
    return grep {
        my $line = '';
        if (open my $fh, '<', "/proc/$_/cmdline") {
            local $/;
            $line = <$fh> // '';
        }
        $line =~ /\0--guests\0/;
    } @_;
}

# Folders for unfinished files: a process has one in each, and what is there
# more was left by those that were killed.
sub unfinished { map { glob root($_[0]) . "/*/$_/.tmp/*" } qw(store downloads) }

sub stale {
    my ($world) = @_;
    my %seen;
    return grep { $seen{ s{/[^/]*$}{}r }++ } unfinished($world);
}

# What must not lie in the folders: what is private in a store that another
# scope reads, the socket, or what is unfinished, if there was time to clean.
sub left {
    my ($world, $clean) = @_;
    my (%files, @wrong);
    for my $key ($world->corpus->guests) {
        for my $file (glob root($world)
                      . "/*/store/$key->{lower}/$key->{id}/*.symcache") {
            my ($tenant) = $file =~ m{/([0-9a-f]{32})/store/};
            $files{$tenant}{ $key->{home} }{ $world->t->read_file($file) } = 1;
        }
    }
    my %expected = map { $_ => 1 } map {
        my $key = $_;
        map { $world->corpus->converted($world->corpus->guest_file(
            @$key{qw(name id)}, $_)) } 0 .. $owners - 1
    } $world->corpus->guests;
    my $public = 0;
    for my $tenant (sort keys %files) {
        my $has = $files{$tenant};
        $public++ if $has->{public};
        push @wrong, "tenant $tenant has public and private files"
            if $has->{public} && $has->{private};
        push @wrong, "tenant $tenant has a file that nobody sent"
            if grep { !$expected{$_} } map { keys %$_ } values %$has;
    }
    push @wrong, "$public tenants have public files" if $public > 1;
    push @wrong, map { "left behind: $_" }
        $clean ? unfinished($world) : (),
        -e root($world) . '/sock' ? root($world) . '/sock' : ();
    return @wrong;
}

1;
