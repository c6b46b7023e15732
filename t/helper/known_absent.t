#!/usr/bin/env perl

# A key that is known to be absent is answered from memory, for as long as its
# folder is as it was: what another machine, or an operator, puts there or
# removes counts at once.

use strict;
use warnings;

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
sub absent { folder($_[0]) . "/$_[0]-v9.0.0.absent" }

# Writes into an entry where it lies, which its folder does not show.
sub edit {
    my ($name) = @_;
    open my $fh, '+<', absent($name) or die absent($name) . ": $!";
    my $text = do { local $/; <$fh> };
    $text =~ s/\A\w+/notEntry/ or die $text;
    seek $fh, 0, 0;
    print $fh $text;
    close $fh or die;
}

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

edit('a.pdb');
is lookup('a.pdb')->{status}, 404, 'an entry is not read again';
is requests(), $asked, 'nor looked for';

$t->write_file('new', 'what another machine has made');
rename $t->path('new'), folder('b.pdb') . '/b.pdb-v9.0.0.symcache' or die $!;
is lookup('b.pdb')->{status}, 200, 'a file that comes is seen at once';
unlink folder('b.pdb') . '/b.pdb-v9.0.0.symcache' or die $!;
is lookup('b.pdb')->{status}, 404, 'and its end';
is requests(), $asked, 'the entry is still there';

unlink absent('c.pdb') or die $!;
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

# A time that is over, as of any entry.
$clock->set(10 * 86400);
$asked = requests();
is lookup('c.pdb')->{status}, 404, 'days later';
cmp_ok requests(), '>', $asked, 'it is looked for again';

$t->finish;
done_testing;
