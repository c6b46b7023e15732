/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the findings of a job come to.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include "symcached/job/findings.h"

#define ALL FINDING_EXHAUSTED
#define UNSURE FINDING_UNSURE
#define NOT_NEWER FINDING_NOT_NEWER
#define NOT_BETTER FINDING_NOT_BETTER
#define MALFORMED FINDING_MALFORMED
#define DOUBTED FINDING_DOUBTED
#define FORMAT FINDING_WRONG_FORMAT
#define UNREADABLE FINDING_UNREADABLE
#define LOOP FINDING_LOOP
#define OUTDATED FINDING_OUTDATED
#define FORGOTTEN FINDING_FORGOTTEN
#define PUBLISHED FINDING_PUBLISHED
#define FAILED FINDING_FAILED
#define STOPPED FINDING_STOPPED

static const char *const names[] = {"published", "notfound", "wrong-format",
                                    "malformed", "error",    "loop",
                                    "unchanged", "stopped"};

struct row {
    unsigned findings;
    enum job_outcome lookup; /* of JOB_FOR_LOOKUP and JOB_FOR_NEWER */
    enum job_outcome better; /* of the others: the version is on disk */
};

static const struct row rows[] = {
    /* every source said that it has none */
    {ALL, JOB_NOTFOUND, JOB_UNCHANGED},
    {ALL | NOT_NEWER, JOB_UNCHANGED, JOB_UNCHANGED},
    {ALL | UNSURE, JOB_ERROR, JOB_ERROR},
    {ALL | OUTDATED, JOB_ERROR, JOB_ERROR},
    {ALL | FORGOTTEN, JOB_ERROR, JOB_ERROR},
    {ALL | UNSURE | NOT_NEWER, JOB_ERROR, JOB_ERROR},
    {ALL | OUTDATED | NOT_NEWER, JOB_ERROR, JOB_ERROR},

    /* one had a PDB of the other kind, the others had none */
    {ALL | FORMAT, JOB_WRONG_FORMAT, JOB_UNCHANGED},
    {ALL | FORMAT | NOT_NEWER, JOB_UNCHANGED, JOB_UNCHANGED},
    {ALL | FORMAT | UNSURE, JOB_ERROR, JOB_ERROR},
    {ALL | FORMAT | OUTDATED, JOB_ERROR, JOB_ERROR},
    {ALL | FORMAT | MALFORMED, JOB_MALFORMED, JOB_UNCHANGED},
    {FORMAT, JOB_ERROR, JOB_ERROR},

    /* one had a PDB that cannot be transcoded, the others had none */
    {ALL | MALFORMED, JOB_MALFORMED, JOB_UNCHANGED},
    {ALL | MALFORMED | NOT_NEWER, JOB_UNCHANGED, JOB_UNCHANGED},
    {ALL | MALFORMED | UNSURE, JOB_ERROR, JOB_ERROR},
    {ALL | MALFORMED | DOUBTED, JOB_ERROR, JOB_ERROR},
    {ALL | MALFORMED | OUTDATED, JOB_ERROR, JOB_ERROR},
    {ALL | MALFORMED | DOUBTED | NOT_NEWER, JOB_ERROR, JOB_ERROR},
    {ALL | MALFORMED | UNSURE | NOT_NEWER, JOB_ERROR, JOB_ERROR},

    /* one has it in a form that cannot be read, the others had none */
    {ALL | UNREADABLE, JOB_MALFORMED, JOB_UNCHANGED},
    {ALL | UNREADABLE | MALFORMED, JOB_MALFORMED, JOB_UNCHANGED},
    {ALL | UNREADABLE | FORMAT, JOB_MALFORMED, JOB_UNCHANGED},
    {ALL | UNREADABLE | NOT_NEWER, JOB_UNCHANGED, JOB_UNCHANGED},
    {ALL | UNREADABLE | UNSURE, JOB_ERROR, JOB_ERROR},
    {UNREADABLE, JOB_ERROR, JOB_ERROR},

    /* one left out servers that wait for this, the others had none */
    {ALL | LOOP, JOB_LOOP, JOB_LOOP},
    {ALL | LOOP | FORMAT, JOB_LOOP, JOB_LOOP},
    {ALL | LOOP | MALFORMED, JOB_LOOP, JOB_LOOP},
    {ALL | LOOP | NOT_NEWER, JOB_LOOP, JOB_LOOP},
    {ALL | LOOP | UNSURE, JOB_ERROR, JOB_ERROR},
    {LOOP, JOB_ERROR, JOB_ERROR},

    /* who was not asked has not said no */
    {0, JOB_ERROR, JOB_ERROR},
    {MALFORMED, JOB_ERROR, JOB_ERROR},

    /* one had a PDB, and that what is on disk was made from tells more */
    {NOT_BETTER, JOB_UNCHANGED, JOB_UNCHANGED},
    {NOT_BETTER | UNSURE, JOB_UNCHANGED, JOB_UNCHANGED},
    {NOT_BETTER | OUTDATED, JOB_UNCHANGED, JOB_UNCHANGED},

    /* it is there, whatever was found out before */
    {PUBLISHED, JOB_PUBLISHED, JOB_PUBLISHED},
    {PUBLISHED | UNSURE | MALFORMED | NOT_NEWER, JOB_PUBLISHED, JOB_PUBLISHED},
    {PUBLISHED | OUTDATED | FORGOTTEN, JOB_PUBLISHED, JOB_PUBLISHED},

    /* what goes wrong on our side is no one's absence */
    {FAILED, JOB_ERROR, JOB_ERROR},
    {FAILED | ALL | NOT_NEWER, JOB_ERROR, JOB_ERROR},
    {FAILED | MALFORMED, JOB_ERROR, JOB_ERROR},
    {FAILED | FORGOTTEN, JOB_ERROR, JOB_ERROR},

    /* a stop says nothing about the key, whatever was found out */
    {STOPPED, JOB_STOPPED, JOB_STOPPED},
    {STOPPED | ALL | MALFORMED, JOB_STOPPED, JOB_STOPPED},
    {STOPPED | UNSURE | FORGOTTEN, JOB_STOPPED, JOB_STOPPED},
};

static void check(const struct row *row, enum job_purpose purpose,
                  enum job_outcome expected)
{
    enum job_outcome outcome = findings_outcome(row->findings, purpose);

    if (outcome != expected) {
        print_error("findings 0x%x, purpose %d: %s, not %s\n", row->findings,
                    purpose, names[outcome], names[expected]);
    }
    assert_int_equal(outcome, expected);
}

static void table(void **state)
{
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check(&rows[i], JOB_FOR_LOOKUP, rows[i].lookup);
        check(&rows[i], JOB_FOR_NEWER, rows[i].lookup);
        check(&rows[i], JOB_FOR_BETTER, rows[i].better);
        check(&rows[i], JOB_FOR_DEBUG_FILE, rows[i].better);
        check(&rows[i], JOB_FOR_REBUILD, rows[i].better);
    }
}

/*
 * Of all sets there are: an absence is claimed only when all sources were
 * asked and nothing speaks against it, and never of what is being served.
 */
static void absence(void **state)
{
    const unsigned against = UNSURE | NOT_NEWER | NOT_BETTER | DOUBTED |
                             OUTDATED | FORGOTTEN | PUBLISHED | FAILED |
                             STOPPED | LOOP;
    enum job_outcome outcome;
    unsigned findings;

    for (findings = 0; findings < 2 * LOOP; findings++) {
        outcome = findings_outcome(findings, JOB_FOR_LOOKUP);
        assert_int_equal(outcome == JOB_NOTFOUND ||
                             outcome == JOB_MALFORMED ||
                             outcome == JOB_WRONG_FORMAT,
                         (findings & ALL) != 0 && (findings & against) == 0);

        outcome = findings_outcome(findings, JOB_FOR_BETTER);
        assert_true(outcome != JOB_NOTFOUND && outcome != JOB_MALFORMED &&
                    outcome != JOB_WRONG_FORMAT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
        cmocka_unit_test(absence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
