#!/usr/bin/perl

# A host that is silent is passed over, and a search for debuginfod's clients
# has a time of its own.  All other limits are an hour here, so that nothing
# else can end what is waited for.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Select;
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $true = JSON::PP::true();
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $zst = $t->data('convert/elf/gcc-5.debug.zst');
my $elf = qx(zstd -dcq $zst);
my ($build) = map { unpack 'H*', $_ } $elf =~ /GNU\0(.{20})/s
    or plan skip_all => 'needs zstd';

sub raise { $t->write_file("flag.$_[0]", '') }
sub await {
    my $flag = $t->path("flag.$_[0]");
    $t->wait_until("flag $_[0]", sub { -e $flag });
}

# Each is silent until it is let go; but "alive" is so with one file only.
sub hung {
    my ($name) = @_;
    return Test::ScriptedServer->new(log => $t->path("$name.log"),
        script => sub {
            my ($c, $req) = @_;
            await($name) unless $name eq 'alive' && $req->{path} !~ /slow/;
            $c->reply(404, {}, '');
        });
}
my %server = map { $_ => hung($_) } qw(debug first alive);
my $has = Test::ScriptedServer->new(log => $t->path('has.log'), script => sub {
    my ($c, $req) = @_;
    if ($req->{path} =~ m{^/buildid/\Q$build\E/debuginfo}) {
        my $text = $c->reply_text(200, {}, $elf);
        $c->send(substr $text, 0, length($text) / 2);
        await('rest');
        $c->send(substr $text, length($text) / 2);
    } else {
        $c->reply(200, {}, $crash);
    }
});

my %debuginfod = (layout => 'debuginfod', type => 'http', internal => $true);
my %sources = (
    debug => { %debuginfod, url => $server{debug}->url,
               only => '^hung' },
    drips => { %debuginfod, url => $has->url, only => '^drips' },
    first => { type => 'http', url => $server{first}->url, internal => $true,
               only => '[.]pdb$', except => '^alive' },
    second => { type => 'http', url => $has->url, internal => $true,
                only => '[.]pdb$', except => '^alive' },
    alive => { type => 'http', url => $server{alive}->url, internal => $true,
               only => '^alive' },
);
my $c = Test::SourceCase->new($t, sources => \%sources,
    order => [qw(debug drips first second alive)],
    limits => { first_byte_time => '1h', download_time => '1h',
                stall_time => '1h', first_byte_patience => '3s',
                search_time => '5s', breaker_failures => 0 });

sub path {
    my ($name, $hex) = @_;
    return "/v1/debuginfo/default/$name/buildid-$hex?version=1.0.0&wait=600";
}
sub lookup { $t->helper('GET', path(@_)) }
sub reason { scalar Test::Symcache::header($_[0], 'X-Symcache-Reason') // '' }
sub running { scalar @{ $t->helper_json('/v1/jobs')->{jobs} } }
sub host {
    my ($name) = @_;
    my ($source) = grep { $_->{name} eq $name }
        @{ $t->helper_json('/v1/sources')->{sources} };
    return $source->{host};
}

# --- a file that is being received, and one with an answer that is late

my $received = $t->open_http($t->helper_socket, 'GET', path('drips', $build));
$t->wait_until('half of it', sub { () = $has->requests });
my $late = $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/alive-slow.pdb/$Test::SourceCase::id"
    . '?version=9.0.0&wait=600');
$t->wait_until('it is asked for', sub { () = $server{alive}->requests });
$c->absent('alive.pdb', qr/^404/, 'another file of that host');

# --- a host that is silent

my @id = map { sprintf '%040x', $_ } 1 .. 5;
my $r = lookup('hung', $id[0]);
is "$r->{status} " . reason($r), '503 searching',
    'a search ends after search_time';
cmp_ok Test::Symcache::header($r, 'Retry-After'), '>', 0, 'with a Retry-After';
is running(), 3, 'its job goes on';
$r = lookup('hung', $id[0]);
is "$r->{status} " . reason($r), '503 searching',
    'who asks again does not wait again';

my $asked = () = $server{debug}->requests;
is host('debug')->{breaker}, 'open', 'the host is passed over';
for (@id[1 .. 4]) {
    $r = lookup('hung', $_);
    is "$r->{status} " . reason($r), '503 error', 'the next library';
    like $r->{body}, qr/not asked: .*no first byte for 3 s/, 'and why';
}
is scalar(() = $server{debug}->requests), $asked, 'the host is not asked';

# meanwhile

is host('alive')->{breaker}, 'closed',
    'a host that answers others is not passed over';
ok !IO::Select->new($received)->can_read(0),
    'what is being received is waited for';
raise('rest');
is $t->read_response($received)->{status}, 200, 'until it is there';

# --- it is back

raise('debug');
$t->wait_until('it is asked again',
               sub { host('debug')->{breaker} eq 'closed' });
$t->helper('POST', "/v1/forget/default/hung/buildid-$id[1]");
$r = lookup('hung', $id[1]);
is $r->{status}, 404, 'the late answer shows that the host works'
    or diag explain $r;

# --- the next source

$c->found('a.pdb', 'a silent host, and a source after it that has the file');
my $why = $t->helper_json("/v1/why/default/a.pdb/$Test::SourceCase::id");
is join(', ', map { "$_->{source} $_->{outcome}" } @{ $why->{attempts} }),
    'first failed, second found', '"why" has both';
$asked = () = $server{first}->requests;
$c->found('b.pdb', 'the next file');
is scalar(() = $server{first}->requests), $asked, 'without asking the first';

raise($_) for 'first', 'alive';
is $t->read_response($late)->{status}, 404, 'the late answer counts';

$t->finish;
done_testing;
