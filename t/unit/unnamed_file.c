/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files without a name, with and without the kernel's help.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/unnamed_file.h"
#include "base/workdir.h"

/* In place of libc's: a file system without O_TMPFILE, or with a fault. */
static int open_errno;

int open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = va_arg(args, mode_t);
    va_end(args);
    if (open_errno != 0 && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = open_errno;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static void is_unnamed(void **state)
{
    static const int errors[] = {0, EOPNOTSUPP, EISDIR};
    char root[] = "/tmp/symcache-unnamed.XXXXXX", tmp[64], byte;
    const struct dirent *entry;
    struct stat st;
    DIR *dir;
    size_t i;
    int fd;

    assert_non_null(mkdtemp(root));
    snprintf(tmp, sizeof(tmp), "%s/.tmp", root);
    for (i = 0; i < 3; i++) {
        open_errno = errors[i];
        fd = unnamed_file_open(root);
        open_errno = 0;
        assert_true(fd >= 0);
        assert_int_equal(write(fd, "x", 1), 1);
        assert_int_equal(pread(fd, &byte, 1, 0), 1);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_nlink, 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        assert_int_equal(close(fd), 0);
    }
    dir = opendir(tmp);
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        assert_int_equal(entry->d_name[0], '.');
    }
    closedir(dir);

    open_errno = EROFS; /* which is no lack of such files */
    assert_int_equal(unnamed_file_open(root), -1);
    assert_int_equal(errno, EROFS);
    open_errno = 0;
    workdir_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_unnamed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
