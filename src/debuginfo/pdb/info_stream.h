/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the info stream, which has the identity, the named streams and the
 * features of a PDB, and the string table /names, which has paths of source
 * files and names of modules.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "debuginfo/failure.h"
#include "msf.h"

#define INFO_STREAM 1
#define INFO_SOURCELINKS 16 /* streams that count */
#define INFO_FIRST_GUID 19990604 /* older versions have none */

struct info_stream {
    uint32_t version;
    uint8_t guid[16]; /* in text order */
    uint32_t age;
    uint32_t srcsrv_stream; /* or MSF_NO_STREAM */
    uint32_t sourcelinks[INFO_SOURCELINKS]; /* streams of Source Link */
    unsigned num_sourcelinks;
    int is_fastlink;        /* symbols and lines stayed in the object files */
    int has_table;
    const uint8_t *table;
    uint32_t table_size;
    struct msf_buffer info_buffer;
    struct msf_buffer table_buffer;
};

/* Reads the stream.  Returns 0, or -1 with failure set.  The caller must call
 * info_stream_free() in either case. */
int info_stream_read(struct info_stream *info, const struct msf *msf,
                     struct failure *failure);
void info_stream_free(struct info_stream *info);

/* Has the PDB a stream that says where its source files are? */
bool info_stream_has_links(const struct msf *msf);

/* Gets the text at an offset of /names.  Returns 0, or -1 if there is none. */
int info_stream_text(const struct info_stream *info, uint32_t offset,
                     const char **text, uint32_t *size);
