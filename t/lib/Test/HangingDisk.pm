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

use Test::Symcache;

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

# "loop open /path" of each call that has come to the disk since it hangs.
sub waiting {
    my ($self, $thread) = @_;
    my @calls = split /\n/, $self->{t}->read_file('hang.log') // '';
    return grep { !defined $thread || /^\Q$thread\E / } @calls;
}

1;
