#!/usr/bin/env perl

# CfiCaches: of a program first, which has the unwind information that a debug
# file lost; of a file without it nothing is made; beside SymCaches, each
# original is downloaded once.  No nginx here.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::DebugFile;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
plan skip_all => 'objcopy is needed'
    if system('{ command -v objcopy && command -v cc; } >/dev/null 2>&1') != 0;

# A program, and its debug file, in which .eh_frame is only named.
my ($build, $debug_id) = Test::DebugFile::make($t->dir);

my %files = ("/buildid/$build/executable" => $t->read_file('stripped'),
             "/buildid/$build/debuginfo" => $t->read_file('program.debug'));
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my $body = $files{ $req->{path} };
    $body = undef if $req->{path} =~ /executable$/ && -e $t->path('gone');
    $c->reply($body ? 200 : 404, {}, $body // '');
});

my $config = $t->default_config($web->url);
$config->{sources}{upstream}{layout} = 'debuginfod';
my $transcoder = $config->{stores}{default}{transcoders}[0];
$transcoder = { %$transcoder, inputs => ['elf', 'breakpad'],
    command => [$t->program('pdb2symcache'), '{pdb}'] };
$config->{stores}{default}{transcoders} = [$transcoder,
    { version => '1.0.0', makes => 'cficache',
      command => [$t->program('pdb2symcache'), '--kind', 'cficache',
                  '{pdb}'] }];
$t->start_symcached($config);

sub lookup {
    my ($kind, $version) = @_;
    return $t->helper('GET', "/v1/$kind/default/program/$debug_id"
        . "?version=$version&wait=60&code_id=buildid-$build");
}
sub asked { scalar grep { $_->{path} =~ m{/$_[0]$} } $web->requests }

my $r = lookup('cficache', '1.0.0');
is $r->{status}, 200, 'a CfiCache is made' or diag $r->{raw};
is asked('executable'), 1, 'of the program';
is asked('debuginfo'), 0, 'and the debug file is not asked for';
is lookup('symcache', '9.0.0')->{status}, 200, 'then a SymCache';
is asked('debuginfo'), 1, 'of the debug file';
is asked('executable'), 1, 'each of them is downloaded once';
ok -f $t->path("downloads/default/program/$debug_id/program.executable"),
    'the program has a place of its own';
ok -f $t->path("downloads/default/program/$debug_id/program"),
    'beside that of the debug file';

# --- the program is gone: the debug file is of no use

$t->write_file('gone', '');
$t->stop_symcached;
Test::Symcache::remove_tree($t->path($_)) for 'store', 'downloads';
$t->start_symcached($config);
is lookup('symcache', '9.0.0')->{status}, 200, 'a SymCache of the debug file';
$r = lookup('cficache', '1.0.0');
is $r->{status}, 404, 'no CfiCache, whatever is among the downloads';
is Test::Symcache::header($r, 'X-Symcache-Reason'), 'notfound',
    'as no source has unwind information';
my $why = $t->helper_json("/v1/why/default/program/$debug_id?kind=cficache");
ok scalar(grep { $_->{detail} eq 'no unwind information' }
        @{ $why->{attempts} }), 'why says so'
    or diag explain $why->{attempts};
{
    my @command = ($t->program('symcachectl'), 'why', '--socket',
        $t->helper_socket, '--kind', 'cficache', "program/$debug_id");
    my $said = qx(@command 2>&1);
    is $? >> 8, 1, 'symcachectl why: there is none';
    like $said, qr/not cached/, 'it says so';
    like $said, qr/no unwind information/, 'and why';
}

# --- our converter without a path makes every kind, without a line for each

unlink $t->path('gone');
$t->stop_symcached;
Test::Symcache::remove_tree($t->path($_)) for 'store', 'downloads';
$config->{stores}{default}{transcoders} = [{ %$transcoder,
    command => ['pdb2symcache', '{pdb}'] }];
$t->start_symcached($config);
is lookup('symcache', '9.0.0')->{status}, 200, 'a SymCache by its name alone';
$r = lookup('cficache', '1.0.0');
is $r->{status}, 200, 'a CfiCache, too' or diag $r->{raw};

$config->{stores}{default}{transcoders}[0]{makes} = 'symcache';
$t->reload_symcached($config);
Test::Symcache::remove_tree($t->path('store'));
mkdir $t->path('store');
is Test::Symcache::header(lookup('cficache', '1.0.0'), 'X-Symcache-Reason'),
    'no-transcoder', 'but not if "makes" names one kind';

is $t->stop_symcached, 0, 'symcached stops';
$t->finish;
done_testing;
