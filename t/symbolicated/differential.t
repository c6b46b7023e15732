#!/usr/bin/env perl

# Random requests, of both protocols, about random modules of t/data: what the
# daemon answers is what the "symbolic" package finds at these addresses.
#
#   DIFFERENTIAL_REQUESTS   how many (25); with more than 100 all modules
#   SYMCACHE_SEED           of the random numbers (1)

use strict;
use warnings;
no warnings 'portable'; # addresses have 64 bits

use FindBin;
use lib "$FindBin::Bin/../lib", "$FindBin::Bin/../convert/lib";
use Corpus;
use Encode ();
use File::Copy qw(move);
use File::Path qw(make_path);
use IPC::Open2;
use List::Util qw(shuffle);
use POSIX ();
use Test::More;
use Test::Symcache;

my $corpus = Corpus->new;
my ($root, $venv) = ($corpus->root, $corpus->build . '/reference');
my $why = `flock '$venv.lock' '$root/tools/corpus/reference-venv' '$venv' 2>&1`;
chomp $why;
plan skip_all => $why if $? != 0;

my $requests = $ENV{DIFFERENTIAL_REQUESTS} // 25;
my $seed = $ENV{SYMCACHE_SEED} // 1;
note "SYMCACHE_SEED=$seed DIFFERENTIAL_REQUESTS=$requests";
srand $seed;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;
my @reference = ("$venv/bin/python", "$root/tools/corpus/reference.py");
$ENV{PYTHONIOENCODING} = 'utf-8';

sub one_of { return $_[int rand @_] }

# --- modules: { name, id, file, arch }, and the addresses to ask for

# how instructions are aligned, and how far before a return address the call is
# looked for, as Symbolicator has it
my %step = (x86 => [1, 1], x64 => [1, 1], x86_64 => [1, 1], arm64 => [4, 4]);

sub arch_of {
    my ($input) = @_;
    my ($first, $os, $third) = split /,/, $input->{kinds};
    return $first eq 'breakpad' ? $third : $first;
}

my (@modules, %seen);
for my $input (shuffle grep { $_->{origin} eq 'tree'
        && $_->{digest} ne 'refused' && $step{arch_of($_) // ''} }
        $corpus->inputs) {
    last if $requests <= 100 && @modules == 15;
    my ($code, $err, $file) = $corpus->convert($corpus->pdb($input));
    die "$input->{path}: $err" if $code != 0;
    my ($name, $id) = $file =~ m{/([^/]+)/([^/]+)/[^/]+$};
    next if $seen{"$name/$id"}++;
    my $folder = $t->path("store/$name/$id");
    make_path($folder);
    move($file, "$folder/$name-v9.0.0.symcache") or die "$file: $!";
    push @modules, { name => $name, id => $id, arch => arch_of($input),
                     file => "$folder/$name-v9.0.0.symcache" };
    chomp(my @sample = `@reference sample '$modules[-1]{file}' 150`);
    $modules[-1]{sample} = \@sample;
}
for my $m (@modules) {
    $m->{sample} = [map { hex } @{ $m->{sample} }, '0', '1000'];
    $m->{end} = 1 + (sort { $b <=> $a } @{ $m->{sample} })[0];
}
note scalar(@modules) . ' modules';

# One that nobody has.
sub missing_module {
    return { name => one_of('crash.pdb', 'nobody.pdb'), missing => 1,
        arch => 'x64', sample => [1], end => 4096,
        id => join '', map { sprintf '%X', rand 16 } 1 .. 33 };
}

sub some_modules {
    my ($filter) = @_;
    my @some = map { rand() < 0.1 ? missing_module()
                                  : one_of(grep { $filter->($_) } @modules) }
        1 .. 1 + int rand 6;
    return @some;
}

sub some_offset {
    my ($m) = @_;
    my $kind = rand;
    return one_of(@{ $m->{sample} }) if $kind < 0.6;
    return int rand 1.1 * $m->{end} if $kind < 0.95;
    return int(rand 2**32);
}

# Asks the oracle at last, for all addresses of a module at once.
my (%asked, %found);

sub ask {
    my ($m, $address) = @_;
    $asked{$m->{file}}{$address} = 1 unless $m->{missing};
    return sub { $m->{missing} ? [] : $found{$m->{file}}{$address} };
}

# [function, file, line] of each function at an address, the innermost first.
sub ask_oracle {
    for my $file (keys %asked) {
        my $pid = open2(my $from, my $to, @reference, 'lookup', $file, '-');
        my $writer = fork // die "fork: $!";
        if (!$writer) {
            close $from;
            printf $to "%x\n", $_ for keys %{ $asked{$file} };
            close $to;
            POSIX::_exit(0);
        }
        close $to;
        my %at;
        my $lines = Encode::decode('UTF-8', do { local $/; <$from> });
        # there are names with newlines
        for (split /^(?=0x[0-9a-f]+\t\d+\t)/m, $lines) {
            my ($address, $function, $path, $line) =
                /^0x([0-9a-f]+)\t\d+\t(.*)\t([^\t]*)\t(\d+|-)\n\z/s or die $_;
            my $frames = $at{hex $address} //= [];
            next if $line eq '-';
            push @$frames, [$function eq '?' ? '' : $function,
                            $path eq '-' ? undef : $path, $line + 0];
        }
        waitpid $_, 0 for $writer, $pid;
        $found{$file} = \%at;
    }
}

# --- Mozilla's protocol

# What may be the name of a module there
my $mozilla_name = qr/^[A-Za-z0-9_.+{}\@<> ~-]+$/;

sub mozilla_job {
    my @map = some_modules(sub { $_[0]{name} =~ $mozilla_name });
    $_ = { %$_, shown => one_of($_->{name}, uc $_->{name}) } for @map;
    my (@stacks, @wanted);
    for (0 .. int rand 3) {
        my (@stack, @want);
        for (1 .. int rand 30) {
            my $i = rand() < 0.05 ? -1 : int rand @map;
            my $offset = $i < 0 ? 1 : some_offset($map[$i]);
            push @stack, [$i, $offset];
            push @want, { module => $i < 0 ? '<unknown>' : $map[$i]{shown},
                offset => $offset,
                frames => $i < 0 ? sub { [] } : ask($map[$i], $offset) };
        }
        push @stacks, \@stack;
        push @wanted, \@want;
    }
    my @entries = map { [$_->{shown}, $_->{id}] } @map;
    return ({ memoryMap => \@entries, stacks => \@stacks }, \@wanted);
}

sub mozilla_place {
    my ($frame) = @_;
    my ($function, $file, $line) = @$frame;
    return { function => $function,
        defined $file ? (file => $file, $line ? (line => $line) : ()) : () };
}

sub mozilla_frame {
    my ($want, $index) = @_;
    my @frames = @{ $want->{frames}->() };
    my %frame = (frame => $index, module => $want->{module},
                 module_offset => sprintf '0x%x', $want->{offset});
    return \%frame unless @frames;
    my $outer = mozilla_place(pop @frames);
    @frame{keys %$outer} = values %$outer;
    $frame{inlines} = [map { mozilla_place($_) } @frames] if @frames;
    return \%frame;
}

sub mozilla_text {
    my ($want) = @_;
    my $outer = $want->{frames}->()[-1];
    return ($outer ? $outer->[0] : sprintf '0x%x', $want->{offset})
        . " (in $want->{module})";
}

# The oracle has names as they are stored, and the answer makes those of C++ and
# Rust readable.  t/symbolicated/names.t looks at the readable ones: here each of
# them stands for the stored one that it has the place of.
sub with_stored_names {
    my ($got, $expected) = @_;
    return [map { with_stored_names($got->[$_], $expected->[$_]) } 0 .. $#$got]
        if ref $got eq 'ARRAY' && ref $expected eq 'ARRAY';
    return { map { $_ => with_stored_names($got->{$_}, $expected->{$_}) } keys %$got }
        if ref $got eq 'HASH' && ref $expected eq 'HASH';
    my ($module) = ($expected // '') =~ /^_[ZR]\S*(.*)$/ or return $got;
    return $got =~ /^(?!_[ZR]).+\Q$module\E$/ ? $expected : $got;
}

# { path, body, wanted(answer) => (got, expected) }
sub v5 {
    my @jobs = map { [mozilla_job()] } 0 .. int rand 3;
    return { path => '/symbolicate/v5', body => { jobs => [map { $_->[0] } @jobs] },
        compare => sub {
            my @stacks = map { $_->{stacks} } @{ $_[0]{results} };
            delete $_->{function_offset} for map { @$_ } map { @$_ } @stacks;
            my @wanted = map { [map { my $i = 0;
                [map { mozilla_frame($_, $i++) } @$_] } @{ $_->[1] }] } @jobs;
            return (with_stored_names(\@stacks, \@wanted), \@wanted);
        } };
}

sub v4 {
    my ($job, $wanted) = mozilla_job();
    return { path => '/symbolicate/v4', body => $job, compare => sub {
        my @wanted = map { [map { mozilla_text($_) } @$_] } @$wanted;
        return (with_stored_names($_[0]{symbolicatedStacks}, \@wanted), \@wanted);
    } };
}

# --- Symbolicator's protocol

my ($spacing, $size) = (1 << 36, 1 << 35);

# The frames of the answer that one frame becomes.
sub symbolicator_frames {
    my ($want) = @_;
    my @frames = $want->{status} ? () : @{ $want->{frames}->() };
    return { status => $want->{status} // 'missing_symbol' } unless @frames;
    return map { {
        status => 'symbolicated', symbol => $_->[0], lineno => $_->[2],
        defined $_->[1] ? (abs_path => $_->[1],
                           filename => $_->[1] =~ s{.*[/\\]}{}rs) : (),
    } } @frames;
}

# A frame at an offset of an image, and what is expected of it.
sub symbolicator_frame {
    my ($m, $index, $base, $is_call) = @_;
    my $offset = some_offset($m);
    return ({ addr_mode => "rel:$index", instruction_addr => $offset },
            { status => 'missing' }) if $m->{missing};
    my ($align, $back) = @{ $step{$m->{arch}} };
    my $at = $base + $offset;
    $at -= $at % $align;
    $at -= $back if $is_call;
    my %frame = rand() < 0.3
        ? (addr_mode => "rel:$index", instruction_addr => $offset)
        : (instruction_addr => sprintf '0x%x', $base + $offset);
    return (\%frame, $at < $base ? { status => 'missing_symbol' }
                                 : { frames => ask($m, $at - $base) });
}

sub symbolicator_stack {
    my (@images) = @_;
    my $has_wishes = rand() < 0.5;
    my (@frames, @wanted);
    for my $n (0 .. int rand 30) {
        my $i = int rand @images;
        my $wish = rand() < 0.5;
        my ($frame, $want) = rand() < 0.05
            ? ({ instruction_addr => one_of($spacing / 2,
                    sprintf '0x%x', $spacing + $size + 1) },
               { status => 'unknown_image' })
            : symbolicator_frame($images[$i], $i, $spacing * ($i + 1),
                                 $has_wishes ? $wish : $n > 0);
        $frame->{adjust_instruction_addr} = $wish ? JSON::PP::true
            : JSON::PP::false if $has_wishes;
        push @frames, $frame;
        push @wanted, $want;
    }
    return (\@frames, \@wanted);
}

# Nobody calls _start: a frame behind it that no image owns is not answered.
sub without_end {
    my (@wanted) = @_;
    return @wanted if @wanted < 2 || ($wanted[-1]{status} // '')
        ne 'unknown_image' || $wanted[-2]{status};
    my $outer = $wanted[-2]{frames}->()[-1];
    pop @wanted if $outer && $outer->[0] eq '_start';
    return @wanted;
}

sub symbolicator {
    my @images = some_modules(sub { 1 });
    my @stacks = map { [symbolicator_stack(@images)] } 0 .. int rand 3;
    my $is_reversed = rand() < 0.3;
    my $order = sub { $is_reversed ? reverse @_ : @_ };
    my %body = (
        stacktraces => [map { { frames => [$order->(@{ $_->[0] })] } } @stacks],
        modules => [map { {
            type => 'pe', debug_file => $images[$_]{name},
            debug_id => $images[$_]{id}, image_size => $size,
            image_addr => sprintf('0x%x', $spacing * ($_ + 1)),
        } } 0 .. $#images]);
    $body{options} = { frame_order => 'caller_first' } if $is_reversed;
    return { path => '/symbolicate', body => \%body, compare => sub {
        my @got;
        for my $stack (@{ $_[0]{stacktraces} }) {
            push @got, [];
            for my $frame ($order->(@{ $stack->{frames} })) {
                my %kept = map { $_ => $frame->{$_} } grep { exists $frame->{$_} }
                    qw(status symbol abs_path filename lineno);
                push @{ $got[-1] }, \%kept;
            }
        }
        return (\@got, [map { [map { symbolicator_frames($_) }
            without_end(@{ $_->[1] })] } @stacks]);
    } };
}

# --- all requests are made, the oracle is asked, and then the daemon

my @requests = map { one_of(\&v5, \&v5, \&v4, \&symbolicator, \&symbolicator)->() }
    1 .. $requests;
ask_oracle();
$t->start_symbolicated({ stores => { default => { root => $t->path('store') } } });
my ($wrong, $symbols) = (0, 0);
for my $n (0 .. $#requests) {
    my $q = $requests[$n];
    my $body = $json->encode($q->{body});
    my $r = $t->post($t->symbolicated_socket, $q->{path}, $body,
                     'Content-Type: application/json');
    if ($r->{status} != 200) {
        fail "request $n: $r->{status} $r->{body}";
        diag "$q->{path} $body";
        last if ++$wrong == 3;
        next;
    }
    my ($got, $expected) = $q->{compare}->($json->decode($r->{body}));
    $symbols += () = $r->{body} =~ /"line(?:no)?": ?\d/g;
    next if $json->encode([$got]) eq $json->encode([$expected]);
    is_deeply $got, $expected, "request $n";
    diag "$q->{path} $body\n$r->{body}";
    last if ++$wrong == 3;
}
is $wrong, 0, "$requests requests, $symbols places in source files";
cmp_ok $symbols, '>', $requests, 'most of them found something';

$t->finish;
done_testing;
