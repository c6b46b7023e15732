/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads JSON (RFC 8259) that strangers sent.  The values of a text lie in one
 * array in the order of the text: there is one allocation, a request can be
 * walked without recursion, and what a value costs is known (16 bytes).
 * Nothing is guessed and nothing rounded: numbers stay text until somebody
 * asks for one of a certain type.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define JSON_DEPTH_MAX 127 /* arrays and objects inside each other */

enum json_type {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

/*
 * After an array stand its items, after an object a string and a value for
 * each member.
 */
struct json_value {
    uint32_t at;   /* where its text begins; of a string: after the quote */
    uint32_t size; /* bytes of a string or number; of others: what is inside:
                    * items, members */
    uint32_t end;  /* index of the value after this one and what is in it */
    uint32_t type; /* enum json_type */
};

struct json {
    char *text;
    struct json_value *values; /* values[0] is the outermost */
    size_t count;
    size_t room;
    bool takes_nan; /* NaN, Infinity and -Infinity are numbers, as to Python */
};

struct json_error {
    const char *reason; /* static, in the words of serde_json */
    size_t at;          /* bytes from the beginning of the text */
    unsigned line;      /* from 1 */
    size_t column;      /* in bytes, from 1 */
    bool out_of_memory; /* nothing is known to be wrong with the text */
};

/* Integers in a JSON text, whatever their size. */
enum json_integer {
    JSON_INTEGER_NONE,     /* no number, or with a fraction or an exponent */
    JSON_INTEGER_POSITIVE, /* value is the number */
    JSON_INTEGER_NEGATIVE, /* value is the number without its sign */
    JSON_INTEGER_BEYOND    /* of more than 64 bits */
};

/*
 * Reads one value and what is in it; most is the number of values that the
 * array may have.  Escapes in strings are replaced in the text, which must
 * live as long as the values are used, and must be below 4 GiB.  *json is all
 * zero at first and can be used again: its array is kept.
 *
 * Returns the number of bytes read, blanks after the value included, which
 * is less than size when something follows; whether that is an error is the
 * caller's.  Returns 0 on an error.
 *
 * Errors are what RFC 8259 does not allow, invalid UTF-8, an escaped
 * surrogate that has no other half, depth beyond JSON_DEPTH_MAX, more than
 * most values, and no memory.  A member that comes twice is none here.
 */
size_t json_read(struct json *json, char *text, size_t size, size_t most,
                 struct json_error *error);
void json_free(struct json *json);

static inline const char *json_text(const struct json *json, uint32_t value)
{
    return json->text + json->values[value].at;
}

/* Whether a string is this text.  Compilers know the sizes of most of them. */
static inline bool json_is(const struct json *json, uint32_t value,
                           const char *text)
{
    const struct json_value *v;

    v = &json->values[value];
    return v->type == JSON_STRING && v->size == strlen(text) &&
           memcmp(json->text + v->at, text, v->size) == 0;
}

/* The value of an object's member; 0: it has none, or is no object. */
uint32_t json_member(const struct json *json, uint32_t object,
                     const char *name);

/* A number as an integer, exactly. */
enum json_integer json_integer(const struct json *json, uint32_t value,
                               uint64_t *number);
