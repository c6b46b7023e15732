/*
 * Copyright (C) the ngx_symcache authors
 *
 * The layout of a JsCache: the SourceMapCache of the "symbolic" library,
 * version 2.  All numbers are little-endian and have 32 bits, all parts begin
 * at multiples of 8:
 *
 *   positions      line and column of the minified text, ascending
 *   mappings       for each position: file, line, column, name, scope
 *   files          name, text, first of its line offsets, end of these
 *   line offsets   where each line of a text begins
 *   strings        as in a SymCache
 *   ignored        indices of files that are not the program's own, ascending
 *
 * The last part is ours; the library ignores what follows the strings, and
 * writes zero where we have the number of these files.  Lines and columns are
 * from 0, columns are units of UTF-16.
 */
#pragma once

#define JSCACHE_MAGIC "SMCA"
#define JSCACHE_VERSION 2
#define JSCACHE_HEADER 32

#define JSCACHE_AT_VERSION 4
#define JSCACHE_AT_POSITIONS 8
#define JSCACHE_AT_FILES 12
#define JSCACHE_AT_LINES 16
#define JSCACHE_AT_STRINGS 20
#define JSCACHE_AT_IGNORED 24
#define JSCACHE_AT_RESERVED 28 /* 4 zeros */

#define JSCACHE_POSITION_SIZE 8
#define JSCACHE_MAPPING_SIZE 20
#define JSCACHE_FILE_SIZE 16

/* No file, no name, no text; and the scope outside of all functions. */
#define JSCACHE_NONE 0xFFFFFFFFu
#define JSCACHE_ANONYMOUS                                                     \
    0xFFFFFFFEu /* the scope of a function without name */
