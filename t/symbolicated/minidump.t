#!/usr/bin/env perl

# POST /minidump: what Symbolicator answered to the same dumps, with the same
# symbols; the parts of the form; workers that are lost.

use strict;
use warnings;

use Encode ();
use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Basename qw(basename);
use File::Copy qw(copy);
use File::Path qw(make_path);
use Test::File;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->allow_nonref->utf8;
my $cases = $t->data('minidump/cases');

# Members that we answer otherwise, and why; docs/minidumps.md tells it, too.
my %differs = (
    # a type of STACK WIN that nobody knows
    'text-win-type' => sub { delete $_->{features} for @{ $_[0]{modules} } },
);

# The symbols of each case are in a source of their own, whose file has the
# debug id as its name; in the layout, it is a folder's.
sub add_symbols {
    my ($case) = @_;
    my @files = glob "$cases/$case/*.sym" or return;
    for my $file (@files) {
        my ($system, $cpu, $id, $name) =
            slurp($file) =~ /^MODULE (\S+) (\S+) (\S+) ([^\r\n]+)/ or die $file;
        my $dir = $t->path("symbols/$case/$name/$id");
        make_path($dir);
        copy($file, "$dir/" . ($name =~ s/\.pdb$//r) . '.sym') or die $!;
    }
    return $case;
}

my @cases = map { basename $_ } glob "$cases/*";
my @with = grep { defined } map { add_symbols($_) } @cases;
my $converter = $t->program('pdb2symcache');
my %config = (
    stores => { map { ($_ => {
        root => $t->path("made/$_"), sources => [$_],
        transcoders => [
            { version => '9.0.0', inputs => ['breakpad'],
              command => [$converter, '{pdb}'] },
            { version => '1.0.0', inputs => ['breakpad'], makes => 'cficache',
              command => [$converter, '--kind', 'cficache', '{pdb}'] }],
    }) } @with },
    sources => { map { ($_ => { type => 'filesystem', layout => 'breakpad',
        path => $t->path("symbols/$_") }) } @with },
);
$t->start_symcached(\%config);
$t->start_symbolicated;

my $boundary = 'boundary0123456789';
my $type = "Content-Type: multipart/form-data; boundary=$boundary";

# A form; parts are [name, content].
sub form {
    return join '', map({ "--$boundary\r\nContent-Disposition: form-data; "
        . "name=\"$_->[0]\"\r\n\r\n$_->[1]\r\n" } @_), "--$boundary--\r\n";
}

sub send_form {
    my ($query, @parts) = @_;
    my $r = $t->post($t->symbolicated_socket, "/minidump$query", form(@parts),
        $type);
    $r->{answer} = eval { $json->decode($r->{body}) };
    return $r;
}

sub dump_part {
    my ($case) = @_;
    return ['upload_file_minidump', slurp("$cases/$case/dump.dmp")];
}

# --- Symbolicator's answers

for my $case (grep { -e "$cases/$_/answer.json" } @cases) {
    my $wanted = $json->decode(slurp("$cases/$case/answer.json"));
    $wanted = $wanted->{answer} if $wanted->{answer};
    my $sources = -d $t->path("symbols/$case") ? "[{\"id\":\"$case\"}]" : '[]';
    my $r = send_form('', ['sources', $sources],
        ['options', '{"dif_candidates":false}'], dump_part($case));
    is $r->{status}, 200, "$case: status";
    my $got = $r->{answer};
    for my $answer ($got, $wanted) {
        $differs{$case}->($answer) if $differs{$case};
    }
    is_deeply $got, $wanted, $case;
}

# --- a module with a long path, which a request may not have: it is cut

sub with_name {
    my ($name) = @_;
    my $dump = slurp("$cases/amd64-cfi-operators/dump.dmp");
    my ($n, $at) = unpack 'x8 V V', $dump;
    my ($list) = map { $_->[2] } grep { $_->[0] == 4 }
        map { [unpack 'V V V', substr $dump, $at + 12 * $_, 12] } 0 .. $n - 1;
    substr $dump, $list + 4 + 20, 4, pack 'V', length $dump;
    my $text = Encode::encode('UTF-16LE', $name);
    return $dump . pack('V', length $text) . $text . "\0\0";
}

for (['C:\\' . 'a' x 4093, 'C:\\' . 'a' x 4093, '4,096 bytes'],
     ['C:\\' . 'a' x 9000 . '\\b.exe', 'C:\\' . 'a' x 4093, '9,009 bytes'],
     ['C:\\' . "\x{20ac}" x 4000, 'C:\\' . "\x{20ac}" x 1364, 'not within a character']) {
    my ($name, $want, $what) = @$_;
    my $r = send_form('', ['sources', '[]'], ['upload_file_minidump', with_name($name)]);
    is "$r->{status} $r->{answer}{status}", '200 completed', "a module's path: $what";
    is $r->{answer}{modules}[0]{code_file}, $want, '... in the answer';
}

# --- what is counted of a dump

{
    my %names = (dumps => 'dumps_total{outcome="walked"}',
        'modules without CFI' => 'modules_without_cfi_total',
        map { $_ => "walked_frames_total{trust=\"$_\"}" } qw(context cfi fp scan));
    my $count = sub { map { $_ =>
        $t->symbolicated_metric("symbolicated_$names{$_}") } keys %names };
    my %before = $count->();
    my $case = 'sym-windows-mini.sym';
    my $r = send_form('', ['sources', "[{\"id\":\"$case\"}]"],
        dump_part($case));
    my %after = $count->();
    my %wanted = (dumps => 1, scan => 0, 'modules without CFI' => scalar(grep {
        $_->{unwind_status} eq 'missing' } @{ $r->{answer}{modules} }));
    for my $stack (@{ $r->{answer}{stacktraces} }) {
        my %frames = map { $_->{original_index} => $_ } @{ $stack->{frames} };
        $wanted{ $_->{trust} }++ for values %frames;
    }
    is_deeply { map { $_ => $after{$_} - $before{$_} } keys %after },
        \%wanted, 'metrics';
    cmp_ok $t->symbolicated_metric('symbolicated_walk_seconds_total'), '>', 0,
        'the time of walks';
}

# --- the form

sub is_refused {
    my ($name, $status, $detail, @parts) = @_;
    my $r = send_form('', @parts);
    is $r->{status}, $status, "$name: status";
    like $r->{answer}{detail} // $r->{body}, $detail, "$name: why";
}

my $dump = dump_part('ids-linux');
is_refused('no dump', 400, qr/^missing minidump$/, ['sources', '[]']);
is_refused('no part', 400, qr/^missing minidump$/);
is_refused('sources that are no JSON', 400, qr/at line 1 column/,
    ['sources', '[{'], $dump);
is_refused('more than JSON', 400, qr/trailing/, ['sources', '[] []'], $dump);
is_refused('sources that are no list', 400, qr/^invalid type: map, expected a sequence/,
    ['sources', '{}'], $dump);
is_refused('options of another type', 400, qr/^invalid type: integer `3`, expected a boolean/,
    ['options', '{"dif_candidates":3}'], $dump);
is_refused('a platform without quotes', 400, qr/at line 1 column/,
    ['platform', 'native'], $dump);
is_refused('a part of more than 1 MiB', 413, qr/too large/,
    ['sources', '[' . ' ' x (1 << 20) . ']'], $dump);
is_refused('a form in the form', 400,
    qr/^minidump contains multipart form data$/,
    ['upload_file_minidump', "--abc\r\n"]);
is send_form('', ['upload_file_minidump', 'MDMPxxxx'])->{answer}{status}, 'failed',
    'a dump that ends in its header';
for ('400 .*? failure=missing minidump', '200 .*? failure=.+') {
    my $want = qr/request protocol=minidump status=$_$/m;
    $t->wait_until("the log has $_", sub { $t->symbolicated_log =~ $want });
}

my $r = send_form('', ['upload_file_minidump', 'MDMPxxxx'],
    ['other', 'x'], $dump);
is $r->{answer}{status}, 'completed', 'the last of two parts counts';
$r = $t->post($t->symbolicated_socket, '/minidump', '{}',
    'Content-Type: application/json');
is $r->{status}, 400, 'another type of body';
like $r->{body}, qr/^Invalid `boundary`/, 'is no form';
$r = $t->post($t->symbolicated_socket, '/minidump', 'x' x 100, $type);
is $r->{status}, 400, 'a body without the boundary';
$t->wait_until('the log says why', sub {
    $t->symbolicated_log =~ /request protocol=minidump status=400 .* failure=Invalid `boundary`/ });
is $t->http($t->symbolicated_socket, 'GET', '/minidump')->{status}, 405,
    'only POST';
$r = send_form('?timeout=x', $dump);
is $r->{status}, 400, 'a timeout that is not a number';

# in chunks, the delimiters of which lie anywhere
my $body = form($dump);
my $chunks = join '', map({ sprintf "%x\r\n%s\r\n", length, $_ }
    unpack '(a777)*', $body), "0\r\n\r\n";
my $s = Test::Symcache::connect_to($t->symbolicated_socket);
binmode $s;
print $s "POST /minidump HTTP/1.1\r\nHost: x\r\n$type\r\nConnection: close\r\n"
    . "Transfer-Encoding: chunked\r\n\r\n$chunks";
$s->flush;
my $answer = $json->decode($t->read_response($s, 'POST')->{body});
is $answer->{status}, 'completed', 'a body in chunks';
is $answer->{system_info}{os_name}, 'Linux', 'is the same dump';

# two on one connection
$s = Test::Symcache::connect_to($t->symbolicated_socket);
binmode $s;
print $s map({ "POST /minidump HTTP/1.1\r\nHost: x\r\n$type\r\n"
    . "Connection: $_\r\nContent-Length: " . length($body) . "\r\n\r\n$body" }
    'keep-alive', 'close');
$s->flush;
my $both = do { local $/; <$s> };
is scalar(() = $both =~ /"status":"completed"/g), 2,
    'two requests on a connection';

# --- dumps that are broken somewhere, DUMPS of them: each has an answer, and no
# other one changes

srand 36;
my ($windows, @broken) = dump_part('sym-windows-mini.sym');
my %statuses;
my $unreadable =
    $t->symbolicated_metric('symbolicated_dumps_total{outcome="unreadable"}');
for my $i (1 .. $ENV{DUMPS} // 300) {
    my $bytes = $windows->[1];
    substr $bytes, int(rand($i % 2 ? 4000 : length $bytes)), 1 + int rand 4,
        pack 'V', rand 2**32 for 1 .. 1 + int rand 8;
    $bytes = substr $bytes, 0, int rand length $bytes if $i % 10 == 0;
    $r = send_form('', ['upload_file_minidump', $bytes], ['sources', '[]']);
    $statuses{ $r->{answer}{status} // "HTTP $r->{status}" }++;
    push @broken, $i if !$r->{answer}{message} && !$r->{answer}{stacktraces};
    next if $i % 50;
    $r = send_form('', $dump, ['sources', '[]']);
    is $r->{answer}{system_info}{os_name}, 'Linux', "beside $i broken ones";
}
is_deeply \@broken, [], 'a reason for each that cannot be read';
ok $statuses{completed}, 'dumps of which something can be read';
ok $statuses{failed}, 'and others';
is $t->symbolicated_metric('symbolicated_dumps_total{outcome="unreadable"}')
    - $unreadable, $statuses{failed}, 'which are counted';

is scalar($t->symbolicated_metric('symbolicated_workers_died_total')), 0,
    'no worker died';
cmp_ok $t->symbolicated_metric('symbolicated_workers_started_total'), '<', 20,
    'they are used again';
is $t->symbolicated_metric('symbolicated_spool_bytes'), 0,
    'nothing of a dump is left';
unlike $t->symbolicated_log, qr/libc|Program/, 'nor in the log';

# --- symbols that come late: the dump is read on

$t->stop_symbolicated;
$t->stop_symcached;
$config{stores} = { default => { %{ $config{stores}{'sym-windows-mini.sym'} },
    root => $t->path('made/late') } };
$config{symbolication}{threads} = 1;
my $symcached = $t->start_symcached(\%config);
$t->start_symbolicated;
kill STOP => $symcached;

$r = send_form('?timeout=0', $windows);
is $r->{answer}{status}, 'pending', 'symbols are waited for';
my $id = $r->{answer}{request_id};
ok $id, 'its request has an id';
cmp_ok $t->symbolicated_metric('symbolicated_spool_bytes'), '>', 20000,
    'and the dump stays';
kill CONT => $symcached;
$r = $t->http($t->symbolicated_socket, 'GET', "/requests/$id?timeout=60");
$answer = $json->decode($r->{body});
is $answer->{status}, 'completed', 'asked for later';
is scalar @{ $answer->{stacktraces} }, 4, 'it is whole';
is $t->symbolicated_metric('symbolicated_bodies_total'), 1,
    'a worker has read it once';
is $t->symbolicated_metric('symbolicated_spool_bytes'), 0, 'and it is gone';
my $given = $t->symbolicated_metric('symbolicated_files_given_total');
cmp_ok $given, '>', 0, 'the worker got a file';
is send_form('', $windows)->{answer}{status}, 'completed', 'the same dump';
is $t->symbolicated_metric('symbolicated_files_given_total'), $given,
    'needs no file again';

# --- limits

$t->stop_symbolicated;
$config{symbolication} = { limits => { crash_size => '1k' } };
$t->start_symbolicated(\%config);
$r = $t->post($t->symbolicated_socket, '/minidump', form($dump), $type);
is $r->{status}, 413, 'a dump that is too large';
is $json->decode($r->{body})->{detail}, 'the request is too large', 'says so';

$t->stop_symbolicated;
$config{symbolication} = { limits => { spool_size => '1k' } };
$t->start_symbolicated(\%config);
$r = $t->post($t->symbolicated_socket, '/minidump', form($dump), $type);
is $r->{status}, 503, 'no room for a dump';
ok $r->{headers}{'retry-after'}, 'for now';

$t->stop_symbolicated;
$config{symbolication} = { symbolicator => { minidump => { enabled => 0 } } };
$config{symbolication}{symbolicator}{minidump}{enabled} = JSON::PP::false();
$t->start_symbolicated(\%config);
$r = $t->post($t->symbolicated_socket, '/minidump', form($dump), $type);
is $r->{status}, 404, 'dumps are not taken';

$t->finish;
done_testing;
