/*
 * Copyright (C) the ngx_symcache authors
 *
 * Removal of what a hostile transcoder may leave in a work folder.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/workdir.h"

#define LEVELS 2000
#define DESCRIPTORS 64

/* Makes a directory in the current one, and goes there. */
static void enter(const char *name)
{
    assert_int_equal(mkdir(name, 0700), 0);
    assert_int_equal(chdir(name), 0);
}

static void make_file(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT, 0600);

    assert_true(fd >= 0);
    close(fd);
}

/* More levels than there are descriptors; the name that they are moved to is
 * taken. */
static void removes_deep_folders(void **state)
{
    char root[] = "/tmp/symcache-workdir.XXXXXX";
    struct rlimit old, few;
    int i;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = old;
    few.rlim_cur = DESCRIPTORS;
    assert_non_null(mkdtemp(root));
    assert_int_equal(chdir(root), 0);
    enter("deep-0");
    make_file("file");
    assert_int_equal(chdir(root), 0);
    for (i = 0; i < LEVELS; i++) {
        enter("d");
        make_file("file");
    }
    assert_int_equal(chdir("/"), 0);

    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    workdir_remove(root);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_not_equal(access(root, F_OK), 0);
}

/* Folders without rights go, and what a link leads to stays as it is. */
static void removes_closed_folders(void **state)
{
    char root[] = "/tmp/symcache-workdir.XXXXXX";
    char other[] = "/tmp/symcache-workdir.XXXXXX";
    struct stat st;

    assert_non_null(mkdtemp(root));
    assert_non_null(mkdtemp(other));
    assert_int_equal(chmod(other, 0500), 0);
    assert_int_equal(chdir(root), 0);
    enter("closed");
    make_file("file");
    assert_int_equal(symlink(other, "link"), 0);
    assert_int_equal(chmod(".", 0), 0);
    assert_int_equal(chdir("/"), 0);

    workdir_remove(root);
    assert_int_not_equal(access(root, F_OK), 0);
    assert_int_equal(stat(other, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0500);
    assert_int_equal(rmdir(other), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(removes_deep_folders),
        cmocka_unit_test(removes_closed_folders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
