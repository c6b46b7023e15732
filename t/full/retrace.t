#!/usr/bin/env perl

# symcachectl retrace beside ProGuard's own retrace and R8's: the mappings of five
# libraries, which ProGuard and R8 make here, and ten traces by each, of frames
# that chance takes from the mapping.  R8 is in no package: R8_JAR is its class
# path.  With R8's mappings nothing may differ, lines or not.
#
# Two differences to ProGuard are by intent, as R8 does it: where a method name
# has lines of its own in a class, ProGuard also prints methods of that name that
# have none; and of methods that overload each other, which may be meant each, it
# prints equal lines several times, and in its own order.

use strict;
use warnings;

use Cwd qw(abs_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $java = '/usr/share/java';
for (qw(proguard retrace commons-cli commons-io commons-lang3 guice guava)) {
    -e "$java/$_.jar" or plan skip_all => "no $java/$_.jar (packages "
        . 'libproguard-java, libcommons-cli-java, libcommons-io-java, '
        . 'libcommons-lang3-java, libguice-java, libguava-java)';
}
my $t = Test::Symcache->new;
my $ctl = $t->program('symcachectl');
my $log = $t->path('log');

sub output {
    open my $p, '-|', @_ or die "@_: $!";
    local $/;
    return scalar <$p> // '';
}

sub run_java {
    return 1 if system('sh', '-c', '"$@" >' . $log . ' 2>&1', 'sh', 'java', '-cp', @_) == 0;
    diag($t->read_file('log'));
    return 0;
}

# Only with the classes of one library can ProGuard inline: it reads no JDK
# that is as new as its users'.
sub shrink {
    my ($library) = @_;
    my $mapping = $t->path("$library.txt");
    my @optimize = $library eq 'commons-cli' ? () : ('-dontoptimize');
    return $mapping if run_java("$java/proguard.jar", 'proguard.ProGuard', '-injars',
        "$java/$library.jar(!META-INF/versions/**,!module-info.class)",
        '-outjars', $t->path("$library.jar"), '-dontshrink', @optimize,
        '-dontpreverify', '-ignorewarnings', '-dontwarn', '**', '-dontnote',
        '**', '-forceprocessing', '-keepattributes',
        'SourceFile,LineNumberTable', '-printmapping', $mapping);
    return;
}

# R8 inlines, makes lambdas classes, and notes which frames a caller throws away.
sub shrink_by_r8 {
    my ($library) = @_;
    my $mapping = $t->path("$library.txt");
    $t->write_file('rules', "-keepattributes SourceFile,LineNumberTable\n-dontwarn **\n"
        . "-ignorewarnings\n-keep,allowobfuscation,allowoptimization class ** "
        . "{ public protected *; }\n");
    return $mapping if run_java($ENV{R8_JAR}, 'com.android.tools.r8.R8', '--release',
        '--min-api', 21, '--lib', abs_path('/usr/bin/java') =~ s{/bin/java$}{}r,
        '--pg-conf', $t->path('rules'), '--pg-map-output', $mapping, '--output',
        $t->path("$library.zip"), "$java/$library.jar");
    return;
}

# Its methods with lines, [class, from, to, name], its classes, and the
# original methods that have none.
sub read_mapping {
    my ($file) = @_;
    my (@methods, @classes, %bare, $from, $to);
    for (split /\n/, $t->read_file($file)) {
        if (/^(\S+) -> (\S+):$/) {
            ($from, $to) = ($1, $2);
            push @classes, $to;
        } elsif (/^\s+(\d+):(\d+):\S+ \S+\(.*\)\S* -> (\S+)$/) {
            push @methods, [$to, $1, $2, $3];
        } elsif (/^\s+[^:\s]+ (\S+)\(.*\) -> \S+$/) {
            $bare{"$from.$1"} = 1;
        }
    }
    return (\@methods, \@classes, \%bare);
}

sub make_trace {
    my ($methods, $classes, $without) = @_; # lines, of so many frames
    my $any = sub { $_[0][int rand @{ $_[0] }] };
    my $text = '';
    for my $head ('Exception in thread "main" %s: some text', 'Caused by: %s') {
        $text .= sprintf "$head\n", rand() < 0.3 ? 'java.lang.NullPointerException'
            : $any->($classes);
        for (1 .. 8) {
            my ($class, $from, $to, $name) = @{ $any->($methods) };
            my $line = rand() < ($without // 0) ? '' : ':' . ($from + int rand($to - $from + 1));
            $text .= "\tat $class.$name(SourceFile$line)\n";
        }
        $text .= "\tat java.lang.Thread.run(Thread.java:748)\n";
    }
    return "$text\t... 3 more\n";
}

# Their lines without equal neighbours, and with those sorted of which each may be
# meant, as ours tell by <OR>.
sub without_order {
    my ($got, $want) = @_;
    my (@got, @want);
    for ([$got, \@got], [$want, \@want]) {
        my $last = '';
        @{ $_->[1] } = grep { my $is_new = s/<OR> //r ne $last; $last = s/<OR> //r; $is_new }
            $_->[0] =~ /^.*\n/mg;
    }
    for (my ($i, $end) = (0, 1); $i < @got; $i = $end++) {
        $end++ while $end < @got && $got[$end] =~ s/<OR> //;
        my @range = $i .. $end - 1;
        $#want >= $range[-1] and @want[@range] = sort @want[@range];
        @got[@range] = sort @got[@range];
    }
    return (join('', @got), join('', @want));
}

srand 36;
my $same = 0;
for my $library (qw(commons-cli commons-io commons-lang3 guice guava)) {
    my $mapping = shrink($library);
    ok $mapping, "$library: ProGuard makes a mapping" or next;
    my ($methods, $classes, $bare) = read_mapping("$library.txt");
    for my $n (1 .. 10) {
        $t->write_file('trace', make_trace($methods, $classes));
        my $want = output('java', '-cp', "$java/proguard.jar:$java/retrace.jar",
            'proguard.retrace.ReTrace', $mapping, $t->path('trace'));
        my $got = output($ctl, 'retrace', $mapping, $t->path('trace'));
        $same += $want eq $got;
        $want = join '', grep { !/at ([^(]+)\(/ || !$bare->{$1}
            || index($got, $_) >= 0 } $want =~ /^.*\n/mg;
        ($got, $want) = without_order($got, $want);
        is $got, $want, "$library: trace $n";
    }
}
note "$same of 50 are the same without these differences";

SKIP: {
    skip 'R8_JAR, the class path of R8, is not set', 1 if !$ENV{R8_JAR};
    for my $library (qw(commons-cli commons-io commons-lang3 guice guava)) {
        my $mapping = shrink_by_r8($library);
        ok $mapping, "$library: R8 makes a mapping" or next;
        my ($methods, $classes) = read_mapping("$library.txt");
        my $traces = join '', map { "trace $_\n" . make_trace($methods, $classes, 0.3) } 1 .. 10;
        $t->write_file('trace', $traces);
        my @want = split /^(?=trace \d)/m, output('java', '-cp', $ENV{R8_JAR},
            'com.android.tools.r8.retrace.Retrace', $mapping, $t->path('trace'));
        my @got = split /^(?=trace \d)/m, output($ctl, 'retrace', $mapping, $t->path('trace'));
        is $got[$_], $want[$_], "$library by R8: trace " . ($_ + 1) for 0 .. 9;
    }
}

$t->finish;
done_testing;
