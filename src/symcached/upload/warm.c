/*
 * Copyright (C) the ngx_symcache authors
 */
#include "warm.h"

#include <string.h>
#include "config/config.h"
#include "proto/hints.h"
#include "symcached/job/job.h"

static void ignore_answer(void *arg, const struct scheduler_answer *answer)
{
}

/* Sets the key by which clients ask for a file of the kind.  Returns false if
 * it cannot be made of the place's file, or if the module has no name. */
static bool warm_set_key(symcache_key_t *key, symcache_kind_e kind,
                         const struct symstore_path *place)
{
    const symcache_kind_t *row = symcache_kind(kind);
    size_t i;

    if (row->end != NULL) {
        return false; /* text that few ask for is made when one does */
    }
    for (i = 0; i < place->nids && (row->needs & place->features); i++) {
        *key = place->ids[i];
        if (row->ids & 1u << key->id_type) {
            if (symcache_name_parse(place->module, strlen(place->module),
                                    key) != SYMCACHE_OK) {
                return false;
            }
            key->kind = (uint8_t)kind;
            return true;
        }
    }
    return false;
}

/* Clients that know the build id send it: sources have files by it. */
static void set_hints(char hints[SYMCACHE_HINTS_MAX + 1],
                      const struct symstore_path *place)
{
    char id[SYMCACHE_ID_TEXT_MAX + 1];

    hints[0] = '\0';
    if (place->ids[0].id_type == SYMCACHE_ID_BUILD) {
        symcache_id_print(id, &place->ids[0]);
        (void)symcache_hint_add(hints, SYMCACHE_HINT_CODE_ID, id, strlen(id));
    }
}

void warm_file(struct scheduler *scheduler, const struct symstore_path *place,
               bool is_try)
{
    const struct config *config = scheduler_config(scheduler);
    const struct transcoder_config *transcoder;
    const struct store_config *store;
    char hints[SYMCACHE_HINTS_MAX + 1];
    symcache_ask_t ask = {.min = {.major = 1}};
    symcache_key_t key;
    struct scheduler_lookup lookup = {.key = &key,
                                      .name = place->module,
                                      .ask = &ask,
                                      .via = "",
                                      .hints = hints};
    size_t i, j;

    set_hints(hints, place);
    for (i = 0; i < config->nstores; i++) {
        store = &config->stores[i];
        for (j = 0; j < store->ntranscoders &&
                    config_store_has_uploads(store, is_try);
             j++) {
            transcoder = &store->transcoders[j];
            ask.version = transcoder->version;
            lookup.store = store;
            if ((transcoder->inputs & 1u << place->format) &&
                warm_set_key(&key, transcoder->makes, place)) {
                (void)scheduler_ask(scheduler, &lookup, ignore_answer, NULL);
            }
        }
    }
}
