/*
 * Copyright (C) the ngx_symcache authors
 *
 * A source of a client's own, as it was read.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_CLIENT_SOURCE_H
#define SYMBOLICATED_API_SYMBOLICATOR_CLIENT_SOURCE_H

#include "schema.h"

enum client_member {
    CLIENT_TYPE,
    CLIENT_ID,
    CLIENT_URL,
    CLIENT_HEADERS,
    CLIENT_BUCKET,
    CLIENT_PREFIX,
    CLIENT_REGION,
    CLIENT_PROVIDER,
    CLIENT_ACCESS_KEY,
    CLIENT_SECRET_KEY,
    CLIENT_CLIENT_EMAIL,
    CLIENT_PRIVATE_KEY,
    CLIENT_BEARER_TOKEN,
    CLIENT_TOKEN,
    CLIENT_COOKIES,
    CLIENT_LAYOUT,
    CLIENT_FILTERS,
    CLIENT_IS_PUBLIC,
    CLIENT_HAS_INDEX,
    CLIENT_INVALID_CERTS,
    CLIENT_MEMBERS
};

#define CLIENT_NAME_SIZE 16

/* Of which modules a source is asked. */
struct client_filter {
    unsigned types;      /* a set of enum client_file */
    uint32_t patterns;   /* for the path of a module's file; 0: all match */
    bool wants_checksum; /* only if the module has one */
};

/* The members that are copied from a source. */
struct client_source {
    uint32_t found[CLIENT_MEMBERS];
    const char *layout; /* NULL: nothing is looked for in it */
    const char *casing;
    bool is_sentry;              /* it is asked which files it has */
    struct client_filter filter; /* types: also those of the layout */
    uint32_t region, endpoint;   /* s3; endpoint may be 0 */
    const char *login;           /* of the URL; NULL: none */
    size_t login_size;
    const char *host; /* of the URL: host, port and path */
    size_t host_size;
    uint32_t value;
    bool is_public;
    char name[CLIENT_NAME_SIZE]; /* in its store */
};

#define CLIENT_MAX 32 /* as many as a tenant may have, and bits of a set */

/* The sources of a request. */
struct client_list {
    struct client_source sources[CLIENT_MAX];
    size_t count;
    size_t steps; /* that path_patterns may still take */
};

/* Reads one.  Returns whether nothing is wrong; else that is in the walk's
 * error. */
bool client_source_read(struct schema_walk *walk, uint32_t value,
                        struct client_source *own);

/* Whether its files may be returned to every client. */
bool client_source_is_public(const struct json *json,
                             const struct client_source *own);

/* Whether it has a member that is not empty. */
bool client_source_has(const struct json *json,
                       const struct client_source *own,
                       enum client_member member);

#endif
