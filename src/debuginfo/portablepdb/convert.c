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

static int damaged_method(struct portablepdb_convert *convert, uint32_t method,
                          const char *what)
{
    return failure_set(convert->failure, FAILURE_DAMAGED,
                       "is damaged: method 0x%08x: %s",
                       (unsigned)(0x06000000u + method), what);
}

/* Reads a document, and gives it to the writer. */
static int add_document(struct portablepdb_convert *convert, uint32_t method,
                        uint32_t row)
{
    uint32_t language;
    const char *wrong =
        document_name_read(&convert->root, &convert->tables, row,
                           convert->is_strict, &convert->name);

    if (wrong == DOCUMENT_WORK) {
        return failure_work(convert->failure);
    }
    if (wrong != NULL) {
        return damaged_method(convert, method, wrong);
    }
    if (!document_language(&convert->root, &convert->tables, row, &language) &&
        convert->is_strict) {
        return damaged_method(convert, method, "a document has no language");
    }
    return failure_writer(convert->failure,
                          ppdbcache_writer_file(&convert->writer,
                                                convert->name.data,
                                                convert->name.size, language,
                                                &convert->files[row - 1]));
}

static int add_point(struct portablepdb_convert *convert, uint32_t method,
                     const struct sequence_point *from)
{
    uint32_t row = from->document;
    struct ppdbcache_point point = {method, from->il, from->line, 0};

    if (row == 0 || row > convert->tables.tables[TABLE_DOCUMENT].rows ||
        convert->files[row - 1] == NO_FILE) {
        if (add_document(convert, method, row) != 0) {
            return -1;
        }
    }
    point.file = convert->files[row - 1];
    return failure_writer(convert->failure,
                          ppdbcache_writer_point(&convert->writer, &point));
}

static int add_method(struct portablepdb_convert *convert, uint32_t method)
{
    int rc;
    struct sequence_points points;

    sequence_points_begin(&points, &convert->root, &convert->tables, method);
    while ((rc = sequence_points_next(&points)) > 0) {
        if (convert->work-- == 0) {
            return failure_work(convert->failure);
        }
        if (rc == 1 && !points.point.is_hidden &&
            add_point(convert, method, &points.point) != 0) {
            return -1;
        }
    }
    return rc == 0 ? 0 : damaged_method(convert, method, points.wrong);
}

static int check_source_links(struct portablepdb_convert *convert)
{
    int rc;
    struct source_links links = {0};

    rc = source_links_read(&links, &convert->root, &convert->tables,
                           convert->failure);
    source_links_free(&links);
    return rc;
}

static int read_file(struct portablepdb_convert *convert, size_t size)
{
    uint32_t row, documents;

    if (metadata_tables_open(&convert->tables, &convert->root,
                             convert->is_strict, convert->failure) != 0 ||
        (convert->is_strict && check_source_links(convert) != 0)) {
        return -1;
    }
    documents = convert->tables.tables[TABLE_DOCUMENT].rows;
    convert->files = malloc(((size_t)documents + 1) * sizeof(*convert->files));
    if (convert->files == NULL) {
        return failure_memory(convert->failure);
    }
    memset(convert->files, 0xFF, (size_t)documents * sizeof(*convert->files));
    convert->work = WORK_BASE + size;
    convert->name.work = WORK_BASE + size * NAME_WORK;
    for (row = 1; row <= convert->tables.tables[TABLE_METHOD].rows; row++) {
        if (add_method(convert, row) != 0) {
            return -1;
        }
    }
    return 0;
}

static int finish_ppdbcache(struct portablepdb_convert *convert,
                            const struct symc_sink *sink,
                            struct debuginfo_result *result)
{
    struct ppdbcache_identity identity;

    if (convert->root.id == NULL) {
        return failure_writer(
            convert->failure,
            ppdbcache_writer_finish(&convert->writer, NULL, sink));
    }
    le_guid(identity.guid, convert->root.id);
    identity.stamp = le32(convert->root.id + 16);
    memcpy(result->guid, identity.guid, sizeof(result->guid));
    result->age = PORTABLEPDB_AGE;
    return failure_writer(
        convert->failure,
        ppdbcache_writer_finish(&convert->writer, &identity, sink));
}

static int convert_portablepdb(const uint8_t *data, size_t size,
                               const struct symc_sink *sink,
                               struct debuginfo_result *result,
                               struct failure *failure)
{
    int rc;
    struct portablepdb_convert convert = {
        .is_strict = supplement_get()->is_strict, .failure = failure};

    rc = metadata_root_open(&convert.root, data, size, failure) == 0 &&
                 read_file(&convert, size) == 0
             ? finish_ppdbcache(&convert, sink, result)
             : -1;
    ppdbcache_writer_free(&convert.writer);
    free(convert.name.data);
    free(convert.files);
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
    rc = convert_portablepdb(pdb, pdb_size, sink, result, failure);
    free(pdb);
    return rc;
}

static const struct debuginfo_maker portablepdb_makes[] = {
    {.output = SYMCACHE_KIND_PPDBCACHE, .convert = convert_portablepdb},
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
