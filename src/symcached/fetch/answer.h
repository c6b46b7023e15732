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

/* texts are "" if there was none */
struct fetch_answer {
    long status;          /* of the last hop; 0 = none came */
    unsigned retry_after; /* seconds, with any status; 0 = now, or not sent */
    bool again;           /* Retry-After was sent, whatever its value */
    bool moved;           /* redirected on the way */
    char type[128];       /* Content-Type */
    char moved_type[128]; /* the same of the last redirect on the way */
    char reason[64];      /* X-Symcache-Reason */
    char body[1024];      /* the start of that of an error */
};

/* Forgets the last hop's, but for moved and moved_type. */
void fetch_answer_clear(struct fetch_answer *answer);

/* A line of the header, not terminated. */
void fetch_answer_line(struct fetch_answer *answer, const char *line,
                       size_t len);

/* A part of the body of an error. */
void fetch_answer_body(struct fetch_answer *answer, const char *data,
                       size_t len);

/* The hop ended: what libcurl made of its header. */
void fetch_answer_end(struct fetch_answer *answer, CURL *easy);

#endif
