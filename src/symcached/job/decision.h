/*
 * Copyright (C) the ngx_symcache authors
 *
 * Decides how to answer a lookup, from what is on disk, what is known to be
 * absent and what the store's transcoders make.  It uses symcache_answer(), as
 * the module does.
 */
#pragma once

#include "symcached/negcache/negcache.h"
#include "job.h"

struct decision {
    symcache_answer_e what;
    symcache_version_t best; /* of HIT and STALE: what is on disk */
    const struct transcoder_config *transcoder;
    bool negative; /* the transcoder's version is known not to be had now */
    struct negcache_entry entry; /* of negative; its text also of unseen */
    int unseen; /* errno if the disk could not be looked at, so that only a job
                   that runs already can tell; or 0 */
};

/*
 * When the uploads with an id of the key last changed, for
 * negcache_entry.uploads_changed; 0 = there are none.
 */
int64_t decision_uploads_changed(const struct store_config *store,
                                 const struct config *config,
                                 const symcache_key_t *key, const char *hints);

/* Fills *decision.  name is the key's, spelled as it was asked for. */
void decision_make(struct decision *decision, struct negcache *negcache,
                   const struct store_config *store,
                   const struct config *config, const symcache_key_t *key,
                   const char *name, const char *hints, const char *via,
                   const symcache_ask_t *ask);

/*
 * Fills the answer that needs no job; its strings point into *decision.
 * Returns false if only a job can tell.
 */
bool decision_answer(const struct decision *decision,
                     const struct store_config *store,
                     const symcache_key_t *key,
                     struct scheduler_answer *answer);
