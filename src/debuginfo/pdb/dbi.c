/*
 * Copyright (C) the ngx_symcache authors
 */

#include "dbi.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"

#define HEADER 64
#define MODULE_FIXED 64

struct sizes {
    uint32_t before_debug_header; /* all substreams before it */
    uint32_t modules;
    uint32_t debug_header;
};

void dbi_free(struct dbi *dbi)
{
    free(dbi->modules);
    msf_buffer_free(&dbi->buffer);
    memset(dbi, 0, sizeof(*dbi));
}

static int read_dbi_header(struct dbi *dbi, const struct msf *msf,
                           struct sizes *sizes, struct failure *failure)
{
    const uint8_t *p;

    if (msf_stream_size(msf, DBI_STREAM) == 0) {
        return failure_set(failure, FAILURE_NO_SYMBOLS,
                           "has no symbols: a compiler's or type server's "
                           "PDB (no DBI, stream %d)",
                           DBI_STREAM);
    }
    p = msf_view(msf, DBI_STREAM, 0, HEADER, &dbi->buffer);
    if (p == NULL) {
        return failure_at(failure, DBI_STREAM, 0, "DBI header");
    }
    if (le32(p) != 0xFFFFFFFF) {
        return failure_at(failure, DBI_STREAM, 0, "DBI header signature");
    }
    dbi->age = le32(p + 8);
    dbi->symbol_stream = le16(p + 20);
    dbi->flags = le16(p + DBI_FLAGS);
    dbi->machine = le16(p + 58);
    sizes->modules = le32(p + 24);
    sizes->debug_header = le32(p + 48);
    /* this sum may wrap around, as it does in the reference */
    sizes->before_debug_header = le32(p + 24) + le32(p + 28) + le32(p + 32) +
                                 le32(p + 36) + le32(p + 40) + le32(p + 52);
    return 0;
}

static int read_slots(struct dbi *dbi, const struct msf *msf,
                      const struct sizes *sizes, struct failure *failure)
{
    uint32_t i;
    uint64_t at;
    const uint8_t *p;

    at = HEADER + (uint64_t)sizes->before_debug_header;
    p = at > UINT32_MAX ? NULL
                        : msf_view(msf, DBI_STREAM, (uint32_t)at,
                                   sizes->debug_header, &dbi->buffer);
    if (p == NULL || sizes->debug_header % 2 != 0) {
        return failure_at(failure, DBI_STREAM, at, "optional debug header");
    }
    for (i = 0; i < DBI_SLOTS; i++) {
        dbi->slots[i] =
            2 * i < sizes->debug_header ? le16(p + 2 * i) : MSF_NO_STREAM;
    }
    return 0;
}

/* Reads the module at data[*at..size) and moves *at past it. */
static int read_dbi_module(const uint8_t *data, uint32_t size, uint32_t *at,
                           struct dbi_module *module)
{
    uint32_t end;
    const uint8_t *p, *name, *object;

    if (size - *at < MODULE_FIXED) {
        return -1;
    }
    p = data + *at;
    name = memchr(p + MODULE_FIXED, 0, size - *at - MODULE_FIXED);
    if (name == NULL) {
        return -1;
    }
    object = memchr(name + 1, 0, (size_t)(data + size - name - 1));
    if (object == NULL) {
        return -1;
    }
    module->name = (const char *)p + MODULE_FIXED;
    module->name_size = (uint32_t)(name - p - MODULE_FIXED);
    module->stream = le16(p + 34);
    module->symbol_bytes = le32(p + 36);
    module->c11_bytes = le32(p + 40);
    module->c13_bytes = le32(p + 44);
    end = ((uint32_t)(object + 1 - data) + 3) & ~3u;
    *at = end < size ? end : size;
    return 0;
}

static int read_dbi_modules(struct dbi *dbi, const struct msf *msf,
                            const struct sizes *sizes, struct failure *failure)
{
    size_t n;
    uint32_t at;
    const uint8_t *p;
    struct dbi_module module;

    p = msf_view(msf, DBI_STREAM, HEADER, sizes->modules, &dbi->buffer);
    if (p == NULL) {
        return failure_at(failure, DBI_STREAM, HEADER, "module list");
    }
    n = 0;
    for (at = 0; at < sizes->modules; n++) {
        if (read_dbi_module(p, sizes->modules, &at, &module) != 0) {
            return failure_at(failure, DBI_STREAM, HEADER + (uint64_t)at,
                              "module information");
        }
    }
    dbi->modules = malloc((n + 1) * sizeof(*dbi->modules));
    if (dbi->modules == NULL) {
        return failure_memory(failure);
    }
    at = 0;
    for (dbi->num_modules = 0; dbi->num_modules < n; dbi->num_modules++) {
        read_dbi_module(p, sizes->modules, &at,
                        &dbi->modules[dbi->num_modules]);
    }
    return 0;
}

int dbi_read(struct dbi *dbi, const struct msf *msf, struct failure *failure)
{
    struct sizes sizes = {0, 0, 0};

    memset(dbi, 0, sizeof(*dbi));
    if (read_dbi_header(dbi, msf, &sizes, failure) != 0 ||
        read_slots(dbi, msf, &sizes, failure) != 0) {
        return -1;
    }
    /* last, because names point into the buffer */
    return read_dbi_modules(dbi, msf, &sizes, failure);
}
