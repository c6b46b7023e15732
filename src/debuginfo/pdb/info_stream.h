/*
 * Copyright (C) the ngx_symcache authors
 *
 * The info stream: identity, streams that have names, features; and the
 * string table /names, which has paths of source files and names of modules.
 */
#ifndef NAMES_H
#define NAMES_H

#include <stdint.h>

#include "failure.h"
#include "pdb/msf.h"

#define INFO_STREAM 1

struct names {
    uint8_t guid[16]; /* in text order */
    uint32_t age;
    uint32_t srcsrv_stream; /* or MSF_NO_STREAM */
    int is_fastlink;        /* symbols and lines are in the object files */
    int has_table;
    const uint8_t *table;
    uint32_t table_size;
    struct msf_buffer info_buffer;
    struct msf_buffer table_buffer;
};

/* Returns 0, or -1 with failure set.  names_free() is due in either case. */
int names_read(struct names *names, const struct msf *msf,
               struct failure *failure);
void names_free(struct names *names);

/* The text at an offset of /names.  Returns 0, or -1 if there is none. */
int names_text(const struct names *names, uint32_t offset, const char **text,
               uint32_t *size);

#endif
