/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a request for space is granted, and what is under way.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "symcached/space/space_request.h"
#include "base/workdir.h"

#define MIB (1024 * 1024ull)

static void granted(void **state)
{
    static const struct {
        struct space_usage space; /* free, removable, claimed, arrived; MiB */
        uint64_t claim, body;  /* the most */
    } cases[] = {
        {{0, 0, 0, 0}, 0, 0},
        {{0, 400, 0, 0}, 100, 200},
        {{400, 0, 0, 0}, 100, 200},
        {{100, 300, 0, 0}, 100, 200},
        /* a claim made room for, then lies there: nothing more */
        {{100, 300, 100, 0}, 25, 150},
        {{0, 300, 100, 0}, 0, 100},
        {{0, 300, 300, 0}, 0, 0},
        /* what has come leaves the claims their quarter */
        {{0, 300, 0, 100}, 100, 100},
        {{0, 200, 0, 200}, 100, 0},
        /* never more than can be had */
        {{0, 10, 0, 100}, 10, 0},
        {{5, 40, 0, 400}, 45, 0},
    };
    struct space_usage space;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        space = cases[i].space;
        space.free *= MIB;
        space.removable *= MIB;
        space.claimed *= MIB;
        space.arrived *= MIB;
        assert_int_equal(space_request_most(&space, SPACE_ANNOUNCED),
                         cases[i].claim * MIB);
        assert_int_equal(space_request_most(&space, SPACE_ARRIVED),
                         cases[i].body * MIB);
    }
}

/* A little more than was asked for, but never more than may be. */
static void with_something_to_spare(void **state)
{
    struct space_usage space = {10 * MIB, 310 * MIB, 0, 0};

    assert_int_equal(space_request_grant(&space, SPACE_ANNOUNCED, 20 * MIB),
                     30 * MIB);
    assert_int_equal(space_request_grant(&space, SPACE_ANNOUNCED, 75 * MIB),
                     80 * MIB);
    assert_int_equal(space_request_grant(&space, SPACE_ANNOUNCED, 80 * MIB),
                     80 * MIB);
    assert_int_equal(space_request_grant(&space, SPACE_ANNOUNCED, 80 * MIB + 1),
                     0);
    assert_int_equal(space_request_grant(&space, SPACE_ARRIVED, 80 * MIB + 1),
                     90 * MIB + 1);
}

/* Requests without end, each of which is reserved and never used. */
static void repeated(void **state)
{
    struct space_usage space = {0, 400 * MIB, 0, 0};
    uint64_t most;
    unsigned i;

    for (i = 0; i < 1000; i++) {
        most = space_request_most(&space, SPACE_ANNOUNCED);
        space.removable -= most;
        space.claimed += most;
    }
    assert_int_equal(space.claimed, 100 * MIB);
    for (i = 0; i < 1000; i++) {
        most = space_request_most(&space, SPACE_ARRIVED);
        space.removable -= most;
        space.arrived += most;
    }
    assert_int_equal(space.removable, 200 * MIB);
}

static void under_way(void **state)
{
    char dir[] = "/tmp/symcache-request.XXXXXX", path[256];
    struct space_usage space = {0};
    static char bytes[MIB];
    int fd;

    assert_non_null(mkdtemp(dir));
    space_request_look(dir, &space);
    assert_int_equal(space.claimed + space.arrived, 0);

    snprintf(path, sizeof(path), "%s/.tmp/run-abc/7/out", dir);
    assert_int_equal(workdir_make_path(path), 0);
    snprintf(path + strlen(path), 16, "/a.pdb");
    fd = open(path, O_WRONLY | O_CREAT, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
    space_request_look(dir, &space);
    assert_int_equal(space.arrived, MIB);

    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 3 * MIB) == 0) {
        memset(&space, 0, sizeof(space));
        space_request_look(dir, &space);
        assert_int_equal(space.arrived, MIB);
        assert_int_equal(space.claimed, 2 * MIB);
    }
    close(fd);
    workdir_remove(dir);
}

static void wait(struct space_requests *requests, dev_t device, uint64_t bytes)
{
    struct space_request request = {SPACE_ARRIVED, device, bytes, false};

    space_requests_add(requests, &request);
}

/* A request on one file system is not in the way of one on another. */
static void of_several_devices(void **state)
{
    struct space_requests requests = {0};
    struct space_request request;
    dev_t device;

    assert_int_equal(space_requests_take(&requests).bytes, 0);
    wait(&requests, 1, 10);
    wait(&requests, 2, 1);
    wait(&requests, 1, 20);
    wait(&requests, 1, 15);
    request = space_requests_take(&requests);
    assert_int_equal(request.device, 1);
    assert_int_equal(request.bytes, 20);
    request = space_requests_take(&requests);
    assert_int_equal(request.device, 2);
    assert_int_equal(request.bytes, 1);
    assert_int_equal(requests.n, 0);

    for (device = 1; device <= SPACE_REQUESTS_MAX + 1; device++) {
        wait(&requests, device, 1);
    }
    assert_int_equal(requests.n, SPACE_REQUESTS_MAX);
    wait(&requests, SPACE_REQUESTS_MAX, 2);
    assert_int_equal(requests.requests[SPACE_REQUESTS_MAX - 1].bytes, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(granted),
        cmocka_unit_test(with_something_to_spare),
        cmocka_unit_test(repeated),
        cmocka_unit_test(under_way),
        cmocka_unit_test(of_several_devices),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
