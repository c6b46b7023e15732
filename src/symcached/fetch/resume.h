/*
 * Copyright (C) the ngx_symcache authors
 *
 * Going on with a transfer that broke: whether the bytes at hand are worth
 * keeping, how the rest is asked for, and whether what comes is that rest.
 * A body of two versions would be a wrong PDB with the right identity, so
 * that in doubt all is fetched again.
 */
#ifndef SYMCACHED_FETCH_RESUME_H
#define SYMCACHED_FETCH_RESUME_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>
#include "answer.h"

struct resume {
    char validator[FETCH_ANSWER_VALUE]; /* for If-Range; "" = none */
    char type[FETCH_ANSWER_TYPE];       /* of the answer that began */
    char *place;    /* URL without query that it is true for */
    uint64_t total; /* bytes of the whole body */
    uint64_t have;  /* bytes of it in the file */
    bool asked;     /* the request at hand has a Range */
};

/* The whole body of an answer begins, of length bytes (-1 = not known). */
void resume_begin(struct resume *resume, const struct fetch_answer *answer,
                  const char *url, int64_t length);

/*
 * Appends Range and If-Range to list if the rest can be asked for at url.
 * Returns the new list, or NULL when out of memory; list is freed then.
 */
struct curl_slist *resume_headers(struct resume *resume, const char *url,
                                  struct curl_slist *list);

/* Is a 206 the rest that was asked for? */
bool resume_fits(const struct resume *resume,
                 const struct fetch_answer *answer);

/*
 * The rest came, and the body is whole: makes of the answer the one that
 * began it, as a 206 need not say again what that said.
 */
void resume_finish(const struct resume *resume, struct fetch_answer *answer);

/* Nothing is kept for the next try. */
void resume_drop(struct resume *resume);

#endif
