/*
 * Copyright (C) the ngx_symcache authors
 *
 * Heads and chunks of requests against RFC 9112: what is read from good ones,
 * and the forms that let two servers disagree about where a request ends.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "http/chunked.h"
#include "http/request_head.h"

#define GET "GET / HTTP/1.1\r\n"
#define HOST "Host: h\r\n"

/* What becomes of a head: 0, 200 or the status of its refusal. */
static int read_head(const char *text, size_t size, char *data,
                     struct http_head *head)
{
    uint32_t seen = 0;
    int n, status;

    memcpy(data, text, size);
    n = http_head_find_end(data, size, &seen);
    if (n <= 0) {
        return -n;
    }
    status = http_head_parse(data, (size_t)n, head);
    return status == 0 ? 200 : status;
}

static void good(void **state)
{
    static const char text[] =
        "POST /a/b%20c?x=1&y=%3F HTTP/1.1\r\n"
        "hOST:h\r\n"
        "Empty:\r\n"
        "X-Blanks: \t a b\t \r\n"
        "content-LENGTH: 0012\r\n"
        "X-Blanks: second\r\n"
        "Connection: keep-alive , Close\r\n"
        "Expect: 100-Continue\r\n\r\nbody";
    char data[sizeof(text)];
    struct http_head head;

    assert_int_equal(read_head(text, sizeof(text) - 1, data, &head), 200);
    assert_int_equal(head.method, HTTP_POST);
    assert_string_equal(data + head.path, "/a/b%20c");
    assert_string_equal(data + head.query, "x=1&y=%3F");
    assert_int_equal(head.length, 12);
    assert_true(head.closes);
    assert_true(head.is_awaited);
    assert_false(head.is_chunked);
    assert_string_equal(http_head_find(data, &head, "host"), "h");
    assert_string_equal(http_head_find(data, &head, "EMPTY"), "");
    assert_string_equal(http_head_find(data, &head, "x-blanks"), "a b");
    assert_null(http_head_find(data, &head, "X"));
    assert_memory_equal(data + sizeof(text) - 5, "body", 4);
}

static void targets(void **state)
{
    static const struct {
        const char *line, *path, *query;
        enum http_method method;
    } cases[] = {
        {"GET / HTTP/1.1", "/", NULL, HTTP_GET},
        {"HEAD /? HTTP/1.1", "/", "", HTTP_HEAD},
        {"OPTIONS * HTTP/1.1", "*", NULL, HTTP_OPTIONS},
        {"get http://h:1/p?q?r HTTP/1.1", "/p", "q?r", HTTP_OTHER},
        {"GET HTTP://h?q HTTP/1.1", "", "q", HTTP_GET},
        {"GET /\xC3\xA4 HTTP/1.1", "/\xC3\xA4", NULL, HTTP_GET},
        {"M!#$%&'*+-.^_`|~1 / HTTP/1.9", "/", NULL, HTTP_OTHER},
    };
    char text[256], data[256];
    struct http_head head;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), "%s\r\n" HOST "\r\n", cases[i].line);
        assert_int_equal(read_head(text, strlen(text), data, &head), 200);
        assert_int_equal(head.method, cases[i].method);
        assert_string_equal(data + head.path, cases[i].path);
        assert_int_equal(head.query > 0, cases[i].query != NULL);
        if (cases[i].query != NULL) {
            assert_string_equal(data + head.query, cases[i].query);
        }
    }
}

#define CASE(text, status)                                                    \
    {                                                                         \
        text, sizeof(text) - 1, status                                        \
    }

static const struct {
    const char *text;
    size_t size;
    int status;
} refused[] = {
    CASE("", 0),
    CASE(GET HOST "\r", 0),
    CASE("GET / HTTP/1.0\r\n\r\n", 200),
    CASE(GET "\r\n", 400), /* 3.2: no Host */
    CASE(GET HOST HOST "\r\n", 400),
    CASE("GET / HTTP/1.1\n" HOST "\r\n", 400), /* 2.2: a bare LF, CR */
    CASE(GET HOST "\n", 400),
    CASE(GET HOST "A: b\rc\r\n\r\n", 400),
    CASE(GET HOST "A: b\r\r\n\r\n", 400),
    CASE(GET " A: b\r\n" HOST "\r\n", 400), /* a blank before the fields */
    CASE(GET HOST "A: b\r\n c\r\n\r\n", 400), /* 5.2: folded */
    CASE(GET HOST "A : b\r\n\r\n", 400),      /* 5.1: before the colon */
    CASE(GET HOST "A\r\n\r\n", 400),
    CASE(GET HOST ": b\r\n\r\n", 400),
    CASE(GET HOST "A\0: b\r\n\r\n", 400),
    CASE(GET HOST "A: \0b\r\n\r\n", 400),
    CASE(GET HOST "A: \x7F\r\n\r\n", 400),
    CASE(GET HOST "\xC3\xA4: b\r\n\r\n", 400),
    CASE(GET HOST "A: \xC3\xA4\r\n\r\n", 200),
    CASE("GET  / HTTP/1.1\r\n" HOST "\r\n", 400),
    CASE("GET /  HTTP/1.1\r\n" HOST "\r\n", 400),
    CASE("GET / x HTTP/1.1\r\n" HOST "\r\n", 400),
    CASE("GET /\0 HTTP/1.1\r\n" HOST "\r\n", 400),
    CASE("GET /\t HTTP/1.1\r\n" HOST "\r\n", 400),
    CASE("GET\t/ HTTP/1.1\r\n" HOST "\r\n", 400),
    CASE("GET / http/1.1\r\n" HOST "\r\n", 400),
    CASE("GET / HTTP/1.1 \r\n" HOST "\r\n", 400),
    CASE("GET / HTTP/1.12\r\n" HOST "\r\n", 400),
    CASE("GET / HTTP/1.x\r\n" HOST "\r\n", 505),
    CASE("GET / HTTP/0.9\r\n" HOST "\r\n", 505),
    CASE("PRI * HTTP/2.0\r\n\r\n", 505),
    CASE("GET /\r\n\r\n", 400), /* HTTP/0.9 */
    CASE("\x16\x03\x01\x02\n", 400), /* TLS */
    CASE(GET HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400),
    CASE(GET HOST "Content-Length: 1, 1\r\n\r\n", 400),
    CASE(GET HOST "Content-Length: +1\r\n\r\n", 400),
    CASE(GET HOST "Content-Length: -1\r\n\r\n", 400),
    CASE(GET HOST "Content-Length: 0x1\r\n\r\n", 400),
    CASE(GET HOST "Content-Length: 1 1\r\n\r\n", 400),
    CASE(GET HOST "Content-Length:\r\n\r\n", 400),
    CASE(GET HOST "Transfer-Encoding: CHUNKED\r\n\r\n", 200),
    CASE(GET HOST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
         400),
    CASE(GET HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
         400),
    CASE(GET HOST
         "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
         400),
    CASE("GET / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", 400),
    CASE(GET HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
    CASE(GET HOST "Transfer-Encoding: identity\r\n\r\n", 501),
    CASE(GET HOST "Transfer-Encoding: chunked;q=1\r\n\r\n", 501),
    CASE(GET HOST "Transfer-Encoding: \x0B" "chunked\r\n\r\n", 400),
};

static void forms(void **state)
{
    struct http_head head;
    char data[256];
    size_t i;
    int status;

    for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        status = read_head(refused[i].text, refused[i].size, data, &head);
        if (status != refused[i].status) {
            fail_msg("%zu, \"%s\": %d", i, refused[i].text, status);
        }
    }
}

static void lengths(void **state)
{
    static const struct {
        const char *text;
        uint64_t length;
    } cases[] = {
        {"1844674407370955160", 1844674407370955160u},
        {"18446744073709551615", UINT64_MAX},
        {"18446744073709551616", UINT64_MAX},
        {"184467440737095516160000000000", UINT64_MAX},
    };
    char text[128], data[128];
    struct http_head head;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), GET HOST "Content-Length: %s\r\n\r\n",
                 cases[i].text);
        assert_int_equal(read_head(text, strlen(text), data, &head), 200);
        assert_true(head.length == cases[i].length);
    }
}

/* A head ends nowhere but at its end, however it comes. */
static void parts(void **state)
{
    static const char text[] = GET HOST "\r\nX";
    uint32_t seen = 0;
    size_t size, end = sizeof(text) - 2;

    for (size = 0; size <= end + 1; size++) {
        if (size == end + 1) {
            seen = 0;
        }
        assert_int_equal(http_head_find_end(text, size, &seen),
                         size < end ? 0 : (int)end);
    }
}

static void long_heads(void **state)
{
    static char text[HTTP_HEAD_MAX + 5];
    uint32_t seen = 0;

    memset(text, 'a', sizeof(text));
    assert_int_equal(http_head_find_end(text, HTTP_HEAD_MAX - 1, &seen), 0);
    assert_int_equal(http_head_find_end(text, HTTP_HEAD_MAX, &seen), -431);
    memcpy(text + HTTP_HEAD_MAX - 4, "\r\n\r\n", 4);
    seen = 0;
    assert_int_equal(http_head_find_end(text, HTTP_HEAD_MAX, &seen),
                     HTTP_HEAD_MAX);
}

/* RFC 9112, 7.1; the body, and how many bytes are left over; -1: malformed,
 * -2: not whole. */
static const struct {
    const char *text;
    const char *body;
    int left;
} chunks[] = {
    {"0\r\n\r\n", "", 0},
    {"0\r\n\r\nGET", "", 3},
    {"5\r\nhello\r\n0\r\n\r\n", "hello", 0},
    {"5\r\nhello\r\n6\r\n world\r\n000\r\n\r\nx", "hello world", 1},
    {"A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789",
     0},
    {"5;a=\"b\";c\r\nhello\r\n0;last\r\nX: y\r\nZ: z\r\n\r\n", "hello", 0},
    {"5 \r\nhello\r\n0\r\n\r\n", "hello", 0},
    {"5\r\nhel", "hel", -2},
    {"5\r\nhello\r\n0\r\n", "hello", -2},
    {"\r\n", "", -1},
    {"5\nhello\r\n0\r\n\r\n", "", -1},
    {"5\r\nhello\n0\r\n\r\n", "hello", -1},
    {"5\r\nhello!\r\n0\r\n\r\n", "hello", -1},
    {"5\r\nhello\r\n0\r\n\n", "hello", -1},
    {"5\r\nhello\r\n0\r\nX: y\n\r\n", "hello", -1},
    {"5;a\nb\r\nhello\r\n0\r\n\r\n", "", -1},
    {"0x5\r\nhello\r\n0\r\n\r\n", "", -1},
    {"+5\r\nhello\r\n0\r\n\r\n", "", -1},
    {"-5\r\nhello\r\n0\r\n\r\n", "", -1},
    {" 5\r\nhello\r\n0\r\n\r\n", "", -1},
    {"5\r\rhello\r\n0\r\n\r\n", "", -1},
    {"10000000000000000\r\n", "", -1},
    {"00000000000000005\r\nhello\r\n0\r\n\r\n", "", -1},
};

static void check_chunks(size_t i, size_t step)
{
    struct http_chunked chunked = {0};
    enum http_chunked_result result = HTTP_CHUNKED_MORE;
    const char *text = chunks[i].text;
    size_t size = 0, at = 0, n, total = strlen(text);
    char data[128];

    while (at < total && result == HTTP_CHUNKED_MORE) {
        n = total - at < step ? total - at : step;
        memcpy(data + size, text + at, n);
        size += n;
        at += n;
        result = http_chunked_read(&chunked, data, &size);
    }
    if (result != (chunks[i].left == -1   ? HTTP_CHUNKED_MALFORMED
                   : chunks[i].left == -2 ? HTTP_CHUNKED_MORE
                                          : HTTP_CHUNKED_DONE) ||
        chunked.size != strlen(chunks[i].body) ||
        memcmp(data, chunks[i].body, chunked.size) != 0) {
        fail_msg("\"%s\" in steps of %zu", text, step);
    }
    if (result == HTTP_CHUNKED_DONE) {
        assert_int_equal(size - chunked.size + total - at, chunks[i].left);
    }
}

static void bodies(void **state)
{
    size_t i, step;

    for (i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
        for (step = 1; step <= strlen(chunks[i].text); step++) {
            check_chunks(i, step);
        }
    }
}

/* What nobody reads has an end. */
static void long_extensions(void **state)
{
    struct http_chunked chunked = {0};
    char data[3] = "1;x";
    size_t i, size = 3;

    for (i = 0; i < 100000; i++) {
        if (http_chunked_read(&chunked, data, &size) ==
            HTTP_CHUNKED_MALFORMED) {
            break;
        }
        data[0] = 'x';
        size = 1;
    }
    assert_true(i > 1000 && i < 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good),       cmocka_unit_test(targets),
        cmocka_unit_test(forms),      cmocka_unit_test(lengths),
        cmocka_unit_test(parts),      cmocka_unit_test(long_heads),
        cmocka_unit_test(bodies),     cmocka_unit_test(long_extensions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
