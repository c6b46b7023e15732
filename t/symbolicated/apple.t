#!/usr/bin/env perl

# POST /applecrashreport: what Symbolicator 26.8.0 answered to the same reports
# (t/data/apple), also by way of POST /symbolicate-any; the form, polling,
# scopes, limits; and each correction in both positions.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Compress::Gzip qw(gzip);
use IO::Uncompress::Gunzip qw(gunzip);
use Test::File;
use Test::Form;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->allow_nonref->utf8;
my $data = $t->data('apple');

sub answer_of {
    my ($name) = @_;
    my $file = "$data/$name.json";
    return $json->decode(slurp($file)) if -e $file;
    gunzip "$file.gz" => \my $text or die;
    return $json->decode($text);
}

my %contract =
    map { $_->{name} => $_ } @{ $json->decode(slurp("$data/contract.json")) };

# Where reports are stored.
my $storage = Test::ScriptedServer->new(log => $t->path('storage.log'),
    script => sub {
        my ($c, $req) = @_;
        my ($coding) = $req->{path} =~ m{^/(gz)?report$}
            or return $c->reply(404);
        my $report = slurp("$data/handcrafted.txt");
        return $c->reply(200, {}, $report) unless $coding;
        gzip \$report => \my $packed;
        return $c->reply(200, { 'Content-Encoding' => 'gzip' }, $packed);
    });
my $host = '127.0.0.1:' . $storage->port;

sub start {
    my ($symbolicator, $limits) = @_;
    my $config = {
        stores => { default => { root => $t->path('store'), sources => [] } },
        sources => {},
        symbolication => { symbolicator => $symbolicator,
            $limits ? (limits => $limits) : () },
    };
    $t->stop_symbolicated if $t->{symbolicated};
    $t->stop_symcached if $t->{helper};
    $t->start_symcached($config);
    $t->start_symbolicated($config);
}

sub send_parts {
    my ($query, @parts) = @_;
    my $r = $t->post($t->symbolicated_socket, "/applecrashreport$query",
        form(@parts), "Content-Type: $form_type");
    $r->{answer} = eval { $json->decode($r->{body}) } // $r->{body};
    return $r;
}

sub report {
    my ($text, $query) = @_;
    return send_parts($query // '', ['sources', '[]'],
        ['apple_crash_report', $text, 'a'])->{answer};
}

start({});

# --- Symbolicator's answers

for my $name (map { m{([^/]+)\.txt$} } glob "$data/*.txt") {
    is_deeply report(slurp("$data/$name.txt")), answer_of($name), $name;
}
for my $case (@{ $json->decode(slurp("$data/small.json")) }) {
    my ($name, $text, $status, $answer) = @$case;
    my $r = send_parts('', ['sources', '[]'],
        ['apple_crash_report', $text, 'a']);
    is $r->{status}, $status, "$name: status";
    is_deeply $r->{answer}, $answer, $name;
}
for my $case (grep { $_->{path} eq '/applecrashreport' } values %contract) {
    my @parts = map { [@$_] } @{ $case->{parts} };
    # JSON cannot have the byte, whose place U+FFFD takes there
    $_->[1] =~ s/\x{fffd}/\xff/ for @parts;
    utf8::encode($_->[1]) for grep { $_->[1] !~ /\xff/ } @parts;
    my $r = send_parts('', @parts);
    is $r->{status}, $case->{status}, "$case->{name}: status";
    is_deeply $r->{answer}, $case->{answer}, $case->{name};
}

# the time, which the crate has from a parser of general forms
is_deeply [map { report("Date/Time: $_\n")->{timestamp} } '2018-06-12 08:34:37.12 +0100',
        '2018-06-12  08:34:37+01:00', "2018- 6-12\t8: 34:\r37.123 +01 00", '2018-06-1208:34:37 +01 : 00',
        '2018-06-12 08:34:37 -00:00', '2018-06-12 08:34:60 +0100'],
    [(1528788877) x 4, 1528788877 + 3600, 1528788899], 'times';
is_deeply [map { report("Date/Time: $_\n")->{status} } '2018-006-12 08:34:37 +0100',
        '2018-06-012 08:34:37 +0100', '2018-06-12 008:34:37 +0100', '20180-06-12 08:34:37 +0100',
        '2018-06 -12 08:34:37 +0100', '2018-06-12 08:34:37. +0100', '2018-06-12 08:34:37 Z'],
    [('failed') x 7], 'no times';

is_deeply [map { report("Code Type: $_\n")->{system_info}{cpu_arch} }
        'AMD64', 'ARM-64 (Native)', 'arm64v8', 'arm64_v8', 'POWERPC'],
    ['x86_64', 'arm64', 'arm64v8', 'unknown', 'unknown'], 'processors';

# --- blanks of a page from which a report was copied: Symbolicator's patterns
# count them as others

for my $blank ("\xc2\xa0", "\xe2\x80\x83", "\xe3\x80\x80") {
    for my $name ('handcrafted', 'spaces') {
        my $text = slurp("$data/$name.txt");
        $text =~ s/( +)( )/$blank x length($1) . $2/ge;
        $text =~ s/^ /$blank/gm;
        $text =~ s/$/$blank/gm;
        my $got = report($text);
        $got->{crash_details} =~ s/\s/ /g if $got->{crash_details};
        my $want = answer_of($name);
        $want->{crash_details} =~ s/\s/ /g if $want->{crash_details};
        is_deeply $got, $want, "$name, with other blanks";
    }
}

for my $name ('handcrafted', 'spaces') {
    my $got = report(slurp("$data/$name.txt") =~ s/ /\xc2\xa0/gr);
    my $want = answer_of($name);
    $got->{crash_details} =~ s/\xa0/ /g if $got->{crash_details};
    is_deeply $got, $want, "$name, with no other blanks at all";
}

# --- the order of the members, as they are compared above without it

my $handcrafted = slurp("$data/handcrafted.txt");
my $r = send_parts('', ['sources', '[]'],
    ['apple_crash_report', $handcrafted, 'a']);
like $r->{body}, qr/^\{"status":"completed","timestamp":.*
    "system_info":\{"os_name":.*"os_version":.*"os_build":.*"cpu_arch":.*
    "device_model":.*\},"crashed":true,"crash_reason":.*"crash_details":.*
    "stacktraces":\[.*\],"modules":\[/xs, 'members in order';

# --- the form

is send_parts('', ['apple_crash_report', 'x'],
    ['apple_crash_report', $handcrafted])->{answer}{crash_reason}, 'SIGSEGV',
    'the last of two parts counts';
is send_parts('', ['apple_crash_report', $handcrafted],
    ['rewrite_first_module', 'no JSON'])->{status}, 200,
    'a part that is none of this form';
for my $case (['sources', '{}', 400, qr/^invalid type: map/],
    ['options', 'x', 400, qr/line 1 column 1/],
    ['sources', '[' . ' ' x (1 << 20) . ']', 413, qr/too large/]) {
    my ($name, $part, $status, $detail) = @$case;
    $r = send_parts('', [$name, $part], ['apple_crash_report', $handcrafted]);
    is $r->{status}, $status, "bad $name: status";
    like $r->{answer}{detail}, $detail, "bad $name: reason";
}
is $t->http($t->symbolicated_socket, 'GET', '/applecrashreport')->{status},
    405, 'only POST';
is $t->post($t->symbolicated_socket, '/applecrashreport', '{}',
    'Content-Type: application/json')->{status}, 400, 'no form';

# --- frames and their order whatever the options say; candidates

$r = send_parts('', ['sources', '[]'],
    ['options', '{"frame_order":"caller_first","apply_source_context":false}'],
    ['apple_crash_report', $handcrafted]);
is_deeply $r->{answer}, answer_of('handcrafted'), 'options that do not count';

# --- polling

my $pending = send_parts('?timeout=0', ['sources', '[]'],
    ['apple_crash_report', slurp("$data/XCDYouTubeKit-54.txt")])->{answer};
if ($pending->{status} eq 'pending') {
    $pending = $json->decode($t->http($t->symbolicated_socket, 'GET',
        "/requests/$pending->{request_id}?timeout=60")->{body});
}
is_deeply $pending, answer_of('XCDYouTubeKit-54'), 'an answer that is polled';

# --- what is counted

sub metric { $t->symbolicated_metric("symbolicated_$_[0]") }
my $before = metric('apple_reports_total{outcome="unreadable"}');
my $read = metric('apple_reports_total{outcome="read"}');
report('Incident Identifier: TODO');
report('');
is metric('apple_reports_total{outcome="unreadable"}'), $before + 1,
    'a report that cannot be read';
is metric('apple_reports_total{outcome="read"}'), $read + 1,
    'and one that can';
is metric('dumps_total{outcome="unreadable"}'), 0, 'are no minidumps';
like $t->symbolicated_log, qr/protocol=apple status=200/,
    'the log has the protocol';

# --- limits

my $thread = "Thread 0:\n" . "0   App   0x1 f + 1\n" x 50;
start({}, { frames => 20 });
is scalar @{ report($thread)->{stacktraces}[0]{frames} }, 20,
    'as many frames as are allowed';
$t->wait_until('a line that says that there are more',
    sub { $t->symbolicated_log =~ / left_out=frames$/m });
start({}, { crash_size => '1k' });
$r = send_parts('', ['apple_crash_report', 'x' x 2000]);
is $r->{status}, 413, 'a report that is too large';

# --- corrections, off above and on here

my $modern = <<'END';
Incident Identifier: TODO
Report Version:      12 (sic)
Date/Time:           soon
Code Type:           ARM-64 (Native)
OS Version:          macOS 14.4 (23E214)

Thread 0 Crashed::  Dispatch queue: com.apple.main-thread
0   com.example.app            0x0000000104a3c2f4 crash + 20 (main.c:12)

Thread 0 crashed with ARM Thread State (64-bit):
    x0: 0x0000000000000001   x1: 0x0000000000000002
    pc: 0x0000000104a3c2f4 cpsr: 0x60001000
   far: 0x0000000000000000  esr: 0x92000006 (Data Abort) byte read

Binary Images:
       0x104a38000 -        0x104a3ffff +com.example.app (1.2 - 3) <11111111-2222-3333-4444-555555555555> /Applications/App.app/App
    0x7ff800000000 -     0x7ff80000ffff com.apple.none (*) <*> /none
    0x7ff810000000 -     0x7ff81000ffff libsystem_c.dylib (1439.40.11) <66666666-7777-8888-9999-AAAAAAAAAAAA> /usr/lib/system/libsystem_c.dylib
               0x0 - 0xffffffffffffffff ??? (*) <00000000-0000-0000-0000-000000000000> ???

External Modification Summary:
  Calls made by other processes targeting this process:
END
my $rest = $modern =~ s/^(?:Incident|Report|Date).*\n//gmr;

start({});
is report($modern)->{status}, 'failed', 'apple-headers: off';
is_deeply report($rest)->{modules}, [], 'apple-images: off';
ok !report($rest)->{stacktraces}[0]{registers}, 'apple-registers: off';

start({ corrections => ['apple-headers'] });
$r = report($modern);
is $r->{status}, 'completed', 'apple-headers: on';
ok !exists $r->{timestamp}, 'a date that is none is none';
is_deeply $r->{modules}, [], 'and nothing else';

start({ corrections => ['apple-images'] });
is report($modern)->{status}, 'failed', 'apple-images does not read the head';
$r = report($rest);
is_deeply [map { [@$_{qw(code_file debug_id image_addr image_size)}] }
        @{ $r->{modules} }],
    [['/Applications/App.app/App', '11111111-2222-3333-4444-555555555555',
        '0x104a38000', 0x7fff],
     ['/usr/lib/system/libsystem_c.dylib',
        '66666666-7777-8888-9999-aaaaaaaaaaaa', '0x7ff810000000', 0xffff]],
    'apple-images: on';
is $r->{stacktraces}[0]{frames}[0]{status}, 'missing',
    'a frame of such an image';
ok !$r->{stacktraces}[0]{registers}, 'no registers';

start({ corrections => ['apple-registers'] });
$r = report($rest);
is_deeply $r->{stacktraces}[0]{registers},
    { x0 => '0x1', x1 => '0x2', pc => '0x104a3c2f4', cpsr => '0x60001000',
      far => '0x0', esr => '0x92000006' }, 'apple-registers: on';
is_deeply $r->{modules}, [], 'no images';

start({ corrections => [map { "apple-$_" } qw(headers images registers)] });
for my $name (map { m{([^/]+)\.txt$} } glob "$data/*.txt") {
    next if $name =~ /^own/;
    is_deeply report(slurp("$data/$name.txt")), answer_of($name),
        "$name: nothing to correct";
}

# --- reports that are somewhere else

start({ sources => 'allow', tenants => { root => $t->path('tenants'),
    hosts => [$host] } });

sub any {
    my ($path) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate-any',
        $json->encode({ sources => [], symbolicate => {
            type => 'applecrashreport',
            storage_url => "http://$host/$path" } }),
        'Content-Type: application/json');
    return $json->decode($r->{body});
}

is_deeply any('report'), $contract{'any-apple'}{answer}, 'any-apple';
is_deeply any('gzreport'), $contract{'any-apple'}{answer}, 'one that is packed';
is any('gone')->{message}, 'not found', 'one that is gone';
is metric('spool_bytes'), 0, 'nothing is left in memory';

# --- switched off

start({ apple => { enabled => JSON::PP::false } });
is send_parts('', ['apple_crash_report', ''])->{status}, 404, 'switched off';
is $t->post($t->symbolicated_socket, '/minidump',
    form(['upload_file_minidump', 'x']),
    "Content-Type: $form_type")->{status}, 200, 'minidumps are not';
start({ minidump => { enabled => JSON::PP::false } });
is report('')->{status}, 'completed', 'nor the other way round';

$t->finish;
done_testing;
