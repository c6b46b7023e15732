/*
 * Copyright (C) the ngx_symcache authors
 *
 * What verifiers of derived files share: how a violation is told, bytes that
 * must be zero, and the string tables of SymCaches, which other kinds have,
 * too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verify.h"

struct integrity {
    const uint8_t *data;    /* the file */
    size_t strings;         /* where its string table begins, */
    uint32_t string_bytes;  /* and its size */
    uint8_t *string_starts; /* one bit per byte of it: a string begins here */
    char *error;            /* receives the first violation */
    size_t error_size;
};

/* Initializes the check of a file that a reader has open. */
#define INTEGRITY_OF(reader_, error_, error_size_)                            \
    {                                                                         \
        .data = (reader_)->data, .strings = (reader_)->strings,               \
        .string_bytes = (reader_)->string_bytes, .error = (error_),           \
        .error_size = (error_size_)                                           \
    }

/* Writes a violation to error.  Returns false. */
bool integrity_fails(const struct integrity *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Checks bytes begin to end of the file.  what: their name for people. */
bool integrity_zeros(const struct integrity *v, size_t begin, size_t end,
                     const char *what);

/*
 * Checks the string table.  Strings follow each other without gaps, so one
 * pass finds where each of them begins. version: of the SymCaches whose
 * strings have this form.  The caller frees the notes with integrity_end().
 * Not verified: there is no memory for them.
 */
enum symc_verify_status integrity_strings(struct integrity *v,
                                          uint32_t version);

/* Does a string begin at this offset of the string table? */
bool integrity_is_string(const struct integrity *v, uint32_t offset);

void integrity_end(struct integrity *v);
