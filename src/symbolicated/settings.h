/*
 * Copyright (C) the ngx_symcache authors
 *
 * The configuration with what is open for it.  Nobody changes one; a reload
 * makes another, and requests keep the one they began with.
 */
#pragma once

#include <stdatomic.h>
#include "symbolicated/search/symcached_client.h"
#include "config/config.h"

struct settings {
    atomic_uint refs;
    struct config *config;
    const struct symbolication_config *symbolication; /* of config */
    struct symcached_client_address helper;
    int tenants; /* the folder of tenants, or -1 */
    struct symcached_client_address
        guests;  /* if it is there: who has its stores */
    int roots[]; /* of the stores of symbolication, in that order */
};

/*
 * Opens the folders of stores that are not open yet, unless the process has
 * locked itself in; they stay open for ever.  Takes a reference to config.
 * NULL with a sentence in error.
 */
struct settings *settings_new(struct config *config, bool locked, char *error,
                              size_t size);

struct settings *settings_ref(struct settings *settings);
void settings_unref(struct settings *settings); /* NULL is allowed */
