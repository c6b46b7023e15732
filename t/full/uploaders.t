#!/usr/bin/perl

# Uploaders of others through nginx (conf-examples/uploads.conf), which no
# registry has: the program that a variable names, or that PATH has.
#
#   SYMUPLOAD         symupload of google/breakpad, both of its protocols
#   PROFILECLI        profilecli of grafana/pyroscope, or its part "debuginfo"
#   UPLOAD_SYM        bin/upload-sym.py of mozilla-services/tecken (Python with
#                     click and requests)
#   UPLOAD_SYMBOLS    upload-symbols of mozilla-services/upload-symbols

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Example;
use Test::More;
use Test::Symcache;
use Test::Uploads;

my %programs = (SYMUPLOAD => 'symupload', PROFILECLI => 'profilecli', UPLOAD_SYM => 'upload-sym.py',
    UPLOAD_SYMBOLS => 'upload-symbols');
for my $variable (keys %programs) {
    my ($found) = grep { -x } map { "$_/$programs{$variable}" } split /:/, $ENV{PATH};
    $programs{$variable} = $ENV{$variable} // $found;
}
grep { defined } values %programs
    or plan skip_all => 'none of symupload, profilecli, upload-sym.py and upload-symbols is here';

my $u = Test::Uploads->new(inputs => ['pdb', 'breakpad', 'elf']);
my $t = $u->t;
my $dir = $t->dir;
my $token = '0123456789abcdef0123456789abcdef';
my $listen = '127.0.0.1:' . Test::Symcache::free_port();
# version 1 of symupload knows no token: nginx decides who may
$t->stop_nginx;
unlink $t->nginx_socket;
Test::Example::start($t, 'uploads.conf', address => $listen, put => {
    'listen 80;' => "listen $listen; listen unix:$dir/n.sock;",
    '/run/symcached/uploads.sock' => "$dir/u.sock", '/srv/uploads' => "$dir/uploads",
    '    location /symupload/v1/ {' => <<"EON" });
    location /legacy/ {
        allow 127.0.0.1;
        deny  all;
        proxy_pass_request_body off;
        proxy_set_header Content-Length 0;
        proxy_set_header Host localhost;
        proxy_set_header X-Symcached-Body \$request_body_file;
        proxy_set_header Auth-Token $token;
        proxy_pass http://unix:$dir/u.sock:/v1/uploads/;
    }
    location /symupload/v1/ {
EON

sub run {
    my (@command) = @_;
    my $pid = open(my $out, '-|') // die $!;
    if (!$pid) {
        open STDERR, '>&', \*STDOUT;
        exec 'timeout', 60, @command or die "exec: $!";
    }
    my $text = do { local $/; <$out> } // '';
    close $out;
    return "exit $?\n$text";
}
sub id { sprintf '%032X0', $_[0] }
sub sym {
    my ($n) = @_;
    return $t->write_file("lib$n.so.sym",
        "MODULE Linux x86_64 ${\ id($n)} lib$n.so\nFILE 0 /src/a.c\nFUNC 1000 10 0 f$n\n1000 10 7 0\n");
}
sub stored { my ($n) = @_; $t->read_file("uploads/lib$n.so/${\ id($n)}/lib$n.so.sym") }

# The name comes by Mozilla's protocol of the store.
sub has_name {
    my ($n) = @_;
    is $t->helper('GET', "/v1/symcache/default/lib$n.so/${\ id($n)}?version=9.0.0&wait=30")->{status},
        200, '... and it becomes a SymCache';
}

# --- Breakpad

SKIP: {
    my $symupload = $programs{SYMUPLOAD} // skip 'symupload: set SYMUPLOAD', 1;
    my @v2 = ($symupload, '-p', 'sym-upload-v2', '-k', $token);
    my $file = sym(1);
    like run(@v2, $file, "http://$listen/symupload"), qr/^exit 0\n.*Successfully sent/s,
        'symupload, version 2';
    is stored(1), $t->read_file('lib1.so.sym'), '... the text is stored';
    has_name(1);
    like run(@v2, $file, "http://$listen/symupload"), qr/^exit 0\n.*already exists/s,
        '... once more it is found';
    like run(@v2, '-f', $file, "http://$listen/symupload"), qr/^exit 0\n.*matched existing/s,
        '... sent all the same it is the same';
    like run($symupload, '-p', 'sym-upload-v2', '-k', 'wrong', sym(2), "http://$listen/symupload"),
        qr/Failed/, '... a wrong token is refused';
    ok !-e $t->path('uploads/lib2.so'), '... and nothing stored';

    # killed and started again between the steps: the client is run again
    my $created = $u->request('POST', "/symupload/v1/uploads:create?key=$token", '');
    is $created->{status}, 200, '... an upload is begun';
    $t->stop_symcached('KILL');
    $t->start_symcached($u->config);
    like run(@v2, sym(2), "http://$listen/symupload"), qr/^exit 0\n.*Successfully sent/s,
        '... after a kill of symcached, the next run sends it';

    like run($symupload, sym(3), "http://$listen/legacy/"), qr/^exit 0\n.*Successfully sent/s,
        'symupload, version 1';
    is stored(3), $t->read_file('lib3.so.sym'), '... the text is stored';
    has_name(3);
}

# --- Pyroscope

SKIP: {
    my $profilecli = $programs{PROFILECLI} // skip 'profilecli: set PROFILECLI', 1;
    # a program with a build id of its own
    my $program = sub {
        my ($name, $build) = @_;
        $t->write_file("$name.c", "int main(void) { return 0; }\n");
        system('cc', '-g', "-Wl,--build-id=0x$build", '-o', "$dir/$name", "$dir/$name.c") == 0
            or die 'cc';
        return ("$dir/$name", $build, "uploads/$name/elf-buildid-$build/$name");
    };
    my @upload = ($profilecli, 'debuginfo', 'upload', '--url', "http://$listen");
    my ($file, $build, $place) = $program->('app', '01234567' x 5);
    like run(@upload, '--token', 'wrong', $file), qr/^exit (?!0\n).*unauthenticated/s,
        'profilecli: a wrong token is refused';
    like run(@upload, '--token', $token, $file), qr/^exit 0\n.*successfully uploaded.*$build/s,
        'profilecli debuginfo upload';
    is $t->read_file($place), $t->read_file('app'), '... the file is stored';
    is $t->helper('GET', "/v1/executable/default/_/buildid-$build?version=1.0.0&wait=30")->{status},
        200, '... debuginfod has it by its build id';
    like run(@upload, '--token', $token, $file), qr/^exit 0\n.*server declined upload/s,
        '... once more it is not wanted';
    for my $command (['list'], ['delete', $build]) {
        like run($profilecli, 'debuginfo', @$command, '--url', "http://$listen", '--token', $token),
            qr/^exit (?!0\n).*(?:unimplemented|permission_denied)/s, "... $command->[0] is refused";
    }
    ($file, $build, $place) = $program->('two', '89abcdef' x 5);
    like run(@upload, '--username', 'tenant', '--password', $token, $file),
        qr/^exit 0\n.*successfully uploaded/s, '... with the token as the password of Basic';
    is $t->read_file($place), $t->read_file('two'), '... stored';

    # what was announced is lost by a kill, and the next run announces it again
    ($file, $build, $place) = $program->('three', 'fedcba98' x 5);
    is $u->request('POST', '/debuginfo.v1alpha1.DebuginfoService/ShouldInitiateUpload',
        JSON::PP::encode_json({ file => { gnuBuildId => $build, name => 'three' } }),
        'Content-Type: application/json', "Authorization: Bearer $token")->{status}, 200,
        '... a file is announced';
    $t->stop_symcached('KILL');
    $t->start_symcached($u->config);
    is $u->request('POST', "/debuginfo.v1alpha1.DebuginfoService/Upload/$build", 'x',
        "Authorization: Bearer $token")->{status}, 412, '... which a kill of symcached forgets';
    like run(@upload, '--token', $token, $file), qr/^exit 0\n.*successfully uploaded/s,
        '... the next run sends it';
    is $t->read_file($place), $t->read_file('three'), '... whole';
}

# --- Tecken

SKIP: {
    my $script = $programs{UPLOAD_SYM} // skip 'upload-sym.py: set UPLOAD_SYM', 1;
    system('python3 -c "import click, requests" 2>/dev/null') == 0
        or skip 'upload-sym.py: no click and requests for Python', 1;
    my @files = map { sym($_) } 4, 5;
    my @upload = ('python3', $script, '--base-url', "http://$listen/", '--auth-token');
    like run(@upload, 'wrong', @files), qr/status code 403/, 'upload-sym.py: a wrong token is refused';
    like run(@upload, $token, @files), qr/^exit 0\n.*"upload"/s, 'upload-sym.py';
    is stored($_), $t->read_file("lib$_.so.sym"), "... file $_ is stored" for 4, 5;
    has_name(5);
}
SKIP: {
    my $program = $programs{UPLOAD_SYMBOLS} // skip 'upload-symbols: set UPLOAD_SYMBOLS', 1;
    for (6, 7) {
        system('mkdir', '-p', "$dir/tree/Lib$_.so/${\ id($_)}") == 0 or die;
        rename sym($_), "$dir/tree/Lib$_.so/${\ id($_)}/Lib$_.so.sym" or die $!;
    }
    local $ENV{SYMBOLS_AUTH_TOKEN} = $token;
    my @upload = ($program, '--server-url', "http://$listen/", "$dir/tree");
    like run(@upload), qr/^exit 0\n.*2 files uploaded, 0 skipped/s, 'upload-symbols';
    is stored($_), $t->read_file("tree/Lib$_.so/${\ id($_)}/Lib$_.so.sym"), "... file $_ is stored"
        for 6, 7;
    like run(@upload), qr/^exit 0\n.*0 files uploaded, 2 skipped/s, '... and skipped when they come again';
}

$t->finish;
done_testing;
