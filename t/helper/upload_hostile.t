#!/usr/bin/env perl

# Uploads that mean no good, or go wrong: bombs, names that lead elsewhere,
# damaged archives, clients that go away, two at once, a full disk, a helper
# that stops or is killed in the middle.  Nothing of them is ever stored.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;

my $u = Test::Uploads->new;
my $t = $u->t;
my $dir = $t->dir;
my $key = $Test::Symcache::key{'crash.pdb'};
my $path = "crash.pdb/$key/crash.pdb";
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my @good = ($path, $pdb);

sub sym { my $id = sprintf '%032X1', $_[0];
          ("m$_[0].pdb/$id/m$_[0].sym", "MODULE windows x86 $id m$_[0].pdb\n") }

sub refused {
    my ($what, $zip, $status, $why) = @_;
    my $r = $u->upload($zip);
    is $r->{status}, $status, "$what: $status" or diag $r->{raw};
    like $r->{json}{error} // '', $why, "$what: why";
    is $u->stored, '', "$what: nothing is stored";
}

# --- names

for my $name ('../../../etc/passwd', '/etc/1/passwd', '..', "../$key/crash.pdb",
              "crash.pdb/../crash.pdb", "crash.pdb/$key/../../x",
              "crash.pdb/$key/x/crash.pdb", 'crash.pdb', "./$path", "/$path",
              "crash.pdb//crash.pdb", ".tmp/$key/.tmp", "a\\b/12/a",
              'x/12g/x', "C:/12/x", "crash.pdb/$key/.pdb") {
    refused("name $name", Test::Zip::zip([@good], [$name, 'x']), 400,
            qr/^Unrecognized file pattern\. .*\(First unrecognized pattern was '\Q$name\E'\)$/);
}
for my $name ("crash.pdb/$key/a\tb.pdb", "a\x01.pdb/$key/a\x01.pdb",
              "a\nb\tc", "crash.pdb/$key/crash.pdb\x7f", "a\r/1/a") {
    my $shown = $name =~ s/[\x00-\x1f\x7f]/ /gr;
    refused('a control character', Test::Zip::zip([@good], [$name, 'x']), 400,
            qr/^Unrecognized file pattern\. .*was '\Q$shown\E'\)$/);
}
refused('a NUL', Test::Zip::zip(["$path\0.txt", $pdb]), 400, qr/NUL/);
refused('a name of 2000 bytes', Test::Zip::zip(['x' x 2000 . "/$key/x", $pdb]),
        400, qr/pattern|too long/);

# --- kinds of members

refused('a symbolic link', Test::Zip::zip([@good], [(sym(1))[0],
    '/etc/passwd', mode => 0120777]), 400, qr/m1\.sym is a symbolic link/);
refused('a device', Test::Zip::zip([(sym(1))[0], '', mode => 0020666]), 400,
        qr/special file/);
refused('encrypted', Test::Zip::zip([@good], [sym(1), flags => 1]), 400,
        qr/m1\.sym is encrypted/);
refused('bzip2', Test::Zip::zip([sym(1), method => 12]), 400,
        qr/another method/);
refused('two for one place', Test::Zip::zip([@good], [sym(1)],
    [(sym(1))[0] =~ s/^m/M/r, (sym(1))[1] . "FILE 0 a\n"]), 400,
    qr{^m1\.pdb/\d+/m1\.sym and M1\.pdb/\d+/m1\.sym are one file with different content$});
refused('the hundredth is for the place of the first', Test::Zip::zip(
    (map { [sym($_)] } 1 .. 99), [(sym(1))[0], (sym(1))[1] . "FILE 0 a\n"]), 400,
    qr{^(m1\.pdb/\d+/m1\.sym) and \1 are one file});
refused('the second is wrong', Test::Zip::zip([@good],
    ["other.pdb/$key/other.pdb", 'x' x 100]), 400,
    qr{other\.pdb/$key/other\.pdb is not a file whose identity});
refused('the hundredth is wrong', Test::Zip::zip((map { [sym($_)] } 1 .. 99),
    ["m1.pdb/${key}1/m1.sym", (sym(1))[1]]), 400, qr/has the id/);
refused('an archive in an archive', Test::Zip::zip([$path,
    Test::Zip::zip([@good])]), 400, qr/identity/);

# --- bombs: 16 MB are allowed

my $zeros = "\0" x (17 << 20);
refused('a bomb', Test::Zip::zip([$path, $zeros]), 413,
        qr{crash\.pdb: more than "uploads\.max_size" allows, which is 16777216 bytes});
refused('one that lies', Test::Zip::zip([$path, $zeros, size => 1000]), 400,
        qr/crash\.pdb: damaged/);
refused('many of them', Test::Zip::zip(map { [(sym($_))[0], "\0" x (1 << 20)] }
    1 .. 17), 413, qr/which is 16777216 bytes/);
refused('a packed one', Test::Zip::zip([$path, gzip($zeros), method => 0]), 413,
        qr/max_size/);
refused('packed twice', Test::Zip::zip([$path, gzip(gzip($pdb))]), 400,
        qr/identity/);
refused('25,000 members', Test::Zip::zip(map { [(sym($_))[0], '', method => 0] }
    1 .. 25000), 400, qr/more than 20000 members/);

sub gzip {
    my ($bytes) = @_;
    require IO::Compress::Gzip;
    IO::Compress::Gzip::gzip(\$bytes, \my $out) or die;
    return $out;
}

# --- damage

my $zip = Test::Zip::zip([@good], [sym(1)]);
refused('no archive', 'PK, but not', 400, qr/^File is not a zip file$/);
refused('a false checksum', Test::Zip::zip([@good, crc => 1]), 400,
        qr/checksum/);
refused('a size that is not', Test::Zip::zip([@good, size => length($pdb) + 1]),
        400, qr/damaged/);
refused('half of it', substr($zip, 0, length($zip) / 2), 400, qr/^File is not/);
my $flipped = $zip;
substr $flipped, 1000, 1, chr(0xff ^ ord substr $flipped, 1000, 1);
refused('a byte is another', $flipped, 400, qr/damaged|identity|crash\.pdb/);
my $far = $zip; # the offset of the first local header
substr $far, rindex($far, "PK\1\2") + 42, 4, pack 'V', 0xfffffff0;
refused('an offset beyond the end', $far, 400, qr/damaged|not a zip/);

for my $n (0 .. 39) {
    my $part = substr $zip, 0, int(length($zip) * $n / 40);
    my $r = $u->upload($part);
    next if $r->{status} == 400 && $u->stored eq '';
    fail("cut off at $n of 40: $r->{status}");
}
pass('cut off anywhere');

# --- forms

my @form = (POST => '/upload/');
my ($body, $type) = Test::Zip::form('symbols.zip', $zip);
my @token = @Test::Uploads::token;
for (['no boundary', $body, 'Content-Type: multipart/form-data'],
     ['a long one', $body, "$type" . 'x' x 100],
     ['another one', $body, $type . 'x'],
     ['another type', $body, 'Content-Type: application/zip'],
     ['cut off', substr($body, 0, 2000), $type],
     ['no file', (Test::Zip::form('x', undef, try => 1))],
     ['a URL', (Test::Zip::form('x', undef, url => 'https://x/'))],
     (map { ["a name with $_", (Test::Zip::form("sym${_}bols.zip", $zip))] }
         "\t", "\x01", "\n"),
     ['another name', (Test::Zip::form('symbols.rar', $zip))],
     ['too many parts', (Test::Zip::form('x.zip', $zip, map { ($_, 1) } 1 .. 200))],
     ['an endless header', "--b\r\n" . 'X: y' x 9000, 'Content-Type: multipart/form-data; boundary=b']) {
    my ($what, $sent, $as) = @$_;
    my $r = $u->request(@form, $sent, $as, @token);
    is $r->{status}, 400, "form: $what" or diag $r->{raw};
    ok length($r->{json}{error} // ''), "form: $what: why";
}
is $u->stored, '', 'nothing of all this is stored';
ok $u->nothing_left, 'and nothing is left';

# --- clients that go away, and two at once

for my $sent (100, 100_000, length($body) - 1) {
    my $s = Test::Symcache::connect_to($t->nginx_socket);
    binmode $s;
    print $s Test::Symcache::request_text(@form, $type, @token,
        'Content-Length: ' . length $body), substr $body, 0, $sent;
    close $s;
}
ok $u->nothing_left, 'nothing of half a body is left';
is $u->stored, '', 'nor stored';

# All of it, and no ears: nginx may have passed it on by then, or not.
my ($last, $last_type) = Test::Zip::form('x.zip', Test::Zip::zip([sym(77)]));
close $u->begin(@form, $last, $last_type, @token);
ok $u->nothing_left, 'nothing of a whole one is left';

my $other = $pdb;
substr $other, -1, 1, chr(1 ^ ord substr $other, -1);
my @both = map { $u->begin('PUT', "/symbols/$path", $_, @token) } $pdb, $other;
my @status = map { $u->read($_, 'PUT')->{status} } @both;
is join(' ', sort @status), '201 409', 'two at once: one is stored';
is $t->read_file("uploads/$path"), $status[0] == 201 ? $pdb : $other,
    'the one that was told so';

my @many = map { $u->begin('PUT', "/symbols/$path", $pdb, @token) } 1 .. 12;
my %n;
$n{$u->read($_, 'PUT')->{status}}++ for @many;
is $n{503} // 0, 12 - ($n{200} // 0) - ($n{409} // 0),
    'too many at once: some are told to come again';

# --- a full disk

$u->clear;
$t->reload_symcached({ %{ $u->config },
    cache => { min_free => '1000t', clean_every => '1h' } });
my $r = $u->put($path, $pdb);
is $r->{status}, 507, 'no room: 507' or diag $r->{raw};
ok $r->{headers}{'retry-after'}, 'and when to come again';
refused('an archive', $zip, 507, qr/no room/);

# --- a helper that ends

$t->reload_symcached($u->config);
kill 'STOP', $t->{helper};
my $held = $u->begin('PUT', "/symbols/$path", $pdb, @token);
kill 'KILL', $t->{helper};
waitpid delete $t->{helper}, 0;
is $u->read($held, 'PUT')->{status}, 502, 'killed: nginx says so';
mkdir "$dir/uploads/.tmp";
mkdir "$dir/uploads/.tmp/run-killed"; # as it would have left it
unlink "$dir/h.sock", "$dir/a.sock", "$dir/u.sock";
$t->start_symcached($u->config);
$t->wait_until('what the killed one left is removed',
               sub { !-e "$dir/uploads/.tmp/run-killed" });
is $u->put($path, $pdb)->{status}, 201, 'the next one stores the file';

is $t->metric('symcached_uploaded_files_total'), 1, 'counted';
ok $t->metric('symcached_uploaded_bytes_total') == length $pdb, 'its bytes';

$t->finish;
done_testing;
