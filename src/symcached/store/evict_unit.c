/*
 * Copyright (C) the ngx_symcache authors
 */
#include "evict_unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REMOVED_PREFIX ".removed-"

static void add_sizes(struct evict_unit *unit, const struct stat *st)
{
    unit->size += (uint64_t)st->st_size;
    unit->disk += (uint64_t)st->st_blocks * 512;
}

void evict_unit_add(struct evict_unit *unit, symcache_file_e file,
                    const struct stat *st)
{
    unit->files[file] = *st;
    add_sizes(unit, st);
    if (file != SYMCACHE_FILE_GZIP) {
        unit->used = st->st_mtime;
    }
}

unsigned evict_unit_files(const struct evict_unit *unit)
{
    unsigned n = 0;
    int i;

    for (i = 0; i < EVICT_UNIT_FILES; i++) {
        n += unit->files[i].st_nlink > 0;
    }
    return n;
}

bool evict_unit_split_gzip(struct evict_unit *unit, struct evict_unit *gzip)
{
    struct stat *file = &unit->files[SYMCACHE_FILE_GZIP];
    const struct stat *plain = &unit->files[SYMCACHE_FILE_PLAIN];

    if (file->st_nlink == 0 ||
        (plain->st_nlink > 0 && file->st_mtime >= plain->st_mtime)) {
        return false;
    }
    *gzip = (struct evict_unit){.kind = unit->kind, .version = unit->version};
    gzip->files[SYMCACHE_FILE_GZIP] = *file;
    add_sizes(gzip, file);
    file->st_nlink = 0;
    unit->size -= gzip->size;
    unit->disk -= gzip->disk;
    return true;
}

static void print_name(char name[SYMCACHE_PATH_MAX + 1],
                       const struct evict_unit *unit, bool downloads,
                       const symcache_key_t *key, symcache_file_e file)
{
    if (downloads) {
        symcache_path_original_name(name, key);
    } else {
        symcache_path_name(name, key, &unit->version, file);
    }
}

void evict_unit_use(const struct evict_unit *unit, int dir, bool downloads,
                    const symcache_key_t *key)
{
    /* The gzip file last, so that it never looks older than its file. */
    static const symcache_file_e order[EVICT_UNIT_FILES] = {
        SYMCACHE_FILE_PLAIN, SYMCACHE_FILE_ABSENT, SYMCACHE_FILE_GZIP};
    char name[SYMCACHE_PATH_MAX + 1];
    int i;

    for (i = 0; i < EVICT_UNIT_FILES; i++) {
        if (unit->files[order[i]].st_nlink > 0) {
            print_name(name, unit, downloads, key, order[i]);
            (void)utimensat(dir, name, NULL, AT_SYMLINK_NOFOLLOW);
        }
    }
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* As evict_unit_remove(), for one file. */
static int remove_file(int dir, const char *name, const struct stat *seen,
                       unsigned long long serial)
{
    char removed[NAME_MAX + 1];
    struct stat st;
    bool stays;

    snprintf(removed, sizeof(removed), REMOVED_PREFIX "%ld-%llu",
             (long)getpid(), serial);
    if (renameat(dir, name, dir, removed) != 0) {
        return errno == ENOENT ? 0 : -1;
    }
    stays = fstatat(dir, removed, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            !same_file(&st, seen);
    if (stays && linkat(dir, removed, dir, name, 0) != 0 && errno != EEXIST &&
        renameat(dir, removed, dir, name) == 0) {
        return 1; /* without hard links on this file system */
    }
    return unlinkat(dir, removed, 0) == 0 || errno == ENOENT ? stays : -1;
}

int evict_unit_remove(const struct evict_unit *unit, int dir, bool downloads,
                      const symcache_key_t *key, unsigned long long *serial)
{
    /* The gzip file first, so that it never stays alone. */
    static const symcache_file_e order[EVICT_UNIT_FILES] = {
        SYMCACHE_FILE_GZIP, SYMCACHE_FILE_PLAIN, SYMCACHE_FILE_ABSENT};
    char name[SYMCACHE_PATH_MAX + 1];
    int i, rc = 0;

    for (i = 0; i < EVICT_UNIT_FILES && rc == 0; i++) {
        if (unit->files[order[i]].st_nlink > 0) {
            print_name(name, unit, downloads, key, order[i]);
            rc = remove_file(dir, name, &unit->files[order[i]], ++*serial);
        }
    }
    return rc;
}

bool evict_unit_is_removed(const char *name)
{
    return strncmp(name, REMOVED_PREFIX, strlen(REMOVED_PREFIX)) == 0;
}
