#!/usr/bin/perl

# symcachegen-ssh with a real sshd, whose far side reads a command as cmd does as
# far as it is needed: a real shell, which runs what a PDB's name would spell.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(remove_tree);
use IO::Socket::INET;
use JSON::PP ();
use POSIX ();
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
echo \$PPID >'$dir/session'
printf '%s\\n' "\$SSH_ORIGINAL_COMMAND" >>'$dir/commands'
eval "\$(printf '%s' "\$SSH_ORIGINAL_COMMAND" | sed 's,\\\\,/,g;
    s,\\<mkdir ,mkdir -p ,; s,rmdir /s /q,rm -r,; s,dir /b,ls -d,;
    s,^for /d %i in (\\(.*\\)) do .*,rm -r \\1,')"
SH
# the script host: the clock, and what run.cmd says
$t->write_file('tools/cscript', <<"SH");
#!/bin/sh
[ "\$1" = //nologo ] && [ -f "\$2" ] && cd "\$3" || exit 1
mkdir none
export _NT_SYMCACHE_PATH="\$PWD/out" _NT_SYMBOL_PATH="\$PWD/none"
tr -d '\\r' <run.cmd | sed -n '\$d; s,\\\\,/,g; s,^"\\(.*\\)" -pdb,\\1 -pdb,p' >run.sh
timeout "\$4" sh ./run.sh
code=\$?
[ \$code = 124 ] && exit 124
echo "\$code " >out/code
SH
$t->write_file('tools/symcachegen.exe', <<"SH");
#!/bin/sh
[ -d "\$_NT_SYMCACHE_PATH" ] || exit 2
case \$(cat '$dir/mode') in
bad)   echo "no PDB: \$2"; exit 3 ;;
hang)  echo \$\$ >'$dir/hangs'; exec sleep 1000 ;;
lost)  kill -9 \$(cat '$dir/session') ;;
esac
mkdir -p "\$_NT_SYMCACHE_PATH/in.pdb/id"
cp "\$2" "\$_NT_SYMCACHE_PATH/in.pdb/id/in.pdb-v9.0.0.symcache"
SH
chmod 0755, "$dir/tools/$_" for qw(cmd cscript symcachegen.exe);

system('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', "$dir/$_") == 0
    or die 'ssh-keygen' for qw(host_key id_ed25519 other_key);
$t->write_file('authorized_keys', $t->read_file('id_ed25519.pub'));
sub know { $t->write_file('known_hosts',
    'windows-box.example.org ' . $t->read_file("$_[0].pub")) }
know('host_key');
sub mode { $t->write_file('mode', "$_[0]\n") }

# sshd wants this folder if it is root's: it gets one that nobody else sees
my @serve = $> == 0 && !-d '/run/sshd' ? (qw(unshare -m sh -c),
    'mount -t tmpfs none /run && mkdir /run/sshd && exec "$@"', 'sh') : ();
my ($pid, $port);
sub start_sshd {
    $port = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1')
        ->sockport;
    $t->write_file('sshd_config', <<"CONF");
ListenAddress 127.0.0.1:$port
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
    $pid = $t->spawn('sshd.log', {}, '/usr/bin/env', @serve, $sshd, '-D', '-e',
                     '-f', "$dir/sshd_config");
    return eval { $t->wait_until('sshd accepts', sub {
        die "sshd ended\n" unless Test::Symcache::alive($pid);
        Test::Symcache::connects("127.0.0.1:$port");
    }) };
}
# a port may be taken by somebody else in the meantime
my $ok = start_sshd() || start_sshd() || start_sshd();
plan skip_all => 'sshd does not start: ' . $t->read_file('sshd.log') unless $ok;

# --- the near side: the configuration of the document, but for the places

my $document = $t->read_file("$FindBin::Bin/../../docs/transcoders.md");
my ($config) = $document =~ /^```\n(# \S+ssh\/config;.*?)^```/ms;
die 'docs/transcoders.md has no configuration of ssh' unless $config;
$config =~ s{/var/lib/symcached/ssh/}{$dir/near/}g;
$config =~ s/^    User \K.*/$user/m;
$config =~ s/^    HostName \K.*/127.0.0.1\n    HostKeyAlias windows-box.example.org/m;
sub reach { $t->write_file('near/config', $config . "    Port $_[0]\n") }
reach($port);
rename "$dir/$_", "$dir/near/$_" or die "$_: $!" for qw(id_ed25519 known_hosts);
my $nobody = $> == 0;
chown +(getpwnam 'nobody')[2, 3], "$dir/near/id_ed25519" if $nobody;
sub know_again { know($_[0]); rename "$dir/known_hosts", "$dir/near/known_hosts" }

my $said = `bwrap --unshare-user --ro-bind / / true 2>&1`;
my $confined = $? == 0;
diag "not confined: $said" unless $confined;
my $as = $nobody && $confined ? 'setpriv --reuid=nobody --clear-groups' : '';
$said = `cd / && $as ssh -F $dir/near/config windows-box true 2>&1 </dev/null`;
plan skip_all => "sshd lets nobody in here: $said"
    . ($t->read_file('sshd.log') // '') if $? != 0;

$t->write_file('flat/crash.pdb', $t->read_file($t->data('pdb/crash.pdb')));
sub start {
    my (%o) = @_;
    $t->stop_symcached;
    return Test::SourceCase->new($t,
        sources => { local => { type => 'filesystem', path => "$dir/flat",
                                layout => 'flat' } },
        command => [$t->program('symcachegen-ssh'), '{pdb}', '{out}'],
        transcoder => {
            env => { SYMCACHEGEN_SSH => "$dir/near/config",
                     SYMCACHEGEN_TIME => '' . ($o{there} // 840) },
            $confined ? (profile => 'strict', network => JSON::PP::true,
                         read => ["$dir/near"]) : (),
            time => $o{time} // '60s' });
}
my $c = start();

my $host = (POSIX::uname())[1] =~ s/[^A-Za-z0-9]//gr;
sub commands {
    my $text = $t->read_file('commands') // '';
    unlink "$dir/commands";
    return $text =~ s/symcache-$host-\d+-\w{6}/JOB/gr;
}
my $expected = "dir /b symcache-*\nmkdir JOB\\out\n"
    . "cscript //nologo JOB\\clock.js JOB 840\nrmdir /s /q JOB\n";

mode('good');
commands();
for my $name ('crash.pdb', 'a&mkdir owned&.pdb', '$(touch owned).pdb', 'a b.pdb') {
    my $r = $c->found($name, "$name is converted on the far side");
    like $r->{path}, qr{^\Q$name\E/.*/\Q$name\E-v9\.0\.0\.symcache$},
        'and published under its name';
    is commands(), $expected, 'all commands that the far side saw';
}
is_deeply [glob "$dir/far/*"], [], 'nothing was run there, nothing is left';
is scalar(() = $t->read_file('sshd.log') =~ /Accepted publickey/g), 5,
    'one login a job, and one of this test';

mode('bad');
my $r = $c->ask('bad.pdb');
is $r->{status}, 404, 'a PDB that the far side cannot read';
like $r->{body}, qr/exit code 3: no PDB: in\.pdb/, 'with its words';

# what a lost connection left, of this machine and of another one
mkdir "$dir/far/symcache-$_" for "$host-100-abcdef", "${host}x-100-abcdef";
mode('good');
$c->found('old.pdb', 'where an old folder lies');
is_deeply [map { s{.*/}{}r } glob "$dir/far/*"],
    ["symcache-${host}x-100-abcdef"], 'which is gone, but not those of others';
rmdir "$dir/far/symcache-${host}x-100-abcdef";

# --- a clock there

sub ended {
    my ($what) = @_;
    my ($far) = $t->read_file('hangs') =~ /(\d+)/;
    $t->wait_until("the program there has ended: $what", sub { Test::Symcache::gone($far) });
    pass "$what: the program there has ended";
}

mode('hang');
$c = start(there => 1);
$r = $c->ask('slow.pdb');
is $r->{status}, 404, 'a program that takes too long there';
like $r->{body}, qr/exit code 1: windows-box: symcachegen\.exe took longer than 1 s/,
    'which is said';
ended('its time is over');
$c = start(there => 3, time => '2s');
$r = $c->ask('gone.pdb');
is $r->{status}, 404, 'and one that takes too long here';
like $r->{body}, qr/took longer than transcode_time/, 'which is said';
ended('nobody waits for it');
remove_tree(glob "$dir/far/*");

# --- what is not the file's fault

sub unsure {
    my ($name, $reason, $what) = @_;
    my $a = $c->ask($name);
    is $a->{status}, 503, "$what: no final answer" or diag explain $a;
    like $a->{body}, qr/code 75.*windows-box: $reason/, 'and the reason';
}

$c = start();
mode('lost');
unsure('lost.pdb', qr/cscript: exit code 255:/, 'the connection is lost');
remove_tree(glob "$dir/far/*");
know_again('other_key');
unsure('key.pdb', qr/.*Host key verification failed/, 'another host key');
know_again('host_key');
$t->stop_pid($pid, 'TERM');
$c = start();
unsure('down.pdb', qr/.*Connection refused/, 'sshd is down');
is_deeply [glob "$dir/far/*"], [], 'nothing is left on the far side';

$t->stop_symcached;
$t->finish;
done_testing;
