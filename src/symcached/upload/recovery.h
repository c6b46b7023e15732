/*
 * Copyright (C) the ngx_symcache authors
 *
 * A process was killed when files of an upload had their names, or were about
 * to get or to lose them, and not all had been told: this one drops what was
 * known, here and on the other machines (intent.h).
 */
#ifndef SYMCACHED_UPLOAD_RECOVERY_H
#define SYMCACHED_UPLOAD_RECOVERY_H

struct event_base;
struct peers;
struct recoveries;
struct scheduler;

/* peers live longer.  Returns NULL when out of memory. */
struct recoveries *recoveries_new(struct event_base *base,
                                  struct scheduler *scheduler,
                                  struct peers *peers);

/* Looks for what was left below the root of the configuration. */
void recoveries_look(struct recoveries *recoveries);

/* What is not done yet is left.  NULL is allowed. */
void recoveries_free(struct recoveries *recoveries);

#endif
