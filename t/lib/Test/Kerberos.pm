package Test::Kerberos;

# A Kerberos realm of its own, with a real KDC on a free port of 127.0.0.1 and
# everything else in the folder of a Test::Symcache; and an Apache with
# mod_auth_gssapi.
#
#   plan skip_all => "no @missing" if my @missing = Test::Kerberos::missing();
#   my $k = Test::Kerberos->new($t);          # sets %ENV for all programs
#   $k->add('alice', 'her password');         # a user
#   $k->add('HTTP/localhost');                # with a random key
#   $k->keytab('HTTP/localhost', 'http.keytab');
#   $k->sign_in('alice', 'her password', 'alice.cc');
#   my $pid = $k->start_apache($text);
#   $k->stop;

use strict;
use warnings;

use Test::Symcache;

our $modules = '/usr/lib/apache2/modules';

# Programs that are not there.
sub missing {
    local $ENV{PATH} = "$ENV{PATH}:/usr/sbin:/sbin";
    my @missing = grep { system("command -v $_ >/dev/null 2>&1") != 0 }
        qw(krb5kdc kdb5_util kadmin.local kinit apache2);
    push @missing, 'mod_auth_gssapi' unless -e "$modules/mod_auth_gssapi.so";
    return @missing;
}

# %o: realm (TEST.LOCAL) of the clients; others: more realms of the same KDC.
sub new {
    my ($class, $t, %o) = @_;
    my $dir = $t->dir;
    my $self = bless { t => $t, owner => $$, pids => [],
                       realm => $o{realm} // 'TEST.LOCAL',
                       port => Test::Symcache::free_port() }, $class;
    $self->{env} = { KRB5_KDC_PROFILE => "$dir/kdc.conf",
                     KRB5_CONFIG => $self->client_config('krb5.conf'),
                     KRB5RCACHENAME => "file2:$dir/rcache/tokens" };
    # which an Apache writes as www-data, where this runs as root
    mkdir "$dir/rcache";
    chmod 0777, "$dir/rcache";
    @ENV{keys %{ $self->{env} }} = values %{ $self->{env} };
    $ENV{PATH} .= ':/usr/sbin:/sbin';

    my @realms = ($self->{realm}, @{ $o{others} // [] });
    my $sections = join '', map { <<"CONF" } @realms;
    $_ = {
        database_name = $dir/kdc/$_
        key_stash_file = $dir/kdc/$_.stash
        acl_file = $dir/kdc/kadm5.acl
        supported_enctypes = aes256-cts-hmac-sha1-96:normal
    }
CONF
    $t->write_file('kdc.conf', <<"CONF");
[kdcdefaults]
    kdc_listen = 127.0.0.1:$self->{port}
    kdc_tcp_listen = 127.0.0.1:$self->{port}
[realms]
$sections
[logging]
    kdc = FILE:$dir/kdc/kdc.log
CONF
    $t->write_file('kdc/kadm5.acl', '');
    $self->run("kdb5_util create -s -r $_ -P master") for @realms;
    $self->{kdc} = $t->spawn('kdc.out', {}, 'krb5kdc', '-n',
                             map { ('-r', $_) } @realms);
    push @{ $self->{pids} }, $self->{kdc};
    $t->wait_until('the KDC accepts', sub {
        Test::Symcache::connects("127.0.0.1:$self->{port}");
    });
    return $self;
}

# Writes a krb5.conf: the realm of localhost, and more of [libdefaults].
# Returns its path.
sub client_config {
    my ($self, $file, $realm, $more) = @_;
    $realm //= $self->{realm};
    $more //= '';
    return $self->{t}->write_file($file, <<"CONF");
[libdefaults]
    default_realm = $realm
    dns_lookup_realm = false
    dns_lookup_kdc = false
    dns_canonicalize_hostname = false
    rdns = false
    udp_preference_limit = 1
    $more
[realms]
    $realm = {
        kdc = 127.0.0.1:$self->{port}
    }
[domain_realm]
    localhost = $realm
CONF
}

sub run {
    my ($self, $command) = @_;
    my $t = $self->{t};
    system("$command >" . $t->path('run.out') . ' 2>&1') == 0
        or die "$command: ", $t->read_file('run.out');
}

# Adds a principal; %o: realm, options (of addprinc).
sub add {
    my ($self, $name, $password, %o) = @_;
    my $key = defined $password ? "-pw $password" : '-randkey';
    my $options = $o{options} // '';
    my $realm = $o{realm} // $self->{realm};
    $self->run("kadmin.local -r $realm -q 'addprinc $options $key $name'");
}

# Puts the key of a principal into a file that an Apache of any user may read.
sub keytab {
    my ($self, $name, $file) = @_;
    my $path = $self->{t}->path($file);
    $self->run("kadmin.local -r $self->{realm} -q 'ktadd -k $path $name'");
    chmod 0644, $path;
    return $path;
}

# Gets a ticket into a cache, which is returned as KRB5CCNAME has it.
sub sign_in {
    my ($self, $name, $password, $cache, $options) = @_;
    my $file = 'FILE:' . $self->{t}->path($cache);
    my $input = $self->{t}->write_file('password', "$password\n");
    $self->run("kinit " . ($options // '') . " -c $file $name <$input");
    return $file;
}

# Starts an Apache; $text listens and has the rest of the configuration, %env
# is its environment.  Returns the pid.
sub start_apache {
    my ($self, $text, %env) = @_;
    my ($t, $dir) = ($self->{t}, $self->{t}->dir);
    my $user = $> == 0 ? "User www-data\nGroup www-data" : '';
    my $load = join '', map { "LoadModule ${_}_module $modules/mod_$_.so\n" }
        qw(mpm_event authn_core authz_core authz_user authz_groupfile
           auth_gssapi headers dir alias);
    $t->write_file('apache.conf', <<"CONF");
ServerRoot $dir
ServerName localhost
PidFile $dir/apache.pid
ErrorLog $dir/apache.log
DefaultRuntimeDir $dir
$user
$load
$text
CONF
    my ($address) = $text =~ /^Listen (\S+)/m;
    my $pid = $t->spawn('apache.out', \%env, 'apache2', '-f',
                        "$dir/apache.conf", '-DFOREGROUND');
    push @{ $self->{pids} }, $pid;
    $t->wait_until('Apache accepts', sub {
        Test::Symcache::alive($pid)
            or die $t->read_file('apache.out'), $t->read_file('apache.log');
        return Test::Symcache::connects($address);
    });
    return $pid;
}

# Ends one of the processes, or all.
sub stop {
    my ($self, $pid, $signal) = @_;
    my @pids = defined $pid ? $pid : reverse @{ $self->{pids} };
    for my $p (@pids) {
        $self->{t}->stop_pid($p, $signal // 'TERM');
        @{ $self->{pids} } = grep { $_ != $p } @{ $self->{pids} };
    }
}

sub DESTROY {
    my ($self) = @_;
    return unless $self->{owner} == $$;
    local ($?, $!, $@);
    for my $pid (@{ $self->{pids} }) {
        kill 'KILL', $pid;
        waitpid $pid, 0;
    }
}

1;
