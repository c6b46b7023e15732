/*
 * Copyright (C) the ngx_symcache authors
 *
 * Completes uploads and removals of a process that was killed while files got
 * or lost their names, or before all machines were told: their keys are
 * invalidated here and on the other machines (write_ahead_log.h).
 */
#pragma once

struct event_base;
struct peers;
struct recoveries;
struct scheduler;

/* peers live longer.  Returns NULL when out of memory. */
struct recoveries *recoveries_new(struct event_base *base,
                                  struct scheduler *scheduler,
                                  struct peers *peers);

/* Looks for intents left below the root of the configuration. */
void recoveries_look(struct recoveries *recoveries);

/* Leaves the rest to the next process.  NULL is allowed. */
void recoveries_free(struct recoveries *recoveries);
