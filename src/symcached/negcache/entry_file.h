/*
 * Copyright (C) the ngx_symcache authors
 *
 * The file of a negative entry, whose format is in negcache.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "negcache.h"

/* An entry as its file has it. */
struct written {
    struct negcache_entry entry; /* but for valid */
    bool has_fingerprint;
    uint64_t fingerprint;
};

/* Returns false if there is no such file in the folder dir, or one that is not
 * an entry. */
bool entry_read(int dir, const char *name, struct written *written);

/* Writes the first line, the text without control characters, and the name
 * variants.  Returns false if that failed. */
bool entry_print(FILE *f, uint64_t fingerprint,
                 const struct negcache_entry *entry);
