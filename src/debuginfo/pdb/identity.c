/*
 * Copyright (C) the ngx_symcache authors
 */

#include "identity.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "dbi.h"
#include "debuginfo/msfz/msfz.h"
#include "info_stream.h"
#include "machine.h"
#include "msf.h"

#define INFO_HEADER 28
#define DBI_HEADER 64
#define DBI_PART_SIZES 24 /* of five parts; and where two more sizes are: */
#define DBI_DEBUG_HEADER_SIZE 48
#define DBI_EC_SIZE 52
#define DBI_MACHINE 58

static int fail_identity(char *error, size_t size, const char *text)
{
    snprintf(error, size, "is damaged: %s", text);
    return -1;
}

/* Is there a stream with data in this slot of the optional debug header? */
static bool has_slot(const struct msf *msf, uint32_t at, uint32_t bytes,
                    unsigned slot, struct msf_buffer *buffer)
{
    const uint8_t *p;
    uint32_t stream;

    if (bytes < 2 * slot + 2) {
        return false;
    }
    p = msf_view(msf, DBI_STREAM, at + 2 * slot, 2, buffer);
    stream = p != NULL ? le16(p) : MSF_NO_STREAM;
    return stream != MSF_NO_STREAM && msf_stream_size(msf, stream) != 0;
}

/* The optional debug header follows six parts, whose sizes are in the
 * header. */
static bool has_frames(const struct msf *msf, const uint8_t *header,
                      struct msf_buffer *buffer)
{
    uint32_t bytes = le32(header + DBI_DEBUG_HEADER_SIZE);
    uint64_t at = DBI_HEADER + (uint64_t)le32(header + DBI_EC_SIZE);
    unsigned i;

    for (i = DBI_PART_SIZES; i < DBI_PART_SIZES + 20; i += 4) {
        at += le32(header + i);
    }
    return at < msf_stream_size(msf, DBI_STREAM) &&
           (has_slot(msf, (uint32_t)at, bytes, DBI_FPO, buffer) ||
            has_slot(msf, (uint32_t)at, bytes, DBI_FRAME_DATA, buffer));
}

static int read_streams(const struct msf *msf, struct pdb_identity *identity,
                        struct msf_buffer *buffer, char *error, size_t size)
{
    const uint8_t *p;
    struct pdb_identity id;
    uint8_t header[DBI_HEADER];

    p = msf_view(msf, INFO_STREAM, 0, INFO_HEADER, buffer);
    if (p == NULL) {
        return fail_identity(error, size, "no info stream (stream 1)");
    }
    if (le32(p) < INFO_FIRST_GUID) {
        return fail_identity(error, size,
                             "its info stream (stream 1) has no GUID");
    }
    id.info_age = le32(p + 8);
    le_guid(id.guid, p + 12);
    id.age = 0;
    id.arch = 0;
    id.stripped = 0;
    id.has_unwind_info = 0;
    id.has_links = info_stream_has_links(msf);
    if (msf_stream_size(msf, DBI_STREAM) != 0) {
        p = msf_view(msf, DBI_STREAM, 0, DBI_HEADER, buffer);
        if (p == NULL || le32(p) != 0xFFFFFFFF) {
            return fail_identity(error, size, "no DBI header (stream 3)");
        }
        id.age = le32(p + 8);
        id.arch = pdb_arch(le16(p + DBI_MACHINE));
        id.stripped = (le16(p + DBI_FLAGS) & DBI_STRIPPED) != 0;
        memcpy(header, p, sizeof(header));
        id.has_unwind_info = has_frames(msf, header, buffer);
    }
    if (id.age == 0) {
        id.age = id.info_age;
    }
    *identity = id;
    return 0;
}

static int read_plain(const uint8_t *data, size_t size,
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

/* Expands all of it: its streams are in no order that could be relied on. */
static int read_compressed(const uint8_t *data, size_t size,
                           struct pdb_identity *identity, char *error,
                           size_t error_size)
{
    uint64_t room = msfz_bound(data, size), made;
    uint8_t *pdb = room <= SIZE_MAX ? calloc(1, (size_t)room + 1) : NULL;
    enum msfz_status status = MSFZ_FAILED;
    char why[160] = "out of memory";
    int rc = -1;

    if (pdb != NULL) {
        status = msfz_expand_memory(data, size, pdb, (size_t)room, &made, why,
                                    sizeof(why));
    }
    if (status == MSFZ_OK) {
        rc = read_plain(pdb, (size_t)made, identity, error, error_size);
    } else {
        snprintf(error, error_size,
                 status == MSFZ_FAILED ? "cannot be expanded: %s" : "is %s",
                 why);
    }
    free(pdb);
    return rc;
}

int pdb_identity_read(const uint8_t *data, size_t size,
                      struct pdb_identity *identity, char *error,
                      size_t error_size)
{
    return (msfz_sniff(data, size) ? read_compressed : read_plain)(
        data, size, identity, error, error_size);
}
