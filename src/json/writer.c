/*
 * Copyright (C) the ngx_symcache authors
 */
#include "writer.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "escape_scan.h"

/* Room for a value or a name of size bytes, after the comma that stands
 * before it; NULL without memory.  End it with put_end(). */
static char *put_begin(struct json_writer *writer, size_t size)
{
    char *p;

    p = json_write_need(writer, size + 2);
    if (p == NULL) {
        return NULL;
    }
    if (writer->has_member) {
        *p++ = ',';
        if (writer->is_python) {
            *p++ = ' ';
        }
    }
    writer->has_member = true;
    return p;
}

static void put_end(struct json_writer *writer, const char *end)
{
    writer->size = (size_t)(end - writer->data);
}

void json_write_reset(struct json_writer *writer)
{
    writer->size = 0;
    writer->has_member = writer->has_failed = false;
}

void json_write_forget(struct json_writer *writer)
{
    if (writer->data != NULL) {
        explicit_bzero(writer->data, writer->size);
    }
    free(writer->data);
}

void json_write_open(struct json_writer *writer, char bracket)
{
    char *p;

    p = put_begin(writer, 1);
    if (p != NULL) {
        *p++ = bracket;
        put_end(writer, p);
    }
    writer->has_member = false;
}

void json_write_close(struct json_writer *writer, char bracket)
{
    writer->has_member = false;
    json_write_open(writer, bracket);
    writer->has_member = true;
}

static const char writer_digits[] = "0123456789abcdef";

static char *writer_put_u16(char *out, unsigned c)
{
    memcpy(out, "\\u", 2);
    out[2] = writer_digits[c >> 12 & 15];
    out[3] = writer_digits[c >> 8 & 15];
    out[4] = writer_digits[c >> 4 & 15];
    out[5] = writer_digits[c & 15];
    return out + 6;
}

/* A control character, DEL included, in at most six bytes. */
static char *writer_put_escape(char *out, unsigned char c)
{
    const char *found;
    static const char from[] = "\b\f\n\r\t", to[] = "bfnrt";

    found = c != '\0' ? strchr(from, c) : NULL;
    if (found == NULL) {
        return writer_put_u16(out, c);
    }
    *out++ = '\\';
    *out++ = to[found - from];
    return out;
}

/* The character at *p, which is not ASCII, in at most twelve bytes. */
static char *writer_put_beyond(char *out, bool is_python,
                               const unsigned char **p,
                               const unsigned char *end)
{
    int n;
    uint32_t c;

    n = utf8_decode(*p, (size_t)(end - *p), &c);
    *p += n < 0 ? -n : n;
    if (!is_python) {
        return out + utf8_encode(out, c);
    }
    if (c < 0x10000) {
        return writer_put_u16(out, c);
    }
    out = writer_put_u16(out, 0xD800 + ((c - 0x10000) >> 10));
    return writer_put_u16(out, 0xDC00 + (c & 0x3FF));
}

/* A byte or character that needs attention, or may, in at most twelve bytes. */
static char *writer_put_marked(char *out, bool is_python,
                               const unsigned char **p,
                               const unsigned char *end)
{
    unsigned char c;

    c = **p;
    if (c >= 0x80) {
        return writer_put_beyond(out, is_python, p, end);
    }
    ++*p;
    if (c < 0x20 || (c == 0x7F && is_python)) {
        return writer_put_escape(out, c);
    }
    *out++ = (char)c;
    return out;
}

/* Copies size bytes, fewer than JSON_PLAIN_STEP. */
static void writer_copy_few(unsigned char *out, const unsigned char *p,
                            size_t size)
{
    size_t i;

    if (size >= 8) {
        memcpy(out, p, 8);
        memcpy(out + size - 8, p + size - 8, 8);
    } else if (size >= 4) {
        memcpy(out, p, 4);
        memcpy(out + size - 4, p + size - 4, 4);
    } else {
        for (i = 0; i < size; i++) {
            out[i] = p[i];
        }
    }
}

/*
 * Writes the bytes at *p, JSON_PLAIN_STEP at most, or up to the first one that
 * needs more than a backslash before it, and goes on by as many.  Loads nothing
 * from after the end; after what it writes, out has room for JSON_PLAIN_STEP
 * more.
 */
static char *writer_put_step(char *out, bool is_python,
                             const unsigned char **p, const unsigned char *end)
{
    size_t i, n, at;
    uint64_t marks;
    const unsigned char *from;
    unsigned char last[2 * JSON_PLAIN_STEP];

    from = *p;
    n = (size_t)(end - *p);
    if (n < 2 * JSON_PLAIN_STEP) {
        /* so that as many can be loaded from each place of the step */
        memset(last, ' ', sizeof(last));
        if (n < JSON_PLAIN_STEP) {
            writer_copy_few(last, *p, n);
        } else {
            memcpy(last, *p, JSON_PLAIN_STEP);
            writer_copy_few(last + JSON_PLAIN_STEP, *p + JSON_PLAIN_STEP,
                            n - JSON_PLAIN_STEP);
        }
        from = last;
    }
    n = n < JSON_PLAIN_STEP ? n : JSON_PLAIN_STEP;
    marks = json_marks(from);
    for (at = 0; marks != 0; marks &= marks - 1, at = i + 1) {
        i = json_first(marks);
        memcpy(out, from + at, JSON_PLAIN_STEP);
        out += i - at;
        if (from[i] != '"' && from[i] != '\\') {
            *p += i;
            return writer_put_marked(out, is_python, p, end);
        }
        *out++ = '\\';
        *out++ = (char)from[i];
    }
    memcpy(out, from + at, JSON_PLAIN_STEP);
    *p += n;
    return out + n - at;
}

/* Copies the first bytes of a string as far as none needs attention: most
 * strings as a whole.  Returns how many; JSON_PLAIN_STEP more may be written.
 */
static size_t writer_put_plain(char *out, const unsigned char *p, size_t size)
{
    size_t i;
    unsigned char few[JSON_PLAIN_STEP];

    if (size < JSON_PLAIN_STEP) {
        memset(few, ' ', sizeof(few));
        writer_copy_few(few, p, size);
        memcpy(out, few, JSON_PLAIN_STEP);
        return json_marks(few) == 0 ? size : 0;
    }
    for (i = 0; i < size - JSON_PLAIN_STEP; i += JSON_PLAIN_STEP) {
        if (json_marks(p + i) != 0) {
            return i;
        }
        memcpy(out + i, p + i, JSON_PLAIN_STEP);
    }
    /* the last ones with some before them */
    memcpy(out + size - JSON_PLAIN_STEP, p + size - JSON_PLAIN_STEP,
           JSON_PLAIN_STEP);
    return json_marks(p + size - JSON_PLAIN_STEP) == 0 ? size : i;
}

void json_write_string(struct json_writer *writer, const char *data,
                       size_t size)
{
    char *out;
    size_t n;
    const unsigned char *p, *end;

    p = (const unsigned char *)data;
    end = p + size;
    if (size > (SIZE_MAX - writer->size) / 8) {
        writer->has_failed = true;
        return;
    }
    /* a byte becomes six at most, a character of two bytes six, of four
     * twelve */
    out = put_begin(writer, 6 * size + 2 + JSON_PLAIN_STEP);
    if (out == NULL) {
        return;
    }
    *out++ = '"';
    n = writer_put_plain(out, p, size);
    for (p += n, out += n; p < end;) {
        out = writer_put_step(out, writer->is_python, &p, end);
    }
    *out++ = '"';
    put_end(writer, out);
}

void json_write_name(struct json_writer *writer, const char *data, size_t size)
{
    char *p;

    json_write_string(writer, data, size);
    writer->has_member = false;
    p = put_begin(writer, 2);
    if (p != NULL) {
        *p++ = ':';
        *p = ' ';
        put_end(writer, p + writer->is_python);
    }
    writer->has_member = false;
}

void json_write_text(struct json_writer *writer, const char *text)
{
    json_write_string(writer, text, strlen(text));
}

void json_write_number(struct json_writer *writer, uint64_t number)
{
    char *p, text[40];
    size_t at;
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324"
        "25262728293031323334353637383940414243444546474849"
        "50515253545556575859606162636465666768697071727374"
        "75767778798081828384858687888990919293949596979899";

    /* of 20 digits at most; more is copied, which costs less than to count */
    p = put_begin(writer, 20);
    if (p == NULL) {
        return;
    }
    memset(text + 20, 0, 20);
    for (at = 20; number >= 10; number /= 100) {
        at -= 2;
        memcpy(text + at, pairs + 2 * (number % 100), 2);
    }
    if (number > 0 || at == 20) {
        text[--at] = writer_digits[number];
    }
    memcpy(p, text + at, 20);
    put_end(writer, p + 20 - at);
}

/* Writes the eight digits of a number. */
static inline void writer_put_hex8(char *out, uint32_t number)
{
    const uint64_t ones = 0x0101010101010101;
    uint64_t x = number;

    x = (x | x << 16) & 0x0000FFFF0000FFFF;
    x = (x | x << 8) & 0x00FF00FF00FF00FF;
    x = (x | x << 4) & 0x0F0F0F0F0F0F0F0F;
    /* a letter where 6 more go beyond 15 */
    x += '0' * ones + ((x + 6 * ones) >> 4 & ones) * ('a' - '0' - 10);
    x = htobe64(x);
    memcpy(out, &x, 8);
}

void json_write_hex(struct json_writer *writer, uint64_t number)
{
    size_t zeros;
    char *p;

    /* of 16 digits at most; more is written, which costs less than to count */
    p = put_begin(writer, 20);
    if (p == NULL) {
        return;
    }
    zeros = (size_t)__builtin_clzll(number | 1) / 4;
    number <<= 4 * zeros;
    memcpy(p, "\"0x", 3);
    writer_put_hex8(p + 3, (uint32_t)(number >> 32));
    if (zeros < 8) {
        writer_put_hex8(p + 11, (uint32_t)number);
    }
    p += 3 + 16 - zeros;
    *p++ = '"';
    put_end(writer, p);
}

void json_write_raw(struct json_writer *writer, const char *data, size_t size)
{
    char *p;

    p = put_begin(writer, size);
    if (p != NULL) {
        memcpy(p, data, size);
        put_end(writer, p + size);
    }
}

void json_write_begun(struct json_writer *writer, const char *text,
                      size_t size)
{
    json_write_raw(writer, text, size);
    writer->has_member = false;
}

void json_write_again(struct json_writer *writer, size_t at, size_t size)
{
    char *p;

    p = put_begin(writer, size);
    if (p != NULL) {
        memcpy(p, writer->data + at, size);
        put_end(writer, p + size);
    }
}

void json_write_begun_again(struct json_writer *writer, size_t at, size_t size)
{
    json_write_again(writer, at, size);
    writer->has_member = false;
}

/* The recursion is as deep as the reader allows. */
void json_write_value(struct json_writer *writer, const struct json *json,
                      uint32_t value)
{
    uint32_t i;
    const struct json_value *v;
    static const char *const words[] = {"null", "false", "true"};

    v = &json->values[value];
    switch (v->type) {
    case JSON_NUMBER:
        json_write_raw(writer, json_text(json, value), v->size);
        break;
    case JSON_STRING:
        json_write_string(writer, json_text(json, value), v->size);
        break;
    case JSON_ARRAY:
        json_write_open(writer, '[');
        for (i = value + 1; i < v->end; i = json->values[i].end) {
            json_write_value(writer, json, i);
        }
        json_write_close(writer, ']');
        break;
    case JSON_OBJECT:
        json_write_open(writer, '{');
        for (i = value + 1; i < v->end; i = json->values[i + 1].end) {
            json_write_name(writer, json_text(json, i), json->values[i].size);
            json_write_value(writer, json, i + 1);
        }
        json_write_close(writer, '}');
        break;
    default:
        json_write_raw(writer, words[v->type], strlen(words[v->type]));
    }
}

void json_write_bool(struct json_writer *writer, bool value)
{
    json_write_raw(writer, value ? "true" : "false", value ? 4 : 5);
}
