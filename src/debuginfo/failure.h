/*
 * Copyright (C) the ngx_symcache authors
 *
 * Why a conversion failed: one of the exit codes of pdb2symcache, and a
 * sentence that goes on after the name of the file.
 */
#ifndef DEBUGINFO_FAILURE_H
#define DEBUGINFO_FAILURE_H

#include <stdint.h>

#include "symcache/symcache.h"

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
    FAILURE_KILLED = 75     /* ended by somebody else: EX_TEMPFAIL */
};

struct failure {
    enum failure_code code;
    char text[256];
};

/* Sets code and text (printf) and returns -1.  The first failure stays. */
int failure_set(struct failure *failure, enum failure_code code,
                const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The common one: a stream is damaged at an offset. */
int failure_at(struct failure *failure, uint32_t stream, uint64_t offset,
               const char *what);

int failure_memory(struct failure *failure);

/* More records, or more of what follows from them, than its size explains. */
int failure_work(struct failure *failure);

/* What the writer of the SymCache said; errno is that of its sink.  0 if that
 * is SYMFILE_OK. */
int failure_writer(struct failure *failure, enum symfile_status status);

#endif
