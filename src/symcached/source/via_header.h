/*
 * Copyright (C) the ngx_symcache authors
 *
 * The way of a request through several helpers, as X-Symcache-Via tells it:
 * "id, id, ...".  Each store of a helper has an id, which is another one after
 * each start; if it is asked with this id, a question of its own has caused
 * that.  One store of a helper may have another one as its source.
 */
#ifndef SYMCACHED_SOURCE_VIA_HEADER_H
#define SYMCACHED_SOURCE_VIA_HEADER_H

#include <stdbool.h>

/* a list, with its NUL; no helper sends a longer one */
#define VIA_MAX 512

#define VIA_ID 16 /* digits of an id */

/* Writes the id of a store of this process, and returns it. */
const char *via_self(char id[VIA_ID + 1], const char *store);

/* Returns true if the list is malformed, too long, or has the id of the store
 * in it. */
bool via_loops(const char *list, const char *store);

/* Has a list all ids of another one? */
bool via_has_all(const char *list, const char *ids);

/*
 * Does a job of the store, which has the ids of list, have to be told of a
 * question that waits for it, with the ids of more?  Of servers that wait for
 * each other in a circle one has the smallest id, and its question goes round,
 * until it comes to a server that is on its way.  If all questions did, all
 * would be answered without the others.
 */
bool via_goes_on(const char *list, const char *store, const char *more);

/*
 * Puts the ids of more at the end of to, which has VIA_MAX bytes.  If there is
 * no room, the first ids are dropped: a client may send as many as it likes,
 * and that must not make the list too long for the next server.  In a loop the
 * own id is among the last, so it is still seen.
 */
void via_join(char *to, const char *more);

#endif
