#!/usr/bin/env perl

# A SymCache that was made of the symbols of a program becomes a better one when
# a source gets the debug file.  What is published has the digest of the
# reference's output (t/convert/manifest.tsv).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

plan skip_all => 'no zstd' if system('zstd --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
plan skip_all => 'this file system has no extended attributes'
    if !$t->has_attributes;
my %digest = map { (split /\t/)[1, 5] } grep { m{/convert/elf/} } split /\n/,
    $t->read_file($t->data('../convert/manifest.tsv'));

sub fixture { scalar qx(zstd -qdc '@{[ $t->data("convert/elf/$_[0]") ]}.zst') }
sub digest_of { $digest{"t/data/convert/elf/$_[0].zst"} // die $_[0] }

# as readelf -n prints it
my $build = '1c173970c5036d4f995668e6b9d8b69be6f25277';
my $id = '7039171C03C54F6D995668E6B9D8B69B0';
my $name = 'libelf.so';
my %file = (program => 'executable', debug => 'debuginfo');

sub put {
    my ($source, $what, $body) = @_;
    $t->write_file("$source/buildid/$build/$file{$what}", $body);
}

my $config = $t->default_config('');
$config->{stores}{default}{transcoders}[0]{inputs} = ['elf'];
$config->{stores}{default}{sources} = ['first', 'second'];
$config->{sources} = { map { $_ => { type => 'filesystem',
    layout => 'debuginfod', path => $t->path($_) } } qw(first second) };
$config->{cache}{retry_misses_after} = '1h';
for my $store (qw(second used)) {
    $config->{stores}{$store} = { %{ $config->{stores}{default} },
        root => $t->path($store . '-store') };
}
$config->{stores}{second}{sources} = ['other', 'second'];
$config->{sources}{other} = { %{ $config->{sources}{first} },
                              path => $t->path('other') };
$config->{symbolication} = { stores => ['used'] };
mkdir $t->path($_) for qw(first second other);
$t->start_symcached($config);

sub lookup {
    my ($store) = @_;
    return $t->helper('GET', "/v1/symcache/$store/$name/$id?version=9.0.0"
        . "&wait=60&code_id=buildid-$build")->{status};
}
sub root { $_[0] eq 'default' ? 'store' : "$_[0]-store" }
sub file { $t->path(root($_[0]) . "/$name/$id/$name-v9.0.0.symcache") }
sub made { $t->sha256($t->read_file(file($_[0])) // '') }
sub asked { $t->metric('symcached_better_asked_total') }
sub found { $t->metric('symcached_better_found_total') }
sub why { $t->helper_json("/v1/why/$_[0]/$name/$id") }

# With an interval of a second, as an hour is too long for a test.
sub soon {
    my ($every) = @_;
    $config->{cache}{retry_misses_after} = $every;
    $t->reload_symcached($config);
}
sub asked_again {
    my ($store) = @_;
    my $before = asked();
    $t->wait_until('a hit asks again', sub {
        lookup($store) == 200 && asked() > $before });
    $t->wait_until('no job', sub { !$t->helper_json('/v1/jobs')->{total} });
}

put('first', 'program', fixture('stripped.so'));
is lookup('default'), 200, 'a program with symbols only';
is made('default'), digest_of('stripped.so'), 'is converted';
ok why('default')->{files}[0]{publics_only}, 'and this is known of it';
ok why('default')->{files}[0]{checked}, 'and when it was looked for better';
is lookup('default'), 200, 'a hit within the hour';
is asked(), 0, 'asks nobody';

# The debug file is looked for, and the program is not received again.
soon('1s');
asked_again('default');
is found(), 0, 'there is no debug file yet';
is_deeply [grep { $_->{place} =~ /executable/ }
           @{ why('default')->{attempts} }], [], 'the program is left alone';
ok @{ why('default')->{attempts} }, 'though both sources are asked';
is made('default'), digest_of('stripped.so'), 'the file stays';

# A damaged one changes nothing.
my $debug = fixture('gcc-5.debug');
(my $damaged = $debug)
    =~ s/.{4}(?=\x05\0\x01\x08)/\xf0\xff\xff\xff/s or die 'no unit';
put('first', 'debug', $damaged);
asked_again('default');
is made('default'), digest_of('stripped.so'), 'nor for a damaged one';
is lookup('default'), 200, 'which is still served';
is found(), 0, 'nothing was found';

# A stripped one is not better.
put('first', 'debug', fixture('stripped.so'));
asked_again('default');
is found(), 0, 'nor are the same symbols at another place';

put('second', 'debug', $debug);
asked_again('default');
is made('default'), digest_of('gcc-5.so'), 'the debug file of another source';
is found(), 1, 'is better';
ok !why('default')->{files}[0]{publics_only}, 'and this is known of it';
is why('default')->{files}[0]{source}, 'second', 'as is its source';

# A source that is behind the one with the program, and none before it.
soon('1h');
unlink $t->path("second/buildid/$build/debuginfo") or die;
put('other', 'program', fixture('stripped.so'));
is lookup('second'), 200, 'a program of the first source';
is made('second'), digest_of('stripped.so'), 'with symbols only';
put('second', 'debug', $debug);
soon('1s');
asked_again('second');
is made('second'), digest_of('gcc-5.so'), 'all sources are asked';

# A machine that has the file from a tier knows that it is of a program.
soon('1h');
unlink $t->path("$_/buildid/$build/debuginfo") for qw(first second);
mkdir $t->path('tier') or die;
$config->{tiers}{fleet} = { type => 'filesystem', path => $t->path('tier') };
$config->{stores}{default}{tier} = 'fleet';
sub machine {
    my ($n) = @_;
    $config->{stores}{default}{root} = $t->path("store$n");
    $config->{downloads} = $t->path("downloads$n");
    $t->stop_symcached;
    $t->start_symcached($config);
}
sub made_here { $t->sha256($t->read_file("store$_[0]/$name/$id/$name-v9.0.0.symcache") // '') }
machine(1);
is lookup('default'), 200, 'a fleet: made by the first machine';
$t->wait_until('which stores it', sub { $t->metric('symcached_tier_puts_total{result="stored"}') });
machine(2);
is lookup('default'), 200, 'taken by another';
is $t->metric('symcached_tier_gets_total{result="hit"}'), 1, '... from the tier';
is made_here(2), digest_of('stripped.so'), '... with symbols only';
put('first', 'debug', $debug);
soon('1s');
asked_again('default');
is made_here(2), digest_of('gcc-5.so'), 'it finds the debug file at the same source';
$config->{stores}{default}{root} = $t->path('store');
delete $config->{stores}{default}{tier};
$t->reload_symcached($config);

# symbolicated tells of its uses, and of the code id.
soon('1h');
unlink $t->path("$_/buildid/$build/debuginfo") for qw(first second);
is lookup('used'), 200, 'a store that symbolicated reads';
is made('used'), digest_of('stripped.so'), 'has symbols only';
my $checked = why('used')->{files}[0]{checked};
put('first', 'debug', $debug);
soon('1s');
$t->wait_until('the second is over', sub { time > $checked + 1 });
$t->start_symbolicated;

# As t/symbolicated/native.t has it.
sub line {
    my $r = $t->post($t->symbolicated_socket, '/symbolicate', qq({
        "modules": [{ "type": "elf", "code_id": "$build",
            "code_file": "/lib/$name", "image_addr": "0x100000",
            "image_size": 65536 }],
        "stacktraces": [{ "frames": [{ "instruction_addr": "0x102889" }] }] }),
        'Content-Type: application/json');
    return $r->{body} =~ /"lineno":(\d+)/ ? $1 : 0;
}
my $before = asked();
is line(), 0, 'no lines of it';
$t->wait_until('its use asks for the debug file', sub { asked() > $before });
$t->wait_until('the new file is read', sub { line() });
is line(), 14, 'which has the lines';

$t->finish;
done_testing;
