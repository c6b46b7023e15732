/*
 * Copyright (C) the ngx_symcache authors
 */
#include "writer.h"

#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/byte_compare.h"
#include "base/le.h"
#include "base/utf8.h"
#include "format.h"

static void store64(uint8_t *p, uint64_t value)
{
    le32_store(p, (uint32_t)value);
    le32_store(p + 4, (uint32_t)(value >> 32));
}

void sourcecache_writer_free(struct sourcecache_writer *writer)
{
    int part;

    for (part = 0; part < SOURCECACHE_PARTS; part++) {
        free(writer->parts[part].data);
    }
    memset(writer, 0, sizeof(*writer));
}

static enum symc_status put_source(struct sourcecache_writer *writer,
                                   const void *data, size_t size)
{
    writer->written += size;
    return size == 0 ||
                   writer->sink->write(writer->sink->context, data, size) == 0
               ? SYMC_OK
               : SYMC_NO_WRITE;
}

/* Returns a new record of a part, or NULL.  It is not initialised. */
static uint8_t *add_source(struct sourcecache_writer *writer,
                           enum sourcecache_part part, size_t size)
{
    struct sourcecache_part_data *data = &writer->parts[part];

    if (data->size > UINT32_MAX - size ||
        array_need(&data->data, &data->room, data->size + size, 1) != 0) {
        return NULL;
    }
    data->size += size;
    writer->counts[part]++;
    return data->data + data->size - size;
}

/* As a key of a file with these flags is. */
static uint8_t fold(char c, uint32_t flags)
{
    if ((flags & SOURCECACHE_SLASHES) != 0 && c == '\\') {
        return '/';
    }
    return (flags & SOURCECACHE_FOLDS) != 0 && c >= 'A' && c <= 'Z'
               ? (uint8_t)(c | 0x20)
               : (uint8_t)c;
}

/* Adds a string and writes where it is to at, an offset in a part. */
static bool add_string(struct sourcecache_writer *writer,
                       enum sourcecache_part part, size_t at, const char *text,
                       size_t size, uint32_t flags)
{
    uint8_t *p;
    size_t i;

    if (size == 0) {
        le32_store(writer->parts[part].data + at, SOURCECACHE_ABSENT);
        le32_store(writer->parts[part].data + at + 4, 0);
        return true;
    }
    p = add_source(writer, SOURCECACHE_STRINGS, size);
    if (p == NULL) {
        return false;
    }
    for (i = 0; i < size; i++) {
        p[i] = fold(text[i], flags);
    }
    le32_store(writer->parts[part].data + at,
               (uint32_t)(p - writer->parts[SOURCECACHE_STRINGS].data));
    le32_store(writer->parts[part].data + at + 4, (uint32_t)size);
    return true;
}

static const uint8_t *string_of(const struct sourcecache_writer *writer,
                                const uint8_t *p, size_t *size)
{
    *size = le32(p + 4);
    return writer->parts[SOURCECACHE_STRINGS].data + le32(p);
}

enum symc_status
sourcecache_writer_begin(struct sourcecache_writer *writer,
                         const struct sourcecache_identity *identity,
                         uint32_t flags, const struct symc_sink *sink)
{
    uint8_t head[SOURCECACHE_HEADER] = SOURCECACHE_MAGIC;

    writer->sink = sink;
    writer->flags = flags;
    le32_store(head + SOURCECACHE_AT_VERSION, SOURCECACHE_VERSION);
    memcpy(head + SOURCECACHE_AT_GUID, identity->guid, 16);
    le32_store(head + SOURCECACHE_AT_AGE, identity->age);
    le32_store(head + SOURCECACHE_AT_FLAGS, writer->flags);
    return put_source(writer, head, sizeof(head));
}

/* files ------------------------------------------------------------------ */

static bool add_key(struct sourcecache_writer *writer,
                    enum sourcecache_part part, const struct symc_text *key,
                    uint32_t file)
{
    uint32_t flags = part == SOURCECACHE_PATHS ? writer->flags : 0;
    uint8_t *p;

    if (key->size == 0) {
        return true;
    }
    p = add_source(writer, part, SOURCECACHE_KEY);
    if (p == NULL) {
        return false;
    }
    le32_store(p + 8, file);
    return add_string(writer, part, writer->parts[part].size - SOURCECACHE_KEY,
                      key->data, key->size, flags);
}

static bool add_source_id(struct sourcecache_writer *writer,
                          const struct sourcecache_file *f, uint32_t file)
{
    uint8_t *p;

    if (!f->has_id || f->type == SOURCECACHE_ANY) {
        return true;
    }
    p = add_source(writer, SOURCECACHE_IDS, SOURCECACHE_ID);
    if (p == NULL) {
        return false;
    }
    memcpy(p, f->guid, 16);
    le32_store(p + 16, f->age);
    le32_store(p + 20, (uint32_t)f->type);
    le32_store(p + 24, file);
    return true;
}

enum symc_status sourcecache_writer_file(struct sourcecache_writer *writer,
                                         const struct sourcecache_file *f)
{
    const struct {
        unsigned at;
        const struct symc_text *text;
    } strings[] = {{SOURCECACHE_ENTRY_NAME, &f->name},
                   {SOURCECACHE_ENTRY_PATH, &f->path},
                   {SOURCECACHE_ENTRY_URL, &f->url},
                   {SOURCECACHE_ENTRY_MAP, &f->map}};
    uint32_t file = writer->counts[SOURCECACHE_ENTRIES];
    uint8_t *p = add_source(writer, SOURCECACHE_ENTRIES, SOURCECACHE_ENTRY);
    size_t i, at;

    if (p == NULL) {
        return SYMC_NO_MEMORY;
    }
    memset(p, 0, SOURCECACHE_ENTRY);
    p[SOURCECACHE_ENTRY_TYPE] = (uint8_t)f->type;
    p[SOURCECACHE_ENTRY_STATUS] = SOURCECACHE_MISSING;
    p[SOURCECACHE_ENTRY_HAS_ID] = f->has_id;
    if (f->has_id) {
        memcpy(p + SOURCECACHE_ENTRY_GUID, f->guid, 16);
        le32_store(p + SOURCECACHE_ENTRY_AGE, f->age);
    }
    at = writer->parts[SOURCECACHE_ENTRIES].size - SOURCECACHE_ENTRY;
    for (i = 0; i < COUNT(strings); i++) {
        if (!add_string(writer, SOURCECACHE_ENTRIES, at + strings[i].at,
                        strings[i].text->data, strings[i].text->size, 0)) {
            return SYMC_NO_MEMORY;
        }
    }
    return add_key(writer, SOURCECACHE_PATHS, &f->path, file) &&
                   add_key(writer, SOURCECACHE_URLS, &f->url, file) &&
                   add_source_id(writer, f, file)
               ? SYMC_OK
               : SYMC_NO_MEMORY;
}

static uint8_t *entry_of(struct sourcecache_writer *writer, uint32_t file)
{
    return writer->parts[SOURCECACHE_ENTRIES].data +
           (size_t)file * SOURCECACHE_ENTRY;
}

/* Adds the marks of a text, and counts its lines. */
static bool add_marks(struct sourcecache_writer *writer, const char *text,
                      size_t size, uint32_t *lines)
{
    const char *p = text, *end = text + size;
    uint8_t *mark;

    for (*lines = 0; p < end; ++*lines) {
        if (*lines % SOURCECACHE_LINES_MARK == 0) {
            mark = add_source(writer, SOURCECACHE_MARKS, 4);
            if (mark == NULL) {
                return false;
            }
            le32_store(mark, (uint32_t)(p - text));
        }
        p = memchr(p, '\n', (size_t)(end - p));
        p = p != NULL ? p + 1 : end;
    }
    return true;
}

enum symc_status sourcecache_writer_text(struct sourcecache_writer *writer,
                                         uint32_t file, const char *text,
                                         size_t size)
{
    uint32_t lines, mark = writer->counts[SOURCECACHE_MARKS];
    struct sha256_ctx sha256;
    uint8_t *p;

    if (utf8_valid(text, size) != size) {
        sourcecache_writer_status(writer, file, SOURCECACHE_NOT_UTF8);
        return SYMC_OK;
    }
    if (!add_marks(writer, text, size, &lines)) {
        return SYMC_NO_MEMORY;
    }
    p = entry_of(writer, file);
    p[SOURCECACHE_ENTRY_STATUS] = SOURCECACHE_TEXT;
    store64(p + SOURCECACHE_ENTRY_TEXT, writer->written);
    le32_store(p + SOURCECACHE_ENTRY_SIZE, (uint32_t)size);
    le32_store(p + SOURCECACHE_ENTRY_LINES, lines);
    le32_store(p + SOURCECACHE_ENTRY_MARK, mark);
    sha256_init(&sha256);
    sha256_update(&sha256, size, (const uint8_t *)text);
    sha256_digest(&sha256, SHA256_DIGEST_SIZE, p + SOURCECACHE_ENTRY_SHA256);
    return put_source(writer, text, size);
}

bool sourcecache_writer_has_text(const struct sourcecache_writer *writer,
                                 uint32_t file)
{
    return writer->parts[SOURCECACHE_ENTRIES]
               .data[(size_t)file * SOURCECACHE_ENTRY +
                     SOURCECACHE_ENTRY_STATUS] == SOURCECACHE_TEXT;
}

void sourcecache_writer_status(struct sourcecache_writer *writer,
                               uint32_t file, enum sourcecache_status status)
{
    entry_of(writer, file)[SOURCECACHE_ENTRY_STATUS] = (uint8_t)status;
}

enum symc_status sourcecache_writer_map(struct sourcecache_writer *writer,
                                        uint32_t file, const char *map,
                                        size_t size)
{
    size_t at = (size_t)file * SOURCECACHE_ENTRY + SOURCECACHE_ENTRY_MAP;

    return le32(entry_of(writer, file) + SOURCECACHE_ENTRY_MAP + 4) != 0 ||
                   add_string(writer, SOURCECACHE_ENTRIES, at, map, size, 0)
               ? SYMC_OK
               : SYMC_NO_MEMORY;
}

/* links and attributes ----------------------------------------------------- */

enum symc_status sourcecache_writer_link(struct sourcecache_writer *writer,
                                         const struct symc_text *pattern,
                                         const struct symc_text *url)
{
    bool is_prefix =
        pattern->size > 0 && pattern->data[pattern->size - 1] == '*';
    uint8_t *p = add_source(writer, SOURCECACHE_LINKS, SOURCECACHE_LINK);
    size_t i, at, size = pattern->size - (is_prefix ? 1 : 0);

    if (p == NULL) {
        return SYMC_NO_MEMORY;
    }
    le32_store(p + 16, is_prefix);
    at = writer->parts[SOURCECACHE_LINKS].size - SOURCECACHE_LINK;
    if (!add_string(writer, SOURCECACHE_LINKS, at + 8, url->data, url->size,
                    0) ||
        !add_string(writer, SOURCECACHE_LINKS, at, pattern->data, size, 0)) {
        return SYMC_NO_MEMORY;
    }
    if (size == 0) { /* there, but empty: "*" fits everything */
        le32_store(writer->parts[SOURCECACHE_LINKS].data + at,
                   (uint32_t)writer->parts[SOURCECACHE_STRINGS].size);
    }
    p = writer->parts[SOURCECACHE_STRINGS].data +
        writer->parts[SOURCECACHE_STRINGS].size - size;
    for (i = 0; i < size; i++) {
        p[i] = p[i] >= 'A' && p[i] <= 'Z' ? (uint8_t)(p[i] | 0x20) : p[i];
    }
    return SYMC_OK;
}

enum symc_status
sourcecache_writer_attribute(struct sourcecache_writer *writer,
                             const struct symc_text *name,
                             const struct symc_text *value)
{
    size_t at;

    if (add_source(writer, SOURCECACHE_ATTRIBUTES, SOURCECACHE_PAIR) == NULL) {
        return SYMC_NO_MEMORY;
    }
    at = writer->parts[SOURCECACHE_ATTRIBUTES].size - SOURCECACHE_PAIR;
    return add_string(writer, SOURCECACHE_ATTRIBUTES, at, name->data,
                      name->size, 0) &&
                   add_string(writer, SOURCECACHE_ATTRIBUTES, at + 8,
                              value->data, value->size, 0)
               ? SYMC_OK
               : SYMC_NO_MEMORY;
}

/* the end ---------------------------------------------------------------- */

static int compare_strings(const struct sourcecache_writer *writer,
                           const uint8_t *a, const uint8_t *b)
{
    size_t a_size, b_size;
    const uint8_t *x = string_of(writer, a, &a_size),
                  *y = string_of(writer, b, &b_size);

    return byte_compare(x, a_size, y, b_size);
}

static int compare_numbers(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

/* The writer is the argument of the comparison. */
static int compare_keys(const void *a, const void *b, void *w)
{
    int order = compare_strings(w, a, b);

    return order != 0 ? order
                      : compare_numbers(le32((const uint8_t *)a + 8),
                                        le32((const uint8_t *)b + 8));
}

static int compare_ids(const void *a, const void *b, void *w)
{
    const uint8_t *x = a, *y = b;
    int i, order = memcmp(x, y, 16);

    (void)w;
    for (i = 16; order == 0 && i < SOURCECACHE_ID; i += 4) {
        order = compare_numbers(le32(x + i), le32(y + i));
    }
    return order;
}

/* Exact ones first, then the longest; of equal ones the last first, which has
 * the later string. */
static int compare_links(const void *a, const void *b, void *w)
{
    const uint8_t *x = a, *y = b;
    int order = compare_numbers(le32(x + 16), le32(y + 16));

    order = order != 0 ? order : -compare_numbers(le32(x + 4), le32(y + 4));
    order = order != 0 || le32(x + 4) == 0 ? order : compare_strings(w, x, y);
    return order != 0 ? order : -compare_numbers(le32(x), le32(y));
}

/* Sorts records.  Of those that are equal but for the entry, which is their
 * last number, the last one stays. */
static void sort_source(struct sourcecache_writer *writer,
                        enum sourcecache_part part, size_t size,
                        int (*compare)(const void *, const void *, void *))
{
    struct sourcecache_part_data *data = &writer->parts[part];
    size_t i, n = 0;
    uint8_t *p;

    if (data->size == 0) {
        return;
    }
    qsort_r(data->data, data->size / size, size, compare, writer);
    for (i = 0; i < data->size; i += size) {
        p = data->data + i;
        if (n > 0 &&
            (part == SOURCECACHE_IDS
                 ? memcmp(p, data->data + n - size, size - 4) == 0
                 : compare_strings(writer, p, data->data + n - size) == 0)) {
            n -= size;
        }
        memmove(data->data + n, p, size);
        n += size;
    }
    data->size = n;
    writer->counts[part] = (uint32_t)(n / size);
}

enum symc_status sourcecache_writer_finish(struct sourcecache_writer *writer)
{
    static const uint8_t zeros[4];
    uint8_t trailer[SOURCECACHE_TRAILER] = {0};
    enum symc_status status;
    int part;

    writer->counts[SOURCECACHE_STRINGS] =
        (uint32_t)writer->parts[SOURCECACHE_STRINGS].size;
    sort_source(writer, SOURCECACHE_PATHS, SOURCECACHE_KEY, compare_keys);
    sort_source(writer, SOURCECACHE_URLS, SOURCECACHE_KEY, compare_keys);
    sort_source(writer, SOURCECACHE_IDS, SOURCECACHE_ID, compare_ids);
    if (writer->counts[SOURCECACHE_LINKS] > 1) {
        qsort_r(writer->parts[SOURCECACHE_LINKS].data,
                writer->counts[SOURCECACHE_LINKS], SOURCECACHE_LINK,
                compare_links, writer);
    }
    status = put_source(writer, zeros, (size_t)(-writer->written % 4));
    for (part = 0; part < SOURCECACHE_PARTS && status == SYMC_OK; part++) {
        le32_store(trailer + SOURCECACHE_AT_COUNTS + 4 * part,
                   writer->counts[part]);
        status = put_source(writer, writer->parts[part].data,
                            writer->parts[part].size);
    }
    memcpy(trailer + SOURCECACHE_AT_END, SOURCECACHE_END, 4);
    return status != SYMC_OK ? status
                             : put_source(writer, trailer, sizeof(trailer));
}
