#!/usr/bin/env perl

# Sources of Sentry that clients of /symbolicate bring.  What its candidates
# look like is Symbolicator's answer for such a source, whose list had one file.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::Sentry;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;
my $s = Test::Sentry->new($t, token => 's3cret');
my $debug_id = '3249d99d-0c40-4931-8610-f4e4fb0b6936-1';
my $id = $s->add(type => 'pdb', debug_id => $debug_id,
    data => $t->read_file($t->data('pdb/crash.pdb')));

$t->start_symcached({
    stores => { default => { root => $t->path('store') } },
    limits => { attempts => 1 },
    symbolication => { symbolicator => { sources => 'allow', tenants => {
        root => $t->path('tenants'), count => 8, hosts => [$s->host] } } },
});
$t->start_symbolicated;

sub post {
    my ($source, %o) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate?scope='
            . ($o{scope} // 'a'), $json->encode({
        stacktraces => [{ frames => [
            $o{frame} // { instruction_addr => '0x401000' }] }],
        modules => [$o{module} // { type => 'pe', code_file => 'crash.exe',
            debug_file => 'crash.pdb', debug_id => $o{id} // $debug_id,
            image_addr => '0x400000', image_size => 0x100000 }],
        options => { dif_candidates => JSON::PP::true(),
            apply_source_context => $o{context} // JSON::PP::false() },
        sources => [{ type => 'sentry', id => 'sentry:project',
            url => $s->debug_files, %$source }],
    }), 'Content-Type: application/json');
    return $r->{status} == 200 ? $json->decode($r->{body})->{modules}[0]
                               : $r->{status};
}

my $m = post({ token => 's3cret' });
is $m->{debug_status}, 'found', 'a file of the project' or diag explain $m;
is_deeply [map { [@$_{qw(source location)}, $_->{download}{status}] }
        @{ $m->{candidates} }],
    [['sentry:project', "sentry://project_debug_file/$id", 'ok']],
    'its place, as Symbolicator has it';
my $n = () = $s->requests;
is post({ token => 's3cret' })->{debug_status}, 'found', 'once more';
is scalar(() = $s->requests), $n, 'without a request';

# A list is by ids, so its files may have any name: a text has one in it.
$s->add(type => 'breakpad', debug_id => '5c1d3f3a-0000-4000-8000-0123456789ab',
    data => "MODULE Linux x86_64 5C1D3F3A0000400080000123456789AB0 libshapes.so\nFUNC 1000 10 0 draw\n");
is post({ token => 's3cret' }, module => { type => 'elf', code_file => '/opt/app/renamed.so',
    debug_id => '5c1d3f3a-0000-4000-8000-0123456789ab', image_addr => '0x400000' })->{debug_status},
    'found', 'a text with another name in it';

my $none = post({ token => 's3cret' }, id => '00000000-0000-4931-8610-f4e4fb0b6936-1');
is $none->{debug_status}, 'missing', 'what the project does not have';
is_deeply $none->{candidates}, [{ source => 'sentry:project',
    location => 'No object files listed on this source',
    download => { status => 'notfound' } }], 'has no place in it';

# Files that may have source code in them count as listed for it: the answers of
# Symbolicator to the same files and requests.
my $nothing = 'No object files listed on this source notfound';
my $ring = $s->add(type => 'elf', data => $t->read_file(
    $t->data('sourcebundle/ring/ring')), features => ['debug'],
    debug_id => 'c84a1fd1-48ee-6e3d-69b1-8b9de238d723');
my %context = (scope => 'context', context => JSON::PP::true());
sub places {
    my ($answer) = @_;
    return [map { "$_->{location} $_->{download}{status}" }
        @{ $answer->{candidates} }];
}
is_deeply places(post({ token => 's3cret' }, %context)),
    [$nothing, "sentry://project_debug_file/$id ok"],
    'a PDB, and no place for its source code';
is_deeply places(post({ token => 's3cret' }, %context, module => {
        type => 'elf', code_file => 'ring', image_addr => '0x400000',
        debug_id => 'c84a1fd1-48ee-6e3d-69b1-8b9de238d723' })),
    ["sentry://project_debug_file/$ring ok"], 'an ELF file may have it';
is_deeply places(post({ token => 's3cret' }, %context,
        id => '00000000-0000-4931-8610-f4e4fb0b6936-1')),
    [$nothing], 'nothing, and that is said once';

# Symbolicator finds a portable PDB by its debug id alone.
my %weave = (type => 'pe_dotnet', image_addr => '0x0', image_size => 0x10000,
    debug_id => '6022e78b-4bf4-4d04-8f9e-21d7790ece60-ed5a93bd');
$s->add(type => 'portablepdb', debug_id => $weave{debug_id},
    data => $t->read_file($t->data('ppdb/weave.pdb')), features => ['debug']);
for my $names ({}, { debug_file => '' }, { code_file => 'weave.dll' }) {
    is post({ token => 's3cret' }, scope => 'dotnet', module => { %weave, %$names },
        frame => { instruction_addr => '0x0', addr_mode => 'rel:0',
                   function_id => '0x45' })->{debug_status}, 'found',
        '.NET without the name of the PDB, with: ' . (join(' ', %$names) || 'none');
}

isnt post({ token => 'wrong' })->{debug_status}, 'found',
    'another token, another store';
isnt post({ token => 's3cret', url => $s->project . '/x/' })->{debug_status},
    'found', 'another project as well';
my $files = qx(grep -rl s3cret @{[$t->path('tenants')]} @{[
    $t->path('symcached.log')]} @{[$t->path('symbolicated.log')]} 2>/dev/null);
is $files, '', 'the token is in no file';
is $t->stop_symbolicated, 0, 'symbolicated stops';
is $t->stop_symcached, 0, 'symcached stops';
$t->finish;
done_testing;
