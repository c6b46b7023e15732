/*
 * Copyright (C) the ngx_symcache authors
 *
 * URLs of Google's storage, signed with the private key of a service account
 * ("V4 signing process with your own program"): nobody needs to be asked for a
 * token.
 */
#ifndef SYMCACHED_SOURCE_TYPES_GCS_SIGN_H
#define SYMCACHED_SOURCE_TYPES_GCS_SIGN_H

#include <stdbool.h>
#include <time.h>

/* Whether this is a private RSA key in PEM; "\n" may stand for line ends. */
bool gcs_sign_is_key(const char *key);

/* The URL, which has no query, with one that is a signature for a GET.  To be
 * freed; NULL without memory. */
char *gcs_sign(const char *email, const char *key, const char *url,
               time_t now);

#endif
