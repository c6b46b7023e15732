/*
 * Copyright (C) the ngx_symcache authors
 *
 * Sources of a client's own, in the forms that Symbolicator takes: HTTP
 * servers, and buckets of S3 and of Google's storage.  What they say of
 * credentials goes to symcached, for the tenant, and nowhere else: no error
 * and no location has anything of it.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_OWN_SOURCES_H
#define SYMBOLICATED_API_SYMBOLICATOR_OWN_SOURCES_H

#include "request.h"

/* Returns 0, or 422 with a sentence in error. */
int own_sources_check(const struct symbolicator_request *request, char *error,
                      size_t error_size);

/* Writes what a tenant is asked for with; nothing if there is no source in
 * which a module may be. */
void own_sources_write(struct json_writer *w,
                       const struct symbolicator_request *request);

/* Finds a source of the request by its name in the tenant; 0: there is none. */
uint32_t own_source_find(const struct symbolicator_request *request,
                         const char *name);

/* Whether any module is looked for in a source. */
bool own_source_has_places(const struct symbolicator_request *request,
                           uint32_t source);

/* What a place in a source is called: "s3://BUCKET/KEY", "gs://BUCKET/KEY", or
 * its URL.  To be freed; NULL without memory. */
char *own_source_location(const struct symbolicator_request *request,
                          uint32_t source, const char *place);

#endif
