#!/usr/bin/perl

# The table of what upstreams do wrong, its second part: hosts, directories,
# pointers, object stores, SymCache servers and transcoders; see
# misbehaviour_http.t.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path ();
use IO::Socket::INET;
use IO::Socket::UNIX;
use JSON::PP ();
use POSIX ();
use Socket qw(SOMAXCONN);
use Test::Misbehaviour;
use Test::More;
use Test::Symcache;

# for one row, which is not worth to skip the others
my $mounts;
BEGIN {
    $mounts = $> == 0 && system('unshare --mount --propagation private true'
                                . ' 2>/dev/null') == 0;
    if ($mounts) {
        require Test::Mount;
        Test::Mount->import;
    }
}

my $m = Test::Misbehaviour->new;
my ($t, $id, $pdb, $other, $html) = $m->given;
my $yes = JSON::PP::true();
my $dir = $t->dir;
my $dead = Test::Symcache::free_port();

# --- TLS and proxies

$m->section('TLS and proxies');

my ($expired_port, $tls_port, $verify_port) =
    map { Test::Symcache::free_port() } 1 .. 3;

# "openssl x509" makes none that has ended, or not with each version.
sub certificate {
    my ($name, @valid) = @_;
    $t->write_file('index.txt', '');
    $t->write_file('ca.cnf', <<"END");
[ca]
default_ca = self
[self]
database = $dir/index.txt
new_certs_dir = $dir
rand_serial = yes
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
END
    for ("req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
            . "-subj /CN=localhost -addext subjectAltName=DNS:localhost "
            . "-keyout $dir/$name.key -out $dir/$name.csr",
         "ca -batch -selfsign -config $dir/ca.cnf -keyfile $dir/$name.key "
            . "-in $dir/$name.csr -out $dir/$name.pem -notext @valid") {
        system("openssl $_ >$dir/openssl.out 2>&1") == 0
            or die $t->read_file('openssl.out');
    }
}
certificate('good', '-days 2');
certificate('expired', '-startdate 20200101000000Z',
            '-enddate 20200102000000Z');

sub secure {
    my ($kind, $class, $why, $url, %source) = @_;
    $m->source($kind, $class, $why, { type => 'http', url => $url,
        internal => $yes, %source });
}

my %good = (tls => { ca => "$dir/good.pem" });
secure('has a certificate nobody vouches for',
       error => qr/^failed .*certificate/mi, "https://localhost:$tls_port");
secure('has a certificate for another name', error => qr/^failed .*(?:name|cert)/mi,
       "https://127.0.0.1:$tls_port", %good);
secure('has a certificate that is over', error => qr/^failed .*expired/mi,
       "https://localhost:$expired_port",
       tls => { ca => "$dir/expired.pem" });
secure('wants a certificate of the client', error => qr/^failed 400/m,
       "https://localhost:$verify_port", %good);
secure('speaks TLS where HTTP was expected', error => qr/^failed 400/m,
       "http://localhost:$tls_port");
secure('redirects from https to http',
       error => qr/^failed redirect from https to http/m,
       "https://localhost:$tls_port/down", %good);
secure('has no such file, over https', miss => qr/^not found 404/m,
       "https://localhost:$tls_port/empty", %good);
$m->web('speaks HTTP where TLS was expected', error => qr/^failed ./m,
        sub { $_[0]->reply(400, {}, '') },
        source => { url => 'https://localhost:%%PORT%%' });
my $silent = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
                                   Listen => SOMAXCONN) or die;
secure('says nothing in the handshake', error => qr/^failed .*(?:time|connect)/mi,
       'https://localhost:' . $silent->sockport);
$m->{rows}[-1]{slow} = 1;

sub proxied {
    my ($kind, $class, $why, $script, %source) = @_;
    $m->web($kind, $class, $why, $script, source => {
        proxy => 'http://127.0.0.1:%%PORT%%', %source });
}

proxied('is behind a proxy that is not there', error => qr/^failed .*connect/mi,
        sub {}, proxy => "http://127.0.0.1:$dead");
proxied('is behind a proxy that wants a password', error => qr/^failed 407/m,
        sub { $_[0]->reply(407, { 'Proxy-Authenticate' => 'Basic' }, $html) });
proxied('is behind a proxy that fails', error => qr/^failed 502/m,
        sub { $_[0]->reply(502, {}, $html) });
proxied('is behind a proxy that never answers',
        error => qr/^failed (?:no answer in time|not asked: .* no first byte)/m,
        sub { $_[0]->wait_for_peer(60); $_[0]->close });
$m->{rows}[-1]{slow} = 1;
proxied('is behind a proxy that refuses CONNECT', error => qr/^failed ./m,
        sub { $_[0]->reply(403, {}, $html) }, url => 'https://%%HOST%%.test');
proxied('is behind a proxy that ends the tunnel', error => qr/^failed ./m,
        sub { $_[0]->send("HTTP/1.1 200 Connection established\r\n\r\n");
              $_[0]->close }, url => 'https://%%HOST%%.test');
proxied('is behind a proxy for https that is none', error => qr/^failed ./m,
        sub { $_[0]->reply(404, {}, '') }, url => 'https://%%HOST%%.test');
proxied('is behind a proxy with a page of its own', error => qr/^unusable .*HTML/m,
        sub { $_[0]->reply(200, {}, $html) });

# --- breaker, order of sources

$m->section('Hosts, and several sources');

$m->answers('failed so often that it is left alone',
            error => qr/^failed not asked: the host failed/m, 500, {}, '', before => 3);

my %empty = (type => 'filesystem', path => $t->path('empty'));
my %holds = (type => 'filesystem', path => $t->path('sym'));
my %gone = (type => 'filesystem', path => $t->path('no-such-folder'));
$m->answers('fails, and another source has no such file',
            error => qr/^failed 500$/m, 500, {}, '', sources => [\%empty]);
$m->answers('has no such file, and another source fails',
            error => qr/^failed ./m, 404, {}, '', sources => [\%gone]);
$m->answers('fails, and the name is not for the other source',
            error => qr/^failed 500$/m, 500, {}, '',
            sources => [{ %holds, only => '^nothing' }]);
$m->answers('sends a page, and another source has no such file',
            error => qr/^unusable .*HTML/m, 200, {}, $html,
            sources => [\%empty]);
$m->answers('sends a page, and another source has the PDB', file => qr//,
            200, {}, $html, sources => [\%holds]);
$m->answers('fails, and another source has the PDB', file => qr//, 503, {},
            '', sources => [\%holds]);
$m->answers('has no such file, nor has another source',
            miss => qr/^not found no such file/m, 404, {}, '',
            sources => [\%empty]);

my $hole = $pdb;
substr $hole, 100_000, 200_000, "\0" x 200_000;
$m->answers('has a PDB with a hole, and another source a good one',
            file => qr//, 200, {}, $hole, sources => [\%holds]);
$m->answers('has a PDB with a hole, and another source fails',
            error => qr/^unusable .*exit code 8/m, 200, {}, $hole,
            sources => [\%gone]);
$m->answers('has a PDB with a hole, and another source none',
            malformed => qr/^unusable .*exit code 8/m, 200, {}, $hole,
            sources => [\%empty]);

# --- file.ptr

$m->section('`file.ptr`');

# The server has a file.ptr and nothing else.
sub pointer {
    my ($kind, $class, $why, $text, %o) = @_;
    $m->web($kind, $class, $why, sub {
        my ($c, $req) = @_;
        return $c->reply(404, {}, '') if $req->{path} !~ /file\.ptr$/;
        $c->reply(200, {}, ref $text ? $text->($req) : $text);
    }, %o);
}

pointer('is empty', error => qr/^unusable file\.ptr is empty/m, ' ');
pointer('is a page of HTML', error => qr/^unusable file\.ptr is an HTML/m,
        $html);
pointer('is a PDB', error => qr/^unusable file\.ptr is a PDB/m,
        substr $pdb, 0, 1000);
pointer('has several lines', error => qr/^unusable file\.ptr has several/m,
        "PATH:a\nPATH:b\n");
pointer('is JSON', error => qr/^unusable file\.ptr names no location/m,
        '{"error":"try later"}');
pointer('is longer than 4 KiB', error => qr/^unusable ./m,
        'PATH:' . 'x' x 5000);
pointer('is longer than 100 KB', error => qr/^unusable ./m, 'x' x 100_000);
pointer('says that there is none (`MSG:`)', miss => qr/^not found MSG: gone/m,
        'MSG: gone');
pointer('leads to a share without `map`',
        miss => qr/^not found no mapping for the location/m,
        'PATH:\\\\server\\share\\x.pdb');
pointer('leads out of a mapped folder', miss => qr/^not found .*dot comp/m,
        'PATH:\\\\server\\share\\..\\x.pdb',
        source => { map => { '\\\\server\\share' => $t->path('sym') } });
pointer('leads through a symbolic link out of a mapped folder',
        error => qr/^failed a symbolic link leads out/m,
        'PATH:\\\\server\\share\\out\\x.pdb',
        source => { map => { '\\\\server\\share' => $t->path('odd') } });
pointer('leads to a file of the machine', miss => qr/^not found ./m,
        'PATH:/etc/passwd');
pointer('leads out of the source', miss => qr/^not found ./m,
        'PATH:..\\..\\x.pdb');
pointer('leads to a missing file of a mapped share',
        miss => qr/^not found no such file/m,
        'PATH:\\\\server\\share\\x.pdb',
        source => { map => { '\\\\server\\share' => $t->path('sym') } });
pointer('leads to a share that is not mounted', error => qr/^failed ./m,
        'PATH:\\\\server\\share\\x.pdb',
        source => { map => { '\\\\server\\share' => $t->path('no-share') } });
pointer('leads to the PDB of another build', error => qr/^unusable wrong GUID/m,
        'PATH:\\\\server\\share\\other.pdb',
        source => { map => { '\\\\server\\share' => $t->path('odd') } });
pointer('leads to a URL where it is missing', miss => qr/^not found 404/m,
        sub { "http://$_[0]{headers}{host}/nothing.pdb" });
pointer('leads to a URL that refuses connections',
        error => qr/^failed .*connect/mi, "http://127.0.0.1:$dead/x.pdb");
$m->source('leads to a URL at a private address',
           error => qr/^failed .*(?:reserved|private)/mi,
           { type => 'filesystem', path => $t->path('pointers') },
           before => 0);
my $private = $m->{rows}[-1]{pdb};

# --- directories

$m->section('Directories');

sub folder {
    my ($kind, $class, $why, $make, %source) = @_;
    my $row = $m->source($kind, $class, $why, { type => 'filesystem',
        path => $t->path('odd'), %source });
    my $place = $t->path("odd/$row->{pdb}/$id");
    File::Path::make_path($place);
    $make->("$place/$row->{pdb}", $row) if $make;
    return $row;
}

folder('the directory is not there', error => qr/^failed ./m, undef,
       path => $t->path('no-such-folder'));
folder('it is a file', error => qr/^failed ./m, undef,
       path => $t->write_file('a-file', ''));
folder('there is no such file', miss => qr/^not found no such file/m, undef);
folder('a directory where the PDB should be',
       error => qr/^unusable not a regular file/m, sub { mkdir $_[0] });
folder('a FIFO', error => qr/^unusable not a regular file/m,
       sub { POSIX::mkfifo($_[0], 0644) });
folder('a device', error => qr/^unusable not a regular file/m,
       sub { symlink '/dev/zero', $_[0] });
folder('a symbolic link to itself', error => qr/^failed .*symbolic links/m,
       sub { symlink $_[0], $_[0] });
folder('a symbolic link to nothing', error => qr/^failed .*leads nowhere/m,
       sub { symlink '/no/such/file', $_[0] });
folder('the folder of the PDB is a symbolic link to nothing',
       error => qr/^failed .*leads nowhere/m, sub {
    File::Path::remove_tree($t->path("odd/$_[1]{pdb}"));
    symlink '/no/such/share', $t->path("odd/$_[1]{pdb}") });
folder('a file where the folder of the PDB should be',
       miss => qr/^not found no such file/m, sub {
    File::Path::remove_tree($t->path("odd/$_[1]{pdb}"));
    $t->write_file("odd/$_[1]{pdb}", '') });
folder('a socket', error => qr/^(?:failed|unusable) ./m, sub {
    # the name would be too long for one
    my $name = $t->path("s$_[1]{n}");
    IO::Socket::UNIX->new(Local => $name, Listen => 1) or die "$name: $!";
    rename $name, $_[0] or die "$_[0]: $!" });
folder('a chain of `file.ptr` without end', error => qr/^unusable too many/m,
       sub { unlink $_[0];
             $t->write_file($_[0] =~ s{[^/]+$}{file.ptr}r,
                            "PATH:\\\\loop\\odd\\$_[1]{pdb}\\$id\\"
                            . $_[1]{pdb}) },
       map => { '\\\\loop\\odd' => $t->path('odd') });
diag 'as root: rows about what may not be read are not run' if $> == 0;
for (folder('a file that may not be read',
            error => qr/^failed Permission denied/m,
            sub { $t->write_file($_[0], $pdb); chmod 0, $_[0] }),
     folder('a folder that may not be searched',
            error => qr/^failed Permission denied/m,
            sub { chmod 0, $t->path("odd/$_[1]{pdb}") })) {
    $_->{skip} = $> == 0;
}
my $loop = $t->path('loop');
mkdir $loop;
symlink 'index2.txt', "$loop/index2.txt";
folder('an `index2.txt` that cannot be seen', error => qr/^failed .*links/m,
       undef, path => $loop);
folder('a file of no bytes', error => qr/^unusable .*empty/m,
       sub { $t->write_file($_[0], '') });
folder('a page', error => qr/^unusable .*HTML/m,
       sub { $t->write_file($_[0], $html) });
folder('the PDB of another build', error => qr/^unusable wrong GUID/m,
       sub { $t->write_file($_[0], $other) });
folder('a PDB that is not whole yet', error => qr/^unusable ./m,
       sub { $t->write_file($_[0], substr $pdb, 0, 500_000) });
folder('a file of more than `download_size`', error => qr/^unusable larger/m,
       sub { $t->write_file($_[0], $pdb . "\0" x 4_000_000) });
folder('a flat directory with the PDB of another build only',
       miss => qr/^not found none of 1 PDB/m, undef, layout => 'flat',
       path => $t->path('flat'));

# --- object stores

$m->section('Object stores');

sub bucket {
    my ($kind, $class, $why, $status, $code, %o) = @_;
    my $xml = $code && "<?xml version=\"1.0\"?>\n<Error><Code>$code</Code>"
        . '<Message>no</Message></Error>';
    $m->answers($kind, $class, $why, $status, $o{headers} // {}, $xml // '',
        seconds => $o{seconds}, source => { type => $o{type} // 's3',
            bucket => 'b', region => 'r', endpoint => delete $o{endpoint}
                // 'http://%%HOST%%.localhost:%%PORT%%',
            path_style => $yes, access_key => 'k', secret_key => 's',
            url => undef, %{ $o{source} // {} } });
}

bucket('s3: 404 NoSuchKey', miss => qr/^not found 404 NoSuchKey/m, 404,
       'NoSuchKey');
bucket('s3: 404 NoSuchBucket', error => qr/^failed 404 NoSuchBucket/m, 404,
       'NoSuchBucket');
bucket('s3: 403 AccessDenied', error => qr/^failed 403 AccessDenied/m, 403,
       'AccessDenied');
bucket('s3: 404 XAdminUserNotFound', error => qr/^failed 404 XAdmin/m, 404,
       'XAdminUserNotFound');
bucket('s3: 403 AccessDenied, and `denied_is_absent`, but never a file',
       error => qr/^failed 403 AccessDenied, and/m, 403, 'AccessDenied',
       source => { denied_is_absent => $yes });
bucket("s3: 403 $_, and `denied_is_absent`", error => qr/^failed 403 $_/m,
       403, $_, source => { denied_is_absent => $yes })
    for qw(SignatureDoesNotMatch InvalidAccessKeyId RequestTimeTooSkewed);
bucket('s3: 400 ExpiredToken', error => qr/^failed 400 ExpiredToken/m, 400,
       'ExpiredToken');
bucket('s3: 301 PermanentRedirect without a Location',
       error => qr/^failed 301 Perm/m, 301, 'PermanentRedirect');
bucket('s3: 503 SlowDown', error => qr/^failed 503 SlowDown/m, 503,
       'SlowDown');
bucket('s3: 503 SlowDown with Retry-After: 240',
       error => qr/^failed 503 SlowDown/m, 503, 'SlowDown',
       headers => { 'Retry-After' => 240 }, seconds => 240);
bucket('s3: 500 InternalError', error => qr/^failed 500 Internal/m, 500,
       'InternalError');
bucket('s3: 200 with an error', error => qr/^unusable .*XML/m, 200,
       'InternalError');
my %token = (path_style => undef, region => undef, access_key => undef, secret_key => undef, token => 'old');
bucket('gcs: 401', error => qr/^failed 401/m, 401, 'AuthenticationRequired',
       type => 'gcs', source => \%token);
bucket('gcs: 404 NoSuchKey', miss => qr/^not found 404/m, 404, 'NoSuchKey',
       type => 'gcs', source => \%token);
my %azure = ((map { $_ => undef } qw(bucket region path_style access_key
                                     secret_key)),
             account => 'abc', container => 'def', account_key => 'a2V5');
bucket('azure: 404 BlobNotFound', miss => qr/^not found 404 BlobNotFound/m,
       404, 'BlobNotFound', type => 'azure', source => \%azure);
bucket("azure: $_->[0] $_->[1]", error => qr/^failed $_->[0] $_->[1]/m, @$_,
       type => 'azure', source => \%azure)
    for [404, 'ContainerNotFound'], [404, 'ResourceNotFound'],
        [403, 'AuthenticationFailed'],
        [403, 'AuthorizationPermissionMismatch'], [409, 'BlobArchived'],
        [400, 'InvalidUri'];
bucket('azure: 404 of something else', error => qr/^failed 404$/m, 404,
       undef, type => 'azure', source => \%azure);

# --- SymCache servers

$m->section('SymCache servers');

my $type = 'application/vnd.ms-symcache';

sub server {
    my ($kind, $class, $why, $status, $headers, $body, %o) = @_;
    $m->answers($kind, $class, $why, $status, $headers, $body, %o,
                source => { type => 'symcache', version => '9.0.0' });
}

server('404', miss => qr/^not found 404/m, 404, {}, '');
server('404 with a page: no SymCache server', error => qr/^failed 404 with/m,
       404, { 'Content-Type' => 'text/html' }, $html);
server('404 with Retry-After, for ever', error => qr/ask again/m, 404,
       { 'Retry-After' => 1 }, '', slow => 1);
server('503 with Retry-After, for ever', error => qr/ask again/m, 503,
       { 'Retry-After' => 1 }, '', slow => 1);
server('503', error => qr/^failed 503/m, 503, {}, '');
server('302 to a sign-in page', error => qr/^failed redirect to a login/m,
       302, { Location => '/signin' }, '');
server('404 with Retry-After, and a reason', error => qr/^failed 404, error/m,
       404, { 'Retry-After' => 5, 'X-Symcache-Reason' => 'error' }, '');
server('410', error => qr/^failed 410/m, 410, {}, '');
server('200 without a version', error => qr/^unusable 200 with no version/m,
       200, { 'Content-Type' => $type }, 'x');
server('200 with a version that is none',
       error => qr/^unusable 200 with a bad version/m, 200,
       { 'Content-Type' => "$type; version=nine" }, 'x');
server('200 with a newer version than was asked for',
       error => qr/^unusable .*not asked for/m, 200,
       { 'Content-Type' => "$type; version=10.0.0" }, 'x');
server("200 with $_->[0]", error => qr/^unusable ./m, 200,
       { 'Content-Type' => "$type; version=9.0.0" }, $_->[1])
    for ['nothing', ''], ['a page', $html], ['the PDB', $pdb],
        ['a damaged SymCache', "SYMC\x09\0\0\0" . "\xff" x 200];
my %nine = ('Content-Type' => "$type; version=9.0.0");
my $opaque = "no format that is known\0" x 5000;

# The same, byte by byte; each element is what comes on one connection.
sub raw_server {
    my ($kind, $class, $why, @bytes) = @_;
    $m->web($kind, $class, $why, sub {
        my ($c, undef, $n) = @_;
        $c->send($bytes[($n - 1) % @bytes]);
        $c->close;
    }, source => { type => 'symcache', version => '9.0.0' });
}
my $ok = "HTTP/1.1 200 OK\r\nContent-Type: $nine{'Content-Type'}\r\n";
raw_server('200 that breaks off, and then 200 with nothing',
           error => qr/^unusable 200, empty body/m,
           "${ok}ETag: \"1\"\r\nAccept-Ranges: bytes\r\nContent-Length: "
           . length($opaque) . "\r\n\r\n" . substr($opaque, 0, 9000),
           "${ok}Content-Length: 0\r\n\r\n");
raw_server('200 without a length', error => qr/^unusable 200 without a len/m,
           "$ok\r\n$opaque");
raw_server('200 of HTTP/1.0 without a length',
           error => qr/^unusable 200 without a length/m,
           ($ok =~ s{1\.1}{1.0}r) . "\r\n$opaque");
raw_server('200 in chunks, the last of which is missing',
           error => qr/^failed ./m,
           "${ok}Transfer-Encoding: chunked\r\n\r\n"
           . sprintf("%x\r\n%s\r\n", length $opaque, $opaque));
raw_server('404, and the header breaks off',
           error => qr/^failed 404, truncated header/m,
           "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n");
server('200 with a Content-Encoding',
       error => qr/^unusable 200 with Content-Encoding/m, 200,
       { %nine, 'Content-Encoding' => 'br' }, $opaque);
server('200 with a part', error => qr/^unusable 200 with a part/m, 200,
       { %nine, 'Content-Range' => 'bytes 0-9/10' }, $opaque);
server('200 with the type of a page',
       error => qr/^unusable 200 with a page/m, 200,
       { 'Content-Type' => 'text/html; version=9.0.0' }, $opaque);
server('200 whose SHA-256 is another one',
       error => qr/^failed damaged on the way/m, 200,
       { %nine, 'Repr-Digest' => 'sha-256=:' . 'A' x 43 . '=:' }, $opaque);
server('206, which was not asked for', error => qr/^failed 206, which/m, 206,
       { %nine, 'Content-Range' => 'bytes 0-9/10' }, $opaque);
server('304, which was not asked for', error => qr/^failed 304/m, 304, {},
       undef);
server('401', error => qr/^failed 401/m, 401, {}, '');
server('500', error => qr/^failed 500/m, 500, {}, '');

# --- the PDB and the transcoder

$m->section('The PDB has the right identity, and the transcoder');

sub converts {
    my ($kind, $class, $why, $shell, %o) = @_;
    my $row = $m->answers($kind, $class, $why, 200, {}, $pdb, %o);
    $t->write_file("faults/$row->{pdb}", $shell) if defined $shell;
}

converts('says that it is damaged', malformed => qr/exit code 8/,
         'echo "stream 9: damaged" >&2; exit 8');
converts('crashes', malformed => qr/signal 11/, 'kill -SEGV $$');
converts('is killed by somebody else', error => qr/signal 9 .* not send/,
         'kill -KILL $$');
converts("says that it is not the file's fault", error => qr/exit code 75/,
         'exit 75');
converts('does not end', malformed => qr/transcode_time/, 'exec sleep 1000',
         slow => 1);
converts('takes more memory than it may', malformed => qr/exit code/,
         'exec perl -e \'my $x = "x" x 2_000_000_000\'',
         # sanitizers take all addresses: there is no limit then
         $Test::Symcache::san ? (skip => 1) : ());
converts('makes nothing', malformed => qr/without a file of the kind/, 'exit 0');
converts('makes an empty file', malformed => qr/empty file/,
         ': >"$_NT_SYMCACHE_PATH/$(basename "$1")-v9.0.0.symcache"; exit 0');
converts('makes a file for another PDB', malformed => qr/without a file of the kind/,
         'echo x >"$_NT_SYMCACHE_PATH/x.pdb-v9.0.0.symcache"; exit 0');
converts('makes two files', malformed => qr/more than one/,
         'for v in 9.0.0 9.0.1; do echo x '
         . '>"$_NT_SYMCACHE_PATH/$(basename "$1")-v$v.symcache"; done; exit 0');
converts('makes a SymCache that is damaged', malformed => qr/unsound/,
         'printf "SYMC\011\0\0\0\377\377\377\377" >'
         . '"$_NT_SYMCACHE_PATH/$(basename "$1")-v9.0.0.symcache"; exit 0');
converts('is not installed', error => qr/no-such-program/, undef,
         store => 'tool');
if ($mounts) {
    Test::Mount::small($t->path('full'), '1m');
} else {
    diag 'no small file system: the row about a full disk is not run';
}
converts('finds the disk of the store full', error => qr/disk.* full/, undef,
         store => 'full', $mounts ? () : (skip => 1));

# --- what is on disk

mkdir $t->path($_) for qw(empty sym flat);
symlink '/etc', $t->path('odd/out');
$t->write_file('odd/other.pdb', $other);
$t->write_file('flat/other.pdb', $other);
$t->write_file("sym/$_/$id/$_", $pdb) for map { $_->{pdb} }
    grep { $_->{class} eq 'file' && $_->{sources} } $m->rows;
$t->write_file("pointers/$private/$id/file.ptr",
               "http://127.0.0.1:$dead/x.pdb");

my $http = <<"CONF";
    server { listen 127.0.0.1:$tls_port ssl; root %%DIR%%/empty;
             ssl_certificate $dir/good.pem;
             ssl_certificate_key $dir/good.key;
             location /down { return 302 http://localhost:$dead/x; } }
    server { listen 127.0.0.1:$expired_port ssl;
             ssl_certificate $dir/expired.pem;
             ssl_certificate_key $dir/expired.key; }
    server { listen 127.0.0.1:$verify_port ssl;
             ssl_certificate $dir/good.pem;
             ssl_certificate_key $dir/good.key;
             ssl_client_certificate $dir/good.pem;
             ssl_verify_client on; }
CONF
$m->start(http => $http);
$t->write_file('full/filler', 'x' x (1000 * 1024)) if $mounts;

$m->run;
$m->recover;
$m->document('Other sources, and transcoders');
$m->finish(sub {
    Test::Mount::gone($t->path('full')) if $mounts;
    chmod 0755, glob $t->path('odd/*');
});
done_testing;
