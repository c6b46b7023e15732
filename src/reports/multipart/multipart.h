/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads a body of the type multipart/form-data (RFC 7578).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MULTIPART_NAME_SIZE 256
#define MULTIPART_CODING_SIZE 32

/* Boundaries have 1 to 70 characters. */
#define MULTIPART_BOUNDARY_MAX 70

struct multipart_part {
    const uint8_t *data; /* in the body */
    size_t size;
    char name[MULTIPART_NAME_SIZE]; /* of its field; "": it has none */
    bool is_file;
    char coding[MULTIPART_CODING_SIZE]; /* its Content-Encoding, or "" */
};

/* Calls found for each part.  Returns 0, or -1 with a sentence in error. */
int multipart_read(const uint8_t *data, size_t size, const char *boundary,
                   void (*found)(void *arg, const struct multipart_part *part),
                   void *arg, char *error, size_t error_size);
