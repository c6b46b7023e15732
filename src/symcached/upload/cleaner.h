/*
 * Copyright (C) the ngx_symcache authors
 *
 * Removes uploaded files that are kept no longer, every "cache.clean_every",
 * in a thread.
 */
#ifndef SYMCACHED_UPLOAD_CLEANER_H
#define SYMCACHED_UPLOAD_CLEANER_H

struct cleaner;
struct event_base;
struct scheduler;

/* The first pass begins soon.  Returns NULL when out of memory. */
struct cleaner *cleaner_new(struct event_base *base,
                            struct scheduler *scheduler);

/* NULL is allowed. */
void cleaner_free(struct cleaner *cleaner);

#endif
