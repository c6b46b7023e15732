#!/usr/bin/env perl

# symcachectl symbolicate, with a crash report of Apple's or a minidump: for
# people, as JSON, with names of a store, of symbolicated, or without any.

use strict;
use warnings;

use File::Path qw(make_path);
use FindBin;
use JSON::PP;
use lib "$FindBin::Bin/../lib";
use Test::Ctl;
use Test::File;
use Test::Form;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = Test::Ctl->new($t);
my $data = $t->data('apple');
my @socket = ('--socket', 'unix:' . $t->symbolicated_socket);

# --- without symbols

my $text = <<'END';
macOS 14.4, arm64
EXC_CRASH (SIGABRT)
abort() called
*** Terminating app due to uncaught exception 'Oops', reason: 'it broke'
ümläut

thread 9001 Dispatch queue: com.apple.main-thread
#0   0x180001234 in mach_msg2_trap from libsystem_kernel.dylib
#1   0x1000082f0 from Tiny

thread 9002 worker, requesting
#0   0x1000082f4 in stale from Tiny
#1   0x180001238 in _pthread_start at pthread.c:905 from libsystem_kernel.dylib
#2   0x3039

thread 9003

Last Exception Backtrace
#0   0x180001d20 in __exceptionPreprocess from libsystem_kernel.dylib
#1   0x1000082f0 in stale from Tiny

module missing: /Applications/Tiny.app/Contents/MacOS/Tiny (Tiny 4c4c4489-5555-3144-a180-69a34e2ad5e1)
module missing: /usr/lib/system/libsystem_kernel.dylib (libsystem_kernel.dylib a1b2c3d4-0000-1111-2222-333344445555)
END
my $r = $ctl->run('symbolicate', "$data/ips/macos.ips");
is $r->{code}, 0, 'no symbols and no daemon: done without';
is $r->{out}, $text, 'the report for people';
is $r->{err}, 'symcachectl: unix:/run/symcached/symbolicated.sock: symbolicated is not '
    . 'reached there: No such file or directory: frames have no names '
    . "but the report's own\n", 'and what is missing';

is $ctl->run('symbolicate', $t->write_file('mark.ips', "\xef\xbb\xbf\n" . slurp("$data/ips/macos.ips")))
    ->{out}, $text, 'behind a byte order mark';

my ($cut) = slurp("$data/handcrafted.txt") =~ /\A(.*?)^(?:Application Specific|Last Exception|Thread )/ms;
$ctl->is($ctl->run('symbolicate', $t->write_file('cut.txt', $cut)), 0, qr/SIGSEGV/,
    qr/^\S*cut\.txt: note: has no thread: was it cut off\?$/m, 'a report that was cut before its threads');

# what editors, mails and scripts make of one
my ($header, $body) = slurp("$data/ips/macos.ips") =~ /^(.*?\n)(.*)$/s;
my %forms = ('blank lines and CR LF' => "$header\r\n \r\n" . $body =~ s/\n/\r\n/gr,
    'UTF-16' => "\xff\xfe" . pack('v*', unpack 'C*', "$header$body"),
    'UTF-16, big endian' => "\xfe\xff" . pack('n*', unpack 'C*', "$header$body"),
    'without its header' => $body);
for my $form (sort keys %forms) {
    my $run = $ctl->run('symbolicate', $t->write_file('form.ips', $forms{$form}));
    is $run->{code} . $run->{out}, "0$text", $form;
}
$ctl->is($ctl->run('symbolicate', $t->write_file('header.ips', "${header}x\n")), 4, undef,
    qr/header\.ips: there is no report behind the header$/, 'a header alone');
my $text16 = pack 'v*', 0xfeff, unpack 'C*', slurp("$data/own-0.txt");
is $ctl->run('symbolicate', $t->write_file('wide.crash', $text16))->{out},
    $ctl->run('symbolicate', "$data/own-0.txt")->{out}, 'a text in UTF-16';

# a text of today's systems, of which Symbolicator loses most
my $modern = $t->write_file('modern.crash', <<'END');
Incident Identifier: TODO
Code Type:           ARM-64
OS Version:          macOS 14.4 (23E214)
Thread 0 Crashed::  Dispatch queue: com.apple.main-thread
0   com.example.app            0x0000000104a3c2f4 f(_: (Int) -> ()) + 20 (main.swift:12)
1   ???                        0x0000000104a3c2f5 ???

Thread 0 crashed with ARM Thread State (64-bit):
    x0: 0x0000000000000001

Binary Images:
       0x104a38000 -        0x104a3ffff +com.example.app (1.2 - 3) <11111111-2222-3333-4444-555555555555> /Applications/App.app/App
END
my ($object) = $ctl->json($ctl->run('symbolicate', '--json', $modern));
is_deeply $object->{stacktraces}, [{ thread_id => 0,
    thread_name => 'Dispatch queue: com.apple.main-thread',
    is_requesting => JSON::PP::true, registers => { x0 => '0x1' },
    frames => [{ status => 'missing', original_index => 0,
        instruction_addr => '0x104a3c2f4', function => 'f(_: (Int) -> ())',
        filename => 'main.swift', lineno => 12,
        package => '/Applications/App.app/App' },
        { status => 'missing', original_index => 1, instruction_addr => '0x104a3c2f5',
        package => '/Applications/App.app/App' }] }],
    'all corrections are on';
like $ctl->run('symbolicate', $modern)->{out}, qr/^macOS 14\.4 \(23E214\), arm64$/m,
    'a system without a version of its own';

# as iOS writes a call of a null pointer, and macOS names in several lines
my $frames = $ctl->run('symbolicate', $t->write_file('frames.crash', <<'END'));
Incident Identifier: TODO
Code Type:           ARM-64 (Native)
OS Version:          iPhone OS 11.2.6 (15D100)
Exception Type:      EXC_BAD_ACCESS (SIGSEGV)

Thread 0 Crashed:
0   ???                           	000000000000000000 0 + 0
1   App                           	0x0000000100001018 */Developer/Xcode.app/a
 + 0 [inlined]
2   App                           	0x0000000100001020 main + 32

Binary Images (dpkg):
0x100000000 - 0x100003fff   App arm64  <11111111222233334444555555555555> /App

Binary Images (Other):
0x200000000 - 0x200003fff   Lib arm64  <(null)> /Lib
END
is $frames->{out}, <<'END', 'a null pointer, a name of two lines, two lists of images';
iPhone OS 11.2.6 (15D100), arm64
EXC_BAD_ACCESS (SIGSEGV)

thread 0, requesting
#0   0x0
#1   0x100001018 in */Developer/Xcode.app/a from App
#2   0x100001020 in main from App

module missing: /App (App 11111111-2222-3333-4444-555555555555)
END

# names behind the beginning of their module, and those of frames that are inlined
my $written = $ctl->run('symbolicate', $t->write_file('written.crash', <<'END'));
Incident Identifier: TODO
Code Type:       ARM
Thread 0 Crashed:
0   CoreFoundation                  0x3157e63d 0x314e0000 + 648765 (__exceptionPreprocess + 97)
1   App                             0x0000f6d9 0x8000 + 30425 (-[Crasher throw:with:] + 101)
2   CoreUI                        	0x18969935 0x189622000 + 0x77354	// -[CUICatalog key:] + 0x1c
3   App                             0x0000f6db 0x8000 + 0x76db
4   App                             0x0000f6dc specialized static Delegate.main() + 24 [inlined]
5   App                             0x0000f6dd 0x8000 + 30429 (a.c:3)
END
like $written->{out}, qr{in __exceptionPreprocess from.*
.*in -\[Crasher throw:with:\] from.*
.*in -\[CUICatalog key:\] from.*
\#3   0xf6db from App
.*in specialized static Delegate\.main\(\) from.*
\#5   0xf6dd at a.c:3 from App$}m, 'names as KSCrash, CrashReporter and Rosetta write them';

# other types, if there are threads in their text
my $resource = qq({"bug_type":"185","name":"App"}\nIncident Identifier: TODO\nOS Version: iPhone OS 11.3 (15E216)\n)
    . "Exception Type:  EXC_RESOURCE\n";
$ctl->is($ctl->run('symbolicate', $t->write_file('cpu.ips', "$resource\nThread 0 Attributed:\n0   App  0x10 main + 1\n")),
    0, qr/^EXC_RESOURCE\n\nthread 0, requesting\n#0   0x10 in main\b/m, qr/frames have no names/, 'a report of the CPU, with threads');
$ctl->is($ctl->run('symbolicate', $t->write_file('none.ips', $resource)), 4, undef,
    qr/none\.ips: bug type 185 is not supported/, '... and without');

$ctl->is($ctl->run('symbolicate', $t->write_file('head.ips', $resource =~ s/185/109/r)), 0,
    qr/^iPhone OS 11.3 \(15E216\), unknown\nEXC_RESOURCE\n/, qr/frames have no names/, 'a crash without threads has its head');

# --- names of a store, of symbolicated, of a server

my $root = $t->path('store');
my $id = '4C4C448955553144A18069A34E2AD5E1';
make_path("$root/tiny/${id}0");
$ctl->run('convert', '--arch', 'arm64', '-o',
    "$root/tiny/${id}0/tiny-v9.0.0.symcache",
    $t->data('convert/macho/fat.dwarf'));
my $named = qr{^\#0   0x1000082f4 in twice\(int\) at /src/tiny\.cpp:3 from Tiny \[inlined\]
\#1   0x1000082f4 in tiny at /src/tiny\.cpp:7 from Tiny
\#2   0x180001238 in _pthread_start at pthread\.c:905 from libsystem_kernel}m;
$ctl->is($ctl->run('symbolicate', '--root', $root, "$data/ips/macos.ips"), 0,
    $named, undef, 'names of a store');
my $twice = $ctl->run('symbolicate', '--root', $root, $t->write_file('inlined.crash', <<'END'));
Incident Identifier: TODO
Thread 0 Crashed:
0   Tiny   0x1000082f4 inner + 4 [inlined]
1   Tiny   0x1000082f4 outer + 8
2   Lib    0x10 first() + 4 (/<compiler-generated>:4) [inlined]
3   Lib    0x10 second + 8

Binary Images:
0x100008000 - 0x10000bfff Tiny arm64  <4C4C448955553144A18069A34E2AD5E1> /Tiny
END
is join("\n", $twice->{out} =~ /^#\d+ +\S+ in (.*) from/mg),
    "twice(int) at /src/tiny.cpp:3\ntiny at /src/tiny.cpp:7\nfirst() at /<compiler-generated>:4\nsecond",
    'functions that the report has inlined are there once' or diag $twice->{out};
$t->start_symbolicated({ stores => { default => { root => $root } },
    symbolication => { symbolicator => { corrections => ['all'] } } });
$ctl->is($ctl->run('symbolicate', @socket, "$data/ips/macos.ips"), 0, $named,
    undef, 'names of symbolicated');
my $port = $t->free_port;
$t->start_nginx('location /names/ { proxy_pass http://unix:'
        . $t->symbolicated_socket . ':/; }', load => 0,
    listen => "listen 127.0.0.1:$port;", address => "127.0.0.1:$port");
$ctl->is($ctl->run('symbolicate', '--url', "http://127.0.0.1:$port/names",
    "$data/ips/macos.ips"), 0, $named, undef, 'names of a server');

# the JSON is what POST /applecrashreport answers, with all corrections
for my $file ("$data/ips/macos.ips", "$data/xcode16.txt", "$data/own-0.txt") {
    ($object) = $ctl->json($ctl->run('symbolicate', '--json', @socket, $file));
    my $answer = JSON::PP->new->utf8->decode($t->post($t->symbolicated_socket,
        '/applecrashreport', form(['apple_crash_report', slurp($file), 'a']),
        "Content-Type: $form_type")->{body});
    is_deeply $object, $answer, "$file as symbolicated answers it";
}

# --- standard input, minidumps, what is wrong

my $program = $t->program('symcachectl');
is `$program symbolicate --root $root - <$data/ips/macos.ips`,
    $ctl->run('symbolicate', '--root', $root, "$data/ips/macos.ips")->{out},
    'standard input';
$ctl->is($ctl->run('symbolicate', '--root', $root,
    $t->data('minidump/test_app.dmp')), 0,
    qr/^EXCEPTION_ACCESS_VIOLATION_WRITE/m, undef, 'a minidump is one, too');
$ctl->is($ctl->run('symbolicate', "$data/ips/jetsam.ips"), 4, undef,
    qr/jetsam\.ips: bug type 298 \(jetsam event\)/, 'another kind of file');
$ctl->is($ctl->run('symbolicate', $t->write_file('bad.ips', substr "$header$body", 0, 900)), 4, undef,
    qr/bad\.ips: .* at line \d+ column \d+ of the report$/, 'a report that cannot be read');
is $ctl->run('symbolicate', $t->write_file('mail.txt', "Crashes:\n" . slurp("$data/own-0.txt") =~ s/^/> /mgr))
    ->{out}, $ctl->run('symbolicate', "$data/own-0.txt")->{out}, 'a report that a mail quotes';
$ctl->is($ctl->run('symbolicate', $t->write_file('images.ips', $header . $body =~ s/"threads"/"x"/r
        =~ s/"lastExceptionBacktrace"/"y"/r)), 4, undef,
    qr/images\.ips: there are images but no threads$/, 'JSON without threads');
$ctl->is($ctl->run('symbolicate', $t->write_file('spindump.txt',
    "Date/Time: x\nHeaviest stack for the main thread:\n  10  start + 4 (dyld + 8) [0x18b1]\n\n"
    . "Binary Images:\n 0x1 - 0x2 com.a (1) <$id> /App\n")), 4, undef,
    qr/spindump\.txt: there are images but no thread/, 'a spindump');
$ctl->is($ctl->run('symbolicate', $t->write_file('other', "Process: x\n")), 2,
    undef, qr/other: not a request .* crash report, minidump, profile or trace/, 'something else');
$ctl->is($ctl->run('symbolicate', @socket, '--url', 'http://x', 'x'), 2, undef,
    qr/more than one of --root, --socket, --symbols and --url/, 'a daemon and a server');

$t->finish;
done_testing;
