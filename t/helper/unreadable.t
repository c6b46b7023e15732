#!/usr/bin/perl

# What a source has, whole, and nothing here can read: the next source is asked,
# and then that is a final answer, until a restart or "forget".  What may have
# been cut is asked for again.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use JSON::PP qw(decode_json);
use Test::Cabinet;
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::SourceCase::id;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $msfz = "Microsoft MSFZ Container\r\n\x1aALD\0\0\1" . "\0" x 200;
my $true = JSON::PP::true();

sub put { $t->write_file("$_[0]/$_[1]/$_[2]/$_[1]", $_[3]) }

put('one', $_, $id, $msfz) for 'msfz.pdb', 'both.pdb', 'sent.pdb';
put('two', 'both.pdb', $id, $crash);
put('one', 'span.pdb', $id,
    (Test::Cabinet::set($crash, ['span.pdb', 'span.pdb']))[1]);
put('one', 'cut.pdb', $id,
    substr Compress::Zlib::memGzip($crash), 0, 100_000);

# as Breakpad's linux_inline.sym ends
my $so_id = '000102030405060708090A0B0C0D0E0F0';
my $sym = "MODULE Linux x86_64 $so_id %s\nPUBLIC 1000 0 main";
sub sym { sprintf $sym, $_[0] }
$t->write_file("one/$_/$so_id/$_.sym", sym($_)) for 'now.so', 'zeros.so';
$t->write_file("one/zeros.so/$so_id/zeros.so.sym", sym('zeros.so') . "\0" x 9);
$t->write_file("one/old.so/$so_id/old.so.sym", sym('old.so'));
utime 1, 1, $t->path("one/old.so/$so_id/old.so.sym") or die;

my $up = Test::ScriptedServer->new(log => $t->path('up.log'), script => sub {
    my ($c, $req) = @_;
    my ($name) = $req->{path} =~ m{^/sym/([\w.]+)/};
    return $c->reply(404, {}, '')
        if $req->{path} !~ m{/(?:sent[.]pdb|\w+[.]so[.]sym)$};
    return $c->reply(200, {}, $msfz) if $name eq 'sent.pdb';
    return $c->reply(200, {}, sym($name)) if $name eq 'length.so';
    $c->send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" . sym($name));
    $c->close;
});

my %folder = (type => 'filesystem', casing => 'lowercase');
my %sources = (
    one => { %folder, path => $t->path('one'), except => '[.]so$' },
    two => { %folder, path => $t->path('two'), except => '[.]so$' },
    text => { %folder, path => $t->path('one'), layout => 'breakpad',
              only => '[.]so$', except => '^(?:length|unframed)' },
    http => { type => 'http', url => $up->url . '/sym', internal => $true,
              only => '^sent[.]pdb$' },
    textual => { type => 'http', url => $up->url . '/sym', internal => $true,
                 layout => 'breakpad', only => '^(?:length|unframed)' },
);
my $c = Test::SourceCase->new($t, sources => \%sources,
    transcoder => { inputs => ['pdb', 'breakpad'] });

sub blocked {
    my ($name, $key) = @_;
    return $t->helper_json("/v1/why/default/$name/" . ($key // $id))
        ->{transcoders}[0]{blocked} // '';
}

# --- what cannot be read

for (['msfz.pdb', qr/MSFZ.*version 1/],
     ['span.pdb', qr/cabinet that spans several files/],
     ['sent.pdb', qr/MSFZ.*version 1/]) {
    my ($name, $reason) = @$_;
    my $r = $c->ask($name);
    is $r->{status}, 404, "$name: a final answer"
        or diag explain $r;
    is $r->{retry}, undef, 'without a time for another try';
    my ($place) = grep { $_->[1] eq 'unusable' } @{ $r->{places} };
    like $place->[2], $reason, 'the reason in "why"';
    like $r->{body}, qr/unusable \(.*(?:MSFZ|spans)/, 'and in the answer';
    is blocked($name), 'malformed', 'is remembered as malformed';
}
my $asked = () = $up->requests;
is $c->ask('sent.pdb')->{status}, 404, 'the next time';
is scalar(() = $up->requests), $asked, 'no source is asked';

$c->found('both.pdb', 'another source has it');

# an original, as debuggers ask for it

my $r = $t->helper('GET',
    "/v1/debuginfo/default/msfz.pdb/$id?version=1.0.0&wait=60");
is $r->{status}, 404, 'the original is not sent either';
is decode_json($r->{body})->{error}, 'malformed', 'for the same reason';

# --- until

put('one', 'msfz.pdb', $id, $crash);
is $c->ask('msfz.pdb')->{status}, 404, 'it came later';
is $t->helper('POST', "/v1/forget/default/msfz.pdb/$id")->{status}, 200,
    '"forget"';
$c->found('msfz.pdb', 'and it is found');
put('one', 'span.pdb', $id, $crash);
$t->stop_symcached;
my ($entry) = glob $t->path('store/span.pdb/*/*.absent');
my $earlier = $t->read_file($entry) =~ s/^malformed \K\d+/time - 100/er;
$t->write_file($entry, $earlier); # times are in seconds
$c = Test::SourceCase->new($t, sources => \%sources,
    transcoder => { inputs => ['pdb', 'breakpad'] });
$c->found('span.pdb', 'the same after a restart');

# --- what may have been cut

$r = $c->ask('cut.pdb');
is "$r->{status} @{$r->{places}[0]}[1, 2]", '503 unusable truncated gzip data',
    'a gzip that was cut';
is blocked('cut.pdb'), 'error', 'is a failure';

# --- text without a line feed at its end

sub text {
    my ($name) = @_;
    return $c->ask($name, $so_id);
}
for ('old.so', 'now.so') {
    $r = text($_);
    is $r->{status}, 200, "$_: a file that is not written to is whole"
        or diag explain $r;
}
is text('length.so')->{status}, 200, 'what came by its length is whole';
$r = text('unframed.so');
is $r->{status}, 503, 'what ended with the connection may be cut';
$r = text('zeros.so');
is $r->{status}, 503, 'so may be what ends with zeros';
like $r->{places}[0][2], qr/ends with zeros/, 'the reason';

$t->finish;
done_testing;
