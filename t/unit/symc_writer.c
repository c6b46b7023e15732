/*
 * Copyright (C) the ngx_symcache authors
 *
 * The writer.  The 333 bytes were produced by the "symbolic" library from the
 * same functions and symbols; the rules of undecoration are its, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "derived/symcache/format.h"
#include "derived/symcache/undecorate.h"
#include "derived/symcache/writer.h"

/* clang-format off */
static const uint8_t example[] = {
    0x53, 0x59, 0x4d, 0x43, 0x09, 0x00, 0x00, 0x00,
    0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
    0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xc9, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00,
    0x03, 0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x00,
    0x05, 0x00, 0x00, 0x00, 0x25, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x10, 0x00, 0x00, 0x00, 0x0b, 0x00, 0x00, 0x00, /* files */
    0x07, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0x10, 0x00, 0x00, 0x00, 0x0b, 0x00, 0x00, 0x00,
    0x17, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, /* functions */
    0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x11, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00,
    0x20, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
    0x40, 0x10, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
    0x00, 0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x00, /* locations */
    0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
    0x00, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
    0x01, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00,
    0x02, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
    0x00, 0x10, 0x00, 0x00, 0x10, 0x10, 0x00, 0x00, /* ranges */
    0x18, 0x10, 0x00, 0x00, 0x20, 0x10, 0x00, 0x00,
    0x40, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x06, 'm', 'a', 'i', 'n', '(', ')',
    0x03, 'm', '.', 'c',
    0x04, 'C', ':', '\\', 'a',
    0x00,
    0x05, 'i', 'n', 'l', '(', ')',
    0x03, 'm', '.', 'h',
    0x04, 'm', 'a', 'i', 'n',
    0x04, 't', 'a', 'i', 'l',
};
/* clang-format on */

struct limited_writer {
    uint8_t data[4096];
    size_t size;
};

static int limited_writer_write(void *context, const void *data, size_t size)
{
    struct limited_writer *s = context;

    assert_true(size <= sizeof(s->data) - s->size);
    memcpy(s->data + s->size, data, size);
    s->size += size;
    return 0;
}

static struct symc_text text(const char *string)
{
    struct symc_text t = {string, (uint32_t)strlen(string)};

    return t;
}

static struct symc_function function(const char *name, uint32_t address,
                                     uint64_t size, uint32_t first_line,
                                     uint32_t num_lines)
{
    struct symc_function f;

    memset(&f, 0, sizeof(f));
    f.address = address;
    f.size = size;
    f.name.data = name;
    f.name.size = (uint32_t)strlen(name);
    f.first_line = first_line;
    f.num_lines = num_lines;
    f.first_child = f.last_child = f.next = SYMC_NONE;
    return f;
}

static void source(struct symc_source *s, const char *directory,
                   const char *name)
{
    memset(s, 0, sizeof(*s));
    s->comp_dir = text("");
    s->directory = text(directory);
    s->name = text(name);
    s->file = SYMC_NONE;
}

static void finish(struct symc_writer *w, struct limited_writer *out)
{
    struct symc_sink sink = {limited_writer_write, out};
    struct symc_identity id = {{0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
                                0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
                                0x00},
                               1,
                               SYMC_ARCH_AMD64};

    out->size = 0;
    assert_int_equal(symc_writer_finish(w, &id, &sink), SYMC_OK);
    symc_writer_free(w);
}

static int add_symbol(struct symc_writer *w, uint32_t address,
                      const char *string)
{
    struct symc_name name = {string, (uint32_t)strlen(string), 0, 0};

    return symc_writer_symbol(w, address, 0, &name);
}

static void test_example(void **state)
{
    struct limited_writer out;
    struct symc_writer w;
    struct symc_source sources[2];
    struct symc_function nodes[2];
    struct symc_tree tree;
    static const struct symc_line lines[] = {
        {0x1000, 5, 0, 0x10}, {0x1010, 6, 0, 0x10}, {0x1010, 2, 1, 8}};

    (void)state;
    source(&sources[0], "C:\\a", "m.c");
    source(&sources[1], "C:\\a", "m.h");
    nodes[0] = function("main()", 0x1000, 0x20, 0, 2);
    nodes[0].first_child = nodes[0].last_child = 1;
    nodes[1] = function("inl()", 0x1010, 8, 2, 1);
    nodes[1].is_inline = 1;
    tree.nodes = nodes;
    tree.lines = lines;
    tree.sources = sources;
    symc_writer_init(&w);
    w.undecorates = true;
    assert_int_equal(symc_writer_function(&w, &tree, 0), SYMC_OK);
    assert_int_equal(add_symbol(&w, 0x1000, "_main"), SYMC_OK);
    assert_int_equal(add_symbol(&w, 0x1040, "_tail@4"), SYMC_OK);
    finish(&w, &out);
    assert_int_equal(sizeof(example), 333);
    assert_int_equal(out.size, sizeof(example));
    assert_memory_equal(out.data, example, sizeof(example));
}

static uint32_t word(const struct limited_writer *out, size_t at)
{
    return le32(out->data + at);
}

/* Nothing put in: a header, and no range at all. */
static void test_empty(void **state)
{
    struct limited_writer out;
    struct symc_writer w;

    (void)state;
    symc_writer_init(&w);
    w.undecorates = true;
    finish(&w, &out);
    assert_int_equal(out.size, SYMC_HEADER);
    assert_int_equal(word(&out, SYMC_AT_RANGES), 0);
}

/* Of two symbols at an address the first counts, and both names are kept; the
 * last one has no end. */
static void write_symbols(bool is_sorted, size_t room)
{
    struct limited_writer out;
    struct symc_writer w;
    uint64_t *order;
    static const uint64_t by_address[] = {(uint64_t)0x10 << 32 | 1,
                                          (uint64_t)0x30 << 32};

    symc_writer_init(&w);
    if (room > 0) {
        symc_writer_take_room(&w, malloc(room), room);
    }
    if (is_sorted) {
        order = malloc(sizeof(by_address));
        assert_non_null(order);
        memcpy(order, by_address, sizeof(by_address));
        symc_writer_order(&w, order, 2);
    }
    w.undecorates = true;
    assert_int_equal(add_symbol(&w, 0x30, "?b@@YAXXZ"), 0);
    assert_int_equal(add_symbol(&w, 0x10, "_a"), 0);
    assert_int_equal(add_symbol(&w, 0x30, "c"), 0);
    finish(&w, &out);
    assert_int_equal(word(&out, SYMC_AT_FUNCTIONS), 2);
    assert_int_equal(word(&out, SYMC_AT_RANGES), 2);
    assert_int_equal(word(&out, SYMC_AT_STRINGS), 10 + 2 + 2);
    /* functions are in the order of the symbols */
    assert_int_equal(word(&out, SYMC_HEADER + 8), 0x30);
    assert_int_equal(word(&out, SYMC_HEADER + 16 + 8), 0x10);
    assert_int_equal(word(&out, SYMC_HEADER + 64), 0x10);
    assert_int_equal(word(&out, SYMC_HEADER + 68), 0x30);
}

/* The same whether the caller has sorted them, or the writer does, and whoever
 * has the array for them. */
static void test_symbols_only(void **state)
{
    (void)state;
    write_symbols(false, 0);
    write_symbols(true, 0);
    write_symbols(false, 100);
    write_symbols(true, 8); /* of one symbol */
}

/* Behind the end of a symbol is nothing, unless another one is there; of
 * addresses 32 bits are kept.  That is what the "symbolic" library does. */
static void test_symbol_sizes(void **state)
{
    size_t i;
    struct limited_writer out;
    struct symc_writer w;
    struct symc_name name = {"f", 1, 0, 0};
    static const uint32_t starts[] = {0x10, 0x18, 0x1C, 0x20, 0x24};
    static const uint64_t symbols[][2] = {
        {0x100000020, 4}, {0x10, 8}, {0x18, 4}};

    (void)state;
    symc_writer_init(&w);
    for (i = 0; i < 3; i++) {
        assert_int_equal(
            symc_writer_symbol(&w, symbols[i][0], symbols[i][1], &name),
            SYMC_OK);
    }
    finish(&w, &out);
    assert_int_equal(word(&out, SYMC_AT_FUNCTIONS), 3);
    assert_int_equal(word(&out, SYMC_AT_RANGES), 5);
    for (i = 0; i < 5; i++) {
        /* behind the functions and a location for each range */
        assert_int_equal(word(&out, SYMC_HEADER + 48 + 80 + 4 * i), starts[i]);
    }
    assert_int_equal(word(&out, SYMC_HEADER + 48 + 16 * 2 + 8),
                     SYMC_NONE); /* the function at 0x1C */
    assert_int_equal(word(&out, SYMC_HEADER + 48 + 16 * 3 + 8), 0);
}

/* Folded functions: the later one wins where both have a line, the earlier
 * one keeps its place where the later one has none. */
static void test_folded(void **state)
{
    struct limited_writer out;
    struct symc_writer w;
    struct symc_source sources[1];
    struct symc_function nodes[3];
    struct symc_tree tree;
    static const struct symc_line lines[] = {
        {0x100, 1, 0, 8}, {0x108, 2, 0, 8}, {0x108, 9, 0, 8}};

    (void)state;
    source(&sources[0], "", "f.c");
    nodes[0] = function("a()", 0x100, 0x10, 0, 2);
    nodes[1] = function("b()", 0x100, 0x10, 2, 1);
    nodes[2] = function("c()", 0x100, 0, 0, 2);
    tree.nodes = nodes;
    tree.lines = lines;
    tree.sources = sources;
    symc_writer_init(&w);
    w.undecorates = true;
    assert_int_equal(symc_writer_function(&w, &tree, 0), SYMC_OK);
    assert_int_equal(symc_writer_function(&w, &tree, 1), SYMC_OK);
    assert_int_equal(symc_writer_function(&w, &tree, 2), SYMC_OK);
    finish(&w, &out);
    assert_int_equal(word(&out, SYMC_AT_FUNCTIONS), 2);
    assert_int_equal(word(&out, SYMC_AT_RANGES), 3);
    /* behind the header: one file, two functions, three locations */
    assert_int_equal(word(&out, 80 + 24 + 32 + 4), 1);
    assert_int_equal(word(&out, 80 + 24 + 32 + 8), 0);
    assert_int_equal(word(&out, 80 + 24 + 32 + 16 + 4), 9);
    assert_int_equal(word(&out, 80 + 24 + 32 + 16 + 8), 1);
    assert_int_equal(word(&out, 80 + 24 + 32 + 32), SYMC_NONE);
    assert_int_equal(word(&out, 80 + 24 + 32 + 48 + 8), 0x110);
}

static void test_undecorate(void **state)
{
    size_t i, size;
    const char *name;
    static const char *const cases[][2] = {
        {"_main", "main"},
        {"__chkstk", "_chkstk"},
        {"_f@8", "f"},
        {"@f@8", "f"},
        {"f@@16", "f"},
        {"_f@x", "f@x"},
        {"f@8", "f@8"},
        {"_f@4294967296", "f@4294967296"},
        {"?f@@YAXXZ", "?f@@YAXXZ"},
        {"_f()", "_f()"},
        {"_a::b", "_a::b"},
        {"_t<int>", "_t<int>"},
        {"", ""},
        {"_", ""},
        {"@f", "@f"},
        {"_f@", "f@"},
    };

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        name = cases[i][0];
        size = strlen(name);
        symc_undecorate(&name, &size);
        assert_int_equal(size, strlen(cases[i][1]));
        assert_memory_equal(name, cases[i][1], size);
    }
}

/* Broken UTF-8: one U+FFFD for each maximal part, as Unicode 3.9 says. */
static void test_utf8(void **state)
{
    size_t i;
    uint32_t offset, again;
    struct symc_string_table s;
    static const char *const cases[][2] = {
        {"a\xC3\xA9", "a\xC3\xA9"},
        {"a\xFF", "a\xEF\xBF\xBD"},
        {"\xE2\x82", "\xEF\xBF\xBD"},
        {"\xE2\x28", "\xEF\xBF\xBD("},
        {"\xF0\x80\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF"
                             "\xBD"},
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},
    };

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(&s, 0, sizeof(s));
        assert_int_equal(symc_string_table_insert(
                             &s, cases[i][0], strlen(cases[i][0]), &offset),
                         0);
        assert_int_equal(s.data[offset], strlen(cases[i][1]));
        assert_memory_equal(s.data + offset + 1, cases[i][1],
                            strlen(cases[i][1]));
        assert_int_equal(symc_string_table_insert(&s, cases[i][1],
                                                  strlen(cases[i][1]), &again),
                         0);
        assert_int_equal(again, offset);
        symc_string_table_free(&s);
    }
}

/* Texts that stay where they are, of all lengths around those where the number
 * before them gets a byte more. */
static void test_strings_that_refer(void **state)
{
    size_t i, size;
    uint32_t offset, again;
    char text[20000];
    struct symc_string_table s = {.refers = true};
    static const size_t sizes[] = {0,   1,     126,   127,   128,  129,
                                   130, 16382, 16383, 16384, 16385};

    (void)state;
    memset(text, 'x', sizeof(text));
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(symc_string_table_insert(&s, text, sizes[i], &offset),
                         0);
        assert_ptr_equal(symc_string_table_text(&s, i, &size), text);
        assert_int_equal(size, sizes[i]);
        assert_int_equal(
            symc_string_table_insert(&s, text + 1, sizes[i], &again), 0);
        assert_int_equal(again, offset);
    }
    /* what is not UTF-8 does not stay as it is */
    assert_int_equal(symc_string_table_insert(&s, "a\xFF", 2, &offset), 0);
    assert_int_equal(symc_string_table_insert(&s, "b\xFF", 2, &again), 0);
    assert_memory_equal(symc_string_table_text(&s, i, &size), "a\xEF\xBF\xBD",
                        4);
    assert_int_equal(size, 4);
    assert_int_equal(symc_string_table_insert(&s, "a\xFF", 2, &again), 0);
    assert_int_equal(again, offset);
    symc_string_table_free(&s);
}

#define NAMES 5000
#define LONG_NAME 200000

struct blocks {
    uint8_t *data;
    size_t size;
    bool is_over; /* the last write is the only one that ends in a block */
};

static int write_block(void *context, const void *data, size_t size)
{
    struct blocks *b = context;

    assert_false(b->is_over);
    b->is_over = size % 65536 != 0;
    b->data = realloc(b->data, b->size + size);
    assert_non_null(b->data);
    memcpy(b->data + b->size, data, size);
    b->size += size;
    return 0;
}

/* The name of a symbol: of each length up to 259, and a few long ones. */
static size_t name_of(char *text, size_t i)
{
    size_t size = i % 1000 == 999 ? LONG_NAME : i % 260;
    int n = snprintf(text, LONG_NAME, "%zu_", i);

    memset(text + n, 'n', LONG_NAME - (size_t)n);
    return size > (size_t)n ? size : (size_t)n;
}

static void check_names(const struct blocks *b, char *text)
{
    unsigned shift;
    size_t i, size;
    uint32_t word;
    const uint8_t *p;

    memcpy(&word, b->data + SYMC_AT_STRINGS, sizeof(word));
    for (p = b->data + b->size - word, i = 0; i < NAMES; i++) {
        for (size = shift = 0; (*p & 0x80) != 0; p++, shift += 7) {
            size |= (size_t)(*p & 0x7F) << shift;
        }
        size |= (size_t)*p++ << shift;
        assert_int_equal(size, name_of(text, i));
        assert_memory_equal(p, text, size);
        p += size;
    }
    assert_ptr_equal(p, b->data + b->size);
}

/* What is written is in blocks of 64 KB, whatever begins in one and ends in
 * the next.  Names that refer have to stay: they are the parts of one text. */
static void write_in_blocks(bool refers, size_t reserved)
{
    size_t i;
    struct blocks b = {NULL, 0, false};
    struct symc_writer w;
    struct symc_sink sink = {write_block, &b};
    struct symc_identity id = {{0}, 0, SYMC_ARCH_AMD64};
    char *texts = malloc((size_t)NAMES * 260 + 6 * LONG_NAME);
    char *text = texts;
    struct symc_name name;

    assert_non_null(texts);
    symc_writer_init(&w);
    w.strings.refers = refers;
    assert_int_equal(symc_string_table_reserve(&w.strings, reserved), 0);
    for (i = 0; i < NAMES; i++) {
        name = (struct symc_name){text, (uint32_t)name_of(text, i), 0, 0};
        assert_int_equal(
            symc_writer_symbol(&w, 16 * (uint32_t)i, i % 3, &name), SYMC_OK);
        text += name.size;
    }
    assert_int_equal(symc_writer_finish(&w, &id, &sink), SYMC_OK);
    symc_writer_free(&w);
    check_names(&b, texts);
    free(b.data);
    free(texts);
}

static void test_blocks(void **state)
{
    (void)state;
    write_in_blocks(false, 0);
    write_in_blocks(true, 100);
    write_in_blocks(true, NAMES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_symbols_only),
        cmocka_unit_test(test_folded),
        cmocka_unit_test(test_undecorate),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_symbol_sizes),
        cmocka_unit_test(test_strings_that_refer),
        cmocka_unit_test(test_blocks),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
