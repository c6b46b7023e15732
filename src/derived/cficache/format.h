/*
 * Copyright (C) the ngx_symcache authors
 *
 * The layout of a CfiCache: how the caller's registers are found at each
 * address of a module.  It is a format of our own; the "symbolic" library
 * stores Breakpad's text instead, which has to be read as a whole before a
 * single frame is found.  All numbers are little-endian.
 *
 * After the header come, without anything between them but zeros up to a
 * multiple of 4:
 *
 *   three maps of addresses (see below), each the starts and then the values
 *   sets: the number of its first rule for each, and the number of all rules
 *   rules (reader.h): of each set first the CFA's, then the return address's
 *   STACK WIN records (reader.h)
 *   programs: kind, a zero, the length in 16 bits, and the code (program.h)
 *   names of registers and variables: a length in a byte, and the name
 *   the name of the debug file
 *
 * A map holds for every address below 2^32 what its last start at or below the
 * address says: the number of a set, or in the third map that of a record + 1.
 * Below the first start it holds 0.
 */
#pragma once

#define CFICACHE_MAGIC "SCFI"
#define CFICACHE_VERSION 1
#define CFICACHE_HEADER 80

#define CFICACHE_AT_VERSION 4
#define CFICACHE_AT_GUID 8 /* in text order */
#define CFICACHE_AT_AGE 24
#define CFICACHE_AT_ARCH 28 /* as in a SymCache */
#define CFICACHE_AT_MAPS 32 /* the numbers of starts of the three maps */
#define CFICACHE_AT_SETS 44
#define CFICACHE_AT_RULES 48
#define CFICACHE_AT_WINS 52
#define CFICACHE_AT_PROGRAMS 56 /* bytes */
#define CFICACHE_AT_NAMES 60    /* bytes */
#define CFICACHE_AT_FILE 64     /* bytes */
#define CFICACHE_AT_RESERVED 68 /* 12 zeros */

#define CFICACHE_RULE_SIZE 8
#define CFICACHE_WIN_SIZE 32
#define CFICACHE_PROGRAM_HEADER 4

/* Numbers of the first sets, which have no rules.  In the map of corrections,
 * CFICACHE_NOTHING means that the map of rules counts; in the map of rules,
 * both mean that there is no CFI. */
#define CFICACHE_NOTHING 0   /* nothing is said of these addresses */
#define CFICACHE_UNCOVERED 1 /* they have no CFI */

/* Registers are numbers of names, but for these two. */
#define CFICACHE_NAMES 254
#define CFICACHE_RA 254
#define CFICACHE_CFA 255

/* A rule for this name, whatever it comes to, says of a frame that a signal
 * handler returns to it: its caller was interrupted, and did not call.  Readers
 * that do not know it have no such register. */
#define CFICACHE_SIGNAL ".signal"
