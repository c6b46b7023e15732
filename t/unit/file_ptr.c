/*
 * Copyright (C) the ngx_symcache authors
 *
 * Expected values: what symbol servers are known to write into file.ptr.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "config/config.h"
#include "symcached/source/file_ptr.h"

struct parse_case {
    const char *data;
    size_t len; /* 0 = strlen */
    enum file_ptr_kind kind;
    const char *text;
};

static const struct parse_case parse_cases[] = {
    {"PATH:\\\\srv\\sym\\a.pdb", 0, FILE_PTR_PATH, "\\\\srv\\sym\\a.pdb"},
    {"path: \\\\srv\\sym\\a.pdb\r\n", 0, FILE_PTR_PATH, "\\\\srv\\sym\\a.pdb"},
    {"\\\\srv\\sym\\a.pdb", 0, FILE_PTR_PATH, "\\\\srv\\sym\\a.pdb"},
    {"  X:\\b uild\\a.pdb \n\n", 0, FILE_PTR_PATH, "X:\\b uild\\a.pdb"},
    {".\\a.pdb", 0, FILE_PTR_PATH, ".\\a.pdb"},
    {"//srv/sym/a.pdb", 0, FILE_PTR_PATH, "//srv/sym/a.pdb"},
    {"PATH:a.pdb\\b", 0, FILE_PTR_PATH, "a.pdb\\b"},
    {"PATH:x\0\0\0", 9, FILE_PTR_PATH, "x"},
    {"\xef\xbb\xbfPATH:x", 0, FILE_PTR_PATH, "x"},
    {"\xff\xfeP\0A\0T\0H\0:\0x\0\xe4\0", 16, FILE_PTR_PATH, "x\xc3\xa4"},
    {"\xfe\xff\0P\0A\0T\0H\0:\0x", 14, FILE_PTR_PATH, "x"},
    {"\xff\xfe/\0/\0\x3d\xd8\x00\xde", 10, FILE_PTR_PATH,
     "//\xf0\x9f\x98\x80"},
    {"\xff\xfe/\0/\0\x3d\xd8x\0", 10, FILE_PTR_PATH, "//\xef\xbf\xbdx"},
    {"PATH:https://h/a.pdb", 0, FILE_PTR_URL, "https://h/a.pdb"},
    {"http://h/a.pdb", 0, FILE_PTR_URL, "http://h/a.pdb"},
    {"MSG: not\there", 0, FILE_PTR_MESSAGE, "not here"},
    {"MSG:gone", 0, FILE_PTR_MESSAGE, "gone"},
    {"", 0, FILE_PTR_BAD, NULL},
    {"Microsoft C/C++ MSF 7.00\r\n\x1a", 0, FILE_PTR_BAD, "file.ptr is a PDB"},
    {" \r\n", 0, FILE_PTR_BAD, NULL},
    /* what servers say in place of it */
    {"try later", 0, FILE_PTR_BAD, "file.ptr names no location"},
    {"{\"error\":\"try later\"}", 0, FILE_PTR_BAD, NULL},
    {"\"https://h/a.pdb\"", 0, FILE_PTR_BAD, NULL},
    {"E: no such key", 0, FILE_PTR_BAD, NULL},
    {"/a.pdb", 0, FILE_PTR_BAD, NULL},
    {"PATH:", 0, FILE_PTR_BAD, NULL},
    {"<html>", 0, FILE_PTR_BAD, NULL},
    {"PATH:a\nPATH:b", 0, FILE_PTR_BAD, NULL},
    {"\xff\xfe", 2, FILE_PTR_BAD, NULL},
};

static void test_forms_of_file_ptr(void **state)
{
    const struct parse_case *c = parse_cases;
    size_t n = sizeof(parse_cases) / sizeof(parse_cases[0]), len;
    char text[FILE_PTR_TEXT];

    (void)state;
    for (; n > 0; n--, c++) {
        len = c->len != 0 ? c->len : strlen(c->data);
        assert_int_equal(file_ptr_parse((const uint8_t *)c->data, len, text),
                         c->kind);
        if (c->text != NULL) {
            assert_string_equal(text, c->text);
        }
    }
}

static void test_longest_text_fits(void **state)
{
    static uint8_t data[FILE_PTR_MAX + 1];
    char text[FILE_PTR_TEXT];
    size_t i;

    (void)state;
    memset(data, '/', sizeof(data));
    assert_int_equal(file_ptr_parse(data, FILE_PTR_MAX, text), FILE_PTR_PATH);
    assert_int_equal(strlen(text), FILE_PTR_MAX);
    assert_int_equal(file_ptr_parse(data, FILE_PTR_MAX + 1, text),
                     FILE_PTR_BAD);

    memcpy(data, "\xff\xfe/\0/", 6);
    for (i = 6; i < FILE_PTR_MAX; i += 2) {
        data[i] = 0xac; /* the euro sign: three bytes of UTF-8 */
        data[i + 1] = 0x20;
    }
    assert_int_equal(file_ptr_parse(data, FILE_PTR_MAX, text), FILE_PTR_PATH);
    assert_int_equal(strlen(text), 2 + (FILE_PTR_MAX - 6) / 2 * 3);
}

static struct map_config table[] = {
    {(char *)"\\\\srv\\sym", (char *)"/a"},
    {(char *)"\\\\srv\\sym\\deep\\", (char *)"/deep"},
    {(char *)"X:\\", (char *)"/x"},
    {(char *)"//other/share", (char *)"/o"},
};

struct map_case {
    const char *location;
    const char *root; /* NULL = refused */
    const char *rel;
};

static const struct map_case map_cases[] = {
    {"\\\\srv\\sym\\n\\k\\n", "/a", "n/k/n"},
    {"\\\\SRV\\Sym\\N\\k", "/a", "N/k"},
    {"//srv/sym/n", "/a", "n"},
    {"\\\\srv/sym\\n", "/a", "n"},
    {"\\\\srv\\sym\\deep\\n", "/deep", "n"},
    {"\\\\srv\\sym\\deeper\\n", "/a", "deeper/n"},
    {"\\\\?\\UNC\\srv\\sym\\n", "/a", "n"},
    {"\\\\?\\unc\\other\\share\\n", "/o", "n"},
    {"x:\\n", "/x", "n"},
    {"X:/n/m", "/x", "n/m"},
    {"\\\\?\\X:\\n", "/x", "n"},
    {".\\n\\m", "/base", "n/m"},
    {"n\\m", "/base", "n/m"},
    /* not at a component boundary, not mapped */
    {"\\\\srv\\symbols2\\n", NULL, NULL},
    {"\\\\srv\\n", NULL, NULL},
    {"Y:\\n", NULL, NULL},
    {"\\\\srv\\sym", NULL, NULL},
    {"\\\\srv\\sym\\", NULL, NULL},
    /* would leave the directory, or is no plain name */
    {"\\\\srv\\sym\\..\\n", NULL, NULL},
    {"\\\\srv\\sym\\a\\..\\..\\n", NULL, NULL},
    {"\\\\srv\\sym\\.\\n", NULL, NULL},
    {"\\\\srv\\sym\\\\n", NULL, NULL},
    {"\\\\srv\\sym\\n:stream", NULL, NULL},
    {"..\\n", NULL, NULL},
    {".\\..\\n", NULL, NULL},
    {"/etc/passwd", NULL, NULL},
    {"\\etc\\passwd", NULL, NULL},
    {"\\\\?\\etc\\passwd", NULL, NULL},
    {"X:n", NULL, NULL},
};

static void test_mapping_of_locations(void **state)
{
    const struct map_case *c = map_cases;
    size_t n = sizeof(map_cases) / sizeof(map_cases[0]);
    const char *root, *refused;
    char rel[FILE_PTR_TEXT];

    (void)state;
    for (; n > 0; n--, c++) {
        root = NULL;
        refused = config_map_location(table, sizeof(table) / sizeof(table[0]),
                                      "/base", c->location, &root, rel);
        if (c->root == NULL) {
            if (refused == NULL) {
                fail_msg("%s was mapped", c->location);
            }
            continue;
        }
        if (refused != NULL) {
            fail_msg("%s: %s", c->location, refused);
        }
        assert_string_equal(root, c->root);
        assert_string_equal(rel, c->rel);
    }
}

static void test_relative_needs_a_base(void **state)
{
    char rel[FILE_PTR_TEXT];
    const char *root;

    (void)state;
    assert_non_null(config_map_location(table, 0, NULL, "n\\m", &root, rel));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms_of_file_ptr),
        cmocka_unit_test(test_longest_text_fits),
        cmocka_unit_test(test_mapping_of_locations),
        cmocka_unit_test(test_relative_needs_a_base),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
