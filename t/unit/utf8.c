/*
 * Copyright (C) the ngx_symcache authors
 *
 * UTF-8 against the Unicode Standard (version 15, section 3.9, tables 3-7 to
 * 3-11) and against the C library's iconv().
 */

#include <stdarg.h>
#include <setjmp.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <iconv.h>
#include <cmocka.h>
#include "base/utf8.h"

/* What iconv() makes of one code point; 0 if it is a surrogate. */
static size_t by_iconv(iconv_t cd, uint32_t c, char out[8])
{
    char in[4] = {(char)(c >> 24), (char)(c >> 16), (char)(c >> 8), (char)c};
    char *from = in, *to = out;
    size_t left = sizeof(in), room = 8;

    if (iconv(cd, &from, &left, &to, &room) == (size_t)-1) {
        iconv(cd, NULL, NULL, NULL, NULL);
        return 0;
    }
    return 8 - room;
}

static void all_characters(void **state)
{
    iconv_t cd = iconv_open("UTF-8", "UCS-4BE");
    char expected[8], out[4];
    size_t n, part;
    uint32_t c, got;

    assert_true(cd != (iconv_t)-1);
    for (c = 0; c < 0x110000; c++) {
        n = by_iconv(cd, c, expected);
        if (n == 0) {
            n = 3;
            memcpy(expected, "\xEF\xBF\xBD", n);
        }
        if (utf8_encode(out, c) != n || memcmp(out, expected, n) != 0) {
            fail_msg("U+%04X is written otherwise", c);
        }
        if (utf8_decode(expected, n, &got) != (int)n ||
            got != (c < 0xD800 || c > 0xDFFF ? c : 0xFFFD)) {
            fail_msg("U+%04X is read as U+%04X", c, got);
        }
        for (part = 1; part < n; part++) {
            if (utf8_decode(expected, part, &got) != -(int)part) {
                fail_msg("U+%04X is whole after %zu bytes", c, part);
            }
        }
    }
    iconv_close(cd);
    assert_int_equal(utf8_encode(out, 0x110000), 3);
    assert_memory_equal(out, "\xEF\xBF\xBD", 3);
    assert_int_equal(utf8_encode(out, UINT32_MAX), 3);
}

/* Table 3-7: what may follow each lead byte as second byte. */
static bool well_formed(unsigned lead, unsigned second)
{
    return lead == 0xE0   ? second >= 0xA0 && second <= 0xBF
           : lead == 0xED ? second >= 0x80 && second <= 0x9F
           : lead == 0xF0 ? second >= 0x90 && second <= 0xBF
           : lead == 0xF4 ? second >= 0x80 && second <= 0x8F
                          : lead >= 0xC2 && lead <= 0xF4 && second >= 0x80 &&
                                second <= 0xBF;
}

static void all_pairs(void **state)
{
    unsigned lead, second;
    unsigned char text[4] = {0, 0, 0xBF, 0xBF};
    uint32_t c;
    int n;

    for (lead = 0x80; lead < 0x100; lead++) {
        for (second = 0; second < 0x100; second++) {
            text[0] = (unsigned char)lead;
            text[1] = (unsigned char)second;
            n = utf8_decode(text, sizeof(text), &c);
            if ((n > 0) != well_formed(lead, second) ||
                (n < 0 && (n != -1 || c != 0xFFFD))) {
                fail_msg("%02X %02X: %d, U+%04X", lead, second, n, c);
            }
        }
    }
}

/* Tables 3-8 to 3-11: one "?" for each U+FFFD. */
static void broken(void **state)
{
    static const struct {
        const char *text, *expected;
        size_t valid;
    } cases[] = {
        {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", "????????A", 0},
        {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", "????????A", 0},
        {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", "?????A??B", 0},
        {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "????A", 0},
        {"12345678\xC3\xA4z\x80", "12345678az?", 11},
        {"1234567\xC3\xA4", "1234567a", 9},
        {"1234567\xC3", "1234567?", 7},
        {"", "", 0},
    };
    char out[64];
    size_t i, at, len;
    uint32_t c;
    char *to;
    int n;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        len = strlen(cases[i].text);
        to = out;
        for (at = 0; at < len; at += (size_t)abs(n)) {
            n = utf8_decode(cases[i].text + at, len - at, &c);
            *to++ = c == 0xFFFD ? '?' : c < 0x80 ? (char)c : 'a';
        }
        *to = '\0';
        assert_string_equal(out, cases[i].expected);
        assert_int_equal(utf8_valid(cases[i].text, len), cases[i].valid);
    }
}

/* One byte that is not ASCII, at each place of texts of many sizes. */
static void ascii(void **state)
{
    char text[200];
    size_t size, at;

    memset(text, 'a', sizeof(text));
    assert_int_equal(utf8_ascii(text, 0), 0);
    for (size = 1; size < sizeof(text); size++) {
        for (at = 0; at < size; at++) {
            text[at] = '\x80';
            assert_int_equal(utf8_ascii(text, size), at);
            text[at] = 'a';
        }
        assert_int_equal(utf8_ascii(text, size), size);
    }
}

/* Unicode 15, section 3.9: the pairs of table 3-4, and the ends of ranges. */
static void pairs(void **state)
{
    static const struct {
        uint32_t first, second, expected;
    } cases[] = {
        {0xD800, 0xDC00, 0x10000},  {0xD800, 0xDF02, 0x10302},
        {0xDBFF, 0xDFFF, 0x10FFFF}, {0xD83D, 0xDE00, 0x1F600},
        {0xD7FF, 0xDC00, 0},        {0xDC00, 0xDC00, 0},
        {0xD800, 0xDBFF, 0},        {0xD800, 0xE000, 0},
        {0xD800, UINT32_MAX, 0},    {'a', 'b', 0},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(utf16_pair(cases[i].first, cases[i].second),
                         cases[i].expected);
    }
}

static void mends(void **state)
{
    char text[] = "a\xC3\xA4\xC3 \xC2\x85\xE2\x82\xAC\xF0\x9F\x98";

    utf8_mend(text);
    assert_string_equal(text, "a\xC3\xA4? ??\xE2\x82\xAC???");
}

/* Each byte at each place of a text, by the C library's words for it. */
static void printable(void **state)
{
    char text[19];
    size_t at, size;
    int c;

    for (size = 0; size <= sizeof(text); size++) {
        memset(text, 'x', sizeof(text));
        assert_true(utf8_is_printable(text, size));
        for (at = 0; at < size; at++) {
            for (c = 0; c < 256; c++) {
                text[at] = (char)c;
                assert_int_equal(utf8_is_printable(text, size),
                                 isascii(c) && isprint(c));
            }
            text[at] = 'x';
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_characters), cmocka_unit_test(all_pairs),
        cmocka_unit_test(broken),         cmocka_unit_test(ascii),
        cmocka_unit_test(pairs),          cmocka_unit_test(mends),
        cmocka_unit_test(printable),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
