/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where a client gets an uploaded file by itself: at the tier, if that has
 * "redirect", and this machine does not have the file.
 */
#ifndef SYMCACHED_SOURCE_LOCATE_H
#define SYMCACHED_SOURCE_LOCATE_H

#include "config/config.h"
#include "proto/key.h"

struct event_base;
struct locate;
struct tiers;

/* url: NULL if there is none, and the file is to be looked for as ever. */
typedef void (*locate_done_fn)(void *arg, const char *url);

/*
 * Takes a reference of config, of which store is one.  done is called once,
 * never from inside this function, and the handle is then invalid.  Returns
 * NULL if there is no URL for any file of such a key.
 */
struct locate *locate_start(struct event_base *base, struct tiers *tiers,
                            const struct config *config,
                            const struct store_config *store,
                            const symcache_key_t *key, locate_done_fn done,
                            void *arg);

/* Ends all: there is no URL any more. */
void locates_end(void);

/* done is not called any more. */
void locate_cancel(struct locate *locate);

#endif
