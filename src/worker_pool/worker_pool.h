/*
 * Copyright (C) the ngx_symcache authors
 *
 * Bodies that are trusted by nothing are read in processes without rights:
 *
 *   thread --wants a worker--> spawner --forks, executes--> worker
 *   thread <----its socket---- spawner
 *   thread --a body--> worker --what it needs, its result--> thread
 *
 * A worker that a body has taken over can falsify what it says next, and no
 * more.  So it serves one domain (a customer) and no other, and goes after so
 * many bodies.
 */
#ifndef WORKER_POOL_H
#define WORKER_POOL_H

#include "message.h"
#include "pool.h"
#include "worker_loop.h"
#include "spawner.h"

#endif
