/*
 * Copyright (C) the ngx_symcache authors
 *
 * A process that kills the process groups that the helper has started when the
 * helper ends, also when that was killed itself.
 */
#ifndef CHILD_REAPER_H
#define CHILD_REAPER_H

#include <sys/types.h>

/* Starts the process.  To be called early, as it is a copy of the helper by
 * fork().  Returns 0, or -1 with errno. */
int reaper_start(void);

/* Adds a group to those to kill, in its first process before anything runs in
 * it, and removes one that has ended. */
void reaper_add(pid_t group);
void reaper_drop(pid_t group);

#endif
