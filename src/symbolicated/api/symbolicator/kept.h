/*
 * Copyright (C) the ngx_symcache authors
 *
 * Requests that were not answered within the time of their connection, until
 * somebody has asked for the answer.  What is kept is the request: the store
 * has the rest, so an answer is written anew for each who asks.  For all
 * threads; only requests that wait come here.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_KEPT_H
#define SYMBOLICATED_API_SYMBOLICATOR_KEPT_H

#include "base/spool.h"
#include "request.h"

#define KEPT_ID_SIZE 37 /* "8-4-4-4-12" and a NUL */

#define KEPT_ANSWERED_MS (90 * 1000)   /* after the first whole answer */
#define KEPT_LIMIT_MS (15 * 60 * 1000) /* for the modules to come */

struct kept {
    char id[KEPT_ID_SIZE];
    struct symbolicator_request request; /* nobody changes it any more */
    char *body;                          /* the text of the request */
    struct spool *spool; /* a form that is read again in its place; or NULL */
    char *boundary;      /* of the form */
    char *coding;        /* its Content-Encoding, or "" */
    size_t size;                         /* in memory */
    uint64_t started;                    /* clock_ms() */
    uint64_t answered;                   /* 0: not yet */
    unsigned refs;
    struct kept *next;
};

/*
 * Takes a request over, which is empty then, and copies its body, which it
 * still refers to.  node is told by the first four digits of the id.  most is
 * how many bytes all that is kept may take.  Returns NULL when there is no
 * room; then the request is unchanged.
 */
struct kept *kept_add(struct symbolicator_request *request, size_t body_size,
                      unsigned node, size_t most);

/* The same of a form, to which a reference is taken. */
struct kept *kept_add_form(struct spool *spool, const char *boundary,
                           const char *coding, const char *scope,
                           unsigned node, size_t most);

/* The request of an id with a reference, or NULL. */
struct kept *kept_find(const char *id);

/* It was answered wholly: from now on it is kept for KEPT_ANSWERED_MS. */
void kept_answered(struct kept *kept);

/* Whether the time is over that the modules have to come. */
bool kept_is_late(const struct kept *kept);

void kept_unref(struct kept *kept); /* NULL is allowed */

#endif
