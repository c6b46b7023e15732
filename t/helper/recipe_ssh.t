#!/usr/bin/perl

# The script of docs/transcoders.md that converts on a Windows machine, with a real sshd,
# whose far side reads a command as cmd does as far as the script needs it: a
# real shell, which runs what a PDB's name would spell.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::SourceCase;
use Test::Symcache;

my ($sftp) = grep { -x } map { "/usr/$_/sftp-server" }
    qw(lib/openssh libexec/openssh lib/ssh libexec);
my ($sshd) = grep { -x } map { "$_/sshd" } qw(/usr/sbin /usr/local/sbin);
# make test does not install it: the package starts a server on port 22
plan skip_all => 'no sshd (openssh-server)' unless $sshd && $sftp;
plan skip_all => "no $_ (openssh-client)"
    for grep { system("command -v $_ >/dev/null") } qw(ssh scp ssh-keygen);

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $user = getpwuid $<;
plan skip_all => 'the user has no name' unless defined $user;

# --- the far side: a folder, and a shell for it

mkdir "$dir/$_" or die "$_: $!" for qw(far tools);
$t->write_file('tools/cmd', <<"SH");
#!/bin/sh
cd '$dir/far' && PATH=$dir/tools:\$PATH || exit 1
case \$SSH_ORIGINAL_COMMAND in
*sftp*) exec $sftp ;;
esac
printf '%s\\n' "\$SSH_ORIGINAL_COMMAND" >>'$dir/commands'
eval "\$(printf '%s' "\$SSH_ORIGINAL_COMMAND" | sed 's,\\\\,/,g; s,%CD%,\$PWD,g
    s,\\<set _NT,export _NT,g; s,\\<mkdir ,mkdir -p ,; s,rmdir /s /q,rm -r,')"
SH
$t->write_file('tools/symcachegen.exe', <<'SH');
#!/bin/sh
[ -d "$_NT_SYMCACHE_PATH" ] || exit 2
name=${2##*/}
case $name in
bad.pdb)    echo "no PDB: $name"; exit 3 ;;
lost.pdb)   exit 255 ;;
esac
mkdir -p "$_NT_SYMCACHE_PATH/$name/id"
cp "$2" "$_NT_SYMCACHE_PATH/$name/id/$name-v9.0.0.symcache"
SH
chmod 0755, "$dir/tools/cmd", "$dir/tools/symcachegen.exe";

system('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', "$dir/$_") == 0
    or die 'ssh-keygen' for qw(host_key id_ed25519 other_key);
$t->write_file('authorized_keys', $t->read_file('id_ed25519.pub'));
sub know { $t->write_file('known_hosts',
    'windows-box.example.org ' . $t->read_file("$_[0].pub")) }
know('host_key');
$t->write_file('sshd_config', <<"CONF");
HostKey $dir/host_key
AuthorizedKeysFile $dir/authorized_keys
ForceCommand $dir/tools/cmd
Subsystem sftp $sftp
PasswordAuthentication no
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
CONF

# sshd wants this folder if it is root's: it gets one that nobody else sees
my $serve = "$sshd -i -f $dir/sshd_config -E $dir/sshd.log";
$serve = "unshare -m sh -c 'mount -t tmpfs none /run && mkdir /run/sshd"
    . " && exec $serve'" if $< == 0 && !-d '/run/sshd';

# --- the near side: what the document says, but for the places

my $document = $t->read_file("$FindBin::Bin/../../docs/transcoders.md");
my ($recipe) = $document =~ /^```sh\n(#!\/bin\/sh\n# symcachegen-ssh .*?)^```/ms;
my ($config) = $document =~ /^```\n(# \S+ssh\/config;.*?)^```/ms;
die 'docs/transcoders.md has no script symcachegen-ssh'
    unless $recipe && $config;
s{/var/lib/symcached/ssh/}{$dir/}g for $recipe, $config;
$config =~ s/^    User \K.*/$user/m;
sub reach {
    my ($command) = @_;
    $t->write_file('config', $config . "    ProxyCommand $command\n");
}
$t->write_file('symcachegen-ssh', $recipe);
chmod 0755, "$dir/symcachegen-ssh";

reach($serve);
my $said = `ssh -F $dir/config windows-box true 2>&1 </dev/null`;
plan skip_all => "sshd lets nobody in here: $said"
    . ($t->read_file('sshd.log') // '') if $? != 0;

$t->write_file('flat/crash.pdb', $t->read_file($t->data('pdb/crash.pdb')));
my $c = Test::SourceCase->new($t,
    sources => { local => { type => 'filesystem', path => "$dir/flat",
                            layout => 'flat' } },
    command => ["$dir/symcachegen-ssh", '{pdb}', '{out}']);

sub commands {
    my $text = $t->read_file('commands') // '';
    unlink "$dir/commands";
    return $text =~ s/symcache-[\w.-]+?-\d+-\d+/JOB/gr;
}

sub expected {
    my ($name) = @_;
    return "mkdir JOB\\out\n"
        . 'set _NT_SYMCACHE_PATH=%CD%\JOB\out&& '
        . 'set _NT_SYMBOL_PATH=%CD%\JOB\none&& '
        . "symcachegen.exe -pdb JOB\\$name\nrmdir /s /q JOB\n";
}

commands();
for (['crash.pdb', 'crash.pdb'], ['a&mkdir owned&.pdb', 'in.pdb'],
     ['$(touch owned).pdb', 'in.pdb'])
{
    my ($name, $seen) = @$_;
    my $r = $c->found($name, "$name is converted on the far side");
    like $r->{path}, qr{^\Q$name\E/.*/\Q$name\E-v9\.0\.0\.symcache$},
        'and published under its name';
    is commands(), expected($seen), 'all commands that the far side saw';
}
is_deeply [glob "$dir/far/*"], [], 'nothing was run there, nothing is left';

my $r = $c->ask('bad.pdb');
is $r->{status}, 404, 'a PDB that the far side cannot read';
like $r->{body}, qr/exit code 3: no PDB: bad\.pdb/, 'with its words';

# --- what is not the file's fault

sub unsure {
    my ($name, $reason, $what) = @_;
    my $a = $c->ask($name);
    is $a->{status}, 503, "$what: no final answer";
    like $a->{body}, $reason, 'and the reason';
}

unsure('lost.pdb', qr/exit code 255/, 'the connection is lost');
reach('false');
unsure('down.pdb', qr/code 75.*windows-box: .*closed/, 'sshd is down');
reach($serve);
know('other_key');
unsure('key.pdb', qr/code 75.*Host key verification failed/,
    'another host key');
is_deeply [glob "$dir/far/*"], [], 'nothing is left on the far side';

$t->stop_symcached;
$t->finish;
done_testing;
