#!/usr/bin/perl

# Every example that a reader may copy is one that its program accepts:
# conf-examples/, and the configurations in README.md and docs/.

use strict;
use warnings;

use File::Basename qw(basename);
use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $top = $Test::Symcache::top;
my $dir = $t->dir;
my $n = 0;

# What differs on this machine: paths and ports, which are not the example's
# point.
sub local_nginx {
    my ($text) = @_;
    $text =~ s{modules/ngx_symcache_module\.so}
              {$Test::Symcache::build/ngx_symcache_module.so};
    $text =~ s{listen\s+[^;]+;}{'listen unix:' . $dir . '/l' . ++$n . ';'}ge;
    $text =~ s{/var/(?:log|cache)/\w+}{$dir}g;
    $text =~ s{/srv/uploads}{$dir}g;
    # its module comes from elsewhere; t/system/kerberos.t has all of this file
    $text =~ s/^\s*(?:load_module \S*spnego\S*|auth_gss\w*\s[^;]*);\n//mg;
    $text =~ s{/etc/nginx/(\w+\.(?:crt|key))}{$dir/tls.pem}g;
    return "pid $dir/example.pid;\nerror_log $dir/error.log;\n" . $text;
}

sub nginx_ok {
    my ($name, $text) = @_;
    my $temp = join ' ', map { "${_}_temp_path $dir/t.$_;" }
        qw(client_body proxy fastcgi uwsgi scgi);
    $text =~ s/^(\s*http \{)/$1 $temp access_log off;/m
        or return fail("$name: no http block");
    my $file = $t->write_file('example.conf', local_nginx($text));
    my %env = $t->sanitizer_env(1);
    my $env = join ' ', map { "$_='$env{$_}'" } sort keys %env;
    my $out = qx(env $env $Test::Symcache::nginx -t -p $dir -c $file 2>&1);
    is $? >> 8, 0, "nginx accepts $name" or diag $out;
}

sub symcached_ok {
    my ($name, $text) = @_;
    local @ENV{qw(AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
                  AZURE_STORAGE_SAS_TOKEN GIT_TOKEN SENTRY_TOKEN)} =
        qw(id key sig=token token token);
    $text =~ s{("private_key":\s*)"\@/[^"]*"}{$1"\@$dir/line.key"}g;
    $text =~ s{("tokens":\s*)"\@/[^"]*"}{$1"\@$dir/tokens"}g;
    $text =~ s{"\@(?!\Q$dir\E)/[^"]*"}{"\@$dir/secret"}g;
    $t->write_file('tokens', 'c2VjcmV0' x 4 . " upload ci\@example.com\n");
    # base64, as a key of Azure is, and as long as a MAC wants it
    $t->write_file('secret', 'c2VjcmV0' x 4 . "\n");
    my $file = $t->write_file('example.json', $text);
    my $out = qx($Test::Symcache::build/symcached -t -c $file 2>&1);
    is $? >> 8, 0, "symcached accepts $name" or diag $out;
}

system('openssl req -x509 -newkey rsa:2048 -nodes '
    . "-subj /CN=localhost -keyout $dir/tls.key -out $dir/tls.crt "
    . ">$dir/openssl.out 2>&1 && cat $dir/tls.key $dir/tls.crt >$dir/tls.pem")
    == 0 or die $t->read_file('openssl.out');
$t->write_file('line.key', $t->read_file("$dir/tls.key") =~ s/\n/\\n/gr);

for my $file (glob "$top/conf-examples/*.conf") {
    my $text = $t->read_file($file);
    for my $word (qw(needs gives), 'try it') {
        like $text, qr/^# $word:/m, basename($file) . " says: $word";
    }
    $text = "server {\nlisten 80;\n$text\n}\n"
        unless $text =~ /^server \{/m;
    # beside what nginx.conf of Debian has in http
    nginx_ok(basename($file),
        "load_module modules/ngx_symcache_module.so;\nevents { }\nhttp {\n"
        . 'sendfile on; tcp_nopush on; types_hash_max_size 2048; gzip on; '
        . 'default_type application/octet-stream; ssl_protocols TLSv1.2; '
        . "ssl_prefer_server_ciphers on;\n$text\n}\n");
}
symcached_ok(basename($_), $t->read_file($_))
    for grep { !/grafana/ } glob "$top/conf-examples/*.json";

# The metrics that alerts and dashboard name are documented ones; t/docs.t says
# that those are what the programs have.
my $documented = join '', map { $t->read_file("$top/docs/$_.md") }
    qw(directives metrics);
for my $file (qw(alerts.yml grafana-dashboard.json)) {
    my %metric = map { $_ => 1 } $t->read_file("$top/conf-examples/$file")
        =~ /\b(symb?(?:cached?|olicated)_\w+)/g;
    cmp_ok keys %metric, '>', 5, "$file names metrics";
    # of a histogram the name is documented, without what its series add
    is_deeply [grep { my $name = s/_(?:bucket|sum|count)\z//r;
                      $documented !~ /`(?:\Q$_\E|\Q$name\E)[`{]/ }
               sort keys %metric], [], "$file: each is there";
}

my @documents = ("$top/README.md", "$top/conf-examples/README.md",
    glob "$top/docs/*.md");
my %found;
for my $file (@documents) {
    my $document = $t->read_file($file);
    my $name = $file =~ s{^\Q$top/}{}r;
    for my $json ($document =~ /```jsonc\n(.*?)```/gs) {
        my ($first) = $json =~ /(\S.*)/;
        my $store = '"S": {"root": "/srv/store"';
        $found{"json $name"} = 1 if $json =~ /"stores"/;
        $json = qq({"stores": {$store, "transcoders": [$json]}}})
            if $json =~ /^\{ "version"/;
        $json = qq({"stores": {$store}}, $json})
            if $json =~ /^"(?:symbolication|tiers)"/;
        $json = qq({"stores": {$store}}, "sources": {$json}})
            if $json =~ /^"/;
        symcached_ok("$name: $first", $json);
    }
    for my $text ($document =~ /```nginx\n(.*?)```/gs) {
        my ($first) = $text =~ /(\S.*)/;
        $found{"nginx $name"} = 1;
        $text = "http {\n$text\n}\n" if $text !~ /^http \{/m
            && $text =~ /^(?:server|upstream|log_format|symcache_zone)\b/m
            && $text !~ /^location/m;
        $text = "http {\nserver {\nlisten 80;\n$text\n}\n}\n"
            unless $text =~ /^http \{/m;
        # what loads the module is a whole file, and must work as it stands
        $text = "load_module modules/ngx_symcache_module.so;\nevents { }\n"
            . $text unless $text =~ /load_module/;
        nginx_ok("$name: $first", $text);
    }
}
ok $found{'json README.md'} && $found{'nginx README.md'},
    'README has the two smallest configurations';

$t->finish;
done_testing;
