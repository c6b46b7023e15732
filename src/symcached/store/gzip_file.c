/*
 * Copyright (C) the ngx_symcache authors
 */
#include "gzip_file.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd_close.h"
#include "base/log.h"
#include "metrics/metrics.h"
#include "symcached/space/space.h"
#include "store.h"
#include "base/workdir.h"

#define GZIP_WAITING 1000 /* the others are asked for again */
#define GZIP_FILE_FULL_MS (60 * 1000) /* pause after there was no room */

struct gzip_file {
    TAILQ_ENTRY(gzip_file) next;
    char *root;
    struct cache_config cache; /* for its min_free */
    struct workdir *workdir;
    symcache_key_t key;
    symcache_version_t version;
    struct stat plain; /* the file that is being compressed, as it was then */
    char tmp[WORKDIR_PATH_MAX];
};

struct gzip_files {
    struct event_base *base;
    struct event *pump;
    TAILQ_HEAD(, gzip_file) waiting;
    unsigned nwaiting;
    struct gzip_file *running;
    struct child *child;
    bool full; /* there was no room for the last one */
    uint64_t full_since;
    bool stopping;
};

static void gzip_file_free(struct gzip_file *gzip_file)
{
    if (gzip_file->tmp[0] != '\0') {
        (void)unlink(
            gzip_file->tmp); /* fails after the rename, as it should */
    }
    free(gzip_file->root);
    free(gzip_file);
}

static void gzip_file_path(const struct gzip_file *gzip_file,
                           symcache_file_e kind, char path[PATH_MAX])
{
    store_path(path, gzip_file->root, &gzip_file->key, &gzip_file->version,
               kind);
}

/* Does the file exist without a gzip file that belongs to it? */
static bool gzip_file_needed(struct gzip_file *gzip_file)
{
    char path[PATH_MAX];
    struct stat gzip;

    gzip_file_path(gzip_file, SYMCACHE_FILE_PLAIN, path);
    if (lstat(path, &gzip_file->plain) != 0 ||
        !S_ISREG(gzip_file->plain.st_mode) || gzip_file->plain.st_size == 0) {
        return false;
    }

    gzip_file_path(gzip_file, SYMCACHE_FILE_GZIP, path);
    return lstat(path, &gzip) != 0 || !S_ISREG(gzip.st_mode) ||
           gzip.st_mtime < gzip_file->plain.st_mtime;
}

/* Publishes the gzip file, if the file is still the one that was
 * compressed. */
static int gzip_file_publish(const struct gzip_file *gzip_file)
{
    char path[PATH_MAX];
    struct timespec times[2];
    struct stat now;

    gzip_file_path(gzip_file, SYMCACHE_FILE_PLAIN, path);
    if (stat(path, &now) != 0 || now.st_ino != gzip_file->plain.st_ino ||
        now.st_dev != gzip_file->plain.st_dev ||
        now.st_size != gzip_file->plain.st_size) {
        errno = ESTALE;
        return -1;
    }

    times[0] = times[1] = now.st_mtim;
    if (stat(gzip_file->tmp, &now) != 0 ||
        utimensat(AT_FDCWD, gzip_file->tmp, times, 0) != 0) {
        return -1;
    }

    gzip_file_path(gzip_file, SYMCACHE_FILE_GZIP, path);
    if (rename(gzip_file->tmp, path) != 0) {
        return -1;
    }
    metrics_add(METRIC_GZIP_MADE, 1);
    metrics_add(METRIC_GZIP_BYTES, (uint64_t)now.st_size);
    return 0;
}

static void gzip_file_log(const struct gzip_file *gzip_file, int errnum,
                          const char *what)
{
    char path[PATH_MAX];

    metrics_add(METRIC_GZIP_FAILED, 1);
    gzip_file_path(gzip_file, SYMCACHE_FILE_GZIP, path);
    log_warn(errnum, "\"%s\" was not made: %s; the file itself is served",
             path, what);
}

static void gzip_file_on_exit(void *arg, struct child_result *result)
{
    struct gzip_files *gzip_files = arg;
    struct gzip_file *gzip_file = gzip_files->running;

    gzip_files->running = NULL;
    gzip_files->child = NULL;

    if (result->timed_out || !WIFEXITED(result->status) ||
        WEXITSTATUS(result->status) != 0) {
        result->tail[strcspn(result->tail, "\n")] = '\0';
        gzip_files->full = WIFEXITED(result->status) &&
                           WEXITSTATUS(result->status) == GZIP_FILE_FULL;
        gzip_files->full_since = clock_ms();
        gzip_file_log(gzip_file, 0,
                      result->timed_out            ? "it took too long"
                      : !WIFEXITED(result->status) ? "its process was killed"
                                                   : result->tail);
    } else if (gzip_file_publish(gzip_file) != 0) {
        if (errno == ESTALE) {
            log_debug(0, "the file of a gzip file has changed meanwhile");
        } else {
            gzip_file_log(gzip_file, errno, "rename");
        }
    }

    gzip_file_free(gzip_file);
    event_active(gzip_files->pump, 0, 0);
}

/* Starts one of the two programs, whose arguments are how much stays free and
 * how much may be written. */
static struct child *spawn_gzip(struct event_base *base, const char *what,
                                const struct cache_config *cache, int in,
                                int out, uint64_t max, child_done_fn done,
                                void *arg)
{
    char keep[24], most[24];
    const char *argv[] = {SANDBOX_PROGRAM, what, keep, most, NULL};
    static char *env[] = {NULL};
    int fds[2] = {in, out};
    struct child_options options = {
        .argv = (char *const *)argv,
        .env = env,
        .fds = fds,
        .nfds = 2,
        .seconds = GZIP_FILE_SECONDS,
    };

    snprintf(keep, sizeof(keep), "%" PRIu64, disk_space_kept(out, cache));
    snprintf(most, sizeof(most), "%" PRIu64, max);
    return child_start(base, &options, done, arg);
}

struct child *gzip_start(struct event_base *base,
                         const struct cache_config *cache, int in, int out,
                         child_done_fn done, void *arg)
{
    return spawn_gzip(base, "--gzip", cache, in, out, UINT64_MAX, done, arg);
}

struct child *gunzip_start(struct event_base *base,
                           const struct cache_config *cache, int in, int out,
                           uint64_t max, child_done_fn done, void *arg)
{
    return spawn_gzip(base, "--gunzip", cache, in, out, max, done, arg);
}

static int gzip_file_start(struct gzip_files *gzip_files,
                           struct gzip_file *gzip_file)
{
    char path[PATH_MAX];
    int in, out = -1;

    gzip_file_path(gzip_file, SYMCACHE_FILE_PLAIN, path);
    in = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (in != -1 && fstat(in, &gzip_file->plain) == 0) {
        workdir_file(gzip_file->workdir, gzip_file->tmp);
        out = open(gzip_file->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                   0644);
    }
    if (out != -1) {
        gzip_files->child = gzip_start(gzip_files->base, &gzip_file->cache, in,
                                       out, gzip_file_on_exit, gzip_files);
    }

    fd_close(in);
    fd_close(out);
    return gzip_files->child != NULL ? 0 : -1;
}

/* Was there no room a moment ago?  What is left is for the files. */
static bool gzip_files_pause(struct gzip_files *gzip_files)
{
    if (gzip_files->full &&
        clock_since(gzip_files->full_since) >= GZIP_FILE_FULL_MS) {
        gzip_files->full = false;
    }
    return gzip_files->full;
}

static void gzip_files_on_pump(evutil_socket_t fd, short events, void *arg)
{
    struct gzip_files *gzip_files = arg;
    struct gzip_file *gzip_file;

    while (gzip_files->running == NULL &&
           (gzip_file = TAILQ_FIRST(&gzip_files->waiting)) != NULL) {
        TAILQ_REMOVE(&gzip_files->waiting, gzip_file, next);
        gzip_files->nwaiting--;

        if (gzip_files_pause(gzip_files)) {
            metrics_add(METRIC_GZIP_SKIPPED, 1);
            gzip_file_free(gzip_file);
        } else if (!gzip_file_needed(gzip_file)) {
            gzip_file_free(gzip_file);
        } else if (gzip_file_start(gzip_files, gzip_file) != 0) {
            gzip_file_log(gzip_file, errno, "it cannot be started");
            gzip_file_free(gzip_file);
        } else {
            gzip_files->running = gzip_file;
        }
    }
}

static bool gzip_file_is(const struct gzip_file *gzip_file, const char *root,
                         const symcache_key_t *key,
                         const symcache_version_t *version)
{
    return symcache_version_cmp(&gzip_file->version, version) == 0 &&
           symcache_key_equal(&gzip_file->key, key) &&
           strcmp(gzip_file->root, root) == 0;
}

static bool gzip_files_has(const struct gzip_files *gzip_files,
                           const char *root, const symcache_key_t *key,
                           const symcache_version_t *version)
{
    const struct gzip_file *gzip_file;

    TAILQ_FOREACH(gzip_file, &gzip_files->waiting, next)
    {
        if (gzip_file_is(gzip_file, root, key, version)) {
            return true;
        }
    }
    return false;
}

void gzip_files_want(struct gzip_files *gzip_files, const char *root,
                     const struct cache_config *cache, struct workdir *workdir,
                     const symcache_key_t *key,
                     const symcache_version_t *version)
{
    struct gzip_file *gzip_file;

    if (gzip_files->stopping || workdir == NULL ||
        gzip_files_has(gzip_files, root, key, version)) {
        return;
    }
    if (gzip_files->nwaiting >= GZIP_WAITING ||
        gzip_files_pause(gzip_files)) {
        metrics_add(METRIC_GZIP_SKIPPED, 1);
        return;
    }

    gzip_file = calloc(1, sizeof(*gzip_file));
    if (gzip_file == NULL) {
        return;
    }
    gzip_file->root = strdup(root);
    gzip_file->cache = *cache;
    gzip_file->workdir = workdir;
    symcache_key_copy(&gzip_file->key, key);
    gzip_file->version = *version;
    if (gzip_file->root == NULL || !gzip_file_needed(gzip_file)) {
        gzip_file_free(gzip_file);
        return;
    }

    TAILQ_INSERT_TAIL(&gzip_files->waiting, gzip_file, next);
    gzip_files->nwaiting++;
    event_active(gzip_files->pump, 0, 0);
}

/* life -------------------------------------------------------------------- */

struct gzip_files *gzip_files_new(struct event_base *base)
{
    struct gzip_files *gzip_files = calloc(1, sizeof(*gzip_files));

    if (gzip_files == NULL) {
        return NULL;
    }
    TAILQ_INIT(&gzip_files->waiting);
    gzip_files->base = base;
    gzip_files->pump = event_new(base, -1, 0, gzip_files_on_pump, gzip_files);
    if (gzip_files->pump == NULL) {
        free(gzip_files);
        return NULL;
    }
    return gzip_files;
}

void gzip_files_stop(struct gzip_files *gzip_files)
{
    struct gzip_file *gzip_file;

    gzip_files->stopping = true;
    while ((gzip_file = TAILQ_FIRST(&gzip_files->waiting)) != NULL) {
        TAILQ_REMOVE(&gzip_files->waiting, gzip_file, next);
        gzip_file_free(gzip_file);
    }
    if (gzip_files->running != NULL) {
        child_cancel(gzip_files->child);
        gzip_file_free(gzip_files->running);
        gzip_files->running = NULL;
    }
}

void gzip_files_free(struct gzip_files *gzip_files)
{
    if (gzip_files == NULL) {
        return;
    }
    gzip_files_stop(gzip_files);
    event_free(gzip_files->pump);
    free(gzip_files);
}
