/*
 * Copyright (C) the ngx_symcache authors
 */
#include "writer.h"

#include <string.h>

#include "base/utf8.h"
#include "plain.h"

static void put(struct json_writer *w, const char *data, size_t size)
{
    char *p;

    p = json_write_need(w, size);
    if (p != NULL) {
        memcpy(p, data, size);
        w->size += size;
    }
}

/* What stands before a value or a name. */
static void separate(struct json_writer *w)
{
    if (w->has_member) {
        put(w, ", ", w->is_python ? 2 : 1);
    }
    w->has_member = true;
}

void json_write_reset(struct json_writer *w)
{
    w->size = 0;
    w->has_member = w->has_failed = false;
}

void json_write_open(struct json_writer *w, char bracket)
{
    separate(w);
    put(w, &bracket, 1);
    w->has_member = false;
}

void json_write_close(struct json_writer *w, char bracket)
{
    put(w, &bracket, 1);
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

/* Most strings are plain, and are copied in one piece. */
void json_write_string(struct json_writer *w, const char *data, size_t size)
{
    char *out;
    size_t n;
    const unsigned char *p, *end;

    separate(w);
    p = (const unsigned char *)data;
    end = p + size;
    if (size > (SIZE_MAX - w->size) / 8) {
        w->has_failed = true;
        return;
    }
    /* a byte becomes six at most, a character of two bytes six, of four
     * twelve */
    out = json_write_need(w, 6 * size + 2);
    if (out == NULL) {
        return;
    }
    *out++ = '"';
    while (p < end) {
        if (end - p >= 8) {
            /* there is room for what is too much */
            memcpy(out, p, 8);
            n = json_plain(p);
            p += n;
            out += n;
            if (n == 8) {
                continue;
            }
        }
        if (*p == '"' || *p == '\\') {
            *out++ = '\\';
            *out++ = (char)*p++;
        } else if (*p >= 0x20 &&
                   (*p < 0x7F || (*p == 0x7F && !w->is_python))) {
            *out++ = (char)*p++;
        } else if (*p < 0x80) {
            out = put_escape(out, *p++);
        } else {
            out = put_beyond(out, w->is_python, &p, end);
        }
    }
    *out++ = '"';
    w->size = (size_t)(out - w->data);
}

void json_write_name(struct json_writer *w, const char *data, size_t size)
{
    json_write_string(w, data, size);
    put(w, ": ", w->is_python ? 2 : 1);
    w->has_member = false;
}

void json_write_text(struct json_writer *w, const char *text)
{
    json_write_string(w, text, strlen(text));
}

void json_write_number(struct json_writer *w, uint64_t number)
{
    char text[20];
    size_t at;

    at = sizeof(text);
    do {
        text[--at] = digits[number % 10];
        number /= 10;
    } while (number > 0);
    json_write_raw(w, text + at, sizeof(text) - at);
}

void json_write_hex(struct json_writer *w, uint64_t number)
{
    char text[20];
    size_t at;

    at = sizeof(text);
    text[--at] = '"';
    do {
        text[--at] = digits[number & 15];
        number >>= 4;
    } while (number > 0);
    text[--at] = 'x';
    text[--at] = '0';
    text[--at] = '"';
    json_write_raw(w, text + at, sizeof(text) - at);
}

void json_write_raw(struct json_writer *w, const char *data, size_t size)
{
    separate(w);
    put(w, data, size);
}

void json_write_again(struct json_writer *w, size_t at, size_t size)
{
    char *p;

    separate(w);
    p = json_write_need(w, size);
    if (p != NULL) {
        memcpy(p, w->data + at, size);
        w->size += size;
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
