/*
 * Copyright (C) the ngx_symcache authors
 *
 * Threads for calls that would block the loop.
 */
#pragma once

#include <stddef.h>

/* Starts a thread.  It is detached, so its end cannot be waited for.  All
 * signals except SIGBUS are blocked in it; the kernel raises that one when a
 * mapped file was cut short.  Returns 0, or an errno. */
int thread_start(void *(*run)(void *), void *arg);

/*
 * Memory of the calling thread, all zero at first, which stays its own until
 * it ends.  *kept, a pointer of the thread, remembers it.  A large
 * _Thread_local object instead would be cleared for every thread that starts,
 * and most threads look at one file and end.  Returns *kept; NULL without
 * memory.
 */
void *thread_keep(void **kept, size_t size);
