/*
 * Copyright (C) the ngx_symcache authors
 */
#include "ready.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <event2/event.h>
#include "base/clock.h"
#include "base/disk_full.h"
#include "base/event.h"
#include "base/log.h"
#include "base/task.h"
#include "http/http.h"
#include "proto/header.h"
#include "symcached/job/job.h"
#include "symcached/space/space.h"
#include "symcached/store/store.h"
#include "symcached/upload_index/upload_index.h"

#define READY_SECONDS 5
#define READY_SILENT_MS 3000 /* a disk that takes longer does not answer */

static const char starting[] = "starting";

/* The disks that one thread looks at: one that hangs keeps no look at others
 * from its end. */
struct ready_group {
    struct ready *ready;
    bool is_of_uploads; /* without them lookups are still answered */
    struct task *task;  /* a look at the disks, or NULL */
    uint64_t began;     /* clock_ms() of it */
    bool has_spool;     /* at the last look, or before */
    const char *why;    /* what the last one found; NULL: nothing */
    cJSON *disks;       /* of ready_disks(), without sizes; NULL at first */
};

struct ready {
    struct event_base *base;
    struct scheduler *scheduler;
    struct event *timer;
    struct ready_group lookups, uploads;
    void (*uploads_back)(void *arg);
    void *arg;
};

/* One look at the disks, with a configuration that lasts as long.  Its thread
 * can outlive the group. */
struct ready_look {
    struct ready_group *group; /* for the loop alone */
    bool is_of_uploads;
    bool has_spool;
    struct config *config;
    const char *why;  /* as in struct ready */
    const char *path; /* the folder that it is about, or NULL */
    int errnum;       /* of that folder */
    struct disk_space space;
    cJSON *disks;     /* array */
};

/* Writes a byte to a file without a name.  Returns 0, or an errno. */
static int ready_try_write(const char *path)
{
    int fd = open(path, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    int errnum;

    if (fd < 0) {
        /* not every file system has such files */
        return (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) ||
                       access(path, W_OK) != 0
                   ? errno
                   : 0;
    }
    errnum = write(fd, "", 1) == 1 ? 0 : errno;
    if (close(fd) != 0 && errnum == 0) {
        errnum = errno; /* network file systems report it here */
    }
    return errnum;
}

/* A missing folder is not a fault: the next job creates it.  Where a symbolic
 * link leads, as to a disk that is not mounted, none does. */
static bool ready_is_created(const char *path)
{
    struct stat st;

    return lstat(path, &st) != 0 || !S_ISLNK(st.st_mode);
}

/* With the folder in which nginx writes the bodies, another disk has gone, or
 * somebody has removed it: only nginx makes it, when it starts.  Returns 0, or
 * an errno. */
static int ready_find_spool(struct ready_look *look)
{
    int errnum =
        access(look->config->uploads.spool, F_OK) == 0 ? 0 : errno;

    look->has_spool = look->has_spool || errnum == 0;
    return look->has_spool ? errnum : 0;
}

static void ready_look_at(struct ready_look *look, const char *kind,
                          const char *store, const char *path)
{
    cJSON *disk = cJSON_CreateObject();
    struct disk_space space = {0};
    int errnum = disk_space_look(path, &look->config->cache, &space) != 0
                     ? errno
                 : space.free <= space.kept ? ENOSPC
                                            : ready_try_write(path);

    errnum = errnum != ENOENT || !ready_is_created(path) ? errnum : 0;
    if (errnum == 0 && look->is_of_uploads) {
        errnum = ready_find_spool(look);
        path = errnum != 0 ? look->config->uploads.spool : path;
    }
    if (errnum == 0 && look->is_of_uploads) {
        errnum = root_mark_check(look->config);
    }
    if (errnum != 0) {
        look->why = disk_is_full(errnum) ? "no-room" : "no-disk";
        look->path = path;
        look->errnum = errnum;
        look->space = space;
    }
    cJSON_AddStringToObject(disk, "kind", kind);
    cJSON_AddStringToObject(disk, "store", store);
    cJSON_AddStringToObject(disk, "path", path);
    cJSON_AddStringToObject(disk, "failure",
                            errnum != 0 ? strerror(errnum) : "");
    cJSON_AddNumberToObject(disk, "size", (double)space.size);
    cJSON_AddNumberToObject(disk, "free", (double)space.free);
    cJSON_AddNumberToObject(disk, "kept", (double)space.kept);
    cJSON_AddItemToArray(look->disks, disk);
}

static void disk_look_run(void *arg)
{
    struct ready_look *look = arg;
    size_t i;

    look->disks = cJSON_CreateArray();
    if (look->is_of_uploads) {
        ready_look_at(look, "uploads", "", look->config->uploads.root);
        return;
    }
    for (i = 0; i < look->config->nstores; i++) {
        ready_look_at(look, "store", look->config->stores[i].name,
                      look->config->stores[i].root);
    }
    ready_look_at(look, "downloads", "", look->config->downloads);
}

static void ready_log_change(const struct ready_group *group,
                             const struct ready_look *look)
{
    char space[96] = "";

    if (look->why == NULL) {
        if (group->why != NULL && group->why != starting) {
            log_info(0, "ready: the disks of %s take files",
                     group->is_of_uploads ? "uploads"
                                          : "stores and downloads");
        }
        return;
    }
    if (group->why != NULL && strcmp(group->why, look->why) == 0) {
        return;
    }
    if (disk_is_full(look->errnum) && look->space.kept > 0) {
        snprintf(space, sizeof(space),
                 ": %" PRIu64 " bytes free, cache.min_free keeps %" PRIu64,
                 look->space.free, look->space.kept);
    }
    log_error(look->errnum, "%s (%s): \"%s\" takes no files%s",
              group->is_of_uploads ? "uploads are refused" : "not ready",
              look->why, look->path, space);
}

static const char *group_why_not(const struct ready_group *group)
{
    if (group->task != NULL && clock_since(group->began) > READY_SILENT_MS) {
        return "no-disk";
    }
    return group->why;
}

/*
 * Without requests nothing else might ask for room until the next pass of
 * cleaning, and without room there would be no requests.
 */
static void disk_look_done(void *arg, bool late)
{
    struct ready_look *look = arg;
    struct ready_group *group = look->group;
    const struct ready *ready = group->ready;
    bool is_back = group_why_not(group) != NULL && look->why == NULL;

    group->task = NULL;
    ready_log_change(group, look);
    group->why = look->why;
    group->has_spool = look->has_spool;
    cJSON_Delete(group->disks);
    group->disks = look->disks;
    look->disks = NULL;
    if (look->path != NULL && disk_is_full(look->errnum)) {
        disk_space_want_in(look->path, 0);
    }
    if (is_back && group->is_of_uploads) {
        ready->uploads_back(ready->arg);
    }
}

static void disk_look_drop(void *arg)
{
    struct ready_look *look = arg;

    config_unref(look->config);
    cJSON_Delete(look->disks);
    free(look);
}

static const struct task_calls disk_look_calls = {
    disk_look_run, disk_look_done, disk_look_drop};

/* Where the disks hang, one thread waits for them, and no more are started. */
static void start_look(struct ready_group *group)
{
    const struct ready *ready = group->ready;
    struct ready_look *look;

    if (group->task != NULL) {
        return;
    }
    look = calloc(1, sizeof(*look));
    if (look == NULL) {
        return;
    }
    look->group = group;
    look->is_of_uploads = group->is_of_uploads;
    look->has_spool = group->has_spool;
    look->config =
        config_ref((struct config *)scheduler_config(ready->scheduler));
    group->began = clock_ms();
    group->task = task_start(ready->base, 0, &disk_look_calls, look);
}

static void ready_on_timer(evutil_socket_t fd, short events, void *arg)
{
    struct ready *ready = arg;

    start_look(&ready->lookups);
    if (scheduler_config(ready->scheduler)->uploads.root != NULL) {
        start_look(&ready->uploads);
    } else { /* also after a reload that takes it away */
        ready->uploads.why = NULL;
        cJSON_Delete(ready->uploads.disks);
        ready->uploads.disks = NULL;
    }
}

struct ready *ready_new(struct event_base *base, struct scheduler *scheduler,
                        void (*uploads_back)(void *arg), void *arg)
{
    static const struct timeval every = {.tv_sec = READY_SECONDS};
    struct ready *ready = calloc(1, sizeof(*ready));

    if (ready == NULL) {
        return NULL;
    }
    ready->base = base;
    ready->scheduler = scheduler;
    ready->uploads_back = uploads_back;
    ready->arg = arg;
    ready->lookups.ready = ready;
    ready->lookups.why = starting;
    ready->uploads.ready = ready;
    ready->uploads.is_of_uploads = true;
    ready->timer = event_new(base, -1, EV_PERSIST, ready_on_timer, ready);
    if (ready->timer == NULL || event_add(ready->timer, &every) != 0) {
        ready_free(ready);
        return NULL;
    }
    ready_on_timer(-1, 0, ready);
    return ready;
}

void ready_free(struct ready *ready)
{
    if (ready == NULL) {
        return;
    }
    task_cancel(ready->lookups.task);
    task_cancel(ready->uploads.task);
    event_drop(ready->timer);
    cJSON_Delete(ready->lookups.disks);
    cJSON_Delete(ready->uploads.disks);
    free(ready);
}

const char *ready_why_not(const struct ready *ready)
{
    struct scheduler_gauges g;

    scheduler_gauges(ready->scheduler, &g);
    if (g.draining) {
        return SYMCACHE_REASON_DRAINING;
    }
    return group_why_not(&ready->lookups);
}

const char *ready_why_no_uploads(const struct ready *ready)
{
    const char *why = group_why_not(&ready->uploads);

    return why == NULL && scheduler_tier_refuses_uploads(ready->scheduler)
               ? "no-tier"
               : why;
}

cJSON *ready_disks(const struct ready *ready, const struct evict *evict)
{
    cJSON *disks = cJSON_CreateArray(), *copy;
    const cJSON *disk;

    cJSON_ArrayForEach(disk, ready->lookups.disks)
    {
        copy = cJSON_Duplicate(disk, true);
        evict_add_sizes(evict, copy);
        cJSON_AddItemToArray(disks, copy);
    }
    cJSON_ArrayForEach(disk, ready->uploads.disks)
    {
        cJSON_AddItemToArray(disks, cJSON_Duplicate(disk, true));
    }
    return disks;
}

void ready_page(const struct ready *ready, struct evhttp_request *req)
{
    const char *why = ready_why_not(ready);
    const char *no_uploads = ready_why_no_uploads(ready);
    cJSON *object;

    if (why != NULL) {
        reply_header(req, SYMCACHE_HEADER_REASON, why);
        reply_error(req, 503, why, "requests are better sent elsewhere");
        return;
    }
    object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "status", "ok");
    if (no_uploads != NULL) {
        cJSON_AddStringToObject(object, "uploads", no_uploads);
    }
    reply_json(req, object);
}
