/*
 * Copyright (C) the ngx_symcache authors
 *
 * What of an answer is more than its body: the status, and header lines and
 * pages of errors that some protocols need.
 */
#ifndef SYMCACHED_FETCH_ANSWER_H
#define SYMCACHED_FETCH_ANSWER_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "proto/digest.h"

#define FETCH_ANSWER_VALUE 256
#define FETCH_ANSWER_TYPE 128

/* texts are "" if there was none */
struct fetch_answer {
    long status;          /* of the last hop; 0 = none came to its end */
    unsigned retry_after; /* seconds, with any status; 0 = now, or not sent */
    uint64_t bytes;       /* of its body */
    bool whole;           /* its header came to its end */
    bool again;           /* Retry-After was sent, whatever its value */
    bool moved;           /* redirected on the way */
    bool framed;          /* the end of its body can be told from a break */
    int64_t length;       /* Content-Length; -1 = none */
    char type[FETCH_ANSWER_TYPE];       /* Content-Type */
    char moved_type[FETCH_ANSWER_TYPE]; /* that of the last redirect */
    char coding[32];                    /* Content-Encoding */
    char range[64];                     /* Content-Range */
    char ranges[32];                    /* Accept-Ranges */
    char etag[FETCH_ANSWER_VALUE];
    char modified[64]; /* Last-Modified */
    char date[64];
    char transfer[64]; /* Transfer-Encoding */
    /* SHA-256 of the file, and of this answer's body, as texts */
    char digest[SYMCACHE_DIGEST_TEXT + 1];
    char content_digest[SYMCACHE_DIGEST_TEXT + 1];
    bool verified;   /* the body has that digest */
    char reason[64]; /* X-Symcache-Reason */
    char body[1024]; /* the start of that of an error */
};

/* Forgets the last hop's, but for moved and moved_type. */
void fetch_answer_clear(struct fetch_answer *answer);

/*
 * A line that libcurl takes for one of the header, not terminated.  What is
 * said in a trailer is not listened to.
 */
void fetch_answer_line(struct fetch_answer *answer, const char *line,
                       size_t len);

/* A part of the body of an error. */
void fetch_answer_body(struct fetch_answer *answer, const char *data,
                       size_t len);

/* Is the body another than the file's, by a Content-Encoding? */
bool fetch_answer_coded(const struct fetch_answer *answer);

/* The hop ended: what libcurl made of its header. */
void fetch_answer_end(struct fetch_answer *answer, CURL *easy);

#endif
