/*
 * Copyright (C) the ngx_symcache authors
 *
 * Kinds of files that are derived from originals: a row for each says how a
 * file of the kind is known, opened and checked.  Files at URLs, which lie in
 * the store as they came, have a row, too.  A kind without a row is read
 * and published by nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "derived/cficache/cficache.h"
#include "derived/codecache/codecache.h"
#include "derived/jscache/jscache.h"
#include "derived/ppdbcache/ppdbcache.h"
#include "derived/proguardcache/proguardcache.h"
#include "derived/sourcecache/sourcecache.h"
#include "derived/symcache/symcache.h"
#include "proto/key.h"
#include "proto/version.h"

/* A file that is read as it is. */
struct derived_bytes {
    const char *data; /* NULL if there are none */
    size_t size;
};

/* The reader of a file, of whichever kind it is. */
union derived_reader {
    struct derived_bytes bytes; /* of a source file or Breakpad's text */
    struct symc_reader symcache;
    struct ppdbcache_reader ppdbcache;
    struct cficache_reader cficache;
    struct codecache_reader codecache;
    struct jscache_reader jscache;
    struct sourcecache_reader sourcecache;
    struct proguardcache_reader proguardcache;
};

struct derived_type {
    const char *name; /* "SymCache", as people call it */

    /* Versions that the readers know; their major numbers at least. */
    symcache_version_t oldest, newest;

    /* What our converter writes; 0.0.0: it makes no files of this kind. */
    symcache_version_t written;

    /* Why it makes none of a file of a format that does not lead to it: a
     * sentence without its subject.  NULL: the format is not asked. */
    const char *refusal;

    /*
     * Transcoders may make files of this kind in formats that are not public,
     * which nothing here reads.
     */
    bool has_foreign;

    /* Does a file begin as one of this kind does? */
    bool (*sniff)(const uint8_t *data, size_t size);

    /* Opens a file in memory, which stays where it is; writes what is wrong
     * with it to error. */
    enum symc_reader_status (*open)(union derived_reader *reader,
                                    const void *data, size_t size, char *error,
                                    size_t error_size);

    /* Checks an open file in full. */
    enum symc_verify_status (*verify)(union derived_reader *reader,
                                      char *error, size_t error_size);

    /* Whether an open file may have been made of the original of a key; NULL:
     * files of this kind do not say of which one they are.  is_received: it
     * came from another server, so that nothing may follow what readers
     * read. */
    bool (*belongs)(const union derived_reader *reader,
                    const symcache_key_t *key, bool is_received, char *error,
                    size_t error_size);
};

/* The row of a kind; NULL: files of this kind are not derived, or not yet. */
const struct derived_type *derived_type(symcache_kind_e kind);

/* The last check of a whole file before it is published under a key, which is
 * of a kind with a row: it is sound, and belongs to the key. */
enum symc_verify_status derived_check(const void *data, size_t size,
                                      const symcache_key_t *key,
                                      bool is_received, char *error,
                                      size_t error_size);

/* Does our converter make files of this kind?  It may be a number that is no
 * kind. */
bool derived_is_made(symcache_kind_e kind);

/* Finds the kind of a file in memory.  Returns false if it is of none. */
bool derived_sniff(const uint8_t *data, size_t size, symcache_kind_e *kind);
