/*
 * Copyright (C) the ngx_symcache authors
 */
#include "remap.h"

#include <stdlib.h>
#include <string.h>

#include "base/byte_compare.h"

/* A member without a range stands for all its original lines, up to so many.
 */
#define SPAN_MAX 65535

/* A member that is sorted among more than a few takes as long as so many that
 * are looked at. */
#define SORT_WORK 8
#define SORT_FEW 64

#define SYNTHETIC_CLASS "R8$$SyntheticClass"

bool remap_is_same(struct symc_string a, struct symc_string b)
{
    return a.size == b.size &&
           (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* A member that is not bound to lines of the program. */
static bool is_base(const struct proguardcache_member *m)
{
    return remap_or_zero(m->lines[1]) == 0;
}

static bool has_line(const struct proguardcache_member *m, uint32_t line)
{
    return is_base(m) ||
           (remap_or_zero(m->lines[0]) <= line && line <= m->lines[1]);
}

bool remap_member_at(const struct remap *remap, uint32_t i,
                     struct proguardcache_member *m)
{
    uint32_t place = remap->slice.first + i;

    return proguardcache_reader_lines(
        remap->reader,
        remap->has_parameters
            ? proguardcache_reader_parameter(remap->reader, place)
            : place,
        m);
}

void remap_read_member(const struct remap *remap,
                       struct proguardcache_member *m,
                       struct jvm_mapped *mapped)
{
    proguardcache_reader_names(remap->reader, m);
    *mapped = (struct jvm_mapped){
        .class = m->class.data != NULL ? m->class : remap->class.original,
        .method = m->name,
        .is_synthesized = (m->flags & PROGUARDCACHE_SYNTHESIZED) != 0};
}

static struct symc_string last_part(struct symc_string class)
{
    const char *dot = memrchr(class.data, '.', class.size);

    if (dot != NULL) {
        class.size -= (size_t)(dot + 1 - class.data);
        class.data = dot + 1;
    }
    return class;
}

static struct symc_string before_dollar(struct symc_string name)
{
    const char *dollar = memchr(name.data, '$', name.size);

    if (dollar != NULL) {
        name.size = (size_t)(dollar - name.data);
    }
    return name;
}

/* Makes a file up from the name of a class: Kotlin's classes for files end in
 * "Kt"; other ones are in a file with the extension of the class that was
 * asked for. */
static void make_file(const struct remap *remap, struct symc_string class,
                      struct jvm_mapped *out)
{
    struct symc_string rest = last_part(class), piece;
    const struct symc_string *file = &remap->class.file;
    const char *dot;

    out->file = before_dollar(rest);
    for (;;) {
        piece = before_dollar(rest);
        if (piece.size > 2 &&
            memcmp(piece.data + piece.size - 2, "Kt", 2) == 0) {
            out->file = (struct symc_string){piece.data, piece.size - 2};
            out->extension = (struct symc_string){".kt", 3};
            return;
        }
        if (piece.size == rest.size) {
            break;
        }
        rest.data += piece.size + 1;
        rest.size -= piece.size + 1;
    }
    dot = file->data != NULL ? memrchr(file->data, '.', file->size) : NULL;
    if (dot != NULL) {
        out->extension =
            (struct symc_string){dot, (size_t)(file->data + file->size - dot)};
    } else {
        out->extension = (struct symc_string){".java", 5};
    }
}

/* Returns false when nothing more is taken. */
static bool add_mapped(struct remap *remap, const struct jvm_mapped *mapped)
{
    struct jvm_mapped_frames *out = remap->out;

    if (remap->skip > 0) {
        remap->skip--;
        return true;
    }
    if (mapped->is_synthesized && remap->frame->without_synthesized) {
        remap->has_dropped = true;
        return true;
    }
    if (out->count == JVM_FRAMES_MAX) {
        out->left_out++;
        return false;
    }
    out->list[out->count++] = *mapped;
    return true;
}

void remap_set_file(const struct remap *remap, struct symc_string file,
                    struct jvm_mapped *out)
{
    if (file.data == NULL) {
        make_file(remap, out->class, out);
    } else {
        out->file = file;
    }
}

/* Adds a member of which the line is not known by a range; its file is made
 * up. */
static bool add_plain(struct remap *remap, struct proguardcache_member *m,
                      bool has_a_line, uint32_t line)
{
    struct jvm_mapped mapped;

    remap_read_member(remap, m, &mapped);
    mapped.has_line = has_a_line;
    mapped.line = line;
    make_file(remap, mapped.class, &mapped);
    return add_mapped(remap, &mapped);
}

/* Adds a member at the first of its original lines. */
static bool add_first(struct remap *remap, struct proguardcache_member *m)
{
    uint32_t line = remap_or_zero(m->originals[0]);

    return add_plain(remap, m, line > 0, line);
}

/* Adds the frame with nothing but its class mapped. */
static void add_class_only(struct remap *remap)
{
    struct jvm_mapped mapped = {.class = remap->class.original,
                                .method = remap->frame->method,
                                .has_line = true,
                                .line = remap->line};

    make_file(remap, mapped.class, &mapped);
    add_mapped(remap, &mapped);
}

static void map_parameters(struct remap *remap)
{
    struct proguardcache_member m;
    uint32_t i;

    for (i = 0; i < remap->slice.count && remap_member_at(remap, i, &m); i++) {
        if (!add_first(remap, &m)) {
            return;
        }
    }
}

/* What is known of the base members of a frame without a line. */
struct base_members {
    uint32_t without_range;
    bool spans;          /* one with a range has several original lines */
    bool have_one_name;  /* those without a range */
    bool have_originals; /* the same */
};

static void look_at_base(const struct remap *remap, struct base_members *base)
{
    struct proguardcache_member m;
    struct symc_string name = {NULL, 0};
    uint32_t i;

    *base = (struct base_members){0, false, true, true};
    for (i = 0; i < remap->slice.count && remap_member_at(remap, i, &m); i++) {
        if (!is_base(&m)) {
            continue;
        }
        if (remap_is_set(m.lines[0])) {
            base->spans = base->spans ||
                          (remap_is_set(m.originals[1]) &&
                           m.originals[1] != remap_or_zero(m.originals[0]));
            continue;
        }
        proguardcache_reader_names(remap->reader, &m);
        if (base->without_range++ == 0) {
            name = m.name;
        }
        base->have_one_name =
            base->have_one_name && remap_is_same(name, m.name);
        base->have_originals =
            base->have_originals && remap_is_set(m.originals[0]);
    }
}

static int compare_texts(const struct symc_string *s,
                         const struct symc_string *t)
{
    return byte_compare(s->data, s->size, t->data, t->size);
}

/* Compares by the name of the method, and keeps the order of equal ones. */
static int compare_members(const void *a, const void *b)
{
    const struct jvm_base_member *x = a, *y = b;
    int c = compare_texts(&x->method, &y->method);

    return c != 0 ? c : (x->place < y->place ? -1 : 1);
}

/* Adds a base member of a frame without a line. */
static bool add_without_line(struct remap *remap,
                             const struct base_members *base,
                             struct proguardcache_member *m)
{
    if (remap_is_set(m->lines[0])) {
        return base->spans ? add_plain(remap, m, true, 0)
                           : add_first(remap, m);
    }
    if (base->have_one_name && base->without_range == 1) {
        return add_plain(remap, m, true, remap_or_zero(m->originals[0]));
    }
    return add_plain(remap, m, true, 0);
}

/* Adds all base members by name.  They are sorted before rules remove the first
 * ones, and before the rest is limited. */
static void map_sorted(struct remap *remap, const struct base_members *base)
{
    struct jvm_base_member *list = remap->out->sorted;
    struct proguardcache_member m;
    size_t n = 0, k;
    uint32_t i;

    for (i = 0; i < remap->slice.count && remap_member_at(remap, i, &m); i++) {
        if (!is_base(&m)) {
            continue;
        }
        if (n == JVM_SORTED_MAX) {
            remap->out->left_out++;
            break;
        }
        proguardcache_reader_names(remap->reader, &m);
        list[n++] = (struct jvm_base_member){m.name, i};
    }
    qsort(list, n, sizeof(*list), compare_members);
    if (n > SORT_FEW) {
        *remap->work -=
            *remap->work < n * SORT_WORK ? *remap->work : n * SORT_WORK;
    }
    for (k = 0; k < n && remap_member_at(remap, list[k].place, &m) &&
                add_without_line(remap, base, &m);
         k++) {
    }
}

static void map_base(struct remap *remap, const struct base_members *base)
{
    struct proguardcache_member m;
    bool is_named = false; /* the one of those without a range is there */
    uint32_t i;

    for (i = 0; i < remap->slice.count && remap_member_at(remap, i, &m); i++) {
        if (!is_base(&m) ||
            (is_named && base->have_one_name && !remap_is_set(m.lines[0]))) {
            continue;
        }
        is_named = is_named || !remap_is_set(m.lines[0]);
        if (!add_without_line(remap, base, &m)) {
            return;
        }
    }
}

/* Of members that all have ranges, the outermost of the first range. */
static void map_outermost(struct remap *remap)
{
    struct proguardcache_member m, last;
    uint32_t i;

    if (!remap_member_at(remap, 0, &last)) {
        return;
    }
    for (i = 1; i < remap->slice.count && remap_member_at(remap, i, &m) &&
                m.lines[0] == last.lines[0] && m.lines[1] == last.lines[1];
         i++) {
        last = m;
    }
    add_plain(remap, &last, true, 0);
}

/* Is there a member of this sort? */
static bool has_member(const struct remap *remap, bool base)
{
    struct proguardcache_member m;
    uint32_t i;

    for (i = 0; i < remap->slice.count && remap_member_at(remap, i, &m); i++) {
        if (is_base(&m) == base) {
            return true;
        }
    }
    return false;
}

static void map_without_line(struct remap *remap)
{
    struct base_members base;

    if (!has_member(remap, true)) {
        map_outermost(remap);
        return;
    }
    look_at_base(remap, &base);
    if (!base.have_one_name && base.have_originals) {
        map_sorted(remap, &base);
    } else {
        map_base(remap, &base);
    }
}

static bool add_base(struct remap *remap, struct proguardcache_member *m)
{
    uint32_t line;

    if (!remap_is_set(m->originals[0])) {
        return add_plain(remap, m, true, remap->line);
    }
    if (!remap_is_set(m->originals[1]) || m->originals[1] <= m->originals[0] ||
        m->originals[1] - m->originals[0] > SPAN_MAX) {
        return add_first(remap, m);
    }
    for (line = m->originals[0];; line++) {
        if (!add_plain(remap, m, true, line)) {
            remap->out->left_out += m->originals[1] - line;
            return false;
        }
        if (line == m->originals[1]) {
            return true;
        }
    }
}

static bool add_ranged(struct remap *remap, struct proguardcache_member *m)
{
    const struct symc_string synthetic = {SYNTHETIC_CLASS,
                                          sizeof(SYNTHETIC_CLASS) - 1};
    struct jvm_mapped mapped;

    remap_read_member(remap, m, &mapped);
    mapped.has_line = true;
    mapped.line = remap_or_zero(m->originals[0]);
    if (remap_is_set(m->originals[1]) && m->originals[1] != mapped.line) {
        mapped.line += remap->line - remap_or_zero(m->lines[0]);
    }
    if (remap_is_same(m->file, synthetic)) {
        mapped.file = before_dollar(last_part(mapped.class));
    } else {
        remap_set_file(remap, m->file, &mapped);
    }
    return add_mapped(remap, &mapped);
}

static void map_line(struct remap *remap)
{
    const bool ranged = has_member(remap, false);
    struct proguardcache_member m;
    bool goes_on = true, is_found = false;
    uint32_t i;

    for (i = 0;
         goes_on && i < remap->slice.count && remap_member_at(remap, i, &m);
         i++) {
        if (!ranged) {
            is_found = true;
            goes_on = add_base(remap, &m);
        } else if (!is_base(&m) && has_line(&m, remap->line)) {
            is_found = true;
            goes_on = add_ranged(remap, &m);
        }
    }
    if (!is_found) {
        add_class_only(remap);
    }
}

uint64_t remap_removed_by(const struct remap *remap,
                          const struct proguardcache_member *m,
                          const struct symc_string *descriptor)
{
    struct proguardcache_slice pairs, rules;
    struct proguardcache_rule rule;
    uint64_t n = 0;
    uint32_t i;

    proguardcache_reader_extra(remap->reader, m->extra, &pairs, &rules);
    if (rules.count > *remap->work) {
        *remap->work = 0;
        return 0;
    }
    *remap->work -= rules.count;
    for (i = 0; i < rules.count; i++) {
        if (proguardcache_reader_rule(remap->reader, rules.first + i, &rule) &&
            remap_is_same(rule.descriptor, *descriptor)) {
            n += rule.removed;
        }
    }
    return n;
}

/* Looks at the members that the line is of, with their rules.  Returns false
 * if there are none. */
static bool look_at_fitting(struct remap *remap,
                            const struct symc_string *descriptor)
{
    struct proguardcache_member m;
    bool fits = false;
    uint32_t i;

    for (i = 0; i < remap->slice.count && remap_member_at(remap, i, &m); i++) {
        if (!remap->has_parameters && !has_line(&m, remap->line)) {
            continue;
        }
        fits = true;
        if (descriptor == NULL) {
            return true;
        }
        if (m.extra != 0) {
            remap->skip += remap_removed_by(remap, &m, descriptor);
        }
    }
    return fits;
}

/* Replaces the line by that of the place from which an outline was called. */
static void apply_position(struct remap *remap, uint32_t position)
{
    struct proguardcache_member m;
    uint32_t i;

    for (i = 0; i < remap->slice.count && remap_member_at(remap, i, &m); i++) {
        if (has_line(&m, remap->line) && m.extra != 0 &&
            proguardcache_reader_outlined(remap->reader, &m, position,
                                          &remap->line)) {
            return;
        }
    }
}

/* Finds the members that the frame may be of.  Returns false if it is a frame
 * of an outline. */
static bool find_members(struct remap *remap)
{
    const struct jvm_frame *f = remap->frame;
    struct proguardcache_member m;

    remap->has_parameters = false;
    proguardcache_reader_methods(remap->reader, &remap->class, f->method.data,
                                 f->method.size, &remap->slice);
    if (remap->slice.count > 0 && remap_member_at(remap, 0, &m) &&
        (m.flags & PROGUARDCACHE_OUTLINE)) {
        return false;
    }
    remap->has_parameters = f->parameters.data != NULL;
    if (remap->has_parameters) {
        proguardcache_reader_overloads(
            remap->reader, &remap->class, f->method.data, f->method.size,
            f->parameters.data, f->parameters.size, &remap->slice);
    }
    return true;
}

bool jvm_remap_class(const struct proguardcache_reader *reader,
                     struct symc_string renamed, struct symc_string *original)
{
    struct proguardcache_class class;

    if (!proguardcache_reader_find(reader, renamed.data, renamed.size,
                                   &class)) {
        return false;
    }
    *original = class.original;
    return true;
}

enum jvm_outcome remap_begin(struct remap *remap, struct jvm_mapping *mapping,
                             const struct jvm_frame *frame, uint64_t *work,
                             struct jvm_mapped_frames *frames)
{
    const bool had_outline = mapping->has_outline;
    bool is_known;

    *remap = (struct remap){.reader = mapping->reader,
                            .frame = frame,
                            .line = frame->line,
                            .work = work,
                            .out = frames};
    frames->count = frames->left_out = 0;
    is_known = proguardcache_reader_find(remap->reader, frame->class.data,
                                         frame->class.size, &remap->class);
    if (is_known && !find_members(remap)) {
        mapping->has_outline = true;
        mapping->position = frame->line;
        return JVM_OUTLINE;
    }
    mapping->has_outline = false;
    if (!is_known || remap->slice.count > *work) {
        *work = is_known ? 0 : *work;
        return JVM_UNKNOWN;
    }
    *work -= remap->slice.count;
    if (had_outline) {
        apply_position(remap, mapping->position);
    }
    return JVM_MAPPED;
}

enum jvm_outcome jvm_remap_frame(struct jvm_mapping *mapping,
                                 const struct jvm_frame *frame,
                                 const struct symc_string *descriptor,
                                 uint64_t *work,
                                 struct jvm_mapped_frames *frames)
{
    struct remap remap;
    enum jvm_outcome outcome =
        remap_begin(&remap, mapping, frame, work, frames);
    bool fits;

    if (outcome != JVM_MAPPED) {
        return outcome;
    }
    if (remap.slice.count == 0) {
        add_class_only(&remap);
        return JVM_MAPPED;
    }
    fits = look_at_fitting(&remap, descriptor);
    if (remap.has_parameters) {
        map_parameters(&remap);
    } else if (remap.line == 0) {
        map_without_line(&remap);
    } else {
        map_line(&remap);
    }
    if (frames->count > 0 || remap.has_dropped) {
        return JVM_MAPPED;
    }
    return fits ? JVM_CLEARED : JVM_UNKNOWN;
}
