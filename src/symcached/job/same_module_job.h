/*
 * Copyright (C) the ngx_symcache authors
 *
 * Two jobs for one module: one for kinds that are best made from its debug
 * file, and one for kinds that are best made from its program.  While both
 * run, each asks only for its own kind of file, so that both files are
 * received at the same time, and each once.  If no source has its file, the
 * job waits for the end of the other one and then uses that job's download, or
 * asks for the rest.
 */
#pragma once

#include <stdbool.h>
#include "job_state.h"

/* Returns the job that makes something of the other file of the key's module,
 * or NULL. */
struct job *same_module_job_find(const struct scheduler *scheduler,
                                 const struct store_config *store,
                                 const symcache_key_t *key);

/*
 * Returns the job that a lookup has to wait for, or NULL: that of its key, or
 * its sibling, if that may be asking for any file of the module already.
 */
struct job *same_module_job_or_own(const struct scheduler *scheduler,
                                   const struct store_config *store,
                                   const symcache_key_t *key,
                                   const char *hints);

/* Call it for a job that begins: it and its sibling ask for their own files.
 */
void same_module_job_part(struct job *job);

/* All sources were asked.  Is the job to wait for the end of its sibling? */
bool same_module_job_awaits(struct job *job);

/*
 * Call it when all sources were asked and there is nothing to wait for.
 * Returns true if there were other files of the module: the job has taken one
 * from the downloads, or asks for them.
 */
bool same_module_job_goes_on(struct job *job);
