/*
 * Copyright (C) the ngx_symcache authors
 *
 * The form of an upload.
 */
#pragma once

#include "reports/multipart/multipart.h"

struct upload_form {
    const uint8_t *file; /* content of the first part that is a file, or NULL;
                            points into the body */
    size_t size;
    char name[MULTIPART_NAME_SIZE]; /* of its field */
    bool is_try;  /* the field "try" is there and not empty */
    bool has_url; /* the field "url" is there */
};

/* Returns 0, or -1 with a sentence in error. */
int upload_form_read(const uint8_t *data, size_t size, const char *boundary,
                     struct upload_form *form, char *error, size_t error_size);
