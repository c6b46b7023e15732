package Test::ModuleCase;

# What the tests of the module have in common: one key, files of its versions
# in the store, and a scripted helper whose next replies are named.
#
#   my $t = Test::ModuleCase->new;
#   $t->put('3.1.0', 'content');
#   $t->helper_says(sub { my ($c, $req) = @_; $c->reply(202, {}) });
#   $t->start_nginx($t->location('symcache_hold_timeout 1s;'));
#   my $r = $t->ask('3.1.0');

use strict;
use warnings;

use parent 'Test::Symcache';

use Test::ScriptedServer;

our $pdb  = 'app.pdb';
our $guid = '0123456789ABCDEF0123456789ABCDEF';
our $age  = 26;                                   # 1A

sub key { "$pdb/${guid}1A" }

# A file of the store.
sub put {
    my ($self, $version, $content, %o) = @_;
    my $root = $o{root} // 'store';
    my $key  = $o{key} // key();
    my ($name) = $key =~ m{^([^/]+)/};
    my $file = "$root/$key/$name-v$version.symcache";
    # as the helper does it: a reader sees a whole file or none
    $self->write_file("$file.$$", $content);
    rename $self->path("$file.$$"), $self->path($file) or die "$file: $!";
    return $self->path($file);
}

sub made {
    my ($self, @versions) = @_;
    $self->write_file('store/.transcoders', join '', map { "$_\n" } @versions);
}

sub uri {
    my ($self, $version, %o) = @_;
    return sprintf '%s/v%s/%s/%s/%s', $o{location} // '/s', $version,
        $o{pdb} // $pdb, $guid, $age;
}

sub ask {
    my ($self, $version, @headers) = @_;
    return $self->get($self->uri($version), @headers);
}

# A request that is left waiting; read_response() has its answer.
sub hold {
    my ($self, $version, @headers) = @_;
    return $self->open_http($self->nginx_socket, 'GET', $self->uri($version),
                            @headers);
}

# The helper, at its socket; a former one is stopped.
sub helper_says {
    my ($self, $script, %o) = @_;
    my $unix = $o{unix} // $self->helper_socket;
    (delete $self->{scripted}{$unix})->stop if $self->{scripted}{$unix};
    return $self->{scripted}{$unix} = Test::ScriptedServer->new(
        unix => $unix, script => $script);
}

sub helper_stops {
    my ($self, $unix) = @_;
    $unix //= $self->helper_socket;
    my $s = delete $self->{scripted}{$unix} or return;
    $s->stop;
}

sub location {
    my ($self, $more, $pass) = @_;
    $more //= '';
    $pass //= 'unix:%%DIR%%/h.sock';
    return "location /s/ { symcache %%DIR%%/store; symcache_pass $pass; "
        . "$more }";
}

# The last line of an access log of "log_format ... $symcache_status".
sub last_logged {
    my ($self, $n) = @_;
    return $self->wait_until("access log line $n", sub {
        my @lines = split /\n/, $self->access_log;
        return @lines >= $n ? $lines[$n - 1] : undef;
    });
}

sub finish {
    my ($self, @rest) = @_;
    $self->helper_stops($_) for keys %{ $self->{scripted} };
    return $self->SUPER::finish(@rest);
}

1;
