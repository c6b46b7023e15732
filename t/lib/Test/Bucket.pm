package Test::Bucket;

# A bucket of a real server of S3: what each such server is tried with, as the
# tier of a fleet and as a source.  What they differ in is given.
#
#   my $bucket = Test::Bucket->new($t, port => ..., region => ...,
#       access => ..., secret => ..., clock => Test::Clock->new($t),
#       start => sub { starts the server; returns its process },
#       log => sub { its requests, as ["GetObject 404", ...] });
#   $bucket->costs; $bucket->damaged('cut short', sub {...}, 'digest');

use strict;
use warnings;

use Compress::Zlib ();
use Digest::SHA qw(sha256_hex);
use JSON::PP ();
use POSIX ();
use Test::Clock;
use Test::Ctl;
use Test::More;
use Test::SourceCase;
use Test::Symcache;
use Test::Tier;

my $prefix = 'pre fix';

sub new {
    my ($class, $t, %o) = @_;
    my $self = bless { t => $t, process => $$, seen => 0, url => "http://127.0.0.1:$o{port}",
                       %o }, $class;
    my $clock = $self->{clock};
    $self->start;
    my $fleet = $self->{fleet} = Test::Tier->new($t,
        tier => { $self->place, prefix => $prefix, lifetime => '30d',
                  mac_key => 'm' x 32 },
        env => { S3_ID => $self->{access}, S3_SECRET => $self->{secret},
                 $clock ? %{ $clock->env } : () });
    $self->{object} = "1/default/$fleet->{key}/v9.0.0.symcache";
    return $self;
}

# Where it is, in a configuration.
sub place {
    my ($self) = @_;
    return (type => 's3', bucket => 'symcache', region => $self->{region},
            endpoint => $self->{url}, path_style => JSON::PP::true(),
            access_key => '$S3_ID', secret_key => '$S3_SECRET');
}

# Starts the server, the first time without a bucket, and waits for it.
sub start {
    my ($self) = @_;
    my $t = $self->{t};
    my $pid = $self->{pid} = $self->{start}->();
    $t->wait_until('the server answers', sub {
        die 'it ended' unless Test::Symcache::alive($pid);
        system("curl -s -o /dev/null $self->{url}/") == 0;
    });
}

# It hangs, in all its threads, until SIGCONT.
sub hang {
    my ($self) = @_;
    kill 'STOP', $self->{pid};
    $self->{t}->wait_until('it has stopped', sub {
        !grep { (do { local @ARGV = $_; <> } // 'T') !~ /\) T/ }
            glob "/proc/$self->{pid}/task/*/stat" });
}

sub stop {
    my ($self) = @_;
    $self->{t}->stop_pid(delete $self->{pid}, 'KILL');
}

# A test that dies leaves no server.
sub DESTROY {
    my ($self) = @_;
    $self->stop if $self->{pid} && $self->{process} == $$;
}

# A request to the server: method, name, body or undef, headers.  Returns the
# status and the body of the answer.
sub request {
    my ($self, $method, $name, $body, @headers) = @_;
    my ($t, $path) = ($self->{t}, $name =~ s/ /%20/gr);
    my $in = $t->write_file('request.in', $body // '');
    my $status = do {
        open my $curl, '-|', 'curl', '-s', '-o', $t->path('request.out'), '-D',
            $t->path('request.head'), '-w', '%{http_code}', '-X', $method, '-u',
            "$self->{access}:$self->{secret}", '--aws-sigv4',
            "aws:amz:$self->{region}:s3",
            (defined $body ? ('-T', $in) : ()),
            (map { ('-H', $_) } 'x-amz-content-sha256: '
                . sha256_hex($body // ''), @headers),
            "$self->{url}$path" or die "curl: $!";
        <$curl>;
    };
    return ($status, $t->read_file('request.out') // '');
}

# Makes an object below the prefix, and reads one; undef if there is none.
sub put {
    my ($self, $name, $body, @headers) = @_;
    my ($status) = $self->request('PUT', "/symcache/$prefix/$name", $body,
                                  @headers);
    is $status, 200, "an object $name";
}

sub get {
    my ($self, $name) = @_;
    my ($status, $body) = $self->request('GET', "/symcache/$prefix/$name");
    return $status == 200 ? $body : undef;
}

# Puts other bytes in place of those of an object, which $bytes makes of them,
# with its metadata.
sub replace {
    my ($self, $name, $bytes) = @_;
    my $body = $self->get($name) // die "no $name";
    my @meta = grep { /^x-amz-meta-/i }
        split /\r\n/, $self->{t}->read_file('request.head');
    $self->put($name, $bytes->($body), @meta);
}

# What it was asked since the last call, when there are that many.
sub asked {
    my ($self, $expected, $what) = @_;
    my $n = () = $expected =~ /\w+ \d/g;
    my @all;
    $self->{t}->wait_until("$n requests", sub {
        @all = $self->{log}->();
        @all >= $self->{seen} + $n;
    });
    my @new = @all[$self->{seen} .. $#all];
    $self->{seen} = @all;
    is join(', ', @new), $expected, $what;
}

# Forgets what it was asked.
sub forget { $_[0]{seen} = $_[0]{log}->() }

sub unpacked { Compress::Zlib::memGunzip($_[0]->get($_[0]{object})) }

# --- the tier

# A file is made, stored, and taken by others.
sub costs {
    my ($self) = @_;
    my ($t, $fleet) = @$self{qw(t fleet)};
    my $key = $fleet->{key};
    $fleet->machine;
    $self->forget;
    is $fleet->ask($key), 200, 'made on the first machine';
    $fleet->wait_metric('puts_total{result="stored"}', 1);
    $self->asked('GetObject 404, PutObject 200', 'cold, found: a GET and a PUT');
    $self->{plain} = $t->read_file($fleet->file);
    is $self->unpacked, $self->{plain}, 'it is stored';
    $self->forget;
    is $fleet->ask($key), 200, 'a hit on the disk';
    $self->asked('', 'on the disk: nothing');
    is $fleet->ask($fleet->absent), 404, 'an absent key';
    $self->asked('GetObject 404', 'cold, absent: a GET');

    $fleet->machine;
    is $fleet->ask($key), 200, 'found on the second machine';
    $self->asked('GetObject 200', 'made by another: a GET');
    is $fleet->runs, 0, 'and not made';
    is $fleet->why($key)->{files}[0]{source}, 'local', 'with its provenance';

    $fleet->machine(generation => '2');
    is $fleet->ask($key), 200, 'another generation: made';
    $fleet->wait_metric('puts_total{result="stored"}', 1);
}

# Of two machines that make the same file the second one finds it there, or, at
# a server that knows no conditions, stores it once more.
sub raced {
    my ($self, $status, $result) = @_;
    my ($t, $fleet) = @$self{qw(t fleet)};
    my $name = "3/default/$fleet->{key}/v9.0.0.symcache";
    is +($self->request('PUT', "/symcache/$prefix/3/condition", $_,
        'If-None-Match: *'))[0], $_ == 1 ? 200 : $status, "a condition, $_"
        for 1, 2;
    $t->write_file('closed', '');
    $fleet->machine(generation => '3');
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        POSIX::_exit($fleet->ask($fleet->{key}) == 200 ? 0 : 1);
    }
    $t->wait_until('the converter is there', sub { $fleet->runs == 1 });
    $self->put($name, 'of another machine');
    unlink $t->path('closed') or die;
    waitpid $pid, 0;
    is $?, 0, 'made by two at once';
    $fleet->wait_metric(qq(puts_total{result="$result"}), 1);
    is $self->get($name) eq 'of another machine' ? 'exists' : 'stored', $result,
        'what is there then';
}

# What $damage has done to the object: it is refused, or cannot be read, and is
# made again and replaced.
sub damaged {
    my ($self, $what, $damage, $why) = @_;
    my $fleet = $self->{fleet};
    $damage->();
    $fleet->machine;
    is $fleet->ask($fleet->{key}), 200, "$what: served";
    is $fleet->runs, 1, "$what: made again";
    is $fleet->metric($why), 1, "$what: $why";
    is $self->{t}->read_file($fleet->file), $self->{plain},
        "$what: the right file";
    $fleet->wait_metric('puts_total{result="stored"}', 1);
    is $self->unpacked, $self->{plain}, "$what: replaced";
}

# An object that $age has made old, with the note of it, is made young again:
# "refreshed" by a copy, or "stored" once more.
sub refreshed {
    my ($self, $age, $result, $requests, %tier) = @_;
    my $fleet = $self->{fleet};
    my $metric = qq(puts_total{result="$result"});
    SKIP: {
        skip 'no extended attributes', 5 if !defined $fleet->note;
        $age->();
        $self->forget;
        my $before = $fleet->metric($metric);
        is $fleet->ask($fleet->{key}), 200, 'used after half of its life';
        $fleet->wait_metric($metric, $before + 1);
        $self->asked($requests, 'a look, and what makes it young');
        cmp_ok $self->listed->{ $self->{object} }{stored}, '>', time - 3600,
            'it is young again';
        $fleet->machine(%tier);
        is $fleet->ask($fleet->{key}), 200, 'another machine';
        is $fleet->runs, 0, 'takes it, with its metadata';
    }
}

sub tier {
    my ($self, @command) = @_;
    my $config = $self->{fleet}->config(access_key => $self->{access},
                                        secret_key => $self->{secret});
    return Test::Ctl->new($self->{t})->run('tier', @command, '-c',
        $self->{t}->write_helper_config($config));
}

# All objects, by their names.
sub listed {
    my ($self) = @_;
    my $r = $self->tier('ls', '--json');
    is $r->{code}, 0, 'ls' or diag $r->{err};
    return { map { ($_->{name} => $_) }
             map { JSON::PP::decode_json($_) } split /\n/, $r->{out} };
}

# What an operator asks for; there are the generations 1 and $other.
sub operated {
    my ($self, $other) = @_;
    my $fleet = $self->{fleet};
    my $former = $self->{object} =~ s/^1/$other/r;
    my $odd = 'odd +%41';
    is +($self->request('PUT', '/symcache/pre%20fixed', 'x'))[0], 200,
        'an object beside the prefix';
    $self->put('odd%20%2B%2541', 'x');
    my $listed = $self->listed;
    is_deeply [sort grep { /^(?:1|$other|odd)/ } keys %$listed],
        [$self->{object}, $former, $odd], 'lists all of the prefix';
    ok !(grep { /fixed|^d$/ } keys %$listed), 'and nothing else';
    is $listed->{ $self->{object} }{size},
        length $self->get($self->{object}), 'with their sizes';
    cmp_ok abs(time - $listed->{ $self->{object} }{stored}), '<', 3600,
        'and times';
    is $self->tier('clean', '--former')->{code}, 0, 'clean';
    is $self->get($former), undef,
        'what was of another generation is removed';
    ok $self->get($self->{object}), 'and nothing else';
    like $self->tier('rule')->{out}, qr{<Prefix>$prefix/1/</Prefix>}, 'a rule';
}

# --- uploads

sub upload {
    my ($self, $bytes, $query, $path) = @_;
    my $t = $self->{t};
    my $file = $t->write_file('uploads/.spool/1', $bytes);
    $path //= "$self->{fleet}{key}/crash.pdb";
    return $t->http($t->path('a.sock'), 'PUT',
        "/v1/uploads/$path$query", 'Content-Length: 0',
        "X-Symcached-Body: $file")->{status};
}

sub uploaded {
    my ($self) = @_;
    my ($t, $fleet) = @$self{qw(t fleet)};
    my $key = $fleet->{key};
    my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
    my $other = substr($pdb, 0, -1) . chr(1 ^ ord substr $pdb, -1);
    my $original = "uploads/$key/crash.pdb";
    mkdir $t->path($_) or die for qw(uploads uploads/.spool);
    local $fleet->{sources} = ['uploads'];
    local $fleet->{more} = { admin_listen => 'unix:' . $t->path('a.sock'),
        uploads => { root => $t->path('uploads'),
                     listen => 'unix:' . $t->path('u.sock') } };
    my $discard = sub { $t->http($t->path('a.sock'), 'POST',
        "/v1/discard/$key/crash.pdb", 'Content-Length: 0')->{status} };

    $fleet->machine(generation => '9');
    $self->forget;
    is $self->upload($pdb, ''), 201, 'an upload';
    $self->asked('HeadObject 404, PutObject 200, HeadObject 404, PutObject 200, '
        . 'DeleteObject 200, DeleteObject 200',
        'a look, a PUT, the same of its entry, and what was made of a former one');
    ok $self->get($original) eq $pdb, 'is in the bucket as it is';
    is $self->upload($pdb, ''), 200, 'the same again';
    is $self->upload($other, ''), 409, 'another one';
    is $self->upload($other, '?force=1'), 201, 'replaces it by force';
    ok $self->get($original) eq $other, 'there';
    unlink $t->path("uploads/$key/crash.pdb") or die;
    is $fleet->ask($key), 200, 'found where the disk does not have it';
    $self->redirected($other);
    $fleet->machine(generation => '9');
    is $discard->(), 200, 'removed';
    is $self->get($original), undef, 'from the bucket';
    is $discard->(), 404, 'once';
    $self->indexed;
    $self->hang;
    is $self->upload($pdb, ''), 503, 'it hangs: 503';
    kill 'CONT', $self->{pid};
    ok !-e $t->path("uploads/$key/crash.pdb"), 'and nothing is stored here';
}

# A program is found by its build id alone by a machine that does not have it.
sub indexed {
    my ($self) = @_;
    my ($t, $fleet) = @$self{qw(t fleet)};
    my $build = 'c0ffee' x 6 . 'c0de';
    my $program = "lib&+.so/elf-buildid-$build/lib&+.so";
    my $asked = sub { $t->helper('GET', "/v1/executable/default/_/buildid-$build"
        . '?version=1.0.0&wait=600')->{status} };
    $t->write_file('x.c', "int seven(int a) { return a + 7; }\n");
    system("cd $t->{dir} && gcc -shared -nostdlib -Wl,--build-id=0x$build"
        . ' -o x.so x.c') == 0 or BAIL_OUT('gcc');
    is $asked->(), 404, 'a program that nobody has';
    is $self->upload($t->read_file('x.so'), '', $program), 201, 'is uploaded';
    is $self->get("uploads/.index/elf-buildid-$build/lib%26%2B.so"), $program,
        'with an entry in the index, in which its path is';
    unlink $t->path("uploads/$program") or die;
    $fleet->machine(generation => '9');
    is $asked->(), 200, 'by which it is found';
    is $t->http($t->path('a.sock'), 'POST', "/v1/discard/$program",
        'Content-Length: 0')->{status}, 200, 'it is removed';
    is $self->get("uploads/.index/elf-buildid-$build/lib%26%2B.so"), undef,
        'with its entry';
    $fleet->machine(generation => '9');
    is $asked->(), 404, 'and not found any more';
}

# A machine that does not have an upload sends its clients to the bucket.
sub redirected {
    my ($self, $bytes) = @_;
    my ($t, $fleet) = @$self{qw(t fleet)};
    my $file = "$fleet->{key}/crash.pdb";
    my $tcp = $t->free_port;
    local $fleet->{more} = { uploads => { root => $t->path('others'),
        listen => 'unix:' . $t->path('u.sock') } };
    $fleet->machine(generation => '9', redirect => '1m',
                    redirect_endpoint => $self->{url});
    $t->start_nginx('location / { symcache_pass unix:%%DIR%%/h.sock;
        symcache_symbols ' . $fleet->downloads . '; }',
        listen => "listen 127.0.0.1:$tcp;", address => "127.0.0.1:$tcp");
    $self->forget;
    is qx(curl -sL -o $t->{dir}/o -w '%{http_code} %{num_redirects}' \\
        http://127.0.0.1:$tcp/$file), '200 1', 'a client is sent there';
    ok $t->read_file('o') eq $bytes, 'and gets the file';
    $self->asked('HeadObject 200, GetObject 200', 'after a look');
    ok !-e $fleet->downloads . "/default/$file", 'which is not here';
    $t->stop_nginx;
}

# --- it refuses, it hangs, it is down

sub denied {
    my ($self, $what, $code, %more) = @_;
    my $fleet = $self->{fleet};
    $fleet->machine(%more);
    # AccessDenied can be about the one object: three tell of the keys
    my $reads = $code =~ /AccessDenied/ ? 3 : 1;
    is $fleet->ask($fleet->absent), 404, "$what: an absent key is a final 404"
        for 1 .. $reads;
    $fleet->wait_log(qr/tier fleet: not read for 30 s: $code/);
    is $fleet->metric('breaker{tier="fleet",way="get"}'), 1,
        "$what: after $reads";
    is $fleet->ask($fleet->{key}), 200, "$what: a file is made";
    is $fleet->runs, 1, "$what: here";
    $fleet->wait_log(qr/tier fleet: nothing is stored for 30 s: $code/);
}

# The machine's clock is wrong; $code is undef where the server does not mind.
sub wrong_clock {
    my ($self, $code) = @_;
    my $fleet = $self->{fleet};
    SKIP: {
        skip Test::Clock::why(), 8 if !$self->{clock};
        for my $minutes (-20, 20) {
            $self->{clock}->set(60 * $minutes);
            if (defined $code) {
                $self->denied("$minutes minutes", $code);
                next;
            }
            $fleet->machine;
            is $fleet->ask($fleet->{key}), 200, "$minutes minutes: a file";
            is $fleet->runs, 0, "$minutes minutes: from the tier";
        }
        $self->{clock}->set(0);
    }
}

sub away {
    my ($self) = @_;
    my ($t, $fleet) = @$self{qw(t fleet)};
    my $key = $fleet->{key};
    $self->hang;
    $fleet->machine;
    is $fleet->ask($fleet->absent), 404, "it hangs: an absent key ($_)"
        for 1 .. 4;
    is $fleet->metric('breaker{tier="fleet",way="get"}'), 1,
        'it hangs: left alone';
    is $fleet->ask($key), 200, 'it hangs: a file is made';
    kill 'CONT', $self->{pid};

    $self->stop;
    $fleet->machine;
    is $fleet->ask($fleet->absent), 404, "it is down: an absent key ($_)"
        for 1 .. 4;
    is $fleet->ask($key), 200, 'it is down: a file is made';
    $fleet->wait_metric('queue{tier="fleet"}', 1);
    $self->start;
    $t->reload_symcached($fleet->config(generation => '4'));
    $fleet->wait_metric('puts_total{result="stored"}', 1);
    local $self->{object} = $self->{object} =~ s/^1/4/r;
    is $self->unpacked, $self->{plain},
        'what waited is stored when it is up again';
}

# --- a source

# $wrong and $unknown are what it says of another secret and another key.  It is
# the first one, before there are machines.
sub source {
    my ($self, $wrong, $unknown) = @_;
    my ($t, $fleet) = @$self{qw(t fleet)};
    my $id = $Test::SourceCase::id;
    my $odd = "odd ~+&()'\x{c3}\x{a9}.pdb";
    for my $name ('crash.pdb', $odd) {
        my $escaped = Test::SourceCase::escape($name);
        $self->put("symbols/$escaped/$id/$escaped",
                   $t->read_file($t->data('pdb/crash.pdb')));
    }
    my $start = sub {
        my (%more) = @_;
        return Test::SourceCase->new($t, env => $fleet->{env}, sources => {
            bucket => { $self->place, internal => JSON::PP::true(), prefix => "$prefix/symbols",
                        layout => 'symstore', %more } });
    };
    my $case = $start->();
    $case->found($_, "source: $_") for 'crash.pdb', $odd;
    $case->absent('none.pdb', qr/^404 NoSuchKey/, 'source: absent');
    for my $denied (0, 1) {
        for my $c ([secret_key => 'x' x 64, $wrong],
                   [access_key => 'GK' . '0' x 24, $unknown],
                   [bucket => 'other', '404 NoSuchBucket']) {
            my ($key, $value, $said) = @$c;
            $t->stop_symcached;
            $case = $start->($key => $value, $denied
                ? (denied_is_absent => JSON::PP::true()) : ());
            $case->undecided("$key$denied.pdb", 'failed', qr/^$said/,
                             "source, another $key, $denied");
        }
    }
    $t->stop_symcached;
}

1;
