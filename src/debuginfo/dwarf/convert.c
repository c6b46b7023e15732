/*
 * Copyright (C) the ngx_symcache authors
 */
#include <stdlib.h>
#include <string.h>

#include "dwarf.h"
#include "functions.h"

/* Limits what the sizes of sections do not bound, such as how often lists are
 * read that many entries share.  Real files need less than a step a byte. */
#define WORK_BASE 1000000
#define WORK_PER_BYTE 8

/* A linker that removes a unit sets its address to 0.  Partial units and units
 * of types have no address either. */
static bool is_removed(const struct dwarf_walk *w)
{
    return !w->reader->object->is_relocatable && w->unit->low_pc == 0 &&
           !w->root.has_ranges;
}

static int convert_unit(struct dwarf_walk *w)
{
    bool removed;
    struct dwarf_reader *d = w->reader;

    dwarf_units_forget(d);
    if (dwarf_unit_load(d, w->unit, &w->root) != 0) {
        return -1;
    }
    if (w->unit->state == DWARF_UNIT_EMPTY) {
        return 0;
    }
    removed = is_removed(w);
    w->has_lines = w->root.stmt_list.kind == DWARF_OFFSET;
    if (w->has_lines &&
        dwarf_lines_open(d, w->unit, w->root.stmt_list.number, removed,
                         &w->lines) != 0) {
        return -1;
    }
    if (!removed && dwarf_walk_unit(w) != 0) {
        return -1;
    }
    return d->failure->code == FAILURE_NONE ? 0 : -1;
}

static void reader_init(struct dwarf_reader *d,
                        const struct dwarf_object *object,
                        struct failure *failure)
{
    size_t i;

    d->object = object;
    d->failure = failure;
    d->work = WORK_BASE;
    for (i = 0; i < DWARF_SECTIONS; i++) {
        d->work += WORK_PER_BYTE * (uint64_t)object->sections[i].size;
    }
}

static void reader_free(struct dwarf_reader *d)
{
    dwarf_abbrevs_free(&d->abbrevs);
    table_free(&d->tables_at);
    free(d->tables);
    free(d->units);
    arena_free(&d->unit_memory);
}

int dwarf_convert(const struct dwarf_object *object,
                  struct symc_writer *writer, struct failure *failure)
{
    int rc;
    size_t i;
    struct dwarf_reader d = {0}, supplementary = {0};
    struct dwarf_walk w = {.reader = &d, .writer = writer};

    reader_init(&d, object, failure);
    if (object->supplementary != NULL) {
        reader_init(&supplementary, object->supplementary, failure);
        d.supplementary = &supplementary;
    }
    w.builder.work = d.work;
    w.seen.width = 4;
    w.seen.hint_or = 2;
    w.seen.shift = 4;
    for (i = 0, rc = 0; rc == 0 && (w.unit = dwarf_unit_get(&d, i)) != NULL;
         i++) {
        rc = convert_unit(&w);
    }
    rc = failure->code != FAILURE_NONE ? -1 : rc;
    dwarf_walk_free(&w);
    reader_free(&d);
    reader_free(&supplementary);
    return rc;
}
