# symcache_body_group_access: the mode of the file that has the body of a
# request, and what is logged where nginx reads the body before it chooses a
# location.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Test::More;
use Test::ModuleCase;

my $t = Test::ModuleCase->new;

umask 0;

my $server = <<'EON';
    client_body_in_file_only on;
    location / { proxy_pass http://unix:%%DIR%%/none.sock; }
    location /on/ {
        symcache_body_group_access on;
        proxy_pass http://unix:%%DIR%%/none.sock;
    }
EON

# The mode of the file of a body.
sub mode {
    my ($uri) = @_;
    my %before = map { $_ => 1 } glob $t->path('ngx.body/*');
    $t->post($t->nginx_socket, $uri, 'a body');
    return join ' ', map { sprintf '%o', (stat)[2] & 0777 }
        grep { !$before{$_} } glob $t->path('ngx.body/*');
}

$t->start_nginx($server);
is mode('/'), '600', 'the default';
is mode('/on/'), '660', 'where it is on';
$t->stop_nginx;

my $early = 'client_body_early_read $arg_early;';
my ($rc) = $t->test_nginx($early);

SKIP: {
    skip 'this nginx has no client_body_early_read', 3 if $rc != 0;
    $t->start_nginx($early . $server);
    is mode('/on/'), '660', 'not read early';
    $t->get('/on/?early=1');
    unlike $t->error_log, qr/client_body_early_read/, 'nor is no body';
    mode('/on/?early=1');
    like $t->error_log, qr/"client_body_early_read" must be off for uploads/,
        'read early: logged';
}

$t->finish;
done_testing;
