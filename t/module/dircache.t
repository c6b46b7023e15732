# Without a zone a worker remembers what is in the folders that it has read,
# and never shows what is not there any more or not what has come.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Test::More;
use Test::ModuleCase;

my $t = Test::ModuleCase->new;
my $guid = $Test::ModuleCase::guid;

$t->start_nginx(<<'EON', workers => 1, http => 'symcache_zone off;');
    location /s/ { symcache %%DIR%%/store; }
    location /t/ { symcache %%DIR%%/other; }
EON

my @names = map { "m$_.pdb" } 1 .. 12;
sub put { $t->put($_[1], $_[2], key => "$_[0]/${guid}1A") }
sub file { $t->path("store/$_[0]/${guid}1A/$_[0]-v$_[1].symcache") }
sub body { $t->get($t->uri($_[1] // '3.9.0', pdb => $_[0]))->{body} }

put($_, '3.1.0', "one $_") for @names;

# a portable PDB, of which both caches are made, has one folder for both
my $both = "both.pdb/${guid}FFFFFFFF";
$t->put('3.1.0', 'of SymCache', key => $both);
$t->write_file("store/$both/both.pdb-v1.0.0.ppdbcache", 'of PpdbCache');

# a folder is only remembered when it has rested for two seconds

$t->wait_until('the folders are old enough', sub {
    return !grep { time - (stat $t->path("store/$_"))[10] < 4 }
        $both, map { "$_/${guid}1A" } @names;
});
for my $turn (1 .. 3) {
    is scalar(grep { body($_) ne "one $_" } @names), 0, "turn $turn";
    is $t->get("/s/v3.1.0/both.pdb/$guid/4294967295")->{body}, 'of SymCache',
        "turn $turn: a SymCache";
    is $t->get("/s/ppdb/v1.0.0/both.pdb/$guid")->{body}, 'of PpdbCache',
        "turn $turn: a PpdbCache in the same folder";
}

my ($more, $less, $empty, $gone, $same) = @names;
put($more, '3.2.0', 'two');
is body($more), 'two', 'a new version is seen at once';
is body($more, '3.2.1'), 'two', 'and again';
put($less, '3.0.5', 'old');
is body($less), "one $less", 'an older one does not matter';
unlink file($less, '3.1.0') or die;
is body($less), 'old', 'until the newer one is gone';
unlink file($empty, '3.1.0') or die;
is $t->get($t->uri('3.9.0', pdb => $empty))->{status}, 404, 'the last one';
Test::Symcache::remove_tree($t->path("store/$gone"));
is $t->get($t->uri('3.9.0', pdb => $gone))->{status}, 404, 'a folder that went';
put($gone, '3.3.0', 'anew');
is body($gone), 'anew', 'and came back';

unlink file($same, '3.1.0') or die;
put($same, '3.1.0', 'other');
is body($same), 'other', 'the same version, another file';

is $t->get($t->uri('2.0.0', pdb => $names[6]))->{status}, 404,
    'versions are chosen for each client';
is $t->get("/t/v3.9.0/$names[6]/$guid/26")->{status}, 404,
    'another root has other folders';
is scalar(grep { body($_) ne "one $_" } @names[5 .. 11]), 0, 'the others';

$t->finish;
done_testing;
