
/*
 * Copyright (C) the ngx_symcache authors
 */


#include "answer.h"


int
symcache_answer_exceeds(const char *p, size_t len, symcache_ask_t *ask)
{
    symcache_version_t  v;

    if (!symcache_version_parse(p, len, &v)) {
        return 0;
    }

    if (symcache_version_cmp(&v, &ask->version) >= 0) {
        return 0;
    }

    ask->exceeds = v;
    ask->has_exceeds = 1;

    return 1;
}


symcache_answer_e
symcache_answer(const symcache_ask_t *ask, const symcache_version_t *best,
    const symcache_version_t *made)
{
    if (best == NULL) {

        if (made == NULL) {
            return SYMCACHE_ANSWER_NONE;
        }

        /*
         * The client already has a file that nothing here can replace by a
         * newer one.  Therefore nothing is made for it, even though nothing is
         * cached.
         */

        if (ask->has_exceeds && symcache_version_cmp(made, &ask->exceeds) <= 0)
        {
            return SYMCACHE_ANSWER_NOT_MODIFIED;
        }

        return SYMCACHE_ANSWER_MAKE;
    }

    if (ask->has_exceeds && symcache_version_cmp(best, &ask->exceeds) <= 0) {

        if (made != NULL && symcache_version_cmp(made, &ask->exceeds) > 0) {
            return SYMCACHE_ANSWER_MAKE;
        }

        return SYMCACHE_ANSWER_NOT_MODIFIED;
    }

    if (made != NULL && symcache_version_cmp(made, best) > 0) {
        return SYMCACHE_ANSWER_STALE;
    }

    return SYMCACHE_ANSWER_HIT;
}
