/*
 * Copyright (C) the ngx_symcache authors
 *
 * The way of a request through several helpers, as X-Symcache-Via tells it:
 * "id, id, ...".  Each helper has an id of its own, made at its start; one
 * that sees its id again is asked, in the end, by itself.
 */
#ifndef SYMCACHED_VIA_H
#define SYMCACHED_VIA_H

#include <stdbool.h>
#include <stddef.h>

/* a list, with its NUL; what is longer came around a loop, or from a foe */
#define VIA_MAX 512

/* The id of this process. */
const char *via_self(void);

/* true if the list is no list, too long, or has our id in it. */
bool via_loops(const char *list);

/*
 * Adds the ids of more that are not in to, which has VIA_MAX bytes.  What does
 * not fit is left out.
 */
void via_join(char *to, const char *more);

#endif
