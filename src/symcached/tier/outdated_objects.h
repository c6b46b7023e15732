/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files of a store whose original was replaced while a tier may still have
 * what was made of the former one.  Each has a note on disk, which survives a
 * restart: a file <root>/.discarded/<SHA-256 of its path>, which has that
 * path, as in proto/path.h, and a newline.  While the note exists, the file is
 * not read from the tier, and the tier's object must be removed or replaced.
 */
#pragma once

#include <event2/util.h>
#include <stdbool.h>
#include "proto/key.h"
#include "proto/version.h"

bool outdated_object_is_noted(const char *root, const symcache_key_t *key,
                              const symcache_version_t *version);

/* The tier has nothing any more that was made of a former original. */
void outdated_object_drop(const char *root, const symcache_key_t *key,
                          const symcache_version_t *version);

/*
 * A timer's: reads the notes of all stores in a thread, and has the objects
 * removed; it fires once an hour, and at a reload.  arg is struct tiers.
 */
void outdated_objects_look(evutil_socket_t fd, short events, void *arg);
