# A kept connection on which a helper sends more than it was asked for: that is
# no reply to the next question.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Test::More;
use Test::ModuleCase;

my $t = Test::ModuleCase->new;

# one event at a time, so that the next question comes before what is too much

$t->start_nginx('location / { symcache %%DIR%%/store; symcache_pass kept; }',
    events => 'use epoll; epoll_events 1;',
    http => 'symcache_zone off;
             upstream kept { server unix:%%DIR%%/h.sock; keepalive 4; }');

sub h { Test::Symcache::header(@_) }

sub stopped {
    my ($pid) = @_;
    return ($t->read_file("/proc/$pid/stat") // '') =~ /\) T /;
}

my $helper = $t->helper_says(sub {
    my ($c, $req) = @_;
    $c->reply(202, { 'Retry-After' => 5 });
    return if $req->{path} !~ /twice/;
    $t->wait_until('the next question', sub { -e $t->path('go') });
    $c->reply(202, { 'Retry-After' => 9 });
    $t->write_file('gone', '');
});

my @ask = ('GET', $t->uri('3.1.1', location => '', pdb => 'twice.pdb'),
           'Connection: keep-alive');
my $client = $t->open_http($t->nginx_socket, @ask);
is h($t->read_response($client), 'Retry-After'), 5, 'the reply';

my ($worker) = $t->workers;
kill 'STOP', $worker;
$t->wait_until('the worker stops', sub { stopped($worker) });
$ask[1] =~ s/twice/next/;
syswrite $client, Test::Symcache::request_text(@ask);
$t->write_file('go', '');
$t->wait_until('a second reply', sub { -e $t->path('gone') });
kill 'CONT', $worker;

is h($t->read_response($client), 'Retry-After'), 5,
    'the next question has a reply of its own';
is scalar($helper->requests), 2, 'it was asked once';
like $t->error_log, qr/symcached sent more data than its reply has/, 'logged';

$t->finish;
done_testing;
