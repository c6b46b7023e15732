/*
 * Copyright (C) the ngx_symcache authors
 *
 * A list of uploaded bundles of scripts, a SHA-1 in each line: what the index
 * of this machine has, and that of the tier of uploads, if there is one.  It
 * is stored as a file at a URL is, until a bundle is uploaded that belongs
 * there, to this machine or to another one of the fleet.
 */
#include "uploads.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/task.h"
#include "symcached/upload_index/upload_index.h"
#include "symcached/tier/tier.h"
#include "lookup_steps.h"

/* The thread's own. */
struct bundle_list {
    struct lookup *lookup;
    struct config *config;
    char root[PATH_MAX];
    char name[SYMCACHE_HINT_MAX + 1];
    struct artifacts_found found;
    int errnum;
};

static void free_list(void *arg)
{
    struct bundle_list *list = arg;

    config_unref(list->config);
    free(list);
}

static void run_list(void *arg)
{
    struct bundle_list *list = arg;

    list->errnum = root_mark_check(list->config);
    if (list->errnum == 0) {
        list->errnum = artifacts_find(list->root, list->name, &list->found);
    }
}

/* Returns 0, or -1 with errno. */
static int bundle_list_write(struct lookup *lookup,
                             const struct artifacts_found *found)
{
    char text[ARTIFACTS_FOUND * (ARTIFACTS_SUM + 1) + 1] = "";
    char *p = text;
    size_t i;

    for (i = 0; i < found->n; i++) {
        p = stpcpy(stpcpy(p, found->sums[i]), "\n");
    }
    if (lookup_open_part(lookup) != 0 || lookup_make_folder(lookup) != 0) {
        return -1;
    }
    if (ftruncate(lookup->part_fd, 0) != 0) { /* what the tier has listed */
        return -1;
    }
    if (pwrite(lookup->part_fd, text, (size_t)(p - text), 0) != p - text) {
        errno = errno != 0 ? errno : EIO;
        return -1;
    }
    return rename(lookup->part, lookup->file);
}

static void end_list(struct lookup *lookup,
                     const struct artifacts_found *found)
{
    if (found->n == 0) {
        lookup_attempt_here(lookup, SOURCE_NOT_FOUND,
                            "no bundle is in the index");
    } else if (bundle_list_write(lookup, found) != 0) {
        lookup_fail(lookup, "the list");
        return;
    } else {
        lookup->symcache->version = (symcache_version_t){1, 0, 0};
        lookup_attempt_here(lookup, SOURCE_FOUND, "made of the index");
    }
    lookup_end(lookup);
}

/* A tier that does not answer may have newer bundles, so nothing is known. */
static void on_names(void *arg, const struct tier_result *result)
{
    struct lookup *lookup = arg;
    struct artifacts_found *found = lookup->state;
    size_t i;

    uploads_take_answer(lookup, result);
    if (result->outcome != TIER_HIT && result->outcome != TIER_ABSENT) {
        uploads_tier_failed(lookup, result);
        lookup_end(lookup);
        return;
    }
    for (i = 0; result->outcome == TIER_HIT && i < result->names->n; i++) {
        (void)artifacts_take_shared(found, result->names->list[i]);
    }
    end_list(lookup, found);
}

static void ask_tier(struct lookup *lookup)
{
    const struct source_config *source = lookup->source;
    char folder[UPLOADS_PATH_MAX];
    struct tier_get *get;

    if (lookup_open_part(lookup) != 0) {
        lookup_fail(lookup, "open");
        return;
    }
    snprintf(folder, sizeof(folder), "%s" ARTIFACTS_FOLDER "/%s",
             source->tier_path, lookup->artifacts);
    get = tiers_list_originals(lookup->sources->tiers, lookup->config,
                               source->tier, folder, lookup->part_fd, on_names,
                               lookup);
    if (get == NULL) {
        lookup_fail(lookup, "open");
        return;
    }
    lookup_set_step(lookup, LOOKUP_IN_TIER, get);
}

static void list_done(void *arg, bool late)
{
    const struct bundle_list *list = arg;
    struct lookup *lookup = list->lookup;
    struct artifacts_found *found;

    lookup_set_step(lookup, LOOKUP_BETWEEN_STEPS, NULL);
    if (late) {
        lookup_attempt_here(lookup, SOURCE_FAILED,
                            "the index does not answer");
        lookup_end(lookup);
        return;
    }
    if (list->errnum != 0) {
        lookup_attempt_here(lookup, SOURCE_FAILED_HERE,
                            strerror(list->errnum));
        lookup_end(lookup);
        return;
    }
    if (lookup->source->tier == NULL) {
        end_list(lookup, &list->found);
        return;
    }
    found = lookup_type_state(lookup, sizeof(*found));
    if (found != NULL) {
        *found = list->found;
        ask_tier(lookup);
    }
}

void bundle_list_begin(struct lookup *lookup)
{
    static const struct task_calls calls = {run_list, list_done, free_list};
    struct bundle_list *list;
    struct task *task;

    snprintf(lookup->place, sizeof(lookup->place),
             "%s/" ARTIFACTS_FOLDER "/%s", lookup->source->path,
             lookup->artifacts);
    if (lookup->artifacts[0] == '\0') {
        lookup_attempt_here(lookup, SOURCE_NOT_FOUND,
                            "the client does not say which list");
        lookup_end(lookup);
        return;
    }
    list = calloc(1, sizeof(*list));
    if (list == NULL) {
        lookup_fail(lookup, "the list");
        return;
    }
    list->lookup = lookup;
    list->config = config_ref((struct config *)lookup->config);
    snprintf(list->root, sizeof(list->root), "%s", lookup->source->path);
    snprintf(list->name, sizeof(list->name), "%s", lookup->artifacts);
    task = task_start(lookup->sources->base,
                      lookup->config->limits.first_byte_time, &calls, list);
    if (task == NULL) {
        lookup_fail(lookup, "the list");
        return;
    }
    lookup_set_step(lookup, LOOKUP_IN_INDEX, task);
}
