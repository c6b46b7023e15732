/*
 * Copyright (C) the ngx_symcache authors
 */
#include "bundle_noting.h"

#include <event2/event.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/artifact_list.h"
#include "base/task.h"
#include "config/config.h"
#include "peers.h"
#include "sharing.h"
#include "symcached/index/index.h"
#include "symcached/job/job.h"
#include "telling.h"
#include "upload_state.h"

/* Time that the disk has. */
#define SECONDS 600

/* How long to wait for a job that is just publishing a list. */
#define AGAIN_MS 20

/* Lists of which stores are told in one turn of the loop. */
#define TURN 100

/* The thread's own. */
struct work {
    struct bundle_noting *noting;
    char root[PATH_MAX];
    char sum[ARTIFACTS_SUM + 1];
    char *lists; /* lines */
    int errnum;
};

struct bundle_noting {
    LIST_ENTRY(bundle_noting) entry; /* of one that is not here */
    struct uploads *uploads;
    struct config *config;
    char *lists; /* lines */
    bool is_try;
    bool is_here;                /* the bundle came to this machine */
    struct upload_file *entries; /* one of each list */
    size_t n;
    size_t next;       /* of those that stores drop */
    struct task *task; /* or NULL: it has ended; the same for the next two */
    struct sharing *sharing;
    struct telling *telling;
    struct event *timer;
    char failure[700]; /* or "" */
    bundle_noted_fn noted;
    void *arg;
};

static void end(struct bundle_noting *noting, const char *failure)
{
    bundle_noted_fn noted = noting->noted;
    char text[sizeof(noting->failure)];
    void *arg = noting->arg;

    snprintf(text, sizeof(text), "%s", failure != NULL ? failure : "");
    bundle_noting_cancel(noting);
    noted(arg, failure != NULL ? text : NULL);
}

/* the lists ----------------------------------------------------------------
 */

/* Calls add() with the name of each list.  Returns their number. */
static size_t each_list(const struct bundle_note *note,
                        void (*add)(void *to, const char *name), void *to)
{
    char name[ARTIFACT_LIST_SIZE], id[ARTIFACT_LIST_SIZE];
    const char *line = note->debug_ids;
    size_t len, n = 0;

    while (line != NULL && *line != '\0') {
        len = strcspn(line, "\n");
        snprintf(id, sizeof(id), "%.*s", (int)len, line);
        if (artifact_list_of_id(name, id)) {
            add(to, name);
            n++;
        }
        line += len + (line[len] == '\n');
    }
    if (note->release != NULL) {
        artifact_list_of_release(name, note->release, strlen(note->release),
                                 note->dist,
                                 note->dist != NULL ? strlen(note->dist) : 0);
        add(to, name);
        n++;
    }
    if (note->list != NULL) {
        add(to, note->list);
        n++;
    }
    return n;
}

static void ignore(void *to, const char *name)
{
}

static void add_line(void *to, const char *name)
{
    char **end = to;

    *end = stpcpy(stpcpy(*end, name), "\n");
}

static void add_entry(void *to, const char *name)
{
    struct bundle_noting *noting = to;
    struct symstore_path *place = &noting->entries[noting->n++].place;

    snprintf(place->id, sizeof(place->id), "%s", name);
}

/* Returns false when out of memory. */
static bool take_lists(struct bundle_noting *noting,
                       const struct bundle_note *note)
{
    size_t i, n = each_list(note, ignore, NULL);
    char *text = malloc(n * ARTIFACT_LIST_SIZE + 1);
    struct timespec now;

    noting->lists = text;
    noting->entries = calloc(n + 1, sizeof(noting->entries[0]));
    if (text == NULL || noting->entries == NULL) {
        return false;
    }
    *text = '\0';
    (void)each_list(note, add_line, &text);
    (void)each_list(note, add_entry, noting);
    clock_gettime(CLOCK_REALTIME, &now);
    for (i = 0; i < n; i++) {
        struct symstore_path *place = &noting->entries[i].place;

        snprintf(place->name, sizeof(place->name), ARTIFACTS_FOLDER);
        artifacts_print_shared(place->file, sizeof(place->file), &now,
                               note->sum != NULL ? note->sum : "");
    }
    return true;
}

/* the other machines -------------------------------------------------------
 */

static void on_told(void *arg, const char *untold)
{
    struct bundle_noting *noting = arg;

    noting->telling = NULL;
    end(noting, NULL);
}

static void tell(struct bundle_noting *noting)
{
    if (!noting->is_here) {
        end(noting, NULL);
        return;
    }
    noting->telling = peers_tell(noting->uploads->peers, noting->entries,
                                 noting->n, noting->is_try, on_told, noting);
    if (noting->telling == NULL) {
        end(noting, "out of memory");
    }
}

/* the stores ---------------------------------------------------------------
 */

/* Drops what stores know of a list.  Returns false if that must wait. */
static bool drop_list(const struct bundle_noting *noting, const char *name)
{
    struct scheduler *scheduler = noting->uploads->scheduler;
    const struct config *config = scheduler_config(scheduler);
    symcache_key_t key;
    bool is_done = true;
    size_t i;

    artifact_list_key(&key, name);
    for (i = 0; i < config->nstores; i++) {
        if (config_store_has_uploads(&config->stores[i], noting->is_try)) {
            is_done = scheduler_discard(scheduler, &config->stores[i], &key) &&
                      is_done;
            (void)scheduler_forget(scheduler, &config->stores[i], &key, true);
        }
    }
    return is_done;
}

static void on_timer(evutil_socket_t fd, short events, void *arg)
{
    static const struct timeval pause = {.tv_usec = AGAIN_MS * 1000};
    struct bundle_noting *noting = arg;
    size_t turn = 0;

    if (noting->failure[0] != '\0') {
        end(noting, noting->failure);
        return;
    }
    while (noting->next < noting->n && turn++ < TURN &&
           drop_list(noting, noting->entries[noting->next].place.id)) {
        noting->next++;
    }
    if (noting->next < noting->n) {
        event_add(noting->timer, &pause);
    } else {
        tell(noting);
    }
}

/* In a turn of its own. */
static void drop_lists(struct bundle_noting *noting)
{
    static const struct timeval now;

    event_add(noting->timer, &now);
}

/* the tier -----------------------------------------------------------------
 */

/* May be called from inside of sharing_start(). */
static void on_shared(void *arg, const struct upload_file *other,
                      const char *failure)
{
    struct bundle_noting *noting = arg;

    noting->sharing = NULL;
    snprintf(noting->failure, sizeof(noting->failure), "%s",
             failure != NULL ? failure : "");
    drop_lists(noting);
}

static void share(struct bundle_noting *noting)
{
    struct sharing *sharing;

    if (!sharing_is_wanted(noting->config) || noting->n == 0) {
        drop_lists(noting);
        return;
    }
    sharing = sharing_start(scheduler_get_tiers(noting->uploads->scheduler),
                            noting->config, noting->entries, noting->n,
                            noting->is_try, true, on_shared, noting);
    if (sharing != NULL) {
        noting->sharing = sharing;
    }
}

/* the index ----------------------------------------------------------------
 */

static void run(void *arg)
{
    struct work *work = arg;

    work->errnum = artifacts_note(work->root, work->sum, work->lists);
}

static void drop(void *arg)
{
    struct work *work = arg;

    free(work->lists);
    free(work);
}

static void on_noted(void *arg, bool late)
{
    const struct work *work = arg;
    struct bundle_noting *noting = work->noting;

    noting->task = NULL;
    if (late || work->errnum != 0) {
        end(noting,
            late ? "the disk does not answer" : strerror(work->errnum));
    } else {
        share(noting);
    }
}

static struct task *start(struct bundle_noting *noting,
                          const struct bundle_note *note)
{
    static const struct task_calls calls = {run, on_noted, drop};
    struct work *work = calloc(1, sizeof(*work));

    if (work == NULL || (work->lists = strdup(noting->lists)) == NULL) {
        free(work);
        return NULL;
    }
    work->noting = noting;
    snprintf(work->root, sizeof(work->root), "%.2000s%s", note->root,
             note->is_try ? "/" UPLOADS_TRY : "");
    snprintf(work->sum, sizeof(work->sum), "%s", note->sum);
    return task_start(noting->uploads->base, SECONDS, &calls, work);
}

struct bundle_noting *bundle_noting_start(struct uploads *uploads,
                                          const struct bundle_note *note,
                                          bundle_noted_fn noted, void *arg)
{
    struct bundle_noting *noting = calloc(1, sizeof(*noting));
    bool is_good;

    if (noting == NULL) {
        return NULL;
    }
    noting->uploads = uploads;
    noting->config =
        config_ref((struct config *)scheduler_config(uploads->scheduler));
    noting->is_try = note->is_try;
    noting->is_here = note->sum != NULL;
    noting->noted = noted;
    noting->arg = arg;
    noting->timer = evtimer_new(uploads->base, on_timer, noting);
    if (!noting->is_here) {
        LIST_INSERT_HEAD(&uploads->told, noting, entry);
    }
    is_good = noting->timer != NULL && take_lists(noting, note);
    if (is_good && noting->is_here) {
        noting->task = start(noting, note);
        is_good = noting->task != NULL;
    } else if (is_good) {
        drop_lists(noting);
    }
    if (!is_good) {
        bundle_noting_cancel(noting);
        return NULL;
    }
    return noting;
}

void bundle_noting_cancel(struct bundle_noting *noting)
{
    if (!noting->is_here) {
        LIST_REMOVE(noting, entry);
    }
    if (noting->task != NULL) {
        task_cancel(noting->task);
    }
    if (noting->sharing != NULL) {
        sharing_cancel(noting->sharing);
    }
    if (noting->telling != NULL) {
        telling_cancel(noting->telling);
    }
    if (noting->timer != NULL) {
        event_free(noting->timer);
    }
    config_unref(noting->config);
    free(noting->entries);
    free(noting->lists);
    free(noting);
}

void bundle_noting_stop(struct uploads *uploads)
{
    while (!LIST_EMPTY(&uploads->told)) {
        end(LIST_FIRST(&uploads->told), "the helper stops");
    }
}

void uploads_list_changed(struct uploads *uploads, const char *list,
                          bool is_try, bundle_noted_fn done, void *arg)
{
    const struct bundle_note note = {.list = list, .is_try = is_try};

    if (uploads->stopping ||
        bundle_noting_start(uploads, &note, done, arg) == NULL) {
        done(arg, "the helper stops, or is out of memory");
    }
}
