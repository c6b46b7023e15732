#!/usr/bin/env perl

# What a configuration may not say, and where the error says that it stands.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Configuration qw(refused);
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $program = $t->program('symcached');

# whether this machine has it is not asked here
chmod 0755, $t->write_file('path/bwrap', "#!/bin/sh\n");
$ENV{PATH} = $t->path('path') . ":$ENV{PATH}";

# (exit code, output) of symcached -t
sub check {
    my ($text) = @_;
    my $file = $t->write_file('c.json', $text);
    my %env = $t->sanitizer_env(0);
    local @ENV{keys %env} = values %env;
    my $out = qx($program -t -c $file 2>&1);
    my $code = $? >> 8;
    $out =~ s/\Q$file\E/FILE/g;

    # who is not root may not write to the folders that these files name
    if ($> != 0 && (my $denied = $out =~
            s/^symcached: warning: \S+: ".+" cannot be written to: .+: Permission denied\n//mg)) {
        $out =~ s/ has no error, and (\d+) warnings?$/$1 == $denied ? ' is good'
            : ' has no error, and ' . ($1 - $denied) . ' warning' . 's' x ($1 - $denied > 1)/me;
    }

    our @makes = $out =~ /^symcached: (store .* makes .*)$/mg;
    $out =~ s/^symcached: store .* makes .*\n//mg;
    return ($code, $out);
}

# One store and one source, with a piece of text in the place of a marker.
sub text {
    my (%o) = @_;
    my %p = (top => '"listen": "unix:' . $t->path('s') . '",', store => '', source => '', limits => '', cache => '',
        transcoder => '"version": "9.0.0", "command": ["sh", "{pdb}"], '
            . '"profile": "none"',
        root => '"root": "/s",', sources => '["local"]',
        type => '"type": "http", "url": "http://h/s"', %o);
    return <<"JSON";
{
  // line 2
  $p{top}
  "stores": {
    "default": {
      $p{root}
      /* line 7
         line 8 */
      "transcoders": [{ $p{transcoder} }],
      $p{store}
      "sources": $p{sources}
    }
  },
  "sources": { "local": {
    $p{source}
    $p{type}
  } },
  "limits": { $p{limits} },
  "cache": { $p{cache} }
}
JSON
}

my ($code, $out) = check(text());
is $code, 0, 'a good file';
is $out, "symcached: configuration FILE is good\n", 'says so';
is_deeply [our @makes], ['store default makes symcache 9.0.0 of pdb'],
    'and what the store makes';
check(text(transcoder => '"version": "9.0.0", "command": ["pdb2symcache", '
    . '"{pdb}"]'));
is_deeply [@makes], ['store default makes symcache 9.0.0 of pdb, symbfile; '
    . 'ppdbcache 1.0.0 of portablepdb; '
    . 'cficache 1.0.0 of pdb, breakpad, pe, elf, macho; '
    . 'jscache 2.0.0 of any; '
    . 'sourcecache 1.0.0 of pdb, portablepdb, sourcebundle; '
    . 'breakpad 1.0.0 of pdb, pe, elf, macho; '
    . 'proguardcache 1.0.0 of proguard; '
    . 'codecache 1.0.0 of pe, elf, macho'],
    'our converter makes every kind that it writes';

# line, key, reason, what stands where
my @bad = (
    [3, 'lisen', 'unknown key', top => '"lisen": "unix:/x",'],
    [3, 'source', 'unknown key; "sources" may be meant', top => '"source": {},'],
    [3, 'limit', 'unknown key; "limits" may be meant', top => '"limit": {},'],
    [3, 'listens', 'unknown key; "listen" may be meant', top => '"listens": "unix:/x",'],
    [3, 'listen', 'must be a string', top => '"listen": 5,'],
    [3, 'listen', 'must be unix:/absolute/path', top => '"listen": "unix:x",'],
    map({ [3, 'listen', 'must be unix:/path or address:port',
        top => qq("listen": "$_",)] } 'localhost', '127.0.0.1', '::1', '[::1]'),
    [3, 'admin_listen', 'must be unix:/path: who may connect',
        top => '"admin_listen": "127.0.0.1:1",'],
    [3, 'admin_listen', 'must be unix:/absolute/path',
        top => '"admin_listen": "unix:x",'],
    [3, 'admin_listen', 'must be another socket than "listen"',
        top => '"admin_listen": "unix:/run/symcached/symcached.sock",'],
    [3, 'listen_token', 'has characters other than letters',
        top => '"listen_token": "two words",'],
    [3, 'listen_token', 'must not be empty', top => '"listen_token": "",'],
    [3, 'listen', 'is longer than a socket path',
        top => '"listen": "unix:/' . 'x' x 108 . '",'],
    [3, 'downloads', 'must be an absolute path', top => '"downloads": "d",'],
    [3, 'downloads', 'must not be empty', top => '"downloads": "",'],
    [3, 'downloads', 'has ".." as a part', top => '"downloads": "/d/../s",'],
    (map { [3, "symbolication.symbolicator$_->[0]", $_->[1], top =>
                qq("symbolication": {"symbolicator": {$_->[2]}},)] }
        ['', '"sources" is "allow", so "root" of "tenants" is needed',
            '"sources": "allow"'],
        ['', '"root" of "tenants" is needed',
            '"sources": "allow", "tenants": {"hosts": ["h:1"]}'],
        ['.tenants.root', 'overlaps the root of store "default"',
            '"tenants": {"root": "/s/t"}'],
        ['.tenants.root', 'is longer than 64 bytes',
            '"tenants": {"root": "/' . 'x' x 64 . '"}'],
        (map { ['.tenants.hosts[0]', 'must be a host and its port',
            qq("tenants": {"root": "/t", "hosts": ["$_"]})] }
            qw(h :80 h: h:0 h:+80 h:65536 h:80x http:80/ ::1:80))),
    [3, 'symbolication.symbolicator.tenants.root',
        'overlaps the root of "uploads"',
        top => '"uploads": {"root": "/u"}, "symbolication": '
            . '{"symbolicator": {"tenants": {"root": "/u/t"}}},'],
    (map { [5, 'stores.default', 'overlaps "downloads"',
        top => qq("downloads": "$_",)] } '/s/d', '//s', '/./s/', '/s/.', '//', '/.'),
    [5, 'stores.default', '"root" is missing', root => ''],
    [3, 'uploads', 'makes the source "uploads", and', top => '"uploads": {"root": "/u"},',
        type => '"type": "http", "url": "http://h/s" }, "uploads": { '
            . '"type": "filesystem", "path": "/x"'],
    [3, 'uploads.keep[0].branch', 'must be a pattern',
        top => '"uploads": {"root": "/u", "keep": [{"branch": "["}]},'],
    [3, 'uploads.keep[1].builds', 'must be',
        top => '"uploads": {"root": "/u", "keep": [{}, {"builds": 0}]},'],
    [3, 'uploads.keep', 'must be a list such as',
        top => '"uploads": {"root": "/u", "keep": {}},'],
    [10, 'stores.default.root', 'repeated key', store => '"root": "/t",'],
    [10, 'stores.default.gzip', 'must be true or false',
        store => '"gzip": "yes",'],
    [9, 'stores.default.transcoders[0]', '"command" is missing',
        transcoder => '"version": "9.0.0"'],
    [9, 'stores.default.transcoders[0].version', 'is not a version',
        transcoder => '"version": "9.0", "command": ["x", "{pdb}"]'],
    [9, 'stores.default.transcoders[0].command', 'has no {pdb}',
        transcoder => '"version": "9.0.0", "command": ["x"]'],
    [9, 'stores.default.transcoders[0].command[1]', 'must be a string',
        transcoder => '"version": "9.0.0", "command": ["x", 1]'],
    (map { [9, "stores.default.transcoders[0].$_->[0]", $_->[1], transcoder =>
                '"version": "9.0.0", "command": ["x", "{pdb}"],' . $_->[2]] }
        ['env', 'must be an object of strings', '"env": ["A=b"]'],
        ['env.A', 'must be a string', '"env": {"A": 1}'],
        ['env.A', 'repeated key', '"env": {"A": "1", "A": "2"}'],
        ['env.1A', 'is not the name of a variable', '"env": {"1A": "x"}'],
        ['env.A=B', 'is not the name of a variable', '"env": {"A=B": "x"}'],
        ['env._NT_SYMBOL_PATH', 'is set by symcached for each run',
            '"env": {"_NT_SYMBOL_PATH": "x"}'],
        ['env.A', '$SYMCACHE_T_UNSET is not set',
            '"env": {"A": "$SYMCACHE_T_UNSET"}'],
        ['input_name', 'must be "original" or "fixed"',
            '"input_name": "in.pdb"'],
        ['inputs', 'must be a list of formats', '"inputs": []'],
        ['inputs[0]', 'must be "pdb", "breakpad", "pe", "elf", "macho", '
            . '"portablepdb", "wasm", "symbfile", "sourcebundle" or "proguard"', '"inputs": ["exe"]'],
        ['inputs[1]', 'named twice', '"inputs": ["pdb", "pdb"]'],
        ['makes', 'must be "symcache"', '"makes": "sym"'],
        ['profile', 'must be "strict", "wine" or "none"',
            '"profile": "wime"'],
        ['read', 'must be a list of at most 32 paths', '"read": "/opt"'],
        ['read[1]', 'must be an absolute path', '"read": ["/opt", "x"]'],
        ['parallel', 'must be 1 to 1000', '"parallel": 0'],
        ['time', 'must be 1 to', '"time": "0s"'],
        ['memory', 'must be', '"memory": "1m"'],
        ['disk', 'must be', '"disk": "1k"']),
    (map { [9, 'stores.default.transcoders[0]', '"network", "read" and "user" '
                . 'are for the profiles "strict" and "wine"',
            transcoder => '"version": "9.0.0", "profile": "none", '
                . "\"command\": [\"x\", \"{pdb}\"], $_"] }
        '"network": true', '"read": ["/opt"]', '"user": "wine"'),
    [9, 'stores.default.transcoders[0]', 'are for the profiles',
        transcoder => '"version": "9.0.0", "network": true, '
            . '"command": ["/x/pdb2symcache", "{pdb}"]'],
    [9, 'stores.default.transcoders[1]',
        'a second transcoder for major version 9 and input "pdb"',
        transcoder => '"version": "9.0.0", "command": ["x", "{pdb}"] },'
            . '{ "version": "9.1.0", "command": ["x", "{pdb}"]'],
    [9, 'stores.default.transcoders[1]',
        'a second transcoder for major version 9 and input "breakpad"',
        transcoder => '"version": "9.0.0", "command": ["x", "{pdb}"],'
            . '"inputs": ["breakpad"] }, { "version": "9.0.0", "command": '
            . '["x", "{pdb}"], "inputs": ["pdb", "breakpad"]'],
    [11, 'stores.default.sources[0]', 'no source "remote"',
        sources => '["remote"]'],
    [11, 'stores.default.sources[1]', 'named twice',
        sources => '["local", "local"]'],
    [16, 'sources.local.type', 'must be "filesystem", "http", "s3"',
        type => '"type": "ftp"'],
    [14, 'sources.local', '"url" is missing', type => '"type": "http"'],
    [14, 'sources.local', '"path" is missing',
        type => '"type": "filesystem"'],
    [15, 'sources.local.path', 'is not for this type',
        source => '"path": "/x",'],
    [16, 'sources.local.url', 'must begin with http',
        type => '"type": "http", "url": "ftp://h"'],
    [16, 'sources.local.url', 'has a user name',
        type => '"type": "http", "url": "http://u:p@h/"'],
    [16, 'sources.local.url', 'has a query',
        type => '"type": "http", "url": "http://h/?a=b"'],
    [15, 'sources.local.only', 'missing closing parenthesis',
        source => '"only": "^(nt",'],
    [15, 'sources.local.only', 'must be a string', source => '"only": 5,'],
    [15, 'sources.local.only', 'is an empty list', source => '"only": [],'],
    [15, 'sources.local.only[1]', 'must not be empty',
        source => '"only": ["a", ""],'],
    [15, 'sources.local.except[0]', 'missing terminating ]',
        source => '"except": ["[a", "b"],'],
    [15, 'sources.local.forms', 'must be a list', source => '"forms": [],'],
    [15, 'sources.local.forms[0]', 'must be "plain", "packed" or "pointer"',
        source => '"forms": ["cab"],'],
    [15, 'sources.local.forms[1]', 'named twice',
        source => '"forms": ["plain", "plain"],'],
    [15, 'sources.local.forms', 'the layout has no form "pointer"',
        source => '"forms": ["plain", "pointer"], "layout": "flat",'],
    [15, 'sources.local.casing', 'must be "default", "lower", "upper", "lowercase" or "upper',
        source => '"casing": "camel",'],
    [15, 'sources.local.layout', 'must be "symstore"',
        source => '"layout": "heap",'],
    [15, 'sources.local.headers.X-A', '$SYMCACHE_T_UNSET is not set',
        source => '"headers": {"X-A": "Bearer $SYMCACHE_T_UNSET"},'],
    [15, 'sources.local.headers.X A', 'is not a header name',
        source => '"headers": {"X A": "b"},'],
    [15, 'sources.local.headers.X-A', 'has a control character',
        source => '"headers": {"X-A": "a\r\nB: c"},'],
    [15, 'sources.local.headers.x-a', 'repeated key',
        source => '"headers": {"X-A": "a", "x-a": "b"},'],
    [15, 'sources.local.headers.X-A', 'cannot be read: No such file',
        source => '"headers": {"X-A": "@/nowhere/token"},'],
    [15, 'sources.local.headers.X-A', 'first line of "/dev/null" is empty',
        source => '"headers": {"X-A": "@/dev/null"},'],
    [15, 'sources.local.headers.X-A', 'first line of "/dev/zero" is too long',
        source => '"headers": {"X-A": "@/dev/zero"},'],
    [15, 'sources.local.headers.X-A', 'needs a variable name',
        source => '"headers": {"X-A": "${X"},'],
    [15, 'sources.local.auth', '"type" is missing',
        source => '"auth": {"user": "u"},'],
    [15, 'sources.local.auth.type', 'must be "basic", "bearer" or',
        source => '"auth": {"type": "digest"},'],
    [15, 'sources.local.auth', '"password" is missing',
        source => '"auth": {"type": "basic", "user": "u"},'],
    [15, 'sources.local.auth', '"user" has a colon', source =>
        '"auth": {"type": "basic", "user": "u:v", "password": "p"},'],
    [15, 'sources.local.auth', '"token" is missing',
        source => '"auth": {"type": "bearer"},'],
    [15, 'sources.local.auth', '"token" is for "bearer"',
        source => '"auth": {"type": "negotiate", "token": "t"},'],
    [15, 'sources.local.auth', '"user" and "password" are for "basic"',
        source => '"auth": {"type": "negotiate", "user": "u"},'],
    [14, 'sources.local', 'has "auth" and an "Authorization" header',
        source => '"auth": {"type": "bearer", "token": "t"},'
            . '"headers": {"authorization": "x"},'],
    [15, 'sources.local.auth', 'is not for this type',
        type => '"type": "filesystem", "path": "/x"',
        source => '"auth": {"type": "negotiate"},'],
    [15, 'sources.local.tls.ca', 'cannot be read: No such file',
        source => '"tls": {"ca": "/nowhere/ca.pem"},'],
    [15, 'sources.local.tls', '"certificate" is missing',
        source => '"tls": {"key": "/dev/null"},'],
    [15, 'sources.local.proxy', 'must be http://',
        source => '"proxy": "ftp://secret@h:1",'],
    [15, 'sources.local.proxy', 'must be http://',
        source => '"proxy": "http://u:secret@h:port",'],
    [15, 'sources.local.http_version', 'must be "1.1" or "2"',
        source => '"http_version": "3",'],
    [15, 'sources.local.user_agent', 'must not be empty',
        source => '"user_agent": "",'],
    [15, 'sources.local.internal', 'must be true or false',
        source => '"internal": "yes",'],
    [15, 'sources.local.map.x', 'must be a Windows location',
        source => '"map": {"x": "/y"},'],
    [18, 'limits.downloads', 'must be 1 to 1000', limits => '"downloads": 0'],
    [18, 'limits.downloads', 'must be 1 to 1000',
        limits => '"downloads": 1.5'],
    [18, 'limits.downloads', 'must be a number from 1 to 1000', limits => '"downloads": "2"'],
    [14, 'sources.local', '"url" is not a URL',
        type => '"type": "http", "url": "http://h:99999"'],
    [18, 'limits.breaker_pause', 'must be 1 to 86400 s',
        limits => '"breaker_pause": "0s"'],
    [18, 'limits.downloads_per_host', 'must be 1 to 1000',
        limits => '"downloads_per_host": 0'],
    [18, 'limits.attempts', 'must be 1 to 10', limits => '"attempts": 0'],
    [18, 'limits.stall_time', 'must be 1 to 3600 s',
        limits => '"stall_time": "0s"'],
    [18, 'limits.connect_time', 'is too long',
        limits => '"connect_time": "1d"'],
    [18, 'limits.connect_time', 'is not a duration',
        limits => '"connect_time": "500ms"'],
    [18, 'limits.download_time', 'is not a duration',
        limits => '"download_time": "5"'],
    [18, 'limits.download_time', 'must be a string such as "1h30m"',
        limits => '"download_time": 5'],
    [18, 'limits.download_size', 'must be a string such as "200g"',
        limits => '"download_size": 15000000000'],
    [19, 'cache.min_free', 'must be a string such as "5%" or "200g"',
        cache => '"min_free": 5'],
    [3, 'listen', 'must be a string such as "unix:/run/symcached/symcached.so',
        top => '"listen": 8127,'],
    [3, 'downloads', 'must be a string such as "/srv/symbols"',
        top => '"downloads": null,'],
    [9, 'stores.default.transcoders[0].version', 'must be a string such as "3',
        transcoder => '"version": 9, "command": ["sh", "{pdb}"]'],
    [9, 'stores.default.transcoders[0].command', 'must be an array of strings '
        . 'such as ["pdb2symcache", "-pdb", "{pdb}"]',
        transcoder => '"version": "9.0.0", "command": "pdb2symcache"'],
    [11, 'stores.default.sources', 'must be an array of source names such as [',
        sources => '"local"'],
    [15, 'sources.local.layout', 'must be "symstore", ',
        source => '"layout": true,'],
    [15, 'sources.local.proxy', 'must be a string such as "http://proxy',
        source => '"proxy": 8080,'],
    [15, 'sources.local.headers.A', 'must be a string such as "$TOKEN" or "@/',
        source => '"headers": {"A": 1},'],
    [15, 'sources.local.http_version', 'must be "1.1" or "2"',
        source => '"http_version": 1.1,'],
    [16, 'sources.local.type', 'must be a string such as "http"',
        type => '"type": 1'],
    [16, 'sources.local.url', 'must be a string such as "https://',
        type => '"type": "http", "url": ["http://h"]'],
    [16, 'sources.local.value', 'must be a string such as "srv*https://',
        type => '"type": "sympath", "value": {}'],
    [18, 'limits.download_size', 'is not a size',
        limits => '"download_size": "15gb"'],
    [19, 'cache.retry_misses_after', 'is not a duration',
        cache => '"retry_misses_after": "1m1h"'],
    [19, 'cache.retry_misses_after', 'is too long',
        cache => '"retry_misses_after": "999999999999w"'],
    [19, 'cache.min_free', 'must be "0%" to "99%"',
        cache => '"min_free": "100%"'],
    # 5 beyond 32 bits
    [19, 'cache.min_free', 'must be "0%" to "99%"',
        cache => '"min_free": "4294967301%"'],
    [19, 'cache.max_size', 'must be', cache => '"max_size": "99999999999t"'],
);

$t->allow_log(qr/the old configuration stays/);
$t->start_symcached({ stores => { default => { root => $t->path('store') } } });
for (@bad) {
    my ($line, $key, $reason, @text) = @$_;
    refused($t, text(@text), qr/FILE:$line: \Q$key\E: .*\Q$reason\E/,
        $text[1]);
}
$t->stop_symcached;

for (['{', qr/^symcached: FILE:1: not valid JSON/],
     ["{\n\n\"a\" 1}", qr/^symcached: FILE:3: not valid JSON/],
     ["{}\nx", qr/^symcached: FILE:2: not valid JSON near column 1$/],
     ["{\"a\": 1,\n}\n", qr/^symcached: FILE:1: not valid JSON near column 8: a comma before \}$/],
     ["{\"a\": [1, // c\n]}\n", qr/^symcached: FILE:1: not valid JSON near column 9: a comma before \]$/],
     ["{\"a\": 1, }", qr/^symcached: FILE:1: not valid JSON near column 8: a comma before \}$/],
     ["{\"a\": ,}", qr/near column 7$/],
     ["{\"listen_token\": hunter2secret}", qr/^symcached: FILE:1: not valid JSON near column 18$/],
     ["", qr/^symcached: FILE: is empty$/],
     ["// a\n", qr/^symcached: FILE: is empty$/],
     ["{ /* }", qr/^symcached: FILE:1: not valid JSON/],
     ["[]", qr/^symcached: FILE:1: must be an object/],
     ["{}", qr/^symcached: FILE:1: "stores" is missing/],
     ["{\n\"stores\": {}}", qr/^symcached: FILE:2: stores: must be an object/],
     ["{\"\\\\u0000\":\n\"/\\u0000x\"}", qr/^symcached: FILE:2: a string has a NUL \(\\u0000\)$/],
     ["{\0}", qr/^symcached: FILE: has a NUL byte/]) {
    my ($text, $re) = @$_;
    ($code, $out) = check($text);
    is $code, 1, 'exit code of what is no configuration';
    like $out, $re, 'and its error';
}

# what may be meant

my $source = '"sources": {"a": {"type": "filesystem", "path": "/"}, '
    . '"b": {"type": "symcache", "url": "http://h"}, '
    . '"web": {"type": "web"}, '
    . '"ids": {"type": "filesystem", "path": "/", "layout": "debuginfod"}, '
    . '"sym": {"type": "filesystem", "path": "/", "layout": "breakpad"}}';
my $transcoder = '[{"version": "9.0.0", "command": ["sh", "{pdb}"], '
    . '"profile": "none"}]';
for (['no source', ''],
     ['no source', ", \"transcoders\": $transcoder"],
     ['no source', ", \"sources\": [], \"transcoders\": $transcoder"],
     # serves originals
     [undef, ', "sources": ["a"]'],
     [undef, ', "sources": ["a", "sym"], "transcoders": []'],
     ['no transcoder that takes what its sources have',
      ", \"sources\": [\"sym\"], \"transcoders\": $transcoder"],
     [undef, ', "sources": ["b"]'],
     # makes JsCaches of scripts
     [undef, ', "sources": ["web"], "transcoders": '
      . '[{"version": "9.0.0", "command": ["pdb2symcache", "-pdb", "{pdb}"]}]'],
     [undef, ', "sources": ["a", "web"], "transcoders": [{"version": "9.0.0", '
      . '"command": ["pdb2symcache", "-pdb", "{pdb}"], "inputs": ["pdb", "elf"]}]'],
     ['no transcoder that takes what its sources have',
      ", \"sources\": [\"web\"], \"transcoders\": $transcoder"],
     [undef, ', "sources": ["sym"], "transcoders": '
      . ($transcoder =~ s/\}\]$/, "inputs": ["breakpad"]}]/r)],
     [undef, ", \"sources\": [\"a\"], \"transcoders\": $transcoder"]) {
    my ($reason, $store) = @$_;
    ($code, $out) =
        check('{"listen": "127.0.0.1:1", "listen_token": "t", "stores": '
            . "{\"s\": {\"root\": \"/s\"$store}}, $source}");
    is $code, 0, 'no error: root' . $store;
    is $out, (defined $reason ? 'symcached: warning: store "s" can make '
        . "nothing: it has $reason\n"
        . "symcached: configuration FILE has no error, and 1 warning\n"
        : "symcached: configuration FILE is good\n"), 'a warning, or none';
}

for (['sym', 'breakpad" or "elf', "\"a\", \"sym\"], \"transcoders\": $transcoder"],
     # and source files, which no transcoder can be told to take
     ['ids', 'elf" or "macho', "\"a\", \"ids\"], \"transcoders\": $transcoder"],
     ['a', join('" or "', qw(pdb pe elf macho portablepdb wasm sourcebundle)),
      '"a", "b"]']) {
    my ($name, $format, $store) = @$_;
    ($code, $out) = check('{"listen": "127.0.0.1:1", "listen_token": "t", "stores": {"s": '
        . "{\"root\": \"/s\", \"sources\": [$store}}, $source}");
    is $code, 0, "no error: nothing takes what $name has, beside another";
    is $out, "symcached: warning: store \"s\" makes nothing of what source "
        . "\"$name\" has: no transcoder of it has \"$format\" in its \"inputs\"\n"
        . "symcached: configuration FILE has no error, and 1 warning\n",
        'but a warning';
}

($code, $out) = check('{"listen": "127.0.0.1:1", "listen_token": "t", '
    . '"uploads": {"root": "/nowhere", "listen": "unix:/tmp/u"}, "stores": {"s": {"root": "/s", '
    . "\"sources\": [\"uploads\", \"uploads-try\"], \"transcoders\": "
    . "$transcoder}}}");
is $out, "symcached: configuration FILE is good\n",
    'no warning of folders that are made, and of the two halves of uploads';
($code, $out) = check('{"listen": "127.0.0.1:1", "listen_token": "t", "uploads": {"root": "/nowhere"}, '
    . "\"stores\": {\"s\": {\"root\": \"/s\", \"sources\": [\"a\"], \"transcoders\": $transcoder}}, $source}");
is $out, "symcached: warning: uploads: without \"listen\" nginx has no socket to send them to\n"
    . 'symcached: warning: uploads: no store has "uploads" in its "sources", so nothing is made of them'
    . "\nsymcached: configuration FILE has no error, and 2 warnings\n",
    'warnings of uploads that do not come and are of no use';

for (['"1g"', 1], ['"1g", "max_size": "1g"', 1], ['"1g", "max_size": "0"', 1], ['"1g", "max_size": "900m"', 0], ['"0"', 0]) {
    my ($size, $is_warned) = @$_;
    ($code, $out) = check('{"listen": "127.0.0.1:1", "listen_token": "t", '
        . "\"cache\": {\"total_size\": $size}, \"stores\": {\"s\": {\"root\": \"/s\", "
        . "\"sources\": [\"a\"], \"transcoders\": $transcoder}}, $source}");
    is $out, $is_warned
        ? 'symcached: warning: cache.max_size is not below cache.total_size: cleaning removes too little, '
        . "and new files are refused\nsymcached: configuration FILE has no error, and 1 warning\n"
        : "symcached: configuration FILE is good\n", "total_size of $size";
}

for (['"1024t"', 1], ['"1k"', 0], ['"99%"', 0]) {
    my ($size, $is_warned) = @$_;
    my $root = $t->dir;
    ($code, $out) = check('{"listen": "127.0.0.1:1", "listen_token": "t", '
        . "\"cache\": {\"min_free\": $size}, \"downloads\": \"/nowhere/d\", \"stores\": {\"s\": {\"root\": \"$root\", "
        . "\"sources\": [\"a\"], \"transcoders\": $transcoder}}, $source}");
    is $out, $is_warned
        ? 'symcached: warning: cache.min_free is more than the file system of stores.s.root has, '
        . "\"$root\": all new files are refused there\nsymcached: configuration FILE has no error, and 1 warning\n"
        : "symcached: configuration FILE is good\n", "min_free of $size";
}

my $tokens = $t->write_file('tokens', "# none yet\n");
($code, $out) = check('{"listen": "127.0.0.1:1", "listen_token": "t", "uploads": '
    . "{\"root\": \"/nowhere\", \"listen\": \"unix:/tmp/u\", \"tokens\": \"\@$tokens\"}, "
    . "\"stores\": {\"s\": {\"root\": \"/s\", \"sources\": [\"uploads\"], \"transcoders\": $transcoder}}}");
is $out, "symcached: warning: uploads.tokens: the file has no token: every upload is refused\n"
    . "symcached: configuration FILE has no error, and 1 warning\n", 'a warning of a file without tokens';

my $dir = $t->dir;
my $blocked = $t->path('in-the-way');
$t->write_file('in-the-way', '');
($code, $out) = check('{"listen": "127.0.0.1:1", "listen_token": "t", "stores": {"s": '
    . "{\"root\": \"$blocked/s\", \"sources\": [\"b\"]}}, $source}");
is $code, 0, 'no error: a root that cannot be made';
is $out, "symcached: warning: stores.s.root: \"$blocked/s\" cannot be written to: "
    . "$blocked/s: Not a directory\n"
    . "symcached: configuration FILE has no error, and 1 warning\n", 'but a warning';
for (['nowhere', "symcached: warning: tiers.f.path: \"$dir/nowhere\": No such file "
        . "or directory; symcached does not make it, and goes on without the tier\n"
        . "symcached: configuration FILE has no error, and 1 warning\n"],
     ['', "symcached: configuration FILE is good\n"]) {
    my ($path, $text) = @$_;
    ($code, $out) = check('{"listen": "127.0.0.1:1", "listen_token": "t", '
        . '"stores": {"s": {"root": "/s", "sources": ["b"], "tier": "f"}}, '
        . "\"tiers\": {\"f\": {\"type\": \"filesystem\", \"path\": \"$dir/$path\"}}, "
        . "$source}");
    is $code, 0, 'no error: a tier\'s folder';
    is $out, $text, "a warning if it is not there: \"$path\"";
}

$t->write_file('bin/mode', '');
my $refused = 'a private or loopback address is not asked without "internal": '
    . 'true; lookups there fail';
for (['stores.default.transcoders[0].command[0]', 'no transcoder: "nowhere-1" is '
        . 'neither in PATH nor beside symcached; version 9.0.0 is not made',
        transcoder => '"version": "9.0.0", "command": ["nowhere-1", "{pdb}"], '
            . '"profile": "none"'],
     ['stores.default.transcoders[1].command[0]', "no transcoder: \"$dir/none\": No "
        . 'such file or directory; version 3.1.0 is not made',
        transcoder => '"version": "9.0.0", "command": ["sh", "{pdb}"], '
        . '"profile": "none" }, { "version": "3.1.0", "profile": "none", '
        . "\"command\": [\"$dir/none\", \"{pdb}\"]"],
     ['stores.default.transcoders[0].command[0]', "no transcoder: \"$dir/bin/mode\""
        . ': Permission denied; version 9.0.0 is not made', transcoder =>
        "\"version\": \"9.0.0\", \"command\": [\"$dir/bin/mode\", \"{pdb}\"], "
        . '"profile": "none"'],
     ['stores.default.transcoders[0].command[0]', "no transcoder: \"$dir/bin\": "
        . 'Permission denied; version 9.0.0 is not made', transcoder =>
        "\"version\": \"9.0.0\", \"command\": [\"$dir/bin\", \"{pdb}\"], "
        . '"profile": "none"'],
     ['stores.default.transcoders[0].memory', 'Wine takes 1.7 GiB of address '
        . 'space before the program has any: at least "2g"',
        limits => '"transcode_memory": "1g"', transcoder =>
        '"version": "9.0.0", "command": ["sh", "{pdb}"], "profile": "wine"'],
     ['listen', "\"$dir/none/\": No such file or directory; symcached does not "
        . 'make the folder of its socket, and does not start without it',
        top => "\"listen\": \"unix:$dir/none/s.sock\","],
     ['listen', 'over TCP and without "listen_token" everybody who can connect '
        . 'may ask; only lookups are answered there',
        top => '"listen": "127.0.0.1:1",'],
     ['admin_listen', "\"$dir/none/\": No such file or directory; symcached "
        . 'does not make the folder of its socket, and does not start without '
        . 'it', top => "\"listen\": \"unix:$dir/s\", "
        . "\"admin_listen\": \"unix:$dir/none/s.sock\","],
     ['sources.local.path', "\"$dir/none\": No such file or directory; lookups "
        . 'there fail', type => "\"type\": \"filesystem\", \"path\": "
        . "\"$dir/none\""],
     ['sources.local.path', "\"$dir/bin/mode\": Not a directory; lookups there "
        . 'fail', type => "\"type\": \"filesystem\", \"path\": "
        . "\"$dir/bin/mode\""],
     ['sources.local.value', "\"$dir/none\": No such file or directory; lookups "
        . 'there fail', type => "\"type\": \"sympath\", \"value\": "
        . "\"srv*$dir/none\""],
     ['sources.local.value', $refused,
        type => '"type": "sympath", "value": "http://127.0.0.1/s"'],
     ['sources.local.endpoint', $refused, type => '"type": "s3", "bucket": "b",'
        . '"region": "r", "endpoint": "http://10.1.2.3:9000", '
        . '"path_style": true'],
     map { ['sources.local.url', $refused,
            type => "\"type\": \"http\", \"url\": \"$_\""] }
         qw(http://127.0.0.1:8080/s https://localhost http://sym.localhost/
            http://[::1]/s http://192.168.1.9/s)) {
    my ($key, $reason, @text) = @$_;
    ($code, $out) = check(text(@text));
    is $code, 0, "no error: $text[1]";
    is $out, "symcached: warning: $key: $reason\n"
        . "symcached: configuration FILE has no error, and 1 warning\n",
        'but a warning';
}
{
    local $ENV{PATH} = '/nonexistent';
    ($code, $out) = check(text(transcoder =>
        '"version": "9.0.0", "command": ["/bin/sh", "{pdb}"]'));
    is $code, 0, 'no error: no bubblewrap';
    like $out, qr/transcoders\[0\]\.profile: "strict" needs bubblewrap; .*it is not run\n/,
        'but a warning';
}
($code, $out) = check(text(transcoder =>
    '"version": "9.0.0", "command": ["/bin/sh", "{pdb}"], "user": "nobody-here"'));
like $out, qr/transcoders\[0\]\.user: there is no user "nobody-here"; symcached as root does not run it\n/,
    'a transcoder whose user is unknown';
($code, $out) = check(text(type => '"type": "sympath", "value": '
    . "\"$dir/none\""));
is join(' ', $out =~ m{"\Q$dir\E/(\S+)": No such file}g),
    'none none/pdb none/symbols/pdb none',
    'a plain folder of a path that is not there: what it may come to';
($code, $out) = check(text(source => '"internal": true,',
    type => '"type": "http", "url": "http://127.0.0.1:8080/s"'));
is $out, "symcached: configuration FILE is good\n", 'internal, and said so';

$t->start_symcached({ stores => { default => { root => $t->path('store'),
    transcoders => [{ version => '9.0.0', command => ['nowhere', '{pdb}'] }],
    sources => ['a'] } }, sources => { a => { type => 'http',
        url => 'http://127.0.0.1/s' } } });
for my $doubt ('stores.default.transcoders[0].command[0]: no transcoder: '
        . '"nowhere" is', "sources.a.url: $refused") {
    $t->wait_until("a warning: $doubt", sub {
        $t->helper_log =~ /\[warn\] \d+: \Q$doubt\E/;
    });
    pass "the log warns of it: $doubt";
}
$t->stop_symcached;

# what is right

$ENV{SYMCACHE_T_TOKEN} = 'x';
for ('"1h30m"', '"7d"', '"90s"', '"1w2d3h4m5s"') {
    ($code, $out) = check(text(cache => "\"max_unused_for\": $_"));
    is $code, 0, "$_ is a duration" or diag $out;
}
for ('"15g"', '"4096"', '"512K"', '"0"') {
    ($code, $out) = check(text(cache => "\"max_size\": $_"));
    is $code, 0, "$_ is a size" or diag $out;
}
for ('"only": "^(nt|win)",', '"internal": true,', '"layout": "symstore",',
     '"headers": {"A": "$SYMCACHE_T_TOKEN", "B": "${SYMCACHE_T_TOKEN}y",'
     . '"C": "cost: $$5"},',
     '"map": {"\\\\\\\\srv\\\\sym": "/srv/sym", "D:\\\\x": "/x"},',
     '"only": "a//b /* c",') {
    ($code, $out) = check(text(source => $_));
    is $code, 0, "good: $_" or diag $out;
}
($code, $out) = check("\xEF\xBB\xBF" . text());
is $code, 0, 'a byte order mark is no error' or diag $out;

# options

my %usage = ('-h' => 0, '-V' => 0, '-x' => 2, 'x' => 2);
for (sort keys %usage) {
    $out = qx($program $_ 2>&1);
    is $? >> 8, $usage{$_}, "exit code of $_";
}
$out = qx($program -t -c /nonexistent/x 2>&1);
is $? >> 8, 1, 'exit code of a file that is not there';
like $out, qr{^symcached: /nonexistent/x: No such file}, 'which is said';

$t->finish;
done_testing;
