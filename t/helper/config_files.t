#!/usr/bin/env perl

# What is wrong in the files and lists that a configuration names: tokens and
# rights of uploads, secrets, keys, symbol paths, patterns.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX ();
use Test::Configuration qw(refused);
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $token = '0123456789abcdef';
delete $ENV{SYMCACHE_T_UNSET};
local $ENV{SYMCACHE_T_EMPTY} = '';
local $ENV{SYMCACHE_T_CONTROL} = "a\x01b";
local $ENV{SYMCACHE_T_LONG} = 'x' x 8192;

my $good = { stores => { default => { root => $t->path('store') } } };
$t->allow_log(qr/the old configuration stays/);
$t->start_symcached($good);

# the list of tokens: what stands in it, line, reason

my $line = 'a line is "TOKEN upload USER" or "TOKEN try USER"';
my $length = 'a token has 16 characters or more, and no "-"';
my @tokens = (
    ["$token upload\n", 1, $line],
    ["$token\n", 1, $line],
    ["$token", 1, $line],
    ["# a\n\n$token upload u\n$token try u x\n", 4, $line],
    ["short upload user\n", 1, $length],
    ["$token\-x upload user\n", 1, $length],
    ["$token write user\n", 1, 'the right is "upload" or "try"'],
    ["$token UPLOAD user\n", 1, 'the right is "upload" or "try"'],
    ["$token upload u\n" . 'x' x 600, 2, 'a line is too long'],
    ["$token upload u\n" . 'x' x 511, 2, 'a line is too long'],
    ["$token upload u\0ser\n", 1, 'has a NUL byte'],
    ["$token try u\n" x 10001, 10001, 'there are too many tokens'],
);
my $list = $t->path('tokens');

sub uploads {
    my ($tokens) = @_;
    return { %$good, uploads => { root => $t->path('up'), tokens => $tokens } };
}

for (@tokens) {
    my ($text, $n, $reason) = @$_;
    $t->write_file('tokens', $text);
    refused($t, uploads("\@$list"),
        qr/FILE:\d+: uploads\.tokens: \Q$list:$n: $reason\E/,
        'tokens: ' . substr($text, -60) =~ s/[^ -~]/./gr);
}
unlink $list;
refused($t, uploads("\@$list"),
    qr/FILE:\d+: uploads\.tokens: \Q$list\E: No such file/, 'no tokens');
refused($t, uploads("\@$dir"),
    qr/FILE:\d+: uploads\.tokens: \Q$dir:1: Is a directory\E/, 'a folder');
refused($t, uploads($token),
    qr/FILE:\d+: uploads\.tokens: must be "@" and the absolute path of a file/,
    'tokens in the configuration');

# secrets: where the key is, with its reason

my $file = $t->path('secret');
my @secrets = (
    ['$SYMCACHE_T_UNSET', undef, '$SYMCACHE_T_UNSET is not set'],
    ['$SYMCACHE_T_EMPTY', undef, '$SYMCACHE_T_EMPTY is not set'],
    ['a${SYMCACHE_T_UNSET', undef, '"$" needs a variable name'],
    ['$' . 'X' x 128, undef, '"$" needs a variable name'],
    ['a$', undef, '"$" needs a variable name'],
    ['a$SYMCACHE_T_CONTROL', undef, 'has a control character'],
    ['$SYMCACHE_T_LONG', undef, 'is too long'],
    ['x' x 8192, undef, 'is too long'],
    ["\@$file", undef, "\"$file\" cannot be read: No such file"],
    ["\@$dir", undef, "\"$dir\" cannot be read: Is a directory"],
    ["\@$file", '', "the first line of \"$file\" is empty"],
    ["\@$file", "\r\nx", "the first line of \"$file\" is empty"],
    ["\@$file", "a\x7fb\n", 'has a control character'],
    ["\@$file", 'x' x 8192, "the first line of \"$file\" is too long"],
);

sub sources {
    my (%source) = @_;
    return { %$good, sources => { s => { %source } } };
}

my %http = (type => 'http', url => 'http://h/s');
my %s3 = (type => 's3', bucket => 'b', region => 'r');
my %gcs = (type => 'gcs', bucket => 'b');
my %azure = (type => 'azure', account => 'account', container => 'container');
my @places = (
    ['listen_token', sub { return { %$good, listen_token => $_[0] } }],
    ['sources.s.headers.A', sub { sources(%http, headers => { A => $_[0] }) }],
    ['sources.s.auth.password', sub { sources(%http, auth => {
        type => 'basic', user => 'u', password => $_[0] }) }],
    ['sources.s.auth.token', sub { sources(%http, auth => {
        type => 'bearer', token => $_[0] }) }],
    ['sources.s.tls.key_password', sub { sources(%http, tls => {
        key_password => $_[0] }) }],
    ['sources.s.proxy', sub { sources(%http, proxy => $_[0]) }],
    ['sources.s.access_key', sub { sources(%s3, access_key => $_[0]) }],
    ['sources.s.session_token', sub { sources(%s3, session_token => $_[0]) }],
    ['sources.s.token', sub { sources(%gcs, token => $_[0]) }],
    ['sources.s.account_key', sub { sources(%azure, account_key => $_[0]) }],
    ['sources.s.sas_token', sub { sources(%azure, sas_token => $_[0]) }],
    ['tiers.t.mac_key', sub { return { %$good, tiers => { t => {
        type => 'filesystem', path => '/t', mac_key => $_[0] } } } }],
    ['stores.default.transcoders[0].env.A', sub { return { stores => {
        default => { root => '/s', transcoders => [{ version => '9.0.0',
            command => ['x', '{pdb}'], env => { A => $_[0] } }] } } } }],
);

# each error once, and each place once
for my $i (0 .. $#secrets) {
    my ($text, $content, $reason) = @{ $secrets[$i] };
    my ($key, $config) = @{ $places[$i % @places] };
    unlink $file;
    $t->write_file('secret', $content) if defined $content;
    refused($t, $config->($text), qr/FILE:\d+: \Q$key\E: \Q$reason\E/,
        "$key: $reason");
}

# those of several lines

for (['', "\"$file\" is too short"],
     ["x\n" x 4096, "\"$file\" is too long"],
     ["a\x01\n", 'has a control character'],
     ['{"type": "service_account"}', 'is JSON, but not of a service account'],
     ['{"private_key": 1}', 'is JSON, but not of a service account'],
     ['{', 'is JSON, but not of a service account']) {
    my ($content, $reason) = @$_;
    $t->write_file('secret', $content);
    refused($t, sources(%gcs, client_email => 'e', private_key => "\@$file"),
        qr/FILE:\d+: sources\.s\.private_key: \Q$reason\E/,
        "private_key: $reason");
}

# keys that do not belong together, after secrets were read

for (['tiers.t', '"mac_key" has less than 32 characters', { %$good, tiers => {
        t => { type => 'filesystem', path => '/t', mac_key => 'short' } } }],
     ['sources.s.auth', '"token" is for "bearer"', sources(%http, auth => {
        type => 'basic', user => 'u', password => 'p', token => 't' })],
     ['sources.s', '"access_key" and "secret_key" go', sources(%s3, access_key => 'a')],
     ['sources.s.headers.a', 'repeated key', sources(%http, headers => {
        A => 'x', a => 'y' })],
     ['sources.s.proxy', 'must be http://', sources(%http,
        proxy => 'socks5://u:p@h:1')],
     ['sources.s.tls.ca', 'cannot be read: No such file', sources(%http,
        tls => { ca => $file . '.pem' })]) {
    my ($key, $reason, $config) = @$_;
    refused($t, $config, qr/FILE:\d+: \Q$key\E: .*\Q$reason\E/,
        "$key: $reason");
}

# symbol paths; t/unit/sympath.c has their grammar

for (['srv*', "a debugger's own folder is all"], ['symbols', 'is neither a'],
     ['srv*https://u:p@h', 'has a user name'], [' ; ', 'names no place'],
     ['%SYMCACHE_T_UNSET%\\x', 'is not set in the environment'],
     ['srv*1*2*3*4*5*6*7*8*9*10*11', 'a chain of more than 10 stores'],
     [join(';', map { "c:\\$_" } 1 .. 65), 'more than 64 places'],
     ['c:\\' . 'x' x 1100, 'is too long'],
     ['\\\\srv\\sym', 'in "map"']) {
    my ($value, $reason) = @$_;
    refused($t, sources(type => 'sympath', value => $value),
        qr/FILE:\d+: sources\.s\.value: .*\Q$reason\E/, "value: $reason");
}
refused($t, sources(type => 'sympath', value => "cache*$dir/none"),
    qr/FILE:\d+: sources\.s: no place of it is here/, 'no place here');

for (['(', 'missing closing parenthesis'], ['[a', 'missing terminating ]'],
     ['a{2,1}', 'out of order']) {
    my ($pattern, $reason) = @$_;
    refused($t, sources(%http, only => ['a', $pattern]),
        qr/FILE:\d+: sources\.s\.only\[1\]: .*\Q$reason\E/, "only: $reason");
}

# and what is good is taken, by the same process

$t->write_file('tokens', "# token right user\n\n $token\tupload  user\r\n"
    . "fedcba9876543210 try other");
my $pid = $t->{helper};
$t->reload_symcached(uploads("\@$list"));
is $t->{helper}, $pid, 'a good list is taken at a reload';
is $t->stop_symcached, 0, 'by the same process, to its end';

$t->finish;
done_testing;
