package Test::Front;

# nginx in front of symbolicated, as conf-examples/symbolicate.conf has it.
#
#   $t->start_symbolicated(...);
#   my ($open, $signed_in) = Test::Front::start($t, 'rate=20r/s' => 'rate=9r/s');
#   $t->http($open, 'GET', '/__version__');      # "127.0.0.1:PORT"
#
# Pairs of texts are replaced in the example.  The second port, without TLS
# here, wants the user "me" with the password "secret".

use strict;
use warnings;

use Test::Symcache;

sub start {
    my ($t, %changes) = @_;
    my @ports = map { '127.0.0.1:' . Test::Symcache::free_port() } 1, 2;
    my $text = $t->read_file("$Test::Symcache::top/conf-examples/symbolicate.conf");
    %changes = (%changes,
        'listen 80;' => "listen $ports[0];",
        'listen 8443 ssl;' => "listen $ports[1];",
        '80      off;' => $ports[0] =~ s/.*://r . ' off;',
        'ssl_certificate     /etc/nginx/tls.crt;' => '',
        'ssl_certificate_key /etc/nginx/tls.key;' => '',
        'unix:/run/symcached/symbolicated.sock' =>
            'unix:' . $t->symbolicated_socket,
        '/etc/nginx/htpasswd' => $t->write_file('htpasswd',
            "me:{PLAIN}secret\n"),
    );
    for my $was (keys %changes) {
        $text =~ s/\Q$was\E/$changes{$was}/g or die "no \"$was\" in the example";
    }
    $t->start_nginx('', load => 0, http => $text, address => $ports[1]);
    return @ports;
}

1;
