/*
 * Copyright (C) the ngx_symcache authors
 *
 * Why a conversion failed: one of the exit codes of pdb2symcache, and the rest
 * of a sentence that begins with the name of the file.
 */
#pragma once

#include <stdint.h>

#include "derived/symcache/symcache.h"

enum failure_code {
    FAILURE_NONE = 0,
    FAILURE_USAGE = 1,
    FAILURE_IO = 2,         /* input or output */
    FAILURE_NOT_PDB = 3,    /* another kind of file */
    FAILURE_PORTABLE = 4,   /* .NET portable PDB */
    FAILURE_PDB2 = 5,       /* PDB 2.0 */
    FAILURE_MSFZ = 6,       /* compressed container */
    FAILURE_NO_SYMBOLS = 7, /* a compiler's or type server's PDB */
    FAILURE_DAMAGED = 8,    /* inconsistent, unknown records */
    FAILURE_LIMIT = 9,      /* memory, work or output beyond the limit */
    FAILURE_SANDBOX = 10,   /* no sandbox, so nothing was parsed */
    FAILURE_TRUNCATED = 11, /* fewer bytes than its header says */
    FAILURE_TEMPORARY = 75  /* the machine lacks memory, or somebody killed the
                               parser: EX_TEMPFAIL */
};

struct failure {
    enum failure_code code;
    char text[512];
};

/* Sets code and text, as printf() formats it, unless there has been a failure
 * already.  Returns -1. */
int failure_set(struct failure *failure, enum failure_code code,
                const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Sets the most common failure: a stream is damaged at an offset. */
int failure_at(struct failure *failure, uint32_t stream, uint64_t offset,
               const char *what);

int failure_memory(struct failure *failure);

/* Sets the failure of a file whose records cause more work than real files of
 * its size do. */
int failure_work(struct failure *failure);

/* Sets the failure for a status of the SymCache writer, after which errno is
 * still that of its sink.  Returns -1, or 0 for SYMC_OK. */
int failure_writer(struct failure *failure, enum symc_status status);
