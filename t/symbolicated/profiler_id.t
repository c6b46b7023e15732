#!/usr/bin/env perl

# An ordinary ELF file that was uploaded, with its debug file, is found by the
# id by which a profiler knows it: POST /symbolize/v1 and the helper answer with
# the names that addr2line has of it.  The id is made here by its description:
# SHA-256 of head, tail and length, and of a kernel FNV-1a of its build id.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Digest::SHA qw(sha256);
use Math::BigInt;
use MIME::Base64 qw(encode_base64);
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $json = JSON::PP->new->canonical;
my $u = Test::Uploads->new(inputs => ['elf', 'pdb', 'pe', 'symbfile']);
my $t = $u->t;
my $dir = $t->dir;

# The id of a file, in hexadecimal digits; and in base64url.
sub file_id {
    my $bytes = $t->read_file($_[0]);
    my $part = length $bytes < 4096 ? length $bytes : 4096;
    return substr unpack('H*', sha256(substr($bytes, 0, $part)
        . substr($bytes, -$part) . pack 'Q>', length $bytes)), 0, 32;
}
sub base64url { encode_base64(pack('H*', $_[0]), '') =~ tr{+/=}{-_}dr }

# The text of a number of 128 bits, after it was multiplied and cut.
sub fnv {
    my $hash = Math::BigInt->from_hex('6c62272e07bb014262b821756295c58d');
    my $prime = Math::BigInt->new(2)->bpow(88)->badd(0x13b);
    my $mod = Math::BigInt->new(2)->bpow(128);
    for (unpack 'C*', $_[0]) {
        $hash->bxor($_)->bmul($prime)->bmod($mod);
    }
    return sprintf '%032s', $hash->to_hex =~ s/^0x//r;
}
is fnv('0123456789abcdef0123456789abcdef01234567'),
    'f6cf2d06749cb9374148c3a96ca80ac5', 'a kernel\'s id of the description';

$t->write_file('a.c', <<'C');
volatile int n;
static inline __attribute__((always_inline)) void step(int i) { n += i; }
__attribute__((noinline)) void work(int i)
{
    step(i);
    n++;
}
int main(void) { work(1); return 0; }
C

# A program, as it is deployed, and its debug file; returns the build id.
sub build {
    my ($name, @options) = @_;
    system('gcc', '-g', '-O1', '-Wl,--build-id', @options, '-o', "$dir/$name.full",
           "$dir/a.c") == 0 or die 'gcc';
    system("objcopy --only-keep-debug $dir/$name.full $dir/$name.debug && "
         . "strip -o $dir/$name $dir/$name.full") == 0 or die 'objcopy';
    my ($id) = `readelf -n $dir/$name` =~ /Build ID: ([0-9a-f]+)/ or die;
    return $id;
}
sub send_file {
    my ($file, $name, $build) = @_;
    my $path = $name eq '_.debug' ? "_.debug/elf-buildid-sym-$build/_.debug"
                                  : "$name/elf-buildid-$build/$name";
    my $r = $u->put($path, $t->read_file("$dir/$file"));
    is $r->{status}, 201, "$file is uploaded" or diag $r->{raw};
}
# The addresses of work(), by the symbols of the file; and their functions.
sub addresses {
    my ($file) = @_;
    my ($begin, $size) = `nm -S $file` =~ /^(\S+) (\S+) T work$/m or die;
    return map { hex($begin) + $_ } 0 .. hex($size) - 1;
}
sub by_addr2line {
    my ($file, @addresses) = @_;
    my @out = split /\n/, join '', map { sprintf "0x%x\n", $_ } @addresses;
    my @names;
    my $text = `addr2line -a -i -f -e $file @out`;
    for (split /^0x/m, $text) {
        my (undef, @lines) = split /\n/ or next;
        my @frames;
        while (my ($function, $place) = splice @lines, 0, 2) {
            $place =~ s/ \(discriminator.*//;
            unshift @frames, "$function $place";
        }
        push @names, join '; ', @frames;
    }
    return @names;
}
sub ask {
    my ($file, @addresses) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolize/v1',
        $json->encode({ file => $file, addrs => \@addresses }) . "\n");
    my (@strings, @names, $state);
    for my $line (split /\n/, $r->{body}) {
        my $v = $json->decode($line);
        push @strings, @{ $v->{strings} // [] };
        $state = $v->{state} if $v->{state};
        for my $address (@{ $v->{frames} // [] }) {
            my @n = @$address;
            my @frames;
            while (my ($function, $file, $line) = splice @n, 0, 3) {
                push @frames, "$strings[$function] $strings[$file]:$line";
            }
            push @names, join '; ', @frames;
        }
    }
    return $state // \@names;
}
sub names_are {
    my ($file, $addresses, $wanted, $what) = @_;
    my $got;
    $t->wait_until('names', sub {
        $got = ask($file, @$addresses);
        ref $got;
    });
    is_deeply $got, $wanted, $what;
}

$t->start_symbolicated($u->config);

# --- a program at an address of its own, one that can be loaded anywhere

my (%build, %id, %addresses, %wanted);
for my $name ('fixed', 'anywhere') {
    $build{$name} = build($name, $name eq 'fixed' ? '-no-pie' : '-pie');
    $id{$name} = file_id("$dir/$name");
    $addresses{$name} = [addresses("$dir/$name.full")];
    $wanted{$name} = [by_addr2line("$dir/$name.full", @{ $addresses{$name} })];
}
like "@{ $wanted{fixed} }", qr/work \S+a\.c:5; step \S+a\.c:2/,
    'addr2line has names';
cmp_ok $addresses{fixed}[0], '>', 0x400000, '... of addresses of the file';
is ask(base64url($id{fixed}), 1), 'missing', 'a profiler\'s id is unknown';
my $why = $t->program('symcachectl') . " why --socket $dir/a.sock _ hash-$id{fixed}";
$t->wait_until('the job has ended', sub { qx{$why} =~ /notfound/ });
pass '... and symcachectl why tells why';
for my $name ('fixed', 'anywhere') {
    send_file($name, $name, $build{$name});
    send_file("$name.debug", '_.debug', $build{$name});
    names_are(base64url($id{$name}), $addresses{$name}, $wanted{$name},
              "... and known of $name when file and debug file are there");
}
names_are(base64url(file_id("$dir/fixed.debug")), $addresses{fixed},
          $wanted{fixed}, 'the debug file has an id of its own');

# --- symbols only; a debug file that comes later

my $alone = build('alone', '-no-pie', '-Wl,--export-dynamic');
$id{alone} = file_id("$dir/alone");
$addresses{alone} = [addresses("$dir/alone.full")];
$wanted{alone} = [by_addr2line("$dir/alone.full", @{ $addresses{alone} })];
send_file('alone', 'alone', $alone);
names_are(base64url($id{alone}), $addresses{alone},
          [map { 'work :0' } @{ $addresses{alone} }],
          'without a debug file, names are the program\'s own');
send_file('alone.debug', '_.debug', $alone);
$t->wait_until('names of the debug file', sub {
    my $got = ask(base64url($id{alone}), @{ $addresses{alone} });
    ref $got && "@$got" eq "@{ $wanted{alone} }";
});
pass '... and those of the debug file when that has come';

# --- a kernel

my $kernel = build('vmlinux', '-no-pie', '-Wl,--build-id=0x'
    . '0123456789abcdef0123456789abcdef01234567');
$t->write_file('content', 'x');
for (qw(vmlinux vmlinux.debug)) {
    system('objcopy', '--add-section', "__ksymtab=$dir/content", "$dir/$_") == 0
        or die 'objcopy';
}
send_file('vmlinux', 'vmlinux', $kernel);
send_file('vmlinux.debug', '_.debug', $kernel);
my @kernel = addresses("$dir/vmlinux.full");
my $kernel_names = [by_addr2line("$dir/vmlinux.full", @kernel)];
for (['f6cf2d06749cb9374148c3a96ca80ac5', 'a kernel'],
     ['4148c3a96ca80ac5f6cf2d06749cb937', 'its debug file']) {
    names_are(base64url($_->[0]), \@kernel, $kernel_names,
              "$_->[1] has an id made of the build id");
}

# --- PE images: with a PDB, which comes first or later, and without one

# The id by which symbol stores have an image: time stamp and size.
sub code_id {
    my $head = unpack 'x60 V', $_[0];
    return sprintf '%08X%x', unpack('V', substr $_[0], $head + 8),
        unpack 'V', substr $_[0], $head + 24 + 56;
}
# The names that a SymCache of the file has at addresses, as ask() has them.
sub by_symcache {
    my ($file, @addresses) = @_;
    my $ctl = $t->program('symcachectl');
    system("'$ctl' convert -o $dir/made.symcache $dir/$file") == 0 or die $file;
    my @hex = map { sprintf '%x', $_ } @addresses;
    # names are answered as people read them
    my $lookup = qx{'$ctl' lookup --json $dir/made.symcache @hex | c++filt};
    return map {
        join '; ', map { "$_->{function} " . ($_->{file} // '') . ":$_->{line}" }
            reverse @{ $json->decode($_)->{frames} }
    } split /\n/, $lookup;
}
sub starts {
    my $ctl = $t->program('symcachectl');
    return map { hex } qx{'$ctl' convert -o $dir/b.symcache $_[0] && '$ctl' dump $dir/b.symcache}
        =~ /^  0x([0-9a-f]+) /mg;
}
my $image = $t->read_file($t->data('pdb/basic32.dll'));
my $pdb = "basic32.pdb/$Test::Symcache::key{'basic32.pdb'}/basic32.pdb";
my (@at, @names);
# the second image has the same ids, but is another file to a profiler
for (['an image before its PDB', $image, ''], ['one after it', "${image}x", '?force=1']) {
    my ($when, $bytes, $query) = @$_;
    $t->write_file('basic32.dll', $bytes);
    is $u->put('basic32.dll/' . code_id($image) . "/basic32.dll$query", $bytes)->{status},
        201, $when;
    if (!@at) {
        # what was asked for before the PDB is not what is known later
        ask(base64url(file_id("$dir/basic32.dll")), 0x1000);
        is $u->put($pdb =~ s/b$/_/r, $t->read_file($t->data('pdb/basic32.pd_')))->{status},
            201, '... and the PDB, packed';
        my @starts = starts("$dir/uploads/$pdb");
        @at = @starts[map { $_ * @starts / 20 } 0 .. 19];
        @names = by_symcache("uploads/$pdb", @at);
        cmp_ok scalar(grep { /:[1-9]/ } @names), '>', 5, '... which has names and lines';
    }
    names_are(base64url(file_id("$dir/basic32.dll")), \@at, \@names,
              '... they are found by the profiler\'s id of the image');
}
system('zstd', '-qdf', $t->data('convert/pe/mingw-5.dll.zst'), '-o', "$dir/mingw.dll") == 0
    or die 'zstd';
my $mingw = $t->read_file('mingw.dll');
is $u->put('mingw.dll/' . code_id($mingw) . '/mingw.dll', $mingw)->{status}, 201,
    'an image without a PDB';
my @mingw = starts("$dir/mingw.dll");
names_are(base64url(file_id("$dir/mingw.dll")), \@mingw, [by_symcache('mingw.dll', @mingw)],
    '... has its own names');

# --- an index that was lost, or of a release without these ids

$t->stop_symcached;
system 'rm', '-rf', "$dir/uploads/.index", glob "$dir/store/*";
$t->start_symcached($u->config);
$t->wait_until('the index', sub { -e "$dir/uploads/.index/.whole-2" });
names_are(base64url($id{fixed}), $addresses{fixed}, $wanted{fixed},
          'an index that is lost is made again');

# --- removed

is $u->admin('POST', "/v1/discard/$_", 'Content-Length: 0')->{status}, 200,
    "$_ is removed"
    for "fixed/elf-buildid-$build{fixed}/fixed",
        "_.debug/elf-buildid-sym-$build{fixed}/_.debug";
$t->wait_until('no names', sub { !ref ask(base64url($id{fixed}), 1) });
pass '... and its names are, too';
names_are(base64url($id{anywhere}), $addresses{anywhere}, $wanted{anywhere},
          '... and no others');
$t->finish;
done_testing;
