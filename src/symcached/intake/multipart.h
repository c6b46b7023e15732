/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads a body of the type multipart/form-data (RFC 7578), as far as uploads
 * need it.
 */
#ifndef SYMCACHED_INTAKE_MULTIPART_H
#define SYMCACHED_INTAKE_MULTIPART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MULTIPART_NAME_SIZE 256

/* Boundaries have 1 to 70 characters. */
#define MULTIPART_BOUNDARY_MAX 70

struct multipart {
    const uint8_t *file; /* content of the first part that is a file, or NULL;
                            points into the body */
    size_t size;
    char name[MULTIPART_NAME_SIZE]; /* of its field */
    bool is_try;  /* the field "try" is there and not empty */
    bool has_url; /* the field "url" is there */
};

/* Returns 0, or -1 with a sentence in error. */
int multipart_read(const uint8_t *data, size_t size, const char *boundary,
                   struct multipart *multipart, char *error,
                   size_t error_size);

#endif
