/*
 * Copyright (C) the ngx_symcache authors
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <event2/event.h>
#include "clean.h"
#include "log.h"
#include "metrics.h"
#include "proto/symcache_path.h"

/* Entries at a time, and the pause behind them: 25 thousand a second. */
#define STEP_ENTRIES 250
#define STEP_PAUSE_MS 10

/* <downloads>/<store>/<pdb>/<id>/<file>; a store has one level less */
#define LEVELS 4

struct level {
    DIR *dir;
    char name[NAME_MAX + 1]; /* within the level above */
};

struct clean {
    struct config *next;   /* reference: for the next pass */
    struct config *config; /* reference: of this pass, or NULL */
    struct event *timer;   /* the next step, or the next pass */
    size_t tree;           /* stores, then the downloads */
    struct level levels[LEVELS];
    int depth; /* open levels */
    unsigned long long files;
    unsigned long long bytes;
    time_t began;
};

static bool in_downloads(const struct clean *clean)
{
    return clean->tree == clean->config->nstores;
}

static const char *tree_root(const struct clean *clean)
{
    return in_downloads(clean) ? clean->config->downloads
                               : clean->config->stores[clean->tree].root;
}

static void schedule(struct clean *clean, time_t seconds, long ms)
{
    struct timeval tv = {.tv_sec = seconds, .tv_usec = ms * 1000};

    evtimer_add(clean->timer, &tv);
}

/* How long this file may be unused; 0 = it is none of ours. */
static unsigned lifetime(const struct clean *clean, const char *name)
{
    const struct cache_config *cache = &clean->config->cache;
    const struct level *levels = clean->levels;
    char path[3 * (NAME_MAX + 1)];
    symcache_version_t version;
    symcache_file_e kind;
    symcache_key_t key;

    if (in_downloads(clean)) {
        return clean->depth == 4 && strcmp(levels[2].name, name) == 0
                   ? cache->downloads_max_unused_for
                   : 0;
    }

    if (clean->depth != 3) {
        return 0;
    }
    snprintf(path, sizeof(path), "%s/%s/%s", levels[1].name, levels[2].name,
             name);
    if (!symcache_path_file_parse(path, strlen(path), &key, &version, &kind)) {
        return 0;
    }
    if (kind != SYMCACHE_FILE_ABSENT) {
        return cache->max_unused_for;
    }
    return cache->retry_misses_after > cache->retry_malformed_after
               ? cache->retry_misses_after
               : cache->retry_malformed_after;
}

static void remove_file(struct clean *clean, int dir, const char *name,
                        const struct stat *st)
{
    if (unlinkat(dir, name, 0) != 0) {
        return;
    }
    clean->files++;
    clean->bytes += (unsigned long long)st->st_size;
    metrics_add(METRIC_CLEANED_FILES, 1);
    metrics_add(METRIC_CLEANED_BYTES, (uint64_t)st->st_size);
}

/* A sidecar whose file has gone, or was replaced. */
static bool is_orphan(int dir, const char *name, const struct stat *st)
{
    char plain[NAME_MAX + 1];
    struct stat file;
    size_t len = strlen(name);

    if (len < 4 || strcmp(name + len - 3, ".gz") != 0) {
        return false;
    }
    snprintf(plain, sizeof(plain), "%.*s", (int)len - 3, name);
    return fstatat(dir, plain, &file, AT_SYMLINK_NOFOLLOW) != 0
               ? errno == ENOENT
               : file.st_mtime > st->st_mtime;
}

/* Before its file: it never stays alone. */
static void remove_sidecar(struct clean *clean, int dir, const char *name)
{
    char gzip[NAME_MAX + 4];
    struct stat st;

    snprintf(gzip, sizeof(gzip), "%s.gz", name);
    if (fstatat(dir, gzip, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        remove_file(clean, dir, gzip, &st);
    }
}

static void visit_file(struct clean *clean, int dir, const char *name,
                       const struct stat *st)
{
    unsigned life = lifetime(clean, name);

    if (life == 0) {
        return;
    }
    if (clean->began - st->st_mtime > (time_t)life) {
        if (!in_downloads(clean)) {
            remove_sidecar(clean, dir, name);
        }
        remove_file(clean, dir, name, st);
    } else if (!in_downloads(clean) && is_orphan(dir, name, st)) {
        remove_file(clean, dir, name, st);
    }
}

static bool enter(struct clean *clean, int dir, const char *name)
{
    struct level *level = &clean->levels[clean->depth];
    int fd =
        openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd == -1) {
        return false;
    }
    level->dir = fdopendir(fd);
    if (level->dir == NULL) {
        close(fd);
        return false;
    }
    snprintf(level->name, sizeof(level->name), "%.*s", NAME_MAX,
             clean->depth == 0 ? "" : name);
    clean->depth++;
    return true;
}

static void leave(struct clean *clean)
{
    struct level *level = &clean->levels[--clean->depth];

    closedir(level->dir);
    if (clean->depth > 0) {
        /* fails where something is left in it, which is right; a writer that
           loses its new folder makes it again */
        (void)unlinkat(dirfd(clean->levels[clean->depth - 1].dir), level->name,
                       AT_REMOVEDIR);
    }
}

/* One entry of the innermost folder, or the way out of it. */
static void step(struct clean *clean)
{
    DIR *dir = clean->levels[clean->depth - 1].dir;
    struct dirent *entry = readdir(dir);
    struct stat st;
    int levels = in_downloads(clean) ? 4 : 3;

    if (entry == NULL) {
        leave(clean);
        return;
    }
    if (entry->d_name[0] == '.' ||
        fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return; /* ".tmp" too */
    }
    if (S_ISREG(st.st_mode)) {
        visit_file(clean, dirfd(dir), entry->d_name, &st);
    } else if (S_ISDIR(st.st_mode) && clean->depth < levels) {
        enter(clean, dirfd(dir), entry->d_name);
    }
}

static void begin_pass(struct clean *clean)
{
    clean->config = config_ref(clean->next);
    clean->tree = 0;
    clean->files = clean->bytes = 0;
    clean->began = time(NULL);
    enter(clean, AT_FDCWD, tree_root(clean));
}

static void end_pass(struct clean *clean)
{
    if (clean->files > 0) {
        log_info(0, "clean files=%llu bytes=%llu seconds=%lld", clean->files,
                 clean->bytes, (long long)(time(NULL) - clean->began));
    }
    config_unref(clean->config);
    clean->config = NULL;
    schedule(clean, (time_t)clean->next->cache.clean_every, 0);
}

static void on_timer(evutil_socket_t fd, short events, void *arg)
{
    struct clean *clean = arg;
    int n;

    if (clean->config == NULL) {
        begin_pass(clean);
    }

    for (n = 0; n < STEP_ENTRIES; n++) {
        if (clean->depth > 0) {
            step(clean);
            continue;
        }
        if (in_downloads(clean)) {
            end_pass(clean);
            return;
        }
        clean->tree++;
        enter(clean, AT_FDCWD, tree_root(clean));
    }
    schedule(clean, 0, STEP_PAUSE_MS);
}

struct clean *clean_new(struct event_base *base, struct config *config)
{
    struct clean *clean = calloc(1, sizeof(*clean));

    if (clean == NULL) {
        return NULL;
    }
    clean->timer = evtimer_new(base, on_timer, clean);
    if (clean->timer == NULL) {
        free(clean);
        return NULL;
    }
    clean->next = config_ref(config);
    schedule(clean, (time_t)config->cache.clean_every, 0);
    return clean;
}

void clean_configure(struct clean *clean, struct config *config)
{
    config_ref(config);
    config_unref(clean->next);
    clean->next = config;
    if (clean->config == NULL) {
        schedule(clean, (time_t)config->cache.clean_every, 0);
    }
}

void clean_free(struct clean *clean)
{
    if (clean == NULL) {
        return;
    }
    while (clean->depth > 0) {
        closedir(clean->levels[--clean->depth].dir);
    }
    event_free(clean->timer);
    config_unref(clean->config);
    config_unref(clean->next);
    free(clean);
}
