#!/usr/bin/env perl

# What Symbolicator 26.8.0 answered to requests of POST /minidump and of POST
# /symbolicate-any (t/data/minidump/contract.json), and the one-time fetches of
# the latter.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Find qw(find);
use File::Path qw(make_path);
use IO::Compress::Gzip qw(gzip);
use Test::File;
use Test::Form;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->allow_nonref->utf8;
my $cases = $t->data('minidump/cases');
my $dump = slurp("$cases/sym-linux-mini.sym/dump.dmp");
gzip \$dump => \my $packed;
my %files = (
    'dumps/sym-linux-mini.dmp' => $dump,
    'dumps/sym-windows-mini.dmp' =>
        slurp("$cases/sym-windows-mini.sym/dump.dmp"));

# What is answered otherwise, and why; docs/minidumps.md tells it, too.
my %differs = (
    'timeout-0' => 'a request whose symbols are known is answered at once');

my @contract = @{ $json->decode(slurp($t->data('minidump/contract.json'))) };
my %contract = map { $_->{name} => $_ } @contract;

my $symbols = $t->path('symbols');
make_path("$symbols/crash/C0BCC3F19827FE653058404B2831D9E60");
$t->write_file("$symbols/crash/C0BCC3F19827FE653058404B2831D9E60/crash.sym",
    slurp(glob "$cases/sym-linux-mini.sym/*.sym"));

# Where reports are stored.
my $fails = $t->path('fails');
my $storage = Test::ScriptedServer->new(log => $t->path('storage.log'),
    script => sub {
        my ($c, $req) = @_;
        my ($coding, $token, $path) =
            $req->{path} =~ m{^/(gz)?(secret)?(.*)};
        return $c->reply(403) if $token
            && ($req->{headers}{authorization} // '') ne 'Bearer tok';
        return $c->reply(302, { Location => 'http://localhost:1/dump' })
            if $path eq 'away';
        return $c->reply(500, {}, '') if $path eq 'broken';
        if ($path eq 'twice' && !-e "$fails.2") {
            rename "$fails.1", "$fails.2" or $t->write_file("$fails.1", '');
            return $c->reply(503, {}, '');
        }
        return $c->reply(200, {}, 'x' x 5000) if $path eq 'large';
        if ($path eq 'cut') {
            $c->send("HTTP/1.1 200 OK\r\n\r\n" . substr $dump, 0, -1000);
            return $c->close;
        }
        return $c->reply(404) unless $path =~ /^(dump|twice)$/;
        return $c->reply(200, { 'Content-Encoding' => 'gzip' }, $packed)
            if $coding;
        return $c->reply(200, {}, $dump);
    });
my $host = '127.0.0.1:' . $storage->port;

sub start {
    my ($symbolicator, $limits) = @_;
    my $converter = $t->program('pdb2symcache');
    my $config = {
        stores => { default => { root => $t->path('store'),
            sources => ['symbols'],
            transcoders => [
                { version => '9.0.0', inputs => ['breakpad'],
                  command => [$converter, '{pdb}'] },
                { version => '1.0.0', inputs => ['breakpad'],
                  makes => 'cficache',
                  command => [$converter, '--kind', 'cficache', '{pdb}'] }],
        } },
        sources => { symbols => { type => 'filesystem', layout => 'breakpad',
            path => $symbols, forms => ['plain'] } },
        symbolication => { symbolicator => $symbolicator,
            $limits ? (limits => $limits) : () },
    };
    $t->stop_symbolicated if $t->{symbolicated};
    $t->stop_symcached if $t->{helper};
    $t->start_symcached($config);
    $t->start_symbolicated($config);
}

sub content { ref $_[0] ? $files{ $_[0]{file} } : $_[0] }

sub ask {
    my ($case) = @_;
    my $parts = $case->{parts};
    if ($case->{name} eq 'gzip-dump') {
        $parts = [$parts->[0], [$parts->[1][0], $packed, 'a']];
    }
    my $body = ref $parts eq 'ARRAY'
        ? form(map { [$_->[0], content($_->[1]), $_->[2]] } @$parts)
        : ref $parts ? $json->encode($parts) =~ s/STORAGE/$host/r : $parts;
    my $r = $t->post($t->symbolicated_socket, $case->{path}, $body,
        map { "$_: $case->{headers}{$_}" } keys %{ $case->{headers} });
    $r->{answer} = eval { $json->decode($r->{body}) } // $r->{body};
    return $r;
}

# Where a parser was, and where the symbols are.
sub plain {
    my ($value) = @_;
    if (ref $value eq 'HASH') {
        return { map { $_ => plain($value->{$_}) } keys %$value };
    }
    return [map { plain($_) } @$value] if ref $value eq 'ARRAY';
    return $value if !defined $value || ref $value || $value =~ /^[\d.]+$/;
    $value =~ s/ at line \d+ column \d+$//;
    $value =~ s/^ +\^$/^/m;
    $value =~ s{file://(?:\./symbols|\Q$symbols\E)/}{file:///};
    return $value;
}

sub check {
    my ($case) = @_;
    my $name = $case->{name};
    my $r = ask($case);
    is $r->{status}, $case->{status}, "$name: status";
    like $r->{headers}{'content-type'}[0] // '', qr/^\Q$case->{type}\E/,
        "$name: type";
    my $wanted = $case->{answer};
    $wanted = $contract{ $wanted->{same_as} }{answer}
        if ref $wanted eq 'HASH' && $wanted->{same_as};
    return if $differs{$name};
    is_deeply plain($r->{answer}), plain($wanted), $name;
}

start({});
check($_) for grep { $_->{path} !~ /any$/ } @contract;

# --- rules for the first module, which is in the source by another name

my $other = "$symbols/cr-ash\$/C0BCC3F19827FE653058404B2831D9E60";
make_path($other);
$t->write_file("$other/cr-ash\$.sym",
    slurp(glob "$cases/sym-linux-mini.sym/*.sym") =~ s/ crash$/ cr-ash\$/mr);
unlink "$symbols/crash/C0BCC3F19827FE653058404B2831D9E60/crash.sym";
start({ requests => 100 });

sub rewritten {
    my (@rules) = @_;
    my $r = $t->post($t->symbolicated_socket, '/minidump',
        form(['rewrite_first_module', $json->encode(\@rules)],
            ['upload_file_minidump', $dump, 'a']),
        "Content-Type: $form_type");
    my $answer = $json->decode($r->{body});
    return $r->{status} == 200 ? $answer->{modules}[0] : $answer;
}

my $rule = { from => '.*/(cr)(?<rest>.*)', to => '$1-${rest}$$$none' };
is rewritten($rule)->{unwind_status}, 'found', 'a module by another name';
is rewritten($rule)->{debug_file}, '/work/linux/build/crash',
    'its own is answered';
is rewritten({ from => 'nothing', to => 'x' }, $rule)->{unwind_status},
    'found', 'the first rule that matches';
is rewritten({ from => 'crash', to => 'x' }, $rule)->{unwind_status},
    'missing', 'is the only one';
is rewritten({ from => '(/*)*(\w|/)*(.*)*z', to => 'x' }, $rule)
    ->{unwind_status}, 'found', 'a pattern that takes too long';
for my $case (['no text', { from => 3, to => 'x' }, qr/expected a string/],
    ['no name', { from => 'x' }, qr/^missing field `to`/],
    ['too many', ({ from => 'x', to => 'y' }) x 65, qr/too many/]) {
    my ($name, @rules) = @$case;
    like rewritten(@rules[0 .. $#rules - 1])->{detail}, $rules[-1],
        "rules: $name";
}

# --- one-time fetches

my $tenants = { root => $t->path('tenants'), hosts => [$host] };
start({ sources => 'allow', tenants => $tenants });
check($_) for grep { $_->{path} =~ /any$/ } @contract;

sub any {
    my ($url, %more) = @_;
    return ask({ name => '', path => '/symbolicate-any',
        headers => { 'Content-Type' => 'application/json' },
        parts => { symbolicate => { type => 'minidump', storage_url => $url,
            rewrite_first_module => [], %{ $more{symbolicate} // {} } },
            %{ $more{body} // {} } } });
}

is any('http://STORAGE/twice')->{answer}{status}, 'completed',
    'a third try is made';
is any('http://STORAGE/broken')->{answer}{message},
    'download failed: 500 Internal Server Error', 'and no fourth';
is scalar(grep { $_->{path} eq '/broken' } $storage->requests), 3,
    'the storage was asked three times';
like any('http://STORAGE/cut')->{answer}{message},
    qr/^download failed: 200 without a length/, 'a dump whose end nobody told';
like any('http://STORAGE/away', symbolicate => { storage_token => 'secret-x' })
    ->{answer}{message}, qr/^download failed: /, 'a redirect to this machine';
like any("http://localhost:@{[$storage->port]}/dump")->{answer}{message},
    qr/^download failed: .*reserved/, 'a host of this machine';
like any('http://127.0.0.1:1/dump')->{answer}{message}, qr/reserved/,
    'that is not listed';
for my $slash ('/', '///') {
    my $asked = $storage->requests;
    like any("http:${slash}localhost:@{[$storage->port]}/dump?://STORAGE/")
        ->{answer}{message}, qr/^download failed: .*reserved/,
        "http:$slash and another host, with a listed one behind it";
    is scalar($storage->requests), $asked, '... is not asked';
}
like any('ftp://STORAGE/dump')->{answer}{message}, qr/^download failed: /,
    'another scheme';
my $r = any('http://STORAGE/dump', symbolicate => {
    rewrite_first_module => [{ from => '(', to => 'x' }] });
is $r->{status}, 422, 'a bad pattern';
like $r->{body}, qr/unclosed group/, 'says so';
is any('http://STORAGE/dump', body => { options => 3 })->{status}, 422,
    'bad options';
is any('http://STORAGE/dump', body => {
    sources => [{ id => 'x', type => 'filesystem' }] })->{status}, 422,
    'a source that no client may bring';
is $t->symbolicated_metric('symbolicated_spool_bytes'), 0,
    'nothing is left in memory';
my @dumps;
find(sub { push @dumps, $_ if -f && slurp($_) =~ /^MDMP/ },
    $t->path('downloads'), $t->path('tenants'));
is_deeply \@dumps, [], 'nor on the disk';
# files at URLs, and what is remembered of them, have hashes as ids
my @hashes;
find({ no_chdir => 1, wanted => sub {
    push @hashes, $_ if m{/hash-} || m{/\.absent$} && slurp($_) =~ /hash-/ } },
    $t->path('downloads'), $t->path('tenants'), grep { -d } $t->path('store'));
is_deeply \@hashes, [], 'and a failure has no entry, whatever it was';
unlike $t->helper_log . $t->symbolicated_log,
    qr{secret-x|/dump|/broken|/away|tok\b}, 'a log has no path and no token';

start({ sources => 'allow', tenants => $tenants }, { crash_size => '4k' });
like any('http://STORAGE/large')->{answer}{message}, qr/^download failed: /,
    'a dump that is too large';

start({});
$r = any('http://STORAGE/dump');
is $r->{status}, 422, 'where clients bring no sources, they bring no URL';
like $r->{body}, qr/storage_url: not allowed/, 'says so';
is $t->helper('POST', '/v1/fetch')->{status}, 403, 'nor to symcached';

$t->finish;
done_testing;
