/*
 * Copyright (C) the ngx_symcache authors
 *
 * The DBI stream: age, machine, the list of modules, and the numbers of other
 * streams.
 */
#pragma once

#include <stdint.h>

#include "debuginfo/failure.h"
#include "msf.h"

#define DBI_STREAM 3

/* slots of the optional debug header */
#define DBI_FPO 0
#define DBI_OMAP_TO_SOURCE 3
#define DBI_OMAP_FROM_SOURCE 4
#define DBI_SECTIONS 5
#define DBI_FRAME_DATA 9
#define DBI_ORIGINAL_SECTIONS 10
#define DBI_SLOTS 11

struct dbi_module {
    const char *name; /* without a NUL at the end */
    uint32_t name_size;
    uint32_t stream; /* or MSF_NO_STREAM */
    uint32_t symbol_bytes;
    uint32_t c11_bytes;
    uint32_t c13_bytes;
};

/* where the flags are in the header, and that of a PDB without private
 * symbols */
#define DBI_FLAGS 56
#define DBI_STRIPPED 2

struct dbi {
    uint32_t age;
    uint16_t flags;
    uint32_t machine;
    uint32_t symbol_stream;
    uint32_t slots[DBI_SLOTS]; /* stream numbers, or MSF_NO_STREAM */
    struct dbi_module *modules;
    size_t num_modules;
    struct msf_buffer buffer; /* a copy of the module list, if scattered */
};

/* Reads the stream.  Returns 0, or -1 with failure set.  The caller must call
 * dbi_free() in either case. */
int dbi_read(struct dbi *dbi, const struct msf *msf, struct failure *failure);
void dbi_free(struct dbi *dbi);
