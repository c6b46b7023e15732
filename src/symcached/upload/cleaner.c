/*
 * Copyright (C) the ngx_symcache authors
 */
#include "cleaner.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/util.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "base/build_list.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/task.h"
#include "base/uptime.h"
#include "config/config.h"
#include "metrics/metrics.h"
#include "symcached/upload_index/upload_index.h"
#include "build_retention.h"
#include "nginx_body_file.h"
#include "removal.h"
#include "retention.h"
#include "tier_copy.h"
#include "symcached/job/job.h"
#include "upload_state.h"

#define FIRST_SECONDS 1

/* How often the index is compared with all files, which takes longer than to
 * look how long they are kept. */
#define UPLOAD_INDEX_SECONDS 86400

/* When the clock has got ahead of the time that symcached ran, nothing is
 * removed for so long: a clock that is wrong is put right by then, and nobody
 * else has these files. */
#define DOUBT_SECONDS 21600

/* How often it is looked whether a pass is due, as a reload may change that. */
#define LOOK_SECONDS 10

struct cleaner {
    struct uploads *uploads;
    struct cleaner_removing
        *removing; /* what the last pass has found, or NULL */
    struct event_base *base;
    struct scheduler *scheduler;
    struct event *timer;
    struct task *task; /* a pass, or NULL */
    uint64_t passed;   /* when the last one ended, or 0 */
    uint64_t run;      /* this symcached, see struct uptime_run */
    uint64_t began;
    uint64_t indexed;  /* when the last one began that compared the index with
                          all files, or 0 */
    size_t builds;     /* that the last pass has left */
};

/* The thread's own. */
struct cleaner_pass {
    struct cleaner *cleaner;
    struct config *config;
    struct retention_sum sum;
    size_t ntry; /* of what was found, those before it are no try builds */
    bool indexes; /* see struct retention_rules */
    struct builds *builds[2]; /* of try builds: the second one; or NULL */
    size_t nbuilds;           /* that have gone */
    size_t kept, open;        /* of those that stay: by a rule, without one */
    unsigned unread;          /* roots whose lists cannot be read */
    time_t begun;
    struct uptime_run run;
    long long ahead; /* seconds, see uptime_pass() */
    bool is_doubted;
};

/* Removal of the files that a pass has found, one after the other. */
struct cleaner_removing {
    struct cleaner *cleaner; /* NULL: it is gone */
    unsigned max_unused_for;
    struct retention_sum sum;
    size_t ntry;
    size_t next;
    uint64_t files;
    uint64_t bytes;
    struct config *config;
    struct builds *builds[2];
    time_t begun;
};

/* No rule says how long builds are kept: they are only counted. */
static void cleaner_count_builds(struct cleaner_pass *pass, const char *root)
{
    struct build_lists lists;

    if (build_lists_read(root, &lists) != 0) {
        pass->unread++;
        return;
    }
    pass->open += lists.n;
    build_lists_clear(&lists);
}

/* Lists are read only if a rule says how long builds are kept. */
static struct builds *cleaner_read_builds(struct cleaner_pass *pass,
                                          const char *root)
{
    struct builds *builds;

    if (pass->config->uploads.nkeep == 0) {
        cleaner_count_builds(pass, root);
        return NULL;
    }
    builds = builds_read(root, &pass->config->uploads, pass->begun);
    if (builds != NULL) {
        builds_count(builds, &pass->kept, &pass->open);
    } else {
        log_error(errno, "clean: the lists of builds in \"%s/"
                         BUILD_LIST_FOLDER "\" cannot be read: no build "
                         "is removed, nor a file that one may keep", root);
        pass->unread++;
    }
    return builds;
}

/* All files of the dropped builds are gone, unless some are left.  Returns how
 * many builds have gone. */
static size_t cleaner_remove_builds(struct builds *const builds[2],
                                    size_t left)
{
    size_t i, n = 0;

    for (i = 0; i < 2 && left == 0; i++) {
        n += builds[i] != NULL ? builds_remove(builds[i]) : 0;
    }
    return n;
}

static void cleaner_clean_spool(const struct cleaner_pass *pass)
{
    uint64_t files, bytes;

    nginx_body_files_clean(pass->config->uploads.spool,
                           pass->begun - NGINX_BODY_SECONDS, &files, &bytes);
    if (files > 0) {
        log_info(0,
                 "clean uploads.spool files=%" PRIu64 " bytes=%" PRIu64
                 ": bodies that nginx has left",
                 files, bytes);
    }
}

/* May the clock be wrong, by which files are old? */
static bool cleaner_is_doubted(struct cleaner_pass *pass)
{
    const char *root = pass->config->uploads.root;
    struct uptime uptime;

    (void)uptime_read(&uptime, root);
    pass->ahead = uptime_pass(&uptime, pass->begun, &pass->run, DOUBT_SECONDS);
    if (uptime_write(&uptime, root) != 0 && errno != ENOENT) {
        log_error(errno,
                  "clean: \"%s/" UPTIME_FILE "\" cannot be written: a "
                  "clock that is wrong is not noticed after a restart",
                  root);
    }
    return uptime.ngaps > 0;
}

static void run_cleaner(void *arg)
{
    struct cleaner_pass *pass = arg;
    const struct uploads_config *uploads = &pass->config->uploads;
    struct retention_rules rules = {.max_unused_for = uploads->max_unused_for,
                                    .indexes = pass->indexes,
                                    .begun = pass->begun};
    char path[1100];

    if (root_mark_check(pass->config) != 0) {
        return; /* an empty mount point */
    }
    pass->is_doubted = cleaner_is_doubted(pass);
    rules.now = pass->is_doubted ? 0 : pass->begun;
    if (!upload_index_is_whole(uploads->root)) {
        rules.indexes = true;
    }
    if (rules.indexes) {
        upload_index_begin(uploads->root);
    }
    rules.builds = pass->builds[0] = cleaner_read_builds(pass, uploads->root);
    if (rules.builds == NULL && uploads->nkeep > 0) {
        rules.now = 0; /* any file may be of a build that is kept */
    }
    retention_pass(uploads->root, &rules, &pass->sum);
    rules.now = pass->is_doubted ? 0 : pass->begun;
    pass->ntry = pass->sum.nfound;
    rules.max_age = uploads->try_max_age;
    rules.is_try = true;
    snprintf(path, sizeof(path), "%.1024s/" UPLOADS_TRY, uploads->root);
    rules.builds = pass->builds[1] = cleaner_read_builds(pass, path);
    retention_pass(path, &rules, &pass->sum);
    if (pass->sum.errnum != 0) {
        log_error(pass->sum.errnum,
                  "clean: not all files in \"%s\" can be looked at: no list "
                  "of a build is removed, and the index is compared again",
                  uploads->root);
        pass->sum.left++;
    }
    if (!pass->is_doubted &&
        (pass->sum.found == NULL || pass->sum.nfound == 0)) {
        pass->nbuilds = cleaner_remove_builds(pass->builds, pass->sum.left);
    }
    if (rules.indexes && pass->sum.errnum == 0) {
        upload_index_set_whole(uploads->root);
    }
    upload_index_clean(uploads->root, time(NULL));
    upload_index_clean(path, time(NULL));
    artifacts_clean(uploads->root);
    artifacts_clean(path);
    if (!pass->is_doubted) {
        cleaner_clean_spool(pass);
    }
}

static void cleaner_start_timer(struct cleaner *cleaner, unsigned seconds)
{
    struct timeval pause = {.tv_sec = (time_t)seconds};

    event_add(cleaner->timer, &pause);
}

static void cleaner_look_later(struct cleaner *cleaner)
{
    unsigned every = scheduler_config(cleaner->scheduler)->cache.clean_every;

    cleaner_start_timer(cleaner, every < LOOK_SECONDS ? every : LOOK_SECONDS);
}

static bool cleaner_is_due(const struct cleaner *cleaner,
                           const struct config *config)
{
    return config->uploads.root != NULL &&
           (cleaner->passed == 0 ||
            clock_since(cleaner->passed) / 1000 >= config->cache.clean_every);
}

static void cleaner_end_pass(struct cleaner *cleaner, uint64_t files,
                             uint64_t bytes)
{
    if (files > 0) {
        log_info(0, "clean uploads files=%" PRIu64 " bytes=%" PRIu64, files,
                 bytes);
        metrics_add(METRIC_UPLOADS_REMOVED, files);
    }
    cleaner->passed = clock_ms();
    cleaner_look_later(cleaner);
}

static void cleaner_free_found(struct retention_sum *sum)
{
    while (sum->nfound > 0) {
        free(sum->found[--sum->nfound].path);
    }
    free(sum->found);
    sum->found = NULL;
}

static void cleaner_remove_next(struct cleaner_removing *removing);

static void cleaner_on_removed(void *arg, int status, const char *text)
{
    struct cleaner_removing *removing = arg;

    if (status == 200) {
        removing->files++;
        removing->bytes += removing->sum.found[removing->next].bytes;
    } else if (removing->sum.found[removing->next].is_of_builds) {
        removing->sum.left++;
    }
    removing->next++;
    if (status == 503) {
        removing->next = removing->sum.nfound; /* the next pass tries again */
        removing->sum.left++;
    }
    cleaner_remove_next(removing);
}

static void cleaner_end_removing(struct cleaner_removing *removing)
{
    struct cleaner *cleaner = removing->cleaner;

    if (cleaner != NULL) {
        metrics_add(
            METRIC_UPLOADS_BUILDS_REMOVED,
            cleaner_remove_builds(removing->builds, removing->sum.left));
        cleaner->removing = NULL;
        cleaner_end_pass(cleaner, removing->files, removing->bytes);
    }
    builds_free(removing->builds[0]);
    builds_free(removing->builds[1]);
    config_unref(removing->config);
    cleaner_free_found(&removing->sum);
    free(removing);
}

/* Was a file sent again since the pass began, or is it just being sent?  It may
 * be kept for longer then, or for a build that the pass does not know. */
static bool cleaner_is_young(const struct cleaner_removing *removing,
                             const struct retention_found *found)
{
    bool is_try = removing->next >= removing->ntry;
    char path[PATH_MAX];
    struct stat st;

    snprintf(path, sizeof(path), "%.1024s/%s%.2000s",
             removing->config->uploads.root,
             is_try ? UPLOADS_TRY "/" : "", found->path);
    return (lstat(path, &st) == 0 && st.st_ctime >= removing->begun) ||
           uploads_store(removing->cleaner->uploads, found->path, is_try);
}

static void cleaner_remove_next(struct cleaner_removing *removing)
{
    struct cleaner *cleaner = removing->cleaner;
    const struct retention_found *found = removing->sum.found;
    struct removal_request request = {.is_old = true};
    char *path;

    /* with another configuration, the root or the tier may be another one */
    if (cleaner == NULL ||
        scheduler_config(cleaner->scheduler) != removing->config) {
        removing->sum.left++;
        removing->next = removing->sum.nfound;
    }
    while (removing->next < removing->sum.nfound &&
           cleaner_is_young(removing, found + removing->next)) {
        removing->sum.left += found[removing->next].is_of_builds;
        removing->next++;
    }
    if (cleaner == NULL || removing->next == removing->sum.nfound) {
        cleaner_end_removing(removing);
        return;
    }
    found += removing->next;
    path = found->path;
    request.name = strsep(&path, "/");
    request.id = strsep(&path, "/");
    request.file = path;
    request.is_try = removing->next >= removing->ntry;
    request.unused_for = found->is_unused ? removing->max_unused_for : 0;
    removals_start(uploads_removals(cleaner->uploads), &request,
                   cleaner_on_removed, removing);
}

/* Returns false if there is nothing, or no memory. */
static bool cleaner_remove_found(struct cleaner_pass *pass)
{
    struct cleaner_removing *removing =
        pass->sum.nfound > 0 ? calloc(1, sizeof(*removing)) : NULL;

    if (removing == NULL) {
        return false;
    }
    removing->cleaner = pass->cleaner;
    removing->max_unused_for = pass->config->uploads.max_unused_for;
    removing->sum = pass->sum;
    removing->ntry = pass->ntry;
    removing->begun = pass->begun;
    removing->config = config_ref(pass->config);
    memcpy(removing->builds, pass->builds, sizeof(pass->builds));
    memset(pass->builds, 0, sizeof(pass->builds));
    memset(&pass->sum, 0, sizeof(pass->sum));
    pass->cleaner->removing = removing;
    cleaner_remove_next(removing);
    return true;
}

static void cleaner_show_builds(const struct cleaner_pass *pass)
{
    const char *help = "Builds of uploads, by whether a rule of uploads.keep "
                       "names them.";

    metrics_show("symcached_uploads_builds", "rule=\"yes\"", help,
                 (double)pass->kept);
    metrics_show("symcached_uploads_builds", "rule=\"no\"", help,
                 (double)pass->open);
    metrics_show("symcached_uploads_builds_unread", "",
                 "Folders whose lists of builds the last pass could not read.",
                 pass->unread);
}

static void cleaner_on_done(void *arg, bool late)
{
    struct cleaner_pass *pass = arg;

    pass->cleaner->task = NULL;
    pass->cleaner->builds = pass->kept + pass->open;
    if (pass->ahead > 0) {
        log_warn(0,
                 "clean: uploads: since they were cleaned last the clock went "
                 "on by %lld s more than symcached ran: none is removed for "
                 "%d s",
                 pass->ahead, DOUBT_SECONDS);
    }
    cleaner_show_builds(pass);
    metrics_add(METRIC_UPLOADS_BUILDS_REMOVED, pass->nbuilds);
    if (!cleaner_remove_found(pass)) {
        cleaner_end_pass(pass->cleaner, pass->sum.files, pass->sum.bytes);
    }
}

static void cleaner_on_drop(void *arg)
{
    struct cleaner_pass *pass = arg;

    cleaner_free_found(&pass->sum);
    builds_free(pass->builds[0]);
    builds_free(pass->builds[1]);
    config_unref(pass->config);
    free(pass);
}

static struct cleaner_pass *pass_new(struct cleaner *cleaner,
                                     const struct config *config)
{
    struct cleaner_pass *pass = calloc(1, sizeof(*pass));

    if (pass != NULL && tier_copy_is_wanted(config)) {
        pass->sum.found =
            calloc(RETENTION_FOUND_MAX, sizeof(pass->sum.found[0]));
        if (pass->sum.found == NULL) {
            free(pass);
            return NULL;
        }
    }
    if (pass != NULL) {
        pass->begun = time(NULL);
        pass->run.id = cleaner->run;
        pass->run.ran = clock_since(cleaner->began) / 1000;
        pass->run.since = clock_since(cleaner->passed != 0 ? cleaner->passed
                                                           : cleaner->began) /
                          1000;
        pass->cleaner = cleaner;
        pass->config = config_ref((struct config *)config);
    }
    return pass;
}

static void cleaner_on_timer(evutil_socket_t fd, short events, void *arg)
{
    static const struct task_calls calls = {run_cleaner, cleaner_on_done,
                                            cleaner_on_drop};
    struct cleaner *cleaner = arg;
    const struct config *config = scheduler_config(cleaner->scheduler);
    struct cleaner_pass *pass = NULL;

    if (cleaner_is_due(cleaner, config)) {
        pass = pass_new(cleaner, config);
    }
    if (pass != NULL) {
        pass->indexes =
            cleaner->indexed == 0 ||
            clock_since(cleaner->indexed) / 1000 >= UPLOAD_INDEX_SECONDS;
        if (pass->indexes) {
            cleaner->indexed = clock_ms();
        }
        cleaner->task = task_start(cleaner->base, 0, &calls, pass);
    }
    if (cleaner->task == NULL) {
        cleaner_look_later(cleaner);
    }
}

struct cleaner *cleaner_new(struct event_base *base,
                            struct scheduler *scheduler,
                            struct uploads *uploads)
{
    struct cleaner *cleaner = calloc(1, sizeof(*cleaner));

    if (cleaner == NULL) {
        return NULL;
    }
    cleaner->base = base;
    cleaner->scheduler = scheduler;
    cleaner->uploads = uploads;
    cleaner->began = clock_ms();
    evutil_secure_rng_get_bytes(&cleaner->run, sizeof(cleaner->run));
    cleaner->run |= 1; /* 0 means that there is no helper */
    cleaner->timer = evtimer_new(base, cleaner_on_timer, cleaner);
    if (cleaner->timer == NULL) {
        free(cleaner);
        return NULL;
    }
    cleaner_start_timer(cleaner, FIRST_SECONDS);
    return cleaner;
}

void cleaner_free(struct cleaner *cleaner)
{
    if (cleaner == NULL) {
        return;
    }
    task_cancel(cleaner->task);
    if (cleaner->removing != NULL) {
        cleaner->removing->cleaner = NULL;
    }
    event_free(cleaner->timer);
    free(cleaner);
}

size_t cleaner_builds(const struct cleaner *cleaner)
{
    return cleaner->builds;
}
