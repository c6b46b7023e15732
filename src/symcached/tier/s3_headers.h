/*
 * Copyright (C) the ngx_symcache authors
 *
 * Headers of a request to a bucket of S3 or of Google's storage, other than
 * those of its signature.
 */
#pragma once

#include "call.h"

#define S3_HEADERS_MAX 16 /* more are left out */

/* {.n = 0} has none.  It is not copied: the list points into it. */
struct s3_headers {
    struct header_config list[S3_HEADERS_MAX];
    size_t n;
    char type[64];
    char text[TIER_META_MAX + 512]; /* names and values of the metadata */
};

/* The digest of the body, which must outlive the headers, where the request is
 * signed. */
void s3_headers_add_body(struct s3_headers *headers,
                         const struct tier_call *call, const char *sha256);

/* The condition that there is no object yet. */
void s3_headers_add_absent(struct s3_headers *headers,
                           const struct tier_call *call);

/* That the body of the object, and nothing else, is that of another one. */
void s3_headers_add_copy(struct s3_headers *headers,
                         const struct tier_call *call, char *from);

/* The type of the call's object. */
void s3_headers_add_type(struct s3_headers *headers,
                         const struct tier_call *call);

/* The call's metadata, lines of "<name>: <value>".  At most once. */
void s3_headers_add_meta(struct s3_headers *headers,
                         const struct tier_call *call);
