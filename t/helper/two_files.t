#!/usr/bin/env perl

# A SymCache and a CfiCache of one module are asked for at the same time: the
# debug file and the program are received at the same time, each once, and each
# makes what it is best for.  No nginx here.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::DebugFile;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
plan skip_all => 'objcopy is needed'
    if system('{ command -v objcopy && command -v cc; } >/dev/null 2>&1') != 0;

my ($build, $debug_id) = Test::DebugFile::make($t->dir);
my %file = (executable => 'stripped', debuginfo => 'program.debug');

# What the converter makes of a file, by its own.
sub convert {
    my ($kind, $file) = @_;
    system($t->program('pdb2symcache'), '--kind', $kind, $t->path($file),
        '-o', $t->path('made')) == 0 or die;
    return $t->read_file('made');
}
my %best = (symcache => convert('symcache', 'program.debug'),
            cficache => convert('cficache', 'stripped'));
my $of_program = convert('symcache', 'stripped');

# Answers wait until both jobs have asked, and then for the file that is named in
# "hold-<what is asked for>", if there is one.
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my ($what) = $req->{path} =~ m{^/buildid/$build/(executable|debuginfo)$}
        or return $c->reply(404, {}, '');
    $t->write_file("asked-$what", '');
    $t->wait_until('both jobs ask', sub { -e $t->path('begun') });
    if (-e $t->path("hold-$what")) {
        my $for = $t->path($t->read_file("hold-$what"));
        $t->wait_until("$what is let go", sub { -e $for });
    }
    my $has = -e $t->path("has-$what");
    $c->reply($has ? 200 : 404, {}, $has ? $t->read_file($file{$what}) : '');
});

my $config = $t->default_config($web->url);
$config->{sources}{upstream}{layout} = 'debuginfod';
my $transcoder = $config->{stores}{default}{transcoders}[0];
$config->{stores}{default}{transcoders} = [{ %$transcoder,
    inputs => ['elf'], command => ['pdb2symcache', '{pdb}'] }];

my $before;
sub asked {
    my ($what) = @_;
    my @all = $web->requests;
    return scalar grep { $_->{path} =~ /$what$/ } @all[$before .. $#all];
}

sub open_lookup {
    my ($kind) = @_;
    my $version = $kind eq 'cficache' ? '1.0.0' : '9.0.0';
    return $t->open_http($t->helper_socket, 'GET',
        "/v1/$kind/default/program/$debug_id"
        . "?version=$version&wait=60&code_id=buildid-$build");
}

# has: files of the upstream; hold: which answer waits for which file.  Asks for
# the kinds in their order, and returns when both jobs run.
sub begin {
    my (%o) = @_;
    $t->stop_symcached if defined $before;
    Test::Symcache::remove_tree($t->path($_)) for 'store', 'downloads';
    unlink $t->path('begun'), glob $t->path('{asked,has,hold,answered}-*');
    $t->write_file("has-$_", '') for @{ $o{has} };
    $t->write_file("hold-$_", $o{hold}{$_}) for keys %{ $o{hold} };
    $before = () = $web->requests;
    $t->start_symcached($config);
    my %open = map { $_ => open_lookup($_) } @{ $o{kinds} };
    $t->wait_until('both jobs ask',
                   sub { $t->metric('symcached_jobs_downloading') == 2 });
    $t->write_file('begun', '');
    return %open;
}

# The same, and gives the answers by kind, read in the order of "first".  An
# answer lets go what waits for "answered-<kind>".
sub run {
    my (%o) = @_;
    my %open = begin(%o);
    my %r;
    for my $kind (@{ $o{first} // $o{kinds} }) {
        $r{$kind} = $t->read_response($open{$kind});
        $t->write_file("answered-$kind", '');
    }
    return \%r;
}

sub body {
    my ($r) = @_;
    my $path = Test::Symcache::header($r, 'X-Symcache-Path') // return '';
    return $t->read_file("store/$path");
}
sub reason { Test::Symcache::header($_[0], 'X-Symcache-Reason') // '' }

my @both = qw(executable debuginfo);
my ($r, @orders) = (undef, [qw(cficache symcache)], [qw(symcache cficache)]);

# --- a source that has both

for my $kinds (@orders) {
    my $order = "$kinds->[0] first";
    for ([executable => 'asked-debuginfo'], [debuginfo => 'asked-executable']) {
        my ($held, $for) = @$_;
        $r = run(has => \@both, kinds => $kinds, hold => { $held => $for });
        ok body($r->{$_}) eq $best{$_}, "$order, $held waits: the $_"
            for @$kinds;
        is asked($_), 1, "$order, $held waits: one $_" for @both;
    }
}

if (!exists $t->helper_json("/v1/why/default/program/$debug_id")
        ->{files}[0]{source}) {
    # then it is not known what a download has
    $t->finish;
    done_testing;
    exit;
}

# Neither file waits for what is made of the other one.
for ([debuginfo => qw(cficache symcache)], [executable => qw(symcache cficache)])
{
    my ($held, @first) = @$_;
    $r = run(has => \@both, kinds => [reverse @first], first => \@first,
             hold => { $held => "answered-$first[0]" });
    ok body($r->{$_}) eq $best{$_}, "a late $held: the $_" for @first;
    is asked($_), 1, "a late $held: one $_" for @both;
}

# --- a source that has one of them, in both orders of arrival

for my $kinds (@orders) {
    my $order = "$kinds->[0] first";
    for ({ executable => 'asked-debuginfo' },
         { executable => 'asked-debuginfo', debuginfo => 'answered-cficache' }) {
        my $when = keys %$_ == 1 ? 'early' : 'late';
        $r = run(has => ['executable'], kinds => $kinds, hold => $_,
                 first => ['cficache', 'symcache']);
        ok body($r->{cficache}) eq $best{cficache},
            "$order, no debug file ($when): the cficache";
        ok body($r->{symcache}) eq $of_program,
            "$order, no debug file ($when): a symcache of the program";
        is asked($_), 1, "$order, no debug file ($when): one $_" for @both;
    }
    for ({ debuginfo => 'asked-executable' },
         { debuginfo => 'asked-executable', executable => 'answered-symcache' })
    {
        my $when = keys %$_ == 1 ? 'early' : 'late';
        $r = run(has => ['debuginfo'], kinds => $kinds, hold => $_,
                 first => ['symcache', 'cficache']);
        ok body($r->{symcache}) eq $best{symcache},
            "$order, no program ($when): the symcache";
        is $r->{cficache}{status}, 404, "$order, no program ($when): 404";
        is reason($r->{cficache}), 'notfound', 'which is final';
        is asked($_), 1, "$order, no program ($when): one $_" for @both;
    }

    $r = run(has => [], kinds => $kinds,
             hold => { executable => 'asked-debuginfo' });
    is_deeply [map { reason($r->{$_}) } @$kinds], ['notfound', 'notfound'],
        "$order, none of both: each is answered";
}
my $why = $t->helper_json("/v1/why/default/program/$debug_id?kind=cficache");
is_deeply [sort map { $_->{place} =~ m{([a-z]+)$} } @{ $why->{attempts} }],
    [sort @both], 'why has what each job asked for';

# --- stopped while one waits for the other

my %open = begin(has => [], kinds => $orders[0],
                 hold => { debuginfo => 'never' });
$t->wait_until('one waits, and the other one receives', sub {
    $t->metric('symcached_jobs_downloading') == 1
        && $t->metric('symcached_jobs_queued') == 1 });
is $t->stop_symcached, 0, 'a stop ends both';

$t->finish;
done_testing;
