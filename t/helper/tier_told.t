#!/usr/bin/perl

# A machine hears late that an upload was replaced.  Until then it can have
# stored in the shared tier what it had made of the former file, and others can
# have taken that: they are told again, once nothing of it is stored any more.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Select;
use JSON::PP ();
use Test::More;
use Test::S3;
use Test::ScriptedServer;
use Test::Symcache;
use Test::Tier;

my $t = Test::Symcache->new;
my $key = "crash.pdb/$Test::Symcache::key{'crash.pdb'}";
my $path = "$key/crash.pdb";
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $admin = $t->path('a.sock');

my $s3 = Test::S3->new($t, region => 'eu-west-1', secrets => { ID => 'secret' });
my $other = Test::ScriptedServer->new(log => $t->path('other'),
    script => sub { $_[0]->reply(200, {}, '{}') });

my %uploads = (peers => [$other->url =~ m{http://([^/]+)}]);
my $fleet = Test::Tier->new($t, sources => ['uploads'],
    tier => { type => 's3', bucket => 'b', region => 'eu-west-1', endpoint => $s3->url,
              path_style => JSON::PP::true(), access_key => 'ID', secret_key => 'secret' },
    more => { admin_listen => "unix:$admin", uploads => \%uploads });

sub machine {
    $uploads{root} = $t->path('uploads' . ($fleet->{n} + 1));
    mkdir $_ or die for $uploads{root}, "$uploads{root}/.spool";
    $fleet->machine;
}

sub upload {
    my $body = $t->write_file("uploads$fleet->{n}/.spool/1", $pdb);
    return $t->http($admin, 'PUT', "/v1/uploads/$path", 'Content-Length: 0',
        "X-Symcached-Body: $body")->{status};
}

# What the other machine was told since the last call, without the sender.
my $seen = 0;
sub told {
    my @all = map { $_->{uri} =~ s/&from=\w+//r } $other->requests;
    my @new = @all[$seen .. $#all];
    $seen = @all;
    return @new;
}

sub changed {
    my ($query) = @_;
    return $t->http($admin, 'POST', "/v1/changed/$path?from=1$query",
        'Content-Length: 0')->{status};
}

sub stores { grep { $_->{method} eq 'PUT' && $_->{uri} =~ /symcache$/ } $s3->requests }

machine();
is upload(), 201, 'uploaded at one machine';
is scalar(told()), 1, 'which tells another one';

# --- late, while the SymCache of the former file is just being stored

machine();
$s3->fail('held');
is $fleet->ask($key), 200, 'made by another machine';
$t->wait_until('which is storing it', \&stores);
my $c = $t->open_http($admin, 'POST', "/v1/changed/$path?from=1&late=1",
    'Content-Length: 0');
$t->wait_until('its own is gone', sub { !-e $fleet->file });
is $t->helper('GET', '/healthz')->{status}, 200, 'the helper answers';
ok !IO::Select->new($c)->can_read(0), 'but not that it knows, while the tier stores it';
my $another = $t->open_http($admin, 'POST',
    '/v1/changed/a.pdb/' . 'A' x 32 . '1/a.pdb?from=1&made=1', 'Content-Length: 0');
ok +IO::Select->new($another)->can_read(4), 'of another file it knows at once';
is scalar(told()), 0, 'nor does it tell anybody';
is $fleet->ask($key), 200, 'made anew, of what is stored now';
my $repeated = $t->open_http($admin, 'POST', "/v1/changed/$path?from=1&late=1",
    'Content-Length: 0');
is $t->read_response($c)->{status}, 503, 'told once more by the same machine, it is the latest';
ok !IO::Select->new($repeated)->can_read(0), '... that is answered, when it knows';
$s3->fail('');
is $t->read_response($repeated)->{status}, 200, 'then it knows';
ok !-e $fleet->file, '... and has nothing of what can have changed before it was told once more';
my @told;
$t->wait_until('and the others are told', sub { push @told, told(); @told });
is scalar(grep { !m{^/v1/changed/\Q$path\E\?id=\S+&made=1$} } @told), 0,
    'of what was made of the file';
$t->wait_until('the tier has nothing of it',
    sub { !-e $s3->file("/b/1/default/$key/v9.0.0.symcache") });

# --- in time

is $fleet->ask($key), 200, 'made anew';
is changed(''), 200, 'told in time';
ok !-e $fleet->file, 'it is gone';

# --- what another machine says of what was made

machine();
is upload(), 200, 'uploaded here as well';
told();
is $fleet->ask($key), 200, 'made';
is changed('&made=1'), 200, 'another machine had stored that of a former file';
ok !-e $fleet->file, 'what was made is gone';
ok -e $t->path("uploads$fleet->{n}/$path"), 'the file itself stays';
is changed('&made=1&late=1'), 200, 'as it says late';
is $t->http($admin, 'POST', "/v1/discard/$path", 'Content-Length: 0')->{status}, 200,
    'the file is removed';
is_deeply [grep { /made/ } told()], [], 'of what others had stored nobody is told again';

# --- late, without a descriptor to read the file with

SKIP: {
    skip 'needs prlimit(1)', 6 if system('prlimit --version >/dev/null 2>&1') != 0;
    my $file = $t->path("uploads$fleet->{n}/$path");
    is upload(), 201, 'uploaded once more';
    my $limit = sub { system('prlimit', "--pid=$t->{helper}", "--nofile=$_[0]:") == 0 or die };
    my $s = Test::Symcache::connect_to($admin);
    syswrite $s, Test::Symcache::request_text('GET', '/healthz', 'Connection: keep-alive');
    is $t->read_response($s)->{status}, 200, 'a connection';
    $limit->(3); # those that are open stay
    syswrite $s, Test::Symcache::request_text('POST', "/v1/changed/$path?from=1&late=1",
        'Content-Length: 0');
    is $t->read_response($s, 'POST', 30)->{status}, 503, 'told late, when the file cannot be read';
    $limit->(1000);
    ok -e $file, '... it stays';
    is changed('&late=1'), 200, 'told again';
    ok -e $file, '... it stays, as the tier has the same';
}

$t->finish;
done_testing;
