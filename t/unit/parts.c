/*
 * Copyright (C) the ngx_symcache authors
 *
 * Parts of a symbfile that go while they are joined, as a whole file from
 * another machine takes them away: the client is told nothing of it, and the
 * same parts can be joined at the same place as soon as they are there again.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>
#include <event2/event.h>
#include "base/task.h"
#include "base/workdir.h"
#include "symcached/upload/parts.h"

#define FILE_NAME "_.symbfile"
#define PARTS 3

static char dir[] = "/tmp/symcache-parts.XXXXXX";
static struct event_base *base;
static int goes = -1; /* the part that goes when all have been seen */

static const char *part_path(unsigned part)
{
    static char path[PATH_MAX];
    char name[64];

    parts_name(name, sizeof(name), FILE_NAME, PARTS, part);
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

/* The libraries' access(), with somebody who is quicker: parts are looked at
 * from the last one to the first. */
int access(const char *path, int mode)
{
    const char *end = ".3-0";
    size_t len = strlen(path);
    long rc = syscall(SYS_faccessat, AT_FDCWD, path, mode);

    if (goes >= 0 && len > 4 && strcmp(path + len - 4, end) == 0) {
        unlink(part_path((unsigned)goes));
    }
    return (int)rc;
}

static void put(unsigned part, const char *text)
{
    FILE *f = fopen(part_path(part), "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

struct end {
    enum parts_state state;
    int errnum;
    unsigned missing;
};

static void on_done(void *arg, enum parts_state state, int errnum,
                    unsigned missing)
{
    *(struct end *)arg = (struct end){state, errnum, missing};
    event_base_loopbreak(base);
}

static struct end join(const char *output, uint64_t max)
{
    struct end end = {PARTS_FAILED, -1, UINT_MAX};

    assert_non_null(parts_join(base, dir, FILE_NAME, PARTS, output, max, 0,
                               on_done, &end));
    event_base_dispatch(base);
    return end;
}

static void one_goes(void **state)
{
    char output[PATH_MAX], text[16] = "";
    struct end end;
    FILE *f;
    int part;

    snprintf(output, sizeof(output), "%s/joined", dir);
    for (part = 0; part < PARTS; part++) {
        put(0, "one");
        put(1, "two");
        put(2, "three");
        goes = part;
        end = join(output, 100);
        assert_int_equal(end.state, PARTS_MISSING);
        assert_int_equal(end.missing, part);
        goes = -1;
        /* asked again, it is still the one that is missing */
        end = join(output, 100);
        assert_int_equal(end.state, PARTS_MISSING);
        assert_int_equal(end.missing, part);
        assert_int_equal(syscall(SYS_faccessat, AT_FDCWD, output, F_OK), -1);
    }

    put(2, "three");
    end = join(output, 11);
    assert_int_equal(end.state, PARTS_JOINED);
    f = fopen(output, "r");
    assert_non_null(f);
    assert_int_equal(fread(text, 1, sizeof(text) - 1, f), 11);
    fclose(f);
    assert_string_equal(text, "onetwothree");
    unlink(output);
}

static void too_large(void **state)
{
    char output[PATH_MAX];
    struct end end;

    snprintf(output, sizeof(output), "%s/joined", dir);
    put(0, "one");
    put(1, "two");
    put(2, "three");
    end = join(output, 10);
    assert_int_equal(end.state, PARTS_FAILED);
    assert_int_equal(end.errnum, EFBIG);
    end = join(output, 11); /* what was written did not stay */
    assert_int_equal(end.state, PARTS_JOINED);
    unlink(output);
}

static int begin(void **state)
{
    base = event_base_new();
    return base == NULL || mkdtemp(dir) == NULL;
}

static int end_all(void **state)
{
    workdir_remove(dir);
    event_base_free(base);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_goes),
        cmocka_unit_test(too_large),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, begin, end_all);
}
