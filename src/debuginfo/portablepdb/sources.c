/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sources.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/byte_compare.h"
#include "base/le.h"
#include "base/utf8.h"
#include "derived/sourcecache/sourcecache.h"
#include "documents.h"
#include "embedded_sources.h"
#include "identity.h"

#define WORK_BASE 1000
#define NAME_WORK 16 /* bytes of names for each byte of a file */
#define TEXTS_MAX ((uint64_t)1 << 30) /* bytes of all texts */

struct sources {
    struct metadata_root root;
    struct metadata_tables tables;
    struct sourcecache_writer writer;
    struct source_links links;
    struct document_name name;
    char *text; /* work space for repairing UTF-8 */
    size_t room;
    uint32_t count; /* files so far */
    uint64_t left;  /* bytes of texts that may still be written */
    struct failure *failure;
};

bool portablepdb_has_sources(const struct metadata_root *root)
{
    struct metadata_tables tables;
    struct custom_rows rows;
    struct embedded_source source;
    struct source_links links = {0};
    struct failure failure = {FAILURE_NONE, ""};
    bool has;

    if (metadata_tables_open(&tables, root, false, &failure) != 0) {
        return false;
    }
    embedded_sources_begin(&rows, root, &tables);
    if (embedded_sources_next(&rows, &tables, &source)) {
        return true;
    }
    (void)source_links_read(&links, root, &tables, &failure);
    has = links.count > 0;
    source_links_free(&links);
    return has;
}

static int portable_status(struct sources *s, enum symc_status status)
{
    return failure_writer(s->failure, status);
}

/* Sorts by JSON text, and within one text by the bytes of the pattern: of
 * links that fit equally well, the writer keeps the last one. */
static int compare_links(const void *a, const void *b)
{
    const struct source_link *x = a, *y = b;
    int order = x->text != y->text
                    ? (x->text < y->text ? -1 : 1)
                    : byte_compare(x->pattern.data, x->pattern.size,
                                   y->pattern.data, y->pattern.size);

    return order != 0 ? order : x->pattern.data < y->pattern.data ? -1 : 1;
}

/* Bad links are no links, and cost no texts. */
static int add_links(struct sources *s)
{
    struct failure failure = {FAILURE_NONE, ""};
    const struct source_link *link;
    size_t i;
    int rc = 0;

    if (source_links_read(&s->links, &s->root, &s->tables, &failure) != 0) {
        return 0;
    }
    if (s->links.count > SOURCECACHE_LINKS_MAX) {
        return failure_set(s->failure, FAILURE_LIMIT,
                           "has more than %d source links",
                           SOURCECACHE_LINKS_MAX);
    }
    if (s->links.count > 1) {
        qsort(s->links.links, s->links.count, sizeof(*s->links.links),
              compare_links);
    }
    for (i = 0; i < s->links.count && rc == 0; i++) {
        link = &s->links.links[i];
        rc = portable_status(s, sourcecache_writer_link(
                                    &s->writer, &link->pattern, &link->url));
    }
    return rc;
}

/* Writes a text with U+FFFD for what is not UTF-8. */
static int add_text(struct sources *s, uint32_t file, const uint8_t *text,
                    size_t size)
{
    size_t at = 0, n = 0;
    uint32_t c;
    int bytes;

    if (utf8_valid(text, size) == size) {
        return portable_status(s, sourcecache_writer_text(&s->writer, file,
                                                          (const char *)text,
                                                          size));
    }
    while (at < size) {
        if (array_need(&s->text, &s->room, n + 4, 1) != 0) {
            return failure_memory(s->failure);
        }
        bytes = utf8_decode(text + at, size - at, &c);
        n += utf8_encode(s->text + n, c);
        at += (size_t)(bytes < 0 ? -bytes : bytes);
    }
    if (n > SOURCECACHE_TEXT_MAX) {
        sourcecache_writer_status(&s->writer, file, SOURCECACHE_TOO_LARGE);
        return 0;
    }
    return portable_status(
        s, sourcecache_writer_text(&s->writer, file, s->text, n));
}

static int add_source(struct sources *s, const struct embedded_source *source)
{
    struct sourcecache_file file = {.type = SOURCECACHE_SOURCE};
    size_t most = s->left < SOURCECACHE_TEXT_MAX ? (size_t)s->left
                                                 : SOURCECACHE_TEXT_MAX;
    uint8_t *text;
    const char *what =
        document_name_read(&s->root, &s->tables, source->document, false,
                           &s->name);
    int rc;

    if (what == DOCUMENT_WORK) {
        return failure_work(s->failure);
    }
    if (what != NULL || s->name.size > UINT32_MAX) {
        return 0;
    }
    file.path.data = s->name.data;
    file.path.size = (uint32_t)s->name.size;
    if (portable_status(s, sourcecache_writer_file(&s->writer, &file)) != 0) {
        return -1;
    }
    switch (embedded_source_text(source, most, &text)) {
    case INFLATE_OK:
        s->left -= source->unpacked;
        rc = add_text(s, s->count, text, source->unpacked);
        break;
    case INFLATE_NO_MEMORY:
        rc = failure_memory(s->failure);
        break;
    default:
        sourcecache_writer_status(&s->writer, s->count,
                                  source->unpacked > most
                                      ? SOURCECACHE_TOO_LARGE
                                      : SOURCECACHE_DAMAGED);
        rc = 0;
        break;
    }
    free(text);
    s->count++;
    return rc;
}

static int write_portablepdb_sources(struct sources *s,
                                     const struct symc_sink *sink)
{
    struct sourcecache_identity identity = {{0}, 0};
    struct custom_rows rows;
    struct embedded_source source;

    if (s->root.id != NULL) {
        le_guid(identity.guid, s->root.id);
        identity.age = PORTABLEPDB_AGE;
    }
    if (portable_status(s, sourcecache_writer_begin(&s->writer, &identity, 0,
                                                    sink)) != 0 ||
        add_links(s) != 0) {
        return -1;
    }
    embedded_sources_begin(&rows, &s->root, &s->tables);
    while (embedded_sources_next(&rows, &s->tables, &source)) {
        if (add_source(s, &source) != 0) {
            return -1;
        }
    }
    return portable_status(s, sourcecache_writer_finish(&s->writer));
}

int portablepdb_convert_sources(const uint8_t *data, size_t size,
                                const struct symc_sink *sink,
                                struct debuginfo_result *result,
                                struct failure *failure)
{
    struct sources s = {.left = TEXTS_MAX, .failure = failure};
    int rc;

    s.name.work = WORK_BASE + size * NAME_WORK;
    rc = metadata_root_open(&s.root, data, size, failure) == 0 &&
                 metadata_tables_open(&s.tables, &s.root, false, failure) == 0
             ? write_portablepdb_sources(&s, sink)
             : -1;
    if (rc == 0 && s.root.id != NULL) {
        le_guid(result->guid, s.root.id);
        result->age = PORTABLEPDB_AGE;
    }
    sourcecache_writer_free(&s.writer);
    source_links_free(&s.links);
    free(s.name.data);
    free(s.text);
    return rc;
}
