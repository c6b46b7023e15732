/*
 * Copyright (C) the ngx_symcache authors
 */
#ifndef SYMBOLICATED_WORKER_LINKAGE_NAME_H
#define SYMBOLICATED_WORKER_LINKAGE_NAME_H

#include "worker_pool/worker_pool.h"

/* A body of the kind LINKAGE_WORK: a name, whose limit is the language.  Its
 * result is the readable form; a name that has none is refused. */
void name_work(const struct work_body *body);

#endif
