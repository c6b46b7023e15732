#!/usr/bin/env perl

# What symcachectl says of files and folders that its user may not read.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Ctl;
use Test::File qw(slurp);
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = Test::Ctl->new($t);

$ctl->{wrapper} = [qw(setpriv --reuid=nobody --clear-groups)] if $> == 0;
plan skip_all => 'no setpriv, or no program for nobody'
    if $ctl->{wrapper} && $ctl->run('--version')->{code} != 0;

# Runs it while a path is closed.
sub closed {
    my ($path, @args) = @_;
    my $mode = (stat $t->path($path))[2] & 07777;
    chmod 0, $t->path($path) or die "$path: $!";
    my $r = $ctl->run(@args);
    chmod $mode, $t->path($path);
    return $r;
}
sub denied { my ($path) = @_; return "symcachectl: \Q${\$t->path($path)}\E: Permission denied\n" }

# --- retrace: a folder of mappings

mkdir $t->path($_) for qw(maps maps/a maps/b js);
$t->write_file('maps/a/mapping', "# pg_map_id: 0123abc\norg.Main -> a.a:\n    void in() -> a\n");
my @retrace = ('retrace', $t->path('maps'),
    $t->write_file('trace', "a.a: boom\n\tat a.a.a(r8-map-id-0123abc:1)\n"));
my $none = "symcachectl: \Q${\$t->path('maps')}\E: no mapping in it has the id 0123abc\n";
$ctl->is(closed($_, @retrace), 3, undef, qr/\A@{[denied($_)]}$none\z/, "retrace: $_ is closed")
    for qw(maps maps/a maps/a/mapping);
$ctl->is(closed('maps/b', @retrace), 0, qr/^org\.Main: boom\n/, undef,
    'retrace: another folder is closed');

# --- files

mkdir $t->path('folder');
for (['why', 2, "symcachectl why: Permission denied: \Q${\$t->path('file')}\E\n.*"],
     ['verify', 3], ['symbolicate', 3], ['minidump', 3], ['retrace', 3]) {
    my ($command, $code, $said) = @$_;
    $said //= denied('file');
    $t->write_file('file', '');
    $ctl->is(closed('file', $command, $t->path('file')), $code, undef, qr/\A$said\z/s,
        "$command: a closed file");
}
{
    local $ctl->{wrapper} = ['sh', '-c', "cd '@{[$t->dir]}' && exec \"\$@\"", 'sh', @{ $ctl->{wrapper} // [] }];
    $ctl->is(closed('file', 'why', 'file'), 2, undef, qr/^symcachectl why: Permission denied: file\n/,
        'why: one in this folder');
}
$ctl->is($ctl->run('retrace', $t->path('maps/a/mapping'), $t->path('folder')), 3, undef,
    qr/folder: Is a directory\n\z/, 'retrace: a folder as a trace');
$ctl->is($ctl->run('symbolicate', '--images', $t->path('none'), $t->path('trace')), 3, undef,
    qr/\Asymcachectl: \S+none: No such file or directory\n\z/, '--images: no such folder');

# --- symbolicate --maps

for ('', '.map') {
    $t->write_file("js/tsc.js$_", slurp($t->data("javascript/shop/tsc.js$_")));
}
my $trace = "Error: x\n    at a (https://h.example/js/tsc.js:1:1)\n";
my @maps = ('symbolicate', '--maps', $t->path('.'), $t->write_file('js.txt', $trace));
$ctl->is(closed('js', 'symbolicate', '--maps', $t->path('js'), $t->path('js.txt')), 3, undef,
    qr/\A@{[denied('js')]}\z/, '--maps: a closed folder');
my $dir = $t->path('.');
for (['js', 'js/tsc.js', 'js/tsc.js.map'], ['js/tsc.js.map', 'js/tsc.js.map']) {
    my ($path, @files) = @$_;
    my $said = join '', map { "symcachectl: \Q$dir/$_\E: Permission denied\n" } @files;
    $ctl->is(closed($path, @maps), 1, qr/\A\Q$trace\E\z/,
        qr/\A${said}symcachectl: no frame was found: /, "--maps: $path is closed");
}

$t->finish;
done_testing;
