#!/usr/bin/perl

# An ELF file that dwz has compressed has a second original, with what several
# share: it is asked for by its build id, and its names are in the SymCache.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;
use Test::Uploads;

for my $tool (qw(g++ dwz readelf)) {
    plan skip_all => "no $tool" if system("$tool --version >/dev/null 2>&1");
}

my $t = Test::Symcache->new;
my $dir = $t->path('make');
mkdir $dir or die $!;

sub run {
    my ($command) = @_;
    my $out = qx(cd $dir && $command);
    die "$command: $?" if $?;
    return $out;
}

for ('a', 'b') {
    $t->write_file("make/$_.cc", <<"EOF");
#include <string>
#include <vector>
int main(int argc, char **argv)
{
    std::vector<std::string> all;
    for (int i = 0; i < argc; i++) all.push_back(argv[i] + std::string("$_"));
    return (int)all.size() > 3;
}
EOF
    run("g++ -O2 -g -Wl,--build-id -o $_ $_.cc");
}
run('dwz -m common.debug a b');

sub build_id {
    my ($file) = @_;
    my ($id) = run("readelf -n $file") =~ /Build ID: (\w+)/ or die;
    return $id;
}

# The debug id that follows from a build id.
sub debug_id {
    my @b = unpack '(A2)16', $_[0];
    return uc(join '', @b[3, 2, 1, 0, 5, 4, 7, 6, 8 .. 15]) . '0';
}

sub put {
    my ($folder, $file) = @_;
    $t->write_file("$folder/_.debug/elf-buildid-sym-" . build_id($file)
        . '/_.debug', $t->read_file("$dir/$file"));
}
put('both', 'a');
put('both', 'common.debug');
put('one', 'a');

# With one run at a time, as a job that converts twice must not wait for itself.
my %config = (sources => {}, stores => {});
for my $name ('both', 'one') {
    $config{sources}{$name} = { type => 'filesystem', layout => 'ssqp',
        path => $t->path($name) };
    $config{stores}{$name} = { root => $t->path("stores/$name"),
        sources => [$name], transcoders => [{ version => '9.0.0',
            parallel => 1, inputs => ['elf'],
            command => ['pdb2symcache', '-pdb', '{pdb}'] }] };
}
$config{stores}{like} = { %{ $config{stores}{both} },
    root => $t->path('stores/like'), transcoders => [{ version => '9.0.0',
        inputs => ['elf'], command => ['pdb2symcache', '--like-symbolic',
                                       '-pdb', '{pdb}'] }] };
my ($a, $common) = (build_id('a'), build_id('common.debug'));
my $held = Test::ScriptedServer->new(log => $t->path('held'), script => sub {
    my ($c, $req) = @_;
    return $c->reply(404, {}, '') if $req->{path} !~ /\Q$common\E/;
    select undef, undef, undef, 0.01 until -e $t->path('sign');
    $c->reply(200, {}, $t->read_file("$dir/common.debug"));
});
$config{sources}{held} = { type => 'http', layout => 'ssqp',
    url => $held->url, internal => JSON::PP::true() };
$config{stores}{held} = { %{ $config{stores}{one} },
    root => $t->path('stores/held'), sources => ['one', 'held'] };
local $ENV{PATH} = $t->program('') . ":$ENV{PATH}";
$t->start_symcached(\%config);

my $id = debug_id($a);

sub made {
    my ($store) = @_;
    my $r = $t->helper('GET', "/v1/symcache/$store/a/$id?version=9.0.0"
        . "&wait=60&code_id=buildid-$a");
    is $r->{status}, 200, "$store: a SymCache" or diag $r->{body};
    return $t->read_file($t->path("stores/$store/a/$id/a-v9.0.0.symcache"));
}

# What the converter makes when it is told where the file is, or is not.
sub expected {
    my (@options) = @_;
    run(join ' ', $t->program('pdb2symcache'), @options, '-o out a 2>&1');
    return $t->read_file("$dir/out");
}

my ($with, $without) = (expected('--altlink common.debug'),
                        expected('--altlink /nowhere'));
ok $with ne $without, 'names are in the common file';
ok made('both') eq $with, 'it is fetched, and its names are there';
ok -s $t->path("downloads/both/_/buildid-$common/_"),
    'it is among the downloads, for debuggers, too';
ok made('one') eq $without, 'where nobody has it, there is a SymCache';
like $t->helper_log, qr/job one\S*: the file of dwz is not to be had/,
    'and the log says what is missing';
ok made('like') eq expected('--like-symbolic'), '--like-symbolic asks for none';
ok !-e $t->path("downloads/like/_/buildid-$common"), 'no file is fetched';

# A question by another way, while the file is being fetched, is no reason to
# ask the sources of the job again.
my $path = "/v1/symcache/held/a/$id?version=9.0.0&code_id=buildid-$a";
my $s = $t->open_http($t->helper_socket, 'GET', "$path&wait=600");
$t->wait_until('the common file is asked for', sub {
    grep { $_->{path} =~ /\Q$common\E/ } $held->requests;
});
is $t->helper('GET', $path, 'X-Symcache-Via: 0000000000000001')->{status}, 202,
    'a job runs';
my ($job) = grep { $_->{key} =~ /^a\// }
    @{ $t->helper_json('/v1/jobs')->{jobs} };
is $job->{state}, 'waits for a SymCache server', 'and waits';
$t->write_file('sign', '');
is $t->read_response($s)->{status}, 200, 'the file comes';
ok $t->read_file($t->path("stores/held/a/$id/a-v9.0.0.symcache")) eq $with,
    'with all names';
$held->stop;

# --- DWARF 5: a checksum in .debug_sup takes the place of the build id

SKIP: {
    skip 'dwz does not write DWARF 5', 4
        if system("cd $dir && for i in a b; do g++ -O2 -g -gdwarf-5 -Wl,--build-id -o \$i \$i.cc; done"
            . " && dwz --dwarf-5 -m common5.debug a b 2>/dev/null") != 0;
    my ($sum) = $t->read_file('make/common5.debug') =~ /\x05\0\x01\0\x14(.{20})/s;
    skip 'dwz writes no checksum of 20 bytes', 4 if !defined $sum;
    $sum = unpack 'H*', $sum;
    unlike run('readelf -n common5.debug 2>/dev/null'), qr/Build ID/, 'its file has no build id';
    ($a, $id) = (build_id('a'), debug_id(build_id('a')));
    put('both', 'a');
    $t->write_file("both/_.debug/elf-buildid-sym-$sum/_.debug", $t->read_file("$dir/common5.debug"));
    my $whole = expected('--altlink common5.debug');
    ok $whole ne expected('--altlink /nowhere'), 'names are in it';
    ok made('both') eq $whole, 'it is found by its checksum, and its names are there';
}

# --- one that comes later: among uploads, for all modules of it, and at a source

my $u = Test::Uploads->new(inputs => ['elf'], cache => { retry_misses_after => '1s' });
my $h = $u->t;
run('for i in a b; do g++ -O2 -g -gdwarf-4 -Wl,--build-id -o $i $i.cc; done && dwz -m common.debug a b');
my @modules = map { my $build = build_id($_); { name => $_, build => $build, id => debug_id($build),
    whole => converted("$_ --altlink common.debug"), half => converted("$_ --altlink /nowhere") } } 'a', 'b';
sub converted {
    run($t->program('pdb2symcache') . " -o out $_[0] 2>&1");
    return $t->read_file("$dir/out");
}
sub upload {
    my ($file) = @_;
    my $r = $u->put('_.debug/elf-buildid-sym-' . build_id($file) . '/_.debug', $t->read_file("$dir/$file"));
    is $r->{status}, 201, "$file is uploaded" or diag $r->{body};
}
sub now {
    my ($module) = @_;
    $h->http($h->helper_socket, 'GET', "/v1/symcache/default/$module->{name}/$module->{id}"
        . "?version=9.0.0&wait=60&code_id=buildid-$module->{build}");
    return $h->read_file("store/$module->{name}/$module->{id}/$module->{name}-v9.0.0.symcache");
}
upload($_->{name}) for @modules;
ok now($_) eq $_->{half}, "$_->{name}: its common file is nowhere" for @modules;
upload('common.debug');
ok now($_) eq $_->{whole}, "$_->{name}: and is used at once when it was uploaded" for @modules;

my $late = $u->config;
$late->{sources}{late} = { type => 'filesystem', layout => 'build_id', path => $h->path('late') };
$late->{stores}{default}{sources} = ['late'];
$late->{stores}{default}{root} = $h->path('store2');
$late->{downloads} = $h->path('downloads2');
$h->stop_symcached;
sub late { $h->write_file('late/' . substr($_[0], 0, 2) . '/' . substr($_[0], 2) . '.debug',
    $t->read_file("$dir/$_[1]")) }
late($_->{build}, $_->{name}) for @modules;
$h->start_symcached($late);
sub later { now($_[0]); $h->read_file("store2/$_[0]{name}/$_[0]{id}/$_[0]{name}-v9.0.0.symcache") }
ok later($modules[0]) eq $modules[0]{half}, 'nor does a source have it';
late(build_id('common.debug'), 'common.debug');
$h->wait_until('the common file of a source is used', sub { later($modules[0]) eq $modules[0]{whole} });
pass 'one that a source has later is asked for when the SymCache is used';

# --- machines with a tier: none takes from it what lacks names

my $m2 = Test::Symcache->new;
mkdir $m2->path($_) or die for 'uploads', 'empty';
mkdir $h->path('tier') or die;
my @peers = map { 'unix:' . $_->path('a.sock') } $h, $m2;
sub start_with_tier {
    my ($m) = @_;
    my $c = $u->config_of($m);
    $c->{uploads}{peers} = \@peers;
    $c->{tiers}{fleet} = { type => 'filesystem', path => $h->path('tier') };
    $c->{stores}{default}{tier} = 'fleet';
    $c->{stores}{default}{transcoders}[0]{command} = ['pdb2symcache', '-pdb', '{pdb}'];
    $m->start_symcached($c);
}
run("for i in a b; do echo 'int more;' >>\$i.cc; g++ -O2 -g -gdwarf-4 -Wl,--build-id -o \$i \$i.cc; done"
    . ' && dwz -m common.debug a b');
my $build = build_id('a');
my %module = (name => 'a', build => $build, id => debug_id($build), whole => converted('a --altlink common.debug'),
    half => converted('a --altlink /nowhere'));
$h->stop_symcached;
start_with_tier($_) for $h, $m2;
upload('a');
ok now(\%module) eq $module{half}, 'a file that lacks names';
$h->stop_symcached; # it has stored what it stores
start_with_tier($h);
sub now2 {
    $m2->helper('GET', "/v1/symcache/default/a/$module{id}?version=9.0.0&wait=60&code_id=buildid-$build");
    return $m2->read_file("store/a/$module{id}/a-v9.0.0.symcache");
}
ok now2() eq $module{half}, '... also at another machine';
upload('common.debug');
ok now2() eq $module{whole}, '... which has them at once when the common file was uploaded';
ok now(\%module) eq $module{whole}, '... and so has the first';
$h->stop_symcached;
ok -f $h->path("tier/1/default/a/$module{id}/v9.0.0.symcache"), 'what lacks none is in the tier';
$m2->stop_symcached;
$m2->finish;
$h->finish;

$t->finish;
done_testing;
