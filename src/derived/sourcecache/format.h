/*
 * Copyright (C) the ngx_symcache authors
 *
 * The layout of a SourceCache, the digest of a source bundle or of a PDB.  All
 * numbers are little-endian.
 *
 *   header     magic, version, id of the module, flags
 *   texts      as they are, in any order, without anything between them
 *   zeros      up to a multiple of 4
 *   entries    of files
 *   paths, urls, ids
 *              keys in ascending order, and the entry of each
 *   links      patterns of paths and their URLs, in the order of preference
 *   attributes pairs of texts
 *   marks      offsets in texts: of every 32nd line of each
 *   strings    as they are
 *   trailer    how many of each, and the magic in reverse
 *
 * The texts are not packed: eleven lines of one are read where they lie, and
 * nothing is unpacked for a request.  A string is an offset and a size.
 */
#pragma once

#define SOURCECACHE_MAGIC "SRCC"
#define SOURCECACHE_END "CCRS"
#define SOURCECACHE_VERSION 1

#define SOURCECACHE_HEADER 36
#define SOURCECACHE_AT_VERSION 4
#define SOURCECACHE_AT_GUID 8 /* in text order; zeros: none */
#define SOURCECACHE_AT_AGE 24
#define SOURCECACHE_AT_FLAGS 28
#define SOURCECACHE_AT_RESERVED 32

/* Paths are kept, and looked up, with / for \. */
#define SOURCECACHE_SLASHES 1u

/* The same in lower case (of ASCII letters): of a Windows PDB. */
#define SOURCECACHE_FOLDS 2u

#define SOURCECACHE_TRAILER 40
#define SOURCECACHE_AT_COUNTS 0 /* 8 numbers, in the order of the parts */
#define SOURCECACHE_AT_ZERO 32
#define SOURCECACHE_AT_END 36

#define SOURCECACHE_ENTRY 108
#define SOURCECACHE_ENTRY_TEXT 0 /* offset in the file, 8 bytes; then size */
#define SOURCECACHE_ENTRY_SIZE 8
#define SOURCECACHE_ENTRY_LINES 12
#define SOURCECACHE_ENTRY_MARK 16 /* index of the first one */
#define SOURCECACHE_ENTRY_TYPE 20
#define SOURCECACHE_ENTRY_STATUS 21
#define SOURCECACHE_ENTRY_HAS_ID 22 /* and a zero */
#define SOURCECACHE_ENTRY_GUID 24
#define SOURCECACHE_ENTRY_AGE 40
#define SOURCECACHE_ENTRY_SHA256 44
#define SOURCECACHE_ENTRY_NAME 76 /* strings */
#define SOURCECACHE_ENTRY_PATH 84
#define SOURCECACHE_ENTRY_URL 92
#define SOURCECACHE_ENTRY_MAP 100

#define SOURCECACHE_KEY 12  /* a string, the entry */
#define SOURCECACHE_ID 28   /* GUID, age, type, the entry */
#define SOURCECACHE_LINK 20 /* two strings; is it a prefix? */
#define SOURCECACHE_PAIR 16

#define SOURCECACHE_LINES_MARK 32 /* lines from one mark to the next */

#define SOURCECACHE_ABSENT 0xFFFFFFFFu /* offset of a string that is absent */

#define SOURCECACHE_TEXT_MAX (64u << 20)

/* They are looked at one after the other. */
#define SOURCECACHE_LINKS_MAX 1000
