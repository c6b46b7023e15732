/*
 * Copyright (C) the ngx_symcache authors
 *
 * Uploaded files are stored in the tier of "uploads", some at a time, before
 * they have their names here: so a confirmed upload is durable, and other
 * machines find it.  After each file its entries in the index (upload_index.h)
 * are stored.
 */
#pragma once

#include "publication.h"

struct config;
struct tier_copy;
struct tiers;

/* Is there such a tier, and is it written? */
bool tier_copy_is_wanted(const struct config *config);

/*
 * other: the stored file, if it stays and nothing was replaced; NULL
 * otherwise.  failure: why not all files are there, or NULL.  status: what a
 * client is answered then: 413 or 507, if the tier has refused a file for good,
 * or 503.
 */
typedef void (*tier_copy_done_fn)(void *arg, const struct upload_file *other,
                                  int status, const char *failure);

/*
 * Stores n files, which live until the end, as config does, and sets "shared"
 * of each.  Without replace all are looked for before the first is stored.
 * done is called once, perhaps from inside this function, which returns NULL
 * then.  A file without "tmp" is an entry of an index itself, of a file that
 * was stored before.
 */
struct tier_copy *tier_copy_start(struct tiers *tiers,
                                  const struct config *config,
                                  struct upload_file *files, size_t n,
                                  bool is_try, bool replace,
                                  tier_copy_done_fn done, void *arg);

/* The files now have their names here as well: a file is new if the tier did
 * not have it yet.  Sets "fate" and "has_come". */
void tier_copy_settle(struct upload_file *files, size_t n);

/* done is not called any more. */
void tier_copy_cancel(struct tier_copy *tier_copy);
