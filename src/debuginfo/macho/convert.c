/*
 * Copyright (C) the ngx_symcache authors
 */
#include "macho.h"

#include "image.h"
#include "debuginfo/dwarf/dwarf.h"
#include "identity.h"
#include "sections.h"
#include "symbols.h"
#include "derived/symcache/symcache.h"

static struct dwarf_found find_section(const void *image, const char *name)
{
    return macho_section_find(image, name);
}

static int convert_macho(const uint8_t *data, size_t size,
                         const struct symc_sink *sink,
                         struct debuginfo_result *result,
                         struct failure *failure)
{
    int rc;
    struct macho_image image;
    struct symc_identity identity = {.age = 0};
    struct symbol_list symbols;
    struct dwarf_object object = {.is_big = false};

    if (macho_open_valid(&image, data, size, failure) != 0) {
        return -1;
    }
    object.is_big = image.is_big_endian;
    object.is_relocatable = image.file_type == MACHO_OBJECT;
    object.load_address = macho_load_address(&image);
    macho_image_uuid(&image, identity.guid);
    identity.arch = macho_arch(image.cpu_type, image.cpu_subtype);
    if (dwarf_sections_find(&object, find_section, &image, failure) != 0) {
        return -1;
    }
    symbol_list_init(&symbols, &object, size);
    rc = macho_symbols_read(&image, &symbols, failure);
    if (rc == 0) {
        rc = symbol_list_convert(&symbols, &object, &identity, sink, result,
                                 failure);
    }
    symbol_list_free(&symbols);
    (void)dwarf_sections_free(&object);
    return rc;
}

static const struct debuginfo_maker macho_makes[] = {
    {.output = SYMCACHE_KIND_SYMCACHE, .convert = convert_macho},
    {.output = SYMCACHE_KIND_CFICACHE, .read_cfi = macho_cfi_read},
    {.output = SYMCACHE_KIND_CODECACHE, .convert = macho_code_convert},
};

const struct debuginfo_format macho_format = {
    .sniff = macho_sniff,
    .makes = macho_makes,
    .num_makes = sizeof(macho_makes) / sizeof(macho_makes[0]),
};
