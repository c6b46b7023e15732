/*
 * Copyright (C) the ngx_symcache authors
 *
 * The numbers of the symbfile format: symbfile.proto in the repository of
 * OpenTelemetry's eBPF profiler (libpf, symblib).
 *
 *   file   := "symbfile" record*
 *   record := varint(length) varint(type) payload[length]
 *
 * The first record is a header, and nothing but its length is known of it.
 */
#pragma once

#define SYMBFILE_MAGIC "symbfile"
#define SYMBFILE_MAGIC_SIZE 8
#define SYMBFILE_PAYLOAD_MAX (16u << 20)

enum {
    SYMBFILE_TYPE_INVALID = 0,
    SYMBFILE_TYPE_HEADER = 1,
    SYMBFILE_TYPE_RANGE = 2,
    SYMBFILE_TYPE_PAD = 3,
    SYMBFILE_TYPE_STRINGS = 4
};

/* Fields of a range. */
enum {
    SYMBFILE_RANGE_DELTA = 1, /* either of these two */
    SYMBFILE_RANGE_ADDRESS = 12,
    SYMBFILE_RANGE_LENGTH = 2,
    SYMBFILE_RANGE_FUNC = 3, /* a string, or its index in the table */
    SYMBFILE_RANGE_FUNC_REF = 9,
    SYMBFILE_RANGE_FILE = 4,
    SYMBFILE_RANGE_FILE_REF = 10,
    SYMBFILE_RANGE_CALL_LINE = 5,
    SYMBFILE_RANGE_CALL_FILE = 6,
    SYMBFILE_RANGE_CALL_FILE_REF = 11,
    SYMBFILE_RANGE_DEPTH = 7,
    SYMBFILE_RANGE_LINES = 8
};

/* Fields of a return pad; the last three are columns of one table. */
enum {
    SYMBFILE_PAD_DELTA = 1,
    SYMBFILE_PAD_ADDRESS = 5,
    SYMBFILE_PAD_FUNC = 2,
    SYMBFILE_PAD_FILE = 3,
    SYMBFILE_PAD_LINE = 4
};

/* Fields of a line table, and of a table of strings. */
enum {
    SYMBFILE_LINES_OFFSET = 1,
    SYMBFILE_LINES_LINE = 2,
    SYMBFILE_STRINGS_STRING = 1
};
