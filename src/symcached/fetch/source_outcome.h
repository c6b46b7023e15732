/*
 * Copyright (C) the ngx_symcache authors
 *
 * The result of looking in one place.  The decisions of a job depend on the
 * difference between "there is none" and "it could not be told".
 */
#pragma once

#include <stdbool.h>

enum source_outcome {
    SOURCE_FOUND,
    SOURCE_NOT_FOUND, /* the source knows that it has no such file */
    SOURCE_UNUSABLE,  /* a body arrived that is not this PDB: wrong identity,
                         HTML, damaged, too large; says nothing about what the
                         source will have later */
    SOURCE_WRONG_FORMAT, /* it has the file, of a format of which what is asked
                            for is not made: a Windows PDB, or a portable one */
    SOURCE_FAILED,    /* the source could not tell: timeout, 5xx, 401, ... */
    SOURCE_FAILED_HERE, /* this machine could not take the answer: a disk that
                           is full or read-only, no memory, no process; the
                           source may be well */
    SOURCE_PENDING, /* the source is working on it and is to be asked again */
    SOURCE_MALFORMED /* it has the file, of a format or in a packing that cannot
                        be read: of no use, as long as it is this file.  Its
                        name is that of SOURCE_UNUSABLE */
};

static inline bool source_outcome_is_failure(enum source_outcome outcome)
{
    return outcome == SOURCE_FAILED || outcome == SOURCE_FAILED_HERE;
}

const char *source_outcome_name(enum source_outcome outcome);
