/*
 * Copyright (C) the ngx_symcache authors
 */
#include "kinds.h"

static void ppdbcache_counts(struct output *output,
                             const union derived_reader *reader)
{
    const struct ppdbcache_reader *r = &reader->ppdbcache;

    kind_print_version(output, "PpdbCache", PPDBCACHE_VERSION);
    kind_print_count(output, r->num_files, " files");
    kind_print_count(output, r->num_ranges, " ranges");
    kind_print_count(output, r->string_bytes, " bytes of strings\n");
}

/* Its files, and where in them the code of each method is. */
static int ppdbcache_dump(struct output *output,
                          const union derived_reader *reader)
{
    uint32_t i, line, file, language;
    uint64_t range;
    const struct ppdbcache_reader *r = &reader->ppdbcache;
    struct symc_string name;

    kind_print_number(output, "ppdbcache  ", PPDBCACHE_VERSION);
    kind_print_guid(output, r->data + PPDBCACHE_AT_GUID);
    output_text(output, "\nstamp      ");
    output_hex(output, le32(r->data + PPDBCACHE_AT_STAMP), 8);
    kind_print_number(output, "\nfiles      ", r->num_files);
    kind_print_number(output, "ranges     ", r->num_ranges);
    kind_print_number(output, "strings    ", r->string_bytes);
    output_text(output, "\nfiles\n");
    for (i = 0; i < r->num_files; i++) {
        ppdbcache_reader_file(r, i, &name, &language);
        output_text(output, "  ");
        output_text(output, symc_language_name(language));
        output_text(output, " ");
        output_string(output, &name);
        output_text(output, "\n");
    }
    output_text(output, "\nranges\n");
    for (i = 0; i < r->num_ranges && output->error == 0; i++) {
        range = ppdbcache_reader_range(r, i);
        ppdbcache_reader_place(r, i, &line, &file);
        ppdbcache_reader_file(r, file, &name, &language);
        output_text(output, "  ");
        output_hex(output, ADDRESSES_TOKEN + (range >> 32), 1);
        output_text(output, "+");
        output_hex(output, (uint32_t)range, 1);
        output_text(output, " ");
        output_string(output, &name);
        kind_print_number(output, ":", line);
    }
    return 0;
}

/* The place of an offset in a method of .NET, whose name is not in the file.
 */
static int ppdbcache_lookup(struct output *output,
                            const union derived_reader *reader,
                            uint64_t address, bool is_json)
{
    struct ppdbcache_place place;
    bool is_found =
        ppdbcache_reader_lookup(&reader->ppdbcache, (uint32_t)(address >> 32),
                                (uint32_t)address, &place);

    output_text(output, is_json ? "{\"token\": \"" : "");
    output_hex(output, ADDRESSES_TOKEN + (address >> 32), 1);
    output_text(output, is_json ? "\", \"il\": \"" : "+");
    output_hex(output, (uint32_t)address, 1);
    if (!is_found) {
        output_text(output,
                    is_json ? "\", \"file\": null}\n" : "\n    not found\n");
        return false;
    }
    if (is_json) {
        output_text(output, "\", \"language\": \"");
        output_text(output, symc_language_name(place.language));
        output_text(output, "\", \"file\": ");
        output_json(output, &place.file);
        output_text(output, ", \"line\": ");
    } else {
        output_text(output, "\n    ");
        output_string(output, &place.file);
        output_text(output, ":");
    }
    output_decimal(output, place.line);
    output_text(output, is_json ? "}\n" : "\n");
    return true;
}

const struct kind_printer kind_ppdbcache = {
    .counts = ppdbcache_counts,
    .dump = ppdbcache_dump,
    .lookup = ppdbcache_lookup,
    .parse = addresses_parse_method,
    .no_address = "no METHOD+IL",
};
