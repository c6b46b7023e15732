package Test::SigV4;

# Checks the Authorization header of a request as an object store does, written
# from the specification ("Signature Calculations for the Authorization Header:
# Transferring Payload in a Single Chunk") and tried with its published
# examples in t/helper/source_bucket.t.
#
#   my $wrong = Test::SigV4::check($req, secrets => { $id => $secret },
#                                  region => ..., now => ...);
#   # undef, or the <Code> of the answer and why

use strict;
use warnings;

use Digest::SHA qw(hmac_sha256 hmac_sha256_hex sha256_hex);
use Time::Local qw(timegm);

our $empty = sha256_hex('');

# UriEncode() of the specification
sub encode {
    my ($text, $slash) = @_;
    my $keep = $slash ? qr{[^A-Za-z0-9\-._~/]} : qr{[^A-Za-z0-9\-._~]};
    $text =~ s/($keep)/sprintf '%%%02X', ord $1/ge;
    return $text;
}

sub decode {
    my ($text) = @_;
    $text =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
    return $text;
}

sub canonical_query {
    my ($query) = @_;
    my @pairs = map { my ($k, $v) = split /=/, $_, 2;
                      [encode(decode($k)), encode(decode($v // ''))] }
        split /&/, $query // '';
    return join '&', map { "$_->[0]=$_->[1]" }
        sort { $a->[0] cmp $b->[0] || $a->[1] cmp $b->[1] } @pairs;
}

# $req: method, uri, headers (lower-case names, values joined by ", ")
sub canonical_request {
    my ($req, $signed, $hash) = @_;
    my ($path, $query) = split /\?/, $req->{uri}, 2;
    return join "\n", $req->{method}, encode(decode($path), 1),
        canonical_query($query),
        (map { my $v = $req->{headers}{$_}; $v =~ s/^\s+|\s+$//g;
               $v =~ s/\s+/ /g; "$_:$v" } @$signed),
        '', join(';', @$signed), $hash;
}

sub signature {
    my ($secret, $date, $time, $region, $request) = @_;
    my @scope = ($date, $region, 's3', 'aws4_request');
    my $key = "AWS4$secret";
    $key = hmac_sha256($_, $key) for @scope;
    return hmac_sha256_hex(join("\n", 'AWS4-HMAC-SHA256', $time,
                                join('/', @scope),
                                sha256_hex($request)), $key);
}

# The same for a signature in the query, by which somebody without keys may ask
# ("Authenticating Requests: Using Query Parameters").
sub check_query {
    my ($req, %o) = @_;
    my %q = map { decode($_) } %{ $req->{query} };
    my ($id, $date, $region, $scope) = ($q{'X-Amz-Credential'} // '') =~
        m{^([^/]+)/(\d{8})/([^/]+)/(s3/aws4_request)$}
        or return 'AuthorizationQueryParametersError: credential';
    my $secret = $o{secrets}{$id} // return "InvalidAccessKeyId: $id";
    my $expires = $q{'X-Amz-Expires'} // '';
    my @t = ($q{'X-Amz-Date'} // '') =~
        /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;
    return 'AuthorizationQueryParametersError: parameters'
        if @t == 0 || "$t[0]$t[1]$t[2]" ne $date || $expires !~ /^[1-9]\d*$/
        || $expires > 604800 || ($o{region} && $region ne $o{region})
        || ($q{'X-Amz-Algorithm'} // '') ne 'AWS4-HMAC-SHA256'
        || ($q{'X-Amz-SignedHeaders'} // '') ne 'host';
    my $at = timegm($t[5], $t[4], $t[3], $t[2], $t[1] - 1, $t[0]);
    my $now = $o{now} // time;
    return 'AccessDenied: Request has expired'
        if $now > $at + $expires || $at > $now + 900;
    my $uri = $req->{uri} =~ s/&?X-Amz-Signature=\w+//r;
    my $request = canonical_request({ %$req, uri => $uri }, ['host'],
                                    'UNSIGNED-PAYLOAD');
    my $want = signature($secret, $date, $q{'X-Amz-Date'}, $region, $request);
    return "SignatureDoesNotMatch: not $want of:\n$request"
        if $want ne ($q{'X-Amz-Signature'} // '');
    return;
}

sub check {
    my ($req, %o) = @_;
    my $h = $req->{headers};
    my $auth = $h->{authorization} // return 'AccessDenied: no signature';
    my ($id, $date, $region, $service, $end, $signed, $given) = $auth =~
        m{^AWS4-HMAC-SHA256\ Credential=([^/,]+)/(\d{8})/([^/]+)/([^/]+)/
          ([^/,]+),\s*SignedHeaders=([^,]+),\s*Signature=([0-9a-f]{64})$}x
        or return "AuthorizationHeaderMalformed: $auth";
    my $secret = $o{secrets}{$id} // return "InvalidAccessKeyId: $id";
    return "AuthorizationHeaderMalformed: scope $region/$service/$end"
        if $service ne 's3' || $end ne 'aws4_request'
        || ($o{region} && $region ne $o{region});

    my $time = $h->{'x-amz-date'} // return 'AccessDenied: no date';
    my @t = $time =~ /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/
        or return "AccessDenied: date $time";
    my $at = timegm($t[5], $t[4], $t[3], $t[2], $t[1] - 1, $t[0]);
    return "RequestTimeTooSkewed: $time"
        if abs($at - ($o{now} // time)) > 900 || substr($time, 0, 8) ne $date;

    my @signed = split /;/, $signed;
    return "SignatureDoesNotMatch: order of $signed"
        if "@signed" ne join ' ', sort @signed;
    my %signed = map { $_ => 1 } @signed;
    for my $name ('host', grep { /^x-amz-/ } keys %$h) {
        return "AccessDenied: $name is not signed" unless $signed{$name};
    }
    defined $h->{$_} or return "SignatureDoesNotMatch: $_ is not there"
        for @signed;
    if ($o{token}) {
        return 'InvalidToken: no' if ($h->{'x-amz-security-token'} // '')
            ne $o{token};
    }

    my $hash = $h->{'x-amz-content-sha256'}
        // return 'MissingContentSHA256: no';
    return "XAmzContentSHA256Mismatch: $hash"
        if $hash ne $empty && $hash ne 'UNSIGNED-PAYLOAD' && !$o{payload};
    my $request = canonical_request($req, \@signed, $hash);
    my $want = signature($secret, $date, $time, $region, $request);
    return "SignatureDoesNotMatch: $given, not $want of:\n$request"
        if $want ne $given;
    return;
}

1;
