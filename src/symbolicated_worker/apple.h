/*
 * Copyright (C) the ngx_symcache authors
 *
 * Bodies with a crash report of Apple's.
 */
#ifndef SYMBOLICATED_WORKER_APPLE_H
#define SYMBOLICATED_WORKER_APPLE_H

#include "worker_pool/worker_pool.h"

/* Reads a form or a report.  Nothing is asked for: frames are in the report. */
void apple_work(const struct work_body *body);

#endif
