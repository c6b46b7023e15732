package Test::Gcs;

# A server of Google's storage, by its XML API: Test::S3 with Google's names of
# headers and conditions, and with the signatures of a service account
# (Test::GoogSign), which are checked before anything else.
#
#   my $gcs = Test::Gcs->new($t);
#   (client_email => $gcs->email, private_key => '@' . $gcs->key_file);
#   $gcs->url; $gcs->requests; $gcs->load('/bucket/name'); $gcs->fail('busy');

use strict;
use warnings;

use parent 'Test::S3';

use Test::GoogSign;

sub new {
    my ($class, $t, %check) = @_;
    my ($key, $public) = ($t->path('account.pem'), $t->path('account.pub'));
    system("openssl genrsa 2>/dev/null >$key && openssl pkey -in $key -pubout"
        . " -out $public") == 0 or die 'openssl';
    my $self = $class->SUPER::new($t, %check, vendor => 'goog', wrong => sub {
        wrong($_[0], key => $public, email => email()) });
    $self->{key_file} = $key;
    return $self;
}

sub email { 'symbols@project.iam.gserviceaccount.com' }
sub key_file { $_[0]{key_file} }

# What is wrong about a request, as "<code>: <why>"; its headers get the names
# that Test::S3 has for them.
sub wrong {
    my ($req, %o) = @_;
    my $h = $req->{headers};
    my %signed = map { $_ => 1 } split /;/, Test::SigV4::decode(
        $req->{query}{'X-Goog-SignedHeaders'} // '');
    for (grep { /^x-(?:goog|amz)-|^if-none-match$/ } sort keys %$h) {
        return "InvalidHeader: $_" if !/^x-goog-/;
        return "MalformedSecurityHeader: $_ is not signed" if !$signed{$_};
    }
    my $why = Test::GoogSign::check($req, %o);
    return "SignatureDoesNotMatch: $why" if $why;
    my $generation = delete $h->{'x-goog-if-generation-match'};
    if (defined $generation) {
        # "Preconditions are not supported" in uploads in parts
        return "InvalidArgument: $generation" if $generation ne '0'
            || exists $req->{query}{uploadId};
        $h->{'if-none-match'} = '*';
    }
    $h->{s/^x-goog-/x-amz-/r} = delete $h->{$_} for grep { /^x-goog-/ } keys %$h;
    return;
}

1;
