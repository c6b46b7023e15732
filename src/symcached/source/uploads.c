/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the tier has is checked there by its digest, and here for what it is,
 * as the body of any server.  Unlike a tier of what was made, this one has
 * files that are nowhere else: while it does not answer, nobody knows whether
 * there is such a file, so that is no absence.
 */
#include "uploads.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "symcached/tier/tier.h"
#include "lookup_steps.h"

/* ELF and Mach-O have ids of their own. */
#define FOLDERS 2
#define NAMES (FOLDERS * sizeof(((struct tier_names *)0)->list) / \
               sizeof(((struct tier_names *)0)->list[0]))

struct walk {
    char folders[FOLDERS][UPLOADS_PATH_MAX]; /* which list the names of it */
    size_t nfolders;
    size_t next_folder;
    char names[LAYOUT_PLACES + NAMES][UPLOADS_PATH_MAX]; /* of objects */
    size_t n;
    size_t next;
};

/* Only plain files in one tier of folders are stored.  A file whose name nobody
 * has said has no path. */
size_t uploads_paths(char paths[LAYOUT_PLACES][UPLOADS_PATH_MAX],
                     const struct source_config *source,
                     const symcache_key_t *key)
{
    struct layout_place places[LAYOUT_PLACES];
    size_t i, n, index, npaths = 0;

    if (layout_is_unnamed(key)) {
        return 0;
    }
    n = layout_places(places, source, key, key->name, &index);
    for (i = 0; i < (index > 0 ? index : n); i++) {
        if (places[i].form == FORM_PLAIN) {
            snprintf(paths[npaths], UPLOADS_PATH_MAX, "%s%s",
                     source->tier_path, places[i].path);
            npaths++;
        }
    }
    return npaths;
}

static void take_answer(struct lookup *lookup,
                        const struct tier_result *result)
{
    lookup_set_step(lookup, LOOKUP_BETWEEN_STEPS, NULL);
    snprintf(lookup->place, sizeof(lookup->place), "%s", result->place);
    lookup->received.bytes = result->bytes;
    lookup->received.ms = result->ms;
    lookup->received.status = result->status;
}

/* Finds where the index has the names of a program's id, see sharing.h. */
static void find_folders(struct walk *walk, const struct source_config *source,
                         const symcache_key_t *key)
{
    struct layout_place places[LAYOUT_PLACES];
    size_t i, n, index;
    const char *id;

    n = layout_places(places, source, key, key->name, &index);
    for (i = 0; i < n && walk->nfolders < FOLDERS; i++) {
        if (places[i].form == FORM_PLAIN) {
            id = places[i].path + strlen(LAYOUT_ANY "/");
            snprintf(walk->folders[walk->nfolders++], UPLOADS_PATH_MAX,
                     "%s" UPLOADS_INDEX "/%.*s", source->tier_path,
                     (int)strcspn(id, "/"), id);
        }
    }
}

static void add_names(struct lookup *lookup, const struct tier_names *names)
{
    struct walk *walk = lookup->state;
    const char *id = strrchr(walk->folders[walk->next_folder - 1], '/') + 1;
    size_t i;

    for (i = 0; i < names->n; i++) {
        snprintf(walk->names[walk->n++], UPLOADS_PATH_MAX, "%s%s/%s/%s",
                 lookup->source->tier_path, names->list[i], id,
                 names->list[i]);
    }
}

/* What the index says is a hint: an object that is gone is no fault. */
static void on_names(void *arg, const struct tier_result *result)
{
    struct lookup *lookup = arg;

    take_answer(lookup, result);
    if (result->outcome == TIER_HIT) {
        add_names(lookup, result->names);
    } else {
        lookup_attempt_here(lookup,
                            result->outcome == TIER_ABSENT ? SOURCE_NOT_FOUND
                                                           : SOURCE_FAILED,
                            result->detail);
    }
    uploads_ask_tier(lookup);
}

static void on_answer(void *arg, const struct tier_result *result)
{
    static const enum source_outcome outcomes[] = {
        [TIER_ABSENT] = SOURCE_NOT_FOUND,
        [TIER_REFUSED] = SOURCE_UNUSABLE,
        [TIER_FAILED] = SOURCE_FAILED,
    };
    struct lookup *lookup = arg;

    take_answer(lookup, result);
    if (result->outcome == TIER_HIT) {
        lookup_check_part(lookup);
        return;
    }
    lookup_attempt_here(lookup, outcomes[result->outcome], result->detail);
    uploads_ask_tier(lookup);
}

void uploads_ask_tier(struct lookup *lookup)
{
    struct walk *walk = lookup->state;
    struct tier_get *get;

    memset(&lookup->received, 0, sizeof(lookup->received));
    if (walk == NULL) {
        walk = lookup_state(lookup, sizeof(*walk));
        if (walk == NULL) {
            return;
        }
        walk->n = uploads_paths(walk->names, lookup->source, &lookup->at);
        if (layout_is_unnamed(&lookup->at)) {
            find_folders(walk, lookup->source, &lookup->at);
        }
    }
    if (walk->next == walk->n && walk->next_folder == walk->nfolders) {
        lookup_end(lookup);
        return;
    }
    if (lookup_open_part(lookup) != 0) {
        get = NULL;
    } else if (walk->next == walk->n) {
        get = tiers_list_originals(lookup->sources->tiers, lookup->config,
                                   lookup->source->tier,
                                   walk->folders[walk->next_folder++],
                                   lookup->part_fd, on_names, lookup);
    } else {
        get = tiers_get_original(lookup->sources->tiers, lookup->config,
                                 lookup->source->tier,
                                 walk->names[walk->next++], lookup->part_fd,
                                 on_answer, lookup);
    }
    if (get == NULL) {
        lookup_fail(lookup, "open");
        return;
    }
    lookup_set_step(lookup, LOOKUP_IN_TIER, get);
}
