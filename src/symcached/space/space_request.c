/*
 * Copyright (C) the ngx_symcache authors
 */
#include "space_request.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/path.h"

#define SPACE_REQUEST_SPARE 16 /* of that half is freed in addition */
#define WORK_DEPTH                                                            \
    12 /* levels of folders below a work folder that are counted */

void space_requests_add(struct space_requests *requests,
                        const struct space_request *request)
{
    size_t i = 0;

    while (i < requests->n && requests->requests[i].device != request->device) {
        i++;
    }
    if (i == SPACE_REQUESTS_MAX) {
        return;
    }
    if (i == requests->n || request->bytes > requests->requests[i].bytes) {
        requests->requests[i] = *request;
    }
    requests->n += i == requests->n;
}

struct space_request space_requests_take(struct space_requests *requests)
{
    struct space_request first = {0};

    if (requests->n > 0) {
        first = requests->requests[0];
        requests->n--;
        memmove(requests->requests, requests->requests + 1,
                requests->n * sizeof(requests->requests[0]));
    }
    return first;
}

uint64_t space_request_share(const struct space_usage *space,
                             enum space_request_kind kind)
{
    uint64_t all =
        space->free + space->removable + space->claimed + space->arrived;

    return kind == SPACE_ANNOUNCED ? all / 4 : all / 2;
}

uint64_t space_request_most(const struct space_usage *space,
                            enum space_request_kind kind)
{
    uint64_t share = space_request_share(space, kind);
    uint64_t here = space->free + space->removable, taken, most;

    taken = space->claimed + (kind == SPACE_ANNOUNCED ? 0 : space->arrived);
    most = share > taken ? share - taken : 0;
    return most < here ? most : here;
}

uint64_t space_request_grant(const struct space_usage *space,
                             enum space_request_kind kind, uint64_t bytes)
{
    uint64_t most = space_request_most(space, kind);
    uint64_t more =
        bytes + space_request_share(space, SPACE_ARRIVED) / SPACE_REQUEST_SPARE;

    if (bytes > most) {
        return 0;
    }
    return more < most ? more : most;
}

/* st_blocks also counts space reserved after the end of the file. */
static void add_usage(struct space_usage *space, const struct stat *st)
{
    uint64_t disk = (uint64_t)st->st_blocks * 512;
    uint64_t size = (uint64_t)st->st_size;

    space->arrived += size < disk ? size : disk;
    space->claimed += size < disk ? disk - size : 0;
}

static void walk_usage(int dir, const char *name, unsigned depth,
                       struct space_usage *space)
{
    int fd =
        openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd != -1 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    struct stat st;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0 ||
            fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        if (S_ISREG(st.st_mode)) {
            add_usage(space, &st);
        } else if (S_ISDIR(st.st_mode) && depth > 0) {
            walk_usage(fd, entry->d_name, depth - 1, space);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    } else if (fd != -1) {
        close(fd);
    }
}

void space_request_look(const char *root, struct space_usage *space)
{
    char tmp[PATH_MAX];

    snprintf(tmp, sizeof(tmp), "%.1024s/" SYMCACHE_TMP_DIR, root);
    walk_usage(AT_FDCWD, tmp, WORK_DEPTH, space);
}
