/*
 * Copyright (C) the ngx_symcache authors
 *
 * Looking ahead: while a job's source is silent, the next one is looked up as
 * well.  What it has counts only when its turn comes: the order of the
 * sources stays the order of quality.  One source ahead, and never into a
 * SymCache server or a host that is busy.
 */
#ifndef SYMCACHED_AHEAD_H
#define SYMCACHED_AHEAD_H

#include <stdbool.h>
#include "job.h"

struct ahead;

/* The job's lookup begins: looks ahead when it takes long. */
void ahead_watch(struct job *job);

/* Has the next source of the job been looked up before its turn? */
bool ahead_has(const struct job *job);

/*
 * Gives the job that lookup, and its work directory, whose turn it is now.
 */
void ahead_take(struct job *job, const struct source_callbacks *callbacks);

/* Stops it all. */
void ahead_drop(struct job *job);

#endif
