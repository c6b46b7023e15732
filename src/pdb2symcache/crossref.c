/*
 * Copyright (C) the ngx_symcache authors
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "c13.h"
#include "crossref.h"
#include "pdb/le.h"

#define NO_MODULE UINT32_MAX

enum exports_state { EXPORTS_UNREAD = 0, EXPORTS_READ, EXPORTS_BROKEN };

struct crossref_exports {
    enum exports_state state;
    uint32_t count;
    uint8_t *pairs; /* local, global */
};

void crossref_free(struct crossref *c)
{
    size_t i;

    for (i = 0; c->exports != NULL && i < c->dbi->num_modules; i++) {
        free(c->exports[i].pairs);
    }
    free(c->exports);
    free(c->by_name);
    memset(c, 0, sizeof(*c));
}

static size_t hash_name(const struct crossref *c, const char *name,
                        uint32_t size)
{
    uint32_t i;
    uint64_t h;

    h = size ^ (uint64_t)(uintptr_t)c * 0x9E3779B97F4A7C15u;
    for (i = 0; i < size; i++) {
        h = (h ^ (uint64_t)tolower((unsigned char)name[i])) * 0x100000001B3u;
    }
    return (size_t)(h ^ h >> 32);
}

static int same_name(const struct dbi_module *module, const char *name,
                     uint32_t size)
{
    return module->name_size == size &&
           strncasecmp(module->name, name, size) == 0;
}

/* The slot of a name: taken by a module of that name, or free. */
static uint32_t *find_slot(const struct crossref *c, const char *name,
                           uint32_t size)
{
    size_t i;

    i = hash_name(c, name, size) & (c->num_slots - 1);
    while (c->by_name[i] != 0 &&
           !same_name(&c->dbi->modules[c->by_name[i] - 1], name, size)) {
        i = (i + 1) & (c->num_slots - 1);
    }
    return &c->by_name[i];
}

static int index_modules(struct crossref *c)
{
    size_t i, n;

    for (n = 16; n < 2 * c->dbi->num_modules; n *= 2) {
    }
    c->by_name = calloc(n, sizeof(*c->by_name));
    c->exports = calloc(c->dbi->num_modules + 1, sizeof(*c->exports));
    if (c->by_name == NULL || c->exports == NULL) {
        return -1;
    }
    c->num_slots = n;
    /* of modules with the same name the last one counts */
    for (i = 0; i < c->dbi->num_modules; i++) {
        *find_slot(c, c->dbi->modules[i].name, c->dbi->modules[i].name_size) =
            (uint32_t)i + 1;
    }
    return 0;
}

/* The import at a place of this module's list: name and local index. */
static int find_import(const struct crossref *c, uint32_t reference,
                       uint32_t *name, uint32_t *local)
{
    uint32_t at, slot, number, count, size;
    const uint8_t *p;

    slot = (reference >> 20) & 0x7FF;
    number = reference & 0xFFFFF;
    p = c->imports.data;
    size = p == NULL ? 0 : c->imports.size;
    for (at = 0; at < size; slot--) {
        if (size - at < 8) {
            return -1;
        }
        *name = le32(p + at);
        count = le32(p + at + 4);
        if (count > (size - at - 8) / 4) {
            return -1;
        }
        if (slot == 0) {
            if (number >= count) {
                return -1;
            }
            *local = le32(p + at + 8 + 4 * number);
            return 0;
        }
        at += 8 + 4 * count;
    }
    return -1;
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

static void read_exports(const struct crossref *c, uint32_t module,
                         struct crossref_exports *exports)
{
    int rc;
    uint32_t at;
    const uint8_t *data;
    const struct dbi_module *m;
    struct c13_subsection s;
    struct msf_buffer buffer = {NULL, 0};

    exports->state = EXPORTS_BROKEN;
    m = &c->dbi->modules[module];
    if (m->stream == MSF_NO_STREAM) {
        return;
    }
    if (m->c11_bytes > 0) {
        exports->state = EXPORTS_READ; /* and has none */
        return;
    }
    data = msf_view(c->msf, m->stream, m->symbol_bytes, m->c13_bytes, &buffer);
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

int crossref_resolve(struct crossref *c, uint32_t reference, uint32_t *index)
{
    uint32_t name, local, size, module;
    const char *text;

    if (!c->names->has_table ||
        (c->by_name == NULL && index_modules(c) != 0) ||
        find_import(c, reference, &name, &local) != 0 ||
        names_text(c->names, name, &text, &size) != 0) {
        return -1;
    }
    module = *find_slot(c, text, size);
    if (module == 0) {
        return -1;
    }
    module--;
    if (c->exports[module].state == EXPORTS_UNREAD) {
        read_exports(c, module, &c->exports[module]);
    }
    if (c->exports[module].state != EXPORTS_READ) {
        return -1;
    }
    return find_export(&c->exports[module], local, index);
}
