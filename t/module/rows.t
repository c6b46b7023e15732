# Every situation in which a request may find the server, for every kind of
# client, header spelling and method: the table of answers in
# docs/protocol.md.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Test::More;
use Test::ModuleCase;

my $t = Test::ModuleCase->new;

sub h { Test::Symcache::header(@_) }

# --- clients: [version, headers]

my @retrying = (
    ['3.1.1'],
    ['3.1.1', 'Allow-Retry-After: false'],
    ['65535.65535.65535'],
    ['3.1.0', 'Allow-Retry-After: true'],
    ['3.1.0', 'allow-retry-after: TRUE'],
    ['3.1.0', 'ALLOW-RETRY-AFTER: True'],
    ['3.1.0', 'Accept-Retry-After: true'],
    ['3.1.0', 'accept-retry-after: tRuE'],
    ['3.1.0', 'Allow-Retry-After: no', 'Accept-Retry-After: true'],
);

my @waiting = (
    ['3.1.0'],
    ['3.1.0', 'Allow-Retry-After: false'],
    ['3.1.0', 'Allow-Retry-After: 1'],
    ['3.1.0', 'Allow-Retry-After:'],
    ['3.1.0', 'Accept-Retry-After: truely'],
    ['3.1.0', 'Retry-After: true'],
);

my @exceeds = map { "$_: 3.0.9" } 'If-Version-Exceeds', 'if-version-exceeds',
    'IF-VERSION-EXCEEDS';

# --- situations, each a location, a root and a PDB name of its own
#
# disk, made: versions in the store and of its transcoders; exceeds: the
# header is sent; helper: its reply to [a poll, a hold]; what comes of it for
# clients that retry and for those that wait: status, Retry-After and served
# version

my @rows = (
    { name => 'a compatible file', disk => '3.1.0', made => '3.1.0',
      retry => [200, undef, '3.1.0'], wait => [200, undef, '3.1.0'] },
    { name => 'not newer, and nothing makes newer ones', disk => '3.0.9',
      made => '3.0.9', exceeds => 1,
      retry => [304], wait => [304] },
    { name => 'not newer, but a transcoder makes newer ones',
      disk => '3.0.9', made => '3.1.0', exceeds => 1,
      helper => [202, 'publish'],
      retry => [404, 7], wait => [200, undef, '3.1.0'] },
    { name => 'older than what the transcoder makes', disk => '3.0.9',
      made => '3.1.0', helper => [202, 202],
      retry => [200, undef, '3.0.9'], wait => [200, undef, '3.0.9'] },
    { name => 'not a version in If-Version-Exceeds', disk => '3.1.0',
      made => '3.1.0', headers => ['If-Version-Exceeds: 3.x.9'],
      retry => [400], wait => [400] },
    { name => 'known absent', made => '3.1.0', helper => [404, 404],
      retry => [404], wait => [404] },
    { name => 'not cached', made => '3.1.0', helper => [202, 'publish'],
      retry => [404, 7], wait => [200, undef, '3.1.0'] },
    { name => 'hold timeout', made => '3.1.0', hold => 0,
      helper => [202, 202], retry => [404, 7], wait => [503, 7] },
    { name => 'queue full', made => '3.1.0', helper => [503, 503],
      retry => [404, 7], wait => [503, 7] },
    { name => 'the helper fails', made => '3.1.0',
      helper => ['close', 'close'], retry => [404, 5], wait => [503, 5] },
    { name => 'no helper there', made => '3.1.0', socket => 'none.sock',
      retry => [404, 5], wait => [503, 5] },
    { name => 'nobody to ask', made => '3.1.0', off => 1,
      retry => [404], wait => [404] },
);

my $locations = '';
for my $i (0 .. $#rows) {
    my $row = $rows[$i];
    my $pass = $row->{off} ? ''
        : 'symcache_pass unix:%%DIR%%/' . ($row->{socket} // 'h.sock') . ';';
    $locations .= "location /$i/ { symcache %%DIR%%/r$i; $pass
                   symcache_hold_timeout @{[$row->{hold} // 60]}s;
                   symcache_retry_after 5s; }\n";
    $t->write_file("r$i/.transcoders", "$row->{made}\n");
}

# The PDB's name is the row's number, the GUID the request's.
$t->helper_says(sub {
    my ($c, $req) = @_;
    my ($i, $guid) = $req->{path} =~ m{/default/(\d+)\.pdb/(\w{32})1$};
    my $reply = $rows[$i]{helper}[ defined $req->{query}{wait} ? 1 : 0 ];
    return $c->close if $reply eq 'close';
    if ($reply eq 'publish') {
        my $key = "$i.pdb/${guid}1";
        $t->put('3.1.0', "made 3.1.0", root => "r$i", key => $key);
        return $c->reply(200, { 'X-Symcache-Version' => '3.1.0',
            'X-Symcache-Path' => "$key/$i.pdb-v3.1.0.symcache" });
    }
    $c->reply($reply, $reply == 404 ? { 'X-Symcache-Reason' => 'notfound' }
                                    : { 'Retry-After' => 7 });
});

$t->start_nginx($locations);

my $n = 0;

# Sends a request, and returns what checks its answer.
sub check {
    my ($row, $i, $method, $client, $want) = @_;
    my ($version, @headers) = @$client;
    my $guid = sprintf '%032X', ++$n;
    $t->put($row->{disk}, "made $row->{disk}", root => "r$i",
            key => "$i.pdb/${guid}1") if $row->{disk};
    my $name = join ', ', $row->{name}, $method, @$client;
    my $s = $t->open_http($t->nginx_socket, $method,
                          "/$i/v$version/$i.pdb/$guid/1", @headers,
                          @{ $row->{headers} // [] });
    return sub { answer($t->read_response($s, $method), $name, $method, $want) };
}

sub answer {
    my ($r, $name, $method, $want) = @_;
    my ($status, $after, $served) = @$want;
    is $r->{status}, $status, "$name: status";
    is h($r, 'Retry-After'), $after, "$name: Retry-After";
    is h($r, 'Cache-Control'), $status == 200 ? undef : 'no-store',
        "$name: Cache-Control";
    if ($served) {
        is h($r, 'Content-Type'),
            "application/vnd.ms-symcache; version=$served", "$name: type";
        is h($r, 'Content-Length'), length "made $served", "$name: length";
        is $r->{body}, $method eq 'HEAD' ? '' : "made $served", "$name: body";
    } elsif ($status == 405) {
        is h($r, 'Allow'), 'GET, HEAD', "$name: Allow";
    } elsif ($method eq 'HEAD' || $status != 400) {
        is $r->{body}, '', "$name: no body";
    }
}

for my $i (0 .. $#rows) {
    my $row = $rows[$i];
    my @checks;         # of a row at once: some are held for seconds
    for my $spelling ($row->{exceeds} ? @exceeds : ()) {
        for my $method ('GET', 'HEAD') {
            push @checks, map { check($row, $i, $method, [@$_, $spelling],
                                      $row->{retry}) } @retrying;
            push @checks, map { check($row, $i, $method, [@$_, $spelling],
                                      $row->{wait}) } @waiting;
        }
    }
    for my $method ($row->{exceeds} ? () : ('GET', 'HEAD')) {
        push @checks, map { check($row, $i, $method, $_, $row->{retry}) }
            @retrying;
        push @checks, map { check($row, $i, $method, $_, $row->{wait}) }
            @waiting;
    }
    push @checks, map { check($row, $i, $_, ['3.1.0'], [405]) }
        qw(POST PUT DELETE OPTIONS PATCH MKCOL LOCK);
    $_->() for @checks;
}

$t->finish;
done_testing;
