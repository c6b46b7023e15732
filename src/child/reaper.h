/*
 * Copyright (C) the ngx_symcache authors
 *
 * A process that outlives the helper by a moment: when the helper is gone,
 * however that came about, it kills the process groups that the helper had
 * started.
 */
#ifndef CHILD_REAPER_H
#define CHILD_REAPER_H

#include <sys/types.h>

/* Starts it, early: it inherits what is open.  Returns 0, or -1 with errno. */
int reaper_start(void);

/* A group to kill when the helper is gone, and one that ended before. */
void reaper_add(pid_t group);
void reaper_drop(pid_t group);

#endif
