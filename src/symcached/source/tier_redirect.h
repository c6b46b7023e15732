/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where a client gets an uploaded file by itself: at the tier, if that has
 * "redirect", and this machine does not have the file.
 */
#pragma once

#include "config/config.h"
#include "proto/key.h"

struct event_base;
struct tier_redirect;
struct tiers;

/* url: NULL if there is none, and the file is to be looked for as ever. */
typedef void (*tier_redirect_done_fn)(void *arg, const char *url);

/*
 * Takes a reference of config, of which store is one.  done is called once,
 * never from inside this function, and the handle is then invalid.  Returns
 * NULL if there is no URL for any file of such a key.
 */
struct tier_redirect *
tier_redirect_start(struct event_base *base, struct tiers *tiers,
                    const struct config *config,
                    const struct store_config *store, const symcache_key_t *key,
                    tier_redirect_done_fn done, void *arg);

/* Ends all: there is no URL any more. */
void tier_redirects_end(void);

/* done is not called any more. */
void tier_redirect_cancel(struct tier_redirect *redirect);
