/*
 * Copyright (C) the ngx_symcache authors
 *
 * What symbolicated and its workers agree on about crash reports.
 *
 * The order's text consists of lines, each a name, a blank and a value:
 *
 *   boundary TEXT     of a form; without it, the body is the report itself
 *   coding TEXT       how the body is packed, as in Content-Encoding
 *   corrections N     a set of enum crash_correction
 *   unpacked N        bytes that packed things may become
 *   sources N         1: an empty list in the part sources means that no file
 *                     is looked for, so the worker need not ask for any
 *   rewrite JSON      the part rewrite_first_module, if there is no form
 *
 * A worker that needs room for the bytes of "unpacked" first asks with the
 * text CRASH_ROOM, and is given no files.  Its other texts are JSON, as a body
 * of POST /symbolicate has it.  When it asks, "stacktraces" has a frame in
 * each module whose files it needs.  The result has besides:
 *
 *   "report": {}               members of the answer in front of its threads;
 *                              a cpu_arch of null is that of the modules
 *   "left_out": "frames"       of which there are too many; or another of
 *                              crash_limits
 *   modules[].unwind_status    as in the answer
 *
 * In both, modules[].lookup_file is the debug file to look for, if it differs
 * from debug_file.
 */
#pragma once

enum crash_kind { CRASH_MINIDUMP = 1, CRASH_APPLE, CRASH_KINDS };

#define CRASH_ROOM "room"

/* Deviations from Symbolicator, which are off unless the operator wants them:
 * docs/minidumps.md, docs/apple.md. */
enum crash_correction {
    CRASH_ARM_CFI = 1,
    CRASH_ARM64_CFI = 2,
    CRASH_CONSTANT_SP = 4,
    CRASH_PACKED = 8,
    CRASH_APPLE_REGISTERS = 16,
    CRASH_APPLE_IMAGES = 32,
    CRASH_APPLE_HEADERS = 64,
    CRASH_APPLE_NAMES = 128,
    CRASH_APPLE_EXCEPTION = 256,
    CRASH_CFI_EXPRESSIONS = 512
};

/* Files that a worker is given, by the index of their module in its list. */
enum crash_file { CRASH_NAMES, CRASH_CFI };

enum crash_file_state {
    CRASH_FILE_FOUND,
    CRASH_FILE_MISSING,
    CRASH_FILE_MALFORMED,
    CRASH_FILE_FETCHING_FAILED,
    CRASH_FILE_OTHER
};

/* The parts of a report that have limits; "bytes" are those behind the end of a
 * minidump that was cut off. */
static const char *const crash_limits[] = {
    "threads", "frames",  "registers", "images", "information",
    "streams", "modules", "memory",    "texts",  "bytes"};

#define CRASH_LIMITS (sizeof(crash_limits) / sizeof(crash_limits[0]))

/* Why a worker has no result. */
enum crash_refusal {
    CRASH_FAILED = 1, /* the report cannot be used: its text is the message */
    CRASH_NO_FORM,    /* the body is no form */
    CRASH_BAD_PART,   /* 400 */
    CRASH_LARGE_PART, /* 413 */
    CRASH_BAD_CODING, /* 415 */
    CRASH_NO_MEMORY
};
