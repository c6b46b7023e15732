/*
 * Copyright (C) the ngx_symcache authors
 *
 * What files of all derived kinds but SymCaches begin with: four letters, and
 * a version of 32 bits.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct symc_head {
    const char *name; /* of the kind, as people call it */
    const char *magic;
    uint32_t version; /* that can be read */
    size_t size;      /* of the whole header */
};

/* Checks the head of a file in memory; writes what is wrong with it to error.
 */
enum symc_reader_status symc_head_check(const struct symc_head *head,
                                        const uint8_t *data, size_t size,
                                        char *error, size_t error_size);

/* The same of where its parts end. */
enum symc_reader_status symc_head_check_end(uint64_t end, size_t size,
                                            char *error, size_t error_size);
