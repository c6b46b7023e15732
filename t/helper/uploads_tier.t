#!/usr/bin/env perl

# Uploads that are kept in a tier: durable there before the answer, found by
# other machines, replaced and removed there; and a tier that fails.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Digest::SHA qw(hmac_sha256_hex sha256_hex);
use JSON::PP ();
use POSIX ();
use Test::Clock;
use Test::More;
use Test::S3;
use Test::SparsePdb;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;

my $u = Test::Uploads->new;
my $t = $u->t;
my $dir = $t->dir;
my $id = $Test::Symcache::key{'crash.pdb'};
my $key = "crash.pdb/$id";
my $path = "$key/crash.pdb";
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $sym = "MODULE windows x86_64 $id crash.pdb\nPUBLIC 1000 0 main\n";

# A PDB of the same identity and other bytes: the last page is not used.
sub other { my $x = $pdb; substr $x, -1, 1, chr(1 ^ ord substr $x, -1); $x }

my ($access, $secret, $mac) = ('AKIDexample', 'se/cr+et=', 'm' x 32);
my $s3 = Test::S3->new($t, region => 'eu-west-1',
    secrets => { $access => $secret });
Test::S3::has_plus();
my %s3 = (type => 's3', bucket => 'sym', region => 'eu-west-1', prefix => 'p',
    endpoint => $s3->url, path_style => JSON::PP::true(),
    access_key => $access, secret_key => $secret, mac_key => $mac);

# --- machines of a fleet, one after the other, each with a disk of its own

my $n = 0;

sub config {
    my ($tier, %uploads) = @_;
    my $c = $u->config;
    $c->{uploads} = { %{ $c->{uploads} }, root => "$dir/uploads$n",
                      spool => "$dir/uploads/.spool", %uploads };
    $c->{stores}{default}{root} = "$dir/store$n";
    $c->{stores}{default}{tier} = 'fleet';
    $c->{downloads} = "$dir/downloads$n";
    $c->{tiers} = { fleet => $tier };
    $c->{cache} = { clean_every => '1s', retry_errors_after => '1s',
                    %{ $c->{cache} // {} } };
    return $c;
}

sub machine {
    my ($tier, %uploads) = @_;
    $n++;
    mkdir "$dir/uploads$n";
    $t->stop_symcached;
    $t->start_symcached(config($tier, %uploads));
}

sub ask {
    my ($what) = @_;
    return $t->helper('GET', "/v1/debuginfo/default/${\ ($what // $key)}"
        . '?version=1.0.0&wait=60');
}

sub stored { join ' ', sort map { s{^\Q$dir/uploads$n/\E}{}r } grep { -f }
    glob "$dir/uploads$n/*/*/*" }

my $seen = 0;
sub requests {
    my @all = $s3->requests;
    my @new = @all[$seen .. $#all];
    $seen = @all;
    return join ' ', map { $_->{method} } grep { $_->{uri} !~ /symcache$/ } @new;
}

# On a busy machine the server here may be later than the two seconds that
# symcached waits for a byte of a tier.  Then it says that it does not know, and
# clients come again; the requests of the last time are what counts.
sub again {
    my ($ask) = @_;
    my ($r, $n);
    $t->wait_until('an answer of the tier', sub {
        requests() if $n++;
        $r = $ask->();
        return (ref $r ? $r->{status} : $r) ne '503';
    });
    return $r;
}
sub warnings { scalar(() = $t->helper_log =~ /\[warn\].* tier fleet: /g) }
sub symcache {
    my $r = again(sub { $t->helper('GET', "/v1/symcache/default/$key?version=9.0.0&wait=60") });
    diag $r->{raw}, grep { /key=$key/ } split /^/, $t->helper_log if $r->{status} != 200;
    return $r->{status};
}
sub found { my @what = @_; return again(sub { ask(@what)->{status} }) }
sub put { my @what = @_; return again(sub { $u->put(@what) }) }

# --- stored before the answer

my $object = "/sym/p/uploads/$path";
machine(\%s3);
my $r = put($path, $pdb);
is $r->{status}, 201, 'PUT: 201' or diag $r->{raw};
is requests(), 'HEAD PUT HEAD PUT',
    'one look, one PUT, and the same of its entry in the index';
my ($headers, $body) = $s3->load($object);
is $body, $pdb, 'the object is the file as it is';
is $headers->{'content-type'}, 'application/octet-stream', 'its type';
my %meta = map { $_ => $headers->{"x-amz-meta-symcache-$_"} }
    qw(sha256 size mac);
is_deeply \%meta, { sha256 => sha256_hex($pdb), size => length $pdb,
    mac => hmac_sha256_hex(join("\n", 'symcache-tier-1', "uploads/$path",
        length $pdb, sha256_hex($pdb), '', '', ''), $mac) }, 'its metadata';
is stored(), $path, 'it is here, too';
is put($path, $pdb)->{status}, 200, 'again: 200';
is requests(), 'HEAD HEAD', 'after a look at both';
is found(), 200, 'it is found';
is requests(), '', 'without the tier';

# --- another machine

machine(\%s3);
is found(), 200, 'found on another machine';
is requests(), 'GET', 'by one GET';
is stored(), '', 'where it is a download';
is $t->read_file("downloads$n/default/$path"), $pdb, 'of these bytes';
is symcache(), 200, 'and becomes a SymCache';
is found('none.pdb/' . 'A' x 32 . '1'), 404, 'an absent key';
is $t->helper_json("/v1/why/default/$key")->{files}[0]{source}, 'uploads',
    'made of an upload';

machine(\%s3);
requests();
is put($path, $pdb)->{status}, 200, 'the same bytes on a third: 200';
is requests(), 'HEAD PUT HEAD', 'whose object it is now';
is put($path, $pdb)->{status}, 200, 'and once more';
is requests(), 'HEAD HEAD', 'not sent again';
is symcache(), 200, 'a SymCache is made of it';
my $symcache = "$dir/store$n/$key/crash.pdb-v9.0.0.symcache";
my $inode = (stat $symcache)[1];
for (1, 2) {
    is put($path, $pdb)->{status}, 200, 'the same bytes within the hour';
    is +(stat $symcache)[1], $inode, '... do not drop what was made of them';
}
is put($path, other())->{status}, 409, 'other bytes: 409';
machine(\%s3);
is put($path, other())->{status}, 409, 'also where it is not';
is stored(), '', 'and nothing is there then';
$r = again(sub { $u->upload(Test::Zip::zip(["$key/crash.sym", $sym], [$path, other()])) });
is $r->{status}, 201, 'an archive replaces it' or diag $r->{raw};
is +($s3->load($object))[1], other(), 'in the tier';
machine(\%s3, replace => JSON::PP::false());
$r = again(sub { $u->upload(Test::Zip::zip(["other.pdb/$id/other.sym",
    $sym =~ s/crash/other/r], [$path, $pdb])) });
is $r->{status}, 400, 'but not with "replace": false' or diag $r->{raw};
like $r->{json}{error}, qr{$path is there with other}, 'which names it';
is stored(), '', 'and then nothing is stored here';
ok !$s3->load("/sym/p/uploads/other.pdb/$id/other.sym"), 'nor there';
is put("$path?force=1", $pdb)->{status}, 201, 'force=1';
is +($s3->load($object))[1], $pdb, 'replaces it there';

# --- damage

for my $case (['cut short', substr $pdb, 0, 5000], ['of other bytes', other()],
              ['without metadata', $pdb, {}],
              ['signed by nobody', $pdb, { %$headers,
                  'x-amz-meta-symcache-mac' => 'a' x 64 }]) {
    my ($what, $bytes, $h) = @$case;
    $s3->save($object, $h // $headers, $bytes);
    machine(\%s3);
    isnt ask()->{status}, 200, "$what: not served";
    $u->admin('POST', "/v1/discard/$path", 'Content-Length: 0') if !$h;
    is put($path, $pdb)->{status}, 201, "$what: uploaded again";
    is +($s3->load($object))[1], $pdb, "$what: is there";
}

# --- removed

machine(\%s3);
requests();
is $u->admin('POST', "/v1/discard/$path", 'Content-Length: 0')->{status}, 200,
    'removed on a machine that does not have it';
is requests(), 'HEAD DELETE HEAD DELETE', 'a look and a DELETE of each';
ok !$s3->load($object), 'it is gone';
is found(), 404, 'for everybody';
is $u->admin('POST', "/v1/discard/$path", 'Content-Length: 0')->{status}, 404,
    'there is none to remove';

# --- a tier that fails: nothing is half done

for my $mode ('403 AccessDenied', 'busy', 'page') {
    $s3->fail($mode);
    machine(\%s3);
    $r = $u->put($path, $pdb);
    is $r->{status}, 503, "$mode: 503" or diag $r->{raw};
    ok Test::Symcache::header($r, 'Retry-After'), "$mode: come again";
    like $r->{json}{detail}, qr/the tier "fleet" does not take $path: /,
        "$mode: why";
    is stored(), '', "$mode: nothing is stored";
    like $t->helper_log, qr/tier fleet: "uploads\/$path" is not stored: /,
        "$mode: in the log";
    $r = ask();
    isnt $r->{status}, 404, "$mode: what nobody can know is not absent"
        or diag $r->{raw};
    like $t->helper_log, qr/key=debuginfo:$key\S* outcome=error .* uploads: \S+ failed \(tier fleet: /,
        "$mode: the log says that it is the tier's";
    like +(grep { $_->{name} eq 'uploads' } @{ $t->helper_json('/v1/status')->{sources} })[0]{failure},
        qr/^tier fleet: /, "$mode: as does the status";
    is $u->admin('POST', "/v1/discard/$path", 'Content-Length: 0')->{status},
        503, "$mode: nor can it be removed";
    $s3->fail('');
    $t->reload_symcached(config(\%s3));
    is put($path, $pdb)->{status}, 201, "$mode: later it is stored";
    $u->admin('POST', "/v1/discard/$path", 'Content-Length: 0');
}

# --- what it refuses for good is not to be sent again

for (['413 ContentTooLarge', 413], ['400 EntityTooLarge', 413],
     ['507 XMinioStorageFull', 507], ['403 QuotaExceeded', 507]) {
    my ($mode, $status) = @$_;
    $s3->fail("put $mode");
    machine(\%s3);
    $r = put($path, $pdb);
    is $r->{status}, $status, "$mode: $status" or diag $r->{raw};
    is !!Test::Symcache::header($r, 'Retry-After'), $status == 507,
        "$mode: whether to come again";
    like $r->{json}{detail}, qr/the tier "fleet" does not take $path: .*$mode/,
        "$mode: why";
    is stored(), '', "$mode: nothing is stored";
    is glob("$dir/uploads$n/.changing/*"), undef, "$mode: nothing is to be done";
    is $t->metric('symcached_uploads_refused_total{reason="'
        . ($status == 413 ? 'content' : 'no-room') . '"}'), 1, "$mode: counted";
    is $t->helper_json('/v1/status')->{tiers}[0]{not_stored}, 1,
        "$mode: the status has it";
    is found(), 404, "$mode: it is not found" if $mode !~ /Quota/;
    is again(sub { $u->upload(Test::Zip::zip([$path, $pdb])) })->{status},
        $status, "$mode: the same of an archive" if $mode !~ /Quota/;
    if ($mode =~ /Quota/) {
        my $warnings = warnings();
        requests();
        $r = $u->put("$key/crash.sym", $sym);
        is $r->{status}, 507, "$mode: others while the tier is left alone";
        like $r->{json}{detail}, qr/it is left alone: .*$mode/, "$mode: why";
        $r = $u->upload(Test::Zip::zip([$path, $pdb], ["$key/crash.sym", $sym]));
        is $r->{status}, 507, "$mode: an archive" or diag $r->{raw};
        $r = $u->admin('POST', "/v1/discard/$path", 'Content-Length: 0');
        is $r->{status}, 503, "$mode: a removal is to be sent again";
        like $r->{body}, qr/$path: the tier \\?"fleet\\?" does not remove it: it is left alone: /,
            "$mode: and why";
        is requests(), '', "$mode: it is not asked";
        is warnings(), $warnings, "$mode: which the log had when that began";
        $r = $t->helper('GET', '/readyz');
        is_deeply [$r->{status}, JSON::PP::decode_json($r->{body})],
            [200, { status => 'ok', uploads => 'no-tier' }],
            "$mode: lookups are to come here all the same";
        is $t->helper_json('/v1/status')->{uploads_not_ready}, 'no-tier',
            "$mode: as the status says";
        is $t->metric('symcached_uploads_ready'), 0, "$mode: and the metric";
    }
    $t->reload_symcached(config(\%s3));
    $s3->fail("put $mode 10000");
    $r = again(sub { $u->upload(Test::Zip::zip(["$key/crash.sym", $sym],
                                               [$path, $pdb])) });
    is $r->{status}, $status, "$mode: of a member of an archive" or diag $r->{raw};
    like $r->{json}{error}, qr/does not take $path: .*$mode/, "$mode: which is named";
    is stored(), '', "$mode: no member is stored";
    ok $s3->load("/sym/p/uploads/$key/crash.sym"), "$mode: the tier has the other";
    unlink $s3->file("/sym/p/uploads/$key/crash.sym") or die;
    $t->reload_symcached(config(\%s3));
    $s3->fail('');
    is put($path, $pdb)->{status}, 201, "$mode: later it is stored";
    is $t->metric('symcached_uploads_ready'), 1, "$mode: uploads are taken";
    is found(), 200, "$mode: and found";
    $u->admin('POST', "/v1/discard/$path", 'Content-Length: 0');
}

# --- nobody is told for ever of a tier that refused files

SKIP: {
    my $clock = Test::Clock->new($t) or skip Test::Clock::why(), 12;
    my $not_ready = sub { $t->helper_json('/v1/status')->{uploads_not_ready} };
    my $breaker = sub {
        $t->metric('symcached_tier_breaker{tier="fleet",way="put"}') . ' '
            . $t->helper_json('/v1/status')->{tiers}[0]{write};
    };
    for my $mode ('403 QuotaExceeded', '403 AccessDenied') {
        $clock->set(0);
        machine(\%s3);
        $t->stop_symcached;
        $t->start_symcached(undef, env => $clock->env(all => 1));
        $s3->fail("put $mode");
        $t->wait_until("$mode: no file is taken",
            sub { $u->put($path, $pdb); $not_ready->() eq 'no-tier' });
        $clock->set(540);
        $t->wait_until("$mode: an alert can fire",
            sub { $not_ready->() eq 'no-tier' }); # the disk is late first
        is $breaker->(), '1 open', "$mode: the breaker is reported";
        $clock->set(660);
        ok $t->wait_until("$mode: but ends without uploads",
            sub { $not_ready->() eq '' });
        is $t->metric('symcached_uploads_ready'), 1, "$mode: as the metric";
        is $breaker->(), '0 closed', "$mode: and so does that of the breaker";
    }
    $s3->fail('');
}

# --- kept no longer

machine(\%s3);
is put("$path?expires=1s", $pdb)->{status}, 201, 'with expires';
$t->wait_until('it goes', sub { stored() eq '' });
ok !$s3->load($object), 'from the tier first';

machine(\%s3, max_unused_for => '1h');
is put($path, $pdb)->{status}, 201, 'with a limit of its use';
my $old = time - 3000;
utime $old, $old, $s3->file($object) or die;
machine(\%s3, max_unused_for => '1h');
is found(), 200, 'another machine uses it';
like requests(), qr/GET HEAD PUT$/, 'which makes its object young';
cmp_ok +(stat $s3->file($object))[9], '>', $old + 60, 'as one sees';
$s3->save($object, $headers, $pdb);

# --- a folder

mkdir "$dir/tier" or die;
my %folder = (type => 'filesystem', path => "$dir/tier");
machine(\%folder);
is put($path, $pdb)->{status}, 201, 'a folder: 201';
like $t->read_file("tier/uploads/$path"),
    qr/\Asymcache tier 1\nsha256: ${\ sha256_hex($pdb)}\nsize: ${\ length $pdb}\n/,
    'a folder: the object';
machine(\%folder);
is found(), 200, 'a folder: found on another machine';
$r = put($path, $pdb);
is $r->{status}, 200, 'a folder: the same' or diag $r->{raw};
is put($path, other())->{status}, 409, 'a folder: another';
is $u->admin('POST', "/v1/discard/$path", 'Content-Length: 0')->{status}, 200,
    'a folder: removed';
ok !-e "$dir/tier/uploads/$path", 'a folder: gone';

# What the folder lies in belongs to others.
SKIP: {
    skip 'root may read every folder', 1 if $> == 0;
    mkdir "$dir/$_" or die for qw(closed closed/tier);
    chmod 0311, "$dir/closed" or die;
    machine({ %folder, path => "$dir/closed/tier" });
    is put($path, $pdb)->{status}, 201, 'a folder in one that cannot be read';
    chmod 0755, "$dir/closed" or die;
}

# Another machine has replaced it, so long ago by the clock of the tier that it
# is not as if it was new, and this one has not been told yet.
machine(\%folder);
is put($path, $pdb)->{status}, 201, 'a folder: the first content';
machine(\%folder);
my $here = $n;
is found(), 200, 'a folder: this machine has taken it';
machine(\%folder);
is put("$path?force=1", other())->{status}, 201, 'a folder: replaced elsewhere';
$old = time - 7200;
utime $old, $old, "$dir/tier/uploads/$path" or die $!;
$t->stop_symcached;
$n = $here;
$t->start_symcached(config(\%folder));
is $t->read_file("downloads$n/default/$path"), $pdb, 'a folder: not told yet';
is put($path, other())->{status}, 200, 'a folder: sent here, the tier has it';
isnt $t->read_file("downloads$n/default/$path") // '', $pdb,
    'a folder: what was known of it here is dropped';
is found(), 200, 'a folder: it is found';
isnt $t->read_file("downloads$n/default/$path") // '', $pdb, 'a folder: with its new content';
is $u->admin('POST', "/v1/discard/$path", 'Content-Length: 0')->{status}, 200,
    'a folder: removed again';
$n = 1000;
machine({ %folder, read_only => JSON::PP::true() });
is put($path, $pdb)->{status}, 201, 'a folder that is only read';
ok !-e "$dir/tier/uploads/$path", 'has nothing';

# --- another machine was sent the same to keep, and this one does not know yet

my $set = { x86_64 => 188, aarch64 => 5 }->{ (POSIX::uname())[4] };

# Makes a file of this machine one that is over.
sub let_expire {
    my ($file, $name, $time) = ("$dir/uploads$n/$path", 'user.symcached.expires', '1');
    syscall($set, $file, $name, $time, 1, 0) == 0 or die "setxattr: $!";
}

for my $kind ('bucket', 'folder') {
    my $tier = $kind eq 'bucket' ? \%s3 : { %folder, path => "$dir/kept" };
    my $at = $kind eq 'bucket' ? $s3->file($object) : "$dir/kept/uploads/$path";
    mkdir "$dir/kept";
    for my $rule ('expires', 'max_unused_for') {
        my $what = "$kind, $rule";
        SKIP: {
            skip "$what: setxattr is not known on this machine", 6
                if $rule eq 'expires' && !$set;
            my %unused = (max_unused_for => '1s');
            my ($first, $other) = ($n + 1, $n + 2);
            machine($tier);
            like put($path . ($rule eq 'expires' ? '?expires=1h' : ''), $pdb)
                ->{status}, qr/20[01]/, "$what: a machine";
            machine($tier);
            is put($path, $pdb)->{status}, 200, "$what: another one";
            $t->stop_symcached;
            $n = $first;
            let_expire() if $rule eq 'expires';
            $t->start_symcached(config($tier, $rule eq 'expires' ? () : %unused));
            $t->wait_until("$what: the first one has it no longer",
                sub { stored() eq '' });
            ok -e $at, "$what: the tier has it";
            $n = $other;
            machine($tier);
            is found(), 200, "$what: and so a third one";
            $t->stop_symcached;
            $n = $other;
            $t->start_symcached(config($tier, %unused));
            $t->wait_until("$what: the other one has it no longer",
                sub { stored() eq '' });
            ok !-e $at, "$what: nor has the tier";
            $n = $other + 1;
            machine($tier);
            is found(), 404, "$what: nor a fourth one";
        }
    }
}
$s3->save($object, $headers, $pdb);

# --- changed by several at a time: the machine has what the tier has

machine(\%s3);
$s3->fail('held');
my $asked = () = $s3->requests;
my @uploads;
my $third = other() =~ s/.\z/\xee/rs;
for my $bytes ($pdb, other(), $third) {
    push @uploads, $u->begin('PUT', "/symbols/$path?force=1", $bytes,
                             @Test::Uploads::token);
    $t->wait_until('it is looked at', sub {
        @uploads == (() = glob "$dir/uploads$n/.changing/*") });
}
is $u->admin('POST', "/v1/discard/$path", 'Content-Length: 0')->{status}, 503,
    'an upload runs: not removed';
$s3->fail('');
is_deeply [map { $u->read($_, 'PUT')->{status} } @uploads], [200, 201, 201],
    'of three at a time each is taken, one with the bytes that were there';
my @asked = $s3->requests;
is join(', ', map { ($_->{uri} =~ m{/\.index/} ? 'entry ' : '') . $_->{method} }
        grep { $_->{uri} !~ /symcache$/ } splice @asked, $asked),
    'HEAD, PUT, entry HEAD, entry PUT' . ', HEAD, PUT, entry HEAD' x 2,
    'one after the other';
requests();
my @last = $s3->load($object);
is $last[1], $third, 'the last one is in the tier';
is $t->read_file("uploads$n/$path"), $third, 'and here';

sub is_in_tier { (($s3->load($object))[1] // '') eq $_[0] }
for (['', other()], [$path, $pdb]) {
    my ($kept, $bytes) = @$_;
    $s3->fail('held-entries');
    $r = $u->begin('PUT', "/symbols/$path?force=1", $bytes, @Test::Uploads::token);
    $t->wait_until('it is stored', sub { is_in_tier($bytes) });
    is $u->admin('POST', "/v1/changed/$path?from=other", 'Content-Length: 0')
        ->{status}, 200, 'another machine changes it meanwhile';
    $s3->save($object, @last[0, 1]) if !$kept;
    $asked = () = $s3->requests;
    $s3->fail('');
    is $u->read($r, 'PUT')->{status}, 201, 'taken';
    $t->wait_until('it is compared', sub {
        my @later = $s3->requests;
        splice @later, 0, $asked;
        return stored() eq $kept &&
            grep { $_->{method} eq 'HEAD' && $_->{uri} =~ m{uploads/\Q$path\E$} } @later;
    });
    requests();
    is found(), 200, $kept ? 'the tier has it, and it stays' : 'the tier has another one';
    is stored(), $kept, '... and decides what is here';
}
is $u->admin('POST', "/v1/changed/$path?from=other", 'Content-Length: 0')
    ->{status}, 200, 'another machine has changed it before, and tells it now';
is stored(), $path, '... it stays';
my @mine = $s3->load($object);
my $changed = "/v1/changed/$path?from=other";
for ([$path, @mine], ['', { %{ $mine[0] }, 'x-amz-meta-symcache-machine' => 'f' x 32 }, $pdb]) {
    my ($kept, $h, $bytes) = @$_;
    $s3->save($object, $h, $bytes);
    is $u->admin('POST', "$changed&same=1", 'Content-Length: 0')->{status}, 200,
        'another machine was sent the same bytes';
    is stored(), $kept, $kept ? '... before this one was: it stays' : '... later: it goes';
}
requests();
is put($path, $pdb)->{status}, 200, 'sent here again';
@mine = $s3->load($object);
$s3->save($object, @last[0, 1]);
is $u->admin('POST', "/v1/changed/$path?from=other&keep=1", 'Content-Length: 0')
    ->{status}, 200, 'another machine was killed after it had stored another one';
is stored(), '', '... it goes';
unlink $s3->file($object) or die;
$s3->fail('held-entries');
requests();
$r = $u->begin('PUT', "/symbols/$path", $pdb, @Test::Uploads::token);
$t->wait_until('it is stored', sub { is_in_tier($pdb) });
is $u->admin('POST', $changed, 'Content-Length: 0')->{status}, 200,
    'another machine replaces it during an upload that must not replace any';
$s3->save($object, @last[0, 1]);
$s3->fail('');
is $u->read($r, 'PUT')->{status}, 201, 'taken';
$t->wait_until('it goes, too', sub { stored() eq '' });
sub lines { scalar(() = $t->helper_log =~ /\Q$path\E.*$_[0]/g) }
for ([0, 'busy-files'], [0, 'page-files'], [1, 'busy-files']) {
    my ($restart, $mode) = @$_;
    my ($lines, $others, $ends) = map { lines($_) } 'the tier is asked whose it is',
        'is not stored', 'is not asked any more';
    requests();
    $s3->fail('held-entries');
    $r = $u->begin('PUT', "/symbols/$path?force=1", $pdb, @Test::Uploads::token);
    $t->wait_until('it is stored', sub { is_in_tier($pdb) });
    is $u->admin('POST', $changed, 'Content-Length: 0')->{status}, 200,
        'another machine replaces it meanwhile, and then the tier cannot be asked';
    $s3->save($object, @last[0, 1]);
    $s3->fail($mode);
    is $u->read($r, 'PUT')->{status}, 201, "$mode: taken";
    $t->wait_until('the tier is asked', sub { requests() =~ /HEAD/ });
    $t->wait_until('... which must be known after a crash',
        sub { (() = glob "$dir/uploads$n/.changing/*") == 1 });
    is stored(), $path, 'it stays, as it may be the last copy';
    $t->stop_symcached if $restart;
    $s3->fail('');
    $t->start_symcached(config(\%s3)) if $restart;
    $t->wait_until('it goes when the tier says so', sub { stored() eq '' });
    $t->wait_until('... for good', sub { !(() = glob "$dir/uploads$n/.changing/*") });
    is lines('the tier is asked whose it is') - $lines, 1, 'one line tells of it';
    is lines('is not stored'), $others, '... and no other';
    $t->wait_until('... until its end',
        sub { lines('is not asked any more') == $ends + !$restart });
}

# A reload to another tier, which does not have it.
machine(\%s3);
$s3->save($object, @mine[0, 1]);
is put($path, $pdb)->{status}, 200, 'sent to another machine';
$s3->fail('held-entries');
requests();
$r = $u->begin('PUT', "/symbols/$path?force=1", other(), @Test::Uploads::token);
$t->wait_until('it is stored', sub { is_in_tier(other()) });
is $u->admin('POST', $changed, 'Content-Length: 0')->{status}, 200,
    'another machine replaces it meanwhile, and then the tier cannot be asked';
$s3->fail('busy-files');
is $u->read($r, 'PUT')->{status}, 201, 'taken';
$t->wait_until('the tier is asked', sub { requests() =~ /HEAD/ });
$t->reload_symcached(config(\%folder));
$t->wait_until('the next one is asked', sub { stored() eq '' });
$s3->fail('');
$t->reload_symcached(config(\%s3));
$s3->save($object, @mine[0, 1]);
is put($path, $pdb)->{status}, 200, 'sent here again';
$s3->fail('silent');
is $u->admin('POST', $changed, 'Content-Length: 0')->{status}, 503,
    'a tier that cannot be asked: told again later';
is stored(), $path, '... it stays';
$s3->fail('');
requests();
is symcache(), 200, 'it becomes a SymCache';
my $made = "$dir/store$n/$key/crash.pdb-v9.0.0.symcache";
ok -e $made, 'which is there';
$s3->fail('silent');
requests();
$r = $t->open_http("$u->{dir}/a.sock", 'POST', $changed, 'Content-Length: 0');
$t->wait_until('the tier is asked', sub { requests() ne '' });
unlink "$dir/uploads$n/$path" or die;
$s3->fail('');
$t->wait_until('one that goes meanwhile is no longer used', sub { !-e $made });
$s3->save($object, @mine[0, 1]);
requests();

# --- stopped while the tier does not say that an upload is gone

machine(\%s3);
is put($path, $pdb)->{status}, 200, 'the tier still has it';
requests();
$s3->fail('silent');
my $held = $t->open_http("$u->{dir}/a.sock", 'POST', "/v1/discard/$path",
                         'Content-Length: 0');
$t->wait_until('the tier is asked', sub { requests() ne '' });
is $t->stop_symcached, 0, 'stopped all the same';
$s3->fail('');

# --- a program is found by its build id alone, whose name nobody has to know

my $build = '0123456789abcdef0123456789abcdef01234567';
my ($libx, $liby) = map { "$_/elf-buildid-$build/$_" } 'libx.so', 'lib y+.so';
$t->write_file('x.c', "int seven(int a) { return a + 7; }\n");
system("cd $dir && gcc -shared -nostdlib -Wl,--build-id=0x$build -o x.so x.c"
    . ' && cp x.so y.so && strip y.so') == 0 or BAIL_OUT('gcc');
my ($x, $y) = map { $t->read_file($_) } 'x.so', 'y.so';
sub by_id { my @id = @_; return again(sub { ask_by_id(@id) }) }
sub ask_by_id {
    my $r = $t->helper('GET', '/v1/executable/default/_/buildid-'
        . ($_[0] // $build) . '?version=1.0.0&wait=60');
    return $r->{status} if $r->{status} != 200;
    my $has = $t->read_file('downloads' . $n . '/default/'
        . Test::Symcache::header($r, 'X-Symcache-Path'));
    return $has eq $x ? 'x' : $has eq $y ? 'y' : 'another file';
}
sub discard { $u->admin('POST', "/v1/discard/${\ ($_[0] =~ s/ /%20/gr)}",
    'Content-Length: 0')->{status} }
sub fill { put($_[0] =~ s{ }{%20}gr, $_[1])->{status} }
my %kinds = (
    bucket => [\%s3, sub { -e $s3->file("/sym/p/uploads/$_[0]") },
        sub { unlink $s3->file("/sym/p/uploads/$_[0]") }],
    folder => [\%folder, sub { -e "$dir/tier/uploads/$_[0]" },
        sub { unlink "$dir/tier/uploads/$_[0]" }],
);
for my $kind (sort keys %kinds) {
    my ($tier, $has, $lose) = @{ $kinds{$kind} };
    my %entry = map { $_ => ".index/elf-buildid-$build/" . s{/.*}{}r } $libx, $liby;
    machine($tier);
    is by_id(), 404, "$kind: an empty tier";
    requests();
    is fill($libx, $x), 201, "$kind: a program";
    is requests(), join(' ', ('HEAD PUT') x 5), 'and its entries in the index'
        if $kind eq 'bucket';
    ok $has->($entry{$libx}), "$kind: which is there";
    is by_id(), 'x', "$kind: found where it is";
    machine($tier);
    requests();
    is by_id(), 'x', "$kind: found on another machine";
    is requests(), 'GET GET', 'by a list and a GET' if $kind eq 'bucket';
    is by_id('e' x 40), 404, "$kind: an id that nobody has";
    is fill($liby, $y), 201, "$kind: another program of this id";
    machine($tier);
    is discard($libx), 200, "$kind: the first is removed";
    ok !$has->($entry{$libx}), "$kind: with its entry";
    is by_id(), 'y', "$kind: the other is found";
    machine($tier);
    is fill($libx, $x), 201, "$kind: there again";
    $lose->($libx);
    $lose->($entry{$liby});
    machine($tier);
    is by_id(), 404, "$kind: a program whose entry is lost, an entry of none";
    is fill($liby, $y), 200, "$kind: sent again, it is the same";
    is by_id(), 'y', "$kind: and has an entry";
    machine($tier);
    is by_id(), 'y', "$kind: for all";
    discard($_) for $libx, $liby;
}

for my $mode ('403 AccessDenied', 'busy') {
    machine(\%s3);
    $s3->fail($mode);
    isnt ask_by_id(), 404, "$mode: nobody knows whether there is one";
    like $t->helper_log, qr{tier fleet: "uploads/.index/elf-buildid-$build" cannot be listed},
        "$mode: in the log" if $mode !~ /busy/;
    $s3->fail('');
    is found(), 200, "$mode: the tier is read all the same"
        if $mode !~ /busy/;
}
machine(\%s3);
is fill($libx, $x), 201, 'a program';
my $index = "/sym/p/uploads/.index/elf-buildid-$build/";
$s3->save($index . $_, {}, '') for 'none.so', 'a<&>b', '.hidden', 'x/y';
machine(\%s3);
is by_id(), 'x', 'an index of odd names leads to it';
is fill("_.debug/elf-buildid-sym-$build/_.debug", do {
    system("cd $dir && objcopy --only-keep-debug x.so x.dbg") == 0 or die;
    $t->read_file('x.dbg') }) =~ /^20[01]$/ ? 1 : 0, 1, 'a debug file';
ok !-e $s3->file("/sym/p/uploads/.index/elf-buildid-sym-$build/_.debug"),
    'has no entry';

# --- what is larger than a part

my $large = 'large.pdb';
Test::SparsePdb::spread($t->data('pdb/crash.pdb'), "$dir/$large", 12 << 20);
$large = $t->read_file($large);
my %parts = (%s3, part_size => '5m');
my $unlike = $large;
substr $unlike, -1, 1, 'x';
discard($path);
machine(\%parts);
requests();
$r = put($path, $large);
is $r->{status}, 201, 'an upload of 12 MB' or diag $r->{raw};
is requests(), 'HEAD POST PUT PUT PUT POST HEAD PUT', 'in three parts';
($headers, $body) = $s3->load($object);
ok $body eq $large, 'is one object';
is $headers->{'content-type'}, 'application/octet-stream', 'with its type';
is $headers->{'x-amz-meta-symcache-sha256'}, sha256_hex($large),
    'and its metadata';
is put($path, $large)->{status}, 200, 'the same again';
is put($path, $unlike)->{status}, 409, 'another one';
is $s3->unfinished, 0, 'no parts are left';
machine(\%parts);
is found(), 200, 'found on another machine';
ok $t->read_file("downloads$n/default/$path") eq $large, 'whole';
for (['part 2', 503], ['part 2 413 ContentTooLarge', 413],
     ['part 1 403 QuotaExceeded', 507], ['part 3 507 XMinioStorageFull', 507],
     ['part 2 403 InvalidAccessKeyId', 503], ['well', 201]) {
    my ($mode, $status) = @$_;
    machine(\%parts);
    $s3->fail($mode) if $mode ne 'well';
    $r = $u->put("$path?force=1", $unlike);
    is $r->{status}, $status, "$mode: an upload" or diag $r->{raw};
    $s3->fail('');
    is $s3->unfinished, $mode =~ /Key/ ? 1 : 0, "$mode: whether parts are left";
    $s3->forget_unfinished;
    ok +($s3->load($object))[1] eq ($mode eq 'well' ? $unlike : $large),
        "$mode: what is there";
}

$t->finish;
done_testing;
