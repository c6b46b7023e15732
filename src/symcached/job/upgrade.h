/*
 * Copyright (C) the ngx_symcache authors
 *
 * Jobs that nobody waits for: they look for a better file than the one that
 * is served meanwhile.
 */
#pragma once

#include "decision.h"
#include "scheduler_state.h"

/* Starts one.  Returns false if none was started. */
bool upgrade_start(struct scheduler *scheduler,
                   const struct scheduler_lookup *lookup,
                   const struct transcoder_config *transcoder,
                   enum job_purpose purpose, size_t better);

/*
 * A file of a former builder of our converter is made anew, and stays if that
 * comes to nothing.
 * If the file that serves this hit was not made from the best source, the
 * better ones are asked again, but no more often than for a miss; and if it
 * was made of the symbols of a program, all are asked for the debug file by
 * the code id that the client has.
 */
void upgrade_consider(struct scheduler *scheduler,
                      const struct scheduler_lookup *lookup,
                      const struct decision *decision);
