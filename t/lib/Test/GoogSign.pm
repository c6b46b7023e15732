package Test::GoogSign;

# Checks the signature in the query of a request as Google's storage does,
# written from its description ("Signatures", "Canonical requests") and tried
# with published examples in t/helper/source_gcs.t.
#
#   my $wrong = Test::GoogSign::check($req, key => FILE, email => ..., now => ...);
#   # undef, or what is wrong; FILE has the public key in PEM

use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use File::Temp ();
use Test::SigV4;
use Time::Local qw(timegm);

sub verifies {
    my ($key, $text, $signature) = @_;
    my $dir = File::Temp->newdir;
    local $SIG{CHLD} = 'DEFAULT'; # a server may ignore it
    for (['text', $text], ['sig', $signature]) {
        open my $fh, '>:raw', "$dir/$_->[0]" or die $!;
        print $fh $_->[1];
        close $fh;
    }
    return system("openssl dgst -sha256 -verify $key -signature $dir/sig "
        . "$dir/text >/dev/null 2>&1") == 0;
}

# $req: method, uri, headers (lower-case names)
sub check {
    my ($req, %o) = @_;
    my ($path, $query) = split /\?/, $req->{uri}, 2;
    my %q = map { my ($k, $v) = split /=/, $_, 2; ($k => Test::SigV4::decode($v)) }
        split /&/, $query // '';
    return 'another algorithm, or none'
        if ($q{'X-Goog-Algorithm'} // '') ne 'GOOG4-RSA-SHA256';
    my $time = $q{'X-Goog-Date'} // '';
    my @t = $time =~ /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/
        or return "date $time";
    my $scope = substr($time, 0, 8) . '/auto/storage/goog4_request';
    return "credential $q{'X-Goog-Credential'}"
        if $q{'X-Goog-Credential'} ne "$o{email}/$scope";
    my $age = ($o{now} // time)
        - timegm($t[5], $t[4], $t[3], $t[2], $t[1] - 1, $t[0]);
    return "age $age" if $age < -900 || $age > $q{'X-Goog-Expires'};
    my @signed = split /;/, $q{'X-Goog-SignedHeaders'};
    return 'host is not signed' unless grep { $_ eq 'host' } @signed;
    return "not in order: @signed" if "@signed" ne join ' ', sort @signed;
    $query =~ s/&X-Goog-Signature=([0-9a-f]+)$// or return 'no signature';
    my $signature = pack 'H*', $1;
    my $request = Test::SigV4::canonical_request(
        { %$req, uri => "$path?$query" }, \@signed, 'UNSIGNED-PAYLOAD');
    my $text = join "\n", 'GOOG4-RSA-SHA256', $time, $scope,
        sha256_hex($request);
    return verifies($o{key}, $text, $signature) ? undef
        : "another signature than that of:\n$request";
}

1;
