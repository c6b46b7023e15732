#!/usr/bin/env perl

# symcachectl upload where something goes wrong on its own side: whatever is
# not sent is told, and a build never gets exit code 0 for it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Copy qw(copy);
use File::Path qw(make_path);
use JSON::PP qw(decode_json);
use POSIX qw(mkfifo);
use Test::Ctl;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;
use Test::Zip;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $ctl = Test::Ctl->new($t);

sub text {
    my ($n, $lines) = @_;
    return sprintf("MODULE Linux x86_64 %032X0 lib%d.so\n", $n, $n)
        . "FILE 0 a.c\n" x ($lines // 1);
}

# A server that takes all, and changes files of ours while it does.
my $server = Test::ScriptedServer->new(log => "$dir/requests", script => sub {
    my ($c, $req) = @_;
    $c->read_body($req) if $req->{path} =~ m{^/(?:down|busy|portal)/};
    return $c->reply(502, { 'Retry-After' => 1 }, '<html>')
        if $req->{path} =~ m{^/down/};
    return $c->reply(200, { 'Content-Type' => 'text/html' }, '<html>Sign in</html>')
        if $req->{path} =~ m{^/portal/};
    if ($req->{path} =~ m{^/(?:token|closed)/}) { # HEAD is closed to all
        return $c->reply(403, {}, '') if $req->{method} eq 'HEAD';
        my $sent = $c->read_body($req);
        return $c->reply(403, {}, '{"error":"forbidden","detail":"API Token not matched"}')
            if $req->{path} =~ /token/;
        return $c->reply(400, {}, '{"error":"bad-upload"}') if $sent eq '';
        return $c->reply(201, {}, '{"result":"stored"}');
    }
    if ($req->{path} =~ m{^/downloads/} && $req->{method} eq 'PUT') {
        $c->read_body($req);
        return $c->reply(405, {}, '<html>');
    }
    if ($req->{path} =~ m{^/(?:revoked|filter)/} && $req->{method} eq 'PUT') {
        $c->read_body($req);
        return $c->reply(403, {}, $req->{path} =~ /filter/ ? '<html>'
            : '{"error":"forbidden","detail":"API Token not matched"}');
    }
    return $c->reply(404, {}) if $req->{method} ne 'PUT';
    return $c->reply(503, { 'Retry-After' => 1 }, '{"detail":"no room in the tier"}')
        if $req->{path} =~ m{^/busy/};
    return $c->reply(301, { Location => 'https://other/' }, "<html>")
        if $req->{path} =~ m{^/moved/};
    return $c->reply(408, { Connection => 'close', 'Retry-After' => 1 }, '')
        if unlink "$dir/late";
    if (unlink "$dir/garbage") {
        $c->send('this is no answer');
        return $c->close;
    }
    if (open my $run, '<', "$dir/change") {
        my ($name, $size, $more) = split /,/, <$run>;
        close $run;
        unlink "$dir/change";
        truncate "$dir/$name", $size if length $size;
        open my $file, '>>', "$dir/$name" or die "$name: $!";
        print $file $more;
        close $file;
    }
    my $body = $c->read_body($req);
    $c->reply(201, {}, '{"result":"stored"}') if length $body == $req->{headers}{'content-length'};
});
my @upload = ('upload', '--url', "$server->{url}/symbols");
sub sent { scalar grep { $_->{method} eq 'PUT' && $_->{uri} =~ $_[0] }
               $server->requests }

# --- operands that are no files

$t->write_file('one.sym', text(1));
symlink 'nowhere', "$dir/link" or die "symlink: $!";
mkfifo("$dir/fifo", 0600) or die "mkfifo: $!";
$ctl->is($ctl->run(@upload, "$dir/link", "$dir/one.sym"), 3,
    qr/^1 stored, 0 skipped, 0 refused, 1 failed, 0 left out$/,
    qr{/link: failed: No such file or directory\n\z},
    'a link to nowhere: the others are sent');
for my $special ("$dir/fifo", '/dev/null') {
    $ctl->is($ctl->run(@upload, $special, "$dir/one.sym"), 1,
        qr/^1 stored, 0 skipped, 1 refused, 0 failed, 0 left out$/,
        qr/\Q$special\E: refused: is no regular file\n\z/, $special);
}
mkdir "$dir/special" or die "mkdir: $!";
rename "$dir/fifo", "$dir/special/fifo" or die "rename: $!";
$ctl->is($ctl->run(@upload, "$dir/special"), 0, qr/^0 stored.* 0 left out$/,
    qr/\Asymcachectl upload: note: no file there is a debug file or image; .*\n\z/,
    'in a folder it is passed over');

# --- what cannot be looked at is not "left out"

mkdir "$dir/folder" or die "mkdir: $!";
copy("$dir/one.sym", "$dir/folder/one.sym") or die "copy: $!";
$t->write_file('folder/two.zip', Test::Zip::zip(['two.sym', text(2, 1000)]));
{
    local $ctl->{wrapper} = ['sh', '-c', 'ulimit -n 5; exec "$@"', 'sh'];
    $ctl->is($ctl->run(@upload, "$dir/folder"), 3,
        qr/^0 stored, 0 skipped, 0 refused, 2 failed, 0 left out$/,
        qr{one\.sym: failed: no process .*two\.zip: failed: Too many}s,
        'without descriptors');

    # of blocks of 512 or 1024 bytes
    $ctl->{wrapper} = ['sh', '-c', 'trap "" XFSZ; ulimit -f 2; exec "$@"',
                       'sh'];
    $ctl->is($ctl->run(@upload, "$dir/folder"), 3,
        qr/^1 stored, 0 skipped, 0 refused, 1 failed, 0 left out$/,
        qr/two\.sym\): failed: there is no room for a temporary file\n\z/,
        'without room for a part');
}

# --- files that change while they are sent

my $big = text(3, 3_000_000);
$t->write_file('three.sym', $big);
my %changes = ('that becomes shorter' => [1000, ''],
    'that grows' => ['', "PUT /lost HTTP/1.1\r\nContent-Length: 0\r\n\r\n"]);
for my $what (sort keys %changes) {
    $t->write_file('three.sym', $big);
    $t->write_file('change', join ',', 'three.sym', @{ $changes{$what} });
    my $before = sent(qr/lib3/);
    $ctl->is($ctl->run(@upload, "$dir/three.sym", "$dir/one.sym"), 3,
        qr/^1 stored, 0 skipped, 0 refused, 1 failed, 0 left out$/,
        qr/three\.sym: failed: was changed while it was read\n\z/,
        "a file $what");
    is sent(qr/lib3/) - $before, 1, '... is not sent again and again'
        if $what =~ /shorter/;
}
is sent(qr{^/lost}), 0, '... and its end is no request';

# a program is looked at twice, and sent after the debug files
{
    $t->write_file('x.c', "int seven(int a) { return a + 7; }\n");
    mkdir "$dir/order" or die "mkdir: $!";
    system("cd $dir && cc -g -shared -nostdlib -Wl,--build-id=0x" . 'ab' x 20
        . ' -o order/libx.so x.c && objcopy --only-keep-debug order/libx.so '
        . 'order/libx.so.debug && strip order/libx.so') == 0
        or BAIL_OUT('cc');
    $t->write_file('change', 'order/libx.so,0,no program');
    $ctl->is($ctl->run(@upload, "$dir/order"), 3,
        qr/^1 stored, 0 skipped, 0 refused, 1 failed, 0 left out$/,
        qr/libx\.so: failed: was changed while it was read\n\z/,
        'a program that is gone when it is to be sent');
}

# --- addresses that are none

$ctl->is($ctl->run('upload', '--url', "http://127.0.0.1/" . 'a' x 9000,
                   "$dir/one.sym"), 2, undef, qr/--url is too long/,
    'a long URL');
$ctl->is($ctl->run('upload', '--url', 'ftp://127.0.0.1/', "$dir/one.sym"), 3,
    qr/ 1 failed,/, qr/\A[^\n]*one\.sym: failed: Protocol "ftp" [^\n]+\n\z/,
    'another protocol is not tried again');
$t->write_file('garbage', '');
$ctl->is($ctl->run(@upload, "$dir/one.sym"), 0, qr/^1 stored,/,
    qr{(?:HTTP/0\.9|Invalid status line)[^\n]*; again in a while},
    'an answer in another one is');
$t->write_file('late', '');
$ctl->is($ctl->run(@upload, "$dir/one.sym"), 0, qr/^1 stored,/,
    qr/\(HTTP 408\); again in a while/, 'a file that came too slowly is sent again');
$ctl->is($ctl->run('upload', '--url', "$server->{url}/moved", "$dir/one.sym"),
    1, qr/ 1 refused,/, qr/one\.sym: refused: .*another address.* \(HTTP 301\)/,
    'a redirect is named');

# --- answers that are not of symcached

my $r;

$ctl->is($ctl->run('upload', '--url', "$server->{url}/portal", "$dir/one.sym"),
    3, qr/^0 stored, 0 skipped, 0 refused, 1 failed,/,
    qr/\A[^\n]*one\.sym: failed: the answer is not symcached's: .* a portal .*\(HTTP 200\)\n\z/,
    'a portal has not stored it, and is not asked again');
$ctl->is($ctl->run('symbfile', 'push', '--url', "$server->{url}/portal", '--debug-file',
        "$dir/one.sym", $t->program('pdb2symcache')), 3, undef,
    qr/push: [^\n]*: the answer is not that of a server for symbfiles: .*\(HTTP 200\)\n\z/,
    'nor a symbfile');

# the log of a build is no place for a password
my $secret = $server->{url} =~ s{//}{//ci:ses\@me\@}r;
$r = $ctl->run('symbfile', 'push', '--url', "$secret/portal", '--debug-file', "$dir/one.sym",
    $t->program('pdb2symcache'));
like $r->{err}, qr{push: \Q$server->{url}\E/portal/api/}, 'an address is named';
unlike $r->{err}, qr/ses|me\@/, '... without the password in it';
for my $ask (['minidump', '--url', $secret, "$FindBin::Bin/../data/minidump/test_app.dmp"],
             ['symbolicate', '--url', $secret, qw(--org a --project b), '0' x 32]) {
    $r = $ctl->run(@$ask);
    like $r->{err}, qr{\Q$server->{url}\E}, "$ask->[0]: an address is named";
    unlike $r->{err}, qr/ses|me\@/, '... without its password';
}

# --- a server that is down, or takes nothing: not each file waits for it

make_path("$dir/six");
$t->write_file("six/$_.sym", text(10 + $_)) for 1 .. 6;
my $down = $ctl->begin('', 'upload', '--json', '--url', "$server->{url}/down", "$dir/six");
my $busy = $ctl->begin('', 'upload', '--url', "$server->{url}/busy", "$dir/six");
$r = $ctl->end($down);
is $r->{code}, 3, 'a server that is down: 3';
like $r->{err}, qr/^symcachectl upload: stopped: 5 more files were not sent, as the server cannot be reached or takes none: .* \(HTTP 502\)\. The same command goes on there later: it skips what the server has\.\n\z/m,
    '... it is said once';
my @told = map { decode_json($_) } split /\n/, $r->{out};
is scalar(grep { ($_->{outcome} // '') eq 'failed' && $_->{reason} =~ /502/ } @told), 6,
    '... of all files';
is $told[-1]{failed}, 6, '... and counted';
is sent(qr{^/down/}), 5, '... none but the first was tried';
$r = $ctl->end($busy);
is $r->{code}, 3, 'one that is busy for ever: 3';
like $r->{err}, qr/stopped: 3 more files were not sent, .*: no room in the tier \(HTTP 503\)\./,
    '... is given up after three files';
is sent(qr{^/busy/}), 15, '... which were tried';

# --- a token that is refused: the bodies of thousands of files are not sent for it

for my $when ('closed', 'filter', 'revoked', 'token') {
    my $answer = { closed => 0, filter => 1, revoked => 1, token => 1 }->{$when};
    my $all = $when eq 'filter' || $when eq 'closed';
    my $r = $ctl->run('upload', '--url', "$server->{url}/$when", "$dir/six");
    is $r->{code}, $answer, "$when: $answer" or diag "$r->{out}$r->{err}";
    is sent(qr{^/$when/}), $all ? 6 + ($when eq 'closed') : 1,
        $all ? '... each file is sent' : '... one was';
    $all ? unlike($r->{err}, qr/stopped/, '... to its end')
         : like($r->{err}, qr/stopped: 5 more files were not sent, as the server takes none with this token, or without one: API Token not matched \(HTTP 403\)\./,
                '... and one line tells of the others');
}
my $wrong = $ctl->run('upload', '--url', "$server->{url}/downloads", "$dir/six");
is $wrong->{code}, 1, 'an address that takes no uploads: 1';
is sent(qr{^/downloads/}), 1, '... one was sent';
like $wrong->{err}, qr/stopped: 5 more files were not sent, as the server takes none at this address: nothing at this address .* \(HTTP 405\)\./,
    '... and one line tells of the others';
my $watch = $ctl->run('upload', '--url', "$server->{url}/revoked", '--watch', "$dir/six");
is $watch->{code}, 1, 'a drop folder is given up';

$server->stop;
$t->finish;
done_testing;
