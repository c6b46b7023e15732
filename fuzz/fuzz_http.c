/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: requests of HTTP on one connection.  The first byte says in how
 * large parts they come, which must not change what is read; and what is read
 * has the form that RFC 9112 asks for.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/chunked.h"
#include "http/request_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OUT_MAX 65536

/* What was read, as text. */
struct out {
    char data[OUT_MAX];
    size_t size;
};

static void put(struct out *out, const char *data, size_t size)
{
    if (size < OUT_MAX - out->size) {
        memcpy(out->data + out->size, data, size);
        out->size += size;
    }
}

static void put_text(struct out *out, const char *text)
{
    put(out, text, strlen(text) + 1);
}

static void put_number(struct out *out, uint64_t number)
{
    char text[32];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    put_text(out, text);
}

static void check_text(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n' || *text == '\r' || *text == 0x7F ||
            (*text >= 0 && *text < ' ' && *text != '\t')) {
            abort();
        }
    }
}

static void put_head(struct out *out, const char *data,
                     const struct http_head *head)
{
    const char *p;

    check_text(data + head->path);
    put_number(out, (uint64_t)head->method);
    put_text(out, data + head->path);
    put_text(out, head->query > 0 ? data + head->query : "none");
    put_number(out, head->closes + 2 * head->is_awaited);
    for (p = data + head->fields; *p != '\0'; p += strlen(p) + 1) {
        check_text(p);
        put_text(out, p);
    }
}

/* One request.  Returns how many bytes it takes, 0 if it is not whole, or its
 * refusal, negated. */
static long read_one(struct out *out, char *data, size_t size, size_t step)
{
    struct http_chunked chunked = {0};
    struct http_head head;
    enum http_chunked_result result = HTTP_CHUNKED_MORE;
    uint32_t seen = 0;
    size_t have, at, body, n;
    int end = 0, status;

    for (have = 0; end == 0 && have < size;) {
        have = size - have < step ? size : have + step;
        end = http_head_find_end(data, have, &seen);
    }
    if (end <= 0) {
        return end;
    }
    status = http_head_parse(data, (size_t)end, &head);
    if (status != 0) {
        return -status;
    }
    put_head(out, data, &head);
    at = (size_t)end;
    if (!head.is_chunked) {
        put_number(out, head.length);
        if (head.length > size - at) {
            return 0;
        }
        put(out, data + at, (size_t)head.length);
        return (long)(at + (size_t)head.length);
    }
    for (body = 0; result == HTTP_CHUNKED_MORE && at < size;) {
        n = size - at < step ? size - at : step;
        memmove(data + end + body, data + at, n);
        at += n;
        body += n;
        result = http_chunked_read(&chunked, data + end, &body);
        if (chunked.size > body) {
            abort();
        }
    }
    put(out, data + end, chunked.size);
    if (result != HTTP_CHUNKED_DONE) {
        return result == HTTP_CHUNKED_MORE ? 0 : -400;
    }
    /* what follows goes back to where it was */
    at -= body - chunked.size;
    memmove(data + at, data + end + chunked.size, body - chunked.size);
    return (long)at;
}

/* All requests of the connection. */
static void read_all(struct out *out, const uint8_t *input, size_t size,
                     size_t step)
{
    char *data = malloc(size + 1);
    size_t at;
    long n = 1;

    if (data == NULL) {
        return;
    }
    memcpy(data, input, size);
    out->size = 0;
    for (at = 0; n > 0 && at < size; at += n > 0 ? (size_t)n : 0) {
        n = read_one(out, data + at, size - at, step);
    }
    put_number(out, (uint64_t)-n);
    free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct out whole, parts;

    if (size < 2 || size > HTTP_HEAD_MAX / 2) {
        return 0;
    }
    read_all(&whole, data + 1, size - 1, size);
    read_all(&parts, data + 1, size - 1, 1 + data[0] % 64);
    if (whole.size != parts.size ||
        memcmp(whole.data, parts.data, whole.size) != 0) {
        abort();
    }
    return 0;
}
