/*
 * Copyright (C) the ngx_symcache authors
 */
#include "room.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "remover.h"

static struct {
    room_fn fn;
    void *arg;
} room_watcher;

bool room_is_out(int errnum)
{
    return errnum == ENOSPC || errnum == EDQUOT;
}

void room_watch(room_fn fn, void *arg)
{
    room_watcher.fn = fn;
    room_watcher.arg = arg;
}

void room_want(dev_t device, uint64_t bytes)
{
    if (room_watcher.fn != NULL) {
        room_watcher.fn(room_watcher.arg, device, bytes);
    }
}

/* Returns 0, -1 if there is no room, or -2. */
static int room_try(int fd, uint64_t bytes, const struct cache_config *cache,
                    char *reason, size_t size, dev_t *device)
{
    struct statvfs fs;
    struct stat st;
    uint64_t free_bytes, keep;

    if (fstatvfs(fd, &fs) != 0 || fstat(fd, &st) != 0) {
        snprintf(reason, size, "statvfs: %s", strerror(errno));
        return -2;
    }
    *device = st.st_dev;

    free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    keep = cache->min_free_percent == 0
               ? cache->min_free
               : (uint64_t)fs.f_blocks / 100 * cache->min_free_percent *
                     fs.f_frsize;
    if (free_bytes < keep || free_bytes - keep < bytes) {
        snprintf(reason, size,
                 "no room: %" PRIu64 " bytes needed, %" PRIu64
                 " free, cache.min_free keeps %" PRIu64,
                 bytes, free_bytes, keep);
        return -1;
    }

    /* some file systems cannot; the body then takes its chance */
    if (bytes > 0 &&
        fallocate(fd, FALLOC_FL_KEEP_SIZE, st.st_size, (off_t)bytes) != 0 &&
        room_is_out(errno)) {
        snprintf(reason, size, "no room for %" PRIu64 " bytes", bytes);
        return -1;
    }
    return 0;
}

int room_reserve(int fd, uint64_t bytes, const struct cache_config *cache,
                 char *reason, size_t size)
{
    dev_t device = 0;
    int rc = room_try(fd, bytes, cache, reason, size, &device);

    if (rc == -1 && remover_settle()) {
        rc = room_try(fd, bytes, cache, reason, size, &device);
    }
    if (rc == -1) {
        room_want(device, bytes);
    }
    return rc == 0 ? 0 : -1;
}
