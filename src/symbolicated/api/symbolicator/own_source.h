/*
 * Copyright (C) the ngx_symcache authors
 *
 * A source of a client's own, as it was read.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_OWN_SOURCE_H
#define SYMBOLICATED_API_SYMBOLICATOR_OWN_SOURCE_H

#include "schema.h"

enum own_member {
    OWN_TYPE,
    OWN_ID,
    OWN_URL,
    OWN_HEADERS,
    OWN_BUCKET,
    OWN_PREFIX,
    OWN_REGION,
    OWN_PROVIDER,
    OWN_ACCESS_KEY,
    OWN_SECRET_KEY,
    OWN_CLIENT_EMAIL,
    OWN_PRIVATE_KEY,
    OWN_BEARER_TOKEN,
    OWN_TOKEN,
    OWN_COOKIES,
    OWN_LAYOUT,
    OWN_FILTERS,
    OWN_IS_PUBLIC,
    OWN_HAS_INDEX,
    OWN_INVALID_CERTS,
    OWN_MEMBERS
};

#define OWN_NAME_SIZE 16

/* Of which modules a source is asked. */
struct own_filter {
    unsigned types;      /* a set of enum own_file */
    uint32_t patterns;   /* for the path of a module's file; 0: all match */
    bool wants_checksum; /* only if the module has one */
};

/* The members that are copied from a source. */
struct own_source {
    uint32_t found[OWN_MEMBERS];
    const char *layout; /* NULL: nothing is looked for in it */
    const char *casing;
    bool is_sentry; /* it is asked which files it has */
    struct own_filter filter; /* types: also those of the layout */
    uint32_t region, endpoint;     /* s3; endpoint may be 0 */
    const char *login;             /* of the URL; NULL: none */
    size_t login_size;
    const char *host;              /* of the URL: host, port and path */
    size_t host_size;
    uint32_t value;
    bool is_public;
    char name[OWN_NAME_SIZE]; /* in its store */
};

#define OWN_MAX 32 /* as many as a tenant may have, and bits of a set */

/* The sources of a request. */
struct own_list {
    struct own_source sources[OWN_MAX];
    size_t count;
    size_t steps;   /* that path_patterns may still take */
};

/* Reads one.  Returns whether nothing is wrong; else that is in the walk's
 * error. */
bool own_source_read(struct schema_walk *walk, uint32_t value,
                     struct own_source *own);

/* Whether its files may be returned to every client. */
bool own_source_is_public(const struct json *json,
                          const struct own_source *own);

/* Whether it has a member that is not empty. */
bool own_source_has(const struct json *json, const struct own_source *own,
                    enum own_member member);

#endif
