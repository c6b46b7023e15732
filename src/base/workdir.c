/*
 * Copyright (C) the ngx_symcache authors
 */

#include "workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "clock.h"
#include "disk_full.h"
#include "fd_close.h"
#include "log.h"
#include "proto/path.h"

#define WORKDIR_RUN_PREFIX "run-"

/* descriptors that the removal of a directory takes at the most */
#define WORKDIR_REMOVE_DEPTH 32

struct workdir {
    char path[WORKDIR_PATH_MAX];
    unsigned long long made; /* number of names that were given out */
    int lock;                /* flock on path, while the process lives */
};

static int make_workdir_path(const char *path)
{
    char buf[PATH_MAX];
    size_t len = strlen(path);
    char *p;

    if (len >= sizeof(buf)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(buf, path, len + 1);

    for (p = buf + 1; *p != '\0'; p++) {
        if (*p != '/') {
            continue;
        }
        *p = '\0';
        if (mkdir(buf, 0755) != 0 && errno != EEXIST) {
            return -1;
        }
        *p = '/';
    }

    if (mkdir(buf, 0755) != 0 && errno != EEXIST) {
        return -1;
    }
    return 0;
}

int workdir_make_path(const char *path)
{
    int tries;

    for (tries = 0; tries < 10; tries++) {
        if (make_workdir_path(path) == 0) {
            return 0;
        }
        if (errno != ENOENT) {
            return -1;
        }
    }
    return -1;
}

/* Gives us the rights to a directory of ours that a transcoder has taken. */
static void workdir_permit_owner(int at, const char *name)
{
    if (fchmodat(at, name, 0700, AT_SYMLINK_NOFOLLOW) != 0) {
        return; /* if that mattered, the next call also fails */
    }
}

static int workdir_open_folder(int at, const char *name)
{
    workdir_permit_owner(at, name);
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static unsigned long long workdir_random(void)
{
    unsigned long long number;

    if (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
        number = clock_ms();
    }
    return number;
}

/* Empties a directory and closes its descriptor.  A transcoder can have made
 * more levels than there are descriptors: directories that are too deep are
 * moved to the top.  Returns how often that was done. */
static unsigned workdir_remove_entries(int fd, int top, unsigned depth)
{
    unsigned moved = 0;
    struct dirent *entry;
    char name[32];
    DIR *dir = fdopendir(fd);
    int sub;

    if (dir == NULL) {
        close(fd);
        return 0;
    }

    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0 ||
            unlinkat(fd, entry->d_name, 0) == 0 ||
            unlinkat(fd, entry->d_name, AT_REMOVEDIR) == 0) {
            continue;
        }
        if (depth == WORKDIR_REMOVE_DEPTH) {
            /* renaming writes its ".." */
            workdir_permit_owner(fd, entry->d_name);
            snprintf(name, sizeof(name), "deep-%llx", workdir_random());
            moved += renameat(fd, entry->d_name, top, name) == 0;
            continue;
        }
        sub = workdir_open_folder(fd, entry->d_name);
        if (sub != -1) {
            moved += workdir_remove_entries(sub, top, depth + 1);
            unlinkat(fd, entry->d_name, AT_REMOVEDIR);
        }
    }
    closedir(dir);
    return moved;
}

void workdir_remove(const char *path)
{
    unsigned moved;
    int fd, top;

    if (unlink(path) == 0) {
        return;
    }

    do {
        moved = 0;
        top = workdir_open_folder(AT_FDCWD, path);
        fd = top != -1 ? fcntl(top, F_DUPFD_CLOEXEC, 0) : -1;
        if (fd != -1) {
            moved = workdir_remove_entries(fd, top, 0);
        }
        fd_close(top);
    } while (rmdir(path) != 0 && moved > 0);
}

static int workdir_lock(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd != -1 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        fd_close(fd);
        return -1;
    }
    return fd;
}

/* What is no folder is of no living process either. */
static bool workdir_is_stale(int lock)
{
    return lock != -1 || errno == ENOTDIR || errno == ELOOP;
}

/*
 * A directory that can be locked belongs to no living process.  Of one that
 * cannot be opened, or is on a file system without locks, nothing is known.
 * Another process that has just made one and not locked it yet may lose it
 * here; it notices that in workdir_make_own(), and makes another one.
 */
void workdir_remove_stale(const char *root)
{
    char tmp[WORKDIR_PATH_MAX], path[WORKDIR_PATH_MAX];
    struct dirent *entry;
    int lock, n, fd;
    DIR *dir;

    snprintf(tmp, sizeof(tmp), "%.1024s/" SYMCACHE_TMP_DIR, root);
    /* what a link leads to is somebody else's */
    fd = open(tmp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    dir = fd != -1 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        fd_close(fd);
        return;
    }

    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0) {
            continue;
        }

        n = snprintf(path, sizeof(path), "%s/%s", tmp, entry->d_name);
        if (n < 0 || (size_t)n >= sizeof(path)) {
            continue;
        }

        lock = workdir_lock(path);
        if (lock == -1 && errno == EACCES) {
            workdir_permit_owner(AT_FDCWD, path);
            lock = workdir_lock(path);
        }
        if (!workdir_is_stale(lock)) {
            continue;
        }
        workdir_remove(path);
        fd_close(lock);
    }
    closedir(dir);
}

static int workdir_make_own(struct workdir *workdir, const char *tmp)
{
    int tries, errnum;

    if (workdir_make_path(tmp) != 0) {
        return -1;
    }
    for (tries = 0; tries < 10; tries++) {
        snprintf(workdir->path, sizeof(workdir->path),
                 "%.1100s/" WORKDIR_RUN_PREFIX "XXXXXX", tmp);
        if (mkdtemp(workdir->path) == NULL) {
            return -1;
        }
        /* mkdtemp() makes it 0700, but transcoders may run as another user */
        (void)chmod(workdir->path, 0755);

        workdir->lock = workdir_lock(workdir->path);
        if (workdir->lock != -1 && access(workdir->path, F_OK) == 0) {
            return 0;
        }
        if (workdir->lock != -1) {
            close(workdir->lock);
        } else if (errno != EWOULDBLOCK && errno != ENOENT) {
            errnum = errno; /* a file system without locks, for example */
            (void)rmdir(workdir->path);
            errno = errnum;
            return -1;
        }
    }
    return -1;
}

/* Only chooses a name; workdir_file() makes the directory when there is room.
 * The name is random, because other helpers may use the same root. */
static void workdir_name_own(struct workdir *workdir, const char *tmp)
{
    snprintf(workdir->path, sizeof(workdir->path),
             "%.1100s/" WORKDIR_RUN_PREFIX "%llx", tmp, workdir_random());
    workdir->lock = -1;
}

struct workdir *workdir_open(const char *root)
{
    char tmp[WORKDIR_PATH_MAX];
    struct workdir *workdir;

    snprintf(tmp, sizeof(tmp), "%.1024s/" SYMCACHE_TMP_DIR, root);
    workdir = calloc(1, sizeof(*workdir));
    if (workdir == NULL) {
        return NULL;
    }
    if (workdir_make_own(workdir, tmp) != 0) {
        if (!disk_is_full(errno)) {
            free(workdir);
            return NULL;
        }
        log_warn(errno, "\"%s\" has no room for a work folder", root);
        workdir_name_own(workdir, tmp);
    }
    return workdir;
}

void workdir_close(struct workdir *workdir)
{
    if (workdir == NULL) {
        return;
    }
    workdir_remove(workdir->path);
    fd_close(workdir->lock);
    free(workdir);
}

int workdir_file(struct workdir *workdir, char *buf)
{
    int n = snprintf(buf, WORKDIR_PATH_MAX, "%.*s/%llu", WORKDIR_PATH_MAX - 32,
                     workdir->path, ++workdir->made);

    if (n < 0 || n >= WORKDIR_PATH_MAX) {
        buf[0] = '\0';
        errno = ENAMETOOLONG;
        return -1;
    }

    /* if the directory was removed, the lock is still on the old one */
    if (access(workdir->path, F_OK) == 0) {
        return 0;
    }
    if (workdir_make_path(workdir->path) != 0) {
        return -1;
    }
    fd_close(workdir->lock);
    workdir->lock = workdir_lock(workdir->path);
    return 0;
}

int workdir_make(struct workdir *workdir, char *buf)
{
    return workdir_file(workdir, buf) == 0 ? mkdir(buf, 0755) : -1;
}
