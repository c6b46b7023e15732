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
#include "steps.h"

struct walk {
    char names[LAYOUT_PLACES][UPLOADS_PATH_MAX]; /* of objects */
    size_t n;
    size_t next;
};

/* Only plain files in one tier of folders are stored. */
size_t uploads_paths(char paths[LAYOUT_PLACES][UPLOADS_PATH_MAX],
                     const struct source_config *source,
                     const symcache_key_t *key)
{
    struct layout_place places[LAYOUT_PLACES];
    size_t i, n, index, npaths = 0;

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

static void on_answer(void *arg, const struct tier_result *result)
{
    static const enum source_outcome outcomes[] = {
        [TIER_ABSENT] = SOURCE_NOT_FOUND,
        [TIER_REFUSED] = SOURCE_UNUSABLE,
        [TIER_FAILED] = SOURCE_FAILED,
    };
    struct lookup *lookup = arg;

    lookup_set_step(lookup, LOOKUP_DECIDES, NULL);
    snprintf(lookup->place, sizeof(lookup->place), "%s", result->place);
    lookup->received.bytes = result->bytes;
    lookup->received.ms = result->ms;
    lookup->received.status = result->status;
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
    struct tier_get *get = NULL;

    memset(&lookup->received, 0, sizeof(lookup->received));
    if (walk == NULL) {
        walk = lookup_state(lookup, sizeof(*walk));
        if (walk == NULL) {
            return;
        }
        walk->n = uploads_paths(walk->names, lookup->source, &lookup->at);
    }
    if (walk->next == walk->n) {
        lookup_end(lookup);
        return;
    }
    if (lookup_open_part(lookup) == 0) {
        get = tiers_get_original(lookup->sources->tiers, lookup->config,
                                 lookup->source->tier,
                                 walk->names[walk->next++], lookup->part_fd,
                                 on_answer, lookup);
    }
    if (get == NULL) {
        lookup_attempt_here(lookup, SOURCE_FAILED, strerror(errno));
        lookup_end(lookup);
        return;
    }
    lookup_set_step(lookup, LOOKUP_IN_TIER, get);
}
