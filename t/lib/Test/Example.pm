package Test::Example;

# Starts nginx with a file of conf-examples/, as it stands but for addresses
# and paths of this machine.
#
#   Test::Example::start($t, 'log.conf');
#   Test::Example::start($t, 'limits.conf', address => "127.0.0.1:$port",
#       put => { 'listen 80;' => "listen 127.0.0.1:$port;" });

use strict;
use warnings;

use File::Path qw(make_path);
use Test::Symcache;

sub text { $_[0]->read_file("$Test::Symcache::top/conf-examples/$_[1]") }

# %o: put (text => text in its place), modules (paths of more of them), address
# (that accepts then; nginx's Unix socket).
sub start {
    my ($t, $name, %o) = @_;
    my $dir = $t->dir;
    my $text = text($t, $name);
    my $temp = join ' ', map { "${_}_temp_path $dir/t.$_;" }
        qw(client_body proxy fastcgi uwsgi scgi);
    my %put = ('listen 80;' => "listen unix:$dir/n.sock;",
        '/run/symcached/symcached.sock' => "$dir/h.sock",
        '/run/symcached/symbolicated.sock' => "$dir/s.sock",
        '/var/cache/symcached/default' => "$dir/store",
        '/mnt/symcache/default' => "$dir/store",
        '/var/cache/symcached/internal' => "$dir/internal",
        '/var/log/nginx' => $dir,
        '/etc/nginx' => $dir,
        %{ $o{put} // {} });
    for (sort { length $b <=> length $a } keys %put) {
        $text =~ s/\Q$_\E/$put{$_}/g;
    }
    my $load = join '', map { "load_module $_;\n" }
        "$Test::Symcache::build/ngx_symcache_module.so", @{ $o{modules} // [] };
    $text = "${load}events { worker_connections 4096; }\n"
        . "http { $temp access_log $dir/access.log;\n$text}\n";
    Test::Symcache::check_nginx_config($text);
    my $user = $> == 0 ? 'user ' . ($o{user} // 'root') . ';' : '';
    make_path($t->path('html'));
    my $file = $t->write_file('nginx.conf', "$user daemon off; "
        . "pid $dir/nginx.pid;\nerror_log $dir/error.log info;\n$text");
    $t->{nginx} = $t->spawn('nginx.out', { $t->sanitizer_env(1) },
        $Test::Symcache::nginx, '-p', $dir, '-c', $file);
    my $address = $o{address} // $t->nginx_socket;
    $t->wait_until("nginx with $name", sub {
        if (!Test::Symcache::alive($t->{nginx})) {
            delete $t->{nginx};
            die $t->read_file('nginx.out'), $t->error_log;
        }
        return Test::Symcache::connects($address);
    });
}

1;
