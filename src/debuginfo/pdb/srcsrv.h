/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the source server stream, which says where source files are in a
 * version control system.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "derived/symcache/symcache.h"
#include "info_stream.h"
#include "msf.h"

struct srcsrv {
    struct msf_buffer buffer;
    const char *variables; /* the lines NAME=value */
    size_t variables_size;
    size_t size; /* of the stream */
    struct srcsrv_entry *entries; /* sorted by path without case */
    size_t count;
};

struct srcsrv_info {
    const char *path;
    uint32_t path_size;
    const char *revision; /* NULL if there is none */
    uint32_t revision_size;
};

/* Reads the stream.  One that cannot be used is treated as absent, and so are
 * those of other systems if only Perforce's is wanted.  Returns 0, or -1 if
 * memory runs out.  The caller must call srcsrv_free() in either case. */
int srcsrv_read(struct srcsrv *srcsrv, const struct msf *msf,
                const struct info_stream *info, bool of_perforce);
void srcsrv_free(struct srcsrv *srcsrv);

/*
 * Gets part number of an entry, from 1: the path, and what else its line has;
 * the tenth one is all of the rest.  entry < count.  Returns false if the line
 * has fewer.
 */
bool srcsrv_part(const struct srcsrv *srcsrv, size_t entry, unsigned number,
                 struct symc_text *part);

/* Gets the next line "NAME=value" from *at on, 0 at first.  Returns false if
 * there is none. */
bool srcsrv_variable(const struct srcsrv *srcsrv, size_t *at,
                     struct symc_text *name, struct symc_text *value);

/* Finds where a source file is.  Returns false if that is not known. */
bool srcsrv_find(const struct srcsrv *srcsrv, const char *path, uint32_t size,
                 struct srcsrv_info *info);
