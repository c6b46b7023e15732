/*
 * Copyright (C) the ngx_symcache authors
 */
#include "frames.h"

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

/* A frame that is being remapped. */
struct remap {
    const struct proguardcache_reader *reader;
    const struct jvm_frame *frame;
    struct proguardcache_class class;
    bool has_parameters;
    struct proguardcache_slice slice; /* of members or parameters */
    uint32_t line;
    uint64_t skip; /* frames that rules still remove */
    bool is_retrace;
    bool has_dropped; /* frames that the compiler made */
    uint64_t *work;   /* members that may still be looked at */
    struct jvm_mapped_frames *out;
};

static const struct symc_string absent = {NULL, 0};

static bool is_same(struct symc_string a, struct symc_string b)
{
    return a.size == b.size &&
           (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool is_set(uint32_t line)
{
    return line != PROGUARDCACHE_NONE;
}

static uint32_t or_zero(uint32_t line)
{
    return is_set(line) ? line : 0;
}

/* A member that is not bound to lines of the program. */
static bool is_base(const struct proguardcache_member *m)
{
    return or_zero(m->lines[1]) == 0;
}

static bool has_line(const struct proguardcache_member *m, uint32_t line)
{
    return is_base(m) || (or_zero(m->lines[0]) <= line && line <= m->lines[1]);
}

/* Reads the lines of the i-th member of those that the frame may be of. */
static bool member_at(const struct remap *r, uint32_t i,
                      struct proguardcache_member *m)
{
    uint32_t place = r->slice.first + i;

    return proguardcache_reader_lines(
        r->reader,
        r->has_parameters ? proguardcache_reader_parameter(r->reader, place)
                          : place,
        m);
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
static void make_file(const struct remap *r, struct symc_string class,
                      struct jvm_mapped *out)
{
    struct symc_string rest = last_part(class), piece;
    const struct symc_string *file = &r->class.file;
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
static bool add_mapped(struct remap *r, const struct jvm_mapped *mapped)
{
    struct jvm_mapped_frames *out = r->out;

    if (r->skip > 0) {
        r->skip--;
        return true;
    }
    if (mapped->is_synthesized && r->frame->without_synthesized) {
        r->has_dropped = true;
        return true;
    }
    if (out->count == JVM_FRAMES_MAX) {
        out->left_out++;
        return false;
    }
    out->list[out->count] = *mapped;
    out->list[out->count].place = (uint32_t)out->count;
    out->count++;
    return true;
}

/* Has a member without lines of the program a range nevertheless, "0:0:"?
 * Those of one method then called each other. */
static bool is_inline(const struct proguardcache_member *m)
{
    return is_base(m) && is_set(m->lines[0]);
}

/* Sets the file that the mapping names, or one that is made up. */
static void set_file(const struct remap *r, struct symc_string file,
                     struct jvm_mapped *out)
{
    const struct symc_string synthetic = {SYNTHETIC_CLASS,
                                          sizeof(SYNTHETIC_CLASS) - 1};

    if (file.data == NULL) {
        make_file(r, out->class, out);
    } else if (!r->is_retrace && is_same(file, synthetic)) {
        out->file = before_dollar(last_part(out->class));
    } else {
        out->file = file;
    }
}

/* Adds a member of which the line is not known by a range; it has the file of
 * the mapping only as retrace prints it. */
static bool add_plain(struct remap *r, struct proguardcache_member *m,
                      bool has_a_line, uint32_t line)
{
    struct jvm_mapped mapped = {
        .has_line = has_a_line,
        .line = line,
        .is_alternative = r->out->count > 0 && !is_inline(m),
        .is_synthesized = (m->flags & PROGUARDCACHE_SYNTHESIZED) != 0};

    proguardcache_reader_names(r->reader, m);
    mapped.class = m->class.data != NULL ? m->class : r->class.original;
    mapped.method = m->name;
    set_file(r, r->is_retrace ? m->file : absent, &mapped);
    return add_mapped(r, &mapped);
}

/* Adds a member at the first of its original lines. */
static bool add_first(struct remap *r, struct proguardcache_member *m)
{
    uint32_t line = or_zero(m->originals[0]);

    return add_plain(r, m, line > 0, line);
}

/* Adds the frame with nothing but its class mapped. */
static void add_class_only(struct remap *r)
{
    struct jvm_mapped mapped = {.class = r->class.original,
                                .method = r->frame->method,
                                .has_line = true,
                                .line = r->line};

    set_file(r, r->is_retrace ? r->class.file : absent, &mapped);
    add_mapped(r, &mapped);
}

static void map_parameters(struct remap *r)
{
    struct proguardcache_member m;
    uint32_t i;

    for (i = 0; i < r->slice.count && member_at(r, i, &m); i++) {
        if (!add_first(r, &m)) {
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

static void look_at_base(const struct remap *r, struct base_members *base)
{
    struct proguardcache_member m;
    struct symc_string name = absent;
    uint32_t i;

    *base = (struct base_members){0, false, true, true};
    for (i = 0; i < r->slice.count && member_at(r, i, &m); i++) {
        if (!is_base(&m)) {
            continue;
        }
        if (is_set(m.lines[0])) {
            base->spans =
                base->spans || (is_set(m.originals[1]) &&
                                m.originals[1] != or_zero(m.originals[0]));
            continue;
        }
        proguardcache_reader_names(r->reader, &m);
        if (base->without_range++ == 0) {
            name = m.name;
        }
        base->have_one_name = base->have_one_name && is_same(name, m.name);
        base->have_originals = base->have_originals && is_set(m.originals[0]);
    }
}

static int compare_texts(const struct symc_string *s,
                         const struct symc_string *t)
{
    return byte_compare(s->data, s->size, t->data, t->size);
}

/* Compares by class and method, as R8's retrace sorts alternatives. */
static int compare_alternatives(const void *a, const void *b)
{
    const struct jvm_mapped *x = a, *y = b;
    int c = compare_texts(&x->class, &y->class);

    if (c == 0) {
        c = compare_texts(&x->method, &y->method);
    }
    return c != 0 ? c : (x->place < y->place ? -1 : 1);
}

/* Methods that overload each other can have the same line. */
static bool is_same_place(const struct jvm_mapped *a,
                          const struct jvm_mapped *b)
{
    return is_same(a->class, b->class) && is_same(a->method, b->method) &&
           is_same(a->file, b->file) && is_same(a->extension, b->extension) &&
           a->has_line == b->has_line && a->line == b->line;
}

/* Sorts frames of which each may be meant; of equal ones, one stays. */
static void sort_alternatives(struct jvm_mapped_frames *frames)
{
    size_t i, n = 0, others = 0;

    for (i = 0; i < frames->count; i++) {
        others += !frames->list[i].is_alternative;
    }
    if (others > 1) {
        return;
    }
    qsort(frames->list, frames->count, sizeof(*frames->list),
          compare_alternatives);
    for (i = 0; i < frames->count; i++) {
        if (n == 0 || !is_same_place(&frames->list[i], &frames->list[n - 1])) {
            frames->list[n] = frames->list[i];
            frames->list[n].is_alternative = n > 0;
            n++;
        }
    }
    frames->count = n;
}

/* Compares by the name of the method, and keeps the order of equal ones. */
static int compare_members(const void *a, const void *b)
{
    const struct jvm_base_member *x = a, *y = b;
    int c = compare_texts(&x->method, &y->method);

    return c != 0 ? c : (x->place < y->place ? -1 : 1);
}

/* Adds a base member of a frame without a line. */
static bool add_without_line(struct remap *r, const struct base_members *base,
                             struct proguardcache_member *m)
{
    if (is_set(m->lines[0])) {
        return base->spans ? add_plain(r, m, true, 0) : add_first(r, m);
    }
    if (base->have_one_name && base->without_range == 1) {
        return add_plain(r, m, true, or_zero(m->originals[0]));
    }
    return add_plain(r, m, true, 0);
}

/* Adds all base members by name.  They are sorted before rules remove the first
 * ones, and before the rest is limited. */
static void map_sorted(struct remap *r, const struct base_members *base)
{
    struct jvm_base_member *list = r->out->sorted;
    struct proguardcache_member m;
    size_t n = 0, k;
    uint32_t i;

    for (i = 0; i < r->slice.count && member_at(r, i, &m); i++) {
        if (!is_base(&m)) {
            continue;
        }
        if (n == JVM_SORTED_MAX) {
            r->out->left_out++;
            break;
        }
        proguardcache_reader_names(r->reader, &m);
        list[n++] = (struct jvm_base_member){m.name, i};
    }
    qsort(list, n, sizeof(*list), compare_members);
    if (n > SORT_FEW) {
        *r->work -= *r->work < n * SORT_WORK ? *r->work : n * SORT_WORK;
    }
    for (k = 0; k < n && member_at(r, list[k].place, &m) &&
                add_without_line(r, base, &m);
         k++) {
    }
}

static void map_base(struct remap *r, const struct base_members *base)
{
    struct proguardcache_member m;
    bool is_named = false; /* the one of those without a range is there */
    uint32_t i;

    for (i = 0; i < r->slice.count && member_at(r, i, &m); i++) {
        if (!is_base(&m) ||
            (is_named && base->have_one_name && !is_set(m.lines[0]))) {
            continue;
        }
        is_named = is_named || !is_set(m.lines[0]);
        if (!add_without_line(r, base, &m)) {
            return;
        }
    }
}

/* Of members that all have ranges, the outermost of the first range. */
static void map_outermost(struct remap *r)
{
    struct proguardcache_member m, last;
    uint32_t i;

    if (!member_at(r, 0, &last)) {
        return;
    }
    for (i = 1; i < r->slice.count && member_at(r, i, &m) &&
                m.lines[0] == last.lines[0] && m.lines[1] == last.lines[1];
         i++) {
        last = m;
    }
    add_plain(r, &last, true, 0);
}

/* Is there a member of this sort? */
static bool has_member(const struct remap *r, bool base)
{
    struct proguardcache_member m;
    uint32_t i;

    for (i = 0; i < r->slice.count && member_at(r, i, &m); i++) {
        if (is_base(&m) == base) {
            return true;
        }
    }
    return false;
}

static void map_without_line(struct remap *r)
{
    struct base_members base;

    if (!has_member(r, true)) {
        map_outermost(r);
        return;
    }
    look_at_base(r, &base);
    if (!base.have_one_name && base.have_originals) {
        map_sorted(r, &base);
    } else {
        map_base(r, &base);
    }
}

static bool add_base(struct remap *r, struct proguardcache_member *m)
{
    uint32_t line;

    if (!is_set(m->originals[0])) {
        return add_plain(r, m, true, r->line);
    }
    if (!is_set(m->originals[1]) || m->originals[1] <= m->originals[0] ||
        m->originals[1] - m->originals[0] > SPAN_MAX) {
        return add_first(r, m);
    }
    for (line = m->originals[0];; line++) {
        if (!add_plain(r, m, true, line)) {
            r->out->left_out += m->originals[1] - line;
            return false;
        }
        if (line == m->originals[1]) {
            return true;
        }
    }
}

static bool add_ranged(struct remap *r, struct proguardcache_member *m)
{
    struct jvm_mapped mapped = {
        .has_line = true,
        .line = or_zero(m->originals[0]),
        .is_synthesized = (m->flags & PROGUARDCACHE_SYNTHESIZED) != 0};

    proguardcache_reader_names(r->reader, m);
    mapped.class = m->class.data != NULL ? m->class : r->class.original;
    mapped.method = m->name;
    if (is_set(m->originals[1]) && m->originals[1] != mapped.line) {
        mapped.line += r->line - or_zero(m->lines[0]);
    }
    set_file(r, m->file, &mapped);
    return add_mapped(r, &mapped);
}

/* Adds the members without a range, of which a line in no range is for R8's
 * retrace.  Returns false if there is none. */
static bool add_without_range(struct remap *r)
{
    struct proguardcache_member m;
    bool goes_on = true;
    uint32_t i;

    for (i = 0; goes_on && i < r->slice.count && member_at(r, i, &m); i++) {
        if (is_base(&m) && !is_set(m.lines[0])) {
            goes_on = add_base(r, &m);
        }
    }
    return r->out->count > 0;
}

static void map_line(struct remap *r)
{
    const bool ranged = has_member(r, false);
    struct proguardcache_member m;
    bool goes_on = true, is_found = false;
    uint32_t i;

    for (i = 0; goes_on && i < r->slice.count && member_at(r, i, &m); i++) {
        if (!ranged) {
            is_found = true;
            goes_on = add_base(r, &m);
        } else if (!is_base(&m) && has_line(&m, r->line)) {
            is_found = true;
            goes_on = add_ranged(r, &m);
        }
    }
    if (!is_found && !(r->is_retrace && add_without_range(r))) {
        add_class_only(r);
    }
}

/* Adds up what the rules of a member remove for an exception. */
static uint64_t removed_by(const struct remap *r,
                           const struct proguardcache_member *m,
                           const struct symc_string *descriptor)
{
    struct proguardcache_slice pairs, rules;
    struct proguardcache_rule rule;
    uint64_t n = 0;
    uint32_t i;

    proguardcache_reader_extra(r->reader, m->extra, &pairs, &rules);
    for (i = 0; i < rules.count; i++) {
        if (proguardcache_reader_rule(r->reader, rules.first + i, &rule) &&
            is_same(rule.descriptor, *descriptor)) {
            n += rule.removed;
        }
    }
    return n;
}

/* Looks at the members that the line is of, with their rules.  Returns false
 * if there are none. */
static bool look_at_fitting(struct remap *r,
                            const struct symc_string *descriptor)
{
    struct proguardcache_member m;
    bool fits = false;
    uint32_t i;

    for (i = 0; i < r->slice.count && member_at(r, i, &m); i++) {
        if (!r->has_parameters && !has_line(&m, r->line)) {
            continue;
        }
        fits = true;
        if (descriptor == NULL) {
            return true;
        }
        if (m.extra != 0) {
            r->skip += removed_by(r, &m, descriptor);
        }
    }
    return fits;
}

/* Replaces the line by that of the place from which an outline was called. */
static void apply_position(struct remap *r, uint32_t position)
{
    struct proguardcache_member m;
    uint32_t i;

    for (i = 0; i < r->slice.count && member_at(r, i, &m); i++) {
        if (has_line(&m, r->line) && m.extra != 0 &&
            proguardcache_reader_outlined(r->reader, &m, position, &r->line)) {
            return;
        }
    }
}

/* Finds the members that the frame may be of.  Returns false if it is a frame
 * of an outline. */
static bool find_members(struct remap *r)
{
    const struct jvm_frame *f = r->frame;
    struct proguardcache_member m;

    r->has_parameters = false;
    proguardcache_reader_methods(r->reader, &r->class, f->method.data,
                                 f->method.size, &r->slice);
    if (r->slice.count > 0 && member_at(r, 0, &m) &&
        (m.flags & PROGUARDCACHE_OUTLINE)) {
        return false;
    }
    r->has_parameters = f->parameters.data != NULL;
    if (r->has_parameters) {
        proguardcache_reader_overloads(r->reader, &r->class, f->method.data,
                                       f->method.size, f->parameters.data,
                                       f->parameters.size, &r->slice);
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

enum jvm_outcome jvm_remap_frame(struct jvm_mapping *mapping,
                                 const struct jvm_frame *frame,
                                 const struct symc_string *descriptor,
                                 uint64_t *work,
                                 struct jvm_mapped_frames *frames)
{
    struct remap r = {.reader = mapping->reader,
                      .frame = frame,
                      .line = frame->line,
                      .is_retrace = mapping->is_retrace,
                      .work = work,
                      .out = frames};
    const bool had_outline = mapping->has_outline;
    bool is_known, fits;

    frames->count = frames->left_out = 0;
    is_known = proguardcache_reader_find(r.reader, frame->class.data,
                                         frame->class.size, &r.class);
    if (is_known && !find_members(&r)) {
        mapping->has_outline = true;
        mapping->position = frame->line;
        return JVM_OUTLINE;
    }
    mapping->has_outline = false;
    if (!is_known || r.slice.count > *work) {
        *work = is_known ? 0 : *work;
        return JVM_UNKNOWN;
    }
    *work -= r.slice.count;
    if (had_outline) {
        apply_position(&r, mapping->position);
    }
    if (r.slice.count == 0) {
        add_class_only(&r);
        return JVM_MAPPED;
    }
    fits = look_at_fitting(&r, descriptor);
    if (r.has_parameters) {
        map_parameters(&r);
    } else if (r.line == 0) {
        map_without_line(&r);
    } else {
        map_line(&r);
    }
    if (mapping->is_retrace) {
        sort_alternatives(frames);
    }
    if (frames->count > 0 || r.has_dropped) {
        return JVM_MAPPED;
    }
    return fits ? JVM_CLEARED : JVM_UNKNOWN;
}
