/*
 * Copyright (C) the ngx_symcache authors
 *
 * Addresses: hexadecimal numbers of at most 64 bits, with or without 0x, from
 * a text or from the lines of a descriptor; or, of .NET, a method and an offset
 * in its IL code.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct addresses {
    int is_end;
    int error; /* errno of a failed read */
    uint64_t line;
    size_t begin; /* offset of what is not used yet */
    size_t end;
    const char *text; /* the last line, not ended by NUL */
    size_t size;
    char data[65536];
};

typedef int (*addresses_parse_fn)(const char *text, size_t size,
                                  uint64_t *address);

/* Returns 0, or -1 if the text is not an address. */
int addresses_parse(const char *text, size_t size, uint64_t *address);

/* The token of a method is this and its row. */
#define ADDRESSES_TOKEN 0x06000000u

/*
 * The same for "METHOD+IL", each hexadecimal, as .NET prints it after "token";
 * the method is a token (0x6000002) or its row (2).  The row becomes the high
 * half of the address, the offset its low one.
 */
int addresses_parse_method(const char *text, size_t size, uint64_t *address);

/* Addresses of the standard input. */
void addresses_init(struct addresses *addresses);

/* Returns 0 if the next call has to wait for the descriptor. */
bool addresses_is_ready(const struct addresses *addresses);

/*
 * Reads the address in the next line that is not blank, by one of the functions
 * above.  Returns 1; or 0 at the end; or -1 if the line is not an address (see
 * text, size and line) or if reading failed (see error).
 */
int addresses_next(struct addresses *addresses, addresses_parse_fn parse,
                   uint64_t *address);
