/*
 * Copyright (C) the ngx_symcache authors
 */
#include "bundle_noting.h"

#include <event2/event.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/artifact_list.h"
#include "base/task.h"
#include "config/config.h"
#include "symcached/index/index.h"
#include "symcached/job/job.h"

/* Time that the disk has. */
#define SECONDS 600

/* How long to wait for a job that is just publishing a list. */
#define AGAIN_MS 20

/* Lists of which stores are told in one turn of the loop. */
#define TURN 100

struct texts {
    char *debug_ids, *release, *dist; /* or NULL */
};

/* The thread's own. */
struct work {
    struct bundle_noting *noting;
    char root[PATH_MAX];
    char sum[ARTIFACTS_SUM + 1];
    struct texts texts;
    int errnum;
};

struct bundle_noting {
    struct scheduler *scheduler;
    struct task *task; /* or NULL: it has ended */
    struct texts texts;
    const char *next; /* of the debug ids whose lists are dropped */
    bool is_try;
    struct event *timer;
    bundle_noted_fn noted;
    void *arg;
};

static void texts_free(struct texts *texts)
{
    free(texts->debug_ids);
    free(texts->release);
    free(texts->dist);
}

/* Copies a text; NULL stays NULL.  Returns false without memory. */
static bool copy_text(char **to, const char *text)
{
    *to = text != NULL ? strdup(text) : NULL;
    return *to != NULL || text == NULL;
}

static bool texts_copy(struct texts *texts, const struct bundle_note *note)
{
    return copy_text(&texts->debug_ids, note->debug_ids) &&
           copy_text(&texts->release, note->release) &&
           copy_text(&texts->dist, note->dist);
}

/* in the thread ------------------------------------------------------------
 */

static void run(void *arg)
{
    struct work *work = arg;

    work->errnum = artifacts_note(work->root, work->sum, work->texts.debug_ids,
                                  work->texts.release, work->texts.dist);
}

static void drop(void *arg)
{
    struct work *work = arg;

    texts_free(&work->texts);
    free(work);
}

/* in the loop --------------------------------------------------------------
 */

static void end(struct bundle_noting *noting, const char *failure)
{
    bundle_noted_fn noted = noting->noted;
    void *arg = noting->arg;

    bundle_noting_cancel(noting);
    noted(arg, failure);
}

/* Drops what stores know of a list.  Returns false if that must wait. */
static bool drop_list(const struct bundle_noting *noting, const char *name)
{
    const struct config *config = scheduler_config(noting->scheduler);
    symcache_key_t key;
    bool is_done = true;
    size_t i;

    artifact_list_key(&key, name);
    for (i = 0; i < config->nstores; i++) {
        if (config_store_has_uploads(&config->stores[i], noting->is_try)) {
            is_done = scheduler_discard(noting->scheduler, &config->stores[i],
                                        &key) &&
                      is_done;
            (void)scheduler_forget(noting->scheduler, &config->stores[i], &key,
                                   true);
        }
    }
    return is_done;
}

static bool drop_release(const struct bundle_noting *noting)
{
    const char *release = noting->texts.release, *dist = noting->texts.dist;
    char name[ARTIFACT_LIST_SIZE];

    if (release == NULL) {
        return true;
    }
    artifact_list_of_release(name, release, strlen(release), dist,
                             dist != NULL ? strlen(dist) : 0);
    return drop_list(noting, name);
}

/* Returns false if a list must wait, or others come first. */
static bool drop_lists(struct bundle_noting *noting)
{
    char name[ARTIFACT_LIST_SIZE], id[ARTIFACT_LIST_SIZE];
    size_t size, turn;

    for (turn = 0; *noting->next != '\0'; turn++) {
        size = strcspn(noting->next, "\n");
        snprintf(id, sizeof(id), "%.*s", (int)size, noting->next);
        if (turn == TURN ||
            (artifact_list_of_id(name, id) && !drop_list(noting, name))) {
            return false;
        }
        noting->next += size + (noting->next[size] == '\n');
    }
    return drop_release(noting);
}

static void on_timer(evutil_socket_t fd, short events, void *arg)
{
    static const struct timeval pause = {.tv_usec = AGAIN_MS * 1000};
    struct bundle_noting *noting = arg;

    if (drop_lists(noting)) {
        end(noting, NULL);
    } else {
        event_add(noting->timer, &pause);
    }
}

static void on_noted(void *arg, bool late)
{
    static const struct timeval now;
    const struct work *work = arg;
    struct bundle_noting *noting = work->noting;

    noting->task = NULL;
    if (late || work->errnum != 0) {
        end(noting,
            late ? "the disk does not answer" : strerror(work->errnum));
    } else {
        event_add(noting->timer, &now);
    }
}

static struct task *start(struct event_base *base,
                          struct bundle_noting *noting,
                          const struct bundle_note *note)
{
    static const struct task_calls calls = {run, on_noted, drop};
    struct work *work = calloc(1, sizeof(*work));

    if (work == NULL) {
        return NULL;
    }
    work->noting = noting;
    snprintf(work->root, sizeof(work->root), "%.2000s%s", note->root,
             note->is_try ? "/" UPLOADS_TRY : "");
    snprintf(work->sum, sizeof(work->sum), "%s", note->sum);
    if (!texts_copy(&work->texts, note)) {
        drop(work);
        return NULL;
    }
    return task_start(base, SECONDS, &calls, work);
}

struct bundle_noting *bundle_noting_start(struct event_base *base,
                                          struct scheduler *scheduler,
                                          const struct bundle_note *note,
                                          bundle_noted_fn noted, void *arg)
{
    struct bundle_noting *noting = calloc(1, sizeof(*noting));

    if (noting == NULL) {
        return NULL;
    }
    noting->scheduler = scheduler;
    noting->is_try = note->is_try;
    noting->noted = noted;
    noting->arg = arg;
    noting->timer = evtimer_new(base, on_timer, noting);
    if (noting->timer == NULL || !texts_copy(&noting->texts, note) ||
        (noting->task = start(base, noting, note)) == NULL) {
        bundle_noting_cancel(noting);
        return NULL;
    }
    noting->next =
        noting->texts.debug_ids != NULL ? noting->texts.debug_ids : "";
    return noting;
}

void bundle_noting_cancel(struct bundle_noting *noting)
{
    if (noting->task != NULL) {
        task_cancel(noting->task);
    }
    if (noting->timer != NULL) {
        event_free(noting->timer);
    }
    texts_free(&noting->texts);
    free(noting);
}
