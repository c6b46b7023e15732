/*
 * Copyright (C) the ngx_symcache authors
 *
 * Under which ids a source may have what a derived file is made of.
 * A PDB has one.  Other modules have a debug id, by which a client asks for the
 * file, and a code id: a build id, which leads to the debug file and to the
 * program, or that of a PE image.  A lookup tries one after the other: those
 * first that have the best original of the kind (see the slots in
 * proto/kind.h).
 *
 * The debug id is made of the first 16 bytes of a build id, so only a client
 * can send the rest of it.  The UUIDs of Mach-O and the ids of WebAssembly
 * have no more.
 */
#pragma once

#include <stdbool.h>
#include "config/config.h"
#include "proto/hints.h"

/* A key that is a PE code id itself has the last of these only. */
enum original_id {
    ORIGINAL_ID_DEBUG_FILE, /* build id: the debug file */
    ORIGINAL_ID_KEY,        /* the key itself */
    ORIGINAL_ID_COMPANION,  /* the key itself, beside Breakpad's text */
    ORIGINAL_ID_BUNDLE,     /* build id: the source bundle */
    ORIGINAL_ID_BUNDLE_KEY, /* the key itself: the source bundle */
    ORIGINAL_ID_PROGRAM,    /* build id: the program */
    ORIGINAL_ID_IMAGE,      /* PE code id: the image */
    ORIGINAL_IDS
};
#define ORIGINAL_IDS_ALL ((1u << ORIGINAL_IDS) - 1)
#define ORIGINAL_IDS_NO_PROGRAMS ((1u << ORIGINAL_ID_PROGRAM) - 1)

/* Are originals of such a kind asked for by several ids? */
bool original_id_has_several(symcache_kind_e kind);

/* Which one is at a position, in the order of a kind; position <
 * ORIGINAL_IDS. */
enum original_id original_id_at(symcache_kind_e kind, unsigned position);

/*
 * Reads a module's code id from hints.  Returns false if they have none, or a
 * build id that belongs to another debug id than the key's: its file would be
 * rejected.
 */
bool original_id_read_code_id(symcache_key_t *code_id,
                              const symcache_key_t *key, const char *hints);

/* Can the debug id of the key have been made of this build id? */
bool original_id_is_made_of(const symcache_key_t *key,
                            const symcache_key_t *build_id);

/*
 * Moves *position on to the next one that is wanted, from itself on, for which
 * the source has places, and sets *at to the key that these places are of.  key
 * is that of a kind with several; code_id has only an id, or is NULL; formats
 * are those that are wanted.  Returns false if there is none.
 */
bool original_id_find(unsigned *position, const struct source_config *source,
                      const symcache_key_t *key, const symcache_key_t *code_id,
                      unsigned formats, unsigned wanted, symcache_key_t *at);

/*
 * By which ids the hints let a source be asked, a set with a bit for each:
 * none, if they name other sources; with ":dk" behind its name those of debug
 * files by build id (d), of the key itself (k), of source bundles (s) and of
 * programs (p).
 */
unsigned original_id_wanted(const struct source_config *source,
                            const char *hints);
