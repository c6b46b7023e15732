package Test::S3;

# A server of S3 that checks signatures, digests and conditions as the
# specification has them, and fails as stores do.  Objects are files, of their
# headers and their body.
#
#   my $s3 = Test::S3->new($t, region => 'eu-west-1', secrets => { ID => KEY });
#   $s3->url; $s3->requests;               # as Test::ScriptedServer has them
#   my ($headers, $body) = $s3->load('/bucket/name');
#   $s3->fail('403 AccessDenied');         # from now on; '' ends it
#
# A list (ListObjectsV2) has `page` objects at a time, 1000 unless new() is told
# another number.

use strict;
use warnings;

use parent 'Test::ScriptedServer';

use Digest::SHA qw(sha256_hex);
use JSON::PP ();
use POSIX ();
use Test::More ();
use Test::SigV4;
use Test::Symcache;
use Time::HiRes qw(sleep);

sub new {
    my ($class, $t, %check) = @_;
    my $objects = $t->path('objects');
    mkdir $objects or die "$objects: $!";
    my %store = (t => $t, objects => $objects, check => \%check);
    my $self = $class->SUPER::new(log => $t->path('s3'),
        script => sub { answer({%store}, @_) });
    @$self{keys %store} = values %store;
    return $self;
}

# The file of an object.
sub file { $_[0]{objects} . '/' . sha256_hex($_[1]) }

sub save {
    my ($self, $path, $headers, $body) = @_;
    my $etag = '"' . sha256_hex($body) . '"';
    my $json = JSON::PP->new->canonical->encode({ etag => $etag,
        map { $_ => $headers->{$_} }
        grep { /^(?:x-amz-meta-|content-type)/ } keys %$headers });
    my $file = file($self, $path);
    $self->{t}->write_file("$file.name", $path);
    # in one step: several machines ask at a time
    rename $self->{t}->write_file("$file.new$$", "$json\n$body"), $file or die;
    return $etag;
}

# Headers, body and ETag of an object; nothing if there is none.  The ETag is kept,
# as symcached waits for the first byte for two seconds only.
sub load {
    my ($self, $path) = @_;
    open my $fh, '<:raw', file($self, $path) or return;
    local $/ = "\n";
    my $headers = JSON::PP::decode_json(scalar <$fh>);
    read $fh, my $body, -s $fh;
    return ($headers, $body, delete $headers->{etag});
}

# How it fails: "silent", "drips" (an object without end), "no-quorum" (only
# writes hang), "held" (they wait until
# it fails in another way), "held-parts" (parts of a symbfile that are read do),
# "held-entries" (those for the index do),
# "pause", "busy", "page" (of a proxy, for everything), "busy-files" and
# "page-files" (all but those for the index), "expired" (keys without the token
# "fresh"),
# "no-delete" (keys that may not), "part N" (of an upload in parts), with a
# status and a code or without, or these two alone.  With "put" before them they
# are for writes only, with a size behind them for bodies that are as large.  In
# one step: a request that came between two modes would find none.
sub fail {
    my ($self, $mode) = @_;
    my $t = $self->{t};
    rename $t->write_file('mode.new', $mode), $t->path('mode') or die;
}

# --- in the connection's process

sub refuse {
    my ($c, $status, $code) = @_;
    return $c->reply($status, { 'Content-Type' => 'application/xml' },
        qq(<?xml version="1.0"?>\n<Error><Code>$code</Code></Error>));
}

sub copy {
    my ($self, $c, $path, $h) = @_;
    my ($old, $body, $etag) = load($self, Test::SigV4::decode(
        $h->{'x-amz-copy-source'})) or return refuse($c, 404, 'NoSuchKey');
    return refuse($c, 400, 'InvalidRequest')
        if ($h->{'x-amz-metadata-directive'} // '') ne 'REPLACE';
    save($self, $path, $h, $body);
    return $c->reply(200, { ETag => $etag }, '<CopyObjectResult/>');
}

sub put {
    my ($self, $c, $path, $h, $body) = @_;
    return copy($self, $c, $path, $h) if $h->{'x-amz-copy-source'};
    return refuse($c, 400, 'XAmzContentSHA256Mismatch')
        if sha256_hex($body) ne ($h->{'x-amz-content-sha256'} // sha256_hex($body));
    return refuse($c, 412, 'PreconditionFailed')
        if ($h->{'if-none-match'} // '') eq '*' && -e file($self, $path);
    return $c->reply(200, { ETag => save($self, $path, $h, $body) }, '');
}

# libcurl 8.14.0 to 8.18.0 signs a plus sign in a query as a blank, in whatever
# form it is there (curl's issue 20543).  With them this is a server whose tokens
# and ids have none.
my $plus = do {
    my $version = Test::Symcache::libcurl();
    $version < 0x080e00 || $version >= 0x081300 ? '+' : '';
};

# For tests that mean such tokens or ids: a skip says that they have none.
sub has_plus {
    SKIP: {
        Test::More::skip('libcurl 8.14.0 to 8.18.0 signs a plus sign in a '
            . 'query wrongly', 1) if !$plus;
        Test::More::pass('tokens and ids have a plus sign');
    }
}

# --- uploads in parts: kept in a folder beside the objects until they are
# completed.  An id has what needs an escape in a query.

sub parts_file { "$_[0]{objects}.parts/" . unpack('H*', $_[1]) . ".$_[2]" }

# The uploads that are neither completed nor aborted.
sub unfinished { scalar(() = glob "$_[0]{objects}.parts/*.head") }

sub forget_unfinished { unlink glob "$_[0]{objects}.parts/*" }

sub begin_parts {
    my ($self, $c, $path, $h) = @_;
    my $id = "up/$plus=" . unpack 'H*', pack 'd', Time::HiRes::time();
    my %keep = map { $_ => $h->{$_} }
        grep { /^(?:x-amz-meta-|content-type)/ } keys %$h;
    mkdir "$self->{objects}.parts";
    $self->{t}->write_file(parts_file($self, $id, 'head'),
        JSON::PP::encode_json({ path => $path, headers => \%keep }));
    return $c->reply(200, { 'Content-Type' => 'application/xml' },
        '<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key>'
        . "<UploadId>$id</UploadId></InitiateMultipartUploadResult>");
}

sub put_part {
    my ($self, $c, $q, $h, $body) = @_;
    return refuse($c, 404, 'NoSuchUpload')
        if !-e parts_file($self, $q->{uploadId}, 'head');
    return refuse($c, 400, 'XAmzContentSHA256Mismatch')
        if sha256_hex($body) ne ($h->{'x-amz-content-sha256'} // sha256_hex($body));
    my $mode = $self->{t}->read_file('mode') // '';
    return refuse($c, $1 // 500, $2 // 'InternalError')
        if $mode =~ /^part $q->{partNumber}(?: (\d+) (\w+))?$/;
    $self->{t}->write_file(parts_file($self, $q->{uploadId}, $q->{partNumber}),
        $body);
    return $c->reply(200, { ETag => '"' . sha256_hex($body) . '"' }, '');
}

sub abort_parts {
    my ($self, $id) = @_;
    unlink glob parts_file($self, $id, '*');
}

# Parts in order, with their ETags; all but the last have 5 MiB at least.
sub complete_parts {
    my ($self, $c, $path, $id, $h, $body) = @_;
    my $head = $self->{t}->read_file(parts_file($self, $id, 'head'))
        // return refuse($c, 404, 'NoSuchUpload');
    my ($last, @bytes) = 0;
    while ($body =~ m{<Part><PartNumber>(\d+)</PartNumber><ETag>(.*?)</ETag></Part>}g) {
        my ($n, $etag) = ($1, $2);
        my $part = $self->{t}->read_file(parts_file($self, $id, $n));
        return refuse($c, 400, 'InvalidPart')
            if !defined $part || $etag ne '"' . sha256_hex($part) . '"';
        return refuse($c, 400, 'InvalidPartOrder') if $n <= $last;
        $last = $n;
        push @bytes, $part;
    }
    return refuse($c, 400, 'MalformedXML') if !@bytes;
    return refuse($c, 400, 'EntityTooSmall')
        if grep { length $_ < 5 << 20 } @bytes[0 .. $#bytes - 1];
    return refuse($c, 412, 'PreconditionFailed')
        if ($h->{'if-none-match'} // '') eq '*' && -e file($self, $path);
    save($self, $path, JSON::PP::decode_json($head)->{headers},
         join '', @bytes);
    abort_parts($self, $id);
    return $c->reply(200, { 'Content-Type' => 'application/xml' },
        '<CompleteMultipartUploadResult/>');
}

# The names of the objects of a bucket, in order.
sub names {
    my ($self, $bucket) = @_;
    return sort map { s{^/\Q$bucket\E/}{} ? $_ : () }
        map { $self->{t}->read_file("$_.name") }
        grep { !/\.(?:name|new\d+)$/ } glob "$self->{objects}/*";
}

# A token is the last name of the page before, in hex digits.  Encoded keys are
# those of Amazon: a blank is a plus.  That they are is told behind them.
sub list {
    my ($self, $c, $bucket, %q) = @_;
    my $xml = sub { $_[0] =~ s/([<>&])/'&#' . ord($1) . ';'/ger };
    my $url = ($q{'encoding-type'} // '') eq 'url';
    my $key = !$url ? $xml : sub {
        $_[0] =~ s{([^\w./ -])}{sprintf '%%%02X', ord $1}ager =~ tr/ /+/r };
    my $from = pack 'H*', ($q{'continuation-token'} // '') =~ s{^\+?/=}{}r;
    my $max = $self->{check}{page} // 1000;
    my @names = grep { index($_, $q{prefix}) == 0 && $_ gt $from }
        names($self, $bucket);
    my $more = @names > $max;
    splice @names, $max if $more;
    return $c->reply(200, { 'Content-Type' => 'application/xml' },
        qq(<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult)
        . ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        . "<Name>$bucket</Name><IsTruncated>" . ($more ? 'true' : 'false')
        . '</IsTruncated>' . join('', map {
            my @st = stat file($self, "/$bucket/$_");
            '<Contents><Key>' . $key->($_) . '</Key><LastModified>'
            . POSIX::strftime('%Y-%m-%dT%H:%M:%S.000Z', gmtime $st[9])
            . "</LastModified><Size>$st[7]</Size></Contents>" } @names)
        . ($url ? '<EncodingType>url</EncodingType>' : '')
        . ($more ? "<NextContinuationToken>$plus/=" . unpack('H*', $names[-1])
            . '</NextContinuationToken>' : '') . '</ListBucketResult>');
}

sub answer {
    my ($self, $c, $req) = @_;
    my ($h, $method) = @$req{qw(headers method)};
    my $body = $method =~ /^P/ ? $c->read_body($req) : '';
    my $mode = $self->{t}->read_file('mode') // '';
    if ($mode eq 'silent' || ($mode eq 'no-quorum' && $method eq 'PUT')) {
        sleep 60;
        return;
    }
    for (my $n = 0; $n < 600 && ($mode eq 'held' && $method eq 'PUT' ||
            $mode eq 'held-parts' && $method eq 'GET'
            && $req->{path} =~ m{symbfile\.\d+-\d+$} ||
            $mode eq 'held-entries' && $req->{path} =~ m{/\.index/}); $n++) {
        sleep 0.1;
        $mode = $self->{t}->read_file('mode') // '';
    }
    if ($mode eq 'drips') {
        $c->reply(200, { 'Content-Length' => 1 << 25 }, '');
        sleep 0.1 while $c->send('x' x 8192)
            && $self->{t}->read_file('mode') eq $mode;
        return $c->close;
    }
    return $c->reply(503, { 'Retry-After' => 600 }, '') if $mode eq 'pause';
    return refuse($c, 503, 'SlowDown') if $mode eq 'busy'
        || $mode eq 'busy-files' && $req->{path} !~ m{/\.index/};
    return $c->reply(200, { 'Content-Type' => 'text/html', 'Content-Length' => 6 },
        $method eq 'HEAD' ? '' : '<html>') if $mode eq 'page'
        || $mode eq 'page-files' && $req->{path} !~ m{/\.index/};
    return refuse($c, split / /, $mode) if $mode =~ /^\d+ \w+$/;
    return refuse($c, $1, $2) if $method eq 'PUT'
        && $mode =~ /^put (\d+) (\w+)(?: (\d+))?$/ && length $body >= ($3 // 0);
    my $vendor = $self->{check}{vendor};
    my $wrong = $self->{check}{wrong} ? $self->{check}{wrong}->($req)
        : exists $req->{query}{'X-Amz-Signature'}
        ? Test::SigV4::check_query($req, %{ $self->{check} })
        : Test::SigV4::check($req, payload => 1, %{ $self->{check} });
    if ($wrong) {
        my ($code) = split /: /, $wrong;
        return refuse($c, $code =~ /Malformed/ ? 400 : 403, $code);
    }
    return refuse($c, 403, 'ExpiredToken') if $mode eq 'expired'
        && ($h->{'x-amz-security-token'} // '') ne 'fresh';
    return refuse($c, 403, 'AccessDenied')
        if $mode eq 'no-delete' && $method eq 'DELETE';
    my $path = Test::SigV4::decode($req->{path});
    my %q = map { Test::SigV4::decode($_ // '') } %{ $req->{query} };
    return begin_parts($self, $c, $path, $h) if exists $q{uploads};
    return put_part($self, $c, \%q, $h, $body) if exists $q{partNumber};
    return complete_parts($self, $c, $path, $q{uploadId}, $h, $body)
        if $method eq 'POST';
    return put($self, $c, $path, $h, $body) if $method eq 'PUT';
    if ($method eq 'DELETE' && exists $q{uploadId}) {
        abort_parts($self, $q{uploadId});
        return $c->reply(204, {}, '');
    }
    if ($method eq 'DELETE') {
        unlink file($self, $path);
        return $c->reply(204, {}, '');
    }
    if (my ($bucket) = $path =~ m{^/([^/]+)/$}) {
        return list($self, $c, $bucket,
                    map { Test::SigV4::decode($_) } %{ $req->{query} });
    }
    my $head = $method eq 'HEAD';
    my ($headers, $bytes, $etag) = load($self, $path)
        or return $head ? $c->reply(404, {}, '') : refuse($c, 404, 'NoSuchKey');
    $headers = { map { (s/^x-amz-/x-$vendor-/r => $headers->{$_}) } keys %$headers }
        if $vendor;
    $headers = { %$headers, ETag => $etag, 'Content-Length' => length $bytes,
        'Last-Modified' => POSIX::strftime('%a, %d %b %Y %H:%M:%S GMT',
            gmtime((stat file($self, $path))[9])) };
    return $c->reply(200, $headers, $head ? '' : $bytes);
}

1;
