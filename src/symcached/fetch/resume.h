/*
 * Copyright (C) the ngx_symcache authors
 *
 * Going on with a transfer that broke: whether the bytes at hand are worth
 * keeping, how the rest is asked for, and whether what comes is that rest.
 * A body of two versions would be a wrong PDB with the right identity, so
 * that in doubt all is fetched again.
 */
#ifndef SYMCACHED_RESUME_H
#define SYMCACHED_RESUME_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#define RESUME_VALUE 256

/* header lines of one answer */
struct resume_head {
    char etag[RESUME_VALUE];
    char modified[64]; /* Last-Modified */
    char date[64];
    char accept[32]; /* Accept-Ranges */
    char range[64];  /* Content-Range */
    char coding[32]; /* Content-Encoding */
};

struct resume {
    struct resume_head head;      /* of the answer at hand */
    char validator[RESUME_VALUE]; /* for If-Range; "" = nothing to keep */
    char *place;                  /* URL without query that it is true for */
    uint64_t total;               /* bytes of the whole body */
    uint64_t have;                /* bytes of it in the file */
    bool asked;                   /* the request at hand has a Range */
};

/* A line of the answer; the status line forgets the former answer's. */
void resume_line(struct resume *resume, const char *line, size_t len);

/* A whole body of length bytes (-1 = not known) begins. */
void resume_begin(struct resume *resume, const char *url, int64_t length);

/*
 * Appends Range and If-Range to list if the rest can be asked for at url.
 * Returns the new list, or NULL when out of memory; list is freed then.
 */
struct curl_slist *resume_headers(struct resume *resume, const char *url,
                                  struct curl_slist *list);

/* Is a 206 the rest that was asked for? */
bool resume_fits(const struct resume *resume);

/* Nothing is kept for the next try. */
void resume_drop(struct resume *resume);

#endif
