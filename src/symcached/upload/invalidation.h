/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files have been uploaded or removed: whatever was known of their keys is
 * dropped, in each store that has uploads among its sources: negative entries,
 * what was made of other files, and jobs that run.
 */
#pragma once

#include "publication.h"

struct event_base;
struct invalidation;
struct scheduler;

/* is_made: a store with a tier had what was made of former files. */
typedef void (*invalidation_done_fn)(void *arg, bool is_made);

/*
 * Drops it for those of n files that were stored (UPLOAD_NEW, UPLOAD_REPLACED),
 * or may be; of those that are complete only negative entries.
 * The files live until the end.  done is called once, never from inside: a job
 * that is just publishing is waited for, and a tier that is just storing.
 * Returns NULL when out of memory.
 */
struct invalidation *invalidation_start(struct event_base *base,
                                        struct scheduler *scheduler,
                                        const struct upload_file *files,
                                        size_t n, bool is_try,
                                        invalidation_done_fn done, void *arg);

/* done is not called any more.  NULL is allowed. */
void invalidation_cancel(struct invalidation *invalidation);
