/*
 * Copyright (C) the ngx_symcache authors
 *
 * The layout of a SymCache.  All numbers are little-endian, all parts begin at
 * multiples of 8.
 */
#ifndef DERIVED_SYMCACHE_FORMAT_H
#define DERIVED_SYMCACHE_FORMAT_H

#include <stdint.h>

#define SYMFILE_VERSION 9
#define SYMFILE_OLDEST_VERSION 7 /* the oldest that can be read */
#define SYMFILE_LEB128_VERSION 8 /* string lengths as LEB128, not 32 bits */
#define SYMFILE_SRCSRV_VERSION 9 /* file records with source-server fields */
#define SYMFILE_NONE 0xFFFFFFFFu /* no index or no offset */
#define SYMFILE_HEADER 80

#define SYMFILE_AT_VERSION 4
#define SYMFILE_AT_GUID 8
#define SYMFILE_AT_AGE 24
#define SYMFILE_AT_PADDING 28 /* 11 zeros */
#define SYMFILE_AT_KIND 39    /* 0 = GUID and age */
#define SYMFILE_AT_ARCH 40
#define SYMFILE_AT_FILES 44
#define SYMFILE_AT_FUNCTIONS 48
#define SYMFILE_AT_LOCATIONS 52
#define SYMFILE_AT_RANGES 56
#define SYMFILE_AT_STRINGS 60
#define SYMFILE_AT_VARIABLES 64 /* 16 bits; only newer files use it */
#define SYMFILE_AT_RESERVED 66  /* 14 zeros */

#define SYMFILE_FILE_SIZE 24    /* version 9 */
#define SYMFILE_FILE_SIZE_V8 12 /* versions 7 and 8 */
#define SYMFILE_FUNCTION_SIZE 16
#define SYMFILE_LOCATION_SIZE 16
#define SYMFILE_RANGE_SIZE 4

#define SYMFILE_ARCH_UNKNOWN 0
#define SYMFILE_ARCH_X86 101
#define SYMFILE_ARCH_AMD64 201
#define SYMFILE_ARCH_ARM 301
#define SYMFILE_ARCH_ARM64 401
#define SYMFILE_ARCH_PPC 501
#define SYMFILE_ARCH_WASM32 1001

static inline uint32_t symfile_load(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static inline void symfile_store(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
    p[2] = (uint8_t)(value >> 16);
    p[3] = (uint8_t)(value >> 24);
}

#endif
