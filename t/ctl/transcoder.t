#!/usr/bin/perl

# symcachectl transcoder: runs what the configuration has, and tells of it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $ctl = $t->program('symcachectl');

my $script = $t->write_file('own', <<'SH');
#!/bin/sh
if [ "$1" = --init ]; then
    [ $# = 1 ] && echo "made for $OWN_PLACE" && exit "${OWN_CODE:-0}"
fi
[ "$OWN_PLACE" = here ] || { echo "not here" >&2; exit 75; }
cp "$1" "$_NT_SYMCACHE_PATH/$(basename "$1")-v3.1.0.symcache"
SH
chmod 0755, $script;

# (exit code, output)
sub run {
    my ($args, %env) = @_;
    my %all = ($t->sanitizer_env(0), PATH => "$Test::Symcache::build:$ENV{PATH}", %env);
    local @ENV{keys %all} = values %all;
    my $out = qx($ctl transcoder $args 2>&1);
    return ($? >> 8, $out);
}

sub config {
    my (%env) = @_;
    $t->write_helper_config({ stores => { main => { root => "$dir/store",
        transcoders => [
            { version => '9.0.0', command => ['pdb2symcache', '-pdb', '{pdb}'] },
            { version => '3.1.0', command => [$script, '{pdb}'], env => \%env },
        ] } } });
}
mkdir "$dir/store" or die "store: $!";

config(OWN_PLACE => 'here');
my ($code, $out) = run("check -c $dir/symcached.json");
is $code, 0, 'both convert';
my $took = qr/\d+\.\d\d s, largest process \d+ MB\n/;
like $out, qr/^main, 9\.0\.0, pdb2symcache, profile none: 9\.0\.0, \d+ bytes; ${took}main, 3\.1\.0, own, profile none: 3\.1\.0, \d+ bytes; $took\z/,
    'and it is told what they gave and took';
my ($bytes) = $out =~ /own.*, (\d+) bytes/;
is $bytes, -s $t->program('canary.pdb'), 'the small PDB';
is_deeply [glob "$dir/store/* $dir/store/.tmp/*"], [], 'nothing is left';

($code, $out) = run("check -c $dir/symcached.json own");
like $out, qr/^main, 3\.1\.0, own, [^\n]*\n\z/, 'one of them';
$t->write_helper_config({ stores => { main => { root => "$dir/store", transcoders =>
    [{ version => '3.2.0', command => [$script, '{pdb}'], env => { OWN_PLACE => 'here' } }] } } });
($code, $out) = run("check -c $dir/symcached.json");
is $code, 1, 'another version than the configuration names fails';
like $out, qr/: 3\.1\.0, \d+ bytes[^\n]*\nfailed: it makes 3\.1\.0, so that has to be its "version" in the configuration\n\z/,
    'and both are told';
config(OWN_PLACE => 'here');

($code, $out) = run("init -c $dir/symcached.json own");
is $code, 0, 'one is made ready';
is $out, "main, 3.1.0, own, profile none: made for here\n", 'in its environment';

config(OWN_PLACE => 'there', OWN_CODE => '5');
($code, $out) = run("check -c $dir/symcached.json");
is $code, 1, 'one fails';
like $out, qr/own, profile none: failed: exit code 75, not the file's fault: not here\n\z/,
    'which is told';
is_deeply [glob "$dir/store/* $dir/store/.tmp/*"], [], 'nothing is left';
($code) = run("init -c $dir/symcached.json own");
is $code, 1, 'one cannot be made ready';
($code, $out) = run("check -c $dir/symcached.json none");
is $code, 1, 'a name that none has';
like $out, qr/no transcoder is called none/, 'which is told';
($code, $out) = run("check -c $dir/nowhere.json");
is $code, 1, 'no configuration';

for ('', 'other', 'init', 'check a b', 'check -x') {
    ($code) = run($_);
    is $code, 2, "wrong: \"$_\"";
}

$t->finish;
done_testing;
