/*
 * Copyright (C) the ngx_symcache authors
 *
 * Minidumps, as a form has them: read, and walked with the files that
 * symbolicated has of their modules.
 */
#ifndef SYMBOLICATED_WORKER_MINIDUMP_H
#define SYMBOLICATED_WORKER_MINIDUMP_H

#include "worker_pool/worker_pool.h"

/* A body of the kind CRASH_MINIDUMP.  Its limit is the number of frames. */
void minidump_work(const struct work_body *body);

#endif
