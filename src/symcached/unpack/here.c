/*
 * Copyright (C) the ngx_symcache authors
 */
#include "here.h"

#include <linux/magic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define HERE_SETTLED 3600 /* seconds after the last change of the content */

#ifndef XFS_SUPER_MAGIC /* before Linux 5.8 */
#define XFS_SUPER_MAGIC 0x58465342
#endif

/* Those where the kernel itself sees each change, and which do not hang.  An
 * overlay may lie above another one. */
static bool is_local(int fd)
{
    static const unsigned long types[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,
                                          BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
                                          TMPFS_MAGIC};
    struct statfs fs;
    size_t i;

    for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (fstatfs(fd, &fs) == 0 && (unsigned long)fs.f_type == types[i]) {
            return true;
        }
    }
    return false;
}

void here_map(struct here *here, int fd, time_t unchanged, uint64_t max)
{
    char link[32];
    struct stat st;
    void *map;
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, here->path, sizeof(here->path) - 1);
    if (n <= 0 || !is_local(fd) || fstat(fd, &st) != 0 || st.st_size <= 0 ||
        (uint64_t)st.st_size > max || st.st_ctime >= unchanged ||
        st.st_mtime >= unchanged - HERE_SETTLED) {
        return;
    }
    here->path[n] = '\0';
    map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) {
        here->map = map;
        here->size = (uint64_t)st.st_size;
    }
}
