#!/usr/bin/perl

# What builds of today send with: Sentry's client in TypeScript (npm's "sentry"),
# by itself and as the plugin of webpack uses it, through nginx
# (conf-examples/uploads.conf).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::Example;
use Test::More;
use Test::Peer;
use Test::Symcache;
use Test::Uploads;

my $modules = Test::Peer::folder('sentry-webpack') . '/node_modules';
my $u = Test::Uploads->new(inputs => ['pdb', 'elf'],
                           uploads => { parts_kept => '1h', max_size => '64m' });
my $t = $u->t;
my $dir = $t->dir;
my $listen = '127.0.0.1:' . Test::Symcache::free_port();
my $with = $u->config;
$with->{stores}{default}{transcoders}[0] =
    { version => '9.0.0', command => ['pdb2symcache', '-pdb', '{pdb}'] };
$t->stop_symcached;
$t->start_symcached($with);
$t->stop_nginx;
Test::Example::start($t, 'uploads.conf', address => $listen,
    put => { 'listen 80;' => "listen $listen;",
             '/run/symcached/uploads.sock' => "$dir/u.sock",
             '/srv/uploads' => "$dir/uploads" });
$t->start_symbolicated;
my $json = JSON::PP->new->utf8;
my $token = '0123456789abcdef0123456789abcdef';
@ENV{qw(HOME SENTRY_URL SENTRY_AUTH_TOKEN SENTRY_ORG SENTRY_PROJECT SENTRY_CLI_NO_TELEMETRY)} =
    ($dir, "http://$listen", $token, 'acme', 'web', 1);

sub run_cli {
    my ($args, $like) = @_;
    my $said = `cd '$dir' && timeout 100 node '$modules/sentry/dist/bin.cjs' $args 2>&1`;
    is $?, 0, "sentry $args" or diag $said;
    like $said, $like, '... and tells of it';
}

run_cli('info', qr/Configuration verified/);

# debug files and mappings
mkdir "$dir/build" or die $!;
$t->write_file('build/p.c', 'int twice(int n) { return 2 * n; } int main(void) { return twice(0); }');
system('cc', '-g', '-O0', '-Wl,--build-id', '-o', "$dir/build/p", "$dir/build/p.c") == 0 or die $?;
system('cp', $t->data('pdb/crash.pdb'), "$dir/build") == 0 or die $?;
$t->write_file('mapping.txt', "org.example.Main -> a.a:\n    1:3:void run():10:12 -> a\n");
run_cli('debug-files upload --wait --include-sources build', qr/Uploaded 3 debug file/);
run_cli('debug-files upload --wait build', qr/crash\.pdb +\[ok\]/);
run_cli('proguard upload mapping.txt', qr/b90d0a12-ecfb-5aa0-a477-1cfa9d4484b3/);
like $u->stored, qr{\b\Q$_\E\b}, "... $_" for 'crash.pdb/3249D99D0C4049318610F4E4FB0B69361/crash.pdb',
    'p.src.zip', 'mapping.txt/B90D0A12ECFB5AA0A4771CFA9D4484B30/mapping.txt';

# the steps of a release
system("cd '$dir' && git init -q . && git add mapping.txt && git -c user.name=a -c user.email=a\@b.example"
    . ' commit -qm one') == 0 or die $?;
run_cli('release create web@1', qr/Release Created: web\@1/);
run_cli('release set-commits web@1 --local', qr/Commits Set: web\@1/);
run_cli('release deploy web@1 production', qr/Environment .* production/);
run_cli('release finalize web@1', qr/Status .* Finalized/);

# webpack's plugin does them all, and sends scripts and maps
$t->write_file('src/cart.js', <<'JS');
export class Cart {
  constructor() { this.items = []; }
  total() {
    if (this.items.length === 0) {
      throw new Error('empty cart');
    }
    return 1;
  }
}
JS
$t->write_file('src/main.js', <<'JS');
import { Cart } from './cart.js';
export function checkout(cart) {
  console.log('checking out');
  return cart.total();
}
try { checkout(new Cart()); } catch (e) { console.log(e.stack); }
JS
symlink $modules, "$dir/node_modules" or die $!;
$t->write_file('build.mjs', <<"JS");
import webpack from 'webpack';
import { sentryWebpackPlugin } from '\@sentry/webpack-plugin';
webpack({
    mode: 'production', context: '$dir', entry: './src/main.js', devtool: 'source-map',
    output: { path: '$dir/out' },
    plugins: [sentryWebpackPlugin({
        url: 'http://$listen', authToken: '$token', org: 'acme', project: 'web',
        telemetry: false, errorHandler: (e) => { throw e; },
        release: { name: 'web\@2', setCommits: false, deploy: { env: 'production' } },
    })],
}, (error, stats) => {
    if (error || stats.hasErrors()) {
        console.log(error ?? stats.toString());
        process.exit(1);
    }
});
JS
my $said = `cd '$dir' && timeout 200 node build.mjs 2>&1`;
is $?, 0, 'webpack builds and sends' or diag $said;
my ($id) = $t->read_file('out/main.js') =~ /sentry-dbid-([0-9a-f-]{36})/;
ok $id, '... with a debug id';
my ($line, $col) = `node '$dir/out/main.js'` =~ /\.total \(.*main\.js:(\d+):(\d+)\)/;
my $url = 'https://cdn.example.com/main.js';
SKIP: {
    skip 'no extended attributes here, so files have no digest', 1
        if !$t->has_attributes;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate-js',
        $json->encode({ source => { id => 'x', token => 'x', url => 'http://127.0.0.1:1/' },
            modules => [{ type => 'sourcemap', code_file => $url, debug_id => $id }],
            stacktraces => [{ frames => [{ abs_path => $url, lineno => 0 + $line,
                colno => 0 + $col }] }] }), 'Content-Type: application/json');
    my $f = $json->decode($r->{body})->{stacktraces}[0]{frames}[0];
    is_deeply [@$f{qw(lineno colno function context_line)}],
        [5, 13, 'Cart.total', "      throw new Error('empty cart');"],
        'the line that throws is named' or diag $r->{body};
}
is $t->stop_symbolicated, 0, 'symbolicated stops';
$t->stop_nginx;
is $t->stop_symcached, 0, 'symcached stops';

$t->finish;
done_testing;
