package Test::Uploads;

# Uploads through an nginx that runs with conf-examples/uploads.conf.
#
#   my $u = Test::Uploads->new;            # symcached and nginx run
#   my $r = $u->put('crash.pdb/ID/crash.pdb', $bytes);
#   $r = $u->upload(Test::Zip::zip([...]), try => 1);
#   is $r->{json}{error}, ...;
#   is $u->stored, 'crash.pdb/ID/crash.pdb';

use strict;
use warnings;

use Compress::Zlib qw(memGzip);
use Digest::SHA qw(sha1_hex);
use JSON::PP ();
use Test::Example;
use Test::Symcache;
use Test::Zip;

our @token = ('Auth-Token: 0123456789abcdef0123456789abcdef-build 7');
our @try = ('Auth-Token: try0123456789abcdef');

# %o: uploads (keys of the section), cache (of that section), inputs (of the
# transcoder); for several users
# prepare (is called with $t before anything is started), wrapper (of symcached)
# and user (of nginx's workers).
sub new {
    my ($class, %o) = @_;
    my $t = Test::Symcache->new;
    my $self = bless { t => $t, dir => $t->dir, %o }, $class;
    $t->write_file('tokens', <<'TOKENS');
# token, right, user

0123456789abcdef0123456789abcdef upload ci@example.com
try0123456789abcdef              try    try@example.com
TOKENS
    mkdir "$self->{dir}/$_" for qw(uploads empty);
    $o{prepare}->($t) if $o{prepare};
    $t->start_symcached($self->config, wrapper => $o{wrapper});
    $self->start_nginx;
    return $self;
}

# %put: further texts of the example to replace.
sub start_nginx {
    my ($self, %put) = @_;
    Test::Example::start($self->{t}, 'uploads.conf', user => $self->{user},
        put => { '/run/symcached/uploads.sock' => "$self->{dir}/u.sock",
                 '/srv/uploads' => "$self->{dir}/uploads", %put });
}

sub t { $_[0]{t} }

# A store with an empty source behind the uploads, so that a miss is final.
sub config {
    my ($self) = @_;
    my $dir = $self->{dir};
    my $config = $self->{t}->default_config('http://127.0.0.1:1',
        gated => $self->{gated}, cache => $self->{cache});
    $config->{admin_listen} = "unix:$dir/a.sock";
    $config->{uploads} = { root => "$dir/uploads", listen => "unix:$dir/u.sock",
                           tokens => "\@$dir/tokens",
                           max_size => '16m', %{ $self->{uploads} // {} } };
    $config->{sources} = { empty => { type => 'filesystem',
                                      path => "$dir/empty" } };
    $config->{stores}{default}{sources} = ['empty', 'uploads'];
    $config->{stores}{default}{transcoders}[0]{inputs} = $self->{inputs}
        if $self->{inputs};
    return $config;
}

# The same of another machine, with folders of its own and the spool of the
# first one.
sub config_of {
    my ($self, $m) = @_;
    my $config = $self->config;
    $config->{listen} = 'unix:' . $m->path('h.sock');
    $config->{admin_listen} = 'unix:' . $m->path('a.sock');
    $config->{downloads} = $m->path('downloads');
    $config->{uploads}{listen} = 'unix:' . $m->path('u.sock');
    $config->{uploads}{root} = $m->path('uploads');
    $config->{uploads}{spool} = "$self->{dir}/uploads/.spool";
    $config->{sources}{empty}{path} = $m->path('empty');
    $config->{stores}{default}{root} = $m->path('store');
    return $config;
}

# Starts nginx once more, with a port, as curl and its kin speak TCP.  Returns
# its URL.
sub start_nginx_on_port {
    my ($self) = @_;
    my $port = Test::Symcache::free_port();
    $self->{t}->stop_nginx;
    Test::Example::start($self->{t}, 'uploads.conf',
        address => "127.0.0.1:$port", put => {
            'listen 80;' => "listen 127.0.0.1:$port;",
            '/run/symcached/uploads.sock' => "$self->{dir}/u.sock",
            '/srv/uploads' => "$self->{dir}/uploads" });
    return "http://127.0.0.1:$port";
}

# Sends a bundle of scripts in one chunk as sentry-cli does, and waits for the
# end of its assembly, whose answer is returned.  %o: version, dist
sub send_bundle {
    my ($self, $bytes, %o) = @_;
    my @bearer = ('Authorization: Bearer 0123456789abcdef0123456789abcdef');
    my $sum = sha1_hex($bytes);
    my $r = $self->request('POST', '/api/0/organizations/acme/chunk-upload/',
        "--b\r\nContent-Disposition: form-data; name=\"file_gzip\"; "
            . "filename=\"$sum\"\r\nContent-Type: application/octet-stream\r\n\r\n"
            . memGzip($bytes) . "\r\n--b--\r\n",
        'Content-Type: multipart/form-data; boundary=b', @bearer);
    die "chunks: $r->{status}" if $r->{status} != 200;
    $self->t->wait_until('the bundle is assembled', sub {
        $r = $self->request('POST',
            '/api/0/organizations/acme/artifactbundle/assemble/',
            JSON::PP::encode_json({ checksum => $sum, chunks => [$sum],
                projects => ['web'], %o }), @bearer);
        return ($r->{json}{state} // '') !~ /^(?:created|assembling)$/;
    });
    return $r->{json};
}

# Sends a request; read() reads the answer.
sub begin {
    my ($self, $method, $uri, $body, @headers) = @_;
    my $s = Test::Symcache::connect_to($self->{t}->nginx_socket)
        or die "nginx: $!";
    binmode $s;
    local $SIG{PIPE} = 'IGNORE';
    print $s Test::Symcache::request_text($method, $uri, @headers,
        'Content-Length: ' . length $body), $body;
    $s->flush;
    return $s;
}

sub read {
    my ($self, $s, $method) = @_;
    my $r = $self->{t}->read_response($s, $method);
    $r->{json} = eval { JSON::PP::decode_json($r->{body}) };
    return $r;
}

sub request {
    my ($self, $method, @request) = @_;
    return $self->read($self->begin($method, @request), $method);
}

sub put {
    my ($self, $path, $body, @headers) = @_;
    return $self->request('PUT', "/symbols/$path", $body,
                          @headers ? @headers : @token);
}

# @fields: those of the form; before them a list of headers may stand instead
# of the token.
sub upload {
    my ($self, $zip, @fields) = @_;
    my @headers = ref $fields[0] ? @{ shift @fields } : @token;
    my ($body, $type) = Test::Zip::form('symbols.zip', $zip, @fields);
    return $self->request('POST', '/upload/', $body, $type, @headers);
}

# The uploaded files that are stored.
sub stored {
    my ($self) = @_;
    my $root = "$self->{dir}/uploads";
    return join ' ', sort map { s{^\Q$root/\E}{}r } grep { -f }
        glob("$root/*/*/*"), glob("$root/.try/*/*/*");
}

# Bodies of requests, and files that are being unpacked, are removed a moment
# after the answer.
sub nothing_left {
    my ($self) = @_;
    my $root = "$self->{dir}/uploads";
    return $self->{t}->wait_until('nothing is left', sub {
        !grep { -e } glob "$root/.spool/* $root/.tmp/*/*" });
}

sub clear {
    my ($self) = @_;
    system 'rm', '-rf', glob "$self->{dir}/uploads/[a-z_]* $self->{dir}/uploads/.try";
}

# The administration socket, without nginx.
sub admin {
    my ($self, @request) = @_;
    return $self->{t}->http("$self->{dir}/a.sock", @request);
}

1;
