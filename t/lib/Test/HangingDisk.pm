package Test::HangingDisk;

# A folder whose disk hangs at will, for a program that is started with env():
# its calls do not return until release().  It needs a C compiler.
#
#   my $disk = Test::HangingDisk->new($t, $t->path('uploads'))
#       or plan skip_all => Test::HangingDisk::why();
#   $t->start_symcached($config, env => $disk->env);
#   $disk->hang; ...; $disk->waiting; $disk->release;
#   $disk->hang('lstat'); ...        # which is answered
#   $disk->hang('=', 'link'); ...    # all others are
#   is_deeply [$disk->waiting('loop')], [];    # calls of the main thread

use strict;
use warnings;

use Test::More;
use Test::Symcache;
use Test::Uploads;

my $why = '';
sub why { $why }

sub new {
    my ($class, $t, $below) = @_;
    my $self = bless { t => $t, below => $below, flag => $t->path('hang'),
                       library => $t->path('hanging_disk.so') }, $class;
    my $source = "$Test::Symcache::top/t/bin/hanging_disk.c";
    my $out = qx(cc -std=c11 -D_GNU_SOURCE -O2 -w -shared -fPIC \\
                 -o $self->{library} $source -ldl 2>&1);
    return $self if $? == 0;
    ($why) = split /\n/, "no compiler: $out";
    return;
}

# symcached and nginx as Test::Uploads starts them, with a disk of uploads that
# hangs; nginx writes bodies to another one.  Returns them, the disk and the
# configuration; or skips all tests.
sub uploads {
    my ($class) = @_;
    plan skip_all => 'a library is preloaded, which sanitizers do not take'
        if $ENV{SYMCACHE_SAN};
    my $u = Test::Uploads->new(cache => { retry_errors_after => '1s' });
    my $t = $u->t;
    my $disk = $class->new($t, $t->path('uploads')) or plan skip_all => why();
    mkdir $t->path('spool') or die $!;
    $u->{uploads} = { spool => $t->path('spool') };
    $t->stop_nginx;
    $u->start_nginx('/srv/uploads/.spool' => $t->path('spool'),
                    '/srv/uploads' => $t->path('uploads'));
    my $config = $u->config;
    $config->{limits}{$_} = '1s' for qw(first_byte_time breaker_pause);
    $t->stop_symcached;
    $t->start_symcached($config, env => $disk->env);
    return ($u, $disk, $config);
}

sub env {
    my ($self) = @_;
    return { LD_PRELOAD => $self->{library}, HANG_BELOW => $self->{below},
             HANG_FLAG => $self->{flag} };
}

sub hang {
    my ($self, @but) = @_;
    unlink "$self->{flag}.log";
    $self->{t}->write_file('hang', join '', map { /=/ ? $_ : " $_ " } @but);
}

sub release { unlink $_[0]{flag} }

# Hangs, and begins what asks the disk: a thread does, while the loop goes on.
# Returns what begin does.
sub hang_for {
    my ($self, $what, $begin, @but) = @_;
    my $t = $self->{t};
    $self->hang(@but);
    my $begun = $begin->();
    $t->wait_until("$what: a call hangs", sub { $self->waiting });
    is $t->helper('GET', '/healthz')->{status}, 200, "$what: the loop goes on";
    is_deeply [$self->waiting('loop')], [], '... and has asked the disk for nothing';
    return $begun;
}

# The disk answers again, and symcached knows.
sub release_all {
    my ($self) = @_;
    $self->release;
    $self->{t}->wait_until('the disk answers again',
        sub { $self->{t}->helper_log !~ /does not answer(?!.*answers again)/s });
}

# "loop open /path" of each call that has come to the disk since it hangs.
sub waiting {
    my ($self, $thread) = @_;
    my @calls = split /\n/, $self->{t}->read_file('hang.log') // '';
    return grep { !defined $thread || /^\Q$thread\E / } @calls;
}

1;
