/*
 * Copyright (C) the ngx_symcache authors
 *
 * src/proto/profiler_id: the test vectors of the description of Elastic's
 * FileID, and what is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "proto/profiler_id.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static int parse(const char *text, symcache_key_t *key)
{
    return symcache_profiler_id_parse(text, strlen(text), key);
}

static void vectors(void **state)
{
    static const struct {
        const char *text, *id;
    } rows[] = {
        {"r1Vw9aGBC3r3jK9LxwpmDw", "hash-af5570f5a1810b7af78caf4bc70a660f"},
        {"p-eeioXaabrVw_6iCTQqyQ", "hash-a7e79e8a85da69bad5c3fea209342ac9"},
        {"9MHl_i8oA0_M6wd27ACxJQ", "hash-f4c1e5fe2f28034fcceb0776ec00b125"},
        {"28gM-KeK9Y2Z4kV4Pp0VZA", "hash-dbc80cf8a78af58d99e245783e9d1564"},
        {"2_9Vdt56Ll8o0Oe7fW7CYA", "hash-dbff5576de7a2e5f28d0e7bb7d6ec260"},
    };
    char text[SYMCACHE_PROFILER_ID_TEXT + 1], id[SYMCACHE_ID_TEXT_MAX + 1];
    symcache_key_t key;
    size_t i;

    (void)state;
    for (i = 0; i < N(rows); i++) {
        assert_true(parse(rows[i].text, &key));
        assert_int_equal(key.kind, SYMCACHE_KIND_SYMBFILE);
        assert_string_equal(key.name, "_");
        symcache_id_print(id, &key);
        assert_string_equal(id, rows[i].id);
        symcache_profiler_id_print(text, &key);
        assert_string_equal(text, rows[i].text);
    }
    assert_true(parse("r1Vw9aGBC3r3jK9LxwpmDw==", &key));
}

static void others(void **state)
{
    static const char *const rows[] = {
        "",
        "r1Vw9aGBC3r3jK9LxwpmD",
        "r1Vw9aGBC3r3jK9LxwpmDw=",
        "r1Vw9aGBC3r3jK9LxwpmDw===",
        "r1Vw9aGBC3r3jK9LxwpmDx", /* bits behind the last byte */
        "r1Vw9aGBC3r3jK9Lxwpm+w",
        "r1Vw9aGBC3r3jK9Lxwpm/w",
        "r1Vw9aGBC3r3jK9Lxwp Dw",
        "af5570f5a1810b7af78caf4bc70a660f",
    };
    symcache_key_t key;
    size_t i;

    (void)state;
    for (i = 0; i < N(rows); i++) {
        assert_false(parse(rows[i], &key));
    }
    assert_false(
        symcache_profiler_id_parse("r1Vw9aGBC3r3jK9L\0wpmDw", 22, &key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),
        cmocka_unit_test(others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
