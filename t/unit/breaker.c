/*
 * Copyright (C) the ngx_symcache authors
 *
 * A circuit breaker with a clock of ours.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/breaker.h"

static const struct breaker_limits limits = {3, 60, 10};

static bool fault(struct breaker *b, uint64_t now)
{
    return breaker_end(b, &limits, BREAKER_FAULT, false, now);
}

static void opens(void **state)
{
    struct breaker b = {0};

    assert_true(breaker_allows(&b, 0));
    assert_false(fault(&b, 1000));
    assert_false(fault(&b, 2000));
    assert_true(breaker_allows(&b, 2500));
    assert_true(fault(&b, 3000));
    assert_int_equal(b.state, BREAKER_OPEN);
    assert_false(breaker_allows(&b, 3001));
    assert_int_equal(breaker_left(&b, 4000), 9000);
    assert_false(breaker_allows(&b, 12999));
    assert_int_equal(breaker_left(&b, 13000), 0);

    /* what was under way when it opened changes nothing */
    assert_false(fault(&b, 5000));
    assert_int_equal(b.until, 13000);
}

static void counts(void **state)
{
    struct breaker b = {0};

    /* in a row */
    fault(&b, 0);
    fault(&b, 1);
    assert_false(breaker_end(&b, &limits, BREAKER_GOOD, false, 2));
    assert_false(fault(&b, 3));
    assert_false(fault(&b, 4));

    /* within the window: the first was at 3 */
    assert_false(fault(&b, 60004));
    assert_int_equal(b.failures, 1);
    assert_false(fault(&b, 60005));
    assert_true(fault(&b, 60006));
}

static void reports(void **state)
{
    struct breaker b = {0};

    assert_int_equal(breaker_report(&b, 0), BREAKER_CLOSED);
    assert_true(breaker_trip(&b, 5000));
    assert_int_equal(breaker_report(&b, 604999), BREAKER_OPEN);
    assert_int_equal(breaker_report(&b, 605000), BREAKER_CLOSED);
    assert_true(breaker_allows(&b, 605000));
    assert_int_equal(breaker_report(&b, 9000000), BREAKER_HALF_OPEN);
}

static void probes(void **state)
{
    struct breaker b = {BREAKER_OPEN, 3, 0, 10000};

    /* one, whose failure opens again */
    assert_true(breaker_allows(&b, 10000));
    assert_int_equal(b.state, BREAKER_HALF_OPEN);
    assert_false(breaker_allows(&b, 10001));
    assert_false(breaker_allows(&b, 99999));
    assert_true(breaker_end(&b, &limits, BREAKER_FAULT, true, 20000));
    assert_false(breaker_allows(&b, 29999));

    /* one that was called off: the next */
    assert_true(breaker_allows(&b, 30000));
    assert_false(breaker_end(&b, &limits, BREAKER_NOTHING, false, 30001));
    assert_false(breaker_allows(&b, 30002));
    assert_true(breaker_end(&b, &limits, BREAKER_NOTHING, true, 30003));
    assert_true(breaker_allows(&b, 30004));

    /* one that succeeds */
    assert_true(breaker_end(&b, &limits, BREAKER_GOOD, true, 30005));
    assert_int_equal(b.state, BREAKER_CLOSED);
    assert_int_equal(b.failures, 0);
    assert_true(breaker_allows(&b, 30006));
    assert_true(breaker_allows(&b, 30006));
}

/* the one that decides begins well, and may take its time */
static void trusts(void **state)
{
    struct breaker b = {BREAKER_OPEN, 3, 0, 100000};

    assert_false(breaker_trust(&b, 1));
    assert_true(breaker_allows(&b, 100000));
    assert_true(breaker_trust(&b, 100001));
    assert_false(breaker_trust(&b, 100002));
    assert_true(breaker_allows(&b, 100003));
    assert_true(breaker_allows(&b, 100003));

    /* the next failure opens it, whichever request it is of */
    assert_true(breaker_end(&b, &limits, BREAKER_FAULT, true, 110000));
    assert_int_equal(b.state, BREAKER_OPEN);
    assert_true(breaker_allows(&b, 120000));
    assert_true(breaker_trust(&b, 120001));
    assert_true(fault(&b, 120002));

    /* and a success makes it as good as new */
    assert_true(breaker_allows(&b, 130002));
    assert_true(breaker_trust(&b, 130003));
    assert_false(breaker_end(&b, &limits, BREAKER_GOOD, true, 130004));
    assert_int_equal(b.failures, 0);
    assert_false(fault(&b, 130005));
}

static void off(void **state)
{
    static const struct breaker_limits none = {0, 60, 10};
    struct breaker b = {0};
    unsigned i;

    for (i = 0; i < 1000; i++) {
        assert_false(breaker_end(&b, &none, BREAKER_FAULT, false, i));
    }
    assert_true(breaker_allows(&b, 1001));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens),
        cmocka_unit_test(counts),
        cmocka_unit_test(reports),
        cmocka_unit_test(probes),
        cmocka_unit_test(trusts),
        cmocka_unit_test(off),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
