/*
 * Copyright (C) the ngx_symcache authors
 */
#include "alternatives.h"

#include <stdlib.h>

#include "base/byte_compare.h"

/* So many pairs of frames, which are compared in the end, take as long as one
 * member that is looked at. */
#define PAIRS_OF_WORK 64

/* Members with the same range that follow each other. */
struct alternative_range {
    uint32_t first;
    uint32_t end;
};

struct alternative_choice {
    struct remap remap;
    const struct symc_string *descriptor; /* or NULL */
    struct alternative_range
        ranges[JVM_FRAMES_MAX]; /* of which each may be meant */
    size_t num_ranges;
    bool is_ambiguous;
    bool has_lines; /* those of the ranges count, and their rules */
    struct jvm_alternatives *out;
};

/* What is taken of the members of one method. */
enum choose {
    CHOOSE_LINE,
    CHOOSE_WITHOUT_RANGE,
    CHOOSE_NAME
};

static bool alternative_has_range(const struct proguardcache_member *m)
{
    return remap_is_set(m->lines[0]);
}

static bool has_same_range(const struct proguardcache_member *a,
                           const struct proguardcache_member *b)
{
    return a->lines[0] == b->lines[0] && a->lines[1] == b->lines[1];
}

/* Finds the end of the calls that begin with a member, and reads the method
 * that the others were inlined into. */
static uint32_t alternative_calls_end(const struct remap *r, uint32_t first,
                                      struct proguardcache_member *outermost)
{
    struct proguardcache_member next;
    uint32_t end = first + 1;

    if (!remap_member_at(r, first, outermost)) {
        return end;
    }
    while (alternative_has_range(outermost) && end < r->slice.count &&
           remap_member_at(r, end, &next) &&
           has_same_range(&next, outermost)) {
        *outermost = next;
        end++;
    }
    return end;
}

static bool is_same_method(const struct remap *r,
                           struct proguardcache_member *a,
                           struct proguardcache_member *b)
{
    proguardcache_reader_names(r->reader, a);
    proguardcache_reader_names(r->reader, b);
    return remap_is_same(a->class, b->class) &&
           remap_is_same(a->name, b->name) &&
           remap_is_same(a->arguments, b->arguments);
}

/* Finds the end of the members that are of the same method of the program, as
 * methods that overload each other can have one name there. */
static uint32_t end_of_method(const struct remap *r, uint32_t first)
{
    struct proguardcache_member method, next;
    uint32_t end = alternative_calls_end(r, first, &method), next_end;

    while (end < r->slice.count) {
        next_end = alternative_calls_end(r, end, &next);
        if (!is_same_method(r, &method, &next)) {
            break;
        }
        end = next_end;
    }
    return end;
}

/* Can a line of the range be any of several lines of the source? */
static bool is_vague(const struct proguardcache_member *m)
{
    const uint32_t *lines = m->lines, *originals = m->originals;

    return remap_is_set(originals[0]) && remap_is_set(originals[1]) &&
           originals[0] != originals[1] &&
           (!alternative_has_range(m) ||
            lines[1] - lines[0] != originals[1] - originals[0]);
}

static void add_range(struct alternative_choice *alternative, uint32_t first,
                      uint32_t end)
{
    struct proguardcache_member m;
    uint32_t i;

    if (alternative->num_ranges == JVM_FRAMES_MAX) {
        alternative->out->frames.left_out++;
        return;
    }
    for (i = first; i < end && remap_member_at(&alternative->remap, i, &m);
         i++) {
        alternative->is_ambiguous = alternative->is_ambiguous || is_vague(&m);
    }
    alternative->ranges[alternative->num_ranges++] =
        (struct alternative_range){first, end};
    alternative->is_ambiguous =
        alternative->is_ambiguous || alternative->num_ranges > 1;
}

/* Adds the range that has the line; without a line, the first member that has
 * no range is as good. */
static void choose_by_line(struct alternative_choice *alternative,
                           uint32_t first, uint32_t end)
{
    struct proguardcache_member m;
    uint32_t i, without_range = end;

    for (i = first; i < end && remap_member_at(&alternative->remap, i, &m);
         i++) {
        if (!alternative_has_range(&m)) {
            without_range = without_range < end ? without_range : i;
        } else if (m.lines[0] <= alternative->remap.line &&
                   alternative->remap.line <= m.lines[1]) {
            add_range(alternative, i,
                      alternative_calls_end(&alternative->remap, i, &m));
            return;
        }
    }
    if (alternative->remap.line == 0 && without_range < end) {
        add_range(alternative, without_range, without_range + 1);
    }
}

static void choose_in_method(struct alternative_choice *alternative,
                             enum choose choose, uint32_t first, uint32_t end)
{
    struct proguardcache_member m;
    uint32_t i;

    switch (choose) {
    case CHOOSE_LINE:
        choose_by_line(alternative, first, end);
        return;
    case CHOOSE_WITHOUT_RANGE:
        for (i = first; i < end && remap_member_at(&alternative->remap, i, &m);
             i++) {
            if (!alternative_has_range(&m)) {
                add_range(alternative, i, i + 1);
            }
        }
        return;
    default:
        add_range(alternative, end - 1, end);
    }
}

/* Chooses among the members of each method. */
static void choose_ranges(struct alternative_choice *alternative,
                          enum choose choose)
{
    struct remap *r = &alternative->remap;
    struct proguardcache_member method, last;
    uint32_t first = 0, end;

    (void)alternative_calls_end(r, 0, &method);
    if (remap_member_at(r, r->slice.count - 1, &last) &&
        is_same_method(r, &method, &last)) {
        choose_in_method(alternative, choose, 0,
                         r->slice.count); /* as R8 has it */
        return;
    }
    for (; first < r->slice.count; first = end) {
        end = end_of_method(r, first);
        choose_in_method(alternative, choose, first, end);
    }
}

/* The line of the source, or that of the frame if it is not known. */
static uint32_t original_line(const struct alternative_choice *alternative,
                              const struct proguardcache_member *m)
{
    const struct remap *r = &alternative->remap;
    const uint32_t *originals = m->originals;

    if (!alternative->has_lines) {
        return r->frame->line;
    }
    if (remap_is_set(originals[0]) &&
        (!remap_is_set(originals[1]) || originals[0] == originals[1])) {
        return originals[0];
    }
    if (r->line == 0 || !alternative_has_range(m)) {
        return alternative->is_ambiguous || !remap_is_set(originals[0])
                   ? r->frame->line
                   : originals[0];
    }
    return remap_or_zero(originals[0]) + r->line - m->lines[0];
}

static void add_frame(struct alternative_choice *alternative,
                      struct proguardcache_member *m, uint32_t line)
{
    struct jvm_mapped_frames *frames = &alternative->out->frames;
    struct jvm_mapped *mapped;

    if (frames->count == JVM_FRAMES_MAX) {
        frames->left_out++;
        return;
    }
    mapped = &frames->list[frames->count++];
    remap_read_member(&alternative->remap, m, mapped);
    mapped->line = line;
    mapped->has_line = line > 0;
    remap_set_file(&alternative->remap, m->file, mapped);
}

/* Adds a stack of the frames of a range, the innermost at the line unless it is
 * 0. */
static void add_stack(struct alternative_choice *alternative,
                      const struct alternative_range *range, uint32_t line)
{
    struct jvm_alternatives *out = alternative->out;
    struct jvm_stack stack = {.first = (uint32_t)out->frames.count};
    struct proguardcache_member m;
    uint32_t i;

    for (i = range->first;
         i < range->end && remap_member_at(&alternative->remap, i, &m); i++) {
        add_frame(alternative, &m,
                  i == range->first && line > 0
                      ? line
                      : original_line(alternative, &m));
        stack.arguments = i == range->first ? m.arguments : stack.arguments;
    }
    stack.count = (uint32_t)out->frames.count - stack.first;
    if (stack.count > 0 && out->num_stacks < JVM_FRAMES_MAX) {
        out->stacks[out->num_stacks++] = stack;
    }
}

/* Leaves out the frames that rules or the compiler hide, which may be all. */
static struct alternative_range
visible_range(const struct alternative_choice *alternative,
              const struct alternative_range *range)
{
    struct proguardcache_member m = {0};
    struct alternative_range visible = *range;
    uint64_t skip = 0;
    uint32_t i;

    for (i = range->first;
         i < range->end && remap_member_at(&alternative->remap, i, &m); i++) {
        if (alternative->has_lines && alternative->descriptor != NULL &&
            m.extra != 0) {
            skip += remap_removed_by(&alternative->remap, &m,
                                     alternative->descriptor);
        }
    }
    visible.end -= (m.flags & PROGUARDCACHE_SYNTHESIZED) != 0;
    if (skip <= range->end - range->first) {
        visible.first += (uint32_t)skip;
    }
    return visible;
}

/* Of a range that can be several lines of the source, each is a stack, if the
 * frame that has the line is seen. */
static void add_stacks(struct alternative_choice *alternative,
                       const struct alternative_range *range)
{
    const struct alternative_range visible = visible_range(alternative, range);
    struct proguardcache_member m;
    uint32_t line;

    if (!alternative->has_lines || visible.first != range->first ||
        visible.first >= visible.end ||
        !remap_member_at(&alternative->remap, range->first, &m) ||
        !is_vague(&m)) {
        add_stack(alternative, &visible, 0);
        return;
    }
    for (line = m.originals[0];
         alternative->out->frames.count < JVM_FRAMES_MAX; line++) {
        add_stack(alternative, &visible, line);
        if (line == m.originals[1]) {
            return;
        }
    }
    alternative->out->frames.left_out += m.originals[1] - line + 1;
}

static int compare_texts(struct symc_string s, struct symc_string t)
{
    return byte_compare(s.data, s.size, t.data, t.size);
}

static size_t alternative_commas(struct symc_string s)
{
    size_t i, n = 0;

    for (i = 0; i < s.size; i++) {
        n += s.data[i] == ',';
    }
    return n;
}

/* The shorter list comes first. */
static int compare_arguments(struct symc_string s, struct symc_string t)
{
    size_t m = alternative_commas(s), n = alternative_commas(t);

    return m != n ? (m < n ? -1 : 1) : compare_texts(s, t);
}

static int compare_stacks(const void *a, const void *b, void *context)
{
    const struct jvm_stack *s = a, *t = b;
    const struct alternative_choice *choice = context;
    const struct jvm_mapped *list = choice->out->frames.list;
    const struct jvm_mapped *x = &list[s->first], *y = &list[t->first];
    int c = compare_texts(x->class, y->class);

    c = c != 0 ? c : compare_texts(x->method, y->method);
    c = c != 0 ? c : compare_arguments(s->arguments, t->arguments);
    c = c != 0 ? c : compare_texts(x->file, y->file);
    if (c == 0 && choice->remap.frame->line > 0 && x->line != y->line) {
        c = x->line < y->line ? -1 : 1;
    }
    return c != 0 ? c : (s->first < t->first ? -1 : 1);
}

bool jvm_is_same_frame(const struct jvm_mapped *a, const struct jvm_mapped *b,
                       bool with_line)
{
    return remap_is_same(a->class, b->class) &&
           remap_is_same(a->method, b->method) &&
           remap_is_same(a->file, b->file) &&
           remap_is_same(a->extension, b->extension) &&
           (!with_line || a->line == b->line);
}

/* Sorts the stacks; of those that begin with the same frame, the first one
 * stays, as in R8's retrace. */
static void sort_stacks(struct alternative_choice *alternative)
{
    struct jvm_alternatives *out = alternative->out;
    const struct jvm_mapped *list = out->frames.list;
    size_t i, n = 0;

    qsort_r(out->stacks, out->num_stacks, sizeof(*out->stacks), compare_stacks,
            alternative);
    for (i = 0; i < out->num_stacks; i++) {
        if (n == 0 || !jvm_is_same_frame(&list[out->stacks[i].first],
                                         &list[out->stacks[n - 1].first],
                                         alternative->remap.frame->line > 0)) {
            out->stacks[n++] = out->stacks[i];
        }
    }
    out->num_stacks = n;
}

/* Adds the frame with nothing but its class mapped. */
static void add_only_class(struct alternative_choice *alternative)
{
    const struct remap *r = &alternative->remap;
    struct jvm_mapped *mapped = &alternative->out->frames.list[0];

    *mapped = (struct jvm_mapped){.class = r->class.original,
                                  .method = r->frame->method,
                                  .has_line = r->line > 0,
                                  .line = r->line};
    remap_set_file(r, r->class.file, mapped);
    alternative->out->frames.count = 1;
    alternative->out->stacks[0] = (struct jvm_stack){0, 1, {NULL, 0}};
    alternative->out->num_stacks = 1;
    alternative->out->is_only_class = true;
}

enum jvm_outcome jvm_find_alternatives(struct jvm_mapping *mapping,
                                       const struct jvm_frame *frame,
                                       const struct symc_string *descriptor,
                                       uint64_t *work,
                                       struct jvm_alternatives *alternatives)
{
    struct alternative_choice alternative = {
        .descriptor = descriptor, .has_lines = true, .out = alternatives};
    enum jvm_outcome outcome = remap_begin(&alternative.remap, mapping, frame,
                                           work, &alternatives->frames);
    uint64_t pairs;
    size_t i;

    alternatives->num_stacks = 0;
    alternatives->is_only_class = false;
    if (outcome != JVM_MAPPED) {
        return outcome;
    }
    if (alternative.remap.slice.count > 0) {
        choose_ranges(&alternative, CHOOSE_LINE);
        if (alternative.num_ranges == 0) {
            alternative.has_lines = alternative.remap.line > 0;
            choose_ranges(&alternative, alternative.has_lines
                                            ? CHOOSE_WITHOUT_RANGE
                                            : CHOOSE_NAME);
        }
    }
    if (alternative.num_ranges == 0) {
        add_only_class(&alternative);
    }
    for (i = 0; i < alternative.num_ranges; i++) {
        add_stacks(&alternative, &alternative.ranges[i]);
    }
    sort_stacks(&alternative);
    alternatives->is_ambiguous = alternative.is_ambiguous;
    pairs = alternatives->frames.count * alternatives->frames.count /
            PAIRS_OF_WORK;
    *work -= *work < pairs ? *work : pairs;
    return JVM_MAPPED;
}
