package Test::Configuration;

# A configuration that is refused is refused everywhere: with -t, at the start,
# and at a reload of a daemon that runs, which goes on as before.
#
#   start_symcached($t, ...) or Test::Symcache's own, then
#   refused($t, $text, qr/.../, 'name');   # one subtest

use strict;
use warnings;

use Exporter qw(import);
use Test::More;

our @EXPORT_OK = qw(refused);

# (exit code, output); the configuration's own path is FILE
sub run {
    my ($t, $file, @options) = @_;
    my %env = $t->sanitizer_env(0);
    local @ENV{keys %env} = values %env;
    my $program = $t->program('symcached');
    my $out = qx($program @options -c $file 2>&1);
    $out =~ s/\Q$file\E/FILE/g;
    return ($? & 127 ? "signal $?" : $? >> 8, $out);
}

sub refused {
    my ($t, $text, $re, $name) = @_;
    subtest $name => sub {
        my $file = $t->write_helper_config($text);
        my ($code, $said) = run($t, $file, '-t');
        is $code, 1, 'exit code of -t';
        like $said, qr/^symcached: $re/, 'file, line, key, reason';
        is_deeply [run($t, $file)], [$code, $said], 'the same at the start';

        my $failed = 'symcached_reloads_total{result="failed"}';
        my $before = $t->metric($failed);
        my $logged = length $t->helper_log;
        kill 'HUP', $t->{helper};
        $t->wait_until('the reload', sub { $t->metric($failed) > $before });
        # a thread writes the log
        $t->wait_until('its line', sub {
            substr($t->helper_log, $logged) =~ /the old configuration stays$/m });
        like substr($t->helper_log, $logged) =~ s/\Q$file\E/FILE/gr,
            qr/\[emerg\] \d+: $re.*; the old configuration stays/s,
            'a daemon logs it at a reload, and goes on';
    };
}

1;
