#!/usr/bin/env perl

# The disk of "uploads.root" hangs: what does not need it goes on, and what does
# is refused, until it answers again.

use strict;
use warnings;

use FindBin;
use IO::Select;
use lib "$FindBin::Bin/../lib";
use Test::HangingDisk;
use Test::More;
use Test::Symcache;
use Test::Uploads;

plan skip_all => 'a library is preloaded, which sanitizers do not take'
    if $ENV{SYMCACHE_SAN};

my $u = Test::Uploads->new(cache => { retry_errors_after => '1s' });
my $t = $u->t;
my $disk = Test::HangingDisk->new($t, $t->path('uploads'))
    or plan skip_all => Test::HangingDisk::why();
my $id = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my @bearer = ('Authorization: Bearer 0123456789abcdef0123456789abcdef');
my %place = map { $_ => "$_/$id/$_" } qw(crash.pdb new.pdb);

# nginx writes bodies to another disk
mkdir $t->path('spool') or die $!;
$u->{uploads} = { spool => $t->path('spool') };
$t->stop_nginx;
$u->start_nginx('/srv/uploads/.spool' => $t->path('spool'),
                '/srv/uploads' => $t->path('uploads'));
my $config = $u->config;
$config->{limits}{$_} = '1s' for qw(first_byte_time breaker_pause);
$t->stop_symcached;
$t->start_symcached($config, env => $disk->env);

sub path { "/v1/symcache/default/$_[0]/" . ($_[1] // $id) . '?version=9.0.0&wait=60' . ($_[2] // '') }
sub ask { $t->helper('GET', path(@_))->{status} }
my $absent = '1' x 33;

is $u->put($place{'crash.pdb'}, $pdb)->{status}, 201, 'it works: an upload';
is ask('crash.pdb'), 200, '... its SymCache';
is ask('absent.pdb', $absent), 404, '... and an absent key';

# Returns after the first question to the disk, which is not the loop's.
sub hang {
    my ($what, $begin, @but) = @_;
    $disk->hang(@but);
    my $r = $begin->();
    $t->wait_until("$what: a call hangs", sub { $disk->waiting });
    is $t->helper('GET', '/healthz')->{status}, 200, "$what: the loop goes on";
    is_deeply [$disk->waiting('loop')], [], '... and has asked the disk for nothing';
    return $r;
}

sub release {
    ($_[0] // $disk)->release;
    $t->wait_until('the disk answers again',
        sub { $t->helper_log !~ /does not answer(?!.*answers again)/s });
}

my $held = hang('a lookup', sub {
    $t->open_http($t->helper_socket, 'GET', path('other.pdb', '2' x 33)) });
is ask('crash.pdb'), 200, 'what is made is served';
is ask('absent.pdb', $absent), 404, 'what was absent stays absent';
is $t->read_response($held, 'GET')->{status}, 503, 'what was asked for is not absent';
like $t->helper_log, qr{the disk of "\S+/uploads" does not answer}, 'the log says why';
is ask("more$_.pdb", '3' x 33), 503, 'another one' for 1 .. 3;
is scalar(grep m{/\.index}, $disk->waiting), 1, 'one thread waits for the index';
my $r = $u->put($place{'new.pdb'}, $pdb);
is $r->{status}, 503, 'an upload';
like $r->{raw}, qr/^Retry-After:/mi, '... may be sent again';
is $u->request('HEAD', "/symbols/$place{'new.pdb'}", '', @Test::Uploads::token)->{status},
    503, 'a look before an upload';
is_deeply [$disk->waiting('loop')], [], 'the loop has asked the disk for nothing';
release();
is $u->put($place{'new.pdb'}, $pdb)->{status}, 201, 'it answers again: an upload';
$t->wait_until('what is absent', sub { ask('other.pdb', '2' x 33) == 404 });

# --- what other machines tell of, and removals; a kernel may still know whether
#     the mark of the folder is there

sub begin_admin { $t->open_http($t->path('a.sock'), 'POST', @_, 'Content-Length: 0') }

my @known = qw(lstat getxattr);
for my $but ([], [@known]) {
    my $how = @$but ? 'with the mark' : 'without an answer';
    $held = hang("another machine, $how", sub {
        begin_admin("/v1/changed/$place{'crash.pdb'}?from=1&id=$id") }, @$but);
    if (@$but) {
        release();
        is $t->read_response($held)->{status}, 200, '... is answered when the disk answers';
    } else {
        is $t->read_response($held)->{status}, 503, '... is to tell it again';
        release();
    }
    $held = hang("a removal, $how", sub { begin_admin("/v1/discard/$place{'new.pdb'}") }, @$but);
    is $t->read_response($held)->{status}, 503, '... is to be sent again';
    release();
    is ask('crash.pdb'), 200, '... and what was told of is served';
}
is $u->admin('POST', "/v1/discard/$place{'new.pdb'}", 'Content-Length: 0')->{status}, 200,
    'it answers again: a removal';

# --- a reload, and a disk whose reports of files come from memory

my $reloads = 'symcached_reloads_total{result="ok"}';
for my $but ([], [@known], [@known, qw(stat access mkdir)]) {
    my $before = $t->metric($reloads);
    hang('a reload', sub { kill 'HUP', $t->{helper} }, @$but);
    $t->wait_until('it is done', sub { $t->metric($reloads) > $before });
    release();
}
is $u->put($place{'new.pdb'}, $pdb)->{status}, 201, 'it answers again: an upload';

# --- a stop, also of an upload whose files are about to get their names

hang('a lookup', sub { $t->open_http($t->helper_socket, 'GET', path('last.pdb', '4' x 33)) });
is $t->stop_symcached, 0, 'symcached is stopped while the disk hangs';
$disk->release;
$t->start_symcached($config, env => $disk->env);
$disk->hang('=', 'link');
$held = $u->begin('PUT', "/symbols/late.pdb/$id/late.pdb", $pdb, @Test::Uploads::token);
$t->wait_until('a file is stored', sub { $disk->waiting });
$disk->hang;
is $t->stop_symcached, 0, '... and while it stores a file';
is $u->read($held, 'PUT')->{status}, 503, '... which is to be sent again';
is_deeply [$disk->waiting('loop')], [], '... and has asked the disk for nothing';
$disk->release;
$t->start_symcached($config);
$t->wait_until('what was left there is removed',
    sub { !grep { -e } glob $t->path('uploads/.tmp/*') });

# --- only the index of uploads hangs: a debug file is found without it

my $build = 'ab' x 20;
$t->write_file('x.c', 'int main(void) { return 0; }');
system('cd ' . $t->dir . " && cc -g -Wl,--build-id=0x$build -o x.debug x.c") == 0 or die;
my $elf = $t->read_file('x.debug');
is $u->put("_.debug/elf-buildid-sym-$build/_.debug", $elf)->{status}, 201, 'a debug file';
$t->stop_symcached;
my $index = Test::HangingDisk->new($t, $t->path('uploads/.index'));
$config->{stores}{default}{transcoders}[0]{inputs} = ['elf'];
$t->start_symcached($config, env => $index->env);
my @found = ('found.so', 'AB' x 16 . '0', "&code_id=buildid-$build");
$index->hang;
$held = $t->open_http($t->helper_socket, 'GET', path(@found));
$t->wait_until('the name is to be noted',
    sub { $index->waiting('loop') || IO::Select->new($held)->can_read(0) });
is_deeply [$index->waiting('loop')], [], '... the loop does not do that';
release($index);
is $t->read_response($held, 'GET')->{status}, 503, '... it cannot be noted';
$t->wait_until('... until it can be', sub { ask(@found) == 200 });

$t->stop_symcached;

$t->stop_nginx;
$t->finish;
done_testing;
