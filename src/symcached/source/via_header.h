/*
 * Copyright (C) the ngx_symcache authors
 *
 * The way of a request through several helpers, as X-Symcache-Via tells it:
 * "id, id, ...".  Each store of a helper has an id, which is another one after
 * each start; if it is asked with this id, a question of its own has caused
 * that.  One store of a helper may have another one as its source.
 */
#pragma once

#include <stdbool.h>
#include "proto/header.h"

/* a list, with its NUL; no helper sends a longer one */
#define VIA_MAX SYMCACHE_VIA_MAX

#define VIA_ID 16 /* digits of an id */

/* Writes the id of a store of this process, and returns it. */
const char *via_self(char id[VIA_ID + 1], const char *store);

/* Returns true if the list is malformed, too long, or has the id of the store
 * in it. */
bool via_loops(const char *list, const char *store);

/* Has a list all ids of another one? */
bool via_has_all(const char *list, const char *ids);

/*
 * Does a question that came by one way go before the questions of a store that
 * came by another one?  The order is that of the ids, one after another, with
 * the store's own at the end of its way.
 *
 * Of servers that wait for each other in a circle, one has the first way in
 * this order.  Those that it waits for take its way for theirs, and so on, till
 * it comes to a server that is on it.  If all questions went on, all would be
 * answered without the others.
 */
bool via_precedes(const char *way, const char *other, const char *store);

/*
 * Puts the ids of more at the end of to, which has VIA_MAX bytes.  If there is
 * no room, the first ids are dropped: a client may send as many as it likes,
 * and that must not make the list too long for the next server.  In a loop the
 * own id is among the last, so it is still seen.
 */
void via_join(char *to, const char *more);
