/*
 * Copyright (C) the ngx_symcache authors
 *
 * Ranges of inlined code lie within those of their callers, in any order; at an
 * address the deepest one has the line.  Here a group is the ranges of one
 * function.  Each outermost range begins one, unless it goes on with the
 * function of the one before, whose code comes from another file from there on.
 *
 * A file of return pads alone becomes functions of one byte.  Of a file that
 * has both, the ranges are enough.
 */
#include "symbfile.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "debuginfo/function_builder.h"
#include "debuginfo/source_path_split.h"
#include "search.h"

/* Ranges that are open at an address; real files have some dozens. */
#define OPEN_MAX 1024

/* Limits how often the function builder looks at ranges. */
#define WORK_BASE 1000000

struct converted_range {
    const struct symbfile_record *record;
    uint64_t end;
    uint32_t source;
    size_t next_line;
};

struct symbfile_convert {
    struct symbfile_search search;
    struct table files;           /* by path: index of a source + 1 */
    struct symc_string *paths;    /* of the sources */
    size_t path_room;
    struct symc_source *sources;
    size_t num_sources;
    size_t source_room;
    struct inlinee_name *names; /* of the group */
    size_t num_names;
    size_t name_room;
    struct converted_range open[OPEN_MAX]; /* by depth */
    size_t num_open;
    uint64_t at; /* up to which there are lines */
    struct function_builder builder;
    struct symc_writer writer;
    struct failure *failure;
};

static int convert_no_memory(struct symbfile_convert *symbfile)
{
    return failure_memory(symbfile->failure);
}

/* sources and names ------------------------------------------------------- */

static int convert_add_source(struct symbfile_convert *symbfile,
                              const struct symc_string *path)
{
    struct symc_source *s;
    size_t n = symbfile->num_sources + 1;

    if (n >= SYMC_NONE ||
        array_need(&symbfile->sources, &symbfile->source_room, n,
                   sizeof(*symbfile->sources)) != 0 ||
        array_need(&symbfile->paths, &symbfile->path_room, n,
                   sizeof(*symbfile->paths)) != 0) {
        return convert_no_memory(symbfile);
    }
    symbfile->paths[symbfile->num_sources] = *path;
    s = &symbfile->sources[symbfile->num_sources++];
    memset(s, 0, sizeof(*s));
    s->comp_dir.data = "";
    source_path_split(path->data, (uint32_t)path->size, &s->directory,
                      &s->name);
    s->file = SYMC_NONE;
    return 0;
}

/* Finds or adds the source of a path; an absent one is "". */
static int convert_find_source(struct symbfile_convert *symbfile,
                               struct symc_string path, uint32_t *index)
{
    size_t at = 0;
    uint64_t hash;
    uintptr_t value;
    const struct symc_string *other;

    path.data = path.data == NULL ? "" : path.data;
    hash = table_hash((uintptr_t)symbfile, path.data, path.size);
    while ((value = table_next(&symbfile->files, hash, &at)) != 0) {
        other = &symbfile->paths[value - 1];
        if (other->size == path.size &&
            memcmp(other->data, path.data, path.size) == 0) {
            *index = (uint32_t)(value - 1);
            return 0;
        }
    }
    *index = (uint32_t)symbfile->num_sources;
    if (convert_add_source(symbfile, &path) != 0) {
        return -1;
    }
    return table_add(&symbfile->files, hash, symbfile->num_sources) == 0
               ? 0
               : convert_no_memory(symbfile);
}

static struct symc_name convert_name_of(const struct symc_string *text)
{
    struct symc_name name = {text->data, (uint32_t)text->size, 0, 0};

    return name;
}

static int convert_add_inlinee(struct symbfile_convert *symbfile,
                               const struct symc_string *func,
                               struct inlined_range *inlinee)
{
    struct inlinee_name *name;

    if (symbfile->num_names >= SYMC_NONE ||
        array_need(&symbfile->names, &symbfile->name_room,
                   symbfile->num_names + 1, sizeof(*symbfile->names)) != 0) {
        return convert_no_memory(symbfile);
    }
    inlinee->name = (uint32_t)symbfile->num_names;
    name = &symbfile->names[symbfile->num_names++];
    memset(name, 0, sizeof(*name));
    name->name = convert_name_of(func);
    return function_builder_inlined_range(&symbfile->builder, inlinee) == 0
               ? 0
               : convert_no_memory(symbfile);
}

static void convert_begin_function(struct symbfile_convert *symbfile,
                                   uint64_t begin, uint64_t end,
                                   const struct symc_string *func)
{
    struct symc_name name = convert_name_of(func);

    symbfile->num_names = 0;
    function_builder_begin(&symbfile->builder, begin, end - begin, &name);
}

static int convert_end_function(struct symbfile_convert *symbfile)
{
    return function_builder_end(&symbfile->builder, &symbfile->writer,
                                symbfile->names, symbfile->sources,
                                symbfile->failure);
}

/* lines ------------------------------------------------------------------- */

static int convert_add_line(struct symbfile_convert *symbfile, uint64_t from,
                            uint64_t to, uint32_t source, uint32_t number)
{
    struct symc_line line = {
        .address = from, .line = number, .source = source, .size = to - from};

    return function_builder_line(&symbfile->builder, &line) == 0
               ? 0
               : convert_no_memory(symbfile);
}

/* Adds the lines that a range has from c->at to an address. */
static int convert_add_lines(struct symbfile_convert *symbfile,
                             struct converted_range *o, uint64_t to)
{
    uint64_t next;
    const struct symbfile_record *record = o->record;

    while (symbfile->at < to) {
        while (o->next_line < record->num_lines &&
               record->lines[o->next_line].offset <=
                   symbfile->at - record->address) {
            o->next_line++;
        }
        next = to;
        if (o->next_line < record->num_lines &&
            record->lines[o->next_line].offset < to - record->address) {
            next = record->address + record->lines[o->next_line].offset;
        }
        if (convert_add_line(symbfile, symbfile->at, next, o->source,
                             o->next_line > 0
                                 ? record->lines[o->next_line - 1].line
                                 : 0) != 0) {
            return -1;
        }
        symbfile->at = next;
    }
    return 0;
}

/* Goes on to an address: adds the lines of the deepest ranges up to there. */
static int convert_advance(struct symbfile_convert *symbfile, uint64_t to)
{
    struct converted_range *o;

    while (symbfile->num_open > 0) {
        o = &symbfile->open[symbfile->num_open - 1];
        if (o->end > symbfile->at) {
            if (symbfile->at >= to) {
                break;
            }
            if (convert_add_lines(symbfile, o, o->end < to ? o->end : to) !=
                0) {
                return -1;
            }
        }
        symbfile->num_open -= o->end <= symbfile->at;
    }
    symbfile->at = to;
    return 0;
}

/* groups ------------------------------------------------------------------ */

/* Opens a range below those of its depth and deeper that are still open: the
 * one that began first counts, as for the function builder. */
static int convert_open_range(struct symbfile_convert *symbfile,
                              const struct symbfile_record *record,
                              uint64_t end, struct converted_range **opened)
{
    size_t at = symbfile->num_open;

    while (at > 0 && symbfile->open[at - 1].record->depth >= record->depth) {
        at--;
    }
    if (symbfile->num_open == OPEN_MAX) {
        return failure_set(symbfile->failure, FAILURE_LIMIT,
                           "has too many functions at one address (offset "
                           "%llu)",
                           (unsigned long long)record->offset);
    }
    memmove(symbfile->open + at + 1, symbfile->open + at,
            (symbfile->num_open - at) * sizeof(*symbfile->open));
    symbfile->num_open++;
    *opened = &symbfile->open[at];
    (*opened)->record = record;
    (*opened)->end = end;
    (*opened)->next_line = 0;
    return convert_find_source(symbfile, record->file, &(*opened)->source);
}

/* Adds a range of a group that ends at end.  Without the file of its call that
 * is the file of its caller. */
static int convert_add_range(struct symbfile_convert *symbfile,
                             const struct symbfile_entry *entry,
                             uint32_t depth, uint64_t end)
{
    struct converted_range *o = NULL;
    const struct symbfile_record *record = &entry->record;
    struct inlined_range inlinee = {.address = record->address,
                                    .line = record->call_line};

    if (convert_advance(symbfile, record->address) != 0 ||
        convert_open_range(symbfile, record,
                           entry->end < end ? entry->end : end, &o) != 0) {
        return -1;
    }
    if (record->depth == depth) {
        return 0;
    }
    inlinee.depth = record->depth - depth - 1;
    inlinee.size = o->end - record->address;
    if (record->call_file.data != NULL) {
        if (convert_find_source(symbfile, record->call_file,
                                &inlinee.source) != 0) {
            return -1;
        }
    } else if (o > symbfile->open) {
        inlinee.source = o[-1].source;
    }
    return convert_add_inlinee(symbfile, &record->func, &inlinee);
}

static bool convert_is_same(const struct symc_string *a,
                            const struct symc_string *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

/* Adds the function that begins with an entry.  Returns the index of the first
 * entry that does not belong to it, or 0 with failure set. */
static size_t convert_add_group(struct symbfile_convert *symbfile,
                                size_t first)
{
    size_t i, last;
    const struct symbfile_entry *entries = symbfile->search.entries;
    const struct symbfile_record *record, *root = &entries[first].record;
    uint64_t end = entries[first].end;

    for (last = first + 1; last < symbfile->search.num_entries; last++) {
        record = &entries[last].record;
        if (record->depth == root->depth && record->address == end &&
            convert_is_same(&record->func, &root->func)) {
            end = entries[last].end;
        } else if (record->address >= end ||
                   (record->depth <= root->depth &&
                    record->address > root->address)) {
            break;
        }
    }
    convert_begin_function(symbfile, root->address, end, &root->func);
    symbfile->num_open = 0;
    symbfile->at = root->address;
    for (i = first; i < last; i++) {
        /* of several at the same address, the first one counts */
        if (i > first && entries[i].record.depth == root->depth &&
            entries[i].record.address == root->address) {
            continue;
        }
        if (convert_add_range(symbfile, &entries[i], root->depth, end) != 0) {
            return 0;
        }
    }
    return convert_advance(symbfile, end) == 0 &&
                   convert_end_function(symbfile) == 0
               ? last
               : 0;
}

static int convert_add_pad(struct symbfile_convert *symbfile,
                           const struct symbfile_record *record)
{
    size_t i;
    uint32_t source;
    const struct symbfile_frame *frame;
    struct inlined_range inlinee = {.address = record->address, .size = 1};

    if (record->num_frames == 0) {
        return 0;
    }
    convert_begin_function(symbfile, record->address, record->address + 1,
                           &record->frames[0].func);
    for (i = 0; i < record->num_frames; i++) {
        frame = &record->frames[i];
        if (convert_find_source(symbfile, frame->file, &source) != 0) {
            return -1;
        }
        if (i + 1 == record->num_frames) {
            return convert_add_line(symbfile, record->address,
                                    record->address + 1, source,
                                    frame->line) != 0
                       ? -1
                       : convert_end_function(symbfile);
        }
        inlinee.depth = (uint32_t)i;
        inlinee.source = source;
        inlinee.line = frame->line;
        if (convert_add_inlinee(symbfile, &frame[1].func, &inlinee) != 0) {
            return -1;
        }
    }
    return 0;
}

/* the file ---------------------------------------------------------------- */

/* Removes what says nothing: empty ranges, and pads next to ranges. */
static int convert_select_entries(struct symbfile_convert *symbfile)
{
    size_t i, n = 0;
    bool has_ranges = false;
    struct symbfile_entry *entries = symbfile->search.entries;

    for (i = 0; i < symbfile->search.num_entries; i++) {
        has_ranges |= !entries[i].record.is_pad;
        if (entries[i].end > (uint64_t)UINT32_MAX + 1) {
            return failure_set(symbfile->failure, FAILURE_LIMIT,
                               "has an address of more than 32 bits, which a "
                               "SymCache cannot have (offset %llu)",
                               (unsigned long long)entries[i].record.offset);
        }
    }
    for (i = 0; i < symbfile->search.num_entries; i++) {
        if (entries[i].record.is_pad != has_ranges &&
            entries[i].end > entries[i].record.address) {
            entries[n++] = entries[i];
        }
    }
    symbfile->search.num_entries = n;
    return 0;
}

static int convert_all(struct symbfile_convert *symbfile, const uint8_t *data,
                       size_t size)
{
    size_t i = 0;
    uint32_t unknown;
    static const struct symc_string none = {NULL, 0};

    symbfile->builder.work = WORK_BASE + (uint64_t)size;
    if (symbfile_search_open(&symbfile->search, data, size,
                             symbfile->failure) != 0 ||
        convert_select_entries(symbfile) != 0 ||
        convert_find_source(symbfile, none, &unknown) != 0) {
        return -1;
    }
    while (i < symbfile->search.num_entries) {
        if (symbfile->search.entries[i].record.is_pad) {
            if (convert_add_pad(symbfile,
                                &symbfile->search.entries[i++].record) != 0) {
                return -1;
            }
        } else {
            i = convert_add_group(symbfile, i);
            if (i == 0) {
                return -1;
            }
        }
    }
    return 0;
}

static void convert_free_readers(struct symbfile_convert *symbfile)
{
    symbfile_search_free(&symbfile->search);
    table_free(&symbfile->files);
    function_builder_free(&symbfile->builder);
    free(symbfile->paths);
    free(symbfile->sources);
    free(symbfile->names);
}

static int convert_symbfile(const uint8_t *data, size_t size,
                            const struct symc_sink *sink,
                            struct debuginfo_result *result,
                            struct failure *failure)
{
    int rc;
    struct symc_identity identity;
    struct symbfile_convert *symbfile = calloc(1, sizeof(*symbfile));

    memset(&identity, 0, sizeof(identity));
    if (symbfile == NULL) {
        return failure_memory(failure);
    }
    symbfile->failure = failure;
    symc_writer_init(&symbfile->writer);
    rc = convert_all(symbfile, data, size);
    convert_free_readers(symbfile);
    if (rc == 0) {
        rc =
            format_finish(&symbfile->writer, &identity, sink, result, failure);
    }
    symc_writer_free(&symbfile->writer);
    free(symbfile);
    return rc;
}

static const struct debuginfo_maker symbfile_makes[] = {
    {.output = SYMCACHE_KIND_SYMCACHE, .convert = convert_symbfile},
};

const struct debuginfo_format symbfile_format = {
    .sniff = symbfile_sniff,
    .makes = symbfile_makes,
    .num_makes = COUNT(symbfile_makes),
};
