/*
 * Copyright (C) the ngx_symcache authors
 */
#include <string.h>

#include "names.h"
#include "pdb/le.h"

#define INFO_FIXED 28
#define TABLE_HEADER 12
#define TABLE_MAGIC 0xEFFEEFFEu
#define FEATURE_MINI 0x494E494Du

void names_free(struct names *names)
{
    msf_buffer_free(&names->info_buffer);
    msf_buffer_free(&names->table_buffer);
    memset(names, 0, sizeof(*names));
}

static int info_damaged(struct failure *failure, uint64_t offset)
{
    return failure_at(failure, INFO_STREAM, offset, "map of named streams");
}

/* Skips a bit set: a count of words and the words. */
static int skip_words(const uint8_t *info, uint32_t size, uint64_t *at)
{
    if (*at + 4 > size) {
        return -1;
    }
    *at += 4 + 4 * (uint64_t)le32(info + *at);
    return *at > size ? -1 : 0;
}

static int find_streams(struct names *names, const uint8_t *info,
                        uint32_t size, uint32_t *table_stream,
                        struct failure *failure)
{
    uint32_t i, count, offset, text_size, stream;
    uint64_t at;
    const char *text, *name;

    *table_stream = names->srcsrv_stream = MSF_NO_STREAM;
    if (size < INFO_FIXED + 4) {
        return info_damaged(failure, size);
    }
    text_size = le32(info + INFO_FIXED);
    text = (const char *)info + INFO_FIXED + 4;
    at = INFO_FIXED + 4 + (uint64_t)text_size;
    if (at + 8 > size) {
        return info_damaged(failure, at);
    }
    count = le32(info + at);
    at += 8;
    if (skip_words(info, size, &at) != 0 || skip_words(info, size, &at) != 0 ||
        count > (size - at) / 8) {
        return info_damaged(failure, at);
    }
    for (i = 0; i < count; i++, at += 8) {
        offset = le32(info + at);
        stream = le16(info + at + 4);
        if (offset >= text_size ||
            memchr(text + offset, 0, text_size - offset) == NULL) {
            return info_damaged(failure, at);
        }
        name = text + offset;
        if (strcmp(name, "/names") == 0 && *table_stream == MSF_NO_STREAM) {
            *table_stream = stream;
        } else if (strcmp(name, "srcsrv") == 0 &&
                   names->srcsrv_stream == MSF_NO_STREAM) {
            names->srcsrv_stream = stream;
        }
    }
    for (at += 4; at + 4 <= size; at += 4) {
        names->is_fastlink |= le32(info + at) == FEATURE_MINI;
    }
    return 0;
}

static int read_table(struct names *names, const struct msf *msf,
                      uint32_t stream, struct failure *failure)
{
    uint32_t size;
    const uint8_t *p;

    size = msf_stream_size(msf, stream);
    p = msf_view(msf, stream, 0, size < TABLE_HEADER ? size : TABLE_HEADER,
                 &names->table_buffer);
    if (p == NULL || size < TABLE_HEADER || le32(p) != TABLE_MAGIC ||
        le32(p + 4) < 1 || le32(p + 4) > 2 ||
        le32(p + 8) > size - TABLE_HEADER) {
        return failure_at(failure, stream, 0, "string table /names");
    }
    names->table_size = le32(p + 8);
    names->table = msf_view(msf, stream, TABLE_HEADER, names->table_size,
                            &names->table_buffer);
    if (names->table == NULL) {
        return failure_at(failure, stream, TABLE_HEADER,
                          "string table /names");
    }
    /* nobody looks twice for the end of a text that has none */
    while (names->table_size > 0 && names->table[names->table_size - 1] != 0) {
        names->table_size--;
    }
    names->has_table = 1;
    return 0;
}

static void guid_in_text_order(uint8_t text[16], const uint8_t *p)
{
    static const uint8_t order[16] = {3, 2, 1,  0,  5,  4,  7,  6,
                                      8, 9, 10, 11, 12, 13, 14, 15};
    unsigned i;

    for (i = 0; i < 16; i++) {
        text[i] = p[order[i]];
    }
}

int names_read(struct names *names, const struct msf *msf,
               struct failure *failure)
{
    uint32_t size, stream;
    const uint8_t *info;

    memset(names, 0, sizeof(*names));
    size = msf_stream_size(msf, INFO_STREAM);
    info = msf_view(msf, INFO_STREAM, 0, size, &names->info_buffer);
    if (info == NULL || size < INFO_FIXED) {
        return failure_at(failure, INFO_STREAM, size, "info stream");
    }
    names->age = le32(info + 8);
    guid_in_text_order(names->guid, info + 12);
    if (find_streams(names, info, size, &stream, failure) != 0) {
        return -1;
    }
    return stream == MSF_NO_STREAM ? 0
                                   : read_table(names, msf, stream, failure);
}

int names_text(const struct names *names, uint32_t offset, const char **text,
               uint32_t *size)
{
    const uint8_t *p, *end;

    if (offset >= names->table_size) {
        return -1;
    }
    p = names->table + offset;
    end = memchr(p, 0, names->table_size - offset);
    if (end == NULL) {
        return -1;
    }
    *text = (const char *)p;
    *size = (uint32_t)(end - p);
    return 0;
}
