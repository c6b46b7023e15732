/*
 * Copyright (C) the ngx_symcache authors
 *
 * The layout of a CodeCache: the machine code of a module, without all else
 * that is in its program, so that it can be disassembled.  It is a format of
 * our own.  All numbers are little-endian.
 *
 * After the header come, without anything between them:
 *
 *   parts: the first address, the bytes, and where they lie in this file; in
 *          the order of their addresses, without an overlap
 *   marks: an address, and how what follows it is to be read (reader.h); in
 * the order of their addresses the bytes of all parts, in their order
 *
 * Addresses are relative to the start of the module, as those of SymCaches.
 */
#pragma once

#define CODECACHE_MAGIC "SCOD"
#define CODECACHE_VERSION 1
#define CODECACHE_HEADER 48

#define CODECACHE_AT_VERSION 4
#define CODECACHE_AT_GUID 8 /* in text order */
#define CODECACHE_AT_AGE 24
#define CODECACHE_AT_ARCH 28 /* as in a SymCache */
#define CODECACHE_AT_PARTS 32
#define CODECACHE_AT_MARKS 36
#define CODECACHE_AT_BIG 40      /* 1: the instructions are big-endian */
#define CODECACHE_AT_RESERVED 44 /* 4 zeros */

#define CODECACHE_PART_SIZE 12
#define CODECACHE_MARK_SIZE 8
