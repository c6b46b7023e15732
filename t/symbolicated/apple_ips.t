#!/usr/bin/env perl

# POST /applecrashreport with reports that are JSON (.ips), which were made by
# hand (t/data/apple/README.md), and frames whose image there is a dSYM of.

use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::File;
use Test::Form;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->allow_nonref->utf8;
my $data = $t->data('apple/ips');

# as llvm-dwarfdump --uuid prints them
my %id = (arm64 => '4c4c4489-5555-3144-a180-69a34e2ad5e1',
          x86_64 => '4c4c4429-5555-3144-a1eb-1f03cb7b5573');
for (values %id) {
    my $hex = tr/-//dr;
    $t->write_file("dsyms/_.dwarf/mach-uuid-sym-$hex/_.dwarf",
        slurp($t->data('convert/macho/fat.dwarf')));
}

sub start {
    my (@corrections) = @_;
    my $config = $t->default_config('');
    $config->{stores}{default}{transcoders}[0]{inputs} = ['macho'];
    $config->{stores}{default}{sources} = ['dsyms'];
    $config->{sources} = { dsyms => { type => 'filesystem',
        layout => 'symstore', path => $t->path('dsyms') } };
    $config->{symbolication} =
        { symbolicator => { corrections => \@corrections } };
    $t->stop_symbolicated if $t->{symbolicated};
    $t->stop_symcached if $t->{helper};
    $t->start_symcached($config);
    $t->start_symbolicated($config);
}

sub report {
    my ($text, @parts) = @_;
    my $r = $t->post($t->symbolicated_socket, '/applecrashreport',
        form(@parts, ['apple_crash_report', $text, 'a']),
        "Content-Type: $form_type");
    is $r->{status}, 200, 'status';
    return $json->decode($r->{body});
}


start();

# --- a report of macOS

my $r = report(slurp("$data/macos.ips"));
is_deeply report("\xef\xbb\xbf\r\n " . slurp("$data/macos.ips")), $r,
    'and behind what an editor puts in front of it';
is $r->{status}, 'completed', 'a report as macOS writes it';
is_deeply $r->{system_info}, { os_name => 'macOS', os_version => '14.4',
    os_build => '23E214', cpu_arch => 'arm64',
    device_model => 'MacBookPro18,1' }, 'the system';
is $r->{timestamp}, 1714972089, 'the time'; # by "date -u -d"
is $r->{crash_reason}, 'EXC_CRASH (SIGABRT)', 'the reason';
is_deeply [sort split /\n/, $r->{crash_details}],
    [sort 'abort() called', 'ümläut', "*** Terminating app due to uncaught"
        . " exception 'Oops', reason: 'it broke'"], 'the details';

my ($main, $worker, $idle, $thrown) = @{ $r->{stacktraces} };
is scalar @{ $r->{stacktraces} }, 4, 'three threads, and an exception';
is_deeply [@$main{qw(thread_id thread_name is_requesting)}],
    [9001, 'Dispatch queue: com.apple.main-thread', JSON::PP::false],
    'a thread without a name has that of its queue';
is_deeply [@$worker{qw(thread_id thread_name is_requesting)}],
    [9002, 'worker', JSON::PP::true], 'the thread that crashed';
is_deeply [@$idle{qw(thread_id thread_name is_requesting)}, $idle->{frames}],
    [9003, undef, JSON::PP::false, []], 'a thread without frames';
is_deeply [@$thrown{qw(thread_id thread_name is_requesting)}],
    [undef, 'Last Exception Backtrace', undef], 'the exception';

is_deeply $worker->{registers}, {
    (map { ("x$_" => sprintf '0x%x', 16 * $_) } 0 .. 28),
    lr => '0x100007fc0', fp => '0x16fe03240', sp => '0x16fe03230',
    pc => '0x1000082f0', cpsr => '0x60001000', esr => '0x92000046',
    far => '0xffffffffffffffff' }, 'registers';
ok !$main->{registers}, 'of that thread only';

sub places { [map { [@$_{qw(status function lineno)}] } @{ $_[0]{frames} }] }

is_deeply places($worker),
    [['symbolicated', 'twice(int)', 3], ['symbolicated', 'tiny', 7],
     ['missing', '_pthread_start', 905], ['unknown_image', undef, undef]],
    'names of the dSYM, and the report\'s own where there is none';
is_deeply places($main),
    [['missing', 'mach_msg2_trap', undef], ['symbolicated', 'tiny', 6]],
    'a caller is looked up in front of its address';
is_deeply places($thrown),
    [['missing', '__exceptionPreprocess', undef],
     ['symbolicated', 'tiny', 6]], 'the same of the exception';
is $worker->{frames}[3]{instruction_addr}, '0x3039',
    'an offset in no image is an address';
is_deeply [map { [@$_{qw(debug_status arch code_file debug_id image_addr
        image_size)}] } @{ $r->{modules} }],
    [['found', 'arm64', '/Applications/Tiny.app/Contents/MacOS/Tiny',
        $id{arm64}, '0x100008000', 16384],
     ['missing', 'unknown', '/usr/lib/system/libsystem_kernel.dylib',
        'a1b2c3d4-0000-1111-2222-333344445555', '0x180000000', 65536]],
    'modules, but for one that is none';

# --- of x86_64

$r = report(slurp("$data/x86_64.ips"));
is_deeply places($r->{stacktraces}[0]),
    [['symbolicated', 'twice(int)', 3], ['symbolicated', 'tiny', 7]],
    'x86_64: names';
is_deeply $r->{stacktraces}[0]{registers},
    { rip => '0x1000002ec', rsp => '0x7ffeefbff5a0', trap => '0xe' },
    'x86_64: registers';
is_deeply [@$r{qw(timestamp crash_reason crash_details)}],
    [1672628645, 'EXC_BAD_ACCESS', 'KERN_INVALID_ADDRESS at 0x10'],
    'x86_64: head';

# --- frames that the system has symbolicated, with those that are inlined

my $inlined = slurp("$data/x86_64.ips") =~ s/"frames": \[\K/
    join '', map { qq({"imageOffset":748,"imageIndex":$_,"symbol":"inner","inline":true},)
        . qq({"imageOffset":748,"imageIndex":$_,"symbol":"outer"},) } 0, 9/er;
is_deeply places(report($inlined)->{stacktraces}[0]),
    [['symbolicated', 'twice(int)', 3], ['symbolicated', 'tiny', 7],
     ['unknown_image', 'inner', undef], ['unknown_image', 'outer', undef],
     ['symbolicated', 'twice(int)', 3], ['symbolicated', 'tiny', 7]],
    'inlined frames: once each, and of an image that is not there the report\'s own';

# --- what was thrown, and why the system ended it

sub with { $_[0] =~ s/^\{(?!.*"bug_type")/{$_[1],/mr }
my $x86 = slurp("$data/x86_64.ips");
$r = report(with($x86, '"asiBacktraces":["0   CoreFoundation   0x00007ff812ea96e3'
    . ' __exceptionPreprocess + 242\n1   Tiny   0x00000001000002ec $s4Tiny1fyyF + 7\n'
    . '2   ???   0x0000000000000011 0x0 + 17","no frames",7]'));
is scalar @{ $r->{stacktraces} }, 3, 'asiBacktraces: two stacks more';
is_deeply [@{ $r->{stacktraces}[1] }{qw(thread_id thread_name)}],
    [undef, 'Last Exception Backtrace'], '... as of an exception';
is_deeply places($r->{stacktraces}[1]),
    [['unknown_image', '__exceptionPreprocess', undef],
     ['symbolicated', 'twice(int)', 3], ['symbolicated', 'tiny', 7],
     ['unknown_image', undef, undef]],
    '... with names of the dSYM, and of the report';
is_deeply $r->{stacktraces}[2]{frames}, [], '... or without frames';
$r = report(with($x86, '"asiBacktraces":["0   A   0x0000000000000011 f + 1"],'
    . '"lastExceptionBacktrace":[{"imageIndex":0,"imageOffset":748}]'));
is_deeply [map { $_->{frames}[0]{instruction_addr} } @{ $r->{stacktraces} }[1 .. $#{ $r->{stacktraces} }]],
    ['0x1000002ec'], '... and not beside lastExceptionBacktrace';

my $ended = '"termination":{"namespace":"DYLD","reasons":["Library not loaded: @rpath/A",'
    . '"Reason: tried: \'/A\' (no such file)"]}';
is report(with($x86, $ended))->{crash_details},
    "Library not loaded: \@rpath/A\nReason: tried: '/A' (no such file)",
    'the reasons of the termination';
is report(with($x86, qq($ended,"asi":{"dyld":["a"]})))->{crash_details}, 'a',
    '... are not with messages of the application';

# --- with a text behind the first object

my $text = slurp($t->data('apple/own-0.txt'));
is_deeply report(slurp("$data/ios14.ips"), ['sources', '[]']),
    report($text, ['sources', '[]']), 'bug type 109 has a text';

# texts without threads, such as a stackshot, have what Symbolicator has of them
my $without = "OS Version: iPhone OS 7.1.2 (11D257)\nHardware Model: iPhone3,1\n\n"
    . "Binary Images:\n0x1000 - 0x1fff App armv7  <11111111222233334444555555555555> /App\n";
for my $type (109, 188) {
    for my $rest ($without, "OS Version: iPhone OS 7.1.2 (11D257)\n", "x\n") {
        is_deeply report(qq({"bug_type":"$type"}\n$rest)), report($rest),
            "bug type $type, without threads";
    }
}
is scalar @{ report(qq({"bug_type":"188"}\n$without))->{modules} }, 1, 'but with an image';

# JSON of another type that has threads, such as a simulated crash
is_deeply report(slurp("$data/x86_64.ips") =~ s/"bug_type":"\K309/385/r),
    report(slurp("$data/x86_64.ips")), 'bug type 385, with threads';

# --- what is no crash report

like report(slurp("$data/jetsam.ips"))->{message},
    qr/bug type 298 \(jetsam event\) is not supported/, 'another kind of file';
like report(qq({"bug_type":"7"}\n{}))->{message},
    qr/bug type 7 is not supported/, 'of which we know no name';
like report(qq({"bug_type":"309"}\n))->{message},
    qr/no report behind the header/, 'a header alone';
like report(qq({"bug_type":"309"}\n{"threads":[{]}))->{message},
    qr/at line 1 column 14 of the report/, 'a report that is not JSON';
like report(qq({"bug_type":"309"}\nProcess: \xff\n))->{message},
    qr/not UTF-8/, 'a text that is none';
is report(qq({"a":1}\n{}))->{status}, 'completed',
    'another object is a text, as to Symbolicator';

# members of other types are as if they were not there
my @values = ('null', 'true', '-1', '"x"', '[]', '{}', '[1,"x",[],{}]',
    '1e9', '99999999999999999999', '{"x":[{"value":-1}],"pc":{"value":"x"}}');
for my $value (@values) {
    my $body = join ',', map { qq("$_":$value) } qw(osVersion cpuType modelCode
        captureTime exception faultingThread asi lastExceptionBacktrace
        asiBacktraces termination threads usedImages);
    my $thread = join ',', map { qq("$_":$value) } qw(id name queue triggered
        threadState frames);
    my $frame = join ',', map { qq("$_":$value) } qw(imageOffset imageIndex
        symbol sourceFile sourceLine);
    my $image = join ',', map { qq("$_":$value) } qw(base size uuid path name);
    is report(qq({"bug_type":"309"}\n{$body}))->{status}, 'completed',
        "members that are $value";
    is report(qq({"bug_type":"309"}\n{"usedImages":[$value,{$image}],)
        . qq("threads":[$value,{$thread},{"frames":[$value,{$frame}]}]}))
        ->{status}, 'completed', "members of these that are $value";
}

# --- names of texts

my $crash = "Thread 0 Crashed:\n0   App   0x1 -[Some thing] + 12\n"
    . "1   App   0x2 main (main.m:3)\n";
is_deeply places(report($crash)->{stacktraces}[0]),
    [['unknown_image', undef, undef], ['unknown_image', undef, undef]],
    'apple-names: off';
start('apple-names');
is_deeply places(report($crash)->{stacktraces}[0]),
    [['unknown_image', '-[Some thing]', undef], ['unknown_image', 'main', 3]],
    'apple-names: on';

# --- what was thrown, in texts

my $exceptions = "Application Specific Information:\nabort() called\n"
    . "Application Specific Backtrace 1:\n0   App   0x3 throw + 1\n\n"
    . "Last Exception Backtrace:\n0   App   0x1 rethrow + 12\n1   App   0x2 main + 3\n\n"
    . "Last Exception Backtrace:\n(0x18000ab 0x1800cd\t0x5)\n\n"
    . "Thread 0 name:  main\nThread 0 Crashed:\n0   App   0x9 f + 1\n";
sub stacks { [map { [@$_{qw(thread_id thread_name)}, map { $_->{instruction_addr} } @{ $_->{frames} }] }
              @{ $_[0]{stacktraces} }] }
my $lost = report($exceptions);
is_deeply stacks($lost), [[0, 'main', '0x9']], 'apple-exception: off';
start('apple-exception');
my $found = report($exceptions);
is_deeply stacks($found), [[undef, 'Last Exception Backtrace', '0x3'],
    [undef, 'Last Exception Backtrace', '0x1', '0x2'],
    [undef, 'Last Exception Backtrace', '0x18000ab', '0x1800cd', '0x5'],
    [0, 'main', '0x9']], 'apple-exception: on';
is $found->{crash_details}, 'abort() called', '... and not in the details';
like $lost->{crash_details}, qr/Backtrace 1/, '... where it was';
my $missing = "Exception Codes: 0x0\nTermination Reason: Namespace DYLD, Code 1 Library missing\n"
    . "Library not loaded: a\nReason: b\n\nModel: x\n";
is report($missing)->{crash_details}, "Library not loaded: a\nReason: b",
    'the lines below the reason of the termination';
is report("$missing\nApplication Specific Information:\nabort() called\n")->{crash_details},
    'abort() called', '... are not with information';
is report($missing =~ s/Library not loaded.*\n/Terminating Process: x [1]\n/r)->{crash_details},
    '0x0', '... and the process that ended it is none of them';

$t->finish;
done_testing;
