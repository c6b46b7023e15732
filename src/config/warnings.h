/*
 * Copyright (C) the ngx_symcache authors
 *
 * Warnings about settings that are probably wrong.  They are not errors, as
 * they may be intended, or right on another machine.
 */
#pragma once

#include <stdbool.h>

struct config;

struct event_base;

/* Gets one line that names the key and the consequence. */
typedef void (*warnings_fn)(const char *text);

/*
 * Calls tell for each warning and returns their number.  If thorough, looks at
 * the folders of sources and of the socket, too, and whether those of stores
 * can be written to, by symcached's systemd unit if there is one.
 * This blocks for some seconds for each path on a share that hangs.
 */
unsigned warnings_tell(const struct config *config, bool thorough,
                       warnings_fn tell);

/*
 * The same in a separate thread, in which tell is called; not thorough.
 */
void warnings_look(struct event_base *base, struct config *config,
                   warnings_fn tell);
