#!/usr/bin/perl

# make sbom: every library that a program says it needs (readelf) is there,
# with the version that dpkg has of it, and each reference leads somewhere.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use JSON::PP qw(decode_json);
use Test::More;

my $top = abs_path(dirname(__FILE__) . '/..');
my $build = abs_path($ENV{SYMCACHE_BUILD} // "$top/build");

for my $program (qw(readelf dpkg-query ldconfig)) {
    grep { -x "$_/$program" } split(/:/, $ENV{PATH}), '/sbin', '/usr/sbin'
        or plan skip_all => "no $program";
}

my $bom = decode_json(scalar qx($top/tools/sbom $build));
is "$bom->{bomFormat} $bom->{specVersion}", 'CycloneDX 1.5', 'the format';

my %component = map { $_->{'bom-ref'} => $_ } @{ $bom->{components} };
is keys %component, @{ $bom->{components} }, 'each component is there once';
my %depends = map { $_->{ref} => $_->{dependsOn} } @{ $bom->{dependencies} };
is_deeply [grep { !$component{$_} } map { @$_ } values %depends], [],
    'each reference leads to a component';

my %path = qx(PATH=\$PATH:/sbin:/usr/sbin ldconfig -p)
    =~ /^\t(\S+) \(.*x86-64.*\) => (\S+)$/mg;
%path or %path = qx(PATH=\$PATH:/sbin:/usr/sbin ldconfig -p)
    =~ /^\t(\S+) \(.*\) => (\S+)$/mg;

for my $program (@{ $depends{ngx_symcache} }) {
    my %on = map { $_ => 1 } @{ $depends{$program} };
    my @missing;
    for my $soname (qx(readelf -d $build/$program) =~ /NEEDED.*\[(.*)\]/g) {
        my $file = $path{$soname} or next;
        my ($package) = map { /^([^:, ]+)/ }
            qx(dpkg-query -S $file /usr$file 2>/dev/null);
        next if !defined $package;
        my $version = qx(dpkg-query -W -f '\${Version}' $package);
        push @missing, "$soname ($package $version)"
            if !$on{$package} || $component{$package}{version} ne $version;
    }
    is_deeply \@missing, [], "$program: what it needs";
}

for my $library (qw(c capstone pcre2 seccomp z zstd)) {
    ok grep({ $library eq "z" ? /^zlib/ : /^lib$library/ }
            @{ $depends{'symbolicated-worker'} }),
        "symbolicated-worker: lib$library, linked in or loaded";
}

my %linked_in = ('pdb2symcache' => 'liblzma',
                 'symcached-sandboxed' => 'libmspack');
for my $program (sort keys %linked_in) {
    for my $library ($linked_in{$program},
                     qw(libminizip nettle libseccomp zlib libzstd)) {
        ok grep({ /^$library/ } @{ $depends{$program} }),
            "$program: $library, which is linked in";
    }
    unlike scalar(qx(readelf -d $build/$program)),
        qr/\[lib(lzma|minizip|mspack|nettle|seccomp|z|zstd)\./,
        "$program: none of them is loaded";
}

# they are loaded when they are needed, so readelf does not know them
for my $library (qw(curl capstone isal lzma minizip nettle z zstd)) {
    ok grep({ $library eq "z" ? /^zlib/ : /^lib$library/ } @{ $depends{symcachectl} }),
        "symcachectl: lib$library";
    unlike scalar(qx(readelf -d $build/symcachectl)), qr/\[lib$library\./,
        "symcachectl: lib$library is not linked";
}

done_testing;
