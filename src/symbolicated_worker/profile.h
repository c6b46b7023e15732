/*
 * Copyright (C) the ngx_symcache authors
 *
 * Profiles, which get names.
 */
#ifndef SYMBOLICATED_WORKER_PROFILE_H
#define SYMBOLICATED_WORKER_PROFILE_H

#include "worker_pool/worker_pool.h"

/* A body of the kind PROFILE_WORK.  Its limit is the number of modules. */
void profile_work(const struct work_body *body);

#endif
