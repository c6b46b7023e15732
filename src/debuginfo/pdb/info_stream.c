/*
 * Copyright (C) the ngx_symcache authors
 */

#include "info_stream.h"

#include <string.h>

#include "base/le.h"

#define INFO_FIXED 28
#define TABLE_HEADER 12
#define TABLE_MAGIC 0xEFFEEFFEu
#define FEATURE_MINI 0x494E494Du

void info_stream_free(struct info_stream *info)
{
    msf_buffer_free(&info->info_buffer);
    msf_buffer_free(&info->table_buffer);
    memset(info, 0, sizeof(*info));
}

static int damaged_info_stream(struct failure *failure, uint64_t offset)
{
    return failure_at(failure, INFO_STREAM, offset, "map of named streams");
}

/* Skips a bit set, which is a count of words and the words. */
static int skip_words(const uint8_t *head, uint32_t size, uint64_t *at)
{
    if (*at + 4 > size) {
        return -1;
    }
    *at += 4 + 4 * (uint64_t)le32(head + *at);
    return *at > size ? -1 : 0;
}

/* Of the Source Link files that a linker is given, the first is in the stream
 * "sourcelink", and the others in "sourcelink$1" and so on. */
static bool is_sourcelink(const char *name)
{
    static const char first[] = "sourcelink";
    size_t n = sizeof(first) - 1;

    return strncmp(name, first, n) == 0 &&
           (name[n] == '\0' || name[n] == '$');
}

static void add_sourcelink(struct info_stream *info, uint32_t stream)
{
    if (info->num_sourcelinks < INFO_SOURCELINKS) {
        info->sourcelinks[info->num_sourcelinks++] = stream;
    }
}

static int find_named_streams(struct info_stream *info, const uint8_t *head,
                              uint32_t size, uint32_t *table_stream,
                              struct failure *failure)
{
    uint32_t i, count, offset, text_size, stream;
    uint64_t at;
    const char *text, *name;

    *table_stream = info->srcsrv_stream = MSF_NO_STREAM;
    if (size < INFO_FIXED + 4) {
        return damaged_info_stream(failure, size);
    }
    text_size = le32(head + INFO_FIXED);
    text = (const char *)head + INFO_FIXED + 4;
    at = INFO_FIXED + 4 + (uint64_t)text_size;
    if (at + 8 > size) {
        return damaged_info_stream(failure, at);
    }
    count = le32(head + at);
    at += 8;
    if (skip_words(head, size, &at) != 0 || skip_words(head, size, &at) != 0 ||
        count > (size - at) / 8) {
        return damaged_info_stream(failure, at);
    }
    for (i = 0; i < count; i++, at += 8) {
        offset = le32(head + at);
        stream = le16(head + at + 4);
        if (offset >= text_size ||
            memchr(text + offset, 0, text_size - offset) == NULL) {
            return damaged_info_stream(failure, at);
        }
        name = text + offset;
        if (strcmp(name, "/names") == 0 && *table_stream == MSF_NO_STREAM) {
            *table_stream = stream;
        } else if (strcmp(name, "srcsrv") == 0 &&
                   info->srcsrv_stream == MSF_NO_STREAM) {
            info->srcsrv_stream = stream;
        } else if (is_sourcelink(name)) {
            add_sourcelink(info, stream);
        }
    }
    for (at += 4; at + 4 <= size; at += 4) {
        info->is_fastlink |= le32(head + at) == FEATURE_MINI;
    }
    return 0;
}

static int read_table(struct info_stream *info, const struct msf *msf,
                      uint32_t stream, struct failure *failure)
{
    uint32_t size;
    const uint8_t *p;

    size = msf_stream_size(msf, stream);
    p = msf_view(msf, stream, 0, size < TABLE_HEADER ? size : TABLE_HEADER,
                 &info->table_buffer);
    if (p == NULL || size < TABLE_HEADER || le32(p) != TABLE_MAGIC ||
        le32(p + 4) < 1 || le32(p + 4) > 2 ||
        le32(p + 8) > size - TABLE_HEADER) {
        return failure_at(failure, stream, 0, "string table /names");
    }
    info->table_size = le32(p + 8);
    info->table = msf_view(msf, stream, TABLE_HEADER, info->table_size,
                           &info->table_buffer);
    if (info->table == NULL) {
        return failure_at(failure, stream, TABLE_HEADER,
                          "string table /names");
    }
    /* drop unterminated text at the end: looking for its NUL costs time */
    while (info->table_size > 0 && info->table[info->table_size - 1] != 0) {
        info->table_size--;
    }
    info->has_table = 1;
    return 0;
}

int info_stream_read(struct info_stream *info, const struct msf *msf,
                     struct failure *failure)
{
    uint32_t size, stream;
    const uint8_t *head;

    memset(info, 0, sizeof(*info));
    size = msf_stream_size(msf, INFO_STREAM);
    head = msf_view(msf, INFO_STREAM, 0, size, &info->info_buffer);
    if (head == NULL || size < INFO_FIXED) {
        return failure_at(failure, INFO_STREAM, size, "info stream");
    }
    info->version = le32(head);
    info->age = le32(head + 8);
    le_guid(info->guid, head + 12);
    if (find_named_streams(info, head, size, &stream, failure) != 0) {
        return -1;
    }
    return stream == MSF_NO_STREAM ? 0
                                   : read_table(info, msf, stream, failure);
}

bool info_stream_has_links(const struct msf *msf)
{
    struct failure failure = {FAILURE_NONE, ""};
    struct info_stream info = {0};
    uint32_t stream, size = msf_stream_size(msf, INFO_STREAM);
    const uint8_t *head =
        msf_view(msf, INFO_STREAM, 0, size, &info.info_buffer);
    bool has;

    has = head != NULL &&
          find_named_streams(&info, head, size, &stream, &failure) == 0 &&
          (msf_stream_size(msf, info.srcsrv_stream) > 0 ||
           info.num_sourcelinks > 0);
    info_stream_free(&info);
    return has;
}

int info_stream_text(const struct info_stream *info, uint32_t offset,
                     const char **text, uint32_t *size)
{
    const uint8_t *p, *end;

    if (offset >= info->table_size) {
        return -1;
    }
    p = info->table + offset;
    end = memchr(p, 0, info->table_size - offset);
    if (end == NULL) {
        return -1;
    }
    *text = (const char *)p;
    *size = (uint32_t)(end - p);
    return 0;
}
