/*
 * Copyright (C) the ngx_symcache authors
 *
 * Uploaded files are removed: from the tier first, if there is one, so that no
 * machine takes one from there that is gone here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "debuginfo/identity/identity.h"
#include "publication.h"

struct event_base;
struct peers;
struct removals; /* those that run */
struct scheduler;

#define REMOVAL_FROM_SIZE 24

struct removal_request {
    const char *name; /* the three parts of its path; copied */
    const char *id;
    const char *file;
    bool is_try;
    bool is_old;         /* unused: what was made of the file stays, */
    unsigned unused_for; /* and so does the file, if another machine has taken
                            it for less than so many seconds; 0: it goes */
    bool is_own; /* it stays in the tier if it belongs to another machine */
    bool is_told; /* by another machine, which has it now, or has removed it:
                     the tier and the others know */
    bool is_same; /* its bytes have not changed */
    bool is_late; /* it could not be told at once */
    char from[REMOVAL_FROM_SIZE]; /* the machine, or "" */
    bool is_made_of; /* only what was made of it may be another file's */
    bool gives_way; /* nobody tells it again if the tier cannot be asked */
    bool keeps;   /* who has told may not have stored the file: this one stays,
                     unless the tier has another one */
    char ids[SYMSTORE_PATH_IDS][SYMCACHE_ID_TEXT_MAX + 1]; /* what it may be
                                                    asked for by, if known */
    size_t nids;
};

/*
 * status: 200: it is removed, and text names the machines that do not know
 * yet; 404: there is no such file; 409: it is in use; 500 or 503: it is still
 * there, and text says why.
 */
typedef void (*removal_done_fn)(void *arg, int status, const char *text);

/* peers live longer.  Returns NULL when out of memory. */
struct removals *removals_new(struct event_base *base,
                              struct scheduler *scheduler,
                              struct peers *peers);

/* done is called once, perhaps from inside this function. */
void removals_start(struct removals *removals,
                    const struct removal_request *request,
                    removal_done_fn done, void *arg);

/* Is one of these files just being removed, from a tier or here? */
bool removals_have(const struct removals *removals,
                   const struct upload_file *files, size_t n, bool is_try);

/* Ends those that run with status 503.  NULL is allowed. */
void removals_free(struct removals *removals);
