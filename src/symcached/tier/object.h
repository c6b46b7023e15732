/*
 * Copyright (C) the ngx_symcache authors
 *
 * The objects of a tier: their names and their metadata.  The body of an
 * object is the file compressed by gzip.
 *
 *   <generation>/<store>/<name>/<id>/v<M.m.p>.<kind>
 *
 * The name is the path of the file in its store, docs/internals/keys.md, with
 * its last part shortened.  An original that was uploaded is an object as it
 * is, by its path below "uploads.root":
 *
 *   uploads/<name>/<id>/<file>
 *  The metadata are lines "<name>: <value>":
 *
 *   sha256    of the file, 64 lower-case hex digits
 *   size      of the file in bytes
 *   source    what its original came from, see store/provenance.h; or missing
 *   quality   "full" or "publics"; with source only
 *   extent    "program" if the debug file of it may come yet; or missing, as
 *             former releases, which do not know it, have it
 *   features  what its original has and
 *   builder   which converter of ours made it, as the attribute of the file has
 *             them (proto/provenance.h); or missing
 *   maker     who stored it; for people
 *   machine   of an original: which one was given it last, and decides how long
 *             it is kept; or missing
 *   mac       of name, size, sha256, source and quality; or missing
 *
 * Pure functions, no I/O.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/digest.h"
#include "proto/key.h"
#include "proto/path.h"
#include "proto/provenance.h"
#include "proto/upload.h"
#include "proto/version.h"

#define TIER_NAME_MAX (2 * 65 + SYMCACHE_PATH_MAX + 64)
#define TIER_META_MAX 1024 /* of all lines, with a NUL */

struct tier_meta {
    char sha256[DIGEST_HEX + 1];
    uint64_t size;
    char source[SYMCACHE_PROVENANCE_SOURCE + 1]; /* "" if it is not known */
    bool publics_only;
    bool is_program; /* also that, and of a program */
    unsigned features, builder; /* 0 if they are not known */
    char machine[SYMCACHE_UPLOAD_MACHINE_DIGITS + 1]; /* "" if it is not
                                                         known */
    char mac[DIGEST_HEX + 1]; /* "" if there is none */
};

/* Writes the name of the object into buf, with room for TIER_NAME_MAX + 1. */
void tier_object_name(char *buf, const char *generation, const char *store,
                      const symcache_key_t *key,
                      const symcache_version_t *version);

/* The same of an original; path is what follows "uploads/". */
void tier_original_name(char *buf, const char *path);

/* What is in a name. */
struct tier_object {
    char generation[65];
    char store[65];
    symcache_key_t key;
    symcache_version_t version;
};

/* The inverse, exact.  Returns false if no tier names an object like this. */
bool tier_object_parse(const char *name, struct tier_object *object);

/*
 * Reads the lines and ignores unknown ones.  Returns NULL, or a sentence if a
 * line is missing, repeated or not as above.
 */
const char *tier_meta_read(struct tier_meta *meta, const char *lines);

/* Writes the lines into buf, with room for TIER_META_MAX bytes. */
void tier_meta_print(const struct tier_meta *meta, char *buf);

/* Sets the MAC of an object of that name, by a key of the fleet. */
void tier_meta_sign(struct tier_meta *meta, const char *name, const char *key);

/* Is the MAC there, and right? */
bool tier_meta_is_signed(const struct tier_meta *meta, const char *name,
                         const char *key);
