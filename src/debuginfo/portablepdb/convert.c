/*
 * Copyright (C) the ngx_symcache authors
 *
 * What makes a file unusable is as in the "symbolic" library, unless it is
 * asked to be lenient: a document of no language, 65,535 rows in a table,
 * source links that are no JSON, and names that are not UTF-8 then do not cost
 * the lines of all methods.
 */
#include "portablepdb.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "debuginfo/supplement.h"
#include "documents.h"
#include "embedded.h"
#include "identity.h"
#include "sequence_points.h"
#include "derived/ppdbcache/ppdbcache.h"
#include "sources.h"

#define WORK_BASE 1000

/* Bytes of names for each byte of a file; parts of names are shared, so names
 * can be longer than the file. */
#define NAME_WORK 16

#define NO_FILE UINT32_MAX

struct portablepdb_convert {
    struct metadata_root root;
    struct metadata_tables tables;
    struct ppdbcache_writer writer;
    struct document_name name;
    uint32_t *files; /* by row of a document - 1: index, or NO_FILE */
    uint64_t work;   /* records of sequence points that may still be read */
    bool is_strict;
    struct failure *failure;
};

static int damaged_method(struct portablepdb_convert *c, uint32_t method,
                          const char *what)
{
    return failure_set(c->failure, FAILURE_DAMAGED,
                       "is damaged: method 0x%08x: %s",
                       (unsigned)(0x06000000u + method), what);
}

/* Reads a document, and gives it to the writer. */
static int add_document(struct portablepdb_convert *c, uint32_t method,
                        uint32_t row)
{
    uint32_t language;
    const char *wrong = document_name_read(&c->root, &c->tables, row,
                                           c->is_strict, &c->name);

    if (wrong == DOCUMENT_WORK) {
        return failure_work(c->failure);
    }
    if (wrong != NULL) {
        return damaged_method(c, method, wrong);
    }
    if (!document_language(&c->root, &c->tables, row, &language) &&
        c->is_strict) {
        return damaged_method(c, method, "a document has no language");
    }
    return failure_writer(
        c->failure,
        ppdbcache_writer_file(&c->writer, c->name.data, c->name.size, language,
                              &c->files[row - 1]));
}

static int add_point(struct portablepdb_convert *c, uint32_t method,
                     const struct sequence_point *from)
{
    uint32_t row = from->document;
    struct ppdbcache_point point = {method, from->il, from->line, 0};

    if (row == 0 || row > c->tables.tables[TABLE_DOCUMENT].rows ||
        c->files[row - 1] == NO_FILE) {
        if (add_document(c, method, row) != 0) {
            return -1;
        }
    }
    point.file = c->files[row - 1];
    return failure_writer(c->failure,
                          ppdbcache_writer_point(&c->writer, &point));
}

static int add_method(struct portablepdb_convert *c, uint32_t method)
{
    int rc;
    struct sequence_points points;

    sequence_points_begin(&points, &c->root, &c->tables, method);
    while ((rc = sequence_points_next(&points)) > 0) {
        if (c->work-- == 0) {
            return failure_work(c->failure);
        }
        if (rc == 1 && !points.point.is_hidden &&
            add_point(c, method, &points.point) != 0) {
            return -1;
        }
    }
    return rc == 0 ? 0 : damaged_method(c, method, points.wrong);
}

static int check_source_links(struct portablepdb_convert *c)
{
    int rc;
    struct source_links links = {0};

    rc = source_links_read(&links, &c->root, &c->tables, c->failure);
    source_links_free(&links);
    return rc;
}

static int read_file(struct portablepdb_convert *c, size_t size)
{
    uint32_t row, documents;

    if (metadata_tables_open(&c->tables, &c->root, c->is_strict, c->failure) !=
            0 ||
        (c->is_strict && check_source_links(c) != 0)) {
        return -1;
    }
    documents = c->tables.tables[TABLE_DOCUMENT].rows;
    c->files = malloc(((size_t)documents + 1) * sizeof(*c->files));
    if (c->files == NULL) {
        return failure_memory(c->failure);
    }
    memset(c->files, 0xFF, (size_t)documents * sizeof(*c->files));
    c->work = WORK_BASE + size;
    c->name.work = WORK_BASE + size * NAME_WORK;
    for (row = 1; row <= c->tables.tables[TABLE_METHOD].rows; row++) {
        if (add_method(c, row) != 0) {
            return -1;
        }
    }
    return 0;
}

static int finish_ppdbcache(struct portablepdb_convert *c,
                            const struct symc_sink *sink,
                            struct debuginfo_result *result)
{
    struct ppdbcache_identity identity;

    if (c->root.id == NULL) {
        return failure_writer(
            c->failure, ppdbcache_writer_finish(&c->writer, NULL, sink));
    }
    le_guid(identity.guid, c->root.id);
    identity.stamp = le32(c->root.id + 16);
    memcpy(result->guid, identity.guid, sizeof(result->guid));
    result->age = PORTABLEPDB_AGE;
    return failure_writer(
        c->failure, ppdbcache_writer_finish(&c->writer, &identity, sink));
}

static int convert(const uint8_t *data, size_t size,
                   const struct symc_sink *sink,
                   struct debuginfo_result *result, struct failure *failure)
{
    int rc;
    struct portablepdb_convert c = {.is_strict = supplement_get()->is_strict,
                                    .failure = failure};

    rc = metadata_root_open(&c.root, data, size, failure) == 0 &&
                 read_file(&c, size) == 0
             ? finish_ppdbcache(&c, sink, result)
             : -1;
    ppdbcache_writer_free(&c.writer);
    free(c.name.data);
    free(c.files);
    return rc;
}

static int convert_embedded(const uint8_t *data, size_t size,
                            const struct symc_sink *sink,
                            struct debuginfo_result *result,
                            struct failure *failure)
{
    int rc;
    uint8_t *pdb;
    size_t pdb_size;

    if (embedded_pdb_unpack(data, size, &pdb, &pdb_size, failure) != 0) {
        return -1;
    }
    rc = convert(pdb, pdb_size, sink, result, failure);
    free(pdb);
    return rc;
}

static const struct debuginfo_maker portablepdb_makes[] = {
    {.output = SYMCACHE_KIND_PPDBCACHE, .convert = convert},
    {.output = SYMCACHE_KIND_SOURCECACHE,
     .convert = portablepdb_convert_sources},
};

const struct debuginfo_format portablepdb_format = {
    .sniff = portablepdb_sniff,
    .makes = portablepdb_makes,
    .num_makes = sizeof(portablepdb_makes) / sizeof(portablepdb_makes[0]),
};

static const struct debuginfo_maker embedded_pdb_makes[] = {
    {.output = SYMCACHE_KIND_PPDBCACHE, .convert = convert_embedded},
};

const struct debuginfo_format embedded_pdb_format = {
    .sniff = embedded_pdb_sniff,
    .makes = embedded_pdb_makes,
    .num_makes = sizeof(embedded_pdb_makes) / sizeof(embedded_pdb_makes[0]),
};
