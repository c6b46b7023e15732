/*
 * Copyright (C) the ngx_symcache authors
 */
#include "unnamed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "proto/path.h"
#include "workdir.h"

/* Cleaning removes it if this process ends before it does. */
static int open_and_remove(const char *folder)
{
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof(path), "%.3072s/" SYMCACHE_TMP_DIR, folder);
    if (workdir_make_path(path) != 0) {
        return -1;
    }
    snprintf(path, sizeof(path), "%.3072s/" SYMCACHE_TMP_DIR "/unnamed-XXXXXX",
             folder);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd != -1) {
        (void)unlink(path);
    }
    return fd;
}

int unnamed_file_open(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    /* EISDIR: of a kernel that does not know the flag */
    return fd != -1 ||
                   (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
               ? fd
               : open_and_remove(folder);
}
