/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which helper and which store are meant, by the options or by the helper's
 * own configuration.
 */
#pragma once

#include "options.h"

#define SETTINGS_CONFIG "/etc/symcached.json"
#define SETTINGS_SOCKET "unix:/run/symcached/symcached.sock"
#define SETTINGS_STORE "default"

/* The daemons that can be asked. */
enum settings_daemon { SETTINGS_SYMCACHED, SETTINGS_SYMBOLICATED };

struct settings {
    enum settings_daemon daemon;
    const char *config; /* NULL: SETTINGS_CONFIG, if it is readable */
    const char *socket;
    const char *peers; /* sockets of several helpers, with commas between */
    const char *store;
    const char *root; /* of a store on this machine */
    int is_json;
};

/* For a list of options. */
#define SETTINGS_OPTIONS(s)                                                   \
    {"-c", NULL, &(s).config}, {"--store", NULL, &(s).store},                 \
    {                                                                         \
        "--json", &(s).is_json, NULL                                          \
    }

/* The name of the daemon, for messages. */
const char *settings_daemon_name(const struct settings *settings);

/* The name of the store. */
const char *settings_store(const struct settings *settings);

/*
 * The address at which the daemon listens: "unix:/path" or "host:port".  Of
 * symcached, that of "admin_listen" if it has one, since all is answered there.
 * Returns a text that is valid until the process ends, or NULL after printing
 * why there is none.
 */
const char *settings_socket(const struct settings *settings);

/*
 * Sets *token to the token that the daemon wants to be sent, or to NULL: there
 * is none, or it is not asked for at this address.  A socket of the options is
 * sent the token only if they name the configuration, too: it belongs to the
 * helpers of that.  Returns 0, or -1 after printing why it cannot be read.
 */
int settings_token(const struct settings *settings, const char **token);

/* The root of the store.  Returns the same as settings_socket(), and sets
 * the exit code. */
const char *settings_root(const struct settings *settings, int *code);

/* The same for the folder of uploads. */
const char *settings_uploads(const struct settings *settings, int *code);
