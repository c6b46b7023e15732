/*
 * Copyright (C) the ngx_symcache authors
 *
 * JSON of requests and answers: what RFC 8259 takes and refuses, numbers
 * beyond what a double holds, and texts as Python's json.dumps() and Rust's
 * serde_json write them.
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

static struct json json;
static struct json_error error;
static char *text;

/* Reads a copy of exactly the size, so that a sanitizer sees every byte too
 * far. */
static size_t read_bytes(const char *data, size_t size, size_t most)
{
    free(text);
    text = malloc(size > 0 ? size : 1);
    assert_non_null(text);
    memcpy(text, data, size);
    return json_read(&json, text, size, most, &error);
}

static size_t read_text(const char *data)
{
    return read_bytes(data, strlen(data), 1000);
}

static void accepted(void **state)
{
    size_t i;
    static const char *const texts[] = {
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1.5e+10",
        "1E400",
        "-0.1",
        "123456789012345678901234567890",
        "\"\"",
        "[]",
        "{}",
        "[[]]",
        " \t\r\n[ 1 , 2 ]\n",
        "{\"a\":{},\"a\":[]}",
        "{\"\":0}",
        "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xC2\x80\x7F\"",
        "[1,{\"a\":[2,{\"b\":[]}]},3]"};

    (void)state;
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (read_text(texts[i]) != strlen(texts[i])) {
            fail_msg("%s: %s", texts[i], error.reason);
        }
        assert_int_equal(json.values[0].end, json.count);
    }
}

static void refused(void **state)
{
    size_t i;
    static const struct {
        const char *text;
        const char *reason;
        size_t at;
    } rows[] = {
        {"", "EOF while parsing a value", 0},
        {"  ", "EOF while parsing a value", 2},
        {"[", "EOF while parsing a list", 1},
        {"[1", "EOF while parsing a list", 2},
        {"[1 2]", "expected `,` or `]`", 3},
        {"[1,]", "expected value", 3},
        {"[,1]", "expected value", 1},
        {"]", "expected value", 0},
        {"[1}", "expected `,` or `]`", 2},
        {"{", "EOF while parsing an object", 1},
        {"{1:2}", "key must be a string", 1},
        {"{\"a\":1,}", "key must be a string", 7},
        {"{\"a\" 1}", "expected `:`", 5},
        {"{\"a\":}", "expected value", 5},
        {"{\"a\":1 \"b\":2}", "expected `,` or `}`", 7},
        {"tru", "expected ident", 0},
        {"nul", "expected ident", 0},
        {"NaN", "expected value", 0},
        {"Infinity", "expected value", 0},
        {"+1", "expected value", 0},
        {"01", "invalid number", 1},
        {"-", "invalid number", 1},
        {"1.", "invalid number", 2},
        {".5", "expected value", 0},
        {"1e", "invalid number", 2},
        {"1e+", "invalid number", 3},
        {"'a'", "expected value", 0},
        {"\"a", "EOF while parsing a string", 2},
        {"\"a\tb\"", "control character (\\u0000-\\u001F) found "
                     "while parsing a string", 2},
        {"\"12345678\n\"", "control character (\\u0000-\\u001F) found "
                     "while parsing a string", 9},
        {"\"\\x\"", "invalid escape", 1},
        {"\"\\", "invalid escape", 1},
        {"\"\\u12", "invalid escape", 1},
        {"\"\\u12g4\"", "invalid escape", 1},
        {"\"\\ud800\"", "lone surrogate in hex escape", 1},
        {"\"\\ud800\\u0041\"", "lone surrogate in hex escape", 1},
        {"\"\\udc00\"", "lone surrogate in hex escape", 1},
        {"\"\\ud83d\\ude\"", "lone surrogate in hex escape", 1},
        {"\"\xFF\"", "invalid unicode code point", 1},
        {"\"\xC0\x80\"", "invalid unicode code point", 1},
        {"\"\xED\xA0\x80\"", "invalid unicode code point", 1},
        {"\"\xF4\x90\x80\x80\"", "invalid unicode code point", 1},
        {"\"a\xC3\"", "invalid unicode code point", 2},
        {"\xEF\xBB\xBF{}", "expected value", 0},
    };

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (read_text(rows[i].text) != 0) {
            fail_msg("%s: accepted", rows[i].text);
        }
        if (strcmp(error.reason, rows[i].reason) != 0 ||
            error.at != rows[i].at) {
            fail_msg("%s: %s at %zu", rows[i].text, error.reason, error.at);
        }
    }
    assert_int_equal(read_bytes("[\"a\0b\"]", 7, 10), 0);
    assert_string_equal(error.reason,
                        "control character (\\u0000-\\u001F) found "
                     "while parsing a string");
    assert_int_equal(read_bytes("\0", 1, 10), 0);
}

static void places(void **state)
{
    (void)state;
    assert_int_equal(read_text("{\n \"a\\n\": 1,\r\n  x}"), 0);
    assert_int_equal(error.line, 3);
    assert_int_equal(error.column, 3);
    assert_int_equal(read_text("[1] x"), 4);
    assert_int_equal(read_text("1 2"), 2);
}

static void strings(void **state)
{
    (void)state;
    read_text("[\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20AC\\ud83d\\ude00z\","
              "\"\\u0000\",{\"m\":\"v\"}]");
    assert_int_equal(json.values[0].size, 3);
    assert_true(json_is(&json, 1,
                        "a\"\\/\b\f\n\r\t\xC3\xA9\xE2\x82\xAC"
                        "\xF0\x9F\x98\x80z"));
    assert_int_equal(json.values[2].size, 1);
    assert_int_equal(json_text(&json, 2)[0], '\0');
    assert_false(json_is(&json, 2, ""));
    assert_int_equal(json.values[3].type, JSON_OBJECT);
    assert_int_equal(json.values[3].size, 1);
    assert_true(json_is(&json, 4, "m"));
    assert_true(json_is(&json, 5, "v"));
    assert_false(json_is(&json, 3, "m"));
    assert_int_equal(json.count, 6);
}

static void integers(void **state)
{
    size_t i;
    uint64_t n;
    static const struct {
        const char *text;
        enum json_integer kind;
        uint64_t value;
    } rows[] = {
        {"0", JSON_INTEGER_POSITIVE, 0},
        {"-0", JSON_INTEGER_NEGATIVE, 0},
        {"-1", JSON_INTEGER_NEGATIVE, 1},
        {"9007199254740993", JSON_INTEGER_POSITIVE, 9007199254740993},
        {"9999999999999999999", JSON_INTEGER_POSITIVE, 9999999999999999999U},
        {"-9999999999999999999", JSON_INTEGER_NEGATIVE, 9999999999999999999U},
        {"10000000000000000000", JSON_INTEGER_POSITIVE, 10000000000000000000U},
        {"18446744073709551615", JSON_INTEGER_POSITIVE, UINT64_MAX},
        {"18446744073709551616", JSON_INTEGER_BEYOND, 0},
        {"-18446744073709551616", JSON_INTEGER_BEYOND, 0},
        {"99999999999999999999999999", JSON_INTEGER_BEYOND, 0},
        {"18446744073709551616.5", JSON_INTEGER_NONE, 0},
        {"1.0", JSON_INTEGER_NONE, 0},
        {"1e3", JSON_INTEGER_NONE, 0},
        {"\"1\"", JSON_INTEGER_NONE, 0},
        {"true", JSON_INTEGER_NONE, 0},
    };

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(read_text(rows[i].text), strlen(rows[i].text));
        n = 0;
        assert_int_equal(json_integer(&json, 0, &n), rows[i].kind);
        assert_true(n == rows[i].value);
    }
}

static void limits(void **state)
{
    char deep[2 * (JSON_DEPTH_MAX + 1)];

    (void)state;
    memset(deep, '[', JSON_DEPTH_MAX + 1);
    memset(deep + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    assert_int_equal(read_bytes(deep, sizeof(deep), 1000), 0);
    assert_string_equal(error.reason, "recursion limit exceeded");
    assert_int_equal(error.at, JSON_DEPTH_MAX);
    assert_int_equal(read_bytes(deep + 1, sizeof(deep) - 2, 1000),
                     sizeof(deep) - 2);
    assert_int_equal(read_bytes("[0,0,0]", 7, 4), 7);
    /* also in an array that has held more */
    assert_int_equal(read_bytes("[0,0,0]", 7, 3), 0);
    assert_string_equal(error.reason, "too many values");
    assert_int_equal(read_bytes("[0,0,0]", 7, 4), 7);
}

/* A list of one string, as both write it. */
static void written(const char *data, size_t size, const char *compact,
                    const char *python)
{
    struct json_writer w = {0};

    json_write_open(&w, '[');
    json_write_string(&w, data, size);
    json_write_close(&w, ']');
    assert_int_equal(w.size, strlen(compact));
    assert_memory_equal(w.data, compact, w.size);
    json_write_reset(&w);
    w.is_python = true;
    json_write_open(&w, '[');
    json_write_string(&w, data, size);
    json_write_close(&w, ']');
    assert_int_equal(w.size, strlen(python));
    assert_memory_equal(w.data, python, w.size);
    free(w.data);
}

static void writing(void **state)
{
    (void)state;
    written("", 0, "[\"\"]", "[\"\"]");
    written("C:\\a \"b\"/c", 10, "[\"C:\\\\a \\\"b\\\"/c\"]",
            "[\"C:\\\\a \\\"b\\\"/c\"]");
    written("\0\1\b\t\n\v\f\r\x1F\x7F", 10,
            "[\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\x7F\"]",
            "[\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\\u007f\"]");
    written("aaaaaaaaa\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 18,
            "[\"aaaaaaaaa\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"]",
            "[\"aaaaaaaaa\\u00e9\\u20ac\\ud83d\\ude00\"]");
    written("a\xFF\xC3", 3, "[\"a\xEF\xBF\xBD\xEF\xBF\xBD\"]",
            "[\"a\\ufffd\\ufffd\"]");
}

/* A byte or character that is written in another way, at each place of
 * strings of each size: nothing else in them changes, and they are read as
 * they were. */
static void sizes(void **state)
{
    size_t k, n, at, size;
    char data[64], want[80];
    static const struct {
        const char *text, *compact;
    } rows[] = {
        {"", ""},
        {"\"", "\\\""},
        {"\\", "\\\\"},
        {"\n", "\\n"},
        {"\x01", "\\u0001"},
        {"\x7F", "\x7F"},
        {"\xC3\xA9", "\xC3\xA9"},
        {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
    };
    struct json_writer w = {0};

    (void)state;
    for (n = 0; n <= 40; n++) {
        for (at = 0; at <= n; at++) {
            for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
                size = (size_t)snprintf(
                    data, sizeof(data), "%.*s%s%.*s", (int)at,
                    "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQR",
                    rows[k].text, (int)(n - at),
                    "0123456789!#$%&()*+,-./:;<=>?@[]^_{|}~0123456");
                snprintf(want, sizeof(want), "\"%.*s%s%.*s\"", (int)at,
                         data, rows[k].compact, (int)(n - at),
                         data + size - (n - at));
                json_write_reset(&w);
                json_write_string(&w, data, size);
                assert_int_equal(w.size, strlen(want));
                assert_memory_equal(w.data, want, w.size);
                assert_int_equal(read_bytes(w.data, w.size, 1), w.size);
                assert_int_equal(json.values[0].size, size);
                assert_memory_equal(json_text(&json, 0), data, size);
            }
        }
    }
    free(w.data);
}

static void number(struct json_writer *w, uint64_t n)
{
    char want[64];

    json_write_reset(w);
    json_write_number(w, n);
    json_write_hex(w, n);
    snprintf(want, sizeof(want), "%llu,\"0x%llx\"", (unsigned long long)n,
             (unsigned long long)n);
    assert_int_equal(w->size, strlen(want));
    assert_memory_equal(w->data, want, w->size);
}

/* Numbers of each number of digits, with all pairs of digits. */
static void numbers(void **state)
{
    unsigned i;
    uint64_t n;
    struct json_writer w = {0};

    (void)state;
    for (i = 0; i < 128; i++) {
        number(&w, ((uint64_t)1 << i / 2) - i % 2);
    }
    for (n = 1; n < UINT64_MAX / 10; n *= 10) {
        for (i = 0; i < 100; i++) {
            number(&w, 10 * n + i * n / 10);
        }
        number(&w, n - 1);
    }
    for (n = 0; n < 65536 + 16; n++) {
        number(&w, n);
        number(&w, n << 32 | n);
    }
    free(w.data);
}

static void separators(void **state)
{
    int i;
    size_t at, size;
    struct json_writer w = {0};
    static const char *const expected[] = {
        "{\"a\":[1,\"0x0\",true],\"b\":{},\"c\":\"0xffffffffffffffff\","
        "\"d\":18446744073709551615,\"e\":{\"f\":[1,2]},"
        "\"e\":0}",
        "{\"a\": [1, \"0x0\", true], \"b\": {}, "
        "\"c\": \"0xffffffffffffffff\", \"d\": 18446744073709551615, "
        "\"e\": {\"f\":[1, 2]}, \"e\": 0}"};

    (void)state;
    for (i = 0; i < 2; i++) {
        json_write_reset(&w);
        w.is_python = i == 1;
        json_write_open(&w, '{');
        json_write_key(&w, "a");
        json_write_open(&w, '[');
        json_write_raw(&w, "1", 1);
        json_write_hex(&w, 0);
        json_write_bool(&w, true);
        json_write_close(&w, ']');
        json_write_key(&w, "b");
        json_write_open(&w, '{');
        json_write_close(&w, '}');
        json_write_key(&w, "c");
        json_write_hex(&w, UINT64_MAX);
        json_write_key(&w, "d");
        json_write_number(&w, UINT64_MAX);
        at = w.size + 1 + (size_t)i; /* after the comma */
        json_write_key(&w, "e");
        size = w.size - at;
        json_write_begun(&w, "{\"f\":[", 6);
        json_write_number(&w, 1);
        json_write_number(&w, 2);
        json_write_close(&w, ']');
        json_write_close(&w, '}');
        json_write_begun_again(&w, at, size);
        json_write_number(&w, 0);
        json_write_close(&w, '}');
        assert_false(w.has_failed);
        assert_int_equal(w.size, strlen(expected[i]));
        assert_memory_equal(w.data, expected[i], w.size);
    }
    free(w.data);
}

int main(void)
{
    int rc;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted), cmocka_unit_test(refused),
        cmocka_unit_test(places),   cmocka_unit_test(strings),
        cmocka_unit_test(integers), cmocka_unit_test(limits),
        cmocka_unit_test(writing),  cmocka_unit_test(sizes),
        cmocka_unit_test(numbers),  cmocka_unit_test(separators),
    };

    rc = cmocka_run_group_tests(tests, NULL, NULL);
    json_free(&json);
    free(text);
    return rc;
}
