/*
 * Copyright (C) the ngx_symcache authors
 *
 * Threads for calls that would block the loop.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

/*
 * Starts a thread.  It is detached, so nobody can wait for its end.  All
 * signals except SIGBUS are blocked in it; the kernel raises that one when a
 * mapped file was cut short.  Returns 0, or an errno.
 */
int thread_start(void *(*run)(void *), void *arg);

#endif
