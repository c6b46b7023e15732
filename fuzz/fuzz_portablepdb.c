/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a portable PDB, whose first four bytes are always right.  What
 * is written must be sound, and what is taken strictly must be taken leniently,
 * too, with the same result.
 */
#include <stdlib.h>
#include <string.h>

#include "debuginfo/portablepdb/embedded_sources.h"
#include "debuginfo/portablepdb/portablepdb.h"
#include "debuginfo/portablepdb/root.h"
#include "debuginfo/supplement.h"
#include "derived/ppdbcache/ppdbcache.h"

#define ROOM 0x10000
#define OUTPUT_ROOM (8 << 20)

struct written {
    uint8_t *data;
    size_t size;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int keep(void *context, const void *data, size_t size)
{
    struct written *w = context;

    if (size > OUTPUT_ROOM - w->size) {
        return -1;
    }
    if (size > 0) {
        memcpy(w->data + w->size, data, size);
    }
    w->size += size;
    return 0;
}

static void check_output(const struct written *w)
{
    uint32_t i;
    char error[200] = "";
    uint64_t range;
    struct ppdbcache_reader reader;
    struct ppdbcache_place place;

    if (ppdbcache_reader_open(&reader, w->data, w->size, error,
                              sizeof(error)) != SYMC_OPENED ||
        ppdbcache_verify(&reader, error, sizeof(error)) != SYMC_SOUND) {
        abort();
    }
    for (i = 0; i < reader.num_ranges && i < 32; i++) {
        range = ppdbcache_reader_range(&reader, i);
        if (!ppdbcache_reader_lookup(&reader, (uint32_t)(range >> 32),
                                     (uint32_t)range, &place)) {
            abort();
        }
    }
}

static int convert(bool is_strict, const uint8_t *data, size_t size,
                   struct written *w)
{
    const struct supplement supplement = {.is_strict = is_strict};
    struct failure failure = {FAILURE_NONE, ""};
    struct debuginfo_result result = {0};
    struct symc_sink sink = {keep, w};

    if (w->data == NULL) {
        w->data = malloc(OUTPUT_ROOM);
    }
    if (w->data == NULL) {
        abort();
    }
    w->size = 0;
    supplement_set(&supplement);
    if (portablepdb_format.makes->convert(data, size, &sink, &result,
                                          &failure) == 0) {
        check_output(w);
        return 0;
    }
    if (failure.text[0] == '\0' || failure.code == FAILURE_NONE) {
        abort();
    }
    return -1;
}

/* In tables of 65,535 rows both find other bytes. */
static int has_wide_rows(const struct metadata_root *root)
{
    unsigned i;

    for (i = 0; i < METADATA_TABLES && root->rows[i] != 0xFFFF; i++) {
    }
    return i < METADATA_TABLES;
}

static void read_sources(const struct metadata_root *root)
{
    uint8_t *text;
    struct metadata_tables tables;
    struct custom_rows rows;
    struct embedded_source source;
    struct failure failure = {FAILURE_NONE, ""};

    if (metadata_tables_open(&tables, root, true, &failure) != 0) {
        return;
    }
    embedded_sources_begin(&rows, root, &tables);
    while (embedded_sources_next(&rows, &tables, &source)) {
        if (embedded_source_text(&source, ROOM, &text) == INFLATE_OK) {
            free(text);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int rc;
    static uint8_t file[ROOM];
    static struct written strict, lenient;
    struct metadata_root root;
    struct failure failure = {FAILURE_NONE, ""};

    if (size < 4 || size > ROOM) {
        return 0;
    }
    memcpy(file, data, size);
    memcpy(file, "BSJB", 4);
    rc = convert(true, file, size, &strict);
    if (metadata_root_open(&root, file, size, &failure) != 0) {
        return 0;
    }
    read_sources(&root);
    if ((convert(false, file, size, &lenient) != 0 ||
         lenient.size != strict.size ||
         memcmp(lenient.data, strict.data, strict.size) != 0) &&
        rc == 0 && !has_wide_rows(&root)) {
        abort();
    }
    return 0;
}
