/*
 * Copyright (C) the ngx_symcache authors
 *
 * Sources of a client's own, in the forms that Symbolicator takes: HTTP
 * servers, and buckets of S3 and of Google's storage.  What they say of
 * credentials goes to symcached, for the tenant, and nowhere else: no error
 * and no location has anything of it.
 */
#pragma once

#include "native_request.h"

/* one source -------------------------------------------------------------- */

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

/* those of a request ------------------------------------------------------- */

#define CLIENT_MAX 32 /* as many as a tenant may have, and bits of a set */

/* The sources of a request. */
struct client_list {
    struct client_source sources[CLIENT_MAX];
    size_t count;
    size_t steps; /* that path_patterns may still take */
};

/* Returns 0, or 422 with a sentence in error. */
int client_sources_check(const struct symbolicator_request *request,
                         char *error, size_t error_size);

/* The location of a source in which there is no place for a file. */
#define CLIENT_NO_PLACE "No object files listed on this source"

/* Reads the sources of a request that have been checked; to be freed.  NULL
 * without memory. */
struct client_list *
client_list_read(const struct symbolicator_request *request);

/* Writes what a tenant is asked for with; nothing if there is no source in
 * which a module may be. */
void client_list_write(struct json_writer *w, const struct client_list *list,
                       const struct symbolicator_request *request);

/* Of the names of all sources; if these are longer than a hint, all are
 * asked. */
#define CLIENT_NAMES_SIZE 2048

/*
 * Which sources are asked for a module under a key of it: a set with a bit for
 * each in their order, and their names in the tenant, which are the hint
 * SYMCACHE_HINT_SOURCES; "" if these are all that the tenant has.
 */
uint32_t client_list_asks(struct client_list *list,
                          const struct symbolicator_request *request,
                          const struct symbolicator_module *module,
                          const symcache_key_t *key,
                          char names[CLIENT_NAMES_SIZE]);

/* Finds a source of a request, whose own sources were read, by its name in the
 * tenant; 0: there is none. */
uint32_t client_source_find(const struct symbolicator_request *request,
                            const char *name);

/* What a place in a source is called: "s3://BUCKET/KEY", "gs://BUCKET/KEY", or
 * its URL, or CLIENT_NO_PLACE if it is none of a file.  is_absent: nothing was
 * there.  To be freed; NULL without memory. */
char *client_source_location(const struct symbolicator_request *request,
                             uint32_t source, const char *place,
                             bool is_absent);
