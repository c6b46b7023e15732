#!/usr/bin/perl

# minidump-stackwalk, which makes stacks of crash dumps with Breakpad's text
# from a symbol server, before nginx and symcached: it says of dumps of Windows
# and Linux what it says with the files at hand.  It asks for nothing but text.
# Where sources have native files alone, the text is made of them.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use JSON::PP ();
use POSIX ();
use Test::More;
use Test::Peer;
use Test::ScriptedServer;
use Test::Socorro;
use Test::Symcache;

my $stackwalk = Test::Peer::folder('minidump-stackwalk')
    . '/bin/minidump-stackwalk';
my $t = Test::Symcache->new;
my $dir = $t->dir;

# dump => the text that belongs to it, and the place of the crash as those who
# published it say
my %dumps = (
    test_app => ['test_app.pdb/5A9832E5287241C1838ED98914E9B7FF1/test_app.sym',
                 "`anonymous namespace'::CrashFunction test_app.cc:58"],
    null_read_av => ['null_read_av/7B7D1968FF0D47AE4366E9C3A7E1B6750'
                     . '/null_read_av.sym', 'crash() null_read_av.cc:18'],
);
my %packed = map { $_ => do {
    open my $f, '<:raw', $t->data("minidump/symbols/$_.gz") or die "$_: $!";
    local $/;
    <$f>;
} } map { $_->[0] } values %dumps;

# the same files as they are, for what it says without a server
for my $path (keys %packed) {
    $t->write_file("symbols/$path", Compress::Zlib::memGunzip(my $copy = $packed{$path}));
}

# --- random stacks without symbols: both find the same frames in the same way

# Words of the stacks of a dump become addresses of its modules and stacks, or
# anything, and so do registers of the first thread.
sub shuffle_stacks {
    my ($dump) = @_;
    my ($n, $at) = unpack 'x8 V V', $dump;
    my %stream = map { my ($type, $size, $offset) =
        unpack 'V3', substr $dump, $at + 12 * $_, 12; ($type => $offset) }
        0 .. $n - 1;
    my $word = unpack('v', substr $dump, $stream{7}, 2) == 9 ? 8 : 4;
    my ($modules, @modules) = unpack 'V', substr $dump, $stream{4}, 4;
    @modules = map { [unpack 'Q< V', substr $dump, $stream{4} + 4 + 108 * $_,
        12] } 0 .. $modules - 1;
    my $threads = unpack 'V', substr $dump, $stream{3}, 4;
    for my $i (0 .. $threads - 1) {
        my ($start, $size, $offset) = unpack 'x24 Q< V V', substr $dump,
            $stream{3} + 4 + 48 * $i, 48;
        for (1 .. $size / $word / 4) {
            my ($base, $length) = @{ $modules[rand @modules] };
            my $value = (sub { $base + int rand $length },
                sub { $start + $word * int rand($size / $word) },
                sub { int rand 2**31 })[rand 3]->();
            substr $dump, $offset + $word * int rand($size / $word), $word,
                pack $word == 8 ? 'Q<' : 'V', $value;
        }
    }
    return $dump;
}

sub frames {
    my ($said) = @_;
    return [map { [map { "$_->{offset} $_->{trust}" } @{ $_->{frames} }] }
        @{ $said->{threads} }];
}

my $seed = $ENV{SEED} // int rand 1e6;
srand $seed;
my %different;
mkdir "$dir/empty" or die;
for my $round (1 .. 40) {
    for my $dump (sort keys %dumps) {
        my $file = $t->write_file("random.dmp", shuffle_stacks(
            $t->read_file($t->data("minidump/$dump.dmp"))));
        my ($peer, $ours) = map { frames(JSON::PP::decode_json(`$_ $file`)) }
            "$stackwalk --json --no-interactive",
            $t->program('symcachectl')
                . " minidump --schema socorro --root $dir/empty";
        $different{"$dump $round"} = [$peer, $ours]
            if JSON::PP::encode_json($peer) ne JSON::PP::encode_json($ours);
    }
}
is_deeply \%different, {}, "random stacks, SEED=$seed";

# --- the server

my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my ($path) = $req->{path} =~ m{^/(.*)\.gz$};
    my $body = $packed{ $path // '' };
    return $c->reply(404, {}, '') if !defined $body || -e $t->path('gone');
    until (-e $t->path('open')) {
        return $c->close if $c->wait_for_peer(0.01);
    }
    $c->reply(200, {}, $body);
});
my $port = Test::Symcache::free_port();
my $config = $t->default_config($web->url);
$config->{sources}{upstream}{layout} = 'breakpad';
$config->{admin_listen} = "unix:$dir/a.sock";
$config->{uploads} = { root => "$dir/uploads", listen => "unix:$dir/u.sock" };
$config->{stores}{default}{sources} = ['uploads', 'upstream'];
mkdir "$dir/$_" or die for qw(uploads uploads/.spool);
my ($n, %runs) = 0;

# Everything is as if nobody had asked yet; a hold is as long as told.
sub begin {
    my ($hold, @files) = @_;
    $n++;
    unlink map { $t->path($_) } qw(open gone);
    $t->write_file($_, '') for @files;
    $config->{stores}{default}{root} = $t->path("store$n");
    $config->{downloads} = $t->path("downloads$n");
    $t->start_symcached($config);
    $t->start_nginx("location /symbols/ {
        symcache_symbols $dir/downloads$n;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_hold_timeout $hold;
    }", listen => "listen 127.0.0.1:$port;", address => "127.0.0.1:$port",
        http => "access_log $dir/access$n.log;");
}

sub end {
    $t->stop_nginx;
    $t->stop_symcached;
}

# What was asked for, with the status.
sub asked {
    return sort map { m{"GET /symbols/(\S+?)(?:\?\S*)? HTTP/1.1" (\d+)}
        ? "$1 $2" : "? $_" } split /\n/, $t->read_file("access$n.log") // '';
}

# --- the client

# Starts it on a dump, or the file of one, with the texts of a folder or of the
# server.
sub start {
    my ($dump, @symbols) = @_;
    my $file = $dump =~ m{/} ? $dump : $t->data("minidump/$dump.dmp");
    $dump =~ s{.*/}{};
    my $out = "$dump." . ++$runs{$dump} . '.json';
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        delete @ENV{grep { /_proxy$/i } keys %ENV};
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', $t->path($out);
        open STDERR, '>', $t->path("$out.err");
        exec $stackwalk, '--json', '--no-interactive', @symbols, $file
            or POSIX::_exit(127);
    }
    return [$pid, $out];
}

# With the server, and a cache of its own.
sub start_asking {
    my ($dump, $cache) = @_;
    mkdir $t->path($_) for $cache, "$cache/tmp";
    return start($dump, '--symbols-url', "http://127.0.0.1:$port/symbols/",
                 '--symbols-cache', $t->path($cache),
                 '--symbols-tmp', $t->path("$cache/tmp"));
}

# What it says at the end: as it is, but for where the text came from.
sub says {
    my ($run) = @_;
    my ($pid, $out) = @$run;
    waitpid $pid, 0;
    my $said = eval { JSON::PP::decode_json($t->read_file($out)) }
        or return { error => $t->read_file("$out.err") };
    delete $_->{symbol_url} for @{ $said->{modules} };
    return $said;
}

sub place {
    my ($said) = @_;
    my $frame = $said->{crashing_thread}{frames}[0];
    my ($file) = ($frame->{file} // '') =~ m{([^/\\]+)$};
    return "$frame->{function} $file:$frame->{line}" if $file;
    return 'unknown';
}

for my $dump (sort keys %dumps) {
    my ($path, $place) = @{ $dumps{$dump} };
    my $known = says(start($dump, '--symbols-path', $t->path('symbols')));
    my $unknown = says(start($dump));
    is place($known), $place, "$dump: with the file at hand";
    is place($unknown), 'unknown', '- and without it';

    my $root = make_store($t->path("ours/$dump"), $t->program('pdb2symcache'),
        $t->data("minidump/symbols/$path.gz"));
    my $ours = $t->program('symcachectl');
    my $json = `$ours minidump --schema socorro --root $root @{[
        $t->data("minidump/$dump.dmp") ]}`;
    is_deeply comparable(JSON::PP::decode_json($json)),
        comparable(says(start($dump, '--symbols-path', $t->path('symbols')))),
        '- symcachectl minidump --schema socorro says the same';

    begin('60s', 'open');
    is_deeply says(start_asking($dump, "$dump.a")), $known,
        "$dump: what is there";
    my @asked = asked();
    is_deeply [grep { / 200$/ } @asked], ["$path 200"], '- is asked for once';
    is scalar(grep { !m{\.sym (?:200|404)$} } @asked), 0,
        '- and texts of others, which are not there';
    is index($t->read_file("$dump.a/$path") // '',
             $t->read_file("symbols/$path")), 0,
        '- and is in its cache, before a line of its own';
    end();

    begin('60s');
    my $run = start_asking($dump, "$dump.b");
    $t->wait_until('the source is asked',
        sub { grep { m{\Q$path\E} } map { $_->{path} } $web->requests });
    $t->write_file('open', '');
    is_deeply says($run), $known, "$dump: what comes while it waits";
    end();

    begin('1s');
    is place(says(start_asking($dump, "$dump.c"))), 'unknown',
        "$dump: what comes later";
    is scalar(grep { $_ eq "$path 503" } asked()), 1, '- is a 503';
    $t->write_file('open', '');
    $t->wait_until('it is there', sub { glob "$dir/downloads$n/default/*/*/*.sym" });
    is_deeply says(start_asking($dump, "$dump.c")), $known, '- its next start';
    end();

    begin('60s', 'gone');
    is place(says(start_asking($dump, "$dump.d"))), 'unknown',
        "$dump: what is nowhere";
    is scalar(grep { $_ eq "$path 404" } asked()), 1, '- is a plain 404';
    my $file = $t->write_file('uploads/.spool/1',
                              $t->read_file("symbols/$path"));
    is $t->http("$dir/a.sock", 'PUT', "/v1/uploads/$path", 'Content-Length: 0',
        "X-Symcached-Body: $file")->{status}, 201, '- it is uploaded';
    is_deeply says(start_asking($dump, "$dump.d")), $known, '- its next start';
    end();
}

# --- native files alone, and all real dumps

my $real = $t->path('real');
mkdir $real or die $!;
system('zstd -qdc --long=24 ' . $t->data('minidump/real.tar.zst')
    . " | tar xf - -C '$real'") == 0 or die;
link $t->data('minidump/ring/libring.dmp'), "$real/dumps/ring.dmp"
    or system('cp', $t->data('minidump/ring/libring.dmp'), "$real/dumps/ring.dmp");

# What dump_syms wrote of a file, or our converter; its module's line tells
# where clients look for it.
sub dump_text {
    my ($file, $text) = @_;
    $text //= qx(@{[$t->program('pdb2symcache')]} --kind breakpad -o - $file);
    my ($id, $name) = $text =~ /^MODULE \S+ \S+ (\S+) (\S+)/ or die $file;
    my $path = "$name/$id/" . ($name =~ s/\.pdb$//r) . '.sym';
    my $sym = $t->write_file("dumped/$path", $text);
    for (['symcache', '9.0.0'], ['cficache', '1.0.0']) {
        my ($kind, $version) = @$_;
        my $made = $t->write_file("made/$name/$id/$name-v$version.$kind", '');
        system($t->program('pdb2symcache'), '--kind', $kind, $sym, '-o', $made)
            == 0 or die $sym;
    }
    return $path;
}

sub unpacked {
    my ($packed) = @_;
    return scalar qx(zstd -qdc @{[$t->data($packed)]});
}

my $linux = $t->write_file('crash', unpacked('cfi/crash-linux-amd64.zst'));
my $macos = $t->write_file('macos/crash', unpacked('cfi/crash-macos-amd64.zst'));
my $ring = $t->data('minidump/ring/libring.so');
my %texts = (
    'sym-windows-mini' => dump_text($t->data('pdb/crash.pdb'),
        unpacked('convert/breakpad/msvc-crash.sym.zst')),
    'sym-linux-mini' => dump_text($linux),
    'sym-macos-mini' => dump_text($macos),
    ring => dump_text($ring),
);
for ([$linux, 'elf-buildid-sym', 'debug'], [$ring, 'elf-buildid-sym', 'debug']) {
    my ($file, $kind, $suffix) = @$_;
    my ($build) = qx(readelf -n $file) =~ /Build ID: (\w+)/ or die $file;
    $t->write_file("native/_.$suffix/$kind-$build/_.$suffix",
        $t->read_file($file));
}
my ($uuid) = $texts{'sym-macos-mini'} =~ m{/(\w{32})};
$t->write_file("native/_.dwarf/mach-uuid-sym-\L$uuid\E/_.dwarf",
    $t->read_file($macos));
my $crash = "crash.pdb/$Test::Symcache::key{'crash.pdb'}/crash.pdb";
$t->write_file("native/$crash", $t->read_file($t->data('pdb/crash.pdb')));

for my $layout (qw(symstore ssqp)) {
    $config->{sources}{$layout} = { type => 'filesystem', layout => $layout,
        path => $t->path('native') };
}
$config->{stores}{default}{sources} = [qw(symstore ssqp)];
$config->{stores}{default}{transcoders} = [{ version => '9.0.0',
    command => ['pdb2symcache', '-pdb', '{pdb}'] }];
local $ENV{PATH} = $t->program('') . ":$ENV{PATH}";
begin('60s');

# Compilers write the name in another way.
sub same_names {
    my ($said) = @_;
    return JSON::PP->new->utf8->decode(JSON::PP->new->canonical->utf8->encode(
        $said) =~ s/`anonymous namespace'/(anonymous namespace)/gr);
}

my $seen = 0;
for my $file (sort glob "$real/dumps/*.dmp") {
    my ($dump) = $file =~ m{([^/]+)\.dmp$};
    my $known = says(start($file, '--symbols-path', $t->path('dumped')));
    my $run = start_asking($file, "real.$dump");
    is_deeply same_names(says($run)), same_names($known),
        "$dump: native files, and what was dumped of them";
    $seen++ if $texts{$dump}
        && (grep { $_->{function} } map { @{ $_->{frames} } } @{ $known->{threads} });
    my $ours = $t->program('symcachectl');
    my $json = `$ours minidump --schema socorro --root $dir/made $file 2>/dev/null`;
    is_deeply comparable(eval { JSON::PP::decode_json($json) } // {}),
        comparable($known->{error} ? {} : $known), '- symcachectl says the same';
    next if !$texts{$dump};
    is scalar(grep { $_ eq "$texts{$dump} 200" } asked()), 1,
        '- the text was made' or diag join "\n", $texts{$dump}, asked(), $t->read_file("access$n.log");
}
is $seen, 4, 'four of them have names';
end();

$t->finish;
done_testing;
