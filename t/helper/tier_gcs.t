#!/usr/bin/perl

# The shared tier in Google's storage, before a server that checks the
# signatures of a service account, and Google's names of headers and conditions,
# with code of its own.  Google's own service was not tried.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use Digest::SHA qw(sha256_hex);
use JSON::PP ();
use Test::Ctl;
use Test::Gcs;
use Test::More;
use Test::SparsePdb;
use Test::Symcache;
use Test::Tier;

my $t = Test::Symcache->new;
my $key = "crash.pdb/$Test::Symcache::key{'crash.pdb'}";
my $name = "fle et/1/default/$key/v9.0.0.symcache";
my $path = "/sym.bols/$name";
my $gcs = Test::Gcs->new($t);
my %tier = (type => 'gcs', bucket => 'sym.bols', prefix => 'fle et',
    endpoint => $gcs->url, lifetime => '30d', client_email => $gcs->email,
    private_key => '@' . $gcs->key_file,
    # as for objects that Google encrypts with a key of the customer
    headers => { 'x-goog-encryption-key' => 'key',
                 'x-goog-encryption-key-sha256' => 'sum' });
my $fleet = Test::Tier->new($t, tier => \%tier);

# The requests since the last call, as "GET PUT".
my $seen = 0;
sub requests {
    my @all = $gcs->requests;
    my @new = @all[$seen .. $#all];
    $seen = @all;
    return join ' ', map { $_->{method} } @new;
}

# --- stored by one, taken by another

is $fleet->ask_anew($key, sub { unlink $gcs->file($path); requests() }), 200,
    'made on the first machine';
$fleet->wait_metric('puts_total{result="stored"}', 1);
is requests(), 'GET PUT', 'cold and found: one GET, one PUT';
my ($headers, $body) = $gcs->load($path);
my $plain = $t->read_file($fleet->file);
is Compress::Zlib::memGunzip("$body"), $plain, 'the object is the file, gzipped';
my ($put) = grep { $_->{method} eq 'PUT' } $gcs->requests;
my %meta = map { $_ => $put->{headers}{"x-goog-meta-symcache-$_"} }
    qw(sha256 size source quality features);
is_deeply \%meta, { sha256 => sha256_hex($plain), size => length $plain,
    source => 'local', quality => 'full', features => '7' }, 'its metadata, by Google\'s names';
is $put->{headers}{'x-goog-if-generation-match'}, '0', 'only where nothing is';
is $fleet->ask($fleet->absent), 404, 'an absent key';
is requests(), 'GET', 'cold and absent: one GET';
is $fleet->ask_anew($key, \&requests), 200, 'found on the second machine';
is $fleet->runs, 0, 'and not made';
is requests(), 'GET', 'made by another: one GET';
is $fleet->why($key)->{files}[0]{source}, 'local', 'its provenance has come with it';

# damage
is $fleet->ask_anew($key, sub { $gcs->save($path, {}, 'x'); requests() }), 200,
    'an object without metadata: served';
$fleet->wait_metric('puts_total{result="stored"}', 1);
is Compress::Zlib::memGunzip(($gcs->load($path))[1] . ''), $plain, 'replaced';

# --- refreshed by a copy

SKIP: {
    skip 'no extended attributes', 5 if !defined $fleet->note;
    my $month = time - 16 * 86400;
    $fleet->grow_old($month);
    utime $month, $month, $gcs->file($path);
    requests();
    is $fleet->ask($key), 200, 'used after half of its life';
    $fleet->wait_metric('puts_total{result="refreshed"}', 1);
    is requests(), 'HEAD PUT', 'one look and one copy';
    my ($copy) = reverse $gcs->requests;
    is $copy->{headers}{'x-goog-copy-source'},
        "/sym.bols/fle%20et/1/default/$key/v9.0.0.symcache", 'of itself';
    is $copy->{headers}{'x-goog-metadata-directive'}, 'REPLACE', 'with its metadata';
    is +($gcs->load($path))[0]{'x-amz-meta-symcache-sha256'}, sha256_hex($plain),
        'which are the same';
}

# --- uploads: conditions, parts, an index that is listed, and what is removed

mkdir $t->path($_) or die for qw(uploads uploads/.spool);
$fleet->{sources} = ['uploads'];
$fleet->{more} = { admin_listen => 'unix:' . $t->path('a.sock'),
    uploads => { root => $t->path('uploads'),
                 listen => 'unix:' . $t->path('u.sock') } };
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $object = "/sym.bols/fle et/uploads/$key/crash.pdb";

sub upload {
    my ($bytes, $query, $path) = @_;
    my $file = $t->write_file('uploads/.spool/1', $bytes);
    return $t->http($t->path('a.sock'), 'PUT', '/v1/uploads/'
        . ($path // "$key/crash.pdb") . ($query // ''), 'Content-Length: 0',
        "X-Symcached-Body: $file")->{status};
}

$fleet->machine;
requests();
is upload($pdb), 201, 'an upload';
$fleet->wait_metric('puts_total{result="removed"}', 2);
is requests(), 'HEAD PUT HEAD PUT DELETE DELETE',
    'a look, the file, its entry in the index, and what was made of a former one';
ok +($gcs->load($object))[1] eq $pdb, 'is in the bucket as it is';
is upload($pdb), 200, 'the same again';
is upload(substr($pdb, 0, -1) . 'x'), 409, 'another one';
unlink $t->path("uploads/$key/crash.pdb") or die;
$fleet->machine;
is $fleet->ask($key), 200, 'found where the disk does not have it';

my $build = 'c0ffee' x 6 . 'c0de';
my $program = "lib&+.so/elf-buildid-$build/lib&+.so";
$t->write_file('x.c', "int seven(int a) { return a + 7; }\n");
system("cd $t->{dir} && gcc -shared -nostdlib -Wl,--build-id=0x$build -o x.so x.c")
    == 0 or BAIL_OUT('gcc');
is upload($t->read_file('x.so'), '', $program), 201, 'a program is uploaded';
{
    local $fleet->{more} = { uploads => { root => $t->path('others'),
                                          listen => 'unix:' . $t->path('u.sock') } };
    $fleet->machine;
}
is $t->helper('GET', "/v1/executable/default/_/buildid-$build?version=1.0.0&wait=60")
    ->{status}, 200, 'and found by its build id alone';
is_deeply [map { $_->{uri} =~ /&prefix=([^&]+)/ ? Test::SigV4::decode($1) : () }
    $gcs->requests], ["fle et/uploads/.index/elf-buildid-$build/"],
    'by a list of its index';
$fleet->machine;

Test::SparsePdb::spread($t->data('pdb/crash.pdb'), $t->path('large.pdb'), 12 << 20);
my $large = $t->read_file('large.pdb');
for my $mode ('part 2', 'well') {
    $fleet->machine(part_size => '5m');
    $gcs->fail($mode) if $mode ne 'well';
    requests();
    is upload($large, '?force=1'), $mode eq 'well' ? 201 : 503,
        "$mode: an upload of 12 MB";
    $gcs->fail('');
    is $gcs->unfinished, 0, "$mode: no parts are left";
}
like requests(), qr/^HEAD POST PUT PUT PUT POST /, 'in three parts';
ok +($gcs->load($object))[1] eq $large, 'is one object';
is $t->http($t->path('a.sock'), 'POST', "/v1/discard/$key/crash.pdb",
    'Content-Length: 0')->{status}, 200, 'removed';
is $gcs->load($object), undef, 'from the bucket';

# --- a store that refuses, fails, and answers again

delete @$fleet{qw(sources more)};
for my $mode ('401 AuthenticationRequired',
              '403 RequestTimeTooSkewed', '400 ExpiredToken',
              '404 NoSuchBucket') {
    $gcs->fail($mode);
    $fleet->machine;
    is $fleet->ask($fleet->absent), 404, "$mode: an absent key is a final 404";
    $fleet->wait_log(qr/tier fleet: not read for 30 s: $mode/);
    is $fleet->ask($key), 200, "$mode: a file is made";
    $fleet->wait_log(qr/tier fleet: nothing is stored for 30 s: $mode/);
}
$gcs->fail('503 SlowDown');
$fleet->machine;
is $fleet->ask($fleet->absent), 404, "503: an absent key is a final 404 ($_)"
    for 1 .. 4;
is $fleet->metric('breaker{tier="fleet",way="get"}'), 1, '503: the breaker is open';
is $fleet->ask($key), 200, '503: a file is made';
unlink $gcs->file($path);
$gcs->fail('');
$t->reload_symcached($fleet->config);
$fleet->wait_metric('puts_total{result="stored"}', 1);
ok -e $gcs->file($path), 'what waited is stored when it answers again';

# another account's key: its signature is refused, and stays so until a reload
system('openssl genrsa 2>/dev/null >' . $t->path('other.pem')) == 0 or die;
$fleet->machine(private_key => '@' . $t->path('other.pem'));
is $fleet->ask($fleet->absent), 404, 'a wrong key: an absent key is a final 404';
$fleet->wait_log(qr/tier fleet: not read for 30 s: 403 SignatureDoesNotMatch/);
$t->reload_symcached($fleet->config);
is $fleet->ask($key), 200, 'a reload reads the key again';
is $fleet->runs, 0, 'and the file is taken';

# --- an operator

sub tier {
    my ($command, %more) = @_;
    my $config = Test::Tier->new($t, tier => { %tier, %more })->config;
    return Test::Ctl->new($t)->run('tier', @$command, '-c',
        $t->write_helper_config($config));
}
my $r = tier(['ls', '--json']);
is $r->{code}, 0, 'ls' or diag $r->{err};
my ($listed) = grep { $_->{name} eq "1/default/$key/v9.0.0.symcache" }
    map { JSON::PP::decode_json($_) } split /\n/, $r->{out};
is $listed->{size}, -s $gcs->file($path), 'lists the object, with its size';
is_deeply JSON::PP::decode_json(tier(['rule'])->{out}), { rule => [{
    action => { type => 'Delete' },
    condition => { age => 30, matchesPrefix => ['fle et/1/'] } }] },
    'a rule, as gcloud takes it';
is tier(['clean', '--former'], generation => '2')->{code}, 0, 'clean';
is $gcs->load($path), undef, 'what was of another generation is removed';

# --- secrets

my $shown = $t->helper('GET', '/v1/status')->{body} . $t->helper_log;
my ($line) = $t->read_file($gcs->key_file) =~ /\n(\S{40})/;
unlike $shown, qr/X-Goog-Signature|\Q$line\E/, 'no signature and no key is shown';

for ([{ private_key => 'none' }, 'is not an RSA key in PEM'],
     [{ private_key => undef }, 'go together'],
     [{ client_email => undef }, 'go together'],
     [{ bucket => undef }, '"bucket" is missing'],
     [{ bucket => '../x' }, 'is not the name of a bucket'],
     [{ client_email => 'other@test', private_key => '@' . $t->write_file('account.json',
         JSON::PP->new->encode({ client_email => $gcs->email,
             private_key => $t->read_file($gcs->key_file) })) },
         'client_email: is not the account of "private_key", which is "' . $gcs->email],
     map({ [{ prefix => $_ }, 'prefix: has a part'] } '..', '../x', 'a/./b', 'a/..'),
     [{ region => 'eu' }, 'region'], [{ redirect => '1m' }, 'redirect'],
     [{ access_key => 'a', secret_key => 'b' }, 'access_key']) {
    my %bad = (%tier, %{ $_->[0] });
    delete @bad{ grep { !defined $bad{$_} } keys %bad };
    my $file = $t->write_helper_config(Test::Tier->new($t, tier => \%bad)->config);
    like qx($Test::Symcache::build/symcached -t -c $file 2>&1),
        qr/tiers\.fleet.*$_->[1]/, "refused: $_->[1]";
}

$t->finish;
done_testing;
