package Test::SharedKey;

# Signs requests as Azure's storage wants them, and checks them as it does,
# written from the specification ("Authorize with Shared Key", the format of
# 2015-02-21 and later) and tried with its published example, and with requests
# of Microsoft's own client, in t/helper/source_azure.t.
#
#   my $wrong = Test::SharedKey::check($req, keys => { $account => $base64 },
#                                      now => ...);
#   # undef, or the <Code> of the answer and why

use strict;
use warnings;

use Digest::SHA qw(hmac_sha256_base64);
use MIME::Base64 qw(decode_base64);
use POSIX ();
use Time::Local qw(timegm);

my @months = qw(Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec);

sub decode {
    my ($text) = @_;
    $text =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
    return $text;
}

# $req: method, uri, headers (lower-case names)
sub string_to_sign {
    my ($req, $account) = @_;
    my $h = $req->{headers};
    my ($path, $query) = split /\?/, $req->{uri}, 2;
    my %query;
    for (split /&/, $query // '') {
        my ($k, $v) = map { decode($_) } split /=/, $_, 2;
        push @{ $query{lc $k} }, $v;
    }
    my $length = $h->{'content-length'} || '';
    return join "\n", $req->{method},
        $h->{'content-encoding'} // '', $h->{'content-language'} // '',
        $length, $h->{'content-md5'} // '', $h->{'content-type'} // '',
        $h->{'x-ms-date'} ? '' : $h->{date} // '',
        (map { $h->{$_} // '' } qw(if-modified-since if-match if-none-match
                                   if-unmodified-since range)),
        (map { "$_:$h->{$_}" } sort grep { /^x-ms-/ } keys %$h),
        "/$account$path",
        map { "$_:" . join ',', sort @{ $query{$_} } } sort keys %query;
}

sub signature {
    my ($text, $key) = @_;
    my $mac = hmac_sha256_base64($text, decode_base64($key));
    return $mac . '=' x (-length($mac) % 4);
}

sub date {
    my ($time) = @_;
    my @t = gmtime $time;
    return POSIX::strftime('%a, %d %b %Y %H:%M:%S GMT', @t);
}

# Adds what is missing of date and version, and the signature.
sub sign {
    my ($req, $account, $key) = @_;
    my $h = $req->{headers};
    $h->{'x-ms-date'} //= date(time);
    $h->{'x-ms-version'} //= '2019-07-07';
    $h->{authorization} = "SharedKey $account:"
        . signature(string_to_sign($req, $account), $key);
    return $req;
}

sub check {
    my ($req, %o) = @_;
    my $h = $req->{headers};
    my ($account, $given) = ($h->{authorization} // '') =~
        m{^SharedKey ([a-z0-9]+):([A-Za-z0-9+/=]+)$}
        or return 'InvalidAuthenticationInfo: ' . ($h->{authorization} // '');
    my $key = $o{keys}{$account}
        // return "AuthenticationFailed: no account $account";
    return 'AuthenticationFailed: no x-ms-version' if !$h->{'x-ms-version'};

    my ($day, $month, $year, @clock) = ($h->{'x-ms-date'} // '') =~
        /^[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT$/
        or return 'AuthenticationFailed: no x-ms-date';
    my ($m) = grep { $months[$_] eq $month } 0 .. 11;
    my $at = timegm(reverse(@clock), $day, $m, $year);
    return "AuthenticationFailed: $h->{'x-ms-date'} is not now"
        if date($at) ne $h->{'x-ms-date'}
        || abs($at - ($o{now} // time)) > 900;

    my $text = string_to_sign($req, $account);
    my $want = signature($text, $key);
    return "AuthenticationFailed: $given, not $want of:\n$text"
        if $want ne $given;
    return;
}

1;
