/*
 * Copyright (C) the ngx_symcache authors
 *
 * A thread beside the loop, for a call that blocks and cannot be told not to.
 */
#ifndef SYMCACHED_THREAD_H
#define SYMCACHED_THREAD_H

#include <pthread.h>

/* No signal is delivered to it: these are for the loop.  0, or an errno. */
int thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
