/*
 * Copyright (C) the ngx_symcache authors
 */
#include "chunked.h"

#include <string.h>

#include "base/hex.h"

#define OVER_MAX 16384
#define DIGITS_MAX 15 /* a size of 60 bits */

enum state {
    SIZE,      /* digits of a chunk's size */
    EXTENSION, /* behind them, up to the end of the line */
    SIZE_LF,
    DATA,
    DATA_CR, /* after a chunk */
    DATA_LF,
    TRAILER, /* after the last chunk, at the start of a line */
    FIELD,
    FIELD_LF,
    END_LF,
    END,
    MALFORMED
};

static enum state read_chunked_size(struct http_chunked *chunked, char byte)
{
    int digit = hex_digit(byte);

    if (digit >= 0) {
        chunked->left = chunked->left << 4 | (unsigned)digit;
        return ++chunked->digits <= DIGITS_MAX ? SIZE : MALFORMED;
    }
    if (chunked->digits == 0) {
        return MALFORMED;
    }
    if (byte == '\r') {
        return SIZE_LF;
    }
    return byte == ';' || byte == ' ' || byte == '\t' ? EXTENSION : MALFORMED;
}

/* Skips unused text: up to CR, without other control characters. */
static enum state pass_over_chunked(struct http_chunked *chunked, char byte,
                                    enum state state, enum state behind)
{
    unsigned char u = (unsigned char)byte;

    if (u == '\r') {
        return behind;
    }
    return (u >= ' ' || u == '\t') && u != 0x7F && ++chunked->over <= OVER_MAX
               ? state
               : MALFORMED;
}

static enum state need_chunked_byte(char byte, char wanted, enum state next)
{
    return byte == wanted ? next : MALFORMED;
}

/* A byte that is none of the body. */
static enum state step_of_chunk(struct http_chunked *chunked, char byte)
{
    switch ((enum state)chunked->state) {
    case SIZE:
        return read_chunked_size(chunked, byte);
    case EXTENSION:
        return pass_over_chunked(chunked, byte, EXTENSION, SIZE_LF);
    case SIZE_LF:
        chunked->digits = 0;
        return need_chunked_byte(byte, '\n',
                                 chunked->left > 0 ? DATA : TRAILER);
    case DATA_CR:
        return need_chunked_byte(byte, '\r', DATA_LF);
    case DATA_LF:
        return need_chunked_byte(byte, '\n', SIZE);
    case TRAILER:
        return pass_over_chunked(chunked, byte, FIELD, END_LF);
    case FIELD:
        return pass_over_chunked(chunked, byte, FIELD, FIELD_LF);
    case FIELD_LF:
        return need_chunked_byte(byte, '\n', TRAILER);
    case END_LF:
        return need_chunked_byte(byte, '\n', END);
    default:
        return MALFORMED;
    }
}

enum http_chunked_result http_chunked_read(struct http_chunked *chunked,
                                           char *data, size_t *size)
{
    char *in = data + chunked->size, *end = data + *size, *out = in;
    size_t n;

    while (in < end && chunked->state != END && chunked->state != MALFORMED) {
        if (chunked->state != DATA) {
            chunked->state = step_of_chunk(chunked, *in++);
            continue;
        }
        n = (size_t)(end - in);
        n = n < chunked->left ? n : (size_t)chunked->left;
        memmove(out, in, n);
        in += n;
        out += n;
        chunked->left -= n;
        if (chunked->left == 0) {
            chunked->state = DATA_CR;
        }
    }
    chunked->size = (size_t)(out - data);
    if (in != out) {
        memmove(out, in, (size_t)(end - in));
    }
    *size = chunked->size + (size_t)(end - in);
    if (chunked->state == MALFORMED) {
        return HTTP_CHUNKED_MALFORMED;
    }
    return chunked->state == END ? HTTP_CHUNKED_DONE : HTTP_CHUNKED_MORE;
}
