/*
 * Copyright (C) the ngx_symcache authors
 */
#include "kinds.h"

static void sourcecache_counts(struct output *output,
                               const union derived_reader *reader)
{
    const uint32_t *count = reader->sourcecache.count;

    kind_print_version(output, "SourceCache", SOURCECACHE_VERSION);
    kind_print_count(output, count[SOURCECACHE_ENTRIES], " files");
    kind_print_count(output, count[SOURCECACHE_LINKS], " links\n");
}

/* Its files, and whether their texts are there. */
static int sourcecache_dump(struct output *output,
                            const union derived_reader *reader)
{
    static const char *const statuses[SOURCECACHE_STATUSES] = {
        "",
        " (not in the bundle)",
        " (damaged)",
        " (not UTF-8)",
        " (too large)",
        " "};
    const struct sourcecache_reader *r = &reader->sourcecache;
    struct sourcecache_entry entry;
    struct symc_string link;
    const uint8_t *p;
    uint32_t i;

    kind_print_number(output, "sourcecache ", SOURCECACHE_VERSION);
    kind_print_guid(output, r->data + SOURCECACHE_AT_GUID);
    output_text(output, "\nfiles\n");
    for (i = 0; sourcecache_reader_entry(r, i, &entry); i++) {
        output_text(output, "  ");
        output_string(output, entry.path.data != NULL  ? &entry.path
                              : entry.url.data != NULL ? &entry.url
                                                       : &entry.name);
        output_text(output, statuses[entry.status]);
        if (entry.status == SOURCECACHE_LINKED) {
            output_string(output, &entry.url);
            output_text(output, "\n");
            continue;
        }
        kind_print_number(output, ", lines ", entry.lines);
    }
    output_text(output, "\nlinks\n");
    for (i = 0; i < r->count[SOURCECACHE_LINKS]; i++) {
        p = sourcecache_record(r, SOURCECACHE_LINKS, i);
        output_text(output, "  ");
        link = sourcecache_string(r, p);
        output_string(output, &link);
        output_text(output, le32(p + 16) != 0 ? "* " : " ");
        link = sourcecache_string(r, p + 8);
        output_string(output, &link);
        output_text(output, "\n");
    }
    return 0;
}

const struct kind_printer kind_sourcecache = {.counts = sourcecache_counts,
                                              .dump = sourcecache_dump};
