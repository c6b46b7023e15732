/*
 * Copyright (C) the ngx_symcache authors
 *
 * Recognises source bundles, and reads of which module they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/key.h"

/* Does a file begin as a source bundle does?  A ZIP archive with a manifest is
 * none. */
bool sourcebundle_sniff(const uint8_t *data, size_t size);

#define SOURCEBUNDLE_NAME_SIZE 256

struct sourcebundle_identity {
    uint8_t guid[16]; /* in text order; all zero: it names no module */
    uint32_t age;     /* of a portable PDB its stamp */
    uint8_t build_id[SYMCACHE_BUILD_ID_MAX]; /* attribute code_id, unless it is
                                                that of a PE image */
    size_t build_id_size;                    /* 0: there is none */
    char name[SOURCEBUNDLE_NAME_SIZE]; /* of the debug file; or "" */
};

/* The debug ids of files in a bundle of scripts, each once, in lower case. */
struct sourcebundle_ids {
    char (*texts)[37];
    size_t n;
};

/* Reads them.  Returns 0, or -1 with a sentence in error; then there is
 * nothing to free. */
int sourcebundle_ids_read(const uint8_t *data, size_t size,
                          struct sourcebundle_ids *ids, char *error,
                          size_t error_size);
void sourcebundle_ids_free(struct sourcebundle_ids *ids);

/* Reads the manifest.  Returns 0, or -1 with a sentence in error. */
int sourcebundle_identity_read(const uint8_t *data, size_t size,
                               struct sourcebundle_identity *identity,
                               char *error, size_t error_size);
