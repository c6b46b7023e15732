/*
 * Copyright (C) the ngx_symcache authors
 */
#include "kinds.h"

#include "proto/key.h"

void kind_print_number(struct output *output, const char *what,
                       uint64_t number)
{
    output_text(output, what);
    output_decimal(output, number);
    output_text(output, "\n");
}

void kind_print_guid(struct output *output, const uint8_t p[16])
{
    char id[SYMCACHE_DEBUG_TEXT_MAX + 1];

    (void)symcache_debug_id_write(id, p, 0);
    output_text(output, "id         ");
    output_text(output, id);
}

void kind_print_version(struct output *output, const char *name,
                        uint32_t version)
{
    output_text(output, name);
    output_text(output, ", version ");
    output_decimal(output, version);
}

void kind_print_count(struct output *output, uint32_t count, const char *what)
{
    output_text(output, ", ");
    output_decimal(output, count);
    output_text(output, what);
}

static void count_cfi(struct output *output,
                      const union derived_reader *reader)
{
    const struct cficache_reader *cfi = &reader->cficache;

    kind_print_version(output, "CfiCache", CFICACHE_VERSION);
    kind_print_count(output, cfi->num_points[CFICACHE_RULES], " ranges");
    kind_print_count(output, cfi->num_rules, " rules");
    kind_print_count(output, cfi->num_wins, " STACK WIN records\n");
}

static void count_code(struct output *output,
                       const union derived_reader *reader)
{
    kind_print_version(output, "CodeCache", CODECACHE_VERSION);
    kind_print_count(output, reader->codecache.num_parts, " parts");
    kind_print_count(output, reader->codecache.num_marks, " marks\n");
}

static void count_mapping(struct output *output,
                          const union derived_reader *reader)
{
    const uint32_t *counts = reader->proguardcache.counts;

    kind_print_version(output, "ProguardCache", PROGUARDCACHE_VERSION);
    kind_print_count(output, counts[PROGUARDCACHE_CLASSES], " classes");
    kind_print_count(output, counts[PROGUARDCACHE_MEMBERS], " members\n");
}

static const struct kind_printer cficache = {.counts = count_cfi},
                                 codecache = {.counts = count_code},
                                 proguardcache = {.counts = count_mapping};

/* Kinds that derived_sniff() finds. */
static const struct kind_printer *const printers[SYMCACHE_KINDS] = {
    [SYMCACHE_KIND_SYMCACHE] = &kind_symcache,
    [SYMCACHE_KIND_PPDBCACHE] = &kind_ppdbcache,
    [SYMCACHE_KIND_CFICACHE] = &cficache,
    [SYMCACHE_KIND_CODECACHE] = &codecache,
    [SYMCACHE_KIND_JSCACHE] = &kind_jscache,
    [SYMCACHE_KIND_SOURCECACHE] = &kind_sourcecache,
    [SYMCACHE_KIND_PROGUARDCACHE] = &proguardcache,
};

const struct kind_printer *kind_printer(symcache_kind_e kind)
{
    return printers[kind];
}
