/*
 * Copyright (C) the ngx_symcache authors
 *
 * The configuration file, read once more beside the loop: it may lie, or name
 * secrets and folders, on a disk that hangs.
 */
#ifndef SYMCACHED_RELOAD_H
#define SYMCACHED_RELOAD_H

#include "config/config.h"

struct event_base;
struct reload;

/* NULL: error says why.  The caller has config's reference then. */
typedef void (*reload_fn)(void *arg, struct config *config, const char *error);

/*
 * fn is called once, never from inside this function; the handle is gone
 * then.  NULL with errno.
 */
struct reload *reload_start(struct event_base *base, const char *file,
                            reload_fn fn, void *arg);

void reload_cancel(struct reload *reload);

#endif
