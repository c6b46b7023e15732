/*
 * Copyright (C) the ngx_symcache authors
 *
 * Lookups in PpdbCaches against what the .NET runtime itself found for frames
 * of thrown exceptions (t/data/ppdb/README.md); what verification finds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json/json.h"
#include "derived/ppdbcache/ppdbcache.h"

#define ROOM (1 << 20)

static uint8_t *load(const char *name, size_t *size)
{
    FILE *f;
    char path[300];
    uint8_t *data;

    snprintf(path, sizeof(path), "t/data/ppdb/%s", name);
    f = fopen(path, "rb");
    assert_non_null(f);
    data = malloc(ROOM);
    assert_non_null(data);
    *size = fread(data, 1, ROOM - 1, f);
    data[*size] = '\0';
    fclose(f);
    return data;
}

/* Looks one frame up, and compares it with a line of the runtime's. */
static void check_frame(const struct ppdbcache_reader *reader, char *line)
{
    bool found;
    uint64_t il = 0, number = 0;
    unsigned long token;
    struct json json = {0};
    struct json_error error;
    struct ppdbcache_place place;
    uint32_t file;

    assert_int_not_equal(json_read(&json, line, strlen(line), 64, &error), 0);
    token = strtoul(json_text(&json, json_member(&json, 0, "token")), NULL,
                    16);
    json_integer(&json, json_member(&json, 0, "il"), &il);
    file = json_member(&json, 0, "file");
    found = ppdbcache_reader_lookup(reader, token & 0xFFFFFF, (uint32_t)il,
                                    &place);
    assert_int_equal(found, json.values[file].type == JSON_STRING);
    if (found) {
        json_integer(&json, json_member(&json, 0, "line"), &number);
        assert_int_equal(place.line, number);
        assert_int_equal(place.file.size, json.values[file].size);
        assert_memory_equal(place.file.data, json_text(&json, file),
                            place.file.size);
        assert_string_equal(symc_language_name(place.language), "csharp");
    }
    assert_false(ppdbcache_reader_lookup(reader, (uint32_t)token, (uint32_t)il,
                                         &place)); /* a row is no token */
    json_free(&json);
}

static void test_frames(void **state)
{
    size_t i, size;
    unsigned count;
    char name[100], error[200], *lines, *line, *at;
    uint8_t *data;
    struct ppdbcache_reader reader;
    static const char *const programs[] = {"weave", "weave-debug"};

    (void)state;
    for (i = 0; i < 2; i++) {
        snprintf(name, sizeof(name), "%s.ppdbc", programs[i]);
        data = load(name, &size);
        assert_int_equal(
            ppdbcache_reader_open(&reader, data, size, error, sizeof(error)),
            SYMC_OPENED);
        snprintf(name, sizeof(name), "%s.frames.jsonl", programs[i]);
        lines = (char *)load(name, &size);
        count = 0;
        for (at = lines; (line = strsep(&at, "\n")) != NULL && *line != '\0';
             count++) {
            check_frame(&reader, line);
        }
        assert_int_equal(count, 55);
        free(lines);
        free(data);
    }
}

/* The answer of verification for a file that was changed. */
static enum symc_verify_status verify(const uint8_t *data, size_t size,
                                      char error[200])
{
    struct ppdbcache_reader reader;
    enum symc_verify_status status;
    uint8_t *copy = malloc(size + 1); /* of its own, for the sanitizers */

    assert_non_null(copy);
    memcpy(copy + 1, data, size);
    error[0] = '\0';
    status = ppdbcache_reader_open(&reader, copy + 1, size, error, 200) ==
                     SYMC_OPENED
                 ? ppdbcache_verify(&reader, error, 200)
                 : SYMC_VIOLATED;
    free(copy);
    return status;
}

static void test_verify(void **state)
{
    size_t i, size;
    char error[200];
    uint8_t *data, kept;
    static const struct {
        size_t at; /* of a byte */
        uint8_t value;
        const char *says;
    } cases[] = {
        {0, 'X', "not a PpdbCache"},
        {4, 2, "version 2"},
        {28, 1, "not zero"},
        {40, 200, "truncated"},
        {52, 1, "not zero"},
        {72, 1, "no string begins"},
        {84, 9, "file 9 does not exist"},
        {112, 9, "not after"},
        {128, 0x7F, "string"},
    };

    (void)state;
    data = load("craft/usual.ppdbc", &size);
    assert_int_equal(size, 138); /* a file, three ranges, a string */
    assert_int_equal(verify(data, size, error), SYMC_SOUND);
    for (i = 0; i < size; i++) {
        assert_int_equal(verify(data, i, error), SYMC_VIOLATED);
        assert_string_not_equal(error, "");
    }
    assert_int_equal(verify(data, size + 1, error), SYMC_VIOLATED);
    assert_non_null(strstr(error, "1 bytes after the strings"));
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        kept = data[cases[i].at];
        data[cases[i].at] = cases[i].value;
        assert_int_equal(verify(data, size, error), SYMC_VIOLATED);
        assert_non_null(strstr(error, cases[i].says));
        data[cases[i].at] = kept;
    }
    free(data);
}

static int take(void *context, const void *data, size_t size)
{
    struct symc_text *out = context;
    char *grown = realloc((char *)(uintptr_t)out->data, out->size + size + 1);

    assert_non_null(grown);
    memcpy(grown + out->size, data, size);
    out->data = grown;
    out->size += (uint32_t)size;
    return 0;
}

/* Points in any order: they are sorted, and of equal ones the last counts. */
static void test_unsorted(void **state)
{
    size_t i;
    char error[200];
    uint32_t file;
    struct symc_text out = {NULL, 0};
    struct symc_sink sink = {take, &out};
    struct ppdbcache_writer writer = {0};
    struct ppdbcache_reader reader;
    struct ppdbcache_place place;
    static const struct ppdbcache_point points[] = {
        {2, 5, 50, 0}, {1, 9, 40, 0}, {1, 0, 10, 0}, {2, 5, 51, 0},
        {1, 9, 41, 0}, {1, 9, 42, 0},
    };

    (void)state;
    ppdbcache_writer_file(&writer, "a.cs", 4, 9, &file);
    for (i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        ppdbcache_writer_point(&writer, &points[i]);
    }
    assert_int_equal(ppdbcache_writer_finish(&writer, NULL, &sink), SYMC_OK);
    assert_int_equal(ppdbcache_reader_open(&reader, out.data, out.size, error,
                                           sizeof(error)),
                     SYMC_OPENED);
    assert_int_equal(reader.num_ranges, 3);
    assert_int_equal(ppdbcache_verify(&reader, error, sizeof(error)),
                     SYMC_SOUND);
    assert_true(ppdbcache_reader_lookup(&reader, 1, 8, &place));
    assert_int_equal(place.line, 10);
    assert_true(ppdbcache_reader_lookup(&reader, 1, 9, &place));
    assert_int_equal(place.line, 42);
    assert_false(ppdbcache_reader_lookup(&reader, 2, 4, &place));
    assert_true(ppdbcache_reader_lookup(&reader, 2, UINT32_MAX, &place));
    assert_int_equal(place.line, 51);
    assert_false(ppdbcache_reader_lookup(&reader, 3, 0, &place));
    ppdbcache_writer_free(&writer);
    free((char *)(uintptr_t)out.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_verify),
        cmocka_unit_test(test_unsorted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
