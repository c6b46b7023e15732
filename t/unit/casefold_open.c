/*
 * Copyright (C) the ngx_symcache authors
 *
 * Expected errors: those of POSIX for what lies there, looked at by a user
 * who may not read everything.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "symcached/intake/casefold_open.h"

#define NOBODY 65534

/* In the place of the C library's: a file that cannot be looked at. */
static int unseen; /* 0, or the errno */

int fstat(int fd, struct stat *st)
{
    static int (*real)(int, struct stat *);

    if (unseen != 0) {
        errno = unseen;
        return -1;
    }
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "fstat");
    }
    return real(fd, st);
}

static char root_path[] = "/tmp/tree.XXXXXX";
static int root = -1;

static void put(const char *name, mode_t mode)
{
    int fd = openat(root, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

    assert_int_not_equal(fd, -1);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(root_path));
    assert_int_equal(chmod(root_path, 0755), 0);
    root = open(root_path, O_RDONLY | O_DIRECTORY);
    assert_int_not_equal(root, -1);

    assert_int_equal(mkdirat(root, "dir", 0755), 0);
    put("dir/file", 0644);
    put("dir/unreadable", 0);
    assert_int_equal(mkdirat(root, "dir/dir", 0755), 0);
    assert_int_equal(mkfifoat(root, "dir/fifo", 0644), 0);
    assert_int_equal(symlinkat("loop", root, "dir/loop"), 0);
    assert_int_equal(symlinkat("nowhere", root, "dir/dangling"), 0);

    assert_int_equal(mkdirat(root, "named", 0755), 0);
    assert_int_equal(mkdirat(root, "named/Any", 0755), 0);
    put("named/Any/Named", 0644);
    put("named/Any/NAME_", 0644);

    /* one folder without the file, one with a form that is not the first, and
     * one with two spellings of the id */
    assert_int_equal(mkdirat(root, "forms1", 0755), 0);
    assert_int_equal(mkdirat(root, "forms1/id", 0755), 0);
    put("forms1/id/other", 0644);
    assert_int_equal(mkdirat(root, "forms2", 0755), 0);
    assert_int_equal(mkdirat(root, "forms2/id", 0755), 0);
    assert_int_equal(mkdirat(root, "forms2/ID", 0755), 0);
    put("forms2/ID/File.PTR", 0644);

    /* what cannot be searched, and what cannot be listed */
    assert_int_equal(mkdirat(root, "locked", 0755), 0);
    put("locked/file", 0644);
    assert_int_equal(symlinkat("locked/file", root, "link"), 0);
    assert_int_equal(mkdirat(root, "unlisted", 0755), 0);
    put("unlisted/file", 0644);

    /* two spellings, the first of which cannot be read */
    assert_int_equal(mkdirat(root, "Twice", 0755), 0);
    put("Twice/file", 0644);
    assert_int_equal(mkdirat(root, "tWICE", 0755), 0);
    put("tWICE/file", 0644);

    assert_int_equal(fchmodat(root, "locked", 0, 0), 0);
    assert_int_equal(fchmodat(root, "Twice", 0, 0), 0);
    assert_int_equal(fchmodat(root, "unlisted", 0311, 0), 0);
    return geteuid() == 0 ? seteuid(NOBODY) : 0;
}

static int drop(const char *path, const struct stat *st, int flag,
                struct FTW *ftw)
{
    return remove(path);
}

static int allow(const char *path, const struct stat *st, int flag,
                 struct FTW *ftw)
{
    return flag == FTW_D || flag == FTW_DNR ? chmod(path, 0700) : 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (geteuid() != getuid() && seteuid(getuid()) != 0) {
        return -1;
    }
    close(root);
    (void)nftw(root_path, allow, 8, FTW_PHYS);
    return nftw(root_path, drop, 8, FTW_DEPTH | FTW_PHYS);
}

struct open_case {
    const char *path;
    int error; /* 0 = it is opened */
    bool negcache;
};

static const struct open_case open_cases[] = {
    {"dir/file", 0, false},
    {"DIR/File", 0, false},
    {"dir/none", ENOENT, true},
    {"none/file", ENOENT, true},
    {"dir/file/x", ENOENT, true},
    {"dir/dir", EINVAL, false},
    {"dir/fifo", EINVAL, false},
    {"dir/loop", ELOOP, false},
    {"dir/dangling", ENOLINK, false},
    {"dir/DANGLING", ENOLINK, false},
    {"dir/unreadable", EACCES, false},
    {"locked/file", EACCES, false},
    {"LOCKED/file", EACCES, false},
    {"link", EACCES, false},
    /* it may be there in another spelling, which cannot be seen */
    {"unlisted/file", 0, false},
    {"unlisted/none", EACCES, false},
    {"Twice/file", 0, false},
    {"twice/file", 0, false},
    {"Twice/none", EACCES, false},
    {"twice/none", EACCES, false},
};

static void test_only_what_is_not_there_is_absent(void **state)
{
    const struct open_case *c = open_cases;
    size_t n = sizeof(open_cases) / sizeof(open_cases[0]);
    int fd;

    (void)state;
    for (; n > 0; n--, c++) {
        errno = 0;
        fd = casefold_open(root, c->path, false, true);
        if (c->error == 0) {
            if (fd < 0) {
                fail_msg("%s: %s", c->path, strerror(errno));
            }
            close(fd);
            continue;
        }
        if (fd != -1 || errno != c->error) {
            fail_msg("%s: %d, %s", c->path, fd, strerror(errno));
        }
        assert_int_equal(casefold_absent(errno), c->negcache);
    }
}

/* It is not said to be none. */
static void test_a_file_that_cannot_be_looked_at(void **state)
{
    (void)state;
    unseen = EIO;
    assert_int_equal(casefold_open(root, "dir/file", false, true), -1);
    assert_int_equal(errno, EIO);
    unseen = 0;
}

/* "locked" may have what is nowhere else. */
static void test_files_without_a_name(void **state)
{
    static const char *const paths[] = {
        "*/any/*", "*/any/*_", "*/any/file.ptr",
        "*/id/*",  "*/id/*_",  "*/id/file.ptr",
        "*/none",  "name/any/*",
    };
    static const int open[] = {1, 1, 0, 0, 0, 1};
    int fds[3], errors[3];
    size_t i;

    (void)state;
    assert_int_equal(casefold_count_unnamed(paths, 8), 3);
    assert_int_equal(casefold_count_unnamed(paths + 3, 5), 3);
    assert_int_equal(casefold_count_unnamed(paths + 6, 2), 0);
    assert_int_equal(casefold_count_unnamed(paths + 7, 1), 0);
    assert_int_equal(casefold_count_unnamed(paths, 2), 2);
    assert_int_equal(casefold_count_unnamed(paths, 0), 0);

    for (i = 0; i < 6; i++) {
        if (i % 3 == 0) {
            casefold_open_unnamed(root, paths + i, 3, false, fds, errors);
        }
        if (open[i]) {
            assert_int_not_equal(fds[i % 3], -1);
            close(fds[i % 3]);
        } else {
            assert_int_equal(fds[i % 3], -1);
            assert_int_equal(errors[i % 3], i < 3 ? ENOENT : EACCES);
        }
    }
}

static void test_any_spelling(void **state)
{
    (void)state;
    assert_int_equal(casefold_has(root, "DIR", true), 0);
    assert_int_equal(casefold_has(root, "Link", true), -1);
    assert_int_equal(errno, EACCES);
    assert_int_equal(casefold_has(root, "none", true), -1);
    assert_int_equal(errno, ENOENT);
}

static void test_one_spelling(void **state)
{
    static const struct open_case cases[] = {
        {"dir/file", 0, false},          {"dir/unreadable", 0, false},
        {"dir/File", ENOENT, true},      {"dir/file/x", ENOTDIR, true},
        {"dir/dangling", ENOLINK, false}, {"dir/loop", ELOOP, false},
        {"locked/file", EACCES, false},  {"link", EACCES, false},
    };
    size_t i;
    int rc;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        errno = 0;
        rc = casefold_has(root, cases[i].path, false);
        if (rc != (cases[i].error == 0 ? 0 : -1) || errno != cases[i].error) {
            fail_msg("%s: %d, %s", cases[i].path, rc, strerror(errno));
        }
        assert_int_equal(rc != 0 && casefold_absent(errno), cases[i].negcache);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_is_not_there_is_absent),
        cmocka_unit_test(test_a_file_that_cannot_be_looked_at),
        cmocka_unit_test(test_files_without_a_name),
        cmocka_unit_test(test_one_spelling),
        cmocka_unit_test(test_any_spelling),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
