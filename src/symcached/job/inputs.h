/*
 * Copyright (C) the ngx_symcache authors
 *
 * Jobs for what is made of files that are in the store already: a JsCache of a
 * script and its source map, which are files at URLs.  Hints name both; the id
 * of the key is the hash of their digests, so that a wrong one is refused.
 */
#ifndef SYMCACHED_JOB_INPUTS_H
#define SYMCACHED_JOB_INPUTS_H

#include <stdbool.h>
#include "proto/key.h"

struct job;

/* Are files of this kind made so? */
bool kind_has_inputs(symcache_kind_e kind);

/* Gives a job that has a transcoder slot its inputs.  Returns false if it has
 * ended, as something is wrong with them. */
bool job_take_inputs(struct job *job);

#endif
