/*
 * Copyright (C) the ngx_symcache authors
 *
 * src/proto/answer: the situations of the contract, section 2.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "proto/answer.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* NULL stands for "none" */
static const symcache_version_t *version(const char *text,
                                         symcache_version_t *v)
{
    if (text == NULL) {
        return NULL;
    }
    assert_true(symcache_version_parse(text, strlen(text), v));
    return v;
}

static void situations(void **state)
{
    static const struct {
        const char *exceeds, *best, *made;
        symcache_answer_e answer;
    } rows[] = {
        /* no If-Version-Exceeds */
        {NULL, "3.1.0", NULL, SYMCACHE_ANSWER_HIT},
        {NULL, "3.1.0", "3.1.0", SYMCACHE_ANSWER_HIT},
        {NULL, "3.2.0", "3.1.0", SYMCACHE_ANSWER_HIT},
        {NULL, "3.1.0", "3.2.0", SYMCACHE_ANSWER_STALE},
        {NULL, NULL, "3.1.0", SYMCACHE_ANSWER_MAKE},
        {NULL, NULL, NULL, SYMCACHE_ANSWER_NONE},
        /* the client's own file is older than what is here */
        {"3.1.0", "3.2.0", NULL, SYMCACHE_ANSWER_HIT},
        {"3.1.0", "3.2.0", "3.2.0", SYMCACHE_ANSWER_HIT},
        {"3.1.0", "3.2.0", "3.3.0", SYMCACHE_ANSWER_STALE},
        /* best file <= x, nothing newer can be made: 304 */
        {"3.1.0", "3.1.0", NULL, SYMCACHE_ANSWER_NOT_MODIFIED},
        {"3.1.0", "3.1.0", "3.1.0", SYMCACHE_ANSWER_NOT_MODIFIED},
        {"3.2.0", "3.1.0", "3.2.0", SYMCACHE_ANSWER_NOT_MODIFIED},
        /* best file <= x, a newer readable version is made: not cached */
        {"3.1.0", "3.1.0", "3.2.0", SYMCACHE_ANSWER_MAKE},
        {"3.1.0", "3.0.9", "3.1.1", SYMCACHE_ANSWER_MAKE},
        /* nothing here, and what is made is no better: nothing is queued */
        {"3.1.0", NULL, "3.1.0", SYMCACHE_ANSWER_NOT_MODIFIED},
        {"3.2.0", NULL, "3.1.0", SYMCACHE_ANSWER_NOT_MODIFIED},
        {"3.1.0", NULL, "3.2.0", SYMCACHE_ANSWER_MAKE},
        {"3.1.0", NULL, NULL, SYMCACHE_ANSWER_NONE},
    };

    for (size_t i = 0; i < N(rows); i++) {
        symcache_version_t best, made;
        symcache_ask_t ask = {.version = {9, 9, 9}, .min = {3, 0, 1}};

        if (rows[i].exceeds != NULL) {
            assert_true(symcache_answer_exceeds(
                rows[i].exceeds, strlen(rows[i].exceeds), &ask));
        }
        assert_int_equal(symcache_answer(&ask, version(rows[i].best, &best),
                                         version(rows[i].made, &made)),
                         rows[i].answer);
    }
}

static void exceeds_header(void **state)
{
    static const struct {
        const char *text;
        int ok;
    } rows[] = {
        {"3.0.9", 1},  {"1.0.0", 1},   {"3.1.0", 0}, {"3.1.1", 0},
        {"4.0.0", 0},  {"0.9.9", 1},   {"", 0},      {"3", 0},
        {"v3.0.1", 0}, {"3.0.1.2", 0}, {"x", 0},     {"3.0.1-rc", 0},
        {" 3.0.1", 0}, {"3.0.1, 3.0.2", 0},
    };

    for (size_t i = 0; i < N(rows); i++) {
        symcache_ask_t ask = {.version = {3, 1, 0}};

        assert_int_equal(symcache_answer_exceeds(
                             rows[i].text, strlen(rows[i].text), &ask),
                         rows[i].ok);
        assert_int_equal(ask.has_exceeds, (unsigned)rows[i].ok);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(situations),
        cmocka_unit_test(exceeds_header),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
