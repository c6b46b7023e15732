/*
 * Copyright (C) the ngx_symcache authors
 *
 * The layout of a SymCache.  All numbers are little-endian, all parts begin at
 * multiples of 8.
 */
#pragma once

#include <stdint.h>

#include "base/le.h"

#define SYMC_VERSION 9
#define SYMC_OLDEST_VERSION 7 /* the oldest that can be read */
#define SYMC_LEB128_VERSION 8 /* string lengths as LEB128, not 32 bits */
#define SYMC_SRCSRV_VERSION 9 /* file records with source-server fields */
#define SYMC_NONE 0xFFFFFFFFu /* no index or no offset */
#define SYMC_HEADER 80

#define SYMC_AT_VERSION 4
#define SYMC_AT_GUID 8
#define SYMC_AT_AGE 24
#define SYMC_AT_PADDING 28 /* 11 zeros */
#define SYMC_AT_KIND 39    /* 0 = GUID and age */
#define SYMC_AT_ARCH 40
#define SYMC_AT_FILES 44
#define SYMC_AT_FUNCTIONS 48
#define SYMC_AT_LOCATIONS 52
#define SYMC_AT_RANGES 56
#define SYMC_AT_STRINGS 60
#define SYMC_AT_VARIABLES 64 /* 16 bits; only newer files use it */
#define SYMC_AT_RESERVED 66  /* 14 zeros */

#define SYMC_FILE_SIZE 24    /* version 9 */
#define SYMC_FILE_SIZE_V8 12 /* versions 7 and 8 */
#define SYMC_FUNCTION_SIZE 16
#define SYMC_LOCATION_SIZE 16
#define SYMC_RANGE_SIZE 4

#define SYMC_ARCH_UNKNOWN 0
#define SYMC_ARCH_X86 101
#define SYMC_ARCH_AMD64 201
#define SYMC_ARCH_ARM 301
#define SYMC_ARCH_ARM64 401
#define SYMC_ARCH_PPC 501
#define SYMC_ARCH_WASM32 1001
