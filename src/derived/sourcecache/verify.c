/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reader.h"

#include <string.h>

#include "base/byte_compare.h"
#include "base/le.h"
#include "base/utf8.h"
#include "format.h"

struct sourcecache_verify {
    const struct sourcecache_reader *sourcecache;
    struct integrity file;
};

/* A string that is absent has no data, and is no error unless it must be
 * there. */
static bool is_string(const struct sourcecache_verify *verify,
                      const uint8_t *p, bool must)
{
    struct symc_string s = sourcecache_string(verify->sourcecache, p);

    if (s.data == NULL) {
        return !must && le32(p) == SOURCECACHE_ABSENT && le32(p + 4) == 0;
    }
    return utf8_valid(s.data, s.size) == s.size;
}

/* Walks the lines of a text, of which every 32nd has a mark. */
static bool verify_text(const struct sourcecache_verify *verify,
                        uint32_t index, const struct sourcecache_entry *e)
{
    const char *p = e->text.data, *end = p + e->text.size;
    uint32_t line;
    uint64_t mark = e->mark;

    if (e->text.size > SOURCECACHE_TEXT_MAX ||
        utf8_valid(e->text.data, e->text.size) != e->text.size) {
        return integrity_fails(&verify->file,
                               "file %u: the text is too long, or no UTF-8",
                               index);
    }
    for (line = 0; p < end; line++) {
        if (line % SOURCECACHE_LINES_MARK == 0 &&
            (mark >= verify->sourcecache->count[SOURCECACHE_MARKS] ||
             le32(sourcecache_record(verify->sourcecache, SOURCECACHE_MARKS,
                                     (uint32_t)mark++)) !=
                 (uint32_t)(p - e->text.data))) {
            return integrity_fails(&verify->file,
                                   "file %u: the mark of line %u is wrong",
                                   index, line + 1);
        }
        p = memchr(p, '\n', (size_t)(end - p));
        p = p != NULL ? p + 1 : end;
    }
    return line == e->lines ||
           integrity_fails(&verify->file,
                           "file %u: it has %u lines, and not %u", index, line,
                           e->lines);
}

static bool verify_entry(struct sourcecache_verify *verify, uint32_t index)
{
    const uint8_t *p =
        sourcecache_record(verify->sourcecache, SOURCECACHE_ENTRIES, index);
    struct sourcecache_entry e;
    unsigned at;

    (void)sourcecache_reader_entry(verify->sourcecache, index, &e);
    for (at = SOURCECACHE_ENTRY_NAME; at < SOURCECACHE_ENTRY; at += 8) {
        if (!is_string(verify, p + at, false)) {
            return integrity_fails(&verify->file,
                                   "file %u: a string is damaged", index);
        }
    }
    if (p[SOURCECACHE_ENTRY_TYPE] != e.type ||
        p[SOURCECACHE_ENTRY_STATUS] != e.status ||
        p[SOURCECACHE_ENTRY_HAS_ID] > 1 ||
        p[SOURCECACHE_ENTRY_HAS_ID + 1] != 0) {
        return integrity_fails(
            &verify->file,
            "file %u: a value is unknown, or the text is outside", index);
    }
    return true;
}

static bool verify_texts(const struct sourcecache_verify *verify)
{
    struct sourcecache_entry e;
    uint64_t all = 0;
    uint32_t i;

    for (i = 0; i < verify->sourcecache->count[SOURCECACHE_ENTRIES]; i++) {
        (void)sourcecache_reader_entry(verify->sourcecache, i, &e);
        all += e.text.size;
        if (all >
            verify->sourcecache->size) { /* so that this takes no more time */
            return integrity_fails(
                &verify->file, "file %u: its text is also that of another", i);
        }
        if (e.status == SOURCECACHE_TEXT && !verify_text(verify, i, &e)) {
            return false;
        }
    }
    return true;
}

static bool verify_keys(const struct sourcecache_verify *verify,
                        enum sourcecache_part part)
{
    struct symc_string key, last = {"", 0};
    const uint8_t *p;
    uint32_t i;

    for (i = 0; i < verify->sourcecache->count[part]; i++) {
        p = sourcecache_record(verify->sourcecache, part, i);
        if (!is_string(verify, p, true) ||
            le32(p + 8) >= verify->sourcecache->count[SOURCECACHE_ENTRIES]) {
            return integrity_fails(&verify->file,
                                   "key %u: it is damaged, or of no file", i);
        }
        key = sourcecache_string(verify->sourcecache, p);
        if (byte_compare(last.data, last.size, key.data, key.size) >= 0) {
            return integrity_fails(&verify->file,
                                   "key %u: the keys do not ascend", i);
        }
        last = key;
    }
    return true;
}

static bool verify_ids(const struct sourcecache_verify *verify)
{
    const uint8_t *p, *last = NULL;
    uint32_t i, k;
    int order;

    for (i = 0; i < verify->sourcecache->count[SOURCECACHE_IDS];
         i++, last = p) {
        p = sourcecache_record(verify->sourcecache, SOURCECACHE_IDS, i);
        if (le32(p + 20) >= SOURCECACHE_TYPES ||
            le32(p + 24) >= verify->sourcecache->count[SOURCECACHE_ENTRIES]) {
            return integrity_fails(&verify->file,
                                   "id %u: of no file, or of no type", i);
        }
        order = last == NULL ? -1 : memcmp(last, p, 16);
        for (k = 16; order == 0 && k < 24; k += 4) {
            order = le32(last + k) < le32(p + k) ? -1
                                                 : le32(last + k) > le32(p + k);
        }
        if (order >= 0) {
            return integrity_fails(&verify->file,
                                   "id %u: the ids do not ascend", i);
        }
    }
    return true;
}

static bool verify_pairs(const struct sourcecache_verify *verify)
{
    const uint8_t *p;
    uint32_t i;

    if (verify->sourcecache->count[SOURCECACHE_LINKS] >
        SOURCECACHE_LINKS_MAX) {
        return integrity_fails(&verify->file, "more than %d links",
                               SOURCECACHE_LINKS_MAX);
    }
    for (i = 0; i < verify->sourcecache->count[SOURCECACHE_LINKS]; i++) {
        p = sourcecache_record(verify->sourcecache, SOURCECACHE_LINKS, i);
        if (!is_string(verify, p, true) || !is_string(verify, p + 8, false) ||
            le32(p + 16) > 1) {
            return integrity_fails(&verify->file, "link %u is damaged", i);
        }
    }
    for (i = 0; i < verify->sourcecache->count[SOURCECACHE_ATTRIBUTES]; i++) {
        p = sourcecache_record(verify->sourcecache, SOURCECACHE_ATTRIBUTES, i);
        if (!is_string(verify, p, false) || !is_string(verify, p + 8, false)) {
            return integrity_fails(&verify->file, "attribute %u is damaged",
                                   i);
        }
    }
    return true;
}

enum symc_verify_status
sourcecache_verify(const struct sourcecache_reader *sourcecache, char *error,
                   size_t error_size)
{
    struct sourcecache_verify verify = {
        .sourcecache = sourcecache,
        .file = {.data = sourcecache->data,
                 .error = error,
                 .error_size = error_size},
    };
    uint32_t i;

    if (le32(sourcecache->data + SOURCECACHE_AT_RESERVED) != 0 ||
        (sourcecache->flags & ~(SOURCECACHE_SLASHES | SOURCECACHE_FOLDS)) !=
            0 ||
        le32(sourcecache->data + sourcecache->size - SOURCECACHE_TRAILER +
             SOURCECACHE_AT_ZERO) != 0) {
        (void)integrity_fails(&verify.file, "reserved bytes are not zero");
        return SYMC_VIOLATED;
    }
    for (i = 0; i < sourcecache->count[SOURCECACHE_ENTRIES]; i++) {
        if (!verify_entry(&verify, i)) {
            return SYMC_VIOLATED;
        }
    }
    return verify_texts(&verify) && verify_keys(&verify, SOURCECACHE_PATHS) &&
                   verify_keys(&verify, SOURCECACHE_URLS) &&
                   verify_ids(&verify) && verify_pairs(&verify)
               ? SYMC_SOUND
               : SYMC_VIOLATED;
}
