/*
 * Copyright (C) the ngx_symcache authors
 *
 * The way of a request through several helpers, as X-Symcache-Via tells it:
 * "id, id, ...".  Each helper has an id of its own, made at its start; one
 * that sees its id again is asked, in the end, by itself.
 */
#ifndef SYMCACHED_SOURCE_VIA_H
#define SYMCACHED_SOURCE_VIA_H

#include <stdbool.h>
#include <stddef.h>

/* a list, with its NUL; no helper sends a longer one */
#define VIA_MAX 512

/* The id of this process. */
const char *via_self(void);

/* true if the list is no list, too long, or has our id in it. */
bool via_loops(const char *list);

/*
 * Puts the ids of more at the end of to, which has VIA_MAX bytes.  The first
 * make room: any client may name as many as it likes, and who is asked next
 * shall not find the list full.  Around a loop the own id is among the last.
 */
void via_join(char *to, const char *more);

#endif
