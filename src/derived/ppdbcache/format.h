/*
 * Copyright (C) the ngx_symcache authors
 *
 * The layout of a PpdbCache, the digest of a portable PDB that the "symbolic"
 * library reads and writes.  All numbers are little-endian.  After the header
 * come files, places, ranges and strings, without anything between them: a
 * file is a string offset and a language, a place is a line and the index of a
 * file, a range is a method (its row in MethodDef, from 1) and an IL offset at
 * which the place with the same index begins.  A string is a LEB128 length and
 * its UTF-8.
 */
#pragma once

#define PPDBCACHE_VERSION 1
#define PPDBCACHE_HEADER 72

#define PPDBCACHE_AT_VERSION 4
#define PPDBCACHE_AT_GUID 8 /* in text order */
#define PPDBCACHE_AT_STAMP 24
#define PPDBCACHE_AT_PADDING 28 /* 12 zeros; the last one is the kind of id */
#define PPDBCACHE_AT_FILES 40
#define PPDBCACHE_AT_RANGES 44
#define PPDBCACHE_AT_STRINGS 48
#define PPDBCACHE_AT_RESERVED 52 /* 20 zeros */

#define PPDBCACHE_FILE_SIZE 8
#define PPDBCACHE_PLACE_SIZE 8
#define PPDBCACHE_RANGE_SIZE 8
