/*
 * Copyright (C) the ngx_symcache authors
 *
 * Whether this machine is one that requests should be sent to.
 */
#ifndef SYMCACHED_SERVER_READY_H
#define SYMCACHED_SERVER_READY_H

struct event_base;
struct ready;
struct scheduler;

/*
 * Looks at the disks of stores and downloads now and every few seconds, in a
 * thread, since one that hangs would block the loop.  Returns NULL when out of
 * memory.
 */
struct ready *ready_new(struct event_base *base, struct scheduler *scheduler);

/* ready may be NULL. */
void ready_free(struct ready *ready);

/*
 * Returns NULL, or one word that says why requests are better sent elsewhere:
 * "draining"; "no-room", if a disk is full or has less than cache.min_free;
 * "no-disk", if one is read-only, fails or is silent; "starting", until the
 * disks were looked at.
 */
const char *ready_why_not(const struct ready *ready);

#endif
