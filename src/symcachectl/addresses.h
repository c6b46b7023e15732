/*
 * Copyright (C) the ngx_symcache authors
 *
 * Addresses: hexadecimal, with or without 0x, at most 64 bits; from text or
 * from lines of a descriptor.
 */
#ifndef SYMCACHECTL_ADDRESSES_H
#define SYMCACHECTL_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>

struct addresses {
    int fd;
    int is_end;
    int error; /* errno of a failed read */
    uint64_t line;
    size_t begin; /* of what is not used yet */
    size_t end;
    const char *text; /* the last line, not ended by NUL */
    size_t size;
    char data[65536];
};

/* Returns 0, or -1 when the text is no address. */
int addresses_parse(const char *text, size_t size, uint64_t *address);

void addresses_init(struct addresses *addresses, int fd);

/* 0: the next call has to wait for the descriptor. */
int addresses_is_ready(const struct addresses *addresses);

/*
 * The address of the next line that is not blank.  Returns 1, or 0 at the
 * end, or -1 at what is no address (text, size and line tell it) or when
 * reading failed (error does).
 */
int addresses_next(struct addresses *addresses, uint64_t *address);

#endif
