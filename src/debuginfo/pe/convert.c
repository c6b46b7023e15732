/*
 * Copyright (C) the ngx_symcache authors
 */
#include "pe.h"

#include <string.h>

#include "debuginfo/dwarf/dwarf.h"
#include "debuginfo/supplement.h"
#include "exports.h"
#include "identity.h"
#include "image.h"
#include "sections.h"
#include "derived/symcache/symcache.h"

/* The names of DWARF are those of the source, without decorations, which the
 * reference takes off them all the same. */
static void convert_undecorate(struct symbol_list *symbols)
{
    size_t i;
    struct symc_writer *writer = &symbols->writer;

    for (i = 0; i < symbols->count; i++) {
        symc_writer_undecorate(writer, &symbols->list[i].name,
                               &symbols->list[i].name_size);
    }
    writer->undecorates = false;
}

static struct dwarf_found find_pe_section(const void *image, const char *name)
{
    return pe_section_find(image, name);
}

static int convert_pe(const uint8_t *data, size_t size,
                      const struct symc_sink *sink,
                      struct debuginfo_result *result, struct failure *failure)
{
    int rc;
    struct pe_image image;
    struct pe_debug_id id;
    struct symc_identity identity;
    struct symbol_list symbols;
    struct dwarf_object object = {.is_big = false};

    if (pe_open_valid(&image, data, size, failure) != 0) {
        return -1;
    }
    object.load_address = image.image_base;
    pe_debug_id(&image, &id);
    memcpy(identity.guid, id.guid, sizeof(identity.guid));
    identity.age = id.age;
    identity.arch = pe_image_arch(&image);
    if (dwarf_sections_find(&object, find_pe_section, &image, failure) != 0) {
        return -1;
    }
    symbol_list_init(&symbols, &object, size);
    supplement_undecorate(&symbols.writer, identity.arch);
    rc = pe_exports_read(&image, &symbols, failure);
    if (rc == 0 && !supplement_get()->is_like_symbolic) {
        convert_undecorate(&symbols);
    }
    if (rc == 0) {
        rc = symbol_list_convert(&symbols, &object, &identity, sink, result,
                                 failure);
    }
    symbol_list_free(&symbols);
    (void)dwarf_sections_free(&object);
    return rc;
}

static const struct debuginfo_maker pe_makes[] = {
    {.output = SYMCACHE_KIND_SYMCACHE, .convert = convert_pe},
    {.output = SYMCACHE_KIND_CFICACHE, .read_cfi = pe_cfi_read},
    {.output = SYMCACHE_KIND_CODECACHE, .convert = pe_code_convert},
};

const struct debuginfo_format pe_format = {
    .sniff = pe_sniff,
    .makes = pe_makes,
    .num_makes = sizeof(pe_makes) / sizeof(pe_makes[0]),
};
