package Test::Soak::World;

# What there is in a campaign: corpus, upstream, nginx and symcached with
# their stores and directories, the same once more in front of them (a second
# tier), a disk and a clock; how they are started, and what they hold.

use strict;
use warnings;

use File::Path qw(make_path);
use File::Temp ();
use JSON::PP ();
use Test::Clock;
use Test::Fuse;
use Test::Soak::Corpus;
use Test::Soak::Guests;
use Test::Soak::Upstream;
use Test::Symcache;
use Time::HiRes qw(time);

my $yes = JSON::PP::true();

# Each store is a way of putting sources behind each other.
our %stores = (
    web => ['web'], tiers => ['tiers'], behind => ['liar', 'honest'],
    ahead => ['web', 'liar'], dirs => ['share', 'drop', 'web'],
    hung => ['net', 'honest'], far => ['far'], opaque => ['opaque'],
    mixed => ['far', 'web'], sent => ['uploads'], native => ['builds'],
);
# those that make nothing themselves
my %no_transcoder = (far => 1, opaque => 1);

our %limits = (
    download_size => '16m', download_time => '6s', connect_time => '2s',
    first_byte_time => '2s', stall_time => '2s', attempts => 2,
    downloads => 24, transcodes => 2, downloads_per_host => 8,
    breaker_window => '5s', breaker_pause => '1s', look_ahead_after => '0s',
    transcode_time => '20s',
);
# what is known is believed for so short that faults follow each other
our %cache = (
    retry_misses_after => '2s', retry_malformed_after => '2s',
    retry_errors_after => '1s', clean_every => '1s',
    downloads_max_unused_for => '5s', max_size => '64k',
);

# %o: seed, keys, disk (a small file system, or undef)
sub set_up {
    my ($self, %o) = @_;
    my $t = $self->{t} = Test::Symcache->new;
    $self->{pid} = $$;
    $self->{near} = Test::Symcache->new;
    $self->{port} = Test::Symcache::free_port();
    # not in the folder of $t, where nothing may be left behind: what killed
    # guest helpers leave is removed by the next ones, if there is time
    $self->{disk_dir} = $o{disk} ? "$o{disk}/$$-$o{seed}"
        : File::Temp::tempdir('sc-disk.XXXXXX', TMPDIR => 1, CLEANUP => 1);
    make_path($self->{disk_dir}, $t->path('upstream'), $t->path('tier'),
              map { $self->uploads($_) } $self->tiers);
    $self->{corpus} = Test::Soak::Corpus->new($t, seed => $o{seed},
                                              keys => $o{keys});
    $self->{upstream} = Test::Soak::Upstream->new($t, seed => $o{seed},
        corpus => $self->{corpus}, dir => $t->path('upstream'));
    $self->fill_directories;
    $self->{not_done}{'a disk that fills'} = $o{no_disk} if !$o{disk};
    $self->{clock} = Test::Clock->new($t);
    $self->{not_done}{'steps of the clock'} = Test::Clock::why()
        if !$self->{clock};
    $self->set_calm(1);
    $self->write_config;
    $t->write_file('clean.json', $t->read_file('symcached.json'));
    $self->start_helper;
    $self->start_nginx;
    $self->start_near;
    $self->start_symbolicated;
}

sub t { $_[0]{t} }
sub path { $_[0]{t}->path($_[1]) }
sub corpus { $_[0]{corpus} }
sub disk { $_[0]{disk_dir} }
sub small_disk { $_[0]{disk} }
# Stores of the second machine: its own, and one that both have.
my %near = (near => ['web'], peer => $stores{sent});
sub root { $near{ $_[1] } ? $_[0]{near}->path($_[1]) : $_[0]->disk . "/$_[1]" }
# as the helper knows it
sub store_name { $_[1] eq 'peer' ? 'sent' : $_[1] }
sub clock { $_[0]{clock} }
sub net { $_[0]{net} }
sub child { push @{ $_[0]{children} }, $_[1] }

# That of a store.
sub tier { $near{ $_[1] } ? $_[0]{near} : $_[0]{t} }
sub tiers { @{ $_[0] }{qw(t near)} }

# All that is there to be had, as clients ask for it.
sub targets {
    my ($self) = @_;
    return map {
        my $key = $_;
        map { { store => $_, %$key{qw(name id)}, key => $key } }
            $key->{store}, $key->{store} eq 'web' ? 'near'
                : $key->{store} eq 'sent' ? 'peer' : ();
    } $self->{corpus}->keys;
}

# A SymCache server has none.
sub has_originals {
    my ($self, $store) = @_;
    return $store ne 'near'
        && grep { has_original(0, $_) } @{ $self->sources($store) };
}

sub has_original { !($Test::Soak::Upstream::host{ $_[1] } // {})->{symcache} }

# Who has to have said that a key is absent: the near tier asks for a store.
sub sources {
    my ($guest) = Test::Soak::Guests::is_guest($_[1]);
    return $guest ? [$guest] : $near{ $_[1] } // $stores{ $_[1] };
}
sub stores { sort(keys %stores), sort keys %near }

# The key, if one of the store's sources has that build.
sub holds {
    my ($self, $store, $name, $id) = @_;
    my $key = $self->{corpus}->find($name, $id) or return undef;
    return (grep { $_ eq $key->{home} } @{ $self->sources($store) })
        ? $key : undef;
}

# --- what runs

sub converter {
    my ($t) = @_;
    return { version => '9.0.0', inputs => ['pdb', 'elf'],
             command => [$t->program('pdb2symcache'), '-pdb', '{pdb}'] };
}

sub write_config {
    my ($self, %more) = @_;
    my %http = map { $_ => { type => 'http', internal => $yes,
        url => "http://$_.localhost:" . $self->{upstream}->port . '/sym' } }
        qw(web tiers honest liar);
    my %builds = (builds => { type => 'http', internal => $yes,
        layout => 'debuginfod',
        url => 'http://builds.localhost:' . $self->{upstream}->port });
    my %symcache = map { $_ => { type => 'symcache', internal => $yes,
        version => $Test::Soak::Upstream::host{$_}{symcache},
        url => "http://$_.localhost:" . $self->{upstream}->port } }
        qw(far opaque);
    $self->t->write_helper_config({
        $self->fleet($self->t),
        # for a test, a module that could not be had is none that is absent
        symbolication => { stores => ['web', 'sent'],
            mozilla => { on_failure => '503', wait => '20s' },
            symbolicator => Test::Soak::Guests::settings($self) },
        downloads => $self->disk . '/downloads',
        stores => { map { $_ => {
            root => $self->root($_), sources => $stores{$_},
            $no_transcoder{$_} ? () : (transcoders => [converter($self->t)]),
            $_ eq 'web' ? (gzip => $yes) : (),
            $_ eq 'sent' ? (tier => 'fleet') : (),
        } } keys %stores },
        sources => { %http, %symcache, %builds,
            share => { type => 'filesystem', path => $self->path('share') },
            net => { type => 'filesystem', path => $self->path('net') },
            drop => { type => 'filesystem', path => $self->path('drop'),
                      layout => 'flat' } },
        limits => { %limits, %more },
        cache => { %cache, min_free => $self->{disk} ? '2m' : '1' },
    });
}

# What the machines of a fleet have: uploads, of which each tells the other, and
# a tier.
sub fleet {
    my ($self, $t) = @_;
    return (
        uploads => { root => $self->uploads($t),
                     listen => 'unix:' . $t->path('u.sock'),
                     peers => [map { 'unix:' . $_->helper_socket } $self->tiers] },
        tiers => { fleet => { type => 'filesystem', mac_key => 'm' x 32,
                              path => $self->path('tier') } },
    );
}

sub uploads {
    my ($self, $t) = @_;
    return $t == $self->{near} ? $t->path('uploads') : $self->disk . '/uploads';
}

# Whether a child has nothing more to do, also as the campaign has died.
sub is_over { -e $_[0]->path('stop') || getppid() != $_[0]{pid} }

sub put_location {
    my ($self, $t) = @_;
    my $spool = $self->uploads($t) . '/.spool';
    return "location /put/ {
            client_body_temp_path $spool; client_body_in_file_only clean;
            client_max_body_size 16m; proxy_pass_request_body off;
            proxy_set_header Content-Length 0;
            proxy_set_header X-Symcached-Body \$request_body_file;
            proxy_pass http://unix:%%DIR%%/u.sock:/v1/uploads/; }\n";
}

sub start_helper {
    my ($self, $t) = @_;
    ($t // $self->{t})->start_symcached(undef, env => $self->clock_env);
}

# Of the first machine.  Without the folder of a store it does not start until
# symcached, which may be down, has made that again: check_alive() goes on.
sub start_symbolicated {
    my ($self) = @_;
    # its configuration is never a bad one
    eval { $self->{t}->start_symbolicated(undef, env => $self->clock_env,
        args => ['-c', $self->path('clean.json')]) }
        or $self->{store_removed} or die $@;
}

# All have one clock.
sub clock_env { $_[0]{clock} ? $_[0]{clock}->env : {} }

sub stop_helper {
    my ($self, $signal, $t) = @_;
    my $status = ($t // $self->{t})->stop_symcached($signal);
    $self->violation("symcached: wait status $status on $signal") if $status;
}

# Nothing of ours ends by itself.
sub check_alive {
    my ($self) = @_;
    for my $t ($self->tiers) {
        die "nginx ended\n" if !Test::Symcache::alive($t->{nginx});
        for ($t->{symbolicated} // ()) {
            next if Test::Symcache::alive($_);
            # as a service manager
            $self->violation("symbolicated ended by itself: wait status $?",
                             last_lines($t->symbolicated_log))
                if $? >> 8 != 71 || !$self->{store_removed};
            delete $t->{symbolicated};
        }
        next if !$t->{helper} || Test::Symcache::alive($t->{helper});
        $self->violation("symcached ended by itself: wait status $?",
                         last_lines($t->helper_log));
        delete $t->{helper};
        $self->start_helper($t);
    }
    $self->start_symbolicated if !$self->{t}{symbolicated};
    $self->{children} = [grep { Test::Symcache::alive($_) }
                         @{ $self->{children} }];
}

sub last_lines {
    my @lines = split /\n/, $_[0];
    return @lines > 10 ? @lines[-10 .. -1] : @lines;
}

# Half of the stores are behind a zone, and half behind kept connections.
sub start_nginx {
    my ($self) = @_;
    my $t = $self->{t};
    my $i = 0;
    my $locations = join '', map {
        my $more = ($i & 1 ? 'symcache_zone z;' : '')
            . ($i & 2 ? 'symcache_pass kept;'
                      : 'symcache_pass unix:%%DIR%%/h.sock;');
        my $store = $_;
        $i++;
        map { "location /$_->[0]/$store/ {
                symcache @{[$self->root($store)]}; symcache_store $store;
                symcache_async_after $_->[1]; $more }\n" }
            ['poll', '3.0.1'], ['hold', '65535.65535.65535'];
    } sort keys %stores;
    $i = 0;
    $locations .= join '', map { "location /symbols/$_/ {
            symcache_symbols @{[$self->disk]}/downloads; symcache_store $_;
            @{[$i++ & 1 ? 'symcache_zone z;' : '']}
            symcache_pass unix:%%DIR%%/h.sock; }\n"
    } grep { $self->has_originals($_) } sort keys %stores;
    $locations .= $self->put_location($t);
    my $listen = 'listen unix:' . $t->nginx_socket
        . "; listen 127.0.0.1:$self->{port};";
    $t->start_nginx($locations, workers => 3, env => $self->clock_env,
                    listen => $listen, http => "
        symcache_zone z:1m;
        symcache_valid present 2s;
        symcache_valid absent 2s;
        symcache_hold_timeout 10s;
        symcache_gzip on;
        upstream kept { server unix:%%DIR%%/h.sock; keepalive 4; }
    ");
}

# The second tier: it asks nginx of the first for what that has of "web".
sub start_near {
    my ($self) = @_;
    my $t = $self->{near};
    $t->write_helper_config({
        $self->fleet($t),
        stores => {
            near => { root => $self->root('near'), sources => ['tier'] },
            sent => { root => $self->root('peer'), sources => ['uploads'],
                      transcoders => [converter($t)], tier => 'fleet' },
        },
        sources => { tier => { type => 'symcache', version => '9.0.0',
            internal => $yes,
            url => "http://127.0.0.1:$self->{port}/poll/web" } },
        limits => \%limits,
        # while the first tier remembers a failure, it is to be heard of
        cache => { %cache, retry_errors_after => '2s', min_free => '1' },
    });
    $self->start_helper($t);
    my @locations = map {
        my $store = $_;
        map { "location /$_->[0]/$store/ {
            symcache %%DIR%%/$store; symcache_store @{[store_name(0, $store)]};
            symcache_pass unix:%%DIR%%/h.sock; symcache_zone z;
            symcache_async_after $_->[1]; }\n" }
            ['poll', '3.0.1'], ['hold', '65535.65535.65535'];
    } sort keys %near;
    $t->start_nginx(join('', @locations, $self->put_location($t),
        'location /symbols/peer/ {
            symcache_symbols %%DIR%%/downloads; symcache_store sent;
            symcache_pass unix:%%DIR%%/h.sock; }'),
        workers => 2, env => $self->clock_env, http => '
        symcache_zone z:1m;
        symcache_valid present 2s;
        symcache_valid absent 2s;
        symcache_hold_timeout 10s;
    ');
}

# --- upstream

sub set_calm {
    my ($self, $calm) = @_;
    my $file = $self->path('upstream/calm');
    $calm ? $self->{t}->write_file($file, '') : unlink $file;
}

# What a directory holds of a key from now on.
sub say_of {
    my ($self, $source, $key, $verdict, $kind) = @_;
    open my $fh, '>>', $self->{upstream}->journal or die "journal: $!";
    syswrite $fh, sprintf "%.4f %s %s %s %s\n", time, $source,
        "$key->{lower}/$key->{id}", $verdict, $kind;
}

# One of them may be able to hang.
sub fill_directories {
    my ($self) = @_;
    my %net;
    for my $key ($self->{corpus}->keys) {
        next if $key->{home} !~ /^(?:share|drop|net)$/;
        $self->say_of($key->{home}, $key, 'file', 'given');
        my $pdb = $self->{corpus}->pdb($key);
        $net{ place($key) } = $pdb if $key->{home} eq 'net';
        $self->put($key->{home}, $key, $pdb) if $key->{home} ne 'net';
    }
    my $why = 'needs root';
    $self->{net} = Test::Fuse->new($self->path('net'), \%net,
        hang => $self->path('hang'), why => \$why) if $> == 0 && $self->{disk};
    return if $self->{net};
    $self->{not_done}{'a directory that hangs'} = $why;
    $self->{t}->write_file("net/$_", $net{$_}) for keys %net;
}

sub place { "$_[0]{name}/$_[0]{id}/$_[0]{name}" }

sub put {
    my ($self, $source, $key, $pdb) = @_;
    my $dir = $self->path($source);
    $dir = "$dir.away" if -d "$dir.away";
    my $file = $source eq 'drop' ? "$dir/$key->{name}"
        : "$dir/" . place($key);
    return unlink $file if !defined $pdb;
    my $new = $self->{t}->write_file("$file.new", $pdb);
    rename $new, $file or die "$file: $!";
}

# What the helpers have when nothing is under way.
sub settled {
    my ($self, $when) = @_;
    return [map { $self->settled_tier($when, $_) } $self->tiers];
}

sub settled_tier {
    my ($self, $when, $t) = @_;
    my $pid = $t->{helper};
    eval {
        $t->wait_until('no job is left', sub {
            !$t->helper_json('/v1/jobs')->{total} });
        $t->wait_until('no child of the helper is left', sub {
            !busy($pid) });
        $t->wait_until('work folders are empty', sub {
            !$self->work_left });
        1;
    } or do {
        chomp(my $why = $@);
        $self->violation("$when: $why", $self->work_left,
            map { qx(ps -o pid,stat,etime,args -p $_) =~ /\n(.*)/ }
            busy($pid));
    };
    return { pid => $pid, memory => memory($pid),
             descriptors => $self->idle_descriptors($t) };
}

# Cleaning goes on by the clock: a child that it starts just now has pipes, and
# a task of it the folder of uploads, or the clock there, while it waits for the
# disk.  What none of these accounts for is told as it is.
sub idle_descriptors {
    my ($self, $t) = @_;
    my $all;
    eval {
        $t->wait_until('no child while descriptors are counted', sub {
            $all = descriptors($t->{helper});
            my @all = Test::Soak::Chaos::descendants($t->{helper});
            my $uploads = $self->uploads($t);
            return !$all->{$uploads} && !$all->{"$uploads/.clock.new"}
                && ($all->{'anon_inode:[pidfd]'} // 0)
                <= (Test::Soak::Guests::helpers(@all) ? 1 : 0)
                && !busy($t->{helper});
        });
    };
    return $all;
}

# Children of a helper but the one for clients' sources, which stays.
sub busy {
    my ($pid) = @_;
    my @all = Test::Soak::Chaos::descendants($pid);
    my %stays = map { $_ => 1 } Test::Soak::Guests::helpers(@all);
    return grep { !$stays{$_} } @all;
}

sub work_left {
    my ($self) = @_;
    return map { glob "$_/.tmp/*/*" } (map { $self->root($_) } $self->stores),
        glob(Test::Soak::Guests::root($self) . '/*/store'),
        map { $self->uploads($_) } $self->tiers;
}

# How many there are of each kind.
sub descriptors {
    my ($pid) = @_;
    my %count;
    for my $fd (glob "/proc/$pid/fd/*") {
        my $to = readlink $fd // next;
        $to =~ s/:\[\d+\]$//;
        $to =~ s{.*/\.tmp/run-\w+$}{run};
        $count{$to}++;
    }
    return \%count;
}

sub memory {
    my ($pid) = @_;
    open my $fh, '<', "/proc/$pid/smaps_rollup" or return 0;
    local $/;
    return <$fh> =~ /^Private_Dirty:\s+(\d+) kB/m ? $1 / 1024 : 0;
}

1;
