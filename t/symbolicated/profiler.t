#!/usr/bin/env perl

# The Firefox Profiler, before nginx with conf-examples/symbolicate.conf: the
# bytes that Firefox sends for it, and what it takes from the answers.  That a
# page of another site may read them, those of nginx, too, a Chromium decides.

use strict;
use warnings;

use B ();
use Compress::Zlib ();
use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Socket::UNIX ();
use JSON::PP ();
use Test::Browser;
use Test::Front;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new;
my $key = $Test::Symcache::key{'crash.pdb'};
my $crash = "crash.pdb/$key";

$t->fill_store('store', $t->data('pdb/crash.pdb'));
my $config = { stores => { default => { root => $t->path('store') } } };
$t->start_symbolicated($config);
my ($front, $signed_in) = Test::Front::start($t, 'rate=20r/s' => 'rate=1r/m',
    'client_max_body_size    55m' => 'client_max_body_size 200k');

# --- what Firefox sends

my @firefox = ('Accept: */*', 'Accept-Language: en-US,en;q=0.5',
    'Accept-Encoding: gzip, deflate, br, zstd',
    'Referer: https://profiler.firefox.com/',
    'Origin: https://profiler.firefox.com', 'Connection: keep-alive',
    'Sec-Fetch-Dest: empty', 'Sec-Fetch-Mode: cors',
    'Sec-Fetch-Site: cross-site', 'Priority: u=4');

# A job for each library, as "name/id" => addresses.
sub body {
    my (@libraries) = @_;
    my @jobs;
    while (my ($library, $addresses) = splice @libraries, 0, 2) {
        my ($name, $id) = $library =~ m{(.*)/(.*)};
        push @jobs, qq({"memoryMap":[["$name","$id"]],"stacks":[[)
            . join(',', map { "[0,$_]" } @$addresses) . ']]}';
    }
    return '{"jobs":[' . join(',', @jobs) . ']}';
}

sub ask {
    my $r = $t->post($front, '/symbolicate/v5', body(@_), @firefox,
        'User-Agent: FirefoxProfiler/1.0 (+https://profiler.firefox.com)',
        'Content-Type: text/plain;charset=UTF-8');
    $r->{text} = (Test::Symcache::header($r, 'Content-Encoding') // '') eq 'gzip'
        ? Compress::Zlib::memGunzip($r->{body}) : $r->{body};
    return $r;
}

# --- what the Profiler takes

sub is_text { !ref $_[0] && B::svref_2object(\$_[0])->FLAGS & B::SVf_POK }
sub is_number { defined $_[0] && !ref $_[0] && !is_text($_[0]) }

# A wrong type anywhere, and it takes nothing of the answer.
sub check_types {
    my ($answer) = @_;
    my %text = map { $_ => 1 } qw(module module_offset function
        function_offset function_size file);
    my $wrong = 0;
    for my $result (@{ $answer->{results} }) {
        $wrong += grep { defined && !JSON::PP::is_bool($_) }
            values %{ $result->{found_modules} };
        for my $frame (map { @$_ } @{ $result->{stacks} }) {
            $wrong += grep { !exists $frame->{$_} }
                qw(frame module module_offset);
            for my $place ($frame, @{ $frame->{inlines} // [] }) {
                $wrong += grep { $_ ne 'inlines' && !($text{$_}
                    ? is_text($place->{$_}) : is_number($place->{$_})) }
                    keys %$place;
            }
        }
    }
    return $wrong;
}

# Of each library the symbols by address, or undef where it asks elsewhere.
sub symbols {
    my (@libraries) = @_;
    my $r = ask(@libraries);
    is $r->{status}, 200, 'an answer';
    my $answer = $json->decode($r->{text});
    is check_types($answer), 0, 'whose types are all as they must be';
    my @symbols;
    for my $result (@{ $answer->{results} }) {
        my ($library, $addresses) = splice @libraries, 0, 2;
        my $frames = $result->{stacks}[0];
        is @$frames, @$addresses, "$library: a frame for each address";
        push @symbols, $result->{found_modules}{$library} ? { map {
            my $f = $frames->[$_];
            $addresses->[$_] => !defined $f->{function_offset} ? undef : {
                name => $f->{function},
                address => $addresses->[$_] - hex $f->{function_offset},
                size => hex($f->{function_size} // 0),
                place => join(':', grep { defined } @$f{qw(file line)}),
                inlines => [map { "$_->{function} $_->{line}" }
                                @{ $f->{inlines} // [] }],
            };
        } 0 .. $#$frames } : undef;
    }
    return @symbols;
}

# --- a preflight, as its request has a header of its own

my $r = $t->http($front, 'OPTIONS', '/symbolicate/v5', @firefox,
    'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 '
        . 'Firefox/140.0', 'Access-Control-Request-Method: POST',
    'Access-Control-Request-Headers: user-agent');
is $r->{status}, 200, 'a preflight';
is Test::Symcache::header($r, "Access-Control-Allow-$_->[0]"), $_->[1],
    "allows: $_->[0]"
    for ['Origin', '*'], ['Methods', 'POST'], ['Headers', 'user-agent'];

# --- addresses of a function, of another one with inlined ones, and of none;
# Symbolicator's answers of the same (t/data/vectors) have these names

my $exceptions = 'c:\projects\breakpad-tools\deps\breakpad\src\client\windows'
    . '\handler\exception_handler.cc';
my ($known, $none) = symbols(
    $crash => [0x2468, 0x1a3a, 0x10],
    'libxul.so/BBA32215190206EE759A746A79B063870' => [0x1000, 0x2000]);
my $next_id = $known->{0x2468};
is $next_id->{name}, 'google_breakpad::ExceptionHandler::UpdateNextID()',
    'the name';
is $next_id->{address}, 0x2440, 'the address of the symbol';
is $next_id->{place}, "$exceptions:1039", 'file and line';
is_deeply $known->{0x1a3a}{inlines}, [
    'std::_Adjust_manually_vector_aligned(void*&, unsigned int&) 138',
    'std::_Deallocate(void*, unsigned int) 213',
    'std::allocator<wchar_t>::deallocate(wchar_t* const, const unsigned int) 1030',
    'std::basic_string<wchar_t,std::char_traits<wchar_t>,'
        . 'std::allocator<wchar_t> >::_Tidy_deallocate() 3907',
    'std::basic_string<wchar_t,std::char_traits<wchar_t>,'
        . 'std::allocator<wchar_t> >::{dtor}() 2425',
], 'inlined functions, innermost first';
is $known->{0x1a3a}{place}, "$exceptions:378", 'within the outer one';
is $known->{0x10}, undef, 'an address that is in none';
is $none, undef, 'a library that nobody has fails alone';

# the last byte of a function is its own, the next is not

my $end = $next_id->{address} + $next_id->{size};
cmp_ok $end, '>', 0x2468, 'the size of a function';
my ($around) = symbols($crash => [$end - 1, $end]);
is $around->{$end - 1}{address}, 0x2440, 'its last byte';
isnt $around->{$end}{address}, 0x2440, 'and one more';

# --- as much as it asks for at once: 10 libraries, 10,000 addresses

my @addresses = map { 0x1000 + 8 * $_ } 0 .. 999;
my ($first, @others) = symbols($crash => \@addresses,
    map { ("gone$_.pdb/$key" => \@addresses) } 1 .. 9);
cmp_ok scalar(grep { defined } values %$first), '>', 900, 'many symbols';
is_deeply \@others, [(undef) x 9], 'and nine libraries without';
is_deeply ask($crash => [1])->{headers}{'access-control-allow-origin'}, ['*'],
    'the answer is for its page';
like Test::Symcache::header(ask($crash => \@addresses), 'Vary'),
    qr/Accept-Encoding/, 'caches are told that it may be packed';
is $t->http($front, 'GET', '/symbolicated')->{status}, 404,
    'other paths are not passed on';

is $t->http($front, 'GET', '/source/v1', @firefox)
    ->{headers}{'access-control-allow-origin'}[0], '*',
    'but the page hears of it';

# --- legacy clients ask for version 4 without a path

my $libraries = qq({"memoryMap":[["crash.pdb","$key"]],)
    . '"stacks":[[[0,9320]]],"version":4}';
my $v4 = $t->post($front, '/', $libraries);
is $v4->{status}, 200, 'POST /';
is $v4->{body}, $t->post($front, '/symbolicate/v4', $libraries)->{body},
    'is answered as /symbolicate/v4';
like $v4->{body}, qr/UpdateNextID/, 'with names';
is $t->post($signed_in, '/', $libraries)->{status}, 401,
    'for a user who signs in, too';

# --- paths of other services, without the example's headers

for my $path (qw(/source/v1 /asm/v1 /symbolicate/v6)) {
    my @unknown = ($t->symbolicated_socket, 'POST', $path, 'Content-Length: 0');
    my $got = $t->http(@unknown, @firefox);
    is $got->{status}, 404, "$path is unknown";
    is_deeply $got->{headers}{'access-control-allow-origin'}, ['*'],
        '- which a page may read';
    is $t->http(@unknown)->{headers}{'access-control-allow-origin'}, undef,
        '- and others need not';
    $got = $t->http($t->symbolicated_socket, 'OPTIONS', $path, @firefox,
        'Access-Control-Request-Method: POST',
        'Access-Control-Request-Headers: authorization');
    is $got->{status}, 200, '- its preflight';
    is Test::Symcache::header($got, "Access-Control-Allow-$_->[0]"), $_->[1],
        "- allows: $_->[0]"
        for ['Origin', '*'], ['Methods', 'GET, POST'],
            ['Headers', 'authorization'];
}

# --- a browser

SKIP: {
    skip 'no chromium here', 9 unless Test::Browser::program();
    skip 'chromium loads no library of a sanitizer', 9 if $Test::Symcache::san;
    my $browser = Test::Browser->start($t->path('browser'));
    # a page of a site of its own: another port
    $browser->visit("http://$signed_in/none");

    my $fetch = sub {
        my ($server, $body, $header) = @_;
        return $browser->value("fetch('http://$server/symbolicate/v5', {
                body: $body, method: 'POST', mode: 'cors',
                headers: new Headers({ 'User-Agent': 'FirefoxProfiler/1.0',
                                       @{[$header // '']} }),
            }).then(async r => ({ status: r.status,
                                  text: await r.text() }),
                    e => ({ status: 0, text: String(e) }))");
    };
    my $text = $json->allow_nonref->encode(body($crash => [0x2468]));
    my $got = $fetch->($front, $text);
    is $got->{status}, 200, 'a page of another site asks';
    is $json->decode($got->{text})->{results}[0]{stacks}[0][0]{function},
        $next_id->{name}, 'and reads the answer';
    $got = $fetch->($front, "'{'");
    is $got->{status}, 400, 'an error';
    like $got->{text}, qr/Payload is not valid JSON/, 'is read, too';
    is $fetch->($front, "'x'.repeat(300000)")->{status}, 413,
        'what nginx says itself: too large';
    $browser->visit("http://$front/none");
    is $fetch->($signed_in, $text)->{status}, 401,
        'it is not signed in, and reads that';
    is $fetch->($signed_in, $text,
        "Authorization: 'Basic bWU6c2VjcmV0'")->{status}, 200,
        'a page that has the password sends it';
    $t->stop_symbolicated;
    $browser->visit("http://$signed_in/none");
    is $fetch->($front, $text)->{status}, 502, 'nobody behind nginx';
    $t->start_symbolicated($config);
    is $browser->stop, 0, 'the browser ends';
}

# --- signed in, and not

my $v5 = sub {
    $t->post($signed_in, '/symbolicate/v5', body($crash => [0x2468]), @_);
};
$r = $v5->();
is $r->{status}, 401, 'without a password';
is Test::Symcache::header($r, 'WWW-Authenticate'), 'Basic realm="symbols"',
    'one is asked for';
is $v5->('Authorization: Basic bWU6c2VjcmV0')->{status}, 200, 'with it';
is $t->http($signed_in, 'OPTIONS', '/symbolicate/v5')->{status}, 200,
    'a preflight has none, and passes';

# --- too often

my $n = 0;
$n++ until ($r = $t->http($front, 'GET', '/__lbheartbeat__'))->{status} == 429
    || $n > 300;
is $r->{status}, 429, 'too many requests';
is Test::Symcache::header($r, 'Access-Control-Allow-Origin'), '*',
    'which a page may read';
is Test::Symcache::header($r, 'Retry-After'), 5, 'and may try again';

# --- what nginx answers itself: a page may read all of it

sub is_own {
    my ($r, $status, $retry, $what) = @_;
    is $r->{status}, $status, $what;
    is_deeply $r->{headers}{'access-control-allow-origin'}, ['*'],
        "$what: for pages";
    is Test::Symcache::header($r, 'Retry-After'), $retry, "$what: Retry-After";
}

$t->stop_nginx;
($front, $signed_in) = Test::Front::start($t, 'proxy_read_timeout 16m' =>
    'proxy_read_timeout 1s', 'client_max_body_size    55m' => 'client_max_body_size 1k');
my $large = ' ' x 2000;
my @me = ('Authorization: Basic bWU6c2VjcmV0');
is_own($t->post($signed_in, '/symbolicate/v5', $large, @me), 413, undef,
    'too large, signed in');
$t->stop_symbolicated;
is_own($t->http($signed_in, 'GET', '/__version__', @me), 502, 5,
    'nobody, signed in');
unlink $t->symbolicated_socket;
my $silent = IO::Socket::UNIX->new(Local => $t->symbolicated_socket,
    Listen => 5) or die "listen: $!";
is_own($t->http($front, 'GET', '/__version__'), 504, 5, 'no answer in time');
close $silent;
unlink $t->symbolicated_socket;

$t->finish;
done_testing;
