/*
 * Copyright (C) the ngx_symcache authors
 *
 * A thread beside the loop, for calls that block and cannot be told not to.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

/*
 * Nobody waits for its end, and no signal is delivered to it but SIGBUS, of a
 * mapped file that was cut short.  Returns 0, or an errno.
 */
int thread_start(void *(*run)(void *), void *arg);

#endif
