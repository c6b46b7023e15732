/*
 * Copyright (C) the ngx_symcache authors
 */

#include "output.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "symcachectl/command.h"

#define EIGHT(byte) (0x0101010101010101u * (byte))

/* How a byte of UTF-8 is treated. */
enum {
    PLAIN = 0,
    CONTROL, /* C0 or DEL: escaped everywhere */
    QUOTED,  /* escaped in JSON */
    MAYBE_C1 /* first byte of U+0080 to U+00BF */
};

static const unsigned char kinds[256] = {
    CONTROL,        CONTROL,         CONTROL,          CONTROL,
    CONTROL,        CONTROL,         CONTROL,          CONTROL,
    CONTROL,        CONTROL,         CONTROL,          CONTROL,
    CONTROL,        CONTROL,         CONTROL,          CONTROL,
    CONTROL,        CONTROL,         CONTROL,          CONTROL,
    CONTROL,        CONTROL,         CONTROL,          CONTROL,
    CONTROL,        CONTROL,         CONTROL,          CONTROL,
    CONTROL,        CONTROL,         CONTROL,          CONTROL,
    ['"'] = QUOTED, ['\\'] = QUOTED, [0x7F] = CONTROL, [0xC2] = MAYBE_C1};

static const char hex_digits[] = "0123456789abcdef";

void output_init(struct output *output, int fd)
{
    output->fd = fd;
    output->error = 0;
    output->used = 0;
}

void output_flush(struct output *output)
{
    size_t done;
    ssize_t n;

    for (done = 0; done < output->used && output->error == 0;) {
        n = write(output->fd, output->data + done, output->used - done);
        if (n >= 0) {
            done += (size_t)n;
        } else if (errno != EINTR) {
            output->error = errno;
        }
    }
    output->used = 0;
}

static void put_output(struct output *output, const char *data, size_t size)
{
    size_t n;

    while (size > 0) {
        if (output->used == sizeof(output->data)) {
            output_flush(output);
        }
        n = sizeof(output->data) - output->used;
        n = n < size ? n : size;
        memcpy(output->data + output->used, data, n);
        output->used += n;
        data += n;
        size -= n;
    }
}

void output_text(struct output *output, const char *text)
{
    put_output(output, text, strlen(text));
}

static void put_escape(struct output *output, const char *prefix, unsigned c)
{
    output_text(output, prefix);
    put_output(output, &hex_digits[c >> 4], 1);
    put_output(output, &hex_digits[c & 15], 1);
}

/* Escapes the character at p, if it needs that.  Returns its length in
 * bytes. */
static size_t escape_output(struct output *output, const unsigned char *p,
                            size_t size, int is_json)
{
    if (kinds[*p] == CONTROL) {
        put_escape(output, is_json ? "\\u00" : "\\x", *p);
        return 1;
    }
    if (kinds[*p] == MAYBE_C1 && size > 1 && p[1] < 0xA0) {
        put_escape(output, "\\u00", p[1]);
        return 2;
    }
    if (kinds[*p] == QUOTED && is_json) {
        put_output(output, "\\", 1);
    }
    put_output(output, (const char *)p, 1);
    return 1;
}

/* Are eight bytes ASCII without anything to escape?  All are tested at
 * once: as long as the high bits are clear, a carry or borrow can only
 * begin at a byte that is looked for. */
static bool are_plain(const unsigned char *p, int is_json)
{
    uint64_t x, found;

    memcpy(&x, p, sizeof(x));
    found = x | (x - EIGHT(0x20)) | (x + EIGHT(0x01)); /* C0, DEL */
    if (is_json) {
        found |= ((x ^ EIGHT('"')) - EIGHT(0x01)) |
                 ((x ^ EIGHT('\\')) - EIGHT(0x01));
    }
    return (found & EIGHT(0x80)) == 0;
}

static size_t plain_run(const unsigned char *p, size_t size, int is_json)
{
    size_t i;

    for (i = 0; size - i >= 8 && are_plain(p + i, is_json); i += 8) {
    }
    while (i < size &&
           (kinds[p[i]] == PLAIN || (kinds[p[i]] == QUOTED && !is_json))) {
        i++;
    }
    return i;
}

static void put_escaped(struct output *output,
                        const struct symc_string *string, int is_json)
{
    size_t i, run;
    const unsigned char *p;

    p = (const unsigned char *)string->data;
    for (i = 0; i < string->size;) {
        run = plain_run(p + i, string->size - i, is_json);
        put_output(output, (const char *)p + i, run);
        i += run;
        if (i < string->size) {
            i += escape_output(output, p + i, string->size - i, is_json);
        }
    }
}

void output_string(struct output *output, const struct symc_string *string)
{
    put_escaped(output, string, 0);
}

void output_json(struct output *output, const struct symc_string *string)
{
    put_output(output, "\"", 1);
    put_escaped(output, string, 1);
    put_output(output, "\"", 1);
}

void output_decimal(struct output *output, uint64_t number)
{
    char digits[20];
    size_t i;

    i = sizeof(digits);
    do {
        digits[--i] = hex_digits[number % 10];
        number /= 10;
    } while (number > 0);
    put_output(output, digits + i, sizeof(digits) - i);
}

void output_hex(struct output *output, uint64_t number, int digits)
{
    char text[18];
    int i;

    i = (int)sizeof(text);
    do {
        text[--i] = hex_digits[number & 15];
        number >>= 4;
        digits--;
    } while (number > 0 || digits > 0);
    text[--i] = 'x';
    text[--i] = '0';
    put_output(output, text + i, sizeof(text) - (size_t)i);
}

int output_finish(struct output *output, int code)
{
    output_flush(output);
    if (output->error != 0) {
        return command_fail(COMMAND_IO, "standard output",
                            strerror(output->error));
    }
    return code;
}
