/*
 * Copyright (C) the ngx_symcache authors
 */

#include "crossref.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "c13.h"
#include "base/le.h"

#define NO_MODULE UINT32_MAX /* marks in the list of imports */
#define UNKNOWN_MODULE (UINT32_MAX - 1)
#define MAX_NAME 65535
#define NAME_PER_WORK 16 /* bytes of a name that count as one reference */

enum exports_state { EXPORTS_UNREAD = 0, EXPORTS_READ, EXPORTS_BROKEN };

struct crossref_exports {
    enum exports_state state;
    uint32_t count;
    uint8_t *pairs; /* local, global */
};

void crossref_free(struct crossref *crossref)
{
    size_t i;

    for (i = 0; crossref->exports != NULL && i < crossref->dbi->num_modules;
         i++) {
        free(crossref->exports[i].pairs);
    }
    free(crossref->exports);
    free(crossref->list);
    table_free(&crossref->by_name);
    memset(crossref, 0, sizeof(*crossref));
}

static uint64_t hash_name(const struct crossref *crossref, const char *name,
                          uint32_t size)
{
    char lower[64];
    uint8_t letter;
    uint32_t i, n;
    uint64_t h;

    h = (uintptr_t)crossref;
    for (; size > 0; size -= n, name += n) {
        n = size < sizeof(lower) ? size : (uint32_t)sizeof(lower);
        /* as tolower(), a call of which takes longer than 16 bytes do here */
        for (i = 0; i < n; i++) {
            letter = (uint8_t)(name[i] - 'A');
            lower[i] = (char)(name[i] + (letter < 26 ? 'a' - 'A' : 0));
        }
        h = table_hash(h, lower, n);
    }
    return h;
}

/* Finds a module by its name.  Returns its number + 1, or 0. */
static uint32_t find_name(const struct crossref *crossref, const char *name,
                          uint32_t size, uint64_t hash)
{
    size_t found, at = 0;
    const struct dbi_module *module;

    while ((found = table_next(&crossref->by_name, hash, &at)) != 0) {
        module = &crossref->dbi->modules[found - 1];
        if (module->name_size == size &&
            strncasecmp(module->name, name, size) == 0) {
            break;
        }
    }
    return (uint32_t)found;
}

static int index_modules(struct crossref *crossref)
{
    size_t i;
    uint64_t hash;
    const struct dbi_module *module;

    /* if several modules have the same name, the last one is used */
    for (i = crossref->dbi->num_modules; i > 0; i--) {
        module = &crossref->dbi->modules[i - 1];
        hash = hash_name(crossref, module->name, module->name_size);
        if (find_name(crossref, module->name, module->name_size, hash) == 0 &&
            table_add(&crossref->by_name, hash, i) != 0) {
            return -1;
        }
    }
    crossref->exports =
        calloc(crossref->dbi->num_modules + 1, sizeof(*crossref->exports));
    return crossref->exports != NULL ? 0 : -1;
}

void crossref_module(struct crossref *crossref,
                     const struct crossref_imports *imports)
{
    crossref->imports = *imports;
    crossref->is_listed = 0;
}

/* Lists the imports of this module, up to the first damaged one. */
static int list_imports(struct crossref *crossref)
{
    uint32_t at, count, size;
    const uint8_t *p;

    if (crossref->list == NULL) {
        crossref->list = malloc(CROSSREF_IMPORTS * sizeof(*crossref->list));
        if (crossref->list == NULL) {
            return -1;
        }
    }
    crossref->count = 0;
    p = crossref->imports.data;
    size = p == NULL ? 0 : crossref->imports.size;
    for (at = 0; crossref->count < CROSSREF_IMPORTS && size - at >= 8;
         at += 8 + 4 * count) {
        count = le32(p + at + 4);
        if (count > (size - at - 8) / 4) {
            break;
        }
        crossref->list[crossref->count].at = at;
        crossref->list[crossref->count++].module = UNKNOWN_MODULE;
    }
    crossref->is_listed = 1;
    return 0;
}

static uint32_t find_module(struct crossref *crossref, uint32_t name)
{
    uint32_t size, found;
    const char *text;

    if (info_stream_text(crossref->info, name, &text, &size) != 0 ||
        size > MAX_NAME) {
        return NO_MODULE;
    }
    crossref->work += size / NAME_PER_WORK;
    found = find_name(crossref, text, size, hash_name(crossref, text, size));
    return found == 0 ? NO_MODULE : found - 1;
}

/* Finds the module that a reference refers to, and the local index there. */
static int find_import(struct crossref *crossref, uint32_t reference,
                       uint32_t *module, uint32_t *local)
{
    uint32_t slot, number;
    const uint8_t *p;

    if (!crossref->is_listed && list_imports(crossref) != 0) {
        return -1;
    }
    slot = (reference >> 20) & (CROSSREF_IMPORTS - 1);
    number = reference & 0xFFFFF;
    if (slot >= crossref->count) {
        return -1;
    }
    p = crossref->imports.data + crossref->list[slot].at;
    if (number >= le32(p + 4)) {
        return -1;
    }
    if (crossref->list[slot].module == UNKNOWN_MODULE) {
        crossref->list[slot].module = find_module(crossref, le32(p));
    }
    *module = crossref->list[slot].module;
    *local = le32(p + 8 + 4 * (size_t)number);
    return *module == NO_MODULE ? -1 : 0;
}

static int keep_exports(struct crossref_exports *exports,
                        const struct c13_subsection *s)
{
    if (s->size % 8 != 0) {
        return -1;
    }
    exports->pairs = malloc(s->size + 1);
    if (exports->pairs == NULL) {
        return -1;
    }
    memcpy(exports->pairs, s->data, s->size);
    exports->count = s->size / 8;
    return 0;
}

static void read_exports(struct crossref *crossref, uint32_t module,
                         struct crossref_exports *exports)
{
    int rc;
    uint32_t at;
    const uint8_t *data;
    const struct dbi_module *m;
    struct c13_subsection s;
    struct msf_buffer buffer = {NULL, 0};

    exports->state = EXPORTS_BROKEN;
    m = &crossref->dbi->modules[module];
    if (m->stream == MSF_NO_STREAM) {
        return;
    }
    if (m->c11_bytes > 0) {
        exports->state = EXPORTS_READ; /* and has none */
        return;
    }
    /* in the output of a linker, modules do not share their streams */
    crossref->export_bytes += m->c13_bytes;
    if (crossref->export_bytes > 2 * crossref->msf->size) {
        return;
    }
    data = msf_view(crossref->msf, m->stream, m->symbol_bytes, m->c13_bytes,
                    &buffer);
    if (data == NULL) {
        return;
    }
    at = 0;
    while ((rc = c13_next(data, m->c13_bytes, &at, &s)) > 0 &&
           s.kind != C13_EXPORTS) {
    }
    if (rc == 0 || (rc > 0 && keep_exports(exports, &s) == 0)) {
        exports->state = EXPORTS_READ;
    }
    msf_buffer_free(&buffer);
}

static int find_export(const struct crossref_exports *exports, uint32_t local,
                       uint32_t *global)
{
    uint32_t base, half, size;

    size = exports->count;
    if (size == 0) {
        return -1;
    }
    for (base = 0; size > 1; size -= half) {
        half = size / 2;
        if (le32(exports->pairs + 8 * (size_t)(base + half)) <= local) {
            base += half;
        }
    }
    if (le32(exports->pairs + 8 * (size_t)base) != local) {
        return -1;
    }
    *global = le32(exports->pairs + 8 * (size_t)base + 4);
    return 0;
}

int crossref_resolve(struct crossref *crossref, uint32_t reference,
                     uint32_t *index)
{
    uint32_t local, module;

    crossref->work++;
    if (!crossref->info->has_table ||
        (crossref->exports == NULL && index_modules(crossref) != 0) ||
        find_import(crossref, reference, &module, &local) != 0) {
        return -1;
    }
    if (crossref->exports[module].state == EXPORTS_UNREAD) {
        read_exports(crossref, module, &crossref->exports[module]);
    }
    if (crossref->exports[module].state != EXPORTS_READ) {
        return -1;
    }
    return find_export(&crossref->exports[module], local, index);
}
