/*
 * Copyright (C) the ngx_symcache authors
 *
 * The search for the modules of one round of a call: in what this thread
 * remembers, on the disks, and at symcached for those that are on none; all at
 * once.
 */
#pragma once

#include <sys/types.h>
#include "symbolicated/api/api.h"
#include "symbolicated/files/files.h"
#include "symbolicated/settings.h"
#include "usage_report.h"

struct search;

/* Who searches: one in each thread. */
struct searcher {
    struct event_base *base;
    struct mapped_modules *mapped;
    struct module_cache *cache;
    struct usage_report *uses;
};

/*
 * For the modules of the newest round of a call, which has some, and which it
 * keeps until search_free().  begun is when the call was, in microseconds: its
 * time is that of all its rounds.  before is the search for the round before,
 * or NULL, and stays the caller's.  NULL without memory.
 */
struct search *search_new(struct searcher *searcher, struct settings *settings,
                          struct api_call *call, uint64_t begun,
                          struct search *before, void (*done)(void *arg),
                          void *arg);

/* The search for the round before, as search_new() got it; or NULL. */
struct search *search_before(const struct search *search);

/*
 * Searches for the modules that are unknown.  Returns true if all are known
 * now.  Otherwise done is called when they are.
 */
bool search_run(struct search *search);

/* Are all modules known? */
bool search_has_ended(const struct search *search);

/* Does it wait for a disk of this machine? */
bool search_is_looking(const struct search *search);

/* The time is over: what is still unknown is late, and done is not called. */
void search_stop(struct search *search);

/*
 * Makes modules unknown again whose file was cut short since they were found.
 * Returns whether there are some.
 */
bool search_is_broken(struct search *search);

void search_free(struct search *search); /* NULL is allowed */

/* Which file a module of some round was found in. */
void search_module_inode(const struct api_module *module, dev_t *device,
                         ino_t *inode);

/*
 * Opens the file of a module that was found, in the round of a search or one
 * before, to be read by another process.  Returns -1 if its file was replaced.
 */
int search_open(const struct search *search, const struct api_module *module);
