/*
 * Copyright (C) the ngx_symcache authors
 *
 * Jobs for what is made of files that are in the store already: a JsCache of a
 * script and its source map, which are files at URLs, or bytes of SourceCaches
 * of bundles.  Hints name both; the id of the key is the hash of their
 * digests, so that a wrong one is refused.
 */
#pragma once

#include <stdbool.h>
#include "proto/key.h"

struct job;

/* Are files of this kind made so? */
bool kind_has_inputs(symcache_kind_e kind);

/*
 * Looks for the inputs of a job that has a transcoder slot and a work folder,
 * in a thread.  Then job_start_transcoder() is called, or the job has ended,
 * as something is wrong with them.
 */
void job_take_inputs(struct job *job);

/* The job ends meanwhile. */
void job_leave_inputs(struct job *job);
