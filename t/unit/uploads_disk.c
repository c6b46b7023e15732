/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which disk of uploads hangs, and until when.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "config/config.h"
#include "symcached/upload_index/uploads_disk.h"

struct work {
    int gate; /* an eventfd: run returns when it can be read */
    int answer;
};

static atomic_uint drops;

static void run(void *data)
{
    struct work *work = data;
    eventfd_t n;

    eventfd_read(work->gate, &n);
    work->answer = 42;
}

static void drop(void *data)
{
    drops++;
}

static int ask(const char *root, int gate, struct work *work)
{
    *work = (struct work){.gate = gate};
    return uploads_disk_call(root, run, drop, work, sizeof(*work));
}

static void answers_at_last(const char *root, int gate)
{
    eventfd_write(gate, 1);
    while (uploads_disk_hangs(root)) {
        usleep(1000);
    }
}

static void is_asked(void **state)
{
    int gate = eventfd(1, 0);
    struct work work;

    drops = 0;
    assert_int_equal(ask("/a", gate, &work), 0);
    assert_int_equal(work.answer, 42);
    assert_int_equal(drops, 0);
    assert_false(uploads_disk_hangs("/a"));
    close(gate);
}

/* As after a reload with another "uploads.root". */
static void two_hang(void **state)
{
    int a = eventfd(0, 0), b = eventfd(0, 0);
    struct work work;

    drops = 0;
    assert_int_equal(ask("/a", a, &work), ETIMEDOUT);
    assert_int_equal(work.answer, 0);
    assert_int_equal(drops, 0); /* the thread has it */
    assert_true(uploads_disk_hangs("/a"));
    assert_int_equal(ask("/a/" UPLOADS_TRY, a, &work), ETIMEDOUT);
    assert_int_equal(drops, 1); /* no thread had it */

    assert_false(uploads_disk_hangs("/b"));
    assert_int_equal(ask("/b", b, &work), ETIMEDOUT);
    assert_true(uploads_disk_hangs("/b"));
    assert_true(uploads_disk_hangs("/a"));

    answers_at_last("/b", b);
    assert_int_equal(drops, 2);
    eventfd_write(b, 1);
    assert_int_equal(ask("/b", b, &work), 0);
    assert_true(uploads_disk_hangs("/a"));
    answers_at_last("/a", a);
    assert_int_equal(drops, 3);
    close(a);
    close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_asked),
        cmocka_unit_test(two_hang),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
