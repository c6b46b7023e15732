/*
 * Copyright (C) the ngx_symcache authors
 *
 * The source server stream: where version control has a source file.  Only
 * Perforce's form is of use here.
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

/* Reads what is usable; a stream that is not is as if absent.  Returns 0, or
 * -1 without memory.  srcsrv_free() is due in either case. */
int srcsrv_read(struct srcsrv *srcsrv, const struct msf *msf,
                const struct info_stream *info);
void srcsrv_free(struct srcsrv *srcsrv);

/* Returns 1 and the place of a source file, or 0. */
bool srcsrv_find(const struct srcsrv *srcsrv, const char *path, uint32_t size,
                 struct srcsrv_info *info);

#endif
