/*
 * Copyright (C) the ngx_symcache authors
 *
 * How a job gets a source file that a debugger asks for by build id and path:
 * of the source bundle of the module first, by way of its SourceCache, which is
 * waited for.  The text is copied out of that in a sandboxed child.  Without it
 * the sources are asked, of which servers of debuginfod have such files.
 */
#pragma once

#include <stdbool.h>

#include "proto/key.h"

struct job;

/* Sets the key of the SourceCache in which the file of a key may be.  Returns
 * false if the key is of no such file. */
bool source_member_key(const symcache_key_t *key, symcache_key_t *cache);

/* Takes over a job that has just begun, once.  Returns false if it is for
 * something else, or was taken before: it asks its sources. */
bool source_member_begin(struct job *job);

/* Ends what runs. */
void source_member_leave(struct job *job);
