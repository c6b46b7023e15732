#!/usr/bin/env perl

# A key that is known to be absent is answered from memory, and has neither a file
# nor a folder of its own.  What another machine, or an operator, puts into its
# folder or takes out of the journal counts at once.

use strict;
use warnings;

use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Clock;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $clock = Test::Clock->new($t) or plan skip_all => Test::Clock::why();
my $id = $Test::Symcache::key{'crash.pdb'};

my $server = Test::ScriptedServer->new(log => $t->path('requests'),
                                       script => sub {
    $_[0]->reply(404, {}, '');
});
my $config = $t->default_config($server->{url});
$config->{sources}{upstream}{forms} = ['plain'];
$t->start_symcached($config, env => $clock->env);

sub lookup {
    my ($name, $kind) = @_;
    $kind //= 'symcache';
    return $t->helper('GET', "/v1/$kind/default/$name/$id?version="
        . ($kind eq 'symcache' ? '9.0.0' : '1.0.0') . '&wait=60');
}
sub requests { scalar(() = $server->requests) }
sub folder { $t->path("store/$_[0]/$id") }
sub absent { "store/$_[0]/$id/$_[0]-v9.0.0.absent" }

for my $name (qw(a.pdb b.pdb c.pdb d.pdb)) {
    is lookup($name)->{status}, 404, "$name is absent";
}
$clock->set(10); # their folders did not change for a while
my $asked = requests();
for my $name (qw(a.pdb b.pdb c.pdb d.pdb)) {
    is lookup($name)->{status}, 404, "$name is known to be";
    is lookup($name)->{status}, 404, 'and once more';
}
is requests(), $asked, 'without a request';

is_deeply [glob $t->path('store/*')], [], 'none has a folder';

$t->write_file('new', 'what another machine has made');
make_path(folder('b.pdb'));
rename $t->path('new'), folder('b.pdb') . '/b.pdb-v9.0.0.symcache' or die $!;
is lookup('b.pdb')->{status}, 200, 'a file that comes is seen at once';
unlink folder('b.pdb') . '/b.pdb-v9.0.0.symcache' or die $!;
is lookup('b.pdb')->{status}, 404, 'and its end';
is requests(), $asked, 'the entry is still there';

$t->remove_absence(absent('c.pdb'));
is lookup('c.pdb')->{status}, 404, 'an entry that was removed';
cmp_ok requests(), '>', $asked, 'has the source asked';

$asked = requests();
like $t->helper('POST', "/v1/forget/default/d.pdb/$id")->{body},
    qr/"forgotten":\s*1\b/, 'one that is forgotten';
is lookup('d.pdb')->{status}, 404, 'is absent still';
cmp_ok requests(), '>', $asked, 'which the source says';

$asked = requests();
is lookup('d.pdb', 'debuginfo')->{status}, 404, 'the original of a known one';
cmp_ok requests(), '>', $asked, 'is looked for';

# A machine that crashes while a line is written: the others are still known.
for my $name (qw(e.pdb f.pdb)) {
    is lookup($name)->{status}, 404, "$name is absent";
}
my $pid = delete $t->{helper};
kill 'KILL', $pid;
waitpid $pid, 0;
$t->write_file('store/.absent',
    $t->read_file('store/.absent') =~ s/f\.pdb.{20}\K.*\z//sr . "\0" x 20);
$t->start_symcached($config, env => $clock->env);
$t->wait_until('what it left is cleared', sub {
    !grep { @$_ > 1 } map { [glob $t->path("$_/.tmp/run-*")] } qw(store downloads)
});
$asked = requests();
is lookup('e.pdb')->{status}, 404, 'after a crash one is known';
is requests(), $asked, 'without a request';
is lookup('f.pdb')->{status}, 404, 'and one whose line was cut off';
cmp_ok requests(), '>', $asked, 'is looked for';
$asked = requests();
is lookup($_)->{status}, 404, "$_ is known from then on" for qw(e.pdb f.pdb);
is requests(), $asked, 'without a request';

# A time that is over, as of any entry.
$clock->set(10 * 86400);
$asked = requests();
is lookup('c.pdb')->{status}, 404, 'days later';
cmp_ok requests(), '>', $asked, 'it is looked for again';

$t->finish;
done_testing;
