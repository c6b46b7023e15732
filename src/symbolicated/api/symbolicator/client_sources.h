/*
 * Copyright (C) the ngx_symcache authors
 *
 * Sources of a client's own, in the forms that Symbolicator takes: HTTP
 * servers, and buckets of S3 and of Google's storage.  What they say of
 * credentials goes to symcached, for the tenant, and nowhere else: no error
 * and no location has anything of it.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_CLIENT_SOURCES_H
#define SYMBOLICATED_API_SYMBOLICATOR_CLIENT_SOURCES_H

#include "native_request.h"

/* Returns 0, or 422 with a sentence in error. */
int client_sources_check(const struct symbolicator_request *request,
                         char *error, size_t error_size);

struct client_list;

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

#endif
