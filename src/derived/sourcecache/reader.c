/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reader.h"

#include <stdio.h>
#include <string.h>

#include "base/le.h"
#include "format.h"

static const uint8_t sizes[SOURCECACHE_PARTS] = {
    [SOURCECACHE_ENTRIES] = SOURCECACHE_ENTRY,
    [SOURCECACHE_PATHS] = SOURCECACHE_KEY,
    [SOURCECACHE_URLS] = SOURCECACHE_KEY,
    [SOURCECACHE_IDS] = SOURCECACHE_ID,
    [SOURCECACHE_LINKS] = SOURCECACHE_LINK,
    [SOURCECACHE_ATTRIBUTES] = SOURCECACHE_PAIR,
    [SOURCECACHE_MARKS] = 4,
    [SOURCECACHE_STRINGS] = 1,
};

bool sourcecache_sniff(const uint8_t *data, size_t size)
{
    return size >= 4 && memcmp(data, SOURCECACHE_MAGIC, 4) == 0;
}

static const struct symc_head head = {
    "SourceCache", SOURCECACHE_MAGIC, SOURCECACHE_VERSION,
    SOURCECACHE_HEADER + SOURCECACHE_TRAILER};

static enum symc_reader_status reader_check_head(const uint8_t *data,
                                                 size_t size, char *error,
                                                 size_t error_size)
{
    enum symc_reader_status status =
        symc_head_check(&head, data, size, error, error_size);

    if (status == SYMC_OPENED &&
        memcmp(data + size - SOURCECACHE_TRAILER + SOURCECACHE_AT_END,
               SOURCECACHE_END, 4) != 0) {
        snprintf(error, error_size, "truncated: it does not end with \"%s\"",
                 SOURCECACHE_END);
        return SYMC_DAMAGED;
    }
    return status;
}

enum symc_reader_status
sourcecache_reader_open(struct sourcecache_reader *reader, const void *data,
                        size_t size, char *error, size_t error_size)
{
    struct sourcecache_reader r = {data, size, {0}, {0}, 0};
    enum symc_reader_status status;
    uint64_t n, end;
    int part;

    status = reader_check_head(data, size, error, error_size);
    if (status != SYMC_OPENED) {
        return status;
    }
    r.flags = le32(r.data + SOURCECACHE_AT_FLAGS);
    end = size - SOURCECACHE_TRAILER;
    for (part = SOURCECACHE_PARTS - 1; part >= 0; part--) {
        r.count[part] = le32(r.data + size - SOURCECACHE_TRAILER +
                             SOURCECACHE_AT_COUNTS + 4 * part);
        n = (uint64_t)r.count[part] * sizes[part];
        if (n > end - SOURCECACHE_HEADER) {
            snprintf(error, error_size,
                     "%zu bytes are less than its parts take", size);
            return SYMC_DAMAGED;
        }
        end -= n;
        r.at[part] = (size_t)end;
    }
    *reader = r;
    return SYMC_OPENED;
}

struct symc_string sourcecache_string(const struct sourcecache_reader *reader,
                                      const uint8_t *p)
{
    struct symc_string string = {NULL, 0};
    uint32_t at = le32(p), size = le32(p + 4);
    uint32_t all = reader->count[SOURCECACHE_STRINGS];

    if (at <= all && size <= all - at) {
        string.data =
            (const char *)reader->data + reader->at[SOURCECACHE_STRINGS] + at;
        string.size = size;
    }
    return string;
}

const uint8_t *sourcecache_record(const struct sourcecache_reader *reader,
                                  enum sourcecache_part part, uint32_t index)
{
    return reader->data + reader->at[part] + (size_t)index * sizes[part];
}

bool sourcecache_reader_entry(const struct sourcecache_reader *reader,
                              uint32_t index, struct sourcecache_entry *entry)
{
    const uint8_t *p;
    uint64_t at;
    size_t end = reader->at[SOURCECACHE_ENTRIES];

    if (index >= reader->count[SOURCECACHE_ENTRIES]) {
        return false;
    }
    p = sourcecache_record(reader, SOURCECACHE_ENTRIES, index);
    memset(entry, 0, sizeof(*entry));
    entry->type = p[SOURCECACHE_ENTRY_TYPE] < SOURCECACHE_TYPES
                      ? (enum sourcecache_type)p[SOURCECACHE_ENTRY_TYPE]
                      : SOURCECACHE_ANY;
    entry->status = p[SOURCECACHE_ENTRY_STATUS] < SOURCECACHE_STATUSES
                        ? (enum sourcecache_status)p[SOURCECACHE_ENTRY_STATUS]
                        : SOURCECACHE_DAMAGED;
    at = le64(p + SOURCECACHE_ENTRY_TEXT);
    if (entry->status == SOURCECACHE_TEXT) {
        if (at > end || le32(p + SOURCECACHE_ENTRY_SIZE) > end - at) {
            entry->status = SOURCECACHE_DAMAGED;
        } else {
            entry->text.data = (const char *)reader->data + at;
            entry->text.size = le32(p + SOURCECACHE_ENTRY_SIZE);
        }
    }
    entry->lines = le32(p + SOURCECACHE_ENTRY_LINES);
    entry->mark = le32(p + SOURCECACHE_ENTRY_MARK);
    entry->sha256 = p + SOURCECACHE_ENTRY_SHA256;
    entry->name = sourcecache_string(reader, p + SOURCECACHE_ENTRY_NAME);
    entry->path = sourcecache_string(reader, p + SOURCECACHE_ENTRY_PATH);
    entry->url = sourcecache_string(reader, p + SOURCECACHE_ENTRY_URL);
    entry->map = sourcecache_string(reader, p + SOURCECACHE_ENTRY_MAP);
    return true;
}

/* keys ------------------------------------------------------------------- */

static char slash(char c, bool slashes)
{
    return slashes && c == '\\' ? '/' : c;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* As a key of a file with these flags has it. */
static char reader_fold(char c, uint32_t flags)
{
    c = slash(c, (flags & SOURCECACHE_SLASHES) != 0);
    return (flags & SOURCECACHE_FOLDS) != 0 ? lower(c) : c;
}

/* Compares a text with a key, which is folded already. */
static int reader_compare(const char *text, size_t size,
                          struct symc_string key, uint32_t flags)
{
    size_t i, n = size < key.size ? size : key.size;
    unsigned char c;

    for (i = 0; i < n; i++) {
        c = (unsigned char)reader_fold(text[i], flags);
        if (c != (unsigned char)key.data[i]) {
            return c < (unsigned char)key.data[i] ? -1 : 1;
        }
    }
    return size == key.size ? 0 : size < key.size ? -1 : 1;
}

static bool reader_find(const struct sourcecache_reader *reader,
                        enum sourcecache_part part, const char *text,
                        size_t size, uint32_t flags,
                        struct sourcecache_entry *entry)
{
    uint32_t low = 0, high = reader->count[part], middle;
    const uint8_t *p;
    int order;

    while (low < high) {
        middle = low + (high - low) / 2;
        p = sourcecache_record(reader, part, middle);
        order =
            reader_compare(text, size, sourcecache_string(reader, p), flags);
        if (order == 0) {
            return sourcecache_reader_entry(reader, le32(p + 8), entry);
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return false;
}

bool sourcecache_find_path(const struct sourcecache_reader *reader,
                           const char *path, size_t size,
                           struct sourcecache_entry *entry)
{
    return reader_find(reader, SOURCECACHE_PATHS, path, size, reader->flags,
                       entry);
}

bool sourcecache_find_url(const struct sourcecache_reader *reader,
                          const char *url, size_t size,
                          struct sourcecache_entry *entry)
{
    return reader_find(reader, SOURCECACHE_URLS, url, size, 0, entry);
}

bool sourcecache_find_id(const struct sourcecache_reader *reader,
                         const uint8_t guid[16], uint32_t age,
                         enum sourcecache_type type,
                         struct sourcecache_entry *entry)
{
    uint32_t low = 0, high = reader->count[SOURCECACHE_IDS], middle;
    uint64_t wanted = (uint64_t)age << 32 | (uint32_t)type, got;
    const uint8_t *p;
    int order;

    while (low < high) {
        middle = low + (high - low) / 2;
        p = sourcecache_record(reader, SOURCECACHE_IDS, middle);
        got = (uint64_t)le32(p + 16) << 32 | le32(p + 20);
        order = memcmp(guid, p, 16);
        order = order != 0 ? order : wanted < got ? -1 : wanted > got;
        if (order == 0) {
            return sourcecache_reader_entry(reader, le32(p + 24), entry);
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return false;
}

/* links ------------------------------------------------------------------ */

/* Bytes of a path that are compared together with each pattern. */
#define LOWERED 1024

/* Does a path fit a pattern, which is in lower case?  lowered has as much of
 * the path as there is room for. */
static bool reader_fits(struct symc_string pattern, bool is_prefix,
                        const char *path, size_t size, bool slashes,
                        const char lowered[LOWERED])
{
    size_t i;

    if (pattern.data == NULL ||
        (is_prefix ? size < pattern.size : size != pattern.size)) {
        return false;
    }
    i = pattern.size < LOWERED ? pattern.size : LOWERED;
    if (i > 0 && memcmp(lowered, pattern.data, i) != 0) {
        return false;
    }
    for (; i < pattern.size &&
           lower(slash(path[i], slashes)) == pattern.data[i];
         i++) {
    }
    return i == pattern.size;
}

size_t sourcecache_link(const struct sourcecache_reader *reader,
                        const char *path, size_t size, char *url, size_t room)
{
    bool is_prefix = false,
         slashes = (reader->flags & SOURCECACHE_SLASHES) != 0;
    struct symc_string pattern = {NULL, 0}, target = {NULL, 0};
    const uint8_t *p;
    uint32_t i, links = reader->count[SOURCECACHE_LINKS];
    size_t k, n = 0, at;
    char lowered[LOWERED];

    for (k = 0; links > 0 && k < size && k < LOWERED; k++) {
        lowered[k] = (char)lower(slash(path[k], slashes));
    }
    for (i = 0; i < links; i++) {
        p = sourcecache_record(reader, SOURCECACHE_LINKS, i);
        is_prefix = le32(p + 16) != 0;
        pattern = sourcecache_string(reader, p);
        if (reader_fits(pattern, is_prefix, path, size, slashes, lowered)) {
            target = sourcecache_string(reader, p + 8);
            break;
        }
    }
    for (at = 0; at < target.size && n <= room; at++) {
        if (target.data[at] != '*' || !is_prefix) {
            if (n < room) {
                url[n] = target.data[at];
            }
            n++;
            continue;
        }
        for (k = pattern.size; k < size; k++, n++) {
            if (n < room) {
                url[n] = slash(path[k], true);
            }
        }
    }
    return n;
}

/* lines ------------------------------------------------------------------ */

unsigned sourcecache_text_lines(const char *text, size_t size, uint32_t first,
                                unsigned count, struct symc_string *lines)
{
    const char *p = text, *end = text + size, *line_end;
    uint32_t line;
    unsigned n = 0;

    for (line = 1; p < end && n < count; line++) {
        line_end = memchr(p, '\n', (size_t)(end - p));
        line_end = line_end != NULL ? line_end : end;
        if (line >= first) {
            lines[n].data = p;
            lines[n].size = (size_t)(line_end - p);
            if (line_end < end && line_end > p && line_end[-1] == '\r') {
                lines[n].size--;
            }
            n++;
        }
        p = line_end < end ? line_end + 1 : end;
    }
    return n;
}

bool sourcecache_block(const struct sourcecache_reader *reader,
                       const struct sourcecache_entry *entry, uint32_t *line,
                       struct symc_string *block)
{
    uint32_t block_number, mark, at, end = (uint32_t)entry->text.size;

    if (*line == 0 || *line > entry->lines || entry->text.data == NULL) {
        return false;
    }
    block_number = (*line - 1) / SOURCECACHE_LINES_MARK;
    mark = entry->mark + block_number;
    if (mark < block_number || mark >= reader->count[SOURCECACHE_MARKS]) {
        return false;
    }
    at = le32(sourcecache_record(reader, SOURCECACHE_MARKS, mark));
    if (entry->lines - 1 >= (block_number + 2) * SOURCECACHE_LINES_MARK &&
        reader->count[SOURCECACHE_MARKS] - mark > 2) {
        end = le32(sourcecache_record(reader, SOURCECACHE_MARKS, mark + 2));
    }
    if (at >= end || end > entry->text.size) {
        return false;
    }
    *line -= block_number * SOURCECACHE_LINES_MARK;
    block->data = entry->text.data + at;
    block->size = end - at;
    return true;
}
