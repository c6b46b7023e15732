/*
 * Copyright (C) the ngx_symcache authors
 *
 * While a job's source is silent, the next source is asked as well.  Its answer
 * is used only when its turn comes, since sources are configured in the order
 * of their quality; but a host that is silent for limits.first_byte_patience is
 * not waited for if the next source has the file.  Only one source at a time is
 * asked before its turn, and never a SymCache server or a host that is busy.
 */
#pragma once

#include <stdbool.h>
#include "job_state.h"

/* The job's lookup begins: if it takes long, the next source is asked. */
void prefetch_watch(struct job *job);

/* Is a source asked before its turn, or was one? */
bool prefetch_runs(const struct job *job);

/* Was the job's source, whose turn it is now, asked before its turn? */
bool prefetch_has(const struct job *job);

/* Hands that lookup and its work directory over to the job. */
void prefetch_take(struct job *job, const struct lookup_callbacks *callbacks);

/* Ends the lookup before its turn, if there is one, and begins no more. */
void prefetch_drop(struct job *job);
