/*
 * Copyright (C) the ngx_symcache authors
 *
 * Verification: the example is sound, and each row breaks one rule of the
 * format; the message names the place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "derived/symcache/format.h"
#include "derived/symcache/verify.h"
#include "symc_example.h"

#define LOCATION(i, field) (EXAMPLE_LOCATIONS + 16 * (i) + 4 * (field))
#define FUNCTION(i, field) (EXAMPLE_FUNCTIONS + 16 * (i) + 4 * (field))
#define FILE_FIELD(i, field) (EXAMPLE_FILES + 24 * (i) + 4 * (field))
#define RANGE(i) (EXAMPLE_RANGES + 4 * (i))

static char error[256];

/* Opens and verifies a copy of exactly size bytes. */
static enum symc_verify_status verify(const uint8_t *data, size_t size)
{
    uint8_t *copy;
    struct symc_reader reader;
    enum symc_verify_status status;

    copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, data, size);
    error[0] = '\0';
    assert_int_equal(
        symc_reader_open(&reader, copy, size, error, sizeof(error)),
        SYMC_OPENED);
    status = symc_verify(&reader, error, sizeof(error));
    assert_int_equal(reader.is_verified, status == SYMC_SOUND);
    free(copy);
    return status;
}

static void examples_are_sound(void **state)
{
    (void)state;
    assert_int_equal(verify(example_v7, sizeof(example_v7)), SYMC_SOUND);
    assert_int_equal(verify(example_v8, sizeof(example_v8)), SYMC_SOUND);
    assert_int_equal(verify(example_v9, sizeof(example_v9)), SYMC_SOUND);
}

static void source_server_fields_are_noted(void **state)
{
    uint8_t copy[sizeof(example_v9)];
    struct symc_reader reader;

    (void)state;
    memcpy(copy, example_v9, sizeof(copy));
    assert_int_equal(
        symc_reader_open(&reader, copy, sizeof(copy), error, sizeof(error)),
        SYMC_OPENED);
    assert_int_equal(symc_verify(&reader, error, sizeof(error)), SYMC_SOUND);
    assert_false(reader.has_srcsrv);
    le32_store(copy + FILE_FIELD(1, 3), 0x07);
    assert_int_equal(symc_verify(&reader, error, sizeof(error)), SYMC_SOUND);
    assert_true(reader.has_srcsrv);
    /* a file that is not sound has nothing to say */
    le32_store(copy + FILE_FIELD(1, 2), 0x08);
    assert_int_equal(symc_verify(&reader, error, sizeof(error)),
                     SYMC_VIOLATED);
    assert_false(reader.has_srcsrv);
}

/* The records of files of version 8 end before these fields. */
static void version_8_has_no_source_server_fields(void **state)
{
    struct symc_reader reader;

    (void)state;
    assert_int_equal(symc_reader_open(&reader, example_v8, sizeof(example_v8),
                                      error, sizeof(error)),
                     SYMC_OPENED);
    assert_int_equal(symc_verify(&reader, error, sizeof(error)), SYMC_SOUND);
    assert_false(reader.has_srcsrv);
}

static void trailing_bytes_and_variables_are_sound(void **state)
{
    uint8_t longer[sizeof(example_v9) + 16];

    (void)state;
    memset(longer, 0xEE, sizeof(longer));
    memcpy(longer, example_v9, sizeof(example_v9));
    assert_int_equal(verify(longer, sizeof(longer)), SYMC_SOUND);
    longer[SYMC_AT_VARIABLES] = 1;
    assert_int_equal(verify(longer, sizeof(longer)), SYMC_SOUND);
}

static void sound_variants(void **state)
{
    size_t i;
    uint8_t data[sizeof(example_v9)];
    static const struct {
        size_t offset;
        uint32_t value;
    } rows[] = {
        {SYMC_AT_ARCH, 12345},        /* unknown to us */
        {FUNCTION(0, 3), 99},         /* language, the same */
        {FUNCTION(0, 0), SYMC_NONE},  /* no name */
        {FUNCTION(0, 1), 0},          /* not used */
        {LOCATION(1, 0), SYMC_NONE},  /* no file */
        {LOCATION(1, 1), 0xFFFFFFFF}, /* line */
        {LOCATION(0, 3), 1},          /* inlined into a later one */
        {FILE_FIELD(0, 0), SYMC_NONE}, {FILE_FIELD(1, 5), 0x0B},
        {RANGE(4), 0xFFFFFFFF},        {RANGE(0), 0},
    };

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        memcpy(data, example_v9, sizeof(data));
        le32_store(data + rows[i].offset, rows[i].value);
        if (verify(data, sizeof(data)) != SYMC_SOUND) {
            fail_msg("row %zu: %s", i, error);
        }
    }
}

static void every_rule_is_checked(void **state)
{
    size_t i;
    uint8_t data[sizeof(example_v9)];
    static const struct {
        size_t offset;
        uint32_t value;
        const char *place;
    } rows[] = {
        /* header */
        {28, 1, "offset 0x1c: padding of the header"},
        {36, 0x00010000, "offset 0x26: padding of the header"},
        {36, 0x02000000, "offset 0x27: header: kind of identity 2"},
        {64, 2, "offset 0x40: header: 2 parts of variables"},
        {64, 0x100, "offset 0x41: reserved"},
        {76, 0x80000000, "offset 0x4f: reserved"},
        /* padding: behind the ranges */
        {RANGE(5), 1, "offset 0x124: padding after the ranges"},
        {RANGE(5), 0xFF000000, "offset 0x127: padding after the ranges"},
        /* strings: length, end, UTF-8 */
        {EXAMPLE_STRINGS + 32, 0x69617405,
         "offset 0x148: string 7: is longer than the string section"},
        {EXAMPLE_STRINGS + 32, 0x69617484,
         "offset 0x148: string 7: is longer than the string section"},
        {EXAMPLE_STRINGS + 32, 0xFFFFFFFF,
         "offset 0x148: string 7: is longer than the string section"},
        {EXAMPLE_STRINGS + 32, 0x69FF7404,
         "offset 0x148: string 7: is not UTF-8"},
        {EXAMPLE_STRINGS, 0x69616D25,
         "offset 0x128: string 0: is longer than the string section"},
        /* references to strings */
        {FILE_FIELD(0, 0), 0x25, "offset 0x50: file 0: compilation directory"},
        {FILE_FIELD(0, 1), 0x0C, "offset 0x54: file 0: directory"},
        {FILE_FIELD(0, 2), 0xFFFFFFFE, "offset 0x58: file 0: name"},
        {FILE_FIELD(1, 3), 1, "offset 0x74: file 1: source-server name"},
        {FILE_FIELD(1, 4), 2, "offset 0x78: file 1: source-server directory"},
        {FILE_FIELD(1, 5), 3, "offset 0x7c: file 1: source-server revision"},
        {FUNCTION(2, 0), 0x21, "offset 0xa0: function 2: name"},
        {FUNCTION(0, 0), 0x80000000, "offset 0x80: function 0: name"},
        /* indices of locations */
        {LOCATION(1, 0), 2, "offset 0xc0: source location 1: file 0x2"},
        {LOCATION(1, 0), 0xFFFFFFFE, "offset 0xc0: source location 1: file"},
        {LOCATION(2, 2), 3, "offset 0xd8: source location 2: function 0x3"},
        {LOCATION(2, 2), SYMC_NONE,
         "offset 0xd8: source location 2: function 0xffffffff"},
        {LOCATION(2, 3), 6,
         "offset 0xdc: source location 2: calling source location 0x6"},
        {LOCATION(2, 3), 0xFFFFFFFE,
         "offset 0xdc: source location 2: calling source location"},
        {LOCATION(2, 3), 4, "offset 0xdc: source location 2: inlined into a"},
        /* loops: of one, of two, and one that a chain leads to */
        {LOCATION(0, 3), 0, "offset 0xbc: source location 0: inlined into it"},
        {LOCATION(0, 3), 2, "source location 0: inlined into itself"},
        {LOCATION(5, 3), 5, "offset 0x10c: source location 5: inlined into"},
        /* order of ranges */
        {RANGE(1), 0x1000, "offset 0x114: range 1: start 0x1000"},
        {RANGE(1), 0x0FFF, "offset 0x114: range 1: start 0xfff"},
        {RANGE(4), 0x1020, "offset 0x120: range 4: start 0x1020"},
        {RANGE(0), 0xFFFFFFFF, "offset 0x114: range 1: start 0x1010"},
    };

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        memcpy(data, example_v9, sizeof(data));
        le32_store(data + rows[i].offset, rows[i].value);
        if (verify(data, sizeof(data)) != SYMC_VIOLATED ||
            strstr(error, rows[i].place) == NULL) {
            fail_msg("row %zu: \"%s\", not \"%s\"", i, error, rows[i].place);
        }
    }
}

/* Version 7 and 8 have files of 12 bytes: padding where they are odd. */
static void padding_behind_files(void **state)
{
    uint8_t data[SYMC_HEADER + 16];

    (void)state;
    memcpy(data, example_v8, SYMC_HEADER);
    memset(data + SYMC_AT_FILES, 0, 20);
    data[SYMC_AT_FILES] = 1;
    memset(data + SYMC_HEADER, 0xFF, 12);
    memset(data + SYMC_HEADER + 12, 0, 4);
    assert_int_equal(verify(data, sizeof(data)), SYMC_SOUND);
    data[SYMC_HEADER + 13] = 1;
    assert_int_equal(verify(data, sizeof(data)), SYMC_VIOLATED);
    assert_string_equal(
        error, "offset 0x5d: padding after the files: 0x01, not zero");
}

/* What a reader trips over: a string, index or caller that is not there, a
 * chain without end, ranges that a binary search goes wrong in. */
static const char *trip_strings(const struct symc_reader *r)
{
    size_t at, end;
    uint32_t i, offset;

    end = r->files + (size_t)r->num_files * r->file_size;
    for (at = r->files; at < end; at += 4) {
        offset = le32(r->data + at);
        if (offset != SYMC_NONE &&
            symc_reader_string(r, offset).data == NULL) {
            return "string of a file";
        }
    }
    for (i = 0; i < r->num_functions; i++) {
        offset = le32(r->data + r->functions + (size_t)i * SYMC_FUNCTION_SIZE);
        if (offset != SYMC_NONE &&
            symc_reader_string(r, offset).data == NULL) {
            return "name of a function";
        }
    }
    return NULL;
}

static const char *trip_frames(const struct symc_reader *r, uint32_t range)
{
    struct symc_frame frame;
    struct symc_frames frames;
    struct symc_file_parts file;
    struct symc_function_parts function;

    symc_reader_lookup(r, symc_reader_range(r, range), &frames);
    while (symc_reader_next(&frames, &frame)) {
        if (symc_reader_function(r, frame.location.function, &function) != 0) {
            return "function of a location";
        }
        if (frame.location.file != SYMC_NONE &&
            symc_reader_file(r, frame.location.file, &file) != 0) {
            return "file of a location";
        }
        /* also where the reader gives up a chain without end */
        if (!frame.is_inlined && frame.location.inlined_into != SYMC_NONE) {
            return "caller of a location";
        }
        if (frame.is_inlined && symc_location_is_gap(&frame.location)) {
            return "gap as a caller";
        }
    }
    return NULL;
}

static const char *trip(const struct symc_reader *r)
{
    uint32_t i;
    const char *what;

    what = trip_strings(r);
    for (i = 0; i < r->num_ranges && what == NULL; i++) {
        if (i > 0 && symc_reader_range(r, i - 1) >= symc_reader_range(r, i)) {
            return "order of ranges";
        }
        what = trip_frames(r, i);
    }
    return what;
}

/* Every byte takes every value: what is sound then can be read. */
static unsigned trips(const uint8_t *example, size_t size)
{
    size_t at;
    unsigned value, count;
    uint8_t *copy;
    const char *what;
    struct symc_reader reader;

    count = 0;
    copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, example, size);
    for (at = 0; at < size; at++) {
        for (value = 0; value < 256; value++) {
            copy[at] = (uint8_t)value;
            if (symc_reader_open(&reader, copy, size, error, sizeof(error)) !=
                SYMC_OPENED) {
                continue;
            }
            what = trip(&reader);
            if (what != NULL &&
                symc_verify(&reader, error, sizeof(error)) == SYMC_SOUND) {
                fail_msg("0x%02x at 0x%zx: %s", value, at, what);
            }
            count += what != NULL;
        }
        copy[at] = example[at];
    }
    free(copy);
    return count;
}

static void what_is_sound_can_be_read(void **state)
{
    (void)state;
    assert_true(trips(example_v7, sizeof(example_v7)) > 1000);
    assert_true(trips(example_v8, sizeof(example_v8)) > 1000);
    assert_true(trips(example_v9, sizeof(example_v9)) > 1000);
}

static void put_location(uint8_t *p, uint32_t inlined_into)
{
    le32_store(p, SYMC_NONE);
    le32_store(p + 4, 1);
    le32_store(p + 8, 0);
    le32_store(p + 12, inlined_into);
}

/*
 * A chain through all locations from the last to the first, which following
 * each from its beginning would take the square of; and many references into
 * one long string.  Linear time takes milliseconds, the square hours.
 */
static void hostile_files_take_linear_time(void **state)
{
    uint32_t i, n;
    size_t size, locations, strings;
    uint8_t *data;
    clock_t begin;

    (void)state;
    n = 1u << 20;
    locations = SYMC_HEADER + SYMC_FUNCTION_SIZE * (size_t)n;
    strings = locations + SYMC_LOCATION_SIZE * (size_t)n;
    size = strings + n;
    data = calloc(size, 1);
    assert_non_null(data);
    memcpy(data, example_v9, SYMC_HEADER);
    le32_store(data + SYMC_AT_FILES, 0);
    le32_store(data + SYMC_AT_FUNCTIONS, n);
    le32_store(data + SYMC_AT_LOCATIONS, n);
    le32_store(data + SYMC_AT_RANGES, 0);
    le32_store(data + SYMC_AT_STRINGS, n);
    /* one string of n - 3 bytes: all functions have it */
    memset(data + strings, 'x', n);
    data[strings] = (uint8_t)(0x80 | ((n - 3) & 0x7F));
    data[strings + 1] = (uint8_t)(0x80 | ((n - 3) >> 7 & 0x7F));
    data[strings + 2] = (uint8_t)((n - 3) >> 14);
    for (i = 0; i < n; i++) {
        put_location(data + locations + SYMC_LOCATION_SIZE * (size_t)i,
                     i == 0 ? SYMC_NONE : i - 1);
    }
    begin = clock();
    assert_int_equal(verify(data, size), SYMC_SOUND);
    put_location(data + locations, n - 1);
    assert_int_equal(verify(data, size), SYMC_VIOLATED);
    assert_non_null(strstr(error, "loop"));
    assert_true((clock() - begin) / CLOCKS_PER_SEC < 20);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_are_sound),
        cmocka_unit_test(source_server_fields_are_noted),
        cmocka_unit_test(version_8_has_no_source_server_fields),
        cmocka_unit_test(trailing_bytes_and_variables_are_sound),
        cmocka_unit_test(sound_variants),
        cmocka_unit_test(every_rule_is_checked),
        cmocka_unit_test(padding_behind_files),
        cmocka_unit_test(what_is_sound_can_be_read),
        cmocka_unit_test(hostile_files_take_linear_time),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
