/*
 * Copyright (C) the ngx_symcache authors
 *
 * Removal of what a hostile transcoder may leave in a work folder, and folders
 * that a cleaner removes while they are made.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/workdir.h"

#define LEVELS 2000
#define DESCRIPTORS 64

/* In place of libc's: how many of the directories are removed at once, as a
 * cleaner does that finds them empty. */
static int cleaned;

int mkdir(const char *path, mode_t mode)
{
    int rc = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);

    if (rc == 0 && cleaned > 0) {
        cleaned--;
        assert_int_equal(rmdir(path), 0);
    }
    return rc;
}

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

/* More levels than there are descriptors. */
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

/* In place of libc's: a file system may have none. */
static int lock_errno;

int flock(int fd, int operation)
{
    errno = lock_errno;
    return lock_errno != 0 ? -1 : (int)syscall(SYS_flock, fd, operation);
}

static int count_entries(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL) {
        n++;
    }
    closedir(dir);
    return n - 2;
}

/* What is left of others goes; a folder of which it is not known whether a
 * living process has it does not. */
static void removes_stale_folders(void **state)
{
    char root[] = "/tmp/symcache-workdir.XXXXXX", name[WORKDIR_PATH_MAX];
    char tmp[64], other[80];
    struct workdir *workdir;
    struct rlimit old, few;
    int i, fd;

    assert_non_null(mkdtemp(root));
    workdir = workdir_open(root);
    assert_non_null(workdir);
    assert_int_equal(workdir_make(workdir, name), 0);
    snprintf(tmp, sizeof(tmp), "%s/.tmp", root);
    snprintf(other, sizeof(other), "%s/run-other", tmp);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    for (i = 0; i < 3; i++) {
        assert_int_equal(mkdir(other, 0), 0);
        if (i == 0) {
            lock_errno = ENOLCK;
        } else if (i == 1) { /* one descriptor, for the list */
            fd = dup(0);
            close(fd);
            few = old;
            few.rlim_cur = (rlim_t)fd + 1;
            assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        }
        workdir_remove_stale(root);
        lock_errno = 0;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        assert_int_equal(access(name, F_OK), 0);
        assert_int_equal(access(other, F_OK), i < 2 ? 0 : -1);
        (void)rmdir(other);
    }
    workdir_close(workdir);
    assert_int_equal(count_entries(tmp), 0);

    lock_errno = ENOLCK;
    assert_null(workdir_open(root));
    assert_int_equal(errno, ENOLCK);
    lock_errno = 0;
    assert_int_equal(count_entries(tmp), 0);
    workdir_remove(root);
}

static void makes_cleaned_folders(void **state)
{
    char root[] = "/tmp/symcache-workdir.XXXXXX", name[64], id[72];

    assert_non_null(mkdtemp(root));
    snprintf(name, sizeof(name), "%s/a.pdb", root);
    snprintf(id, sizeof(id), "%s/1", name);
    cleaned = 2;
    assert_int_equal(workdir_make_path(id), 0);
    assert_int_equal(cleaned, 0);
    assert_int_equal(access(id, F_OK), 0);
    workdir_remove(name);

    /* what leads to nothing is never made */
    assert_int_equal(symlink("none", name), 0);
    assert_int_equal(workdir_make_path(id), -1);
    assert_int_equal(errno, ENOENT);
    workdir_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(removes_deep_folders),
        cmocka_unit_test(removes_closed_folders),
        cmocka_unit_test(removes_stale_folders),
        cmocka_unit_test(makes_cleaned_folders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
