#!/usr/bin/perl

# A real gdb, a program with five libraries of which none has debug information,
# and an upstream that takes connections and never answers.  gdb asks
# elfutils' client, which waits 90 s for a server that is silent, for one file
# after the other.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use POSIX ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;
use Time::HiRes qw(time);

# gdb ends within so many seconds or is killed: more than the 10 s that it may
# take on a quiet machine, and less than one library of a client that waits.
my $patience = 60;

my $t = Test::Symcache->new;
my $dir = $t->dir;

sub found_in_path { (grep { -x "$_/$_[0]" } split /:/, $ENV{PATH})[0] }

plan skip_all => "$_ is not installed"
    for grep { !found_in_path($_) } qw(cc strip gdb);
plan skip_all => 'this gdb knows no debuginfod'
    if qx(gdb --configuration) !~ /--with-debuginfod/;

my @names = map { "l$_" } 1 .. 5;
for my $name (@names) {
    $t->write_file("$name.c", "int $name(int i) { return i + 1; }\n");
    system("cd $dir && cc -g -shared -fPIC -Wl,--build-id -o lib$name.so "
           . "$name.c && strip lib$name.so") == 0 or die "cc: $?";
}
$t->write_file('p.c', join('', map { "int $_(int);\n" } @names)
    . "int main(void)\n{\n    return " . join(' + ', map { "$_(0)" } @names)
    . ";\n}\n");
system("cd $dir && cc -Wl,--build-id -Wl,-rpath,$dir -L$dir -o p p.c "
       . join(' ', map { "-l$_" } @names) . ' && strip p') == 0
    or die "cc: $?";

my $hung = Test::ScriptedServer->new(log => $t->path('hung.log'), script => sub {
    my ($c) = @_;
    1 until $c->wait_for_peer(60); # its end
    $c->close;
});

my $port = Test::Symcache::free_port();
my $config = $t->default_config($hung->url);
$config->{sources}{upstream}{layout} = 'debuginfod';
$t->start_symcached($config);
$t->start_nginx("location / {
    symcache_symbols $dir/downloads;
    symcache_pass unix:%%DIR%%/h.sock;
}", listen => "listen 127.0.0.1:$port;", address => "127.0.0.1:$port");

mkdir $t->path('home');
my $began = time;
my $pid = fork() // die "fork: $!";
if ($pid == 0) {
    $ENV{HOME} = $ENV{TMPDIR} = $ENV{XDG_CACHE_HOME} = $t->path('home');
    $ENV{DEBUGINFOD_URLS} = "http://127.0.0.1:$port";
    $ENV{DEBUGINFOD_CACHE_PATH} = $t->path('home/cache');
    delete @ENV{grep { /_proxy$/i } keys %ENV};
    open STDIN, '<', '/dev/null';
    open STDOUT, '>', $t->path('gdb.out');
    open STDERR, '>&', \*STDOUT;
    alarm $patience; # stays over exec()
    exec 'gdb', '-nx', '-batch', '-iex', 'set debuginfod enabled on',
        '-ex', 'break l5', '-ex', 'run', '-ex', 'info sharedlibrary',
        '-ex', 'kill', "$dir/p" or POSIX::_exit(127);
}
waitpid $pid, 0;
my $took = time - $began;
is $?, 0, 'gdb ends by itself';
my $out = $t->read_file('gdb.out');
my @loaded = $out =~ /\bYes .*lib(l\d)\.so$/mg;
is_deeply [sort @loaded], \@names, 'with its five libraries' or diag $out;
my $asked = () = $t->access_log =~ m{/buildid/}g;
cmp_ok $asked, '>=', 6, 'it asked for program and libraries';
diag sprintf 'gdb took %.1f s for %d questions', $took, $asked;

$hung->stop;
$t->finish;
done_testing;
