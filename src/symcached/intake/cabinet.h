/*
 * Copyright (C) the ngx_symcache authors
 *
 * Unpacks a cabinet as symbol servers store it: one folder and one file, in one
 * cabinet or in a set of them, as makecab writes it with MaxDiskSize.  Any
 * other cabinet is refused before libmspack sees it.  Headers are those of
 * [MS-CAB] 2.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "decompress.h"

/* Cabinets of a set after the first one.  A member has 2 GB at most. */
#define CABINET_PARTS 63

/* Bytes of a name in a header, with its NUL. */
#define CABINET_NAME 256

/* The cabinets of a set that were found besides its first one. */
struct cabinet_parts {
    size_t n;
    int fds[CABINET_PARTS]; /* in the order of the set */
    const char *missing; /* why there is none after these; NULL: none was
                            looked for */
    bool failed; /* that does not prove that there is none */
};

/*
 * The name of the next cabinet of the set, which lies in the same folder as the
 * one in descriptor `in`.  Returns false if there is none, or its header has
 * no name of a file.
 */
bool cabinet_next(int in, char name[CABINET_NAME]);

/*
 * Unpacks the only member of the cabinet in descriptor `in`, whatever its name
 * is.  parts is NULL where none can be.  On failure, error contains a sentence,
 * and writer->error is set if the cabinet is not at fault.
 */
enum body_status cabinet_unpack(int in, const struct cabinet_parts *parts,
                                struct limited_writer *writer, char *error,
                                size_t size);
