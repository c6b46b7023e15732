/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the source server stream, which says where source files are in a
 * version control system.  Only the form for Perforce is supported.
 */
#ifndef DEBUGINFO_PDB_SRCSRV_H
#define DEBUGINFO_PDB_SRCSRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "info_stream.h"
#include "msf.h"

struct srcsrv {
    struct msf_buffer buffer;
    struct srcsrv_entry *entries; /* sorted by path without case */
    size_t count;
};

struct srcsrv_info {
    const char *path;
    uint32_t path_size;
    const char *revision; /* NULL if there is none */
    uint32_t revision_size;
};

/* Reads the stream.  One that cannot be used is treated as absent.  Returns 0,
 * or -1 if memory runs out.  The caller must call srcsrv_free() in either
 * case. */
int srcsrv_read(struct srcsrv *srcsrv, const struct msf *msf,
                const struct info_stream *info);
void srcsrv_free(struct srcsrv *srcsrv);

/* Finds where a source file is.  Returns false if that is not known. */
bool srcsrv_find(const struct srcsrv *srcsrv, const char *path, uint32_t size,
                 struct srcsrv_info *info);

#endif
