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

static bool fail_json(struct json_reader *r, const char *reason)
{
    r->reason = reason;
    return false;
}

static void skip_some(struct json_reader *r)
{
    for (; r->p < r->end; r->p++) {
        if (*r->p == '\n') {
            r->line++;
            r->line_begin = r->p + 1;
        } else if (*r->p != ' ' && *r->p != '\t' && *r->p != '\r') {
            return;
        }
    }
}

/* Most values have one blank before them, or none. */
static inline void skip_blanks(struct json_reader *r)
{
    if (r->p < r->end && *r->p == ' ') {
        r->p++;
    }
    if (r->p < r->end && (unsigned char)*r->p <= ' ') {
        skip_some(r);
    }
}

static int peek_character(const struct json_reader *r)
{
    return r->p < r->end ? (unsigned char)*r->p : -1;
}

/* Room for one more value at least. */
static __attribute__((noinline, cold)) bool grow(struct json_reader *r)
{
    size_t room;
    struct json *json;
    struct json_value *values;

    json = r->json;
    if (json->count >= r->most) {
        return fail_json(r, "too many values");
    }
    /* at first as much as a thread's own cache of malloc() has */
    room = json->room == 0 ? 64 : 2 * json->room;
    room = room < r->most ? room : r->most;
    values = realloc(json->values, room * sizeof(*values));
    if (values == NULL) {
        r->out_of_memory = true;
        return fail_json(r, "out of memory");
    }
    json->values = values;
    json->room = room;
    return true;
}

static inline struct json_value *add_value(struct json_reader *r,
                                           enum json_type type, const char *at,
                                           size_t size)
{
    struct json *json;
    struct json_value *value;

    json = r->json;
    if (json->count == json->room && !grow(r)) {
        return NULL;
    }
    value = &json->values[json->count++];
    value->at = (uint32_t)(at - r->begin);
    value->size = (uint32_t)size;
    value->end = (uint32_t)json->count;
    value->type = type;
    return value;
}

/* The four digits at p, or -1. */
static int hex4(const char *p, const char *end)
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
static char *escape(struct json_reader *r, char *out)
{
    int c, low;
    const char *found;
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";

    if (r->end - r->p >= 2 && r->p[1] != '\0' &&
        (found = strchr(from, r->p[1])) != NULL) {
        *out++ = to[found - from];
        r->p += 2;
        return out;
    }
    c = r->end - r->p >= 2 && r->p[1] == 'u' ? hex4(r->p + 2, r->end) : -1;
    if (c < 0) {
        fail_json(r, "invalid escape");
        return NULL;
    }
    if (c >= 0xD800 && c < 0xE000) {
        low = r->end - r->p >= 12 && r->p[6] == '\\' && r->p[7] == 'u'
                  ? hex4(r->p + 8, r->end)
                  : 0;
        c = (int)utf16_pair((uint32_t)c, (uint32_t)low);
        if (c == 0) {
            fail_json(r, "lone surrogate in hex escape");
            return NULL;
        }
        r->p += 6;
    }
    r->p += 6;
    return out + utf8_encode(out, (uint32_t)c);
}

/* The length of the character at r->p; 0: there is none. */
static size_t character(struct json_reader *r)
{
    int n;
    uint32_t c;

    if (*r->p >= 0x20 && *r->p < 0x7F) {
        return 1;
    }
    n = utf8_decode(r->p, (size_t)(r->end - r->p), &c);
    if (n < 0) {
        fail_json(r, "invalid unicode code point");
    } else if (c < 0x20) {
        n = -1;
        fail_json(r, "control character (\\u0000-\\u001F) found while "
                     "parsing a string");
    }
    return n < 0 ? 0 : (size_t)n;
}

static bool string(struct json_reader *r)
{
    size_t n;
    char *begin, *out;

    begin = ++r->p;
    n = JSON_PLAIN_STEP;
    for (; n == JSON_PLAIN_STEP && r->end - r->p >= JSON_PLAIN_STEP;
         r->p += n) {
        n = json_plain((const unsigned char *)r->p);
    }
    for (out = r->p; r->p < r->end && *r->p != '"';) {
        if (*r->p == '\\') {
            out = escape(r, out);
            if (out == NULL) {
                return false;
            }
            continue;
        }
        n = character(r);
        if (n == 0) {
            return false;
        }
        memmove(out, r->p, n);
        out += n;
        r->p += n;
    }
    if (r->p == r->end) {
        return fail_json(r, "EOF while parsing a string");
    }
    r->p++;
    return add_value(r, JSON_STRING, begin, (size_t)(out - begin)) != NULL;
}

static bool is_digit(const struct json_reader *r)
{
    return r->p < r->end && *r->p >= '0' && *r->p <= '9';
}

static bool digits(struct json_reader *r)
{
    char *p;

    for (p = r->p; p < r->end && *p >= '0' && *p <= '9'; p++) {
    }
    if (p == r->p) {
        return fail_json(r, "invalid number");
    }
    r->p = p;
    return true;
}

static bool number(struct json_reader *r)
{
    const char *begin;

    begin = r->p;
    r->p += *r->p == '-';
    if (peek_character(r) == '0') {
        r->p++;
        if (is_digit(r)) {
            return fail_json(r, "invalid number");
        }
    } else if (!digits(r)) {
        return false;
    }
    if (peek_character(r) == '.') {
        r->p++;
        if (!digits(r)) {
            return false;
        }
    }
    if (peek_character(r) == 'e' || peek_character(r) == 'E') {
        r->p++;
        r->p += peek_character(r) == '+' || peek_character(r) == '-';
        if (!digits(r)) {
            return false;
        }
    }
    return add_value(r, JSON_NUMBER, begin, (size_t)(r->p - begin)) != NULL;
}

static bool word(struct json_reader *r, const char *text, enum json_type type)
{
    size_t n;

    n = strlen(text);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, text, n) != 0) {
        return fail_json(r, "expected ident");
    }
    r->p += n;
    return add_value(r, type, r->p - n, 0) != NULL;
}

/* The size of a number of Python that is none of JSON's, or 0. */
static size_t nan_size(const struct json_reader *r)
{
    static const char *const texts[] = {"NaN", "Infinity", "-Infinity"};
    size_t i, n;

    for (i = 0; r->json->takes_nan && i < 3; i++) {
        n = strlen(texts[i]);
        if ((size_t)(r->end - r->p) >= n && memcmp(r->p, texts[i], n) == 0) {
            return n;
        }
    }
    return 0;
}

static bool nan_or_number(struct json_reader *r)
{
    size_t n = nan_size(r);

    if (n == 0) {
        return number(r);
    }
    r->p += n;
    return add_value(r, JSON_NUMBER, r->p - n, n) != NULL;
}

static bool opened(struct json_reader *r, enum json_type type)
{
    if (r->depth == JSON_DEPTH_MAX) {
        return fail_json(r, "recursion limit exceeded");
    }
    r->open[r->depth++] = (uint32_t)r->json->count;
    return add_value(r, type, r->p++, 0) != NULL;
}

/* The value at r->p; of an array or object only its beginning. */
static bool value(struct json_reader *r)
{
    switch (peek_character(r)) {
    case '"':
        return string(r);
    case '{':
        return opened(r, JSON_OBJECT);
    case '[':
        return opened(r, JSON_ARRAY);
    case 't':
        return word(r, "true", JSON_TRUE);
    case 'f':
        return word(r, "false", JSON_FALSE);
    case 'n':
        return word(r, "null", JSON_NULL);
    case '-':
        return nan_or_number(r);
    case -1:
        return fail_json(r, "EOF while parsing a value");
    default:
        if (is_digit(r)) {
            return number(r);
        }
        return nan_size(r) > 0 ? nan_or_number(r)
                               : fail_json(r, "expected value");
    }
}

/* The name of a member, and the colon after it. */
static bool member(struct json_reader *r)
{
    if (peek_character(r) != '"') {
        return fail_json(r, "key must be a string");
    }
    if (!string(r)) {
        return false;
    }
    skip_blanks(r);
    if (peek_character(r) != ':') {
        return fail_json(r, "expected `:`");
    }
    r->p++;
    skip_blanks(r);
    return true;
}

/* Reads the part after a value or an opening bracket, up to the next value, or
 * to the end of the text, where the depth is 0. */
static bool proceed(struct json_reader *r, bool is_first)
{
    bool is_object;
    struct json_value *open;

    while (r->depth > 0) {
        skip_blanks(r);
        open = &r->json->values[r->open[r->depth - 1]];
        is_object = open->type == JSON_OBJECT;
        if (peek_character(r) == (is_object ? '}' : ']')) {
            r->p++;
            r->depth--;
            open->end = (uint32_t)r->json->count;
            is_first = false;
            continue;
        }
        if (peek_character(r) == -1) {
            return fail_json(r, is_object ? "EOF while parsing an object"
                                          : "EOF while parsing a list");
        }
        if (!is_first) {
            if (peek_character(r) != ',') {
                return fail_json(r, is_object ? "expected `,` or `}`"
                                              : "expected `,` or `]`");
            }
            r->p++;
            skip_blanks(r);
        }
        open->size++;
        return !is_object || member(r);
    }
    return true;
}

static bool read_all(struct json_reader *r)
{
    unsigned depth;

    skip_blanks(r);
    do {
        depth = r->depth;
        if (!value(r) || !proceed(r, r->depth > depth)) {
            return false;
        }
    } while (r->depth > 0);
    skip_blanks(r);
    return true;
}

size_t json_read(struct json *json, char *text, size_t size, size_t most,
                 struct json_error *error)
{
    struct json_reader r;

    json->text = r.begin = r.p = r.line_begin = text;
    json->count = 0;
    r.json = json;
    r.end = size > 0 ? text + size : text; /* NULL + 0 is undefined */
    r.line = 1;
    r.most = most < UINT32_MAX ? most : UINT32_MAX;
    if (json->room > r.most) {
        json->room = r.most; /* of a text that might have more */
    }
    r.depth = 0;
    r.reason = "too large";
    r.out_of_memory = false;
    if (size < UINT32_MAX && read_all(&r)) {
        return (size_t)(r.p - text);
    }
    error->reason = r.reason;
    error->at = (size_t)(r.p - text);
    error->line = r.line;
    error->column = (size_t)(r.p - r.line_begin) + 1;
    error->out_of_memory = r.out_of_memory;
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
static bool read_digits(const char *p, size_t size, uint64_t *number)
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
    if (!read_digits(p + is_negative, v->size - is_negative, &n)) {
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
