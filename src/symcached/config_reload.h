/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the configuration file again without blocking the event loop: the
 * file, or a secret or a folder that it names, may be on a disk that hangs.
 */
#pragma once

#include "config/config.h"

struct event_base;

/*
 * If config is NULL, error says why; otherwise the function that is called
 * takes over the reference to config.
 */
typedef void (*config_reload_fn)(void *arg, struct config *config,
                                 const char *error);

/*
 * fn is called once, never from inside this function; the task is gone then.
 * Returns NULL with errno if it cannot start.
 */
struct task *config_reload_start(struct event_base *base, const char *file,
                                 config_reload_fn fn, void *arg);
