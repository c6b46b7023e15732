/*
 * Copyright (C) the ngx_symcache authors
 */
#include "wish.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/path.h"

#define WISH_SPARE 16 /* of that half is freed in addition */
#define WISH_DEPTH                                                            \
    12 /* levels of folders below a work folder that are counted */

void wishes_add(struct wishes *wishes, const struct wish *wish)
{
    size_t i = 0;

    while (i < wishes->n && wishes->wishes[i].device != wish->device) {
        i++;
    }
    if (i == WISHES) {
        return;
    }
    if (i == wishes->n || wish->bytes > wishes->wishes[i].bytes) {
        wishes->wishes[i] = *wish;
    }
    wishes->n += i == wishes->n;
}

struct wish wishes_take(struct wishes *wishes)
{
    struct wish first = {0};

    if (wishes->n > 0) {
        first = wishes->wishes[0];
        wishes->n--;
        memmove(wishes->wishes, wishes->wishes + 1,
                wishes->n * sizeof(wishes->wishes[0]));
    }
    return first;
}

uint64_t wish_share(const struct wish_space *space, enum wish_kind kind)
{
    uint64_t all =
        space->free + space->removable + space->claimed + space->arrived;

    return kind == WISH_CLAIM ? all / 4 : all / 2;
}

uint64_t wish_most(const struct wish_space *space, enum wish_kind kind)
{
    uint64_t share = wish_share(space, kind);
    uint64_t here = space->free + space->removable, taken, most;

    taken = space->claimed + (kind == WISH_CLAIM ? 0 : space->arrived);
    most = share > taken ? share - taken : 0;
    return most < here ? most : here;
}

uint64_t wish_grant(const struct wish_space *space, enum wish_kind kind,
                    uint64_t bytes)
{
    uint64_t most = wish_most(space, kind);
    uint64_t more = bytes + wish_share(space, WISH_BODY) / WISH_SPARE;

    if (bytes > most) {
        return 0;
    }
    return more < most ? more : most;
}

/* st_blocks also counts what is reserved behind the end of the file. */
static void add(struct wish_space *space, const struct stat *st)
{
    uint64_t disk = (uint64_t)st->st_blocks * 512;
    uint64_t size = (uint64_t)st->st_size;

    space->arrived += size < disk ? size : disk;
    space->claimed += size < disk ? disk - size : 0;
}

static void walk(int dir, const char *name, unsigned depth,
                 struct wish_space *space)
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
            add(space, &st);
        } else if (S_ISDIR(st.st_mode) && depth > 0) {
            walk(fd, entry->d_name, depth - 1, space);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    } else if (fd != -1) {
        close(fd);
    }
}

void wish_look(const char *root, struct wish_space *space)
{
    char tmp[PATH_MAX];

    snprintf(tmp, sizeof(tmp), "%.1024s/" SYMCACHE_TMP_DIR, root);
    walk(AT_FDCWD, tmp, WISH_DEPTH, space);
}
