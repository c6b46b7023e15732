/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reader.h"

#include <stdlib.h>

#include "base/hex.h"
#include "base/utf8.h"
#include "escape_scan.h"

/* The open containers at a place: an index for each level. */
struct json_reader {
    struct json *json;
    char *p;
    char *end;
    char *begin;
    char *line_begin;
    unsigned line;
    size_t most;
    const char *reason;
    bool out_of_memory;
    unsigned depth;
    uint32_t open[JSON_DEPTH_MAX];
};

static bool fail_json(struct json_reader *reader, const char *reason)
{
    reader->reason = reason;
    return false;
}

static void reader_skip_some(struct json_reader *reader)
{
    for (; reader->p < reader->end; reader->p++) {
        if (*reader->p == '\n') {
            reader->line++;
            reader->line_begin = reader->p + 1;
        } else if (*reader->p != ' ' && *reader->p != '\t' &&
                   *reader->p != '\r') {
            return;
        }
    }
}

/* Most values have one blank before them, or none. */
static inline void reader_skip_blanks(struct json_reader *reader)
{
    if (reader->p < reader->end && *reader->p == ' ') {
        reader->p++;
    }
    if (reader->p < reader->end && (unsigned char)*reader->p <= ' ') {
        reader_skip_some(reader);
    }
}

static int reader_peek(const struct json_reader *reader)
{
    return reader->p < reader->end ? (unsigned char)*reader->p : -1;
}

/* Room for one more value at least. */
static __attribute__((noinline, cold)) bool grow(struct json_reader *reader)
{
    size_t room;
    struct json *json;
    struct json_value *values;

    json = reader->json;
    if (json->count >= reader->most) {
        return fail_json(reader, "too many values");
    }
    /* at first as much as a thread's own cache of malloc() has */
    room = json->room == 0 ? 64 : 2 * json->room;
    room = room < reader->most ? room : reader->most;
    values = realloc(json->values, room * sizeof(*values));
    if (values == NULL) {
        reader->out_of_memory = true;
        return fail_json(reader, "out of memory");
    }
    json->values = values;
    json->room = room;
    return true;
}

static inline struct json_value *reader_add_value(struct json_reader *reader,
                                                  enum json_type type,
                                                  const char *at, size_t size)
{
    struct json *json;
    struct json_value *v;

    json = reader->json;
    if (json->count == json->room && !grow(reader)) {
        return NULL;
    }
    v = &json->values[json->count++];
    v->at = (uint32_t)(at - reader->begin);
    v->size = (uint32_t)size;
    v->end = (uint32_t)json->count;
    v->type = type;
    return v;
}

/* The four digits at p, or -1. */
static int reader_hex4(const char *p, const char *end)
{
    int i, n, digit;

    if (end - p < 4) {
        return -1;
    }
    for (i = n = 0; i < 4; i++) {
        digit = hex_digit(p[i]);
        if (digit < 0) {
            return -1;
        }
        n = n << 4 | digit;
    }
    return n;
}

/* The escape at r->p, which is a backslash; NULL when it is none. */
static char *reader_escape(struct json_reader *reader, char *out)
{
    int c, low;
    const char *found;
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";

    if (reader->end - reader->p >= 2 && reader->p[1] != '\0' &&
        (found = strchr(from, reader->p[1])) != NULL) {
        *out++ = to[found - from];
        reader->p += 2;
        return out;
    }
    c = reader->end - reader->p >= 2 && reader->p[1] == 'u'
            ? reader_hex4(reader->p + 2, reader->end)
            : -1;
    if (c < 0) {
        fail_json(reader, "invalid escape");
        return NULL;
    }
    if (c >= 0xD800 && c < 0xE000) {
        low = reader->end - reader->p >= 12 && reader->p[6] == '\\' &&
                      reader->p[7] == 'u'
                  ? reader_hex4(reader->p + 8, reader->end)
                  : 0;
        c = (int)utf16_pair((uint32_t)c, (uint32_t)low);
        if (c == 0) {
            fail_json(reader, "lone surrogate in hex escape");
            return NULL;
        }
        reader->p += 6;
    }
    reader->p += 6;
    return out + utf8_encode(out, (uint32_t)c);
}

/* The length of the character at r->p; 0: there is none. */
static size_t reader_character(struct json_reader *reader)
{
    int n;
    uint32_t c;

    if (*reader->p >= 0x20 && *reader->p < 0x7F) {
        return 1;
    }
    n = utf8_decode(reader->p, (size_t)(reader->end - reader->p), &c);
    if (n < 0) {
        fail_json(reader, "invalid unicode code point");
    } else if (c < 0x20) {
        n = -1;
        fail_json(reader, "control character (\\u0000-\\u001F) found while "
                          "parsing a string");
    }
    return n < 0 ? 0 : (size_t)n;
}

static bool reader_string(struct json_reader *reader)
{
    size_t n;
    char *begin, *out;

    begin = ++reader->p;
    n = JSON_PLAIN_STEP;
    for (; n == JSON_PLAIN_STEP && reader->end - reader->p >= JSON_PLAIN_STEP;
         reader->p += n) {
        n = json_plain((const unsigned char *)reader->p);
    }
    for (out = reader->p; reader->p < reader->end && *reader->p != '"';) {
        if (*reader->p == '\\') {
            out = reader_escape(reader, out);
            if (out == NULL) {
                return false;
            }
            continue;
        }
        n = reader_character(reader);
        if (n == 0) {
            return false;
        }
        memmove(out, reader->p, n);
        out += n;
        reader->p += n;
    }
    if (reader->p == reader->end) {
        return fail_json(reader, "EOF while parsing a string");
    }
    reader->p++;
    return reader_add_value(reader, JSON_STRING, begin,
                            (size_t)(out - begin)) != NULL;
}

static bool reader_is_digit(const struct json_reader *reader)
{
    return reader->p < reader->end && *reader->p >= '0' && *reader->p <= '9';
}

static bool reader_digits(struct json_reader *reader)
{
    char *p;

    for (p = reader->p; p < reader->end && *p >= '0' && *p <= '9'; p++) {
    }
    if (p == reader->p) {
        return fail_json(reader, "invalid number");
    }
    reader->p = p;
    return true;
}

static bool reader_number(struct json_reader *reader)
{
    const char *begin;

    begin = reader->p;
    reader->p += *reader->p == '-';
    if (reader_peek(reader) == '0') {
        reader->p++;
        if (reader_is_digit(reader)) {
            return fail_json(reader, "invalid number");
        }
    } else if (!reader_digits(reader)) {
        return false;
    }
    if (reader_peek(reader) == '.') {
        reader->p++;
        if (!reader_digits(reader)) {
            return false;
        }
    }
    if (reader_peek(reader) == 'e' || reader_peek(reader) == 'E') {
        reader->p++;
        reader->p += reader_peek(reader) == '+' || reader_peek(reader) == '-';
        if (!reader_digits(reader)) {
            return false;
        }
    }
    return reader_add_value(reader, JSON_NUMBER, begin,
                            (size_t)(reader->p - begin)) != NULL;
}

static bool reader_word(struct json_reader *reader, const char *text,
                        enum json_type type)
{
    size_t n;

    n = strlen(text);
    if ((size_t)(reader->end - reader->p) < n ||
        memcmp(reader->p, text, n) != 0) {
        return fail_json(reader, "expected ident");
    }
    reader->p += n;
    return reader_add_value(reader, type, reader->p - n, 0) != NULL;
}

/* The size of a number of Python that is none of JSON's, or 0. */
static size_t reader_nan_size(const struct json_reader *reader)
{
    static const char *const texts[] = {"NaN", "Infinity", "-Infinity"};
    size_t i, n;

    for (i = 0; reader->json->takes_nan && i < 3; i++) {
        n = strlen(texts[i]);
        if ((size_t)(reader->end - reader->p) >= n &&
            memcmp(reader->p, texts[i], n) == 0) {
            return n;
        }
    }
    return 0;
}

static bool reader_nan_or_number(struct json_reader *reader)
{
    size_t n = reader_nan_size(reader);

    if (n == 0) {
        return reader_number(reader);
    }
    reader->p += n;
    return reader_add_value(reader, JSON_NUMBER, reader->p - n, n) != NULL;
}

static bool reader_opened(struct json_reader *reader, enum json_type type)
{
    if (reader->depth == JSON_DEPTH_MAX) {
        return fail_json(reader, "recursion limit exceeded");
    }
    reader->open[reader->depth++] = (uint32_t)reader->json->count;
    return reader_add_value(reader, type, reader->p++, 0) != NULL;
}

/* The value at r->p; of an array or object only its beginning. */
static bool reader_value(struct json_reader *reader)
{
    switch (reader_peek(reader)) {
    case '"':
        return reader_string(reader);
    case '{':
        return reader_opened(reader, JSON_OBJECT);
    case '[':
        return reader_opened(reader, JSON_ARRAY);
    case 't':
        return reader_word(reader, "true", JSON_TRUE);
    case 'f':
        return reader_word(reader, "false", JSON_FALSE);
    case 'n':
        return reader_word(reader, "null", JSON_NULL);
    case '-':
        return reader_nan_or_number(reader);
    case -1:
        return fail_json(reader, "EOF while parsing a value");
    default:
        if (reader_is_digit(reader)) {
            return reader_number(reader);
        }
        return reader_nan_size(reader) > 0
                   ? reader_nan_or_number(reader)
                   : fail_json(reader, "expected value");
    }
}

/* The name of a member, and the colon after it. */
static bool reader_member(struct json_reader *reader)
{
    if (reader_peek(reader) != '"') {
        return fail_json(reader, "key must be a string");
    }
    if (!reader_string(reader)) {
        return false;
    }
    reader_skip_blanks(reader);
    if (reader_peek(reader) != ':') {
        return fail_json(reader, "expected `:`");
    }
    reader->p++;
    reader_skip_blanks(reader);
    return true;
}

/* Reads the part after a value or an opening bracket, up to the next value, or
 * to the end of the text, where the depth is 0. */
static bool reader_proceed(struct json_reader *reader, bool is_first)
{
    bool is_object;
    struct json_value *open;

    while (reader->depth > 0) {
        reader_skip_blanks(reader);
        open = &reader->json->values[reader->open[reader->depth - 1]];
        is_object = open->type == JSON_OBJECT;
        if (reader_peek(reader) == (is_object ? '}' : ']')) {
            reader->p++;
            reader->depth--;
            open->end = (uint32_t)reader->json->count;
            is_first = false;
            continue;
        }
        if (reader_peek(reader) == -1) {
            return fail_json(reader, is_object ? "EOF while parsing an object"
                                               : "EOF while parsing a list");
        }
        if (!is_first) {
            if (reader_peek(reader) != ',') {
                return fail_json(reader, is_object ? "expected `,` or `}`"
                                                   : "expected `,` or `]`");
            }
            reader->p++;
            reader_skip_blanks(reader);
        }
        open->size++;
        return !is_object || reader_member(reader);
    }
    return true;
}

static bool reader_read_all(struct json_reader *reader)
{
    unsigned depth;

    reader_skip_blanks(reader);
    do {
        depth = reader->depth;
        if (!reader_value(reader) ||
            !reader_proceed(reader, reader->depth > depth)) {
            return false;
        }
    } while (reader->depth > 0);
    reader_skip_blanks(reader);
    return true;
}

size_t json_read(struct json *json, char *text, size_t size, size_t most,
                 struct json_error *error)
{
    struct json_reader reader;

    json->text = reader.begin = reader.p = reader.line_begin = text;
    json->count = 0;
    reader.json = json;
    reader.end = size > 0 ? text + size : text; /* NULL + 0 is undefined */
    reader.line = 1;
    reader.most = most < UINT32_MAX ? most : UINT32_MAX;
    if (json->room > reader.most) {
        json->room = reader.most; /* of a text that might have more */
    }
    reader.depth = 0;
    reader.reason = "too large";
    reader.out_of_memory = false;
    if (size < UINT32_MAX && reader_read_all(&reader)) {
        return (size_t)(reader.p - text);
    }
    error->reason = reader.reason;
    error->at = (size_t)(reader.p - text);
    error->line = reader.line;
    error->column = (size_t)(reader.p - reader.line_begin) + 1;
    error->out_of_memory = reader.out_of_memory;
    return 0;
}

void json_free(struct json *json)
{
    free(json->values);
    memset(json, 0, sizeof(*json));
}

uint32_t json_member(const struct json *json, uint32_t object,
                     const char *name)
{
    uint32_t i, end;
    size_t size;

    if (json->values[object].type != JSON_OBJECT) {
        return 0;
    }
    size = strlen(name);
    end = json->values[object].end;
    for (i = object + 1; i < end; i = json->values[i + 1].end) {
        if (json->values[i].size == size &&
            memcmp(json_text(json, i), name, size) == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* Digits are read as a number, of which 64 bits count.  Returns false if one is
 * none. */
static bool reader_read_digits(const char *p, size_t size, uint64_t *number)
{
    uint64_t n;
    unsigned digit;
    const char *end;

    for (n = 0, end = p + size; p < end; p++) {
        digit = (unsigned char)*p - (unsigned)'0';
        if (digit > 9) {
            return false;
        }
        n = 10 * n + digit;
    }
    *number = n;
    return true;
}

enum json_integer json_integer(const struct json *json, uint32_t value,
                               uint64_t *number)
{
    size_t i;
    uint64_t n;
    bool is_negative;
    const char *p;
    const struct json_value *v;

    v = &json->values[value];
    p = json->text + v->at;
    if (v->type != JSON_NUMBER) {
        return JSON_INTEGER_NONE;
    }
    is_negative = p[0] == '-';
    if (!reader_read_digits(p + is_negative, v->size - is_negative, &n)) {
        return JSON_INTEGER_NONE;
    }
    if (v->size >= 20) { /* fewer digits are less than 2^64 */
        for (i = is_negative, n = 0; i < v->size; i++) {
            if (__builtin_mul_overflow(n, (uint64_t)10, &n) ||
                __builtin_add_overflow(n, (uint64_t)(p[i] - '0'), &n)) {
                return JSON_INTEGER_BEYOND;
            }
        }
    }
    *number = n;
    return is_negative ? JSON_INTEGER_NEGATIVE : JSON_INTEGER_POSITIVE;
}
