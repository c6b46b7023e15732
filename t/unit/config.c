/*
 * Copyright (C) the ngx_symcache authors
 *
 * Defaults are those of docs/configuration.md; values arrive in the structs.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "config/config.h"
#include "symcached/source/sources.h"

static char file[] = "/tmp/symcache-config.XXXXXX";

static struct config *read_text(const char *text)
{
    struct config *config = NULL;
    char error[512] = "";
    FILE *f = fopen(file, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    if (config_read(file, source_types, &config, error, sizeof(error)) != 0) {
        fail_msg("%s", error);
    }
    return config;
}

static void defaults(void **state)
{
    struct config *c = read_text("{\"stores\":{\"a\":{\"root\":\"/a\"}}}");

    assert_string_equal(c->listen, "unix:/run/symcached/symcached.sock");
    assert_string_equal(c->downloads, "/var/cache/symcached/downloads");
    assert_int_equal(c->limits.downloads, 16);
    assert_int_equal(c->limits.transcodes, 2);
    assert_int_equal(c->limits.queue, 10000);
    assert_int_equal(c->limits.download_size, 15ULL << 30);
    assert_int_equal(c->limits.download_time, 300);
    assert_int_equal(c->limits.connect_time, 5);
    assert_int_equal(c->limits.first_byte_time, 30);
    assert_int_equal(c->limits.stall_time, 30);
    assert_int_equal(c->limits.attempts, 3);
    assert_int_equal(c->limits.downloads_per_host, 4);
    assert_int_equal(c->limits.breaker_failures, 20);
    assert_int_equal(c->limits.breaker_window, 60);
    assert_int_equal(c->limits.breaker_pause, 60);
    assert_int_equal(c->limits.look_ahead_after, 1);
    assert_int_equal(c->limits.transcode_time, 900);
    assert_int_equal(c->limits.transcode_memory, 8ULL << 30);
    assert_int_equal(c->cache.max_unused_for, 7 * 86400);
    assert_int_equal(c->cache.retry_misses_after, 3600);
    assert_int_equal(c->cache.retry_malformed_after, 86400);
    assert_int_equal(c->cache.retry_errors_after, 60);
    assert_int_equal(c->cache.downloads_max_unused_for, 86400);
    assert_int_equal(c->cache.clean_every, 900);
    assert_int_equal(c->cache.max_size, 200ULL << 30);
    assert_int_equal(c->cache.min_free, 0);
    assert_int_equal(c->cache.min_free_percent, 5);
    assert_int_equal(c->stores[0].ntranscoders, 0);
    assert_int_equal(c->stores[0].nsources, 0);
    config_unref(c);
}

static void values(void **state)
{
    struct config *c;
    const struct store_config *store;
    const struct source_config *source;

    setenv("SYMCACHE_T_TOKEN", "secret", 1);
    c = read_text(
        "{ // sources may stand behind the stores\n"
        "\"listen\": \"127.0.0.1:8080\", \"downloads\": \"/d//\",\n"
        "\"stores\": {\"one\": {\"root\": \"/r/\", \"sources\": "
        "[\"b\", \"a\"],\n"
        "  \"transcoders\": [{\"version\": \"3.1.2\",\n"
        "    \"command\": [\"x\", \"{pdb}\", \"{out}\"]}]},\n"
        "  \"two\": {\"root\": \"/rr\"}},\n"
        "\"sources\": {\"a\": {\"type\": \"filesystem\", \"path\": \"/p\",\n"
        "  \"map\": {\"\\\\\\\\s\\\\t\": \"/t\"}},\n"
        "  \"b\": {\"type\": \"http\", \"url\": \"https://h:1/s//\",\n"
        "  \"headers\": {\"A\": \"Bearer ${SYMCACHE_T_TOKEN}$$\"},\n"
        "  \"internal\": true}},\n"
        "\"limits\": {\"queue\": 5, \"download_time\": \"1h30m\",\n"
        "  \"download_size\": \"512K\"},\n"
        "\"cache\": {\"min_free\": \"3g\", \"max_size\": \"0\"}}");

    assert_string_equal(c->listen, "127.0.0.1:8080");
    assert_string_equal(c->downloads, "/d");
    assert_int_equal(c->limits.queue, 5);
    assert_int_equal(c->limits.download_time, 5400);
    assert_int_equal(c->limits.download_size, 512 * 1024);
    assert_int_equal(c->cache.min_free, 3ULL << 30);
    assert_int_equal(c->cache.min_free_percent, 0);
    assert_int_equal(c->cache.max_size, 0);

    store = config_store(c, "one", 3);
    assert_non_null(store);
    assert_string_equal(store->root, "/r");
    assert_int_equal(store->transcoders[0].version.major, 3);
    assert_int_equal(store->transcoders[0].version.patch, 2);
    assert_string_equal(store->transcoders[0].command[2], "{out}");
    assert_null(store->transcoders[0].command[3]);
    assert_int_equal(store->nsources, 2);

    source = store->sources[0];
    assert_string_equal(source->name, "b");
    assert_string_equal(source->type->name, "http");
    assert_string_equal(source->url, "https://h:1/s");
    assert_string_equal(source->transport.headers[0].name, "A");
    assert_string_equal(source->transport.headers[0].value, "Bearer secret$");
    assert_true(source->transport.internal);

    source = store->sources[1];
    assert_string_equal(source->path, "/p");
    assert_string_equal(source->map[0].from, "\\\\s\\t");
    assert_string_equal(source->map[0].to, "/t");
    assert_false(source->transport.internal);

    assert_null(config_store(c, "on", 2));
    assert_null(config_store(c, "ones", 4));
    config_unref(c);
}

/* keys: what stands in the source */
static bool serves(const char *keys, const char *name)
{
    char text[512];
    symcache_key_t key;
    struct config *c;
    bool yes;

    snprintf(text, sizeof(text),
             "{\"stores\":{\"a\":{\"root\":\"/a\"}},\"sources\":{\"s\":{"
             "\"type\":\"filesystem\",\"path\":\"/p\",%s}}}",
             keys);
    c = read_text(text);
    assert_int_equal(symcache_name_parse(name, strlen(name), &key),
                     SYMCACHE_OK);
    yes = config_source_serves(&c->sources[0], &key);
    config_unref(c);
    return yes;
}

static void patterns(void **state)
{
    const char *endless = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab";
    const char *both = "\"only\":\"^nt\",\"except\":\"^ntos\"";

    assert_true(serves("\"only\":\"^(nt|win)\"", "ntdll.pdb"));
    assert_true(serves("\"only\":\"^NT\"", "ntdll.pdb"));
    assert_true(serves("\"only\":\"dll\"", "NTDLL.PDB"));
    assert_false(serves("\"only\":\"^(nt|win)\"", "crash.pdb"));

    assert_true(serves("\"only\":[\"^nt\",\"^win\"]", "winhttp.pdb"));
    assert_false(serves("\"only\":[\"^nt\",\"^win\"]", "crash.pdb"));

    assert_false(serves("\"except\":\"^mso\"", "MSO.pdb"));
    assert_true(serves("\"except\":\"^mso\"", "crash.pdb"));
    assert_false(serves("\"except\":[\"^mso\",\"^clr\"]", "clr.pdb"));

    assert_true(serves(both, "ntdll.pdb"));
    assert_false(serves(both, "ntoskrnl.pdb"));
    assert_false(serves(both, "crash.pdb"));

    /* steps without end: the source is asked */
    assert_true(serves("\"only\":\"^(a+)+$\"", endless));
    assert_true(serves("\"except\":\"^(a+)+$\"", endless));
}

/* keys: what stands in the source */
static uint64_t fingerprint(const char *keys)
{
    char text[1024];
    struct config *c;
    uint64_t places;

    snprintf(text, sizeof(text),
             "{\"stores\":{\"a\":{\"root\":\"/a\"}},\"sources\":"
             "{\"s\":{%s}}}",
             keys);
    c = read_text(text);
    places = c->sources[0].fingerprint;
    config_unref(c);
    return places;
}

/*
 * What is remembered of a source outlives another password: FNV-1a, by another
 * program, of {"type":"s3","bucket":"b","region":"r","internal":true}.
 */
#define PLACES 0x14e607dce8cba576u

static void fingerprints(void **state)
{
    const struct source_type *const *type;
    bool is_secret;
    size_t i;

    for (type = source_types; *type != NULL; type++) {
        for (i = 0; i < (*type)->nkeys; i++) {
            is_secret = (*type)->keys[i].read == field_secret ||
                        (*type)->keys[i].read == field_private_key;
            assert_int_equal(is_secret,
                             ((*type)->keys[i].flags & CONFIG_SECRET) != 0);
        }
    }

    assert_true(fingerprint("\"type\":\"s3\",\"bucket\":\"b\","
                            "\"region\":\"r\",\"internal\":true") ==
                PLACES);
    assert_true(
        fingerprint("\"access_key\":\"a\",\"headers\":{\"x\":\"y\"},"
                    "\"type\":\"s3\",\"user_agent\":\"u\","
                    "\"bucket\":\"b\",\"http_version\":\"2\","
                    "\"secret_key\":\"k\",\"region\":\"r\","
                    "\"session_token\":\"t\",\"internal\":true,"
                    "\"tls\":{},\"proxy\":\"http://u:p@h:1\"") == PLACES);
    assert_false(fingerprint("\"type\":\"s3\",\"bucket\":\"b\","
                             "\"region\":\"r\",\"internal\":false") ==
                 PLACES);
    assert_true(
        fingerprint("\"type\":\"http\",\"url\":\"http://h\",\"auth\":"
                    "{\"type\":\"bearer\",\"token\":\"t\"}") ==
        fingerprint("\"type\":\"http\",\"url\":\"http://h\""));
}

/* Errors never run over their buffer, and an error leaves no config. */
static void errors(void **state)
{
    struct config *config = (struct config *)&file;
    char error[32];
    FILE *f = fopen(file, "w");

    assert_non_null(f);
    fputs("{\"stores\": {\"a\": {\"root\": \"relative\"}}}", f);
    fclose(f);
    memset(error, 'x', sizeof(error));
    assert_int_equal(config_read(file, source_types, &config, error, 16), -1);
    assert_ptr_equal(config, &file);
    assert_int_equal(strlen(error), 15);
    assert_int_equal(error[16], 'x');
}

static int make_file(void **state)
{
    int fd = mkstemp(file);

    return fd == -1 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    return unlink(file);
}

/* the value of a header, as the configuration spells it */
static void assert_header(const char *text, const char *value)
{
    char all[512];
    struct config *c;

    snprintf(all, sizeof(all),
             "{\"stores\":{\"a\":{\"root\":\"/a\"}},\"sources\":{\"s\":"
             "{\"type\":\"http\",\"url\":\"http://h\","
             "\"headers\":{\"A\":\"%s\"}}}}",
             text);
    c = read_text(all);
    assert_string_equal(c->sources[0].transport.headers[0].value, value);
    config_unref(c);
}

static void secrets(void **state)
{
    static char path[] = "/tmp/symcache-secret.XXXXXX";
    char text[64];
    FILE *f = fdopen(mkstemp(path), "w");

    assert_non_null(f);
    fputs("first $SYMCACHE_T_TOKEN\r\nsecond\n", f);
    fclose(f);
    snprintf(text, sizeof(text), "@%s", path);
    assert_header(text, "first $SYMCACHE_T_TOKEN");
    unlink(path);

    setenv("SYMCACHE_T_TOKEN", "a$b@/c", 1);
    assert_header("$SYMCACHE_T_TOKEN", "a$b@/c");
    assert_header("x${SYMCACHE_T_TOKEN}y$SYMCACHE_T_TOKEN", "xa$b@/cya$b@/c");
    assert_header("$$SYMCACHE_T_TOKEN", "$SYMCACHE_T_TOKEN");
    assert_header("me@/x", "me@/x");
}

static void transport(void **state)
{
    const struct transport_config *t;
    struct config *c;

    setenv("SYMCACHE_T_TOKEN", "secret", 1);
    c = read_text(
        "{\"stores\":{\"a\":{\"root\":\"/a\"}},\"sources\":{\"s\":{"
        "\"type\":\"http\",\"url\":\"http://h\",\"auth\":{\"type\":"
        "\"basic\",\"user\":\"u\",\"password\":\"$SYMCACHE_T_TOKEN\"},"
        "\"tls\":{\"ca\":\"/dev/null\",\"certificate\":\"/dev/null\","
        "\"key_password\":\"$SYMCACHE_T_TOKEN$$\"},"
        "\"proxy\":\"http://u:$SYMCACHE_T_TOKEN@p:3128\","
        "\"http_version\":\"2\",\"user_agent\":\"me\"}}}");
    t = &c->sources[0].transport;
    assert_int_equal(t->auth, TRANSPORT_BASIC);
    assert_string_equal(t->user, "u");
    assert_string_equal(t->password, "secret");
    assert_null(t->token);
    assert_string_equal(t->ca, "/dev/null");
    assert_string_equal(t->certificate, "/dev/null");
    assert_null(t->key);
    assert_string_equal(t->key_password, "secret$");
    assert_string_equal(t->proxy, "http://u:secret@p:3128");
    assert_int_equal(t->http, TRANSPORT_HTTP_2);
    assert_string_equal(t->user_agent, "me");
    config_unref(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults), cmocka_unit_test(values),
        cmocka_unit_test(secrets),  cmocka_unit_test(transport),
        cmocka_unit_test(patterns), cmocka_unit_test(errors),
        cmocka_unit_test(fingerprints),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
