/*
 * Copyright (C) the ngx_symcache authors
 */
#include "durable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include "fd_close.h"

int durable_sync(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL ? 0 : -1;
}

static int durable_sync_folder(const char *path)
{
    int rc, fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd == -1) {
        return errno == ENOENT ? 0 : -1;
    }
    rc = durable_sync(fd);
    fd_close(fd);
    return rc;
}

int durable_sync_folders(const char *path, unsigned n)
{
    char folder[PATH_MAX], *slash;
    size_t len = strlen(path);

    if (len >= sizeof(folder)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(folder, path, len + 1);
    for (; n > 0; n--) {
        slash = strrchr(folder, '/');
        if (slash == NULL) {
            return durable_sync_folder(".");
        }
        slash[slash == folder ? 1 : 0] = '\0';
        if (durable_sync_folder(folder) != 0) {
            return -1;
        }
    }
    return 0;
}

int durable_close(FILE *f, const char *tmp, const char *path)
{
    bool ok = fflush(f) == 0 && !ferror(f) && durable_sync(fileno(f)) == 0;
    int saved = errno;

    if (fclose(f) != 0 && ok) {
        ok = false;
        saved = errno;
    }
    if (ok && rename(tmp, path) != 0) {
        ok = false;
        saved = errno;
    }
    if (!ok) {
        (void)unlink(tmp);
        errno = saved;
        return -1;
    }
    return durable_sync_folders(path, 1);
}
