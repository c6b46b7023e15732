/*
 * Copyright (C) the ngx_symcache authors
 *
 * What one lookup comes to, from what is on disk, what is known to be absent
 * and what the store's transcoders make.  Decides with symcache_answer(), as
 * the module does.
 */
#ifndef SYMCACHED_DECISION_H
#define SYMCACHED_DECISION_H

#include "absent.h"
#include "jobs.h"

struct decision {
    symcache_answer_e what;
    symcache_version_t best; /* HIT, STALE */
    const struct transcoder_config *transcoder;
    bool blocked; /* the transcoder's version is known not to be had now */
    struct absent_entry entry; /* if blocked */
};

/* name is the key's as it was asked for. */
void decision_make(struct decision *d, struct absent *absent,
                   const struct store_config *store,
                   const struct cache_config *cache, const symcache_key_t *key,
                   const char *name, const symcache_ask_t *ask);

/*
 * Fills the answer that needs no job; its strings point into *d.  Returns
 * false if only a job can tell.
 */
bool decision_answer(const struct decision *d,
                     const struct store_config *store, struct jobs_answer *a);

#endif
