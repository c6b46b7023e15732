/*
 * Copyright (C) the ngx_symcache authors
 *
 * The list of modules, and what identifies them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "bytes.h"
#include "proto/key.h"

#define ENTRY 108
#define UNLOADED_ENTRY 24

#define CV_PDB70 0x53445352 /* "RSDS" */
#define CV_PDB20 0x3031424e /* "NB10" */
#define CV_ELF 0x4270454c   /* "BpEL" */

#define VERSION_SIGNATURE 0xfeef04bd
#define VERSION_STRUCT 0x00010000

static const char hex[] = "0123456789abcdef";
static const struct bytes_limit modules_limit = {MINIDUMP_MODULES, "modules"};

/* What the bytes are, written in lower case; NULL when out of memory. */
static char *module_hex_text(struct minidump *dump, const uint8_t *p,
                             size_t size)
{
    char *text = arena_take(&dump->arena, size * 2 + 1);
    size_t i;

    for (i = 0; text != NULL && i < size; i++) {
        text[i * 2] = hex[p[i] >> 4];
        text[i * 2 + 1] = hex[p[i] & 15];
    }
    if (text != NULL) {
        text[size * 2] = '\0';
    }
    return text;
}

/* A GUID of the dump's byte order, in text order. */
static void module_read_guid(const struct minidump *dump, uint8_t guid[16],
                             const uint8_t *p)
{
    if (dump->is_big_endian) {
        memcpy(guid, p, 16);
    } else {
        le_guid(guid, p);
    }
}

static bool module_is_zero(const uint8_t *p, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++) {
        if (p[i] != 0) {
            return false;
        }
    }
    return true;
}

static void set_debug_id(struct minidump_module *module)
{
    module->has_debug_id = true;
    (void)symcache_debug_id_write(module->debug_id, module->guid, module->age);
}

/* The code id that PE images have. */
static bool set_image_id(struct minidump *dump, struct minidump_module *module)
{
    module->code_id = arena_take(&dump->arena, 17);
    if (module->code_id != NULL) {
        snprintf(module->code_id, 17, "%08x%x", module->time, module->size);
    }
    return module->code_id != NULL;
}

static bool read_pdb70(struct minidump *dump, struct minidump_module *module,
                       struct minidump_bytes cv)
{
    module_read_guid(dump, module->guid, cv.data + 4);
    module->age = get32(dump, cv.data + 20);
    if (!module_is_zero(module->guid, sizeof(module->guid))) {
        set_debug_id(module);
    }
    module->debug_file = bytes_text(dump, cv.data + 24, cv.size - 24);
    if (dump->os == MINIDUMP_MACOS || dump->os == MINIDUMP_IOS) {
        module->code_id =
            module_hex_text(dump, module->guid, sizeof(module->guid));
        return module->code_id != NULL && module->debug_file != NULL;
    }
    return module->debug_file != NULL && set_image_id(dump, module);
}

static bool read_pdb20(struct minidump *dump, struct minidump_module *module,
                       struct minidump_bytes cv)
{
    uint32_t signature = get32(dump, cv.data + 8);
    unsigned i;

    for (i = 0; i < 4; i++) {
        module->guid[i] = (uint8_t)(signature >> (24 - 8 * i));
    }
    module->age = get32(dump, cv.data + 12);
    module->has_debug_id = true;
    snprintf(module->debug_id, sizeof(module->debug_id),
             module->age != 0 ? "%08X-%x" : "%08X", signature, module->age);
    module->debug_file = bytes_text(dump, cv.data + 16, cv.size - 16);
    return module->debug_file != NULL && set_image_id(dump, module);
}

static bool read_build_id(struct minidump *dump,
                          struct minidump_module *module,
                          struct minidump_bytes cv)
{
    const uint8_t *id = cv.data + 4;
    size_t size = cv.size - 4;
    uint8_t first[16] = {0};

    module->debug_file = module->code_file;
    if (module_is_zero(id, size)) {
        return true;
    }
    memcpy(first, id, size < sizeof(first) ? size : sizeof(first));
    module_read_guid(dump, module->guid, first);
    set_debug_id(module);
    module->code_id = module_hex_text(dump, id, size);
    return module->code_id != NULL;
}

/* Reads the ids of a module.  Returns false if there is something that cannot
 * be read, or when out of memory. */
static bool read_ids(struct minidump *dump, struct minidump_module *module,
                     const uint8_t *location)
{
    struct minidump_bytes cv;

    if (get32(dump, location) == 0) {
        return dump->os != MINIDUMP_WINDOWS || set_image_id(dump, module);
    }
    cv = bytes_located(dump, location);
    if (cv.size < 4) {
        return false;
    }
    switch (get32(dump, cv.data)) {
    case CV_PDB70:
        return cv.size >= 24 && read_pdb70(dump, module, cv);
    case CV_PDB20:
        return cv.size >= 16 && read_pdb20(dump, module, cv);
    case CV_ELF:
        return read_build_id(dump, module, cv);
    default:
        return true;
    }
}

/* VS_FIXEDFILEINFO; in dumps of Linux each word is a number. */
static void read_version(const struct minidump *dump,
                         struct minidump_module *module, const uint8_t *p)
{
    uint32_t high = get32(dump, p + 8), low = get32(dump, p + 12);

    if (get32(dump, p) != VERSION_SIGNATURE ||
        get32(dump, p + 4) != VERSION_STRUCT) {
        return;
    }
    if (dump->os == MINIDUMP_WINDOWS || dump->os == MINIDUMP_MACOS ||
        dump->os == MINIDUMP_IOS) {
        snprintf(module->version, sizeof(module->version), "%u.%u.%u.%u",
                 high >> 16, high & 0xffff, low >> 16, low & 0xffff);
    } else {
        snprintf(module->version, sizeof(module->version), "%u.%u.%u.%u", high,
                 low, get32(dump, p + 16), get32(dump, p + 20));
    }
}

static bool read_module(struct minidump *dump, struct minidump_module *module,
                        const uint8_t *p)
{
    memset(module, 0, sizeof(*module));
    module->base = get64(dump, p);
    module->size = get32(dump, p + 8);
    module->checksum = get32(dump, p + 12);
    module->time = get32(dump, p + 16);
    module->code_file = bytes_string(dump, get32(dump, p + 20));
    read_version(dump, module, p + 24);
    return module->code_file != NULL && read_ids(dump, module, p + 76);
}

static int compare_modules(const void *a, const void *b)
{
    const struct minidump_module *x = a, *y = b;

    if (x->base != y->base) {
        return x->base < y->base ? -1 : 1;
    }
    if (x->size != y->size) {
        return x->size < y->size ? -1 : 1;
    }
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Of modules that overlap, the one that begins first stays; the others go
 * behind all. */
static void sort_modules(struct minidump *dump, size_t count)
{
    size_t i, n = 0;
    struct minidump_module *module = dump->modules, other;

    qsort(module, count, sizeof(*module), compare_modules);
    for (i = 0; i < count; i++) {
        if (n > 0 &&
            module[i].base - module[n - 1].base < module[n - 1].size) {
            continue;
        }
        other = module[n];
        module[n] = module[i];
        module[i] = other;
        dump->ranges[n].base = module[n].base;
        dump->ranges[n].size = module[n].size;
        n++;
    }
    dump->num_modules = n;
    dump->num_overlapping = count - n;
}

bool modules_read(struct minidump *dump)
{
    const uint8_t *p;
    size_t i, count, n = 0;

    if (!bytes_list(dump, bytes_stream(dump, STREAM_MODULES), ENTRY,
                    &modules_limit, &p, &count)) {
        return true;
    }
    dump->modules =
        arena_take(&dump->arena, (count + 1) * sizeof(*dump->modules));
    dump->ranges =
        arena_take(&dump->arena, (count + 1) * sizeof(*dump->ranges));
    if (dump->modules == NULL || dump->ranges == NULL) {
        return false;
    }
    for (i = 0; i < count; i++, p += ENTRY) {
        struct minidump_module *module = &dump->modules[n];

        if (!read_module(dump, module, p)) {
            return true; /* the crate gives the whole list up, too */
        }
        module->number = (uint32_t)i;
        if (module->size > 0 &&
            module->base + (module->size - 1) >= module->base) {
            n++;
        }
    }
    if (n > 0) {
        sort_modules(dump, n);
    }
    return true;
}

bool unloaded_read(struct minidump *dump)
{
    const uint8_t *p;
    size_t i, count;
    struct minidump_unloaded *u;

    if (!bytes_sized_list(dump, bytes_stream(dump, STREAM_UNLOADED),
                          UNLOADED_ENTRY, &modules_limit, &p, &count)) {
        return true;
    }
    dump->unloaded =
        arena_take(&dump->arena, (count + 1) * sizeof(*dump->unloaded));
    if (dump->unloaded == NULL) {
        return false;
    }
    for (i = 0; i < count; i++, p += UNLOADED_ENTRY) {
        u = &dump->unloaded[i];
        u->base = get64(dump, p);
        u->size = get32(dump, p + 8);
        u->time = get32(dump, p + 16);
        u->code_file = bytes_string(dump, get32(dump, p + 20));
        if (u->code_file == NULL) {
            return true;
        }
    }
    dump->num_unloaded = count;
    return true;
}
