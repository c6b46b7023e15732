/*
 * Copyright (C) the ngx_symcache authors
 *
 * Signals to a daemon, told of in the loop.  They arrive in a thread of
 * their own, which also sees to it that a stop comes to an end: a loop that
 * waits for a disk hears of nothing.
 *
 * One for the process.
 */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

struct event_base;

typedef void (*signals_fn)(void *arg, int signo);

/*
 * From now on fn is called for TERM, INT, HUP and USR1; before other threads
 * are started, which take none of them then.  Some seconds after the first
 * TERM or INT the process ends, whatever it waits for.  Returns 0, or -1 with
 * errno.
 */
int signals_start(struct event_base *base, signals_fn fn, void *arg);

void signals_stop(void);

#endif
