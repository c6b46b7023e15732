/*
 * Copyright (C) the ngx_symcache authors
 *
 * URLs of Google's storage, signed with the private key of a service account
 * ("V4 signing process with your own program"): nobody needs to be asked for a
 * token.
 */
#pragma once

#include <stdbool.h>
#include <time.h>

struct curl_slist;

/* Whether this is a private RSA key in PEM; "\n" may stand for line ends. */
bool gcs_sign_is_key(const char *key);

/*
 * The URL of a request with its signature as a query, after which comes the
 * query that the URL has, whose names are in order and below "x".  Google's own
 * among the headers ("x-goog-...") are signed with it.  To be freed; NULL
 * without memory, or with too many headers.
 */
char *gcs_sign(const char *email, const char *key, const char *method,
               const char *url, const struct curl_slist *headers, time_t now);
