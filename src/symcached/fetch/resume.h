/*
 * Copyright (C) the ngx_symcache authors
 *
 * Resumes an interrupted transfer: decides whether the bytes that have arrived
 * are worth keeping, asks for the rest, and checks that what arrives is that
 * rest.  A body put together from two versions would be a wrong PDB with the
 * right identity, so in doubt the whole body is fetched again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "response.h"

struct resume {
    char validator[FETCH_RESPONSE_VALUE]; /* for If-Range; "" = none */
    char type[FETCH_RESPONSE_TYPE]; /* of the answer that began the body */
    char *place;    /* URL without query, for which validator holds */
    uint64_t total; /* bytes of the whole body */
    uint64_t have;  /* bytes of it that are in the file */
    bool asked;     /* the current request has a Range */
};

/* A complete body begins, of length bytes; -1 if that is not known. */
void resume_begin(struct resume *resume, const struct fetch_response *response,
                  const char *url, int64_t length);

/*
 * Appends Range and If-Range to list, if the rest can be asked for at url.
 * Returns the new list; or NULL when out of memory, with list freed.
 */
struct curl_slist *resume_headers(struct resume *resume, const char *url,
                                  struct curl_slist *list);

/* Is a 206 the rest that was asked for? */
bool resume_fits(const struct resume *resume,
                 const struct fetch_response *response);

/*
 * The rest has arrived.  Adds the values that a 206 need not repeat to the
 * answer: the headers of the answer that began the body.
 */
void resume_finish(const struct resume *resume,
                   struct fetch_response *response);

/* Forgets everything: the next try begins with the first byte. */
void resume_drop(struct resume *resume);
