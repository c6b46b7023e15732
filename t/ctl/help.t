#!/usr/bin/env perl

# symcachectl COMMAND --help: the usage of this command and what it does, from
# the summary that symcachectl --help prints.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = $t->program('symcachectl');

sub run {
    my $err = $t->path('err');
    my $out = qx("$ctl" @_ 2>"$err" </dev/null);
    return ($? >> 8, $out, $t->read_file('err'));
}

my ($code, $all, $err) = run('--help');
is "$code$err", '0', 'the summary';
my ($usage) = $all =~ /\A(.*?)\n\n/s;
my %of = map { $_ => 1 } map { split /\|/ } $usage =~ /^(?:usage: |       )symcachectl (\S+)/mg;
my @commands = sort grep { !/^-/ } keys %of;
cmp_ok @commands, '>', 20, @commands . ' commands';
for my $command (@commands) {
    ($code, my $out, $err) = run($command, '--help');
    is "$code$err", '0', "$command --help";
    like $out, qr/\Ausage: symcachectl (?:\w+\|)*\Q$command\E\b/, '... its usage';
    my @names = $out =~ /^(?:usage: |       )symcachectl (\S+)/mg;
    is_deeply [grep { !grep { $_ eq $command } split /\|/ } @names], [],
        '... and of no other';
    like $out, qr/^\Q$command\E /m, '... and what it does';
    is +(run($command, '--bogus'))[2],
        "symcachectl $command: unknown option: --bogus\ntry: symcachectl $command --help\n",
        '... to which a wrong option leads';
    for my $line (split /\n/, $out) {
        next if $line eq '' || $line =~ /^symcachectl\(1\)/;
        ok index($all, $line =~ s/^usage: //r) >= 0, 'from the summary' or diag $line;
    }
}
is_deeply [run('-c', '/none', 'jobs')], [2, '',
    "symcachectl: no command in front of the option: -c\ntry: symcachectl --help\n"],
    'an option in front of the command';
($code, my $out) = run('retrace', '--quiet', '--help');
is "$code$out", '0' . (run('retrace', '-h'))[1], 'behind another option, and -h';
is((run('retrace', '--', '--help'))[0], 3, 'a file of this name');
for my $line ('uploads forget', 'uploads ls', 'tier ls', 'transcoder check', 'symbfile make') {
    my ($command) = split ' ', $line;
    is_deeply [run(split(' ', $line), '-h')], [run($command, '--help')], "$line -h";
}

$t->finish;
# what a full disk swallows is not said

SKIP: {
    skip 'no /dev/full', 1 unless -c '/dev/full';
    $t->write_file('c.json', '{ "stores": { "default": { "root": "' . $t->path('store')
        . '", "sources": [] } } }');
    my $config = '-c ' . $t->path('c.json');
    for (['symcachectl', 3, '--help', '-V', 'lookup --help', "clean $config", "clean --json $config"],
         ['pdb2symcache', 2, '--help', '-V'], ['symcached', 71, '-h', '--help', '-V', '--version'],
         ['symbolicated', 71, '-h', '--help', '-V', '--version']) {
        my ($name, $want, @lines) = @$_;
        my $program = $t->program($name);
        for my $line (@lines) {
            my $said = qx("$program" $line 2>&1 >/dev/full);
            is $? >> 8, $line =~ /clean/ ? 3 : $want, "$name $line, to a full disk";
            like $said, qr/^\w+: standard output: No space left on device$/m, '... why';
        }
    }
}

done_testing;
