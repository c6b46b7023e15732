#!/usr/bin/env perl

# A conversion that needs several other files: one that is there does not hide
# that another is missing, or that its source failed.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP qw(encode_json);
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;

# A dSYM with hidden names, one source file of which is of il2cpp.
my $plain = qx(zstd -dcq '@{[$t->data('convert/macho/arm64.dwarf.zst')]}');
$plain =~ s/generated\\other\.l/generate\\il2cpp.l/ or die;
my (%number, @names);
(my $dsym = $plain) =~ s{\0(_+Z[\w.:/<>,~()\@ +-]{11,})(?=\0)}{
    my $name = $1;
    push @names, $name =~ s/^_(?=_Z)//r if !defined $number{$name};
    $number{$name} //= $#names;
    "\0__hidden#" . sprintf('%0*d', length($name) - 10, $number{$name}) . '_';
}ge;
my $map = join "\n", 'BCSymbolMap Version: 2.0', @names;
my $id = uc unpack 'H*', ($plain =~ /\x1b\0\0\0\x18\0\0\0(.{16})/s)[0];
my $original = 'C0FFEE00111122223333444455556666';
sub dashed { lc $_[0] =~ s/^(.{8})(.{4})(.{4})(.{4})/$1-$2-$3-$4-/r }
my $plist = '<?xml version="1.0" encoding="UTF-8"?>' . "\n"
    . '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">'
    . "\n<plist version=\"1.0\"><dict><key>DBGOriginalUUID</key><string>\U@{[dashed($original)]}\E"
    . "</string></dict></plist>\n";
my $lines = encode_json({ '\src\generate\il2cpp.l' => { '/u/A.cs' => { 5 => 3 } },
    '__debug-id__' => { dashed($id) => {} } });
my %file = (debuginfo => $dsym, uuidmap => $plist, il2cpp => $lines, bcsymbolmap => $map);

sub expected {
    my (%with) = @_;
    $t->write_file("of/$_", $file{$_}) for sort keys %file;
    my $said = join ' ', $t->program('pdb2symcache'),
        (map { "$with{$_} '$dir/of/$_'" } sort keys %with), '-o', "'$dir/out' '$dir/of/debuginfo'";
    system("$said 2>/dev/null") == 0 or die;
    return $t->read_file('out');
}
my %all = (bcsymbolmap => '--symbol-map', il2cpp => '--line-mapping');
my $whole = expected(%all);
ok $whole ne expected(map { $_ => $all{$_} } 'bcsymbolmap'), 'lines are replaced';
my $no_names = expected(il2cpp => $all{il2cpp});
ok $whole ne $no_names, 'and names';

sub unified { my ($of, $what) = @_; return lc(substr($of, 0, 2) . '/' . substr($of, 2)) . "/$what" }
sub put {
    my ($folder, @what) = @_;
    put_as($folder, $_, $file{$_}) for @what;
}
sub put_as {
    my ($folder, $what, $data) = @_;
    $t->write_file("$folder/" . unified($what eq 'bcsymbolmap' ? $original : $id, $what), $data);
}

my $server = Test::ScriptedServer->new(log => "$dir/server.log", script => sub {
    my ($c, $req) = @_;
    my ($what) = $req->{uri} =~ m{/(\w+)$};
    return $c->reply(404, {}, 'no')
        if !$file{$what} || $req->{uri} !~ unified($what eq 'bcsymbolmap' ? $original : $id, $what);
    return $c->reply(500, {}, 'broken') if $what eq 'uuidmap' && -e "$dir/broken";
    $c->reply(200, {}, $file{$what});
});

my %config = (cache => { retry_misses_after => '1s', retry_errors_after => '1s' });
$config{sources} = {
    folder => { type => 'filesystem', layout => 'unified', path => $t->path('folder') },
    server => { type => 'http', layout => 'unified', url => $server->url, internal => JSON::PP::true },
    map { $_ => { type => 'filesystem', layout => 'unified', path => $t->path($_) } } 'maps', 'plist', 'other',
};
$config{stores}{$_} = { root => $t->path("stores/$_"), sources => [$_], transcoders => [
    { version => '9.0.0', inputs => ['macho'], command => ['pdb2symcache', '-pdb', '{pdb}'] }] }
    for sort keys %{ $config{sources} };
local $ENV{PATH} = $t->program('') . ":$ENV{PATH}";
put('folder', 'debuginfo', 'il2cpp');
$t->write_file('broken', '');
$t->start_symcached(\%config);

sub lookup {
    my ($store) = @_;
    my $r = $t->http("$dir/h.sock", 'GET', "/v1/symcache/$store/arm64/${id}0?version=9.0.0&wait=60");
    return "$r->{status} $r->{body}" unless $r->{status} == 200;
    return $t->read_file("stores/$store/arm64/${id}0/arm64-v9.0.0.symcache");
}

ok lookup('folder') eq $no_names, 'the UUID map is missing: lines, and no names' or diag $t->helper_log;
put('folder', 'uuidmap', 'bcsymbolmap');
$t->wait_until('names', sub { lookup('folder') eq $whole });
pass 'it comes later: names, too';

ok lookup('server') eq $no_names, '500 for the UUID map: lines, and no names' or diag $t->helper_log;
unlink "$dir/broken" or die $!;
$t->wait_until('names', sub { lookup('server') eq $whole });
pass 'it is answered later: names, too';

# Files that cannot be read: what they are for is missing, and the log says why.
put('maps', 'debuginfo', 'uuidmap');
put_as('maps', 'bcsymbolmap', "$map\n\xff\xfe");
put_as('maps', 'il2cpp', $lines =~ s/:3/:"3"/r);
ok lookup('maps') eq expected(), 'neither map can be read: no names, no lines' or diag $t->helper_log;
my $key = qr{\Qmaps/arm64/${id}0\E\S*};
like $t->helper_log, qr/job $key: the symbol map is not UTF-8 \("maps" has it\)/, '... the log says why of the map';
like $t->helper_log, qr/job $key: the line mapping has a line that is no number of 32 bits \("maps" has it\)/,
    '... and of the lines';

put('plist', 'debuginfo', 'il2cpp', 'bcsymbolmap');
put_as('plist', 'uuidmap', $plist =~ s/DBGOriginal/DBG/r);
ok lookup('plist') eq $no_names, 'nothing leads from the UUID map to the symbol map';
like $t->helper_log, qr{job \Qplist/arm64/${id}0\E\S*: the UUID map of the dSYM is not to be had: plist: \S+uuidmap unusable \(has no DBGOriginalUUID\)},
    '... the log says why';

# The id in a line mapping tells files apart, and does not keep one from being
# used: symbolic-il2cpp 13.9.0, LineMapping::parse(), passes over it.
put('other', 'debuginfo', 'uuidmap', 'bcsymbolmap');
my $else = '11111111-2222-3333-4444-555555555555';
put_as('other', 'il2cpp', $lines =~ s/\Q@{[dashed($id)]}/$else/r);
ok lookup('other') eq $whole, 'a line mapping that names another module is used';
like $t->helper_log,
    qr{job \Qother/arm64/${id}0\E\S*: the line mapping is used, but names the module $else \("other" has it\)},
    '... and the log tells';
my @told = $t->helper_log =~ /.* has it\)/g;
is scalar(@told), 3, 'each is told of once' or diag join "\n", @told;

$t->finish;
done_testing;
