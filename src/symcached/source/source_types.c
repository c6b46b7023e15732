/*
 * Copyright (C) the ngx_symcache authors
 *
 * The types that a source may have, in the order in which they are named; each
 * stands at the end of its file.
 */
#include "sources.h"

extern const struct source_type source_filesystem, source_http, source_s3,
    source_gcs, source_azure, source_symcache, source_sentry,
    source_web;

const struct source_type *const source_types[] = {
    &source_filesystem,
    &source_http,
    &source_s3,
    &source_gcs,
    &source_azure,
    &source_symcache,
    &source_sentry,
    &source_web,
    NULL,
};
