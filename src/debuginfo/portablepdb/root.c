/*
 * Copyright (C) the ngx_symcache authors
 */
#include "root.h"

#include <string.h>

#include "base/le.h"
#include "base/utf8.h"

#define SIGNATURE "BSJB"
#define ROOT_HEADER 16
#define ROOT_VERSION_SIZE 12
#define ROOT_TAIL 4 /* flags and the number of streams */
#define STREAM_HEADER 8
#define STREAM_NAME_MAX 32
#define PDB_TABLES 24
#define PDB_HEADER 32
#define GUID_SIZE 16

static const char *const names[NUM_STREAMS] = {
    [STREAM_PDB] = "#Pdb", [STREAM_TABLES] = "#~",
    [STREAM_STRINGS] = "#Strings", [STREAM_US] = "#US",
    [STREAM_GUID] = "#GUID", [STREAM_BLOB] = "#Blob",
};

static int damaged_root(struct failure *failure, const char *what,
                        size_t offset)
{
    return failure_set(failure, FAILURE_DAMAGED,
                       "is damaged: %s (portable PDB, offset %zu)", what,
                       offset);
}

bool metadata_sniff(const uint8_t *data, size_t size)
{
    return size >= sizeof(SIGNATURE) - 1 &&
           memcmp(data, SIGNATURE, sizeof(SIGNATURE) - 1) == 0;
}

/* Reads the row counts, one for each bit that is set in a mask. */
static int read_pdb(struct metadata_root *root, size_t offset, size_t size,
                    struct failure *failure)
{
    size_t at = PDB_HEADER;
    uint64_t mask;
    unsigned i;
    const uint8_t *p = root->file.data + offset;

    if (offset % 4 != 0 || size < PDB_HEADER) {
        return damaged_root(failure, "\"#Pdb\" is too short, or not aligned",
                            offset);
    }
    root->id = p;
    memset(root->rows, 0, sizeof(root->rows));
    mask = le64(p + PDB_TABLES);
    for (i = 0; i < METADATA_TABLES; i++) {
        if ((mask >> i & 1) == 0) {
            continue;
        }
        if (size - at < 4) {
            return damaged_root(failure, "row counts in \"#Pdb\" are cut off",
                                offset + at);
        }
        root->rows[i] = le32(p + at);
        at += 4;
    }
    return 0;
}

/* Takes up a stream whose header is at an offset of the file.  Of two with one
 * name the last counts. */
static int take_stream(struct metadata_root *root, size_t header,
                       const char *name, size_t name_size,
                       struct failure *failure)
{
    unsigned i;
    const uint8_t *p = root->file.data;
    size_t offset = le32(p + header), size = le32(p + header + 4);

    for (i = 0; i < NUM_STREAMS && (strlen(names[i]) != name_size ||
                                    memcmp(names[i], name, name_size) != 0);
         i++) {
    }
    if (i == NUM_STREAMS) {
        return damaged_root(failure, "a stream that portable PDBs do not have",
                            header);
    }
    if (offset > root->file.size || size > root->file.size - offset) {
        return damaged_root(failure, "a stream ends beyond the file", header);
    }
    if (i == STREAM_GUID && size % GUID_SIZE != 0) {
        return damaged_root(failure, "\"#GUID\" has a part of a GUID", header);
    }
    if (i == STREAM_TABLES && offset % 4 != 0) {
        return damaged_root(failure, "\"#~\" is not aligned", header);
    }
    root->streams[i].data = p + offset;
    root->streams[i].size = size;
    return i == STREAM_PDB ? read_pdb(root, offset, size, failure) : 0;
}

static int read_streams(struct metadata_root *root, size_t at, unsigned count,
                        struct failure *failure)
{
    size_t left, room, n;
    const char *name;

    for (; count > 0; count--) {
        left = root->file.size - at;
        if (at % 4 != 0 || left < STREAM_HEADER) {
            return damaged_root(failure,
                                "a stream header is cut off, or not "
                                "aligned",
                                at);
        }
        name = (const char *)root->file.data + at + STREAM_HEADER;
        left -= STREAM_HEADER;
        room = left < STREAM_NAME_MAX ? left : STREAM_NAME_MAX;
        n = strnlen(name, room);
        if (n / 4 * 4 + 4 > left) { /* with its NUL, padded */
            return damaged_root(failure, "a stream name is cut off", at);
        }
        if (take_stream(root, at, name, n, failure) != 0) {
            return -1;
        }
        at += STREAM_HEADER + n / 4 * 4 + 4;
    }
    return 0;
}

int metadata_root_open(struct metadata_root *root, const uint8_t *data,
                       size_t size, struct failure *failure)
{
    size_t at, length, text;

    memset(root, 0, sizeof(*root));
    root->file.data = data;
    root->file.size = size;
    if (!metadata_sniff(data, size)) {
        return failure_set(failure, FAILURE_NOT_PDB, "is not a portable PDB");
    }
    length = size < ROOT_HEADER ? 0 : le32(data + ROOT_VERSION_SIZE);
    if (size < ROOT_HEADER || length > size - ROOT_HEADER ||
        size - ROOT_HEADER - length < ROOT_TAIL) {
        return damaged_root(failure, "the metadata root is cut off", 0);
    }
    text = strnlen((const char *)data + ROOT_HEADER, length);
    at = ROOT_HEADER + length;
    if (at % 2 != 0 || utf8_valid(data + ROOT_HEADER, text) != text) {
        return damaged_root(failure, "the version in the metadata root",
                            ROOT_HEADER);
    }
    return read_streams(root, at + ROOT_TAIL, le16(data + at + 2), failure);
}
