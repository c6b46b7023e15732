#!/usr/bin/env perl

# What clients say beyond the key, here the checksum of a portable PDB: what
# comes of it holds for those who say the same, whoever waits for the same job.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $pdb = $t->read_file($t->data('ppdb/weave.pdb'));
my ($sum) = $t->read_file($t->data('ppdb/weave.dll')) =~ /SHA256\0(.{32})/s;
my $right = 'SHA256:' . unpack 'H*', $sum;
my $wrong = 'SHA256:' . '0' x 64;
my $id = '6022E78B4BF44D048F9E21D7790ECE60FFFFFFFF';

# As a server that insists on the checksum, but with 404.  "slow..." is answered
# when the file "open" is there.
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    $t->wait_until('open', sub { -e $t->path('open') })
        if $req->{path} =~ m{/slow};
    my $is_right = ($req->{headers}{symbolchecksum} // '') eq $right;
    return $c->reply(404, {}, '')
        if !$is_right || $req->{path} !~ m{/ppdb/|/\Q$id\E/\w+\.pdb$};
    return $c->reply(200, {}, $pdb) if $req->{path} !~ m{/ppdb/};
    $c->reply(200, { 'Content-Type' => 'application/vnd.ppdbcache; '
        . 'version=1.0.0' }, $t->read_file('cache'));
});

system($t->program('symcachectl'), 'convert', $t->data('ppdb/weave.pdb'),
    '-o', $t->path('cache')) == 0 or die 'no PpdbCache';
my @transcoders = { version => '1.0.0', makes => 'ppdbcache',
    command => [$t->program('pdb2symcache'), '-pdb', '{pdb}'] };
$t->start_symcached({
    stores => {
        default => { root => $t->path('store'), sources => ['web'],
                     transcoders => \@transcoders },
        peer => { root => $t->path('peer'), sources => ['peer'],
                  transcoders => \@transcoders },
    },
    sources => {
        web => { type => 'http', url => $web->url, forms => ['plain'],
                 internal => JSON::PP::true() },
        peer => { type => 'symcache', url => $web->url . '/symcache',
                  ppdbcaches => JSON::PP::true(), internal => JSON::PP::true() },
    },
});

sub path { "/v1/ppdbcache/default/$_[0].pdb/$id" }
sub query { my ($checksum, $wait) = @_;
    join '&', 'version=1.0.0', 'wait=' . ($wait // 60),
        $checksum ne '' ? "checksum=$checksum" : () }
sub lookup { my ($name, @query) = @_;
    $t->helper('GET', path($name) . '?' . query(@query)) }
sub start { my ($name, @query) = @_; $t->open_http($t->helper_socket, 'GET',
    path($name) . '?' . query(@query)) }
sub status { join ' ', map { $t->read_response($_)->{status} } @_ }
sub asked { my ($name) = @_;
    scalar grep { $_->{path} =~ m{/\Q$id\E/$name\.pdb$} } $web->requests }
sub waiters { my ($n) = @_; $t->wait_until("$n wait",
    sub { $t->metric('symcached_waiters') == $n }) }

# --- what is remembered

is lookup('a', $wrong)->{status}, 404, 'absent for a wrong checksum';
is asked('a'), 1, 'the source was asked';
is lookup('a', $wrong)->{status}, 404, 'and again';
is asked('a'), 1, 'as remembered';
is lookup('a', '')->{status}, 404, 'absent without one';
is asked('a'), 2, 'after a look of its own';
is lookup('a', $right)->{status}, 200, 'neither hides the file';
is lookup('a', $wrong)->{status}, 200, 'a file that is there is for everybody';

lookup('b', $_) for $wrong, '';
is asked('b'), 2, 'two looks';
$t->helper('POST', "/v1/forget/default/b.pdb/$id");
lookup('b', $_) for $wrong, '';
is asked('b'), 4, 'both are forgotten';

# --- those who wait for the same job

my @held = start('slow', $wrong);
waiters(1);
push @held, start('slow', $_) for $wrong, '', $right;
waiters(4);
$t->write_file('open', '');
is status(@held), '404 404 404 200', 'each is answered for what it says';
is asked('slow'), 3, 'and equal ones together';
unlink $t->path('open');

@held = start('slowpoll', $wrong);
waiters(1);
is lookup('slowpoll', $right, 0)->{status}, 202, 'one who does not wait';
$t->write_file('open', '');
is status(@held), '404', 'the one who does';
$t->wait_until('the file is made all the same',
    sub { glob $t->path('store/slowpoll.pdb/*/*.ppdbcache') });
is lookup('slowpoll', $right, 0)->{status}, 200, 'for the next question';

# --- many who say something wrong delay nobody for long

sub sums { my ($name) = @_;
    map { $_->{headers}{symbolchecksum} // '' }
        grep { $_->{path} =~ m{/\Q$id\E/$name\.pdb$} } $web->requests }

my @wrong = map { sprintf 'SHA256:%064x', $_ } 1 .. 40;
for my $name ('slowly', 'slowliar') {
    my $is_there = $name eq 'slowly';
    unlink $t->path('open');
    my @first = start($name, shift @wrong);
    waiters(1);
    @held = map { start($name, $_) } @wrong[0 .. 9];
    push @held, map { start($name, $right) } 1, 2 if $is_there;
    push @held, start($name, '');
    my $n = @first + @held;
    waiters($n);
    push @held, map { start($name, $_) } @wrong[10 .. 29];
    # 16 others than that of the job: the rest is to ask again
    waiters(my $max = 1 + 1 + 16 + ($is_there ? 1 : 0));
    is lookup($name, $wrong[35])->{status}, 202, 'one more does not wait';
    is lookup($name, $wrong[36], 0)->{status}, 202, 'nor one who polls';
    $t->write_file('open', '');
    my @status = split / /, status(@first, @held);
    is grep({ $_ == 202 } @status), @status - $max, 'who is too many';
    my @sums = sums($name);
    if ($is_there) {
        is_deeply [@sums[1 .. $#sums]], ['', $right],
            'those who say nothing come first, then what most say';
        is grep({ $_ == 200 } @status), $max - 2, 'and then all are answered';
    } else {
        is @sums, $max, 'a job for each that waited';
        is $sums[1], '', 'first for the one who says nothing';
        is grep({ $_ == 404 } @status), $max, 'absent for each of them';
    }
}

# --- where hints come from, and where they go

my @lines = map { my ($name, $hint) = @$_; path($name) . $hint }
    ['c', "?checksum=$wrong"], ['d', "?checksum=$right"], ['d', '?version=1'],
    ['d', '?checksum=x'];
my $body = join '', map { "$_\n" } @lines;
my $r = $t->post($t->helper_socket, '/v1/lookups?version=1.0.0&wait=60', $body);
is_deeply [sort map { substr $_, 0, 5 } split /\n/, $r->{body}],
    ['0 404', '1 200', '2 400', '3 400'], 'each line of a batch has its own';
is $t->post($t->helper_socket,
    "/v1/lookups?version=1.0.0&checksum=$right", $body)->{status}, 400,
    'which are none of the batch';

is $t->helper('GET', "/v1/ppdbcache/peer/e.pdb/$id?" . query($right))
    ->{status}, 200, 'another SymCache server gets it, too';

$t->finish;
done_testing;
