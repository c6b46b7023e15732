/*
 * Copyright (C) the ngx_symcache authors
 */
#include "plain_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fd_close.h"

FILE *plain_file_read(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    FILE *f = NULL;

    if (fd == -1) {
        return NULL;
    }
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
        errno = EINVAL;
    } else {
        f = fdopen(fd, "r");
    }
    if (f == NULL) {
        fd_close(fd);
    }
    return f;
}

/* ENXIO: a FIFO that nobody reads, or a socket. */
static bool is_in_the_way(int fd)
{
    struct stat st;

    return fd == -1 ? errno == EACCES || errno == ELOOP || errno == ENXIO
                    : fstat(fd, &st) == 0 &&
                          (!S_ISREG(st.st_mode) || st.st_nlink > 1);
}

int plain_file_make(const char *path)
{
    const int flags =
        O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int fd = open(path, flags, 0644);

    if (!is_in_the_way(fd)) {
        return fd;
    }
    fd_close(fd);
    return unlink(path) == 0 || errno == ENOENT
               ? open(path, flags | O_EXCL, 0644)
               : -1;
}

FILE *plain_file_write(const char *path)
{
    int fd = plain_file_make(path);
    FILE *f = fd != -1 && ftruncate(fd, 0) == 0 ? fdopen(fd, "w") : NULL;

    if (f == NULL) {
        fd_close(fd);
    }
    return f;
}
