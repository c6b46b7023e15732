/*
 * Copyright (C) the ngx_symcache authors
 */
#include "bundle_listing.h"

#include <event2/event.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/artifact_list.h"
#include "base/event.h"
#include "base/task.h"
#include "config/config.h"
#include "peers.h"
#include "tier_copy.h"
#include "symcached/upload_index/upload_index.h"
#include "symcached/job/job.h"
#include "peer_notification.h"
#include "upload_state.h"

/* Time that the disk has. */
#define SECONDS 600

/* How long to wait for a job that is just publishing a list. */
#define AGAIN_MS 20

/* Lists of which stores are told in one turn of the loop. */
#define TURN 100

/* The thread's own. */
struct bundle_listing_work {
    struct bundle_listing *listing;
    char root[PATH_MAX];
    char sum[ARTIFACTS_SUM + 1];
    char *lists; /* lines */
    char *release, *dist; /* or NULL */
    int errnum;
};

struct bundle_listing {
    LIST_ENTRY(bundle_listing) entry; /* of one that is not here */
    struct uploads *uploads;
    struct config *config;
    char *lists; /* lines */
    bool is_try;
    bool is_here;                /* the bundle came to this machine */
    struct upload_file *entries; /* one of each list */
    size_t n;
    size_t next;       /* of those that stores drop */
    struct task *task; /* or NULL: it has ended; the same for the next two */
    struct tier_copy *tier_copy;
    struct peer_notification *notification;
    struct event *timer;
    char failure[700]; /* or "" */
    bundle_listed_fn listed;
    void *arg;
};

static void end_listing(struct bundle_listing *listing, const char *failure)
{
    bundle_listed_fn listed = listing->listed;
    char text[sizeof(listing->failure)];
    void *arg = listing->arg;

    snprintf(text, sizeof(text), "%s", failure != NULL ? failure : "");
    bundle_listing_cancel(listing);
    listed(arg, failure != NULL ? text : NULL);
}

/* the lists --------------------------------------------------------------- */

/* Calls add() with the name of each list.  Returns their number. */
static size_t each_list(const struct bundle_to_list *note,
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

static void ignore_name(void *to, const char *name)
{
}

static void bundle_add_line(void *to, const char *name)
{
    char **end = to;

    *end = stpcpy(stpcpy(*end, name), "\n");
}

static void listing_add_entry(void *to, const char *name)
{
    struct bundle_listing *listing = to;
    struct symstore_path *place = &listing->entries[listing->n++].place;

    snprintf(place->id, sizeof(place->id), "%s", name);
}

/* Returns false when out of memory. */
static bool bundle_take_lists(struct bundle_listing *listing,
                              const struct bundle_to_list *note)
{
    size_t i, n = each_list(note, ignore_name, NULL);
    char *text = malloc(n * ARTIFACT_LIST_SIZE + 1);
    struct timespec now;

    listing->lists = text;
    listing->entries = calloc(n + 1, sizeof(listing->entries[0]));
    if (text == NULL || listing->entries == NULL) {
        return false;
    }
    *text = '\0';
    (void)each_list(note, bundle_add_line, &text);
    (void)each_list(note, listing_add_entry, listing);
    clock_gettime(CLOCK_REALTIME, &now);
    for (i = 0; i < n; i++) {
        struct symstore_path *place = &listing->entries[i].place;

        snprintf(place->name, sizeof(place->name), ARTIFACTS_FOLDER);
        artifacts_print_shared(place->file, sizeof(place->file), &now,
                               note->sum != NULL ? note->sum : "");
    }
    return true;
}

/* the other machines ------------------------------------------------------ */

static void bundle_on_told(void *arg, const char *untold)
{
    struct bundle_listing *listing = arg;

    listing->notification = NULL;
    end_listing(listing, NULL);
}

static void bundle_tell_peers(struct bundle_listing *listing)
{
    if (!listing->is_here) {
        end_listing(listing, NULL);
        return;
    }
    listing->notification =
        peers_tell(listing->uploads->peers, listing->entries, listing->n,
                   listing->is_try, bundle_on_told, listing);
    if (listing->notification == NULL) {
        end_listing(listing, "out of memory");
    }
}

/* the stores -------------------------------------------------------------- */

/* Drops what stores know of a list.  Returns false if that must wait. */
static bool bundle_drop_list(const struct bundle_listing *listing,
                             const char *name)
{
    struct scheduler *scheduler = listing->uploads->scheduler;
    const struct config *config = scheduler_config(scheduler);
    symcache_key_t key;
    bool is_done = true, is_made = false;
    int errnum;
    size_t i;

    artifact_list_key(&key, name);
    for (i = 0; i < config->nstores; i++) {
        if (config_store_has_uploads(&config->stores[i], listing->is_try)) {
            is_done = scheduler_discard(scheduler, &config->stores[i], &key,
                                        &is_made) && is_done;
            (void)scheduler_forget(scheduler, &config->stores[i], &key, true,
                                   &errnum);
        }
    }
    return is_done;
}

static void listing_on_timer(evutil_socket_t fd, short events, void *arg)
{
    static const struct timeval pause = {.tv_usec = AGAIN_MS * 1000};
    struct bundle_listing *listing = arg;
    size_t turn = 0;

    if (listing->failure[0] != '\0') {
        end_listing(listing, listing->failure);
        return;
    }
    while (
        listing->next < listing->n && turn++ < TURN &&
        bundle_drop_list(listing, listing->entries[listing->next].place.id)) {
        listing->next++;
    }
    if (listing->next < listing->n) {
        event_add(listing->timer, &pause);
    } else {
        bundle_tell_peers(listing);
    }
}

/* In a turn of its own. */
static void drop_lists(struct bundle_listing *listing)
{
    static const struct timeval now;

    event_add(listing->timer, &now);
}

/* the tier ---------------------------------------------------------------- */

/* May be called from inside of tier_copy_start(). */
static void bundle_on_shared(void *arg, const struct upload_file *other,
                             int status, const char *failure)
{
    struct bundle_listing *listing = arg;

    listing->tier_copy = NULL;
    snprintf(listing->failure, sizeof(listing->failure), "%s",
             failure != NULL ? failure : "");
    drop_lists(listing);
}

static void bundle_share_list(struct bundle_listing *listing)
{
    struct tier_copy *tier_copy;

    if (!tier_copy_is_wanted(listing->config) || listing->n == 0) {
        drop_lists(listing);
        return;
    }
    tier_copy =
        tier_copy_start(scheduler_get_tiers(listing->uploads->scheduler),
                        listing->config, listing->entries, listing->n,
                        listing->is_try, true, bundle_on_shared, listing);
    if (tier_copy != NULL) {
        listing->tier_copy = tier_copy;
    }
}

/* the index --------------------------------------------------------------- */

static void run_listing(void *arg)
{
    struct bundle_listing_work *work = arg;

    work->errnum = artifacts_note(work->root, work->sum, work->lists);
    if (work->errnum == 0 && work->release != NULL) {
        /* the bundle is found without it; artifacts_clean() removes one that
         * is alone */
        (void)artifacts_name_release(work->root, work->release, work->dist);
    }
}

static void drop_listing(void *arg)
{
    struct bundle_listing_work *work = arg;

    free(work->lists);
    free(work->release);
    free(work->dist);
    free(work);
}

static void listing_on_noted(void *arg, bool late)
{
    const struct bundle_listing_work *work = arg;
    struct bundle_listing *listing = work->listing;

    listing->task = NULL;
    if (late || work->errnum != 0) {
        end_listing(listing, late ? "the disk does not answer"
                                  : strerror(work->errnum));
    } else {
        bundle_share_list(listing);
    }
}

static struct task *start_listing(struct bundle_listing *listing,
                                  const struct bundle_to_list *note)
{
    static const struct task_calls calls = {run_listing, listing_on_noted,
                                            drop_listing};
    struct bundle_listing_work *work = calloc(1, sizeof(*work));

    if (work == NULL || (work->lists = strdup(listing->lists)) == NULL) {
        free(work);
        return NULL;
    }
    work->listing = listing;
    snprintf(work->root, sizeof(work->root), "%.2000s%s",
             note->config->uploads.root,
             note->is_try ? "/" UPLOADS_TRY : "");
    snprintf(work->sum, sizeof(work->sum), "%s", note->sum);
    work->release = note->release != NULL ? strdup(note->release) : NULL;
    work->dist = note->dist != NULL ? strdup(note->dist) : NULL;
    return task_start(listing->uploads->base, SECONDS, &calls, work);
}

struct bundle_listing *bundle_listing_start(struct uploads *uploads,
                                            const struct bundle_to_list *note,
                                            bundle_listed_fn listed, void *arg)
{
    struct bundle_listing *listing = calloc(1, sizeof(*listing));
    bool is_good;

    if (listing == NULL) {
        return NULL;
    }
    listing->uploads = uploads;
    listing->config = config_ref((struct config *)note->config);
    listing->is_try = note->is_try;
    listing->is_here = note->sum != NULL;
    listing->listed = listed;
    listing->arg = arg;
    listing->timer = evtimer_new(uploads->base, listing_on_timer, listing);
    if (!listing->is_here) {
        LIST_INSERT_HEAD(&uploads->told, listing, entry);
    }
    is_good = listing->timer != NULL && bundle_take_lists(listing, note);
    if (is_good && listing->is_here) {
        listing->task = start_listing(listing, note);
        is_good = listing->task != NULL;
    } else if (is_good) {
        drop_lists(listing);
    }
    if (!is_good) {
        bundle_listing_cancel(listing);
        return NULL;
    }
    return listing;
}

void bundle_listing_cancel(struct bundle_listing *listing)
{
    if (!listing->is_here) {
        LIST_REMOVE(listing, entry);
    }
    task_cancel(listing->task);
    if (listing->tier_copy != NULL) {
        tier_copy_cancel(listing->tier_copy);
    }
    peer_notification_cancel(listing->notification);
    event_drop(listing->timer);
    config_unref(listing->config);
    free(listing->entries);
    free(listing->lists);
    free(listing);
}

void bundle_listing_stop(struct uploads *uploads)
{
    while (!LIST_EMPTY(&uploads->told)) {
        end_listing(LIST_FIRST(&uploads->told), "the helper stops");
    }
}

void uploads_list_changed(struct uploads *uploads, const char *list,
                          bool is_try, bundle_listed_fn done, void *arg)
{
    const struct bundle_to_list note = {
        .config = scheduler_config(uploads->scheduler),
        .list = list,
        .is_try = is_try};

    if (uploads->stopping ||
        bundle_listing_start(uploads, &note, done, arg) == NULL) {
        done(arg, "the helper stops, or is out of memory");
    }
}
