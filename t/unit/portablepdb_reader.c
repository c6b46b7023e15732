/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is read from portable PDBs, against System.Reflection.Metadata (every
 * sequence point) and the reference (source links, embedded sources); see
 * t/data/ppdb/README.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "debuginfo/portablepdb/documents.h"
#include "debuginfo/portablepdb/embedded_sources.h"
#include "debuginfo/portablepdb/sequence_points.h"
#include "debuginfo/portablepdb/sources.h"
#include "debuginfo/sourcelink/sourcelink.h"
#include "derived/sourcecache/sourcecache.h"
#include "json/json.h"

#define ROOM (1 << 20)
#define LINE_ROOM 1024

struct pdb {
    uint8_t *data;
    size_t size;
    struct metadata_root root;
    struct metadata_tables tables;
    struct document_name name;
};

static void open_pdb(struct pdb *pdb, const char *name)
{
    FILE *f;
    char path[300];
    struct failure failure = {FAILURE_NONE, ""};

    memset(pdb, 0, sizeof(*pdb));
    pdb->name.work = ROOM;
    snprintf(path, sizeof(path), "t/data/ppdb/%s.pdb", name);
    f = fopen(path, "rb");
    assert_non_null(f);
    pdb->data = malloc(ROOM);
    assert_non_null(pdb->data);
    pdb->size = fread(pdb->data, 1, ROOM, f);
    fclose(f);
    assert_int_equal(
        metadata_root_open(&pdb->root, pdb->data, pdb->size, &failure), 0);
    assert_int_equal(
        metadata_tables_open(&pdb->tables, &pdb->root, true, &failure), 0);
}

static void close_pdb(struct pdb *pdb)
{
    free(pdb->data);
    free(pdb->name.data);
}

static const char *document(struct pdb *pdb, uint32_t row)
{
    assert_null(document_name_read(&pdb->root, &pdb->tables, row, true,
                                   &pdb->name));
    pdb->name.data[pdb->name.size] = '\0';
    return pdb->name.data;
}

static uint64_t number(const struct json *json, const char *name)
{
    uint64_t n = 0;
    uint32_t at = json_member(json, 0, name);

    assert_int_not_equal(at, 0);
    assert_int_equal(json_integer(json, at, &n), JSON_INTEGER_POSITIVE);
    return n;
}

/* Compares one point with a line of the oracle's. */
static void check_point(struct pdb *pdb, uint32_t method,
                        const struct sequence_point *p, char *line)
{
    char token[16];
    struct json json = {0};
    struct json_error error;
    uint32_t hidden;

    assert_int_not_equal(json_read(&json, line, strlen(line), 64, &error), 0);
    snprintf(token, sizeof(token), "0x%08x", 0x06000000 + method);
    assert_true(json_is(&json, json_member(&json, 0, "token"), token));
    assert_int_equal(p->il, number(&json, "il"));
    assert_true(json_is(&json, json_member(&json, 0, "doc"),
                        document(pdb, p->document)));
    hidden = json_member(&json, 0, "hidden");
    assert_int_equal(p->is_hidden, json.values[hidden].type == JSON_TRUE);
    if (!p->is_hidden) {
        assert_int_equal(p->line, number(&json, "line"));
        assert_int_equal(p->column, number(&json, "col"));
        assert_int_equal(p->end_line, number(&json, "endline"));
        assert_int_equal(p->end_column, number(&json, "endcol"));
    }
    json_free(&json);
}

/* Compares all points with the oracle's, and returns their number. */
static unsigned check_points(const char *name)
{
    FILE *f;
    char path[300], line[LINE_ROOM];
    int rc;
    unsigned count = 0;
    uint32_t row;
    struct pdb pdb;
    struct sequence_points points;

    open_pdb(&pdb, name);
    snprintf(path, sizeof(path), "t/data/ppdb/%s.points.jsonl", name);
    f = fopen(path, "r");
    assert_non_null(f);
    for (row = 1; row <= pdb.tables.tables[TABLE_METHOD].rows; row++) {
        sequence_points_begin(&points, &pdb.root, &pdb.tables, row);
        while ((rc = sequence_points_next(&points)) > 0) {
            if (rc == 2) {
                continue;
            }
            assert_non_null(fgets(line, sizeof(line), f));
            check_point(&pdb, row, &points.point, line);
            pdb.name.work = ROOM;
            count++;
        }
        assert_int_equal(rc, 0);
    }
    assert_null(fgets(line, sizeof(line), f));
    fclose(f);
    close_pdb(&pdb);
    return count;
}

static void test_points(void **state)
{
    (void)state;
    assert_int_equal(check_points("plain"), 102);
    assert_int_equal(check_points("weave"), 233);
    assert_int_equal(check_points("weave-debug"), 324);
    assert_int_equal(check_points("parcel"), 131);
    assert_int_equal(check_points("vbnote"), 10);
    assert_int_equal(check_points("fsnote"), 133);
    assert_int_equal(check_points("overline"), 12);
    assert_int_equal(check_points("bare"), 0);
}

static int append(void *context, const void *data, size_t size)
{
    struct symc_string *file = context;
    char *p = realloc((char *)(uintptr_t)file->data, file->size + size);

    if (p == NULL) {
        return -1;
    }
    memcpy(p + file->size, data, size);
    file->data = p;
    file->size += size;
    return 0;
}

/* Checks where the links of a file lead from a path, by its SourceCache; NULL:
 * nowhere. */
static void check_link(const char *name, const char *path, const char *url)
{
    struct pdb pdb;
    struct symc_string cache = {NULL, 0};
    struct symc_sink sink = {append, &cache};
    struct sourcecache_reader reader;
    struct debuginfo_result result = {.output = SYMCACHE_KIND_SOURCECACHE};
    struct failure failure = {FAILURE_NONE, ""};
    char got[300], error[200];
    size_t size = 0;

    open_pdb(&pdb, name);
    if (portablepdb_convert_sources(pdb.data, pdb.size, &sink, &result,
                                    &failure) == 0) {
        assert_int_equal(sourcecache_reader_open(&reader, cache.data,
                                                 cache.size, error,
                                                 sizeof(error)),
                         SYMC_OPENED);
        size = sourcecache_link(&reader, path, strlen(path), got, sizeof(got));
    }
    assert_int_equal(size, url != NULL ? strlen(url) : 0);
    assert_memory_equal(got, url != NULL ? url : got, size);
    free((char *)(uintptr_t)cache.data);
    close_pdb(&pdb);
}

static void test_links(void **state)
{
    size_t i;
    static const struct {
        const char *name;
        const char *url; /* of /_/a/x.cs */
    } crafted[] = {
        {"guid-twice", "https://one.example/a/x.cs"},
        {"links-case", "https://lower.example/x.cs"},
        {"links-duplicate-key", "https://two.example/a/x.cs"},
        {"links-empty-prefix", "https://one.example/_/a/x.cs"},
        {"links-in-middle", NULL},
        {"links-no-star", "https://one.example/fixed"},
        {"links-not-module", NULL},
        {"links-other-member", "https://one.example/a/x.cs?a=a/x.cs"},
        {"links-two-rows", "https://one.example/exact"},
        {"usual", NULL},
    };
    char name[100];

    (void)state;
    for (i = 0; i < sizeof(crafted) / sizeof(crafted[0]); i++) {
        snprintf(name, sizeof(name), "craft/%s", crafted[i].name);
        check_link(name, "/_/a/x.cs", crafted[i].url);
    }
    check_link("parcel", "/_/parcel/Box.cs",
               "https://code.example/exact/Box.cs");
    check_link("parcel", "/_/parcel/stamps/Stamp.cs",
               "https://code.example/stamps/Stamp.cs?v=1");
    check_link("parcel", "/_/parcel/Tariff.cs",
               "https://code.example/raw/0123abcd/parcel/Tariff.cs");
}

/* JSON that has no links, each with the reason. */
static void test_wrong_links(void **state)
{
    size_t i;
    struct source_links links = {0};
    struct failure failure;
    static const struct {
        const char *json;
        const char *says;
    } cases[] = {
        {"", "source links"},
        {"7", "no object"},
        {"{}", "no \"documents\""},
        {"[]", "no object"},
        {"{\"documents\": []}", "is not an object"},
        {"{\"documents\": {}, \"documents\": {}}", "twice"},
        {"{\"documents\": {\"a\": null}}", "not a string"},
        {"{\"documents\": {}} x", "source links"},
        {"{\"documents\": {\"a\": \"\\ud800\"}}", "source links"},
    };

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(&failure, 0, sizeof(failure));
        assert_int_equal(source_links_add(&links, cases[i].json,
                                          strlen(cases[i].json), &failure),
                         -1);
        assert_int_equal(failure.code, FAILURE_DAMAGED);
        assert_non_null(strstr(failure.text, cases[i].says));
    }
    assert_int_equal(links.count, 0);
    memset(&failure, 0, sizeof(failure));
    assert_int_equal(source_links_add(&links, "[{\"a\": \"b\"}]", 12,
                                      &failure),
                     0); /* the reference takes this, too */
    assert_int_equal(links.count, 1);
    source_links_free(&links);
}

struct expected_source {
    const char *document;
    long size; /* -1: it cannot be unpacked */
};

/* Compares the embedded sources with the oracle's. */
static void check_sources(const char *name, size_t count,
                          const struct expected_source *expected)
{
    size_t i = 0;
    uint8_t *text;
    struct pdb pdb;
    struct custom_rows rows;
    struct embedded_source source;

    open_pdb(&pdb, name);
    embedded_sources_begin(&rows, &pdb.root, &pdb.tables);
    while (embedded_sources_next(&rows, &pdb.tables, &source)) {
        assert_true(i < count);
        assert_string_equal(document(&pdb, source.document),
                            expected[i].document);
        if (expected[i].size < 0) {
            assert_int_not_equal(embedded_source_text(&source, ROOM, &text),
                                 INFLATE_OK);
        } else {
            assert_int_equal(embedded_source_text(&source, ROOM, &text),
                             INFLATE_OK);
            assert_int_equal(source.unpacked, expected[i].size);
            free(text);
            assert_int_equal(embedded_source_text(&source, source.unpacked - 1,
                                                  &text),
                             INFLATE_SIZE);
        }
        i++;
    }
    assert_int_equal(i, count);
    close_pdb(&pdb);
}

static void test_sources(void **state)
{
    static const struct expected_source parcel[] = {
        {"/_/parcel/Box.cs", 257},
        {"/_/parcel/stamps/Stamp.cs", 298},
        {"/_/parcel/Tariff.cs", 13628},
        {"/_/parcel/obj/Release/net10.0/"
         ".NETCoreApp,Version=v10.0.AssemblyAttributes.cs",
         196},
        {"/_/parcel/obj/Release/net10.0/parcel.AssemblyInfo.cs", 931},
    };
    static const struct expected_source good = {"/_/a/x.cs", 580},
                                        bad = {"/_/a/x.cs", -1};

    (void)state;
    check_sources("parcel", 5, parcel);
    check_sources("craft/source-raw", 1, &good);
    check_sources("craft/source-deflated", 1, &good);
    check_sources("craft/source-bad-deflate", 1, &bad);
    check_sources("craft/source-size-large", 1, &bad);
    check_sources("craft/source-size-small", 1, &bad);
    check_sources("craft/source-negative", 0, NULL);
    check_sources("craft/source-short", 0, NULL);
    check_sources("craft/source-of-method", 0, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_wrong_links),
        cmocka_unit_test(test_sources),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
