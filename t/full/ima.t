#!/usr/bin/env perl

# A client of debuginfod that takes nothing without a valid signature
# ("ima:enforcing", elfutils 0.192 and later), through this server: the file is
# signed as a distribution signs it, and a debuginfod has it.  The client is
# built from Debian's source; its program is any debuginfod-find.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::File qw(slurp spew);
use Test::More;
use Test::Peer;
use Test::ScriptedServer;
use Test::Symcache;

for my $program (qw(debuginfod-find evmctl openssl readelf)) {
    plan skip_all => "$program is not installed"
        if system("command -v $program >/dev/null 2>&1") != 0;
}
my $library = Test::Peer::folder('elfutils') . '/lib';
my $t = Test::Symcache->new;

# --- two files, one of which is signed, and the certificate

sub run_quietly {
    my (@command) = @_;
    my $said = qx(@command 2>&1);
    die "@command: $said" if $? != 0;
}
my $dir = $t->dir;
my ($key, $source) = ("$dir/key.pem", $t->write_file('a.c', 'int a(int n) { return n * 3; }'));
mkdir "$dir/certificates" or die $!;
run_quietly("openssl req -x509 -newkey rsa:2048 -nodes -keyout '$key' -outform PEM"
    . " -out '$dir/certificates/signer.pem' -days 30 -subj /CN=signer"
    . ' -addext subjectKeyIdentifier=hash');
my %builds;
for my $name (qw(signed plain forged)) {
    run_quietly("cc -shared -fPIC -g -DNAME=$name -Wl,--build-id=sha1 -Wl,-soname,$name"
        . " -o '$dir/$name' '$source'");
    ($builds{$name}) = qx(readelf -n '$dir/$name') =~ /Build ID: (\w+)/ or die 'no build id';
}
run_quietly("evmctl ima_sign --sigfile -a sha256 --key '$key' '$dir/signed'");
my $signature = unpack 'H*', slurp("$dir/signed.sig");
like $signature, qr/^0302/, 'a signature as the kernel has it';

my %served = (
    $builds{signed} => ['signed', $signature],
    $builds{plain} => ['plain', undef],
    $builds{forged} => ['forged', $signature],    # that of another file
);
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my ($build) = $req->{path} =~ m{/buildid/(\w+)/debuginfo$};
    my $file = $served{ $build // '' };
    return $c->reply(404, {}, '') if !$file;
    my $body = slurp("$dir/$file->[0]");
    return $c->reply(200, { 'X-DEBUGINFOD-SIZE' => length $body,
        'X-DEBUGINFOD-FILE' => "/usr/lib/debug/$file->[0]",
        defined $file->[1] ? ('X-DEBUGINFOD-IMASIGNATURE' => $file->[1]) : () }, $body);
});

my $config = $t->default_config($web->url);
$config->{sources}{upstream}{layout} = 'debuginfod';
$config->{downloads} = $t->path('downloads');
$t->start_symcached($config);
my $listen = '127.0.0.1:' . Test::Symcache::free_port();
$t->start_nginx('location /symbols/ {
        symcache_symbols %%DIR%%/downloads;
        symcache_pass unix:%%DIR%%/h.sock;
    }', listen => "listen unix:$dir/n.sock; listen $listen;");

# What the client makes of a file: 1 and the bytes, or 0.
my $runs = 0;
sub find {
    my ($policy, $build) = @_;
    my $home = $t->path('home' . $runs++);
    mkdir $home;
    local %ENV = (%ENV, HOME => $home, DEBUGINFOD_URLS => "$policy http://$listen/symbols",
        DEBUGINFOD_IMA_CERT_PATH => "$dir/certificates", LD_LIBRARY_PATH => $library,
        DEBUGINFOD_VERBOSE => 1);
    delete $ENV{$_} for qw(DEBUGINFOD_CACHE_PATH XDG_CACHE_HOME);
    my $said = qx(debuginfod-find debuginfo $build 2>'$home/said');
    chomp $said;
    return ($? == 0 && -f $said ? slurp($said) : '', slurp("$home/said"));
}
for my $time ('first', 'second') {
    my ($got, $said) = find('ima:enforcing', $builds{signed});
    is $got, slurp("$dir/signed"), "the signed file, the $time time" or diag $said, $t->helper_log;
    like $said, qr/signature verification res=0$/m, "by its signature" or diag $said;
}
for my $name (qw(plain forged)) {
    my ($got, $said) = find('ima:enforcing', $builds{$name});
    is $got, '', "the $name file is refused";
    is((find('ima:ignore', $builds{$name}))[0], slurp("$dir/$name"),
        'and taken by a client that wants no signature');
}

$t->stop_nginx;
$t->stop_symcached;
$t->finish;
done_testing;
