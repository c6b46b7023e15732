#!/usr/bin/perl

# "symcached-sandboxed --unpack" as the helper runs it: descriptor 3 is the output, 4
# the body that was received; one line a place on stderr.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use POSIX ();
use Test::Cabinet;
use Test::More;
use Test::Msfz;
use Test::Symcache;

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $id = $Test::Symcache::key{'crash.pdb'};
my $mib = 1024 * 1024;

# Returns (letter, detail, output).
sub unpack_body {
    my ($body, %o) = @_;
    my $in = $t->write_file('in', $body);
    my $out = $t->write_file('out', '');
    my $err = $t->path('err');
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        open STDERR, '>', $err;
        my $o = POSIX::open($out, POSIX::O_RDWR());
        my $i = POSIX::open($in, POSIX::O_RDONLY());
        POSIX::lseek($i, 0, POSIX::SEEK_END()); # as after its receipt
        POSIX::dup2($o, 20);
        POSIX::dup2($i, 21);
        POSIX::dup2(20, 3);
        POSIX::dup2(21, 4);
        my %env = $t->sanitizer_env(0);
        $ENV{$_} = $env{$_} for keys %env;
        exec(@{ $o{wrapper} // [] }, $t->program('symcached-sandboxed'), '--unpack',
             ($o{kind} // 'debuginfo') . '/' . ($o{id} // $id),
             $o{max} // 64 * $mib, $o{format} // 'pdb',
             $o{name} // 'crash.pdb') or POSIX::_exit(127);
    }
    waitpid $pid, 0;
    my $text = $t->read_file($err);
    return ("status $?", $text, '') if $?;
    our $features = $text =~ s/^\@0 S (\w+)\n//m ? hex $1 : 0;
    my ($letter, $detail) = $text =~ /^\@0 (\w) (.*)$/m or die $text;
    return ($letter, $detail, $t->read_file('out'));
}

sub by_command {
    my ($data, $command) = @_;
    my $in = $t->write_file('plain.pdb', $data);
    my $out = $t->path('packed');
    unlink $out;
    my $dir = $t->dir;
    system("cd $dir && $command") == 0 or die "$command: $?";
    return $t->read_file('packed');
}

sub unpacks {
    my ($name, $body) = @_;
    my ($letter, $detail, $out) = unpack_body($body);
    is $letter, 'F', "$name is unpacked" or diag $detail;
    ok $out eq $crash, "$name: same bytes";
}

sub refused {
    my ($name, $body, $detail, %o) = @_;
    my ($letter, $got) = unpack_body($body, %o);
    is $letter, $o{letter} // ($detail =~ m{wrong (GUID|age)} ? 'W' : 'U'),
        "$name is unusable";
    like $got, $detail, "$name: reason";
}

my ($letter, $detail, $out) = unpack_body($crash);
is $letter, 'K', 'a plain PDB stays where it is';
is $out, '', 'and is not copied';

my $gzip = Compress::Zlib::memGzip($crash);
my $zlib = Compress::Zlib::compress($crash);
my $zstd = by_command($crash, 'zstd -q -c plain.pdb >packed');
my $mszip = by_command($crash, 'gcab -c -z packed plain.pdb');

# Whatever else comes, this stays of no use.
sub unreadable { refused(@_, letter => 'B') }

unpacks('gzip', $gzip);
unpacks('gzip with two members',
        Compress::Zlib::memGzip(substr $crash, 0, 500000)
        . Compress::Zlib::memGzip(substr $crash, 500000));
unpacks('zlib', $zlib);
unpacks('zstd', $zstd);
unpacks('zstd with two frames',
        by_command(substr($crash, 0, 70000), 'zstd -q -c plain.pdb >packed')
        . by_command(substr($crash, 70000), 'zstd -q -c plain.pdb >packed'));
unpacks('an MSZIP cabinet', $mszip);
unpacks('a stored cabinet',
        by_command($crash, 'gcab -c -n packed plain.pdb'));
unpacks('an LZX cabinet', Test::Cabinet::cabinet($crash, lzx => 1));

($letter, $detail, $out) =
    unpack_body($t->read_file($t->data('pdb/basic32.pd_')),
                id => $Test::Symcache::key{'basic32.pdb'});
is $letter, 'F', 'a cabinet of a symbol server is unpacked';
is length $out, 6590464, 'to its whole size';

# A compressed PDB becomes one of the same streams.
my @streams = msf_streams($crash);
my $msfz = msfz(\@streams);
($letter, $detail, $out) = unpack_body($msfz);
is $letter, 'F', 'MSFZ is expanded' or diag $detail;
is_deeply [msf_streams($out)], \@streams, 'to the same streams';
($letter, $detail, $out) = unpack_body(msfz([@streams, 'z' x 9_000_000]));
is_deeply [$letter, msf_streams($out)], ['F', @streams, 'z' x 9_000_000],
    'also around free page maps';
SKIP: {
    my $tool = (grep { -x } map { "$_/llvm-pdbutil" } split /:/, $ENV{PATH})[0];
    skip "no llvm-pdbutil", 1 if !defined $tool;
    like qx($tool dump --summary @{[$t->path('out')]} 2>&1),
        qr/Has Types: true/, 'LLVM reads it';
}

# damage
refused('truncated MSFZ', substr($msfz, 0, -1), qr/truncated.*MSFZ.*table/);
refused('MSFZ over the limit', $msfz, qr/becomes larger than is allowed/,
        max => $mib / 2);
refused('MSFZ with a flipped byte', do {
    my $b = $msfz; substr $b, 9000, 1, chr(255 ^ ord substr $b, 9000, 1); $b
}, qr/damaged.*MSFZ/);
refused('truncated gzip', substr($gzip, 0, -100000), qr/truncated gzip/);
refused('gzip without its end', substr($gzip, 0, -4), qr/truncated gzip/);
refused('gzip with a flipped byte', do {
    my $b = $gzip; substr $b, 5000, 1, chr(255 ^ ord substr $b, 5000, 1); $b
}, qr/damaged gzip|wrong|damage/);
refused('gzip with text behind it', $gzip . 'text', qr/damaged gzip/);
refused('truncated zlib', substr($zlib, 0, 5000), qr/truncated zlib/);
refused('zlib with text behind it', $zlib . 'text', qr/damaged zlib/);
refused('truncated zstd', substr($zstd, 0, -1000), qr/truncated zstd/);
refused('zstd with a flipped byte', do {
    my $b = $zstd; substr $b, 9000, 1, chr(255 ^ ord substr $b, 9000, 1); $b
}, qr/damaged zstd|truncated zstd/);
refused('truncated cabinet', substr($mszip, 0, -1000), qr/cabinet: /);
refused('cabinet of 20 bytes', substr($mszip, 0, 20), qr/truncated cabinet/);
refused('cabinet with a flipped byte', do {
    my $b = $mszip; substr $b, 9000, 1, chr(255 ^ ord substr $b, 9000, 1); $b
}, qr/cabinet: wrong checksum|cabinet: damaged/);
unreadable('cabinet with several files',
           Test::Cabinet::cabinet($crash, files => 2), qr/1 folders and 2 files/);
unreadable('cabinet with several folders',
           Test::Cabinet::cabinet($crash, folders => 2), qr/2 folders/);
unreadable('cabinet without files', Test::Cabinet::cabinet($crash, files => 0),
           qr/0 files/);
unreadable('cabinet that goes on elsewhere',
           Test::Cabinet::cabinet($crash, flags => 2), qr/spans/);
unreadable('cabinet that began elsewhere',
           Test::Cabinet::cabinet($crash, flags => 1), qr/spans/);
refused('cabinet that promises more than it has',
        Test::Cabinet::cabinet($crash, size => length($crash) + 1),
        qr/cabinet: /);

# size: the limit is of bytes, before and while writing
refused('a PDB over the limit', $crash, qr/larger than download_size/,
        max => $mib - 100000);
for (['gzip', $gzip], ['zlib', $zlib], ['zstd', $zstd],
     ['cabinet', $mszip]) {
    refused("$_->[0] over the limit", $_->[1], qr/larger than download_size/,
            max => $mib / 2);
}
refused("$_->[0] over the limit of the process", $_->[1],
        qr/larger than symcached may write: ulimit -f/, letter => 'M',
        wrapper => ['sh', '-c', 'ulimit -f 100; exec "$@"', 'sh'])
    for ['gzip', $gzip], ['cabinet', $mszip];
my $zeros = "\0" x (32 * $mib);
my $bomb = Compress::Zlib::memGzip($zeros);
($letter, $detail, $out) = unpack_body($bomb, max => $mib);
is $letter, 'U', 'a gzip bomb is unusable';
cmp_ok length $out, '<=', $mib, 'and writes no more than the limit';
refused('cabinet that promises 2 GB',
        Test::Cabinet::cabinet($crash, size => 0x7fff8000),
        qr/larger than download_size/);

# one level of compression only
unreadable('a gzip in a gzip', Compress::Zlib::memGzip($gzip),
           qr/gzip data inside/);
unreadable('an MSFZ container in a gzip', Compress::Zlib::memGzip($msfz),
           qr/MSFZ\) inside/);
unreadable('a cabinet in a gzip', Compress::Zlib::memGzip($mszip),
           qr/a cabinet inside/);

# what is no PDB 7.0
refused('nothing', '', qr/an empty file/);
refused('HTML', "\r\n <!DOCTYPE html><p>sign in", qr/an HTML page/);
refused('HTML in a gzip', Compress::Zlib::memGzip('<html></html>'),
        qr/an HTML page inside/);
refused('XML', '<?xml version="1.0"?><Error/>', qr/an XML document/);
unreadable('MSFZ of version 1', "Microsoft MSFZ Container\r\n\x1aALD\0\0\1" . "\0" x 99,
           qr/MSFZ.*version 1/);
unreadable('PDB 2.0', "Microsoft C/C++ program database 2.00\r\n\x1aJG\0\0",
           qr/a PDB 2\.0/);
refused('portable PDB', 'BSJB' . "\0" x 99, qr/a portable PDB/);
unreadable('PE', $t->read_file($t->data('pdb/basic32.dll')), qr/a PE image/);
unreadable('ELF', "\x7fELF" . "\0" x 99, qr/an ELF file/);
unreadable('zip', "PK\3\4" . "\0" x 99, qr/a zip archive/);
refused('text', 'nothing of the kind', qr/no debug file of a known format/);
refused('half a PDB', substr($crash, 0, 500000), qr/./);
refused('the start of a PDB', substr($crash, 0, 40), qr/./);

# identity
(my $other = $id) =~ s/^3/4/;
my $same = '249D99D0C4049318610F4E4FB0B6936';
refused('another GUID', $crash, qr/wrong GUID: wanted 4$same, got 3$same$/,
        id => $other);
(my $age = $id) =~ s/1$/A/;
refused('another age', $crash, qr/wrong age: wanted 10, got 1$/, id => $age);

my $srcsrv = $t->read_file($t->data('pdb/crash_with_srcsrv.pdb'));
($letter, $detail) = unpack_body($srcsrv);
is $letter, 'K', 'the age that counts is that of the DBI stream' or
    diag $detail;
(my $info_age = $id) =~ s/1$/4/;
refused('the age of the info stream', $srcsrv, qr/wrong age/,
        id => $info_age);

# nobody but the helper has a use for it
# Breakpad's text, where that is looked for

my $so = '000102030405060708090A0B0C0D0E0F0';
my $sym = "MODULE Linux x86_64 $so a.so\nPUBLIC 1000 0 f\n";
my %breakpad = (format => 'breakpad', name => 'a.so', id => $so);

for (['plain', $sym, 'K'], ['gzip', Compress::Zlib::memGzip($sym), 'F'],
     ['a name in another case', $sym =~ s/a\.so/A.so/r, 'K'],
     ['no name', $sym =~ s/ a\.so//r, 'K'],
     ['no line feed at its end', $sym =~ s/\n\z//r, 'K'],
     ['zeros at its end', "$sym\0\0", 'U', qr/ends with zeros/],
     ['another name', $sym =~ s/a\.so/b.so/r, 'W', qr/wanted a\.so, got b\.so/],
     ['another age', $sym =~ s/0 a/1 a/r, 'W', qr/wrong age/],
     ['another id', $sym =~ s/ 00/ 01/r, 'W', qr/wrong GUID/],
     ['no id', "MODULE Linux x86_64\n" . ' ' x 99, 'U', qr/line 1: .*debug id/],
     ['a PDB', $crash, 'B', qr/^a PDB$/],
     ['a PDB inside', $gzip, 'B', qr/^a PDB inside the packed body$/])
{
    my ($name, $body, $want, $reason) = @$_;
    my ($got, $why) = unpack_body($body, %breakpad);
    is $got, $want, "Breakpad: $name";
    like $why, $reason // qr/^\d+ bytes$/, "Breakpad: $name: told";
}
unreadable('Breakpad in place of a PDB', $sym, qr/^Breakpad text$/);

my $said = qx(${\ $t->program('symcached-sandboxed')} --unpack 2>&1);
isnt $?, 0, '--unpack by hand is refused';

$t->finish;
done_testing;
