/*
 * Copyright (C) the ngx_symcache authors
 *
 * The order of fsync() and rename(), which are the test's, and what an error
 * of each leaves behind.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/durable.h"
#include "base/workdir.h"

static char root[] = "/tmp/symcache-durable.XXXXXX";
static char path[PATH_MAX], tmp[PATH_MAX];
static char calls[256]; /* names of what was synced; ">" is the rename */
static int fails;       /* that call fails, counted from 1; 0 = none */
static int failure;     /* errno of it */
static int n_calls;

static int count(const char *what)
{
    snprintf(calls + strlen(calls), sizeof(calls) - strlen(calls), "%s ",
             what);
    if (++n_calls == fails) {
        errno = failure;
        return -1;
    }
    return 0;
}

int fsync(int fd)
{
    char link[32], name[PATH_MAX], *last;
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, name, sizeof(name) - 1);
    assert_true(n > 0);
    name[n] = '\0';
    last = strrchr(name, '/');
    return count(strcmp(last, strrchr(root, '/')) == 0 ? "root" : last + 1);
}

int rename(const char *from, const char *to)
{
    return count(">") == 0 ? renameat(AT_FDCWD, from, AT_FDCWD, to) : -1;
}

static void put(const char *file, const char *text)
{
    FILE *f = fopen(file, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void assert_content(const char *expected)
{
    char text[16] = "";
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    assert_non_null(fgets(text, sizeof(text), f));
    fclose(f);
    assert_string_equal(text, expected);
}

/* Replaces "old" by "new"; the result of durable_close(). */
static int replace(int call, int error)
{
    FILE *f;

    put(path, "old");
    f = fopen(tmp, "we");
    assert_non_null(f);
    fputs("new", f);
    calls[0] = '\0';
    n_calls = 0;
    fails = call;
    failure = error;
    return durable_close(f, tmp, path);
}

static void replaces(void **state)
{
    assert_int_equal(replace(0, 0), 0);
    assert_string_equal(calls, "tmp > b ");
    assert_content("new");
}

static void fails_as_a_whole(void **state)
{
    int call;

    for (call = 1; call <= 2; call++) {
        assert_int_equal(replace(call, ENOSPC), -1);
        assert_int_equal(errno, ENOSPC);
        assert_content("old");
        assert_int_equal(access(tmp, F_OK), -1);
    }
    /* the file has its name then, and may lose it again */
    assert_int_equal(replace(3, EIO), -1);
    assert_int_equal(errno, EIO);
    assert_content("new");
}

/* fsync(2): "fd is bound to a special file which does not support
 * synchronization". */
static void file_system_cannot(void **state)
{
    assert_int_equal(replace(1, EINVAL), 0);
    assert_int_equal(replace(3, EINVAL), 0);
    assert_content("new");
}

static void disk_full(void **state)
{
    FILE *f = fopen("/dev/full", "we");

    assert_non_null(f);
    put(path, "old");
    put(tmp, "");
    fputs("new", f);
    calls[0] = '\0';
    assert_int_equal(durable_close(f, tmp, path), -1);
    assert_int_equal(errno, ENOSPC);
    assert_string_equal(calls, "");
    assert_content("old");
    assert_int_equal(access(tmp, F_OK), -1);
}

static void syncs_folders(void **state)
{
    char gone[PATH_MAX + 8];
    int cwd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    calls[0] = '\0';
    fails = 0;
    assert_int_equal(durable_sync_folders(path, 3), 0);
    assert_string_equal(calls, "b a root ");

    calls[0] = '\0';
    snprintf(gone, sizeof(gone), "%s/a/c/file", root);
    assert_int_equal(durable_sync_folders(gone, 2), 0);
    assert_string_equal(calls, "a ");

    /* without a slash it is the current folder */
    assert_int_equal(chdir(root), 0);
    calls[0] = '\0';
    assert_int_equal(durable_sync_folders("file", 1), 0);
    assert_string_equal(calls, "root ");
    assert_int_equal(fchdir(cwd), 0);
    close(cwd);

    put(path, "");
    snprintf(gone, sizeof(gone), "%s/file", path);
    assert_int_equal(durable_sync_folders(gone, 1), -1);
    assert_int_equal(errno, ENOTDIR);
}

static int begin(void **state)
{
    char folder[PATH_MAX];

    memcpy(root + strlen(root) - 6, "XXXXXX", 6);
    if (mkdtemp(root) == NULL) {
        return 1;
    }
    snprintf(folder, sizeof(folder), "%s/a/b", root);
    snprintf(path, sizeof(path), "%s/a/b/file", root);
    snprintf(tmp, sizeof(tmp), "%s/tmp", root);
    return workdir_make_path(folder);
}

static int end(void **state)
{
    fails = 0;
    workdir_remove(root);
    return access(root, F_OK) == 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(replaces),  TEST(fails_as_a_whole), TEST(file_system_cannot),
        TEST(disk_full), TEST(syncs_folders),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
