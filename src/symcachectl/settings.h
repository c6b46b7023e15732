/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which helper, which store: from options, or from the helper's own
 * configuration.
 */
#ifndef SYMCACHECTL_SETTINGS_H
#define SYMCACHECTL_SETTINGS_H

#include "options.h"

#define SETTINGS_CONFIG "/etc/symcached.json"
#define SETTINGS_SOCKET "unix:/run/symcached/symcached.sock"
#define SETTINGS_STORE "default"

struct settings {
    const char *config; /* NULL: SETTINGS_CONFIG, if it can be read */
    const char *socket;
    const char *store;
    const char *root; /* of a store on this machine */
    int is_json;
};

/* In a list of options */
#define SETTINGS_OPTIONS(s)                                                   \
    {"-c", NULL, &(s).config}, {"--store", NULL, &(s).store},                 \
    {                                                                         \
        "--json", &(s).is_json, NULL                                          \
    }

/* The store's name. */
const char *settings_store(const struct settings *settings);

/*
 * Where the helper listens: "unix:/path" or "host:port".  Returns a text that
 * lives until the process ends, or NULL after having said why there is none.
 */
const char *settings_socket(const struct settings *settings);

/* The root of the store; otherwise as settings_socket, and sets the exit
 * code. */
const char *settings_root(const struct settings *settings, int *code);

#endif
