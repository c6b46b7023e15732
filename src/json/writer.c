/*
 * Copyright (C) the ngx_symcache authors
 */
#include "writer.h"

#include <string.h>

#include "base/utf8.h"
#include "plain.h"

/* Room for a value or a name of size bytes, behind the comma that stands
 * before it; NULL without memory.  End it with put_end(). */
static char *put_begin(struct json_writer *w, size_t size)
{
    char *p;

    p = json_write_need(w, size + 2);
    if (p == NULL) {
        return NULL;
    }
    if (w->has_member) {
        *p++ = ',';
        if (w->is_python) {
            *p++ = ' ';
        }
    }
    w->has_member = true;
    return p;
}

static void put_end(struct json_writer *w, const char *end)
{
    w->size = (size_t)(end - w->data);
}

void json_write_reset(struct json_writer *w)
{
    w->size = 0;
    w->has_member = w->has_failed = false;
}

void json_write_open(struct json_writer *w, char bracket)
{
    char *p;

    p = put_begin(w, 1);
    if (p != NULL) {
        *p++ = bracket;
        put_end(w, p);
    }
    w->has_member = false;
}

void json_write_close(struct json_writer *w, char bracket)
{
    w->has_member = false;
    json_write_open(w, bracket);
    w->has_member = true;
}

static const char digits[] = "0123456789abcdef";

static char *put_u16(char *out, unsigned c)
{
    memcpy(out, "\\u", 2);
    out[2] = digits[c >> 12 & 15];
    out[3] = digits[c >> 8 & 15];
    out[4] = digits[c >> 4 & 15];
    out[5] = digits[c & 15];
    return out + 6;
}

/* A control character, DEL included, in at most six bytes. */
static char *put_escape(char *out, unsigned char c)
{
    const char *found;
    static const char from[] = "\b\f\n\r\t", to[] = "bfnrt";

    found = c != '\0' ? strchr(from, c) : NULL;
    if (found == NULL) {
        return put_u16(out, c);
    }
    *out++ = '\\';
    *out++ = to[found - from];
    return out;
}

/* The character at *p, which is not ASCII, in at most twelve bytes. */
static char *put_beyond(char *out, bool is_python, const unsigned char **p,
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
        return put_u16(out, c);
    }
    out = put_u16(out, 0xD800 + ((c - 0x10000) >> 10));
    return put_u16(out, 0xDC00 + (c & 0x3FF));
}

/* Copies size bytes, fewer than JSON_PLAIN_STEP. */
static void copy_few(char *out, const unsigned char *p, size_t size)
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
            out[i] = (char)p[i];
        }
    }
}

/* Copies the bytes at p that need no attention, and returns how many; out has
 * room for JSON_PLAIN_STEP more. */
static size_t put_plain(char *out, const unsigned char *p,
                        const unsigned char *end)
{
    size_t n, all;
    char rest[JSON_PLAIN_STEP] = {0}; /* a NUL needs attention */

    n = JSON_PLAIN_STEP;
    for (all = 0; (size_t)(end - p) - all >= JSON_PLAIN_STEP; all += n) {
        n = json_plain(p + all);
        memcpy(out + all, p + all, JSON_PLAIN_STEP);
        if (n < JSON_PLAIN_STEP) {
            return all + n;
        }
    }
    copy_few(rest, p + all, (size_t)(end - p) - all);
    memcpy(out + all, rest, JSON_PLAIN_STEP);
    return all + json_plain((const unsigned char *)rest);
}

/* Most strings are plain, and are copied in one piece. */
void json_write_string(struct json_writer *w, const char *data, size_t size)
{
    char *out;
    size_t n;
    const unsigned char *p, *end;

    p = (const unsigned char *)data;
    end = p + size;
    if (size > (SIZE_MAX - w->size) / 8) {
        w->has_failed = true;
        return;
    }
    /* a byte becomes six at most, a character of two bytes six, of four
     * twelve */
    out = put_begin(w, 6 * size + 2 + JSON_PLAIN_STEP);
    if (out == NULL) {
        return;
    }
    *out++ = '"';
    while (p < end) {
        n = put_plain(out, p, end);
        p += n;
        out += n;
        if (p == end) {
            break;
        }
        if (*p == '"' || *p == '\\') {
            *out++ = '\\';
            *out++ = (char)*p++;
        } else if (*p == 0x7F && !w->is_python) {
            *out++ = (char)*p++;
        } else if (*p < 0x80) {
            out = put_escape(out, *p++);
        } else {
            out = put_beyond(out, w->is_python, &p, end);
        }
    }
    *out++ = '"';
    put_end(w, out);
}

void json_write_name(struct json_writer *w, const char *data, size_t size)
{
    char *p;

    json_write_string(w, data, size);
    w->has_member = false;
    p = put_begin(w, 2);
    if (p != NULL) {
        *p++ = ':';
        *p = ' ';
        put_end(w, p + w->is_python);
    }
    w->has_member = false;
}

void json_write_text(struct json_writer *w, const char *text)
{
    json_write_string(w, text, strlen(text));
}

void json_write_number(struct json_writer *w, uint64_t number)
{
    char *p, text[40] = {0};
    size_t at;

    /* of 20 digits at most; more is copied, which costs less than to count */
    p = put_begin(w, 20);
    if (p == NULL) {
        return;
    }
    at = 20;
    do {
        text[--at] = digits[number % 10];
        number /= 10;
    } while (number > 0);
    memcpy(p, text + at, 20);
    put_end(w, p + 20 - at);
}

void json_write_hex(struct json_writer *w, uint64_t number)
{
    char *p;
    int i, n;

    p = put_begin(w, 20);
    if (p == NULL) {
        return;
    }
    n = (64 - __builtin_clzll(number | 1) + 3) / 4;
    memcpy(p, "\"0x", 3);
    p += 3;
    for (i = n; i > 0; i--) {
        p[i - 1] = digits[number & 15];
        number >>= 4;
    }
    p[n] = '"';
    put_end(w, p + n + 1);
}

void json_write_raw(struct json_writer *w, const char *data, size_t size)
{
    char *p;

    p = put_begin(w, size);
    if (p != NULL) {
        memcpy(p, data, size);
        put_end(w, p + size);
    }
}

void json_write_again(struct json_writer *w, size_t at, size_t size)
{
    char *p;

    p = put_begin(w, size);
    if (p != NULL) {
        memcpy(p, w->data + at, size);
        put_end(w, p + size);
    }
}

/* The recursion is as deep as the reader allows. */
void json_write_value(struct json_writer *w, const struct json *json,
                      uint32_t value)
{
    uint32_t i;
    const struct json_value *v;
    static const char *const words[] = {"null", "false", "true"};

    v = &json->values[value];
    switch (v->type) {
    case JSON_NUMBER:
        json_write_raw(w, json_text(json, value), v->size);
        break;
    case JSON_STRING:
        json_write_string(w, json_text(json, value), v->size);
        break;
    case JSON_ARRAY:
        json_write_open(w, '[');
        for (i = value + 1; i < v->end; i = json->values[i].end) {
            json_write_value(w, json, i);
        }
        json_write_close(w, ']');
        break;
    case JSON_OBJECT:
        json_write_open(w, '{');
        for (i = value + 1; i < v->end; i = json->values[i + 1].end) {
            json_write_name(w, json_text(json, i), json->values[i].size);
            json_write_value(w, json, i + 1);
        }
        json_write_close(w, '}');
        break;
    default:
        json_write_raw(w, words[v->type], strlen(words[v->type]));
    }
}

void json_write_bool(struct json_writer *w, bool value)
{
    json_write_raw(w, value ? "true" : "false", value ? 4 : 5);
}
