package Test::Socorro;

# What symcachectl minidump --schema socorro and minidump-stackwalk are compared
# by: all but members that need a disassembler, or what Linux says of itself,
# which we answer as null, and where the text came from.

use strict;
use warnings;

use Compress::Zlib ();
use Exporter 'import';
use File::Path qw(make_path);
use Test::File;
use Test::More;

our @EXPORT = qw(make_store comparable);

# A store of the one Breakpad file, which is gzipped, of a dump.
sub make_store {
    my ($root, $converter, $gz) = @_;
    my ($name, $id) = $gz =~ m{([^/]+)/([^/]+)/[^/]+\.sym\.gz\z} or die $gz;
    my $folder = "$root/$name/$id";
    make_path($folder);
    my $sym = "$root/$name.sym";
    open my $f, '>:raw', $sym or die "$sym: $!";
    print $f Compress::Zlib::memGunzip(slurp($gz));
    close $f;
    for (['symcache', '9.0.0'], ['cficache', '1.0.0']) {
        my ($kind, $version) = @$_;
        system($converter, '--kind', $kind, '-pdb', $sym, '-o',
            "$folder/$name-v$version.$kind") == 0 or die $sym;
    }
    return $root;
}

sub comparable {
    my ($said) = @_;
    delete @{ $said->{crash_info} }{qw(adjusted_address instruction
        instruction_pointer_update memory_accesses possible_bit_flips)};
    delete @$said{qw(handles linux_memory_map_count lsb_release proc_limits)};
    delete $said->{system_info}{cpu_microcode_version};
    delete $_->{symbol_url} for @{ $said->{modules} };
    return $said;
}

1;
