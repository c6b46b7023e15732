/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reports the signals of a daemon to its loop.  A separate thread receives
 * them, because a loop that is blocked by a disk cannot.  The thread also ends
 * the process if a stop takes too long.
 *
 * There is one such thread for the whole process.
 */
#pragma once

struct event_base;

typedef void (*signals_fn)(void *arg, int signo);

/*
 * Delays HUP and USR1 until signals_start().  A daemon whose socket is there
 * looks as if it could be told to reload, and either would end it.
 */
void signals_delay(void);

/*
 * Calls fn in the loop for each TERM, INT, HUP and USR1 from now on.  This must
 * come before other threads are started, so that those inherit the blocked
 * signals.  Some seconds after the first TERM or INT the process ends even if
 * the loop is blocked.  Returns 0, or -1 with errno.
 */
int signals_start(struct event_base *base, signals_fn fn, void *arg);

void signals_stop(void);
