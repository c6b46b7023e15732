/*
 * Copyright (C) the ngx_symcache authors
 *
 * The SymCache reader: headers, lookups, versions, and what a hostile file
 * can say.  Files lie in memory of exactly their size, so that a sanitizer
 * sees every byte too far.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "derived/symcache/enum.h"
#include "derived/symcache/format.h"
#include "derived/symcache/path.h"
#include "derived/symcache/reader.h"
#include "symc_example.h"

static char error[256];

struct image {
    uint8_t *data;
    size_t size;
    struct symc_reader reader;
};

static struct image copy(const uint8_t *data, size_t size)
{
    struct image image;

    memset(&image, 0, sizeof(image));
    image.size = size;
    image.data = malloc(size > 0 ? size : 1);
    assert_non_null(image.data);
    memcpy(image.data, data, size);
    return image;
}

static enum symc_reader_status open_image(struct image *image)
{
    error[0] = '\0';
    return symc_reader_open(&image->reader, image->data, image->size, error,
                            sizeof(error));
}

static void open_sound(struct image *image)
{
    assert_int_equal(open_image(image), SYMC_OPENED);
}

/* The frames at an address as "name entry language path:line", with " < "
 * between them; "" when there are none. */
static const char *look(const struct image *image, uint64_t address)
{
    static char text[4096];
    char path[256], part[512];
    size_t size;
    struct symc_frames frames;
    struct symc_frame f;
    struct symc_file_parts parts;

    text[0] = '\0';
    symc_reader_lookup(&image->reader, address, &frames);
    while (symc_reader_next(&frames, &f)) {
        symc_reader_file(&image->reader, f.location.file, &parts);
        assert_true(symc_path_room(&parts.comp_dir, &parts.directory,
                                   &parts.name) < sizeof(path));
        size = symc_path_join(&parts.comp_dir, &parts.directory, &parts.name,
                              path);
        snprintf(part, sizeof(part), "%.*s %x %x %.*s:%u%s",
                 f.function.name.data == NULL ? 1 : (int)f.function.name.size,
                 f.function.name.data == NULL ? "?" : f.function.name.data,
                 f.function.entry, f.function.language, (int)size, path,
                 f.location.line, f.is_inlined ? " < " : "");
        assert_true(strlen(text) + strlen(part) < sizeof(text));
        memcpy(text + strlen(text), part, strlen(part) + 1);
    }
    return text;
}

#define MAIN5 "main() 1000 0 C:\\a\\m.c:5"
#define MAIN6 "main() 1000 0 C:\\a\\m.c:6"
#define INL2 "inl() ffffffff 0 C:\\a\\m.h:2 < " MAIN6
#define TAIL "tail 1040 ffffffff :0"

static void assert_example(const struct image *image)
{
    size_t i;
    static const struct {
        uint64_t address;
        const char *frames;
    } rows[] = {
        {0, ""},           {0xFFF, ""},      {0x1000, MAIN5},
        {0x100F, MAIN5},   {0x1010, INL2},   {0x1017, INL2},
        {0x1018, MAIN6},   {0x101F, MAIN6},  {0x1020, ""},
        {0x103F, ""},      {0x1040, TAIL},   {0xFFFFFFFF, TAIL},
        {0x100001000, ""}, {UINT64_MAX, ""},
    };

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_string_equal(look(image, rows[i].address), rows[i].frames);
    }
}

static void example_of_every_version(void **state)
{
    size_t i;
    struct image image;
    static const struct {
        const uint8_t *data;
        size_t size;
        uint32_t version;
    } rows[] = {{example_v7, sizeof(example_v7), 7},
                {example_v8, sizeof(example_v8), 8},
                {example_v9, sizeof(example_v9), 9}};

    (void)state;
    for (i = 0; i < 3; i++) {
        image = copy(rows[i].data, rows[i].size);
        open_sound(&image);
        assert_int_equal(image.reader.version, rows[i].version);
        assert_example(&image);
        free(image.data);
    }
}

static void every_truncation_is_refused(void **state)
{
    size_t size;
    struct image image;

    (void)state;
    for (size = 0; size < sizeof(example_v9); size++) {
        image = copy(example_v9, size);
        assert_int_equal(open_image(&image),
                         size < 8 ? SYMC_FOREIGN : SYMC_DAMAGED);
        assert_string_not_equal(error, "");
        free(image.data);
    }
}

static void bytes_behind_the_strings_are_tolerated(void **state)
{
    uint8_t longer[sizeof(example_v9) + 16];
    struct image image;

    (void)state;
    memset(longer, 0xEE, sizeof(longer));
    memcpy(longer, example_v9, sizeof(example_v9));
    longer[SYMC_AT_VARIABLES] = 1;
    image = copy(longer, sizeof(longer));
    open_sound(&image);
    assert_example(&image);
    free(image.data);
}

/* The example with one word changed. */
static struct image patched(size_t offset, uint32_t value)
{
    struct image image;

    image = copy(example_v9, sizeof(example_v9));
    le32_store(image.data + offset, value);
    return image;
}

static void refused(size_t offset, uint32_t value,
                    enum symc_reader_status status, const char *reason)
{
    struct image image;

    image = patched(offset, value);
    assert_int_equal(open_image(&image), status);
    if (strstr(error, reason) == NULL) {
        fail_msg("\"%s\" says nothing of \"%s\"", error, reason);
    }
    free(image.data);
}

static void foreign_files_are_told_apart(void **state)
{
    (void)state;
    refused(0, 0x53594D43, SYMC_FOREIGN, "big-endian");
    refused(0, 0x464C457F, SYMC_FOREIGN, "7f 45 4c 46");
    refused(SYMC_AT_VERSION, 6, SYMC_FOREIGN, "version 6");
    refused(SYMC_AT_VERSION, 10, SYMC_FOREIGN, "version 10");
}

static void counts_beyond_the_file_are_refused(void **state)
{
    static const size_t counts[] = {SYMC_AT_FILES, SYMC_AT_FUNCTIONS,
                                    SYMC_AT_LOCATIONS, SYMC_AT_STRINGS};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        refused(counts[i], 0xFFFFFFFF, SYMC_DAMAGED, "truncated");
        refused(counts[i], 0x80000000, SYMC_DAMAGED, "truncated");
        refused(counts[i], 1000, SYMC_DAMAGED, "truncated");
    }
    refused(SYMC_AT_RANGES, 7, SYMC_DAMAGED, "7 ranges");
    refused(SYMC_AT_RANGES, 0xFFFFFFFF, SYMC_DAMAGED, "ranges");
}

static void empty_file_has_nothing(void **state)
{
    uint8_t empty[SYMC_HEADER];
    struct image image;

    (void)state;
    memcpy(empty, example_v9, sizeof(empty));
    memset(empty + SYMC_AT_FILES, 0, 20);
    image = copy(empty, sizeof(empty));
    open_sound(&image);
    assert_string_equal(look(&image, 0), "");
    assert_string_equal(look(&image, 0xFFFFFFFF), "");
    free(image.data);
}

/* What a lookup gives when one word is changed. */
static void changed(size_t offset, uint32_t value, uint64_t address,
                    const char *frames)
{
    struct image image;

    image = patched(offset, value);
    open_sound(&image);
    assert_string_equal(look(&image, address), frames);
    free(image.data);
}

#define LOCATION(i, field) (EXAMPLE_LOCATIONS + 16 * (i) + 4 * (field))
#define FUNCTION(i, field) (EXAMPLE_FUNCTIONS + 16 * (i) + 4 * (field))
#define FILE_FIELD(i, field) (EXAMPLE_FILES + 24 * (i) + 4 * (field))

static void what_cannot_be_reached_is_absent(void **state)
{
    (void)state;
    /* file, function, caller */
    changed(LOCATION(1, 0), 2, 0x1000, "main() 1000 0 :5");
    changed(LOCATION(1, 2), 3, 0x1000, "? ffffffff ffffffff C:\\a\\m.c:5");
    changed(LOCATION(1, 2), SYMC_NONE, 0x1000,
            "? ffffffff ffffffff C:\\a\\m.c:5");
    changed(LOCATION(1, 3), 6, 0x1000, MAIN5);
    changed(LOCATION(1, 3), 0xFFFFFFFE, 0x1000, MAIN5);
    /* strings: outside, in the middle of one with a length too large */
    changed(FUNCTION(0, 0), 0x25, 0x1000, "? 1000 0 C:\\a\\m.c:5");
    changed(FUNCTION(0, 0), SYMC_NONE, 0x1000, "? 1000 0 C:\\a\\m.c:5");
    changed(FUNCTION(0, 0), 0xFFFFFFFE, 0x1000, "? 1000 0 C:\\a\\m.c:5");
    changed(FUNCTION(0, 0), 1, 0x1000, "? 1000 0 C:\\a\\m.c:5");
    changed(FILE_FIELD(0, 1), 0x26, 0x1000, "main() 1000 0 m.c:5");
    changed(FILE_FIELD(0, 2), SYMC_NONE, 0x1000, "main() 1000 0 C:\\a:5");
}

static void strings_are_checked(void **state)
{
    size_t i;
    struct image image;
    static const struct {
        const char *bytes; /* in the place of 06 "main()" */
        const char *name;
    } rows[] = {{"\x06main()", "main()"},
                {"\x86\x00"
                 "main(",
                 "main()"}, /* longer form: 6 bytes follow */
                {"\x02\xC3\xA9"
                 "in()",
                 "\xC3\xA9"},
                {"\x04\xF0\x9F\x98\x80()", "\xF0\x9F\x98\x80"},
                {"\x02\xC3\x28"
                 "in()",
                 "?"}, /* no continuation */
                {"\x01\xC3\xA9"
                 "in()",
                 "?"}, /* cut in the middle */
                {"\x02\xC0\x80"
                 "in()",
                 "?"},                           /* overlong */
                {"\x03\xE0\x80\x80n()", "?"},    /* overlong */
                {"\x03\xED\xA0\x80n()", "?"},    /* surrogate */
                {"\x04\xF4\x90\x80\x80()", "?"}, /* beyond U+10FFFF */
                {"\x04\xF5\x80\x80\x80()", "?"},
                {"\x01\xFF"
                 "ain()",
                 "?"},
                {"\x25main()", "?"}, /* length of the section */
                {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "?"}};

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char want[64];

        image = copy(example_v9, sizeof(example_v9));
        memcpy(image.data + EXAMPLE_STRINGS, rows[i].bytes, 7);
        if (i == 1) {
            /* the byte behind the seven is the sixth of the name */
            image.data[EXAMPLE_STRINGS + 7] = ')';
        }
        open_sound(&image);
        snprintf(want, sizeof(want), "%s 1040 ffffffff :0", rows[i].name);
        le32_store(image.data + FUNCTION(2, 0), 0);
        assert_string_equal(look(&image, 0x1040), want);
        free(image.data);
    }
}

/* Ten bytes are as many as 64 bits need. */
static void leb128_has_an_end(void **state)
{
    size_t i;
    struct symc_string s;
    static const struct {
        uint8_t bytes[12];
        size_t size;
        long long length; /* -1: none */
    } rows[] = {
        {{0x00}, 1, 0},
        {{0x01, 'x'}, 2, 1},
        {{0x81, 0x00, 'x'}, 3, 1},
        {{0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 'x'},
         11,
         1},
        {{0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02, 'x'},
         11,
         -1},
        {{0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 'x'},
         11,
         -1},
        {{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00},
         11,
         -1},
        {{0x80}, 1, -1},
        {{0xFF, 0xFF, 0xFF, 0xFF, 0x0F}, 5, -1},
    };

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *fault =
            symc_string_read(rows[i].bytes, rows[i].size, 0, 9, &s);

        if (rows[i].length < 0) {
            assert_non_null(fault);
            assert_null(s.data);
        } else {
            assert_null(fault);
            assert_non_null(s.data);
            assert_int_equal(s.size, rows[i].length);
        }
    }
}

static void loops_end(void **state)
{
    size_t n;
    struct image image;
    struct symc_frames frames;
    struct symc_frame frame;

    (void)state;
    /* main() into inl() into main() ... */
    image = patched(LOCATION(0, 3), 2);
    open_sound(&image);
    symc_reader_lookup(&image.reader, 0x1010, &frames);
    for (n = 0; symc_reader_next(&frames, &frame); n++) {
        assert_true(n < 6);
    }
    assert_int_equal(n, 6);
    assert_false(frame.is_inlined);
    free(image.data);
    /* into itself */
    image = patched(LOCATION(0, 3), 0);
    open_sound(&image);
    symc_reader_lookup(&image.reader, 0x1010, &frames);
    for (n = 0; symc_reader_next(&frames, &frame); n++) {
        assert_true(n < 6);
    }
    assert_int_equal(n, 6);
    free(image.data);
}

static void records_by_index(void **state)
{
    struct image image;
    struct symc_file_parts file;
    struct symc_function_parts function;
    struct symc_location location;

    (void)state;
    image = patched(FILE_FIELD(1, 3), 0x07);
    open_sound(&image);
    assert_int_equal(symc_reader_file(&image.reader, 1, &file), 0);
    assert_int_equal(file.comp_dir.size, 0);
    assert_non_null(file.comp_dir.data);
    assert_memory_equal(file.srcsrv_name.data, "m.c", 3);
    assert_null(file.srcsrv_directory.data);
    assert_null(file.srcsrv_revision.data);
    assert_int_equal(symc_reader_file(&image.reader, 2, &file), -1);
    assert_null(file.name.data);
    assert_int_equal(symc_reader_function(&image.reader, 3, &function), -1);
    assert_null(function.name.data);
    assert_int_equal(symc_reader_location(&image.reader, 6, &location), -1);
    assert_true(symc_location_is_gap(&location));
    assert_int_equal(symc_reader_location(&image.reader, 4, &location), 0);
    assert_true(symc_location_is_gap(&location));
    assert_int_equal(symc_reader_range(&image.reader, 4), 0x1040);
    free(image.data);
}

/* The names are those of the "symbolic" library. */
static void numbers_have_names(void **state)
{
    size_t i;
    static const struct {
        uint32_t number;
        const char *name;
    } archs[] = {{0, "unknown"},       {1, "x86"},
                 {2, "x86_64"},        {3, "x86_64h"},
                 {4, "arm"},           {5, "armv5"},
                 {13, "armv7em"},      {14, "arm64"},
                 {16, "arm64e"},       {17, "ppc"},
                 {18, "ppc64"},        {19, "unknown"},
                 {101, "x86"},         {201, "x86_64"},
                 {309, "armv7m"},      {311, "unknown"},
                 {399, "arm_unknown"}, {401, "arm64"},
                 {801, "mips64"},      {902, "arm64_32_v8"},
                 {1001, "wasm32"},     {0xFFFFFFFF, "unknown"}};
    static const char *const languages[] = {
        "unknown",     "c",      "cpp",    "d",     "go",
        "objc",        "objcpp", "rust",   "swift", "csharp",
        "visualbasic", "fsharp", "unknown"};

    (void)state;
    for (i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
        assert_string_equal(symc_arch_name(archs[i].number), archs[i].name);
    }
    for (i = 0; i < sizeof(languages) / sizeof(languages[0]); i++) {
        assert_string_equal(symc_language_name((uint32_t)i), languages[i]);
    }
    assert_string_equal(symc_language_name(SYMC_NONE), "unknown");
    assert_int_equal(symc_arch_number(2), 201);
    assert_int_equal(symc_arch_number(1002), 0);
}

/* Whatever a byte becomes: nothing outside is read, everything ends. */
static void every_byte_changed(void **state)
{
    size_t i, k;
    uint64_t address;
    struct image image;
    struct symc_frames frames;
    struct symc_frame frame;
    struct symc_file_parts file;
    static const uint8_t values[] = {0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF};

    (void)state;
    for (i = 0; i < sizeof(example_v9); i++) {
        for (k = 0; k < sizeof(values); k++) {
            image = copy(example_v9, sizeof(example_v9));
            image.data[i] = values[k];
            if (open_image(&image) == SYMC_OPENED) {
                for (address = 0xFF0; address < 0x1050; address += 8) {
                    symc_reader_lookup(&image.reader, address, &frames);
                    while (symc_reader_next(&frames, &frame)) {
                        symc_reader_file(&image.reader, frame.location.file,
                                         &file);
                    }
                }
            }
            free(image.data);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(example_of_every_version),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(bytes_behind_the_strings_are_tolerated),
        cmocka_unit_test(foreign_files_are_told_apart),
        cmocka_unit_test(counts_beyond_the_file_are_refused),
        cmocka_unit_test(empty_file_has_nothing),
        cmocka_unit_test(what_cannot_be_reached_is_absent),
        cmocka_unit_test(strings_are_checked),
        cmocka_unit_test(leb128_has_an_end),
        cmocka_unit_test(loops_end),
        cmocka_unit_test(records_by_index),
        cmocka_unit_test(numbers_have_names),
        cmocka_unit_test(every_byte_changed),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
