/*
 * Copyright (C) the ngx_symcache authors
 */
#include "disk_space.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/disk_full.h"
#include "base/async_unlink.h"

/* The smallest request for a file whose size is not known. */
#define DISK_SPACE_LEAST (64 * 1024 * 1024)
#define DISK_SPACE_LEAST_SHARE 64 /* of the file system, if that is less */

/* Almost none is left below this share of all inodes, or this number, of which
 * a small file system counts a quarter of its inodes at most. */
#define INODES_LEAST_SHARE 64
#define INODES_LEAST 1000
#define INODES_FEW 16

static struct {
    disk_space_fn fn;
    void *arg;
} disk_space_watcher;

void disk_space_watch(disk_space_fn fn, void *arg)
{
    disk_space_watcher.fn = fn;
    disk_space_watcher.arg = arg;
}

static void disk_space_want(dev_t device, uint64_t bytes,
                            enum space_request_kind kind)
{
    struct space_request request = {kind, device, bytes, false};

    if (disk_space_watcher.fn != NULL) {
        disk_space_watcher.fn(disk_space_watcher.arg, &request);
    }
}

static uint64_t disk_space_kept_of(const struct statvfs *fs,
                                   const struct cache_config *cache)
{
    return cache->min_free_percent == 0
               ? cache->min_free
               : (uint64_t)fs->f_blocks / 100 * cache->min_free_percent *
                     fs->f_frsize;
}

uint64_t disk_space_kept(int fd, const struct cache_config *cache)
{
    struct statvfs fs;

    return fstatvfs(fd, &fs) == 0 ? disk_space_kept_of(&fs, cache) : 0;
}

int disk_space_look(const char *path, const struct cache_config *cache,
                    struct disk_space *space)
{
    struct statvfs fs;

    if (statvfs(path, &fs) != 0) {
        return -1;
    }
    space->size = (uint64_t)fs.f_blocks * fs.f_frsize;
    space->free = (uint64_t)fs.f_bavail * fs.f_frsize;
    space->kept = disk_space_kept_of(&fs, cache);
    return 0;
}

bool disk_space_lacks_inodes(const struct statvfs *fs)
{
    uint64_t least = fs->f_files / 4;

    if (least > INODES_LEAST) {
        least = INODES_LEAST;
    }
    if (least < fs->f_files / INODES_LEAST_SHARE) {
        least = fs->f_files / INODES_LEAST_SHARE;
    }
    return fs->f_favail < least;
}

bool disk_space_lacks_inodes_in(const char *path)
{
    struct statvfs fs;

    return statvfs(path, &fs) == 0 && disk_space_lacks_inodes(&fs);
}

bool disk_space_has_few_inodes(const char *path)
{
    struct statvfs fs;

    return statvfs(path, &fs) == 0 && fs.f_files > 0 &&
           fs.f_favail < INODES_FEW;
}

uint64_t disk_space_left(const char *path, const struct cache_config *cache)
{
    struct disk_space space;

    if (disk_space_look(path, cache, &space) != 0) {
        return UINT64_MAX;
    }
    return space.free > space.kept ? space.free - space.kept : 0;
}

/*
 * Where almost nothing is free, almost nothing can have arrived.  A request for
 * twice as much as that would never let a file make progress.
 */
static uint64_t disk_space_least(const struct statvfs *fs)
{
    uint64_t share =
        (uint64_t)fs->f_blocks * fs->f_frsize / DISK_SPACE_LEAST_SHARE;

    return share < DISK_SPACE_LEAST ? share : DISK_SPACE_LEAST;
}

void disk_space_want_for(int fd, uint64_t bytes)
{
    struct statvfs fs;
    struct stat st;

    if (fstatvfs(fd, &fs) == 0 && fstat(fd, &st) == 0) {
        disk_space_want(st.st_dev,
                        bytes > disk_space_least(&fs) ? bytes
                                                      : disk_space_least(&fs),
                        SPACE_ARRIVED);
    }
}

void disk_space_want_in(const char *path, uint64_t bytes)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd != -1) {
        disk_space_want_for(fd, bytes);
        close(fd);
    }
}

/* Returns 0; -1 if there is not enough space; -2 if the file system does not
 * report it. */
static int disk_space_try(int fd, uint64_t bytes,
                          const struct cache_config *cache, char *reason,
                          size_t size, struct stat *st)
{
    struct statvfs fs;
    uint64_t free_bytes, keep;

    if (fstatvfs(fd, &fs) != 0 || fstat(fd, st) != 0) {
        snprintf(reason, size, "statvfs: %s", strerror(errno));
        return -2;
    }

    free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    keep = disk_space_kept_of(&fs, cache);
    if (free_bytes < keep || free_bytes - keep < bytes) {
        snprintf(reason, size,
                 "no room: %" PRIu64 " bytes needed, %" PRIu64
                 " free, cache.min_free keeps %" PRIu64,
                 bytes, free_bytes, keep);
        return -1;
    }

    /* Some file systems cannot reserve.  The body is then received anyway,
     * and fails later if there is no room. */
    if (bytes > 0 &&
        fallocate(fd, FALLOC_FL_KEEP_SIZE, st->st_size, (off_t)bytes) != 0 &&
        disk_is_full(errno)) {
        snprintf(reason, size, "no room for %" PRIu64 " bytes", bytes);
        return -1;
    }
    return 0;
}

int disk_space_reserve(int fd, uint64_t bytes,
                       const struct cache_config *cache, char *reason,
                       size_t size)
{
    struct stat st;
    int rc = disk_space_try(fd, bytes, cache, reason, size, &st);

    if (rc == -1 && !async_unlink_works()) {
        if (bytes > 0) {
            disk_space_want(st.st_dev, bytes, SPACE_ANNOUNCED);
        } else {
            disk_space_want_for(fd, 2 * (uint64_t)st.st_size);
        }
    }
    return rc == 0 ? 0 : -1;
}
