/*
 * Copyright (C) the ngx_symcache authors
 *
 * Keeps guest stores within their sizes: a pass of cleaning after the other,
 * each a child process for one store (store/evict_process.h).
 */
#pragma once

#include "config/config.h"
#include "symcached/space/space.h"

struct event_base;
struct cleaning;

struct cleaning *cleaning_new(struct event_base *base); /* NULL: no memory */
void cleaning_free(struct cleaning *cleaning);          /* NULL is allowed */

/* Has the store of a configuration cleaned soon, if that is not to be done
 * already.  Without memory it is not. */
void cleaning_add(struct cleaning *cleaning, struct config *config);

/* The store goes: it is not cleaned any more. */
void cleaning_drop(struct cleaning *cleaning, const struct config *config);

/*
 * A file of some store did not fit: has files of another one removed for it,
 * as many as are needed, if there is still no room when its turn comes.
 */
void cleaning_make_space(struct cleaning *cleaning, struct config *config,
                        const struct space_request *request);
