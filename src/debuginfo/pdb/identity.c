/*
 * Copyright (C) the ngx_symcache authors
 */

#include "identity.h"

#include <stdio.h>
#include <string.h>

#include "base/le.h"
#include "dbi.h"
#include "info_stream.h"
#include "msf.h"

#define INFO_HEADER 28
#define DBI_HEADER 64

static int fail(char *error, size_t size, const char *text)
{
    snprintf(error, size, "is damaged: %s", text);
    return -1;
}

static int read_streams(const struct msf *msf, struct pdb_identity *identity,
                        struct msf_buffer *buffer, char *error, size_t size)
{
    const uint8_t *p;
    struct pdb_identity id;

    p = msf_view(msf, INFO_STREAM, 0, INFO_HEADER, buffer);
    if (p == NULL) {
        return fail(error, size, "no info stream (stream 1)");
    }
    if (le32(p) < INFO_FIRST_GUID) {
        return fail(error, size, "its info stream (stream 1) has no GUID");
    }
    id.info_age = le32(p + 8);
    le_guid(id.guid, p + 12);
    id.age = 0;
    id.stripped = 0;
    if (msf_stream_size(msf, DBI_STREAM) != 0) {
        p = msf_view(msf, DBI_STREAM, 0, DBI_HEADER, buffer);
        if (p == NULL || le32(p) != 0xFFFFFFFF) {
            return fail(error, size, "no DBI header (stream 3)");
        }
        id.age = le32(p + 8);
        id.stripped = (le16(p + DBI_FLAGS) & DBI_STRIPPED) != 0;
    }
    if (id.age == 0) {
        id.age = id.info_age;
    }
    *identity = id;
    return 0;
}

int pdb_identity_read(const uint8_t *data, size_t size,
                      struct pdb_identity *identity, char *error,
                      size_t error_size)
{
    int rc;
    struct msf msf;
    struct msf_buffer buffer = {NULL, 0};

    if (msf_open(&msf, data, size, error, error_size) != MSF_OK) {
        return -1;
    }
    rc = read_streams(&msf, identity, &buffer, error, error_size);
    msf_buffer_free(&buffer);
    msf_close(&msf);
    return rc;
}
