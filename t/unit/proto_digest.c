/*
 * Copyright (C) the ngx_symcache authors
 *
 * src/proto/digest: what RFC 9530 has as examples, and what is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "proto/digest.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* of {"hello": "world"} and a newline, RFC 9530, appendix B.1 */
#define SUM "RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg"
#define SUM512                                                                \
    "sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw"  \
    "8MjkM7iw7yZ/WkppmM44T3qg==:"

static void wants(void **state)
{
    static const struct {
        const char *value;
        int wanted;
    } rows[] = {
        {"sha-256=10", 1},
        {"sha-256=1", 1},
        {"sha-256=0", 0},
        {"sha-256=00", 0},
        {"sha-512=3, sha-256=10, unixsum=0", 1},
        {"sha-512=3,sha-256=10", 1},
        {"  sha-256=3  ", 1},
        {"sha-256=3;x=y", 1},
        {"sha-256=3, sha-256=0", 0},
        {"sha-256=0, sha-256=3", 1},
        {"a=\"x, sha-256=3\"", 0},
        {"a=\"\\\", sha-256=3\"", 0},
        {"a=\"x\", sha-256=3", 1},
        {"sha-512=10", 0},
        {"sha-256", 0},
        {"sha-256=", 0},
        {"sha-256=-1", 0},
        {"sha-256=0.5", 0},
        {"sha-256=?1", 0},
        {"SHA-256=10", 0}, /* keys of a dictionary have no upper case */
        {"xsha-256=10", 0},
        {"sha-2567=10", 0},
        {"", 0},
        {",,,", 0},
    };

    for (size_t i = 0; i < N(rows); i++) {
        assert_int_equal(
            symcache_digest_wanted(rows[i].value, strlen(rows[i].value)),
            rows[i].wanted);
    }
    /* the length counts, not a NUL */
    assert_int_equal(symcache_digest_wanted("sha-256=10", 9), 1);
    assert_int_equal(symcache_digest_wanted("sha-256=10", 8), 0);
}

static void reads(void **state)
{
    static const char *good[] = {
        "sha-256=:" SUM "=:",
        "sha-256=:" SUM ":",
        "sha-256=:" SUM "=:;x=1",
        SUM512 ",sha-256=:" SUM "=:",
        "sha-256=:" SUM "=:, " SUM512,
        "sha-256=:short:, sha-256=:" SUM "=:",
    };
    static const char *bad[] = {
        "", "sha-256", "sha-256=", "sha-256=::", "sha-256=:short:", SUM512,
        "sha-256=" SUM "=", "sha-256=:" SUM "==:", "sha-256=:" SUM "A:",
        "sha-256=:" SUM "=", "sha-256=\"" SUM "=\"",
        "SHA-256=:" SUM "=:", "sha-256=:" SUM "\n:",
        "sha-256=:-K_0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:",
    };

    for (size_t i = 0; i < N(good); i++) {
        char text[SYMCACHE_DIGEST_TEXT + 1];

        assert_int_equal(
            symcache_digest_read(good[i], strlen(good[i]), text), 1);
        assert_string_equal(text, "sha-256=:" SUM "=:");
        assert_int_equal(strlen(text), SYMCACHE_DIGEST_TEXT);
    }
    for (size_t i = 0; i < N(bad); i++) {
        char text[SYMCACHE_DIGEST_TEXT + 1] = "left alone";

        assert_int_equal(symcache_digest_read(bad[i], strlen(bad[i]), text),
                         0);
        assert_string_equal(text, "left alone");
    }
}

static void holds(void **state)
{
    static const symcache_digest_t kept = {
        "sha-256=:" SUM "=:",
        {1000, 5, 2000, 999999990},
    };
    static const struct {
        symcache_digest_times_t times;
        int holds;
    } rows[] = {
        {{1000, 5, 2000, 999999990}, 1},
        {{1000, 5, 2000, 999999995}, 1},
        {{1000, 5, 2001, 0}, 1},
        {{1000, 5, 2001, 999999989}, 1},
        {{1000, 5, 2001, 999999990}, 0}, /* a second later */
        {{1000, 5, 2000, 999999989}, 0}, /* earlier */
        {{1000, 5, 1999, 999999995}, 0},
        {{1000, 5, 2002, 0}, 0},
        {{1000, 6, 2000, 999999990}, 0}, /* written to */
        {{1001, 5, 2000, 999999990}, 0},
        {{1000, 5, INT64_MAX, 0}, 0},
        {{1000, 5, INT64_MIN + 1, 0}, 0},
    };
    symcache_digest_t other = kept;

    for (size_t i = 0; i < N(rows); i++) {
        assert_int_equal(
            symcache_digest_holds(&kept, sizeof(kept), &rows[i].times),
            rows[i].holds);
    }

    assert_int_equal(
        symcache_digest_holds(&kept, sizeof(kept) - 1, &kept.times), 0);
    other.text[20] = '\n';
    assert_int_equal(
        symcache_digest_holds(&other, sizeof(other), &kept.times), 0);
    other = kept;
    other.times.ctime_nsec = INT64_MIN;
    assert_int_equal(
        symcache_digest_holds(&other, sizeof(other), &kept.times), 0);
    other = kept;
    other.times.ctime = INT64_MIN;
    assert_int_equal(
        symcache_digest_holds(&other, sizeof(other), &kept.times), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wants),
        cmocka_unit_test(reads),
        cmocka_unit_test(holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
