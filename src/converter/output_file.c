/*
 * Copyright (C) the ngx_symcache authors
 */

#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/durable.h"

static int io_failure(struct failure *failure, const char *what,
                      const char *path)
{
    return failure_set(failure, FAILURE_IO, "output: %s \"%s\": %s", what,
                       path, strerror(errno));
}

int output_file_check(const char *path, const char *const *inputs, size_t n,
                      struct failure *failure)
{
    struct stat st, input;
    size_t i;

    if (lstat(path, &st) != 0) {
        return 0;
    }
    /* rename() would replace a device or a symbolic link by a file */
    if (!S_ISREG(st.st_mode)) {
        return failure_set(failure, FAILURE_IO,
                           "output: \"%s\" is not a regular file", path);
    }
    for (i = 0; i < n; i++) {
        if (inputs[i] != NULL && stat(inputs[i], &input) == 0 &&
            input.st_dev == st.st_dev && input.st_ino == st.st_ino) {
            return failure_set(failure, FAILURE_IO,
                               "output: \"%s\" is the input", path);
        }
    }
    return 0;
}

int output_file_open(struct output_file *output, const char *path,
                     const char *directory, struct failure *failure)
{
    int n;
    mode_t mask;

    output->fd = STDOUT_FILENO;
    output->temporary[0] = '\0';
    output->is_stdout = path != NULL && strcmp(path, "-") == 0;
    if (output->is_stdout) {
        return 0;
    }
    output->fd = -1;
    n = path != NULL ? snprintf(output->temporary, sizeof(output->temporary),
                                "%s.XXXXXX", path)
                     : snprintf(output->temporary, sizeof(output->temporary),
                                "%s/.pdb2symcache-XXXXXX", directory);
    if (n < 0 || (size_t)n >= sizeof(output->temporary)) {
        output->temporary[0] = '\0';
        errno = ENAMETOOLONG;
        return io_failure(failure, "name", path != NULL ? path : directory);
    }
    output->fd = mkostemp(output->temporary, O_CLOEXEC);
    if (output->fd < 0) {
        output->temporary[0] = '\0';
        return io_failure(failure, "cannot create a file for",
                          path != NULL ? path : directory);
    }
    mask = umask(0);
    umask(mask);
    if (fchmod(output->fd, 0666 & ~mask) != 0) {
        return io_failure(failure, "mode of", output->temporary);
    }
    return 0;
}

int output_file_make_directories(const char *path, struct failure *failure)
{
    char *p, copy[PATH_MAX];

    if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy)) {
        errno = ENAMETOOLONG;
        return io_failure(failure, "name", path);
    }
    for (p = strchr(copy + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
        *p = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST) {
            return io_failure(failure, "cannot make folder", copy);
        }
        *p = '/';
    }
    return 0;
}

int output_file_publish(struct output_file *output, const char *path,
                        bool is_durable, struct failure *failure)
{
    if (output->is_stdout) {
        return 0;
    }
    if (is_durable && durable_sync(output->fd) != 0) {
        return io_failure(failure, "cannot write", output->temporary);
    }
    if (rename(output->temporary, path) != 0) {
        return io_failure(failure, "cannot rename to", path);
    }
    output->temporary[0] = '\0';
    if (is_durable && durable_sync_folders(path, 1) != 0) {
        return io_failure(failure, "cannot sync the folder of", path);
    }
    return 0;
}

void output_file_close(struct output_file *output)
{
    if (output->temporary[0] != '\0') {
        unlink(output->temporary);
        output->temporary[0] = '\0';
    }
    if (!output->is_stdout && output->fd >= 0) {
        close(output->fd);
        output->fd = -1;
    }
}
