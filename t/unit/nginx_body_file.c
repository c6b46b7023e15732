/*
 * Copyright (C) the ngx_symcache authors
 *
 * A body that this machine cannot look at is not the client's fault.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "symcached/upload/nginx_body_file.h"

static bool is_lost;
static char dir[] = "/tmp/symcache-body.XXXXXX";

/* In the place of the C library's. */
int fstat(int fd, struct stat *st)
{
    static int (*real)(int, struct stat *);

    if (is_lost) {
        errno = EIO;
        return -1;
    }
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "fstat64");
    }
    return real(fd, st);
}

static int open_body(const char *name, int *status, char error[200])
{
    char path[100];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return nginx_body_file_open(dir, path, status, error, 200);
}

static void test_unseen(void **state)
{
    char path[100], error[200];
    int fd, status;

    (void)state;
    snprintf(path, sizeof(path), "%s/1", dir);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    close(fd);
    fd = open_body("1", &status, error);
    assert_true(fd >= 0);
    close(fd);
    is_lost = true;
    fd = open_body("1", &status, error);
    is_lost = false;
    assert_int_equal(fd, -1);
    assert_int_equal(status, 500);
    assert_string_equal(error,
                        "the body cannot be looked at: Input/output error");
    assert_int_equal(open_body("2", &status, error), -1);
    assert_int_equal(status, 400);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_unseen)};
    int rc;

    if (mkdtemp(dir) == NULL) {
        return 1;
    }
    cmocka_set_message_output(CM_OUTPUT_TAP);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(dir) == 0 ? rc : 1;
}
