/*
 * Copyright (C) the ngx_symcache authors
 *
 * A thread looks into the folders of uploads, as their disk may hang; then the
 * tier is asked for one object after the other.
 */
#include "tier_redirect.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include "base/task.h"
#include "symcached/tier/tier.h"
#include "uploads.h"

#define SECONDS 5
#define SOURCES_MAX 4 /* uploads and try builds, of two formats each */
#define PLACES_MAX (SOURCES_MAX * LAYOUT_PLACES)

/* The data of the thread. */
struct folder_look {
    struct tier_redirect *redirect; /* in the loop only */
    const char *root;
    struct config *config; /* a reference, which keeps root */
    char paths[PLACES_MAX][UPLOADS_PATH_MAX];
    size_t n;
    bool found;
};

struct tier_redirect {
    LIST_ENTRY(tier_redirect) entry;
    struct tiers *tiers;
    struct config *config; /* reference */
    char paths[PLACES_MAX][UPLOADS_PATH_MAX];
    size_t n;
    size_t next;
    struct task *task;
    struct tier_get *get;
    tier_redirect_done_fn done;
    void *arg;
};

static LIST_HEAD(, tier_redirect) running = LIST_HEAD_INITIALIZER(running);

void tier_redirect_cancel(struct tier_redirect *redirect)
{
    LIST_REMOVE(redirect, entry);
    task_cancel(redirect->task);
    if (redirect->get != NULL) {
        tiers_get_cancel(redirect->get);
    }
    config_unref(redirect->config);
    free(redirect);
}

static void end_redirect(struct tier_redirect *redirect, const char *url)
{
    tier_redirect_done_fn done = redirect->done;
    void *arg = redirect->arg;

    done(arg, url);
    tier_redirect_cancel(redirect);
}

void tier_redirects_end(void)
{
    while (!LIST_EMPTY(&running)) {
        end_redirect(LIST_FIRST(&running), NULL);
    }
}

static void ask_next(struct tier_redirect *redirect);

static void redirect_on_answer(void *arg, const struct tier_result *result)
{
    struct tier_redirect *redirect = arg;

    redirect->get = NULL;
    if (result->outcome == TIER_HIT) {
        end_redirect(redirect, result->url);
    } else if (result->outcome == TIER_FAILED) {
        end_redirect(redirect, NULL); /* so would the next one */
    } else {
        ask_next(redirect);
    }
}

static void ask_next(struct tier_redirect *redirect)
{
    if (redirect->next < redirect->n) {
        redirect->get = tiers_locate_original(
            redirect->tiers, redirect->config, redirect->config->uploads.tier,
            redirect->paths[redirect->next++], redirect_on_answer, redirect);
    }
    if (redirect->get == NULL) {
        end_redirect(redirect, NULL);
    }
}

/* the folder --------------------------------------------------------------- */

static void run_redirect(void *arg)
{
    struct folder_look *look = arg;
    char path[PATH_MAX];
    struct stat st;
    size_t i;

    for (i = 0; i < look->n && !look->found; i++) {
        snprintf(path, sizeof(path), "%.1024s/%s", look->root, look->paths[i]);
        look->found = lstat(path, &st) == 0;
    }
}

/* A disk that hangs is for the job to tell of. */
static void tier_on_looked(void *arg, bool late)
{
    struct folder_look *look = arg;
    struct tier_redirect *redirect = look->redirect;

    redirect->task = NULL;
    if (late || look->found) {
        end_redirect(redirect, NULL);
    } else {
        ask_next(redirect);
    }
}

static void drop_redirect(void *arg)
{
    struct folder_look *look = arg;

    config_unref(look->config);
    free(look);
}

static struct task *look_into_folder(struct event_base *base,
                                     struct tier_redirect *redirect)
{
    static const struct task_calls calls = {run_redirect, tier_on_looked,
                                            drop_redirect};
    struct folder_look *look = calloc(1, sizeof(*look));

    if (look == NULL) {
        return NULL;
    }
    look->redirect = redirect;
    look->config = config_ref(redirect->config);
    look->root = redirect->config->uploads.root;
    look->n = redirect->n;
    memcpy(look->paths, redirect->paths, sizeof(look->paths));
    return task_start(base, SECONDS, &calls, look);
}

/* the beginning ------------------------------------------------------------ */

/* Only tiers before all other sources count: after another source, the file
 * there may not be the one that is served. */
static void find_paths(struct tier_redirect *redirect,
                       const struct store_config *store,
                       const symcache_key_t *key)
{
    const struct source_config *source;
    size_t i;

    for (i = 0; i < store->nsources && i < SOURCES_MAX; i++) {
        source = store->sources[i];
        if (source->tier == NULL) {
            return;
        }
        if (config_source_has_key(source, key)) {
            redirect->n +=
                uploads_paths(redirect->paths + redirect->n, source, key);
        }
    }
}

struct tier_redirect *tier_redirect_start(struct event_base *base,
                                          struct tiers *tiers,
                                          const struct config *config,
                                          const struct store_config *store,
                                          const symcache_key_t *key,
                                          tier_redirect_done_fn done, void *arg)
{
    const struct tier_config *tier = config->uploads.tier;
    struct tier_redirect *redirect;

    if (tier == NULL || tier->redirect == 0 ||
        !symcache_kind_is_original((symcache_kind_e)key->kind)) {
        return NULL;
    }
    redirect = calloc(1, sizeof(*redirect));
    if (redirect == NULL) {
        return NULL;
    }
    LIST_INSERT_HEAD(&running, redirect, entry);
    redirect->tiers = tiers;
    redirect->config = config_ref((struct config *)config);
    redirect->done = done;
    redirect->arg = arg;
    find_paths(redirect, store, key);
    redirect->task = redirect->n > 0 ? look_into_folder(base, redirect) : NULL;
    if (redirect->task == NULL) {
        tier_redirect_cancel(redirect);
        return NULL;
    }
    return redirect;
}
