#!/usr/bin/env perl

# symcachectl on PpdbCaches: lookup against the frames that the .NET runtime
# resolved, dump against every visible point of another reader, verify.  See
# t/data/ppdb/README.md.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Test::File;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = $t->program('symcachectl');
my $data = $t->data('ppdb');

# Exit code, standard output and standard error.
sub ctl {
    my ($stdin, @args) = @_;
    $t->write_file('in', $stdin);
    my ($in, $out, $err) = map { $t->path($_) } qw(in out err);
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        open STDIN, '<', $in or die;
        open STDOUT, '>', $out or die;
        open STDERR, '>', $err or die;
        exec $ctl, @args;
        exit 127;
    }
    waitpid $pid, 0;
    return ($? >> 8, slurp($out), slurp($err));
}

sub lines { map { decode_json($_) } split /\n/, slurp("$data/$_[0]") }

for my $name (qw(weave weave-debug)) {
    my @frames = lines("$name.frames.jsonl");
    my $asked = join '', map { sprintf "%s+0x%x\n", @$_{qw(token il)} } @frames;
    my ($code, $out) = ctl($asked, 'lookup', "$data/$name.ppdbc");
    is $code, 0, "$name: lookup";
    utf8::decode($out);
    is $out, join('', map { sprintf "0x%x+0x%x\n    %s\n", hex $_->{token},
        $_->{il}, $_->{file} ? "$_->{file}:$_->{line}" : 'not found' } @frames),
        "$name: as the runtime has them";
}

my ($code, $out, $err) = ctl('', 'lookup', '--json', "$data/weave.ppdbc",
    '45+0', '0x9999+0');
is $out, <<'JSON', 'lookup --json, by rows';
{"token": "0x6000045", "il": "0x0", "language": "csharp", "file": "/_/weave/Weave.cs", "line": 39}
{"token": "0x6009999", "il": "0x0", "file": null}
JSON
is((ctl('', 'lookup', "$data/weave.ppdbc", '0x9999+0'))[0], 1, 'none is found');
for ('0x45', '+', '45+', '+0', '0x5000045+0', '0x7000000+0', '45+0x100000000',
     '45+0 ', '') {
    ($code, $out, $err) = ctl('', 'lookup', "$data/weave.ppdbc", $_);
    is $code, 2, "no place: '$_'";
    like $err, qr/no METHOD\+IL: \Q$_\E/, 'says so';
}

# Every visible point is a range; of those at one offset the last counts.

for my $name (qw(plain weave vbnote fsnote overline bare)) {
    my (%at, %files);
    for (grep { !$_->{hidden} } lines("$name.points.jsonl")) {
        $at{ sprintf '%s %08x', @$_{qw(token il)} } =
            sprintf "  0x%x+0x%x %s:%d\n", hex $_->{token}, $_->{il},
            JSON::PP->new->utf8->allow_nonref->encode($_->{doc}) =~ /"(.*)"/,
            $_->{line};
        $files{ $_->{doc} } = 1;
    }
    my ($code, $out) = ctl('', 'dump', "$data/$name.ppdbc");
    my ($head, $ranges) = split /^ranges\n/m, $out;
    is $ranges // '', join('', map { $at{$_} } sort keys %at), "$name: dump";
    like $head, qr/^files      ${\ scalar keys %files}$/m, "$name: files";
}

# verify

for my $file (sort glob "$data/*.ppdbc $data/craft/*.ppdbc") {
    my ($code, $out, $err) = ctl('', 'verify', $file);
    ok $code == 0 && $out =~ /: sound: PpdbCache, version 1, /, $file
        or diag $err;
}
my $good = slurp("$data/weave.ppdbc");
for (['cut off', 1, qr/truncated/, substr $good, 0, -1],
     ['more', 1, qr/1 bytes after the strings/, "$good\0"],
     ['another version', 4, qr/version 7/, substr($good, 0, 4) . "\7"
         . substr $good, 5],
     ['the other byte order', 4, qr/big-endian/, 'CBDP' . substr $good, 4]) {
    my ($what, $want, $re, $bytes) = @$_;
    my ($code, $out, $err) = ctl($bytes, 'verify', '-');
    is $code, $want, "verify: $what";
    like $err, $re, 'says why';
}

$t->finish;
done_testing;
