/*
 * Copyright (C) the ngx_symcache authors
 */
#include "head.h"

#include <stdio.h>
#include <string.h>

enum symc_reader_status symc_head_check(const struct symc_head *head,
                                        const uint8_t *data, size_t size,
                                        char *error, size_t error_size)
{
    uint32_t version;

    if (size < 8 || memcmp(data, head->magic, 4) != 0) {
        snprintf(error, error_size, "not a %s: does not begin with \"%s\"",
                 head->name, head->magic);
        return SYMC_FOREIGN;
    }
    version = le32(data + 4);
    if (version != head->version) {
        snprintf(error, error_size, "a %s of version %u; %u can be read",
                 head->name, version, head->version);
        return SYMC_FOREIGN;
    }
    if (size < head->size) {
        snprintf(error, error_size,
                 "truncated: %zu bytes, the header alone has %zu", size,
                 head->size);
        return SYMC_DAMAGED;
    }
    return SYMC_OPENED;
}

enum symc_reader_status symc_head_check_end(uint64_t end, size_t size,
                                            char *error, size_t error_size)
{
    if (end > size) {
        snprintf(error, error_size,
                 "truncated: %zu bytes, its parts take %llu", size,
                 (unsigned long long)end);
        return SYMC_DAMAGED;
    }
    return SYMC_OPENED;
}
