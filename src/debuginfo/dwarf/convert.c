/*
 * Copyright (C) the ngx_symcache authors
 */
#include <stdio.h>
#include <string.h>

#include "dwarf.h"
#include "entry_walk.h"
#include "split.h"

/* A linker that removes a unit sets its address to 0.  Partial units and units
 * of types have no address either. */
static bool convert_is_removed(const struct dwarf_walk *w)
{
    return !w->reader->object->is_relocatable && w->unit->low_pc == 0 &&
           !w->root.has_ranges;
}

static void convert_count_missing(struct dwarf_walk *w,
                                  const struct dwarf_value *name)
{
    size_t i, size;
    const char *text = "";
    struct dwarf_missing *m = w->line_reader->object->missing;

    if (m == NULL || m->units++ > 0) {
        return;
    }
    if (!dwarf_string(w->line_reader, w->line_unit, name, &text, &size)) {
        text = "";
    }
    snprintf(m->name, sizeof(m->name), "%s", basename(text));
    for (i = 0; m->name[i] != '\0'; i++) {
        if (m->name[i] < ' ' || m->name[i] > '~' || m->name[i] == '"') {
            m->name[i] = '?';
        }
    }
}

/* Walks the entries of a unit, or those of its other part, if that is there.
 */
static int convert_walk(struct dwarf_walk *w, struct dwarf_splits *splits)
{
    int rc;
    struct dwarf_root other;
    const struct dwarf_root root = w->root;
    struct dwarf_unit *u =
        dwarf_splits_find(splits, w->unit, &w->reader, &other);

    if (u != NULL) {
        w->unit = u;
        w->root.name = other.name;
        w->root.prefers_dwarf_names = other.prefers_dwarf_names;
        (void)dwarf_walk_unit(w);
    }
    rc = dwarf_splits_end(splits, w->line_reader->failure);
    w->reader = w->line_reader;
    if (rc < 0) {
        return -1;
    }
    if (w->line_unit->has_dwo_id && (u == NULL || rc > 0)) {
        convert_count_missing(w, &root.dwo_name);
    }
    return u == NULL ? dwarf_walk_unit(w) : 0;
}

static int convert_unit(struct dwarf_walk *w, struct dwarf_splits *splits)
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
    removed = convert_is_removed(w);
    w->has_lines = w->root.stmt_list.kind == DWARF_OFFSET;
    if (w->has_lines &&
        dwarf_lines_open(d, w->unit, w->root.stmt_list.number, removed,
                         &w->lines) != 0) {
        return -1;
    }
    w->line_unit = w->unit;
    if (!removed && convert_walk(w, splits) != 0) {
        return -1;
    }
    return d->failure->code == FAILURE_NONE ? 0 : -1;
}

int dwarf_convert(const struct dwarf_object *object,
                  struct symc_writer *writer, struct failure *failure)
{
    int rc;
    size_t i;
    struct dwarf_reader d = {0}, supplementary = {0};
    struct failure earlier = {FAILURE_NONE, ""};
    struct dwarf_splits splits;
    struct dwarf_walk w = {
        .reader = &d, .line_reader = &d, .batches.writer = writer};

    dwarf_reader_init(&d, object, failure);
    if (object->supplementary != NULL) {
        dwarf_reader_init(&supplementary, object->supplementary, failure);
        d.supplementary = &supplementary;
    }
    rc = dwarf_splits_open(&splits, object, failure);
    w.batches.has_thread =
        object->sections[DWARF_INFO].size >= DWARF_BATCHES_LEAST;
    w.batches.builder.work = d.work;
    for (i = 0; i < splits.num_files; i++) {
        w.batches.builder.work += splits.files[i].reader.work;
    }
    w.seen.width = 4;
    w.seen.hint_or = 2;
    w.seen.shift = 4;
    for (i = 0; rc == 0 && (w.unit = dwarf_unit_get(&d, i)) != NULL; i++) {
        rc = convert_unit(&w, &splits);
    }
    rc = failure->code != FAILURE_NONE ? -1 : rc;
    /* functions that wait were read before whatever cannot be */
    if (dwarf_walk_end(&w, &earlier) != 0) {
        *failure = earlier;
        rc = -1;
    }
    dwarf_walk_free(&w);
    dwarf_splits_free(&splits);
    dwarf_reader_free(&d);
    dwarf_reader_free(&supplementary);
    return rc;
}
