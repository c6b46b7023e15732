/*
 * Copyright (C) the ngx_symcache authors
 *
 * The way of a request through several helpers, as X-Symcache-Via tells it:
 * "id, id, ...".  Each helper makes an id of its own at its start; if it gets a
 * request with this id, that was caused by a request of its own.
 */
#ifndef SYMCACHED_SOURCE_VIA_H
#define SYMCACHED_SOURCE_VIA_H

#include <stdbool.h>
#include <stddef.h>

/* a list, with its NUL; no helper sends a longer one */
#define VIA_MAX 512

/* The id of this process. */
const char *via_self(void);

/* Returns true if the list is malformed, too long, or has our id in it. */
bool via_loops(const char *list);

/*
 * Puts the ids of more at the end of to, which has VIA_MAX bytes.  If there is
 * no room, the first ids are dropped: a client may send as many as it likes,
 * and that must not make the list too long for the next server.  In a loop the
 * own id is among the last, so it is still seen.
 */
void via_join(char *to, const char *more);

#endif
