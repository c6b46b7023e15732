package Test::Soak::Corpus;

# The keys of a campaign: real PDBs under GUIDs and ages of their own, and ELF
# files under build ids, made from a few of t/data, each with the SymCache that
# the converter makes of it.
# Some stand for SymCaches that nobody can look into, and have no PDB.
#
#   my $corpus = Test::Soak::Corpus->new($t, seed => 1, keys => 80);
#   my $key = $corpus->find('soak1.pdb', $id);
#   # { name, lower, guid, age, id, home, form, expected, sha }, and
#   # build_id of an ELF file
#   $corpus->pdb($key);
#   # of those that are uploaded: $key->{versions}, $corpus->pdb($key, $version),
#   # and expected is a list

use strict;
use warnings;

use Compress::Zlib ();
use Digest::SHA qw(sha256 sha256_hex);
use Test::Cabinet;

# Where a key is: the sources that have it, by the store that it is asked
# from.  Test::Soak has the stores.
our @homes = (
    { store => 'web', at => 'web' },
    { store => 'tiers', at => 'tiers' },
    { store => 'behind', at => 'honest' },
    { store => 'ahead', at => 'web' },
    { store => 'dirs', at => 'share' },
    { store => 'dirs', at => 'drop' },
    { store => 'dirs', at => 'web' },
    { store => 'far', at => 'far' },
    { store => 'opaque', at => 'opaque' },
    { store => 'mixed', at => 'far' },
    { store => 'mixed', at => 'web' },
    { store => 'hung', at => 'net' },
    { store => 'sent', at => 'uploads' },
    { store => 'native', at => 'builds' },
);

# those of ELF have a build id of 20 bytes
my @elf_templates = qw(gcc-5.so clang-5.so gcc-zlib.so powerpc64.so);
my @templates = (qw(llvm/ClassLayoutTest llvm/every-function derived/omap
                    generated/clang14-x64-O2 generated/lto
                    generated/modules), '');

sub new {
    my ($class, $t, %o) = @_;
    my $self = bless { t => $t, seed => $o{seed}, keys => [], by => {} },
        $class;
    $self->{templates} = [map { $self->template($_) } @templates];
    $self->{elf_templates} = [map { $self->elf_template($_) } @elf_templates];
    for my $i (0 .. $o{keys} - 1) {
        my $key = $self->make_key($i);
        push @{ $self->{keys} }, $key;
        $self->{by}{"$key->{lower}/$key->{id}"} = $key;
        $self->{by_build_id}{ $key->{build_id} } = $key if $key->{build_id};
    }
    $self->convert($_) for $self->keys;
    $self->make_guests;
    return $self;
}

sub templates { scalar @{ $_[0]{templates} } }
sub keys { @{ $_[0]{keys} } }
sub find { $_[0]{by}{ lc($_[1]) . '/' . uc $_[2] } }

sub find_build_id { $_[0]{by_build_id}{ $_[1] } }

# A number below $n that depends on the words only.
sub pick {
    my ($self, $n, @words) = @_;
    return unpack('N', sha256(join ' ', $self->{seed}, @words)) % $n;
}

sub template {
    my ($self, $name) = @_;
    my $t = $self->{t};
    my $pdb = $name ? $self->fixture("$name.pdb")
                    : $t->read_file($t->data('pdb/crash.pdb'));
    my (@guid, @age);
    # the info stream: version, signature, age, GUID
    push @guid, pos($pdb) - 16 while $pdb =~ /\x94\x2e\x31\x01.{24}/gs;
    # the DBI stream: -1, version, age
    push @age, pos($pdb) - 4
        while $pdb =~ /\xff{4}\x77\x09\x31\x01.{4}/gs;
    die "$name: no PDB as expected" if !@guid || !@age;
    return { pdb => $pdb, guid => \@guid, age => \@age };
}

sub elf_template {
    my ($self, $name) = @_;
    my $elf = $self->fixture("elf/$name");
    # a note of type 3 that the name "GNU" goes before, in either byte order
    $elf =~ /\x14\0*\x03\0*GNU\0(.{20})/s or die "$name: no build id";
    return { elf => $elf, build_id => $-[1],
             big_endian => substr($elf, 5, 1) eq "\x02" };
}

sub fixture {
    my ($self, $name) = @_;
    my $file = $self->{t}->data("convert/$name.zst");
    return scalar qx(zstd -qdc '$file');
}

sub make_key {
    my ($self, $i) = @_;
    my $home = $homes[$i % @homes];
    my $guid = uc substr sha256_hex("$self->{seed} key $i"), 0, 32;
    my $age = 1 + $self->pick(12, 'age', $i);
    my $form = $self->pick(10, 'form', $i);
    my %key = (
        i => $i, name => ($i % 3 ? "soak$i.pdb" : "Soak$i.PDB"),
        guid => $guid, age => $age, id => sprintf('%s%X', $guid, $age),
        home => $home->{at}, store => $home->{store},
        template => $self->pick(scalar @templates, 'template', $i),
        form => $home->{at} !~ /^(?:web|tiers|honest)$/ || $form < 6 ? 'plain'
            : $form < 8 ? 'packed' : 'pointer',
        # whether upstream ever says that it is not there, or sends a PDB that
        # cannot be converted: where not, there is no excuse for a final 404
        doubted => !$self->pick(4, 'doubted', $i),
    );
    $self->make_elf(\%key) if $home->{at} eq 'builds';
    $key{lower} = lc $key{name};
    $key{versions} = 4 if $home->{at} eq 'uploads';
    return \%key;
}

# The debug id is the beginning of the build id, as a GUID in the file's byte
# order is written.
sub make_elf {
    my ($self, $key) = @_;
    my $build_id = sha256("$self->{seed} build $key->{i}");
    $key->{build_id} = unpack 'H40', $build_id;
    $key->{name} = "soak$key->{i}.so";
    $key->{template} = $self->pick(scalar @elf_templates, 'elf', $key->{i});
    $key->{guid} = uc unpack 'H*', pack 'N n n a8', unpack
        $self->{elf_templates}[$key->{template}]{big_endian} ? 'N n n a8'
            : 'V v v a8', $build_id;
    $key->{age} = 0;
    $key->{id} = "$key->{guid}0";
}

sub convert {
    my ($self, $key) = @_;
    my $t = $self->{t};
    if ($key->{home} eq 'opaque') {
        my $n = 500 + $self->pick(2500, 'size', $key->{i});
        $key->{expected} = 'OPAQUE' . join '',
            map { sha256("$key->{id} $_") } 1 .. $n;
    } elsif ($key->{versions}) {
        $key->{expected} = [map { $self->converted($key, $_) }
            0 .. $key->{versions} - 1];
        return;
    } else {
        $key->{expected} = $self->converted($key);
    }
    $key->{sha} = sha256_hex($key->{expected});
}

sub converted {
    my ($self, $key, @version) = @_;
    my $t = $self->{t};
    my $file = $t->write_file($key->{name}, $self->pdb($key, @version));
    my $out = $t->path('made.symcache');
    system($t->program('pdb2symcache'), '-pdb', $file, '-o', $out) == 0
        or die "pdb2symcache: $key->{name}";
    my $symcache = $t->read_file($out);
    unlink $file, $out;
    return $symcache;
}

# --- what sources of clients have, see Test::Soak::Guests

sub make_guests {
    my ($self) = @_;
    for my $i (0 .. 5) {
        my $guid = uc substr sha256_hex("$self->{seed} guest $i"), 0, 32;
        my $name = "guest$i.pdb";
        push @{ $self->{guests} }, {
            i => $i, name => $name, lower => $name, guid => $guid, age => 1,
            id => "${guid}1", home => $i < 3 ? 'public' : 'private',
            template => $self->pick(scalar @templates, 'guest', $i),
            form => 'plain', doubted => $i % 3 == 0,
        };
    }
}

sub guests { @{ $_[0]{guests} } }

# The file of a scope: what is private is another one for each, or none.
sub guest_file {
    my ($self, $name, $id, $scope) = @_;
    my ($key) = grep { $_->{name} eq $name && $_->{id} eq $id } $self->guests;
    return $key if !$key || $key->{home} eq 'public';
    return if $scope >= $Test::Soak::Guests::owners;
    return { %$key, template => template_of($key, $scope) };
}

# --- bodies

# The bytes of a GUID as a PDB has them.
sub guid_bytes { pack 'V v v a8', unpack 'N n n a8', pack 'H*', $_[0] }

# Which one a version is made from.
sub template_of {
    my ($key, $version) = @_;
    return ($key->{template} + ($version // 0)) % @templates;
}

sub pdb {
    my ($self, $key, $version) = @_;
    return $self->elf($key) if $key->{build_id};
    my $template = $self->{templates}[template_of($key, $version)];
    my $pdb = $template->{pdb};
    my $guid = guid_bytes($key->{guid});
    substr $pdb, $_, 16, $guid for @{ $template->{guid} };
    substr $pdb, $_, 4, pack 'V', $key->{age} for @{ $template->{age} };
    return $pdb;
}

sub elf {
    my ($self, $key) = @_;
    my $template = $self->{elf_templates}[$key->{template}];
    my $elf = $template->{elf};
    substr $elf, $template->{build_id}, 20, pack 'H*', $key->{build_id};
    return $elf;
}

# Has the identity, and the converter refuses it: the size of the first part
# of the DBI stream is beyond all bounds.
sub damaged {
    my ($self, $key) = @_;
    my $pdb = $self->pdb($key);
    substr $pdb, $_ + 16, 4, pack 'V', 0x7fffff00
        for @{ $self->{templates}[$key->{template}]{age} };
    return $pdb;
}

# The next key that has a file of that format.
sub other {
    my ($self, $key) = @_;
    my $i = $key->{i};
    my $other;
    do {
        $other = $self->{keys}[++$i % @{ $self->{keys} }];
    } while $other->{home} eq 'opaque'
        || !$other->{build_id} != !$key->{build_id};
    return $other;
}

sub packed {
    my ($self, $key) = @_;
    my $pdb = $self->pdb($key);
    my $how = $key->{i} % 3;
    return $how == 0 ? Compress::Zlib::memGzip($pdb)
        : $how == 1 ? Compress::Zlib::compress($pdb)
        : Test::Cabinet::cabinet($pdb);
}

# What a source sends for the key where it has it, without file.ptr.
sub body {
    my ($self, $key) = @_;
    return $key->{home} =~ /^(?:far|opaque)$/ ? $key->{expected}
        : $key->{form} eq 'packed' ? $self->packed($key) : $self->pdb($key);
}

1;
