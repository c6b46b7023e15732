/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a client says of its sources becomes a configuration that can be read,
 * and of which no text means anything but itself.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "config/config.h"
#include "symcached/source/sources.h"
#include "symcached/guest/guest_config.h"

#define SECRET "$PATH$$ @/etc/passwd \\\"${HOME}"

static char *hosts[] = {"127.0.0.1:9000"};

static cJSON *settings(const char *sources)
{
    const struct tenants_config tenants = {.hosts = hosts, .nhosts = 1};
    const struct limits_config limits = {
        .download_size = 1 << 20, .download_time = 60, .connect_time = 5,
        .first_byte_time = 5, .stall_time = 5, .attempts = 1,
        .transcode_time = 60, .transcode_memory = 1 << 30,
        .breaker_window = 60, .breaker_pause = 60};
    const struct guest_settings with = {
        .tenants = &tenants, .limits = &limits, .size = 1 << 30};
    cJSON *list, *made;
    char *text;

    assert_true(asprintf(&text, "[%s]", sources) > 0);
    list = cJSON_Parse(text);
    assert_non_null(list);
    made = guest_settings(&with, "/t/name", "name", list);
    cJSON_Delete(list);
    free(text);
    return made;
}

static struct config *read_settings(const char *sources)
{
    char error[512] = "";
    cJSON *made = settings(sources);
    struct config *config;
    int fd;

    assert_non_null(made);
    config = guest_read_settings(made, &fd, error, sizeof(error));
    if (config == NULL) {
        fail_msg("%s", error);
    }
    close(fd);
    cJSON_Delete(made);
    assert_string_equal(config->stores[0].root, "/t/name/store");
    return config;
}

#define COMMON                                                                \
    "\"name\":\"s0\",\"layout\":\"symstore\",\"casing\":\"default\","

/* The port of a scheme may be left out (RFC 3986, 6.2.3), and is in URLs in
 * normal form. */
static void hosts_of_urls(void **state)
{
    static char *listed[] = {"sym.corp:80", "tls.corp:443", "[::1]:80",
                             "sym.corp:8080"};
    const struct tenants_config tenants = {.hosts = listed, .nhosts = 4};
    static const char *const good[] = {
        "http://sym.corp:80/a", "http://sym.corp/a", "HTTP://SYM.corp",
        "https://tls.corp/", "https://tls.corp:443", "http://[::1]/",
        "http://[::1]:80/", "http://sym.corp:8080/", "http://sym.corp?a",
        "https://sym.corp:80/"};
    static const char *const bad[] = {
        "https://sym.corp/", "http://tls.corp/", "http://sym.corp:81/",
        "http://sym.corp.example/", "http://sym.cor/", "http://u@sym.corp/",
        "http://u:p@sym.corp/", "http:/sym.corp/", "http:///", "http://",
        "ftp://sym.corp/", "http://sym.corp:/", "http://[::1]8080/",
        "sym.corp:80"};
    size_t i;

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (!tenants_may_reach(&tenants, good[i])) {
            fail_msg("%s may not be reached", good[i]);
        }
    }
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (tenants_may_reach(&tenants, bad[i])) {
            fail_msg("%s may be reached", bad[i]);
        }
    }
}

static void servers(void **state)
{
    struct config *c = read_settings(
        "{" COMMON "\"type\":\"http\","
        "\"url\":\"http://127.0.0.1:9000/s\",\"headers\":{\"A\":\"" SECRET
        "\",\"B\":\"$1\"}}");
    const struct transport_config *t = &c->sources[0].transport;

    assert_string_equal(c->sources[0].url, "http://127.0.0.1:9000/s");
    assert_int_equal(t->nheaders, 2);
    assert_string_equal(t->headers[0].value, "$PATH$$ @/etc/passwd \"${HOME}");
    assert_string_equal(t->headers[1].value, "$1");
    assert_int_equal(t->internal, TRANSPORT_INTERNAL_ORIGIN);
    config_unref(c);

    c = read_settings("{" COMMON "\"type\":\"http\","
                      "\"url\":\"http://127.0.0.1:90/s\"}");
    assert_int_equal(c->sources[0].transport.internal, TRANSPORT_OUTSIDE);
    config_unref(c);
}

static void s3(void **state)
{
    struct config *c = read_settings(
        "{" COMMON "\"type\":\"s3\",\"bucket\":\"b\","
        "\"prefix\":\"/a b/\",\"region\":\"eu-west-1\","
        "\"access_key\":\"$ID\",\"secret_key\":\"" SECRET "\"}");

    assert_string_equal(c->sources[0].url,
                        "https://b.s3.eu-west-1.amazonaws.com/a%20b");
    assert_string_equal(c->sources[0].transport.user, "$ID");
    assert_string_equal(c->sources[0].transport.password,
                        "$PATH$$ @/etc/passwd \"${HOME}");
    assert_int_equal(c->sources[0].transport.internal, TRANSPORT_OUTSIDE);
    config_unref(c);

    /* certificates are of one label, so a name with a dot is no part of it */
    c = read_settings("{" COMMON "\"type\":\"s3\","
                      "\"bucket\":\"b.c\",\"region\":\"r\"}");
    assert_string_equal(c->sources[0].url,
                        "https://s3.r.amazonaws.com/b.c");
    config_unref(c);

    c = read_settings("{" COMMON "\"type\":\"s3\","
                      "\"bucket\":\"b\",\"region\":\"r\","
                      "\"endpoint\":\"http://127.0.0.1:9000\"}");
    assert_string_equal(c->sources[0].url, "http://127.0.0.1:9000/b");
    assert_int_equal(c->sources[0].transport.internal,
                     TRANSPORT_INTERNAL_ORIGIN);
    config_unref(c);
}

static void gcs(void **state)
{
    EVP_PKEY *key = EVP_RSA_gen(2048);
    BIO *bio = BIO_new(BIO_s_mem());
    char *pem, *source, *p;
    struct config *c;
    cJSON *text;
    long size;

    assert_int_equal(PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL,
                                              NULL), 1);
    size = BIO_get_mem_data(bio, &pem);
    text = cJSON_CreateString("");
    free(text->valuestring);
    p = text->valuestring = calloc(2, (size_t)size + 1);
    for (; size > 0; size--, pem++) {
        if (*pem == '\n') {
            *p++ = '\\';
        }
        *p++ = *pem == '\n' ? 'n' : *pem;
    }
    pem = cJSON_PrintUnformatted(text);
    assert_true(asprintf(&source, "{" COMMON ""
                         "\"type\":\"gcs\",\"bucket\":\"b\",\"client_email\":"
                         "\"a@b\",\"private_key\":%s}", pem) > 0);
    c = read_settings(source);
    assert_string_equal(c->sources[0].url, "https://storage.googleapis.com/b");
    assert_int_equal(c->sources[0].transport.auth, TRANSPORT_SIGN);
    config_unref(c);
    free(source);
    free(pem);
    cJSON_Delete(text);
    BIO_free(bio);
    EVP_PKEY_free(key);

    c = read_settings("{" COMMON "\"type\":\"gcs\","
                      "\"bucket\":\"b\",\"token\":\"a$b\"}");
    assert_string_equal(c->sources[0].transport.token, "a$b");
    config_unref(c);
}

static void refused(void **state)
{
    static const char *const bad[] = {
        "{" COMMON "\"type\":\"filesystem\","
        "\"path\":\"/\"}",
        "{" COMMON "\"type\":\"sympath\","
        "\"value\":\"/\"}",
        "{" COMMON "\"type\":\"http\","
        "\"url\":\"http://h\",\"headers\":{\"a\":\"@/etc/passwd\"}}",
        "{" COMMON "\"type\":\"http\","
        "\"url\":\"http://h\",\"headers\":{\"a\":1}}",
        "{" COMMON "\"type\":\"s3\",\"bucket\":\"b\","
        "\"region\":\"r\",\"access_key\":\"a\","
        "\"secret_key\":\"@/etc/passwd\"}",
        "{" COMMON "\"type\":\"http\",\"url\":1}",
        "{\"name\":\"s0\"}", "1"};
    size_t i;

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_null(settings(bad[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_of_urls),
        cmocka_unit_test(servers), cmocka_unit_test(s3),
        cmocka_unit_test(gcs), cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
