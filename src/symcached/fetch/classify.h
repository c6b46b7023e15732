/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the end of a request means: for the lookup, for another try, and for
 * what is thought of the host.
 */
#ifndef SYMCACHED_FETCH_CLASSIFY_H
#define SYMCACHED_FETCH_CLASSIFY_H

#include <curl/curl.h>
#include <stdbool.h>
#include "outcome.h"

struct classification {
    enum source_outcome outcome;
    bool transient;       /* another try may do better */
    bool fault;           /* the host did not do its work */
    unsigned retry_after; /* seconds that it asked for, or 0 */
    char detail[CURL_ERROR_SIZE + 64];
};

void classify_say(struct classification *class, enum source_outcome outcome,
                  bool transient, const char *detail);

/*
 * A whole answer with a status other than 200; retry_after is what it asks
 * for, or 0.
 */
void classify_status(struct classification *class, long status,
                     unsigned retry_after);

/* The answer has Retry-After: what is not there may come. */
void classify_again(struct classification *class);

/*
 * A request that did not come to its end; text is libcurl's.  CURLE_OK: it
 * takes the lines of a header that broke off for all.  status: of the answer,
 * as far as that came, or 0.
 */
void classify_error(struct classification *class, CURLcode code,
                    const char *text, long status);

/*
 * Why a redirect from one URL to another is not followed, or NULL.  secure:
 * an earlier hop was https.
 */
const char *classify_redirect(const char *from, const char *to, bool secure);

#endif
