/*
 * Copyright (C) the ngx_symcache authors
 *
 * Writes JSON into a buffer that grows.  Commas come by themselves; that
 * brackets match and members have names is up to the caller.  Whoever runs out
 * of memory sees it at the end, in has_failed; nothing is written from then
 * on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "reader.h"

struct json_writer {
    char *data; /* NULL at first; free() it */
    size_t size;
    size_t room;
    bool is_python;  /* as Python's json.dumps() writes: blanks after commas
                      * and colons, all but ASCII as \uXXXX */
    bool has_member; /* the next value has one before it */
    bool has_failed;
};

/* Room for size more bytes at the end, which is returned; NULL without
 * memory.  For the functions below. */
static inline char *json_write_need(struct json_writer *w, size_t size)
{
    if (w->has_failed ||
        array_need(&w->data, &w->room, w->size + size, 1) != 0) {
        w->has_failed = true;
        return NULL;
    }
    return w->data + w->size;
}

/* Begins anew in the same buffer. */
void json_write_reset(struct json_writer *w);

/* Frees what was written, so that nothing of it stays in memory. */
void json_write_forget(struct json_writer *w);

void json_write_open(struct json_writer *w, char bracket);
void json_write_close(struct json_writer *w, char bracket);

/* The name of a member that needs no escapes.  Compilers know the sizes of
 * most of them. */
static inline void json_write_key(struct json_writer *w, const char *name)
{
    size_t n;
    char *p;

    n = strlen(name);
    p = json_write_need(w, n + 6);
    if (p == NULL) {
        return;
    }
    if (w->has_member) {
        *p++ = ',';
        if (w->is_python) {
            *p++ = ' ';
        }
    }
    *p++ = '"';
    memcpy(p, name, n);
    memcpy(p + n, "\": ", 3);
    p += n + (w->is_python ? 3 : 2);
    w->size = (size_t)(p - w->data);
    w->has_member = false;
}

/* The name of any member. */
void json_write_name(struct json_writer *w, const char *data, size_t size);

/* A string; bytes that are not UTF-8 become U+FFFD. */
void json_write_string(struct json_writer *w, const char *data, size_t size);
void json_write_text(struct json_writer *w, const char *text);

/* A number; the same as a string, "0x" and lower-case digits. */
void json_write_number(struct json_writer *w, uint64_t number);
void json_write_hex(struct json_writer *w, uint64_t number);

/* A value that is JSON already, such as true or a number as it was read. */
void json_write_raw(struct json_writer *w, const char *data, size_t size);
void json_write_bool(struct json_writer *w, bool value);

/* A value that was read, with all that is in it. */
void json_write_value(struct json_writer *w, const struct json *json,
                      uint32_t value);

/*
 * Members: a name and a value of those above.
 */
static inline void json_put_open(struct json_writer *w, const char *name,
                                 char bracket)
{
    json_write_key(w, name);
    json_write_open(w, bracket);
}

static inline void json_put_string(struct json_writer *w, const char *name,
                                   const char *data, size_t size)
{
    json_write_key(w, name);
    json_write_string(w, data, size);
}

static inline void json_put_text(struct json_writer *w, const char *name,
                                 const char *text)
{
    json_write_key(w, name);
    json_write_text(w, text);
}

/* The same, unless the text is NULL. */
static inline void json_put_known(struct json_writer *w, const char *name,
                                  const char *text)
{
    if (text != NULL) {
        json_put_text(w, name, text);
    }
}

static inline void json_put_number(struct json_writer *w, const char *name,
                                   uint64_t number)
{
    json_write_key(w, name);
    json_write_number(w, number);
}

static inline void json_put_hex(struct json_writer *w, const char *name,
                                uint64_t number)
{
    json_write_key(w, name);
    json_write_hex(w, number);
}

static inline void json_put_raw(struct json_writer *w, const char *name,
                                const char *data, size_t size)
{
    json_write_key(w, name);
    json_write_raw(w, data, size);
}

static inline void json_put_bool(struct json_writer *w, const char *name,
                                 bool value)
{
    json_write_key(w, name);
    json_write_bool(w, value);
}

/* One that was read, and goes back as it came; without a value, which is 0,
 * nothing is written. */
static inline void json_put_value(struct json_writer *w, const char *name,
                                  const struct json *json, uint32_t value)
{
    if (value != 0) {
        json_write_key(w, name);
        json_write_value(w, json, value);
    }
}

/* The beginning of a value up to where another one stands in it, such as an
 * object's up to the colon of a member: as it is to be written. */
void json_write_begun(struct json_writer *w, const char *text, size_t size);

/* The beginning of a value, or the name of a member, that was written before:
 * size bytes from at. */
void json_write_begun_again(struct json_writer *w, size_t at, size_t size);

/* A value that was written before: size bytes from at. */
void json_write_again(struct json_writer *w, size_t at, size_t size);
