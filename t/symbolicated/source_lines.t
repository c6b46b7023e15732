#!/usr/bin/env perl

# Lines of source code beside the names: what Symbolicator answered to the same
# requests, of the same program and its source bundle.

use strict;
use warnings;

use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Ctl;
use Test::File qw(slurp spew);
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;
my $data = "$FindBin::Bin/../data/sourcebundle";
my $build = 'd11f4ac8ee483d6e69b18b9de238d72346637b94';
my $place = $t->path('symbols/d1/' . substr $build, 2);

make_path($place);
spew("$place/debuginfo", slurp("$data/ring/ring"));
spew("$place/sourcebundle", slurp("$data/ring/ring.src.zip"));
my $config = { stores => { default => { root => $t->path('store'),
        sources => ['local'], transcoders => [{ version => '9.0.0',
            inputs => ['pdb', 'elf'], command => ['pdb2symcache', '--like-symbolic', '{pdb}'] }] } },
    sources => { local => { type => 'filesystem', layout => 'unified',
        path => $t->path('symbols') } } };
$t->start_symcached($config);
$t->start_symbolicated;

sub post {
    my ($request) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate', $json->encode($request),
        'Content-Type: application/json');
    is $r->{status}, 200, 'answered' or diag $r->{raw};
    return $json->decode($r->{body});
}

# The files of the peer came from a source that lists them by number.
sub adapt {
    my ($candidates) = @_;
    my %place = (11 => 'debuginfo', 12 => 'sourcebundle');
    for (@$candidates) {
        $_->{source} = 'local';
        $_->{location} =~ s{^.*/}{};
        $_->{location} = "file://$place/$place{$_->{location}}";
    }
    return $candidates;
}

for (@{ $json->decode(slurp("$data/ring/answers.json")) }) {
    my ($name, $request, $want) = @$_{qw(name request answer)};
    my $got = post($request);
    for my $module (@{ $got->{modules} }) {
        @{ $module->{candidates} } = grep { $_->{download}{status} eq 'ok' }
            @{ $module->{candidates} } if $module->{candidates};
    }
    $_->{candidates} and adapt($_->{candidates}) for @{ $want->{modules} };
    is_deeply $got, $want, "ring: $name" or diag $json->pretty->encode($got);
}

# --- has_sources does not depend on whether candidates are wanted

for (@{ $json->decode(slurp("$data/ring/answers.json")) }) {
    my ($name, $request) = @$_{qw(name request)};
    my @told = map {
        my $got = post({ %$request, options => { %{ $request->{options} },
            dif_candidates => $_ ? JSON::PP::true : JSON::PP::false } });
        [map { $_->{features}{has_sources} ? 1 : 0 } @{ $got->{modules} }];
    } 0, 1;
    is_deeply $told[0], $told[1], "ring: $name: has_sources";
}

# --- on the command line: from the daemon, and of the store alone

my ($asked) = grep { $_->{name} eq 'given' }
    @{ $json->decode(slurp("$data/ring/answers.json")) };
$t->write_file('request', $json->encode($asked->{request}));
for (['--socket', 'unix:' . $t->symbolicated_socket],
     ['--root', $t->path('store')]) {
    my @options = (@$_, $t->path('request'));
    my $said = Test::Ctl->new($t)->run('symbolicate', '--json', @options);
    is_deeply eval { $json->decode($said->{out})->{stacktraces} },
        $asked->{answer}{stacktraces}, "symcachectl symbolicate $_->[0]" or diag explain $said;
    $said = Test::Ctl->new($t)->run('symbolicate', @options);
    like $said->{out}, qr{^    weigh at /build/ring/main\.c:10\n {8}sum \+= ring_at\(r,}m,
        'and for people';
}

# --- frames that bring a path and a line themselves; nothing else is there of
# the module

my $expected = $json->decode(slurp("$data/own/expected.json"));
my $native = 'a7bf86a9df9f5878' . '0' x 16;
make_path($t->path('symbols/a7'));
make_path($t->path('symbols/a7/' . substr $native, 2));
spew($t->path('symbols/a7/' . substr($native, 2) . '/sourcebundle'),
    slurp("$data/own/native.src.zip"));

sub frames {
    my ($module, @frames) = @_;
    return post({ modules => [{ image_addr => '0x1000', image_size => 4096,
            %$module }],
        stacktraces => [{ frames => [map { { instruction_addr => '0x1010',
            ($module->{type} eq 'pe_dotnet'
                ? (instruction_addr => '0x0', addr_mode => 'rel:0') : ()), %$_ } }
            @frames] }] });
}
sub members {
    my ($frame, @names) = @_;
    return { map { exists $frame->{$_} ? ($_ => $frame->{$_}) : () } @names };
}
my @context = qw(pre_context context_line post_context);

my $elf = { type => 'elf', code_id => $native, code_file => '/app' };
my @asks = @{ $expected->{bundles}{'native.src.zip'}{context} };
my $got = frames($elf, map { { abs_path => $_->[0], lineno => $_->[1] } } @asks);
is $got->{modules}[0]{debug_status}, 'missing', 'no debug file';
ok $got->{modules}[0]{features}{has_sources}, 'but sources';
for my $i (0 .. $#asks) {
    my ($path, $line, @lines) = @{ $asks[$i] };
    my %want;
    @want{@context} = @lines if defined $lines[0];
    delete @want{ grep { ref $want{$_} && !@{ $want{$_} } } keys %want };
    is_deeply members($got->{stacktraces}[0]{frames}[$i], @context), \%want,
        "$path:$line";
}

my %given = (pre_context => ['a'], context_line => 'b', post_context => ['c'],
    source_link => 'https://given.example/');
$got = frames($elf,
    { abs_path => '/home/me/src/add.c', lineno => 0 },
    { abs_path => '/home/me/src/add.c', lineno => 30, %given },
    { abs_path => '/home/me/other.c', lineno => 1, %given },
    { abs_path => '/home/me/dep/sub/x y.c', lineno => 1, context_line => 'b' },
    { abs_path => '/home/me/src/add.c', %given });
my @frames = @{ $got->{stacktraces}[0]{frames} };
is $frames[0]{context_line}, 'int add(int a, int b)', 'line 0 is the first';
is_deeply members($frames[1], @context, 'source_link'),
    { map { $_ => $given{$_} } @context }, 'behind the last line, old lines stay';
is_deeply members($frames[2], keys %given), \%given, 'a file that is not there';
is $frames[3]{source_link}, 'https://code.example.com/dep/raw/sub/x%20y.c',
    'a link is told as a URL';
is $frames[3]{context_line}, 'b', 'and the lines stay';
is_deeply members($frames[4], keys %given), \%given, 'no line';

# --- sources in a portable PDB

make_path($t->path('symbols/cc/bcaccedca5467bae4059282ce78bce9e227866'));
spew($t->path('symbols/cc/bcaccedca5467bae4059282ce78bce9e227866/debuginfo'),
    slurp("$data/ppdb-sourcelink-sample.pdb"));
my $sample = $json->decode(slurp("$data/ppdb-sourcelink-sample.json"));
my ($linked) = grep { $_->{url} && !$_->{embedded} } @{ $sample->{documents} };
my ($embedded) = grep { $_->{embedded} } @{ $sample->{documents} };
my @lines = split /\r?\n/, $embedded->{embedded}{text};
$got = frames({ type => 'pe_dotnet', debug_file => 'sample.pdb',
        debug_id => $sample->{debug_id} },
    { abs_path => $embedded->{path}, lineno => 2 },
    { abs_path => $linked->{path}, lineno => 2 },
    { function_id => '0x1', instruction_addr => '0x0' });
ok $got->{modules}[0]{features}{has_sources}, 'a portable PDB has sources';
@frames = @{ $got->{stacktraces}[0]{frames} };
is_deeply members($frames[0], @context, 'source_link'), {
    pre_context => [$lines[0]], context_line => $lines[1],
    post_context => [@lines[2 .. $#lines]] }, 'a text that is in it';
is_deeply members($frames[1], @context, 'source_link'),
    { source_link => $linked->{url} }, 'a link';
like $frames[2]{source_link} // '', qr{^https://raw\.}, 'of a frame that is found'
    or diag explain \@frames;

# --- not wanted

$got = post({ options => { apply_source_context => JSON::PP::false },
    modules => [{ %$elf, image_addr => '0x1000' }], stacktraces => [{ frames =>
        [{ instruction_addr => '0x1010', abs_path => '/home/me/src/add.c',
           lineno => 1 }] }] });
ok !$got->{modules}[0]{features}{has_sources}, 'switched off';
ok !exists $got->{stacktraces}[0]{frames}[0]{context_line}, 'no lines';

# --- a server that fails where it has bundles costs no names; a bundle that comes
# later is answered

my $mode = $t->path('mode');
spew($mode, '500');
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my ($file) = $req->{path} =~ m{/(debuginfo|sourcebundle)$} or return $c->reply(404);
    return $c->reply(slurp($mode)) if $file eq 'sourcebundle' && slurp($mode) ne '200';
    $c->reply(200, {}, slurp("$data/ring/"
        . ($file eq 'debuginfo' ? 'ring' : 'ring.src.zip')));
});
$t->stop_symbolicated;
$t->stop_symcached;
Test::Symcache::remove_tree($t->path($_)) for qw(store other);
$config->{downloads} = $t->path('other');
$config->{sources}{local} = { type => 'http', layout => 'unified',
    url => $web->url, internal => JSON::PP::true };
$config->{limits} = { attempts => 1 };
$config->{cache} = { retry_errors_after => '1s' };
$t->start_symcached($config);
$t->start_symbolicated;
sub first_frame { post($asked->{request})->{stacktraces}[0]{frames}[0] }
$got = first_frame();
is $got->{function}, 'ring_at', 'a name';
ok !exists $got->{context_line}, 'and no line';
spew($mode, '200');
$t->wait_until('the line', sub { first_frame()->{context_line} });
is first_frame()->{context_line},
    $asked->{answer}{stacktraces}[0]{frames}[0]{context_line}, 'later the line';

$t->finish;
done_testing;
