/*
 * Copyright (C) the ngx_symcache authors
 */
#include "writer.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/byte_compare.h"

/*
 * The members of a writer, and those of them that are marked.
 */

#define PROGUARDCACHE_PIECE 16384 /* members that are allocated at once */

/* Among the flags of a record; not written. */
#define PROGUARDCACHE_INLINED 0x80000000u

#define PROGUARDCACHE_HAS_CLASS 0x40000000u /* the mapping has it */

static inline struct proguardcache_record *
record_at(const struct proguardcache_writer *writer, uint32_t index)
{
    return &writer->members[index / PROGUARDCACHE_PIECE]
                           [index % PROGUARDCACHE_PIECE];
}

/* The marks of a member; no flags are set. */
static inline struct proguardcache_marked
marked_key(const struct proguardcache_record *record)
{
    struct proguardcache_marked key = {record->class, record->name,
                                       record->arguments, 0};

    return key;
}

static uint64_t hash_marked(const struct proguardcache_writer *w,
                            const struct proguardcache_marked *key)
{
    return table_hash((uintptr_t)w, key,
                      offsetof(struct proguardcache_marked, flags));
}

/* Returns what has this key, or NULL. */
static struct proguardcache_marked *
find_marked(const struct proguardcache_writer *w,
            const struct proguardcache_marked *key)
{
    struct proguardcache_marked *marked;
    uint64_t hash = hash_marked(w, key);
    uintptr_t value;
    size_t at = 0;

    while ((value = table_next(&w->marks, hash, &at)) != 0) {
        marked = &w->marked[value - 1];
        if (memcmp(marked, key,
                   offsetof(struct proguardcache_marked, flags)) == 0) {
            return marked;
        }
    }
    return NULL;
}

void proguardcache_writer_free(struct proguardcache_writer *w)
{
    size_t i;

    for (i = 0; i < w->num_pieces; i++) {
        w->release(w->members[i]);
    }
    free(w->members);
    free(w->headers);
    free(w->extras);
    free(w->pairs);
    free(w->rules);
    free(w->marked);
    table_free(&w->marks);
    symc_strings_free(&w->strings);
}

static enum symc_status insert(struct proguardcache_writer *w,
                                  struct symc_text text, uint32_t *offset)
{
    return symc_strings_insert(&w->strings, text.data, text.size, offset) ==
                   0
               ? SYMC_OK
               : SYMC_NO_MEMORY;
}

enum symc_status proguardcache_writer_class(struct proguardcache_writer *w,
                                               struct symc_text original,
                                               struct symc_text renamed)
{
    struct proguardcache_header header = {.file = PROGUARDCACHE_NONE,
                                          .first = (uint32_t)w->num_members};

    if (w->num_headers >= UINT32_MAX ||
        array_need(&w->headers, &w->header_room, w->num_headers + 1,
                   sizeof(*w->headers)) != 0 ||
        insert(w, renamed, &header.renamed) != SYMC_OK ||
        insert(w, original, &header.original) != SYMC_OK) {
        return SYMC_NO_MEMORY;
    }
    w->headers[w->num_headers++] = header;
    return SYMC_OK;
}

enum symc_status proguardcache_writer_file(struct proguardcache_writer *w,
                                              struct symc_text name)
{
    return insert(w, name, &w->headers[w->num_headers - 1].file);
}

void proguardcache_writer_synthesized_class(struct proguardcache_writer *w)
{
    w->headers[w->num_headers - 1].is_synthesized = true;
}

static enum symc_status add_piece(struct proguardcache_writer *w)
{
    if (array_need(&w->members, &w->piece_room, w->num_pieces + 1,
                   sizeof(*w->members)) != 0) {
        return SYMC_NO_MEMORY;
    }
    w->members[w->num_pieces] =
        w->allocate(PROGUARDCACHE_PIECE * sizeof(**w->members));
    if (w->members[w->num_pieces] == NULL) {
        return SYMC_NO_MEMORY;
    }
    w->num_pieces++;
    return SYMC_OK;
}

static enum symc_status insert_renamed(struct proguardcache_writer *w,
                                          struct symc_text text)
{
    if (w->renamed_text != NULL && w->renamed_size == text.size &&
        memcmp(w->renamed_text, text.data, text.size) == 0) {
        return SYMC_OK;
    }
    w->renamed_text = text.data;
    w->renamed_size = text.size;
    return insert(w, text, &w->renamed);
}

enum symc_status
proguardcache_writer_method(struct proguardcache_writer *w,
                            const struct proguardcache_method *method)
{
    struct proguardcache_record *r;

    if (w->num_members >= UINT32_MAX - 1 ||
        (w->num_members == w->num_pieces * PROGUARDCACHE_PIECE &&
         add_piece(w) != SYMC_OK)) {
        return SYMC_NO_MEMORY;
    }
    r = record_at(w, (uint32_t)w->num_members);
    *r = (struct proguardcache_record){
        .lines = {method->lines[0], method->lines[1]},
        .originals = {method->originals[0], method->originals[1]},
        .class = w->headers[w->num_headers - 1].original,
        .flags = method->class.data != NULL ? PROGUARDCACHE_HAS_CLASS : 0,
    };
    if (insert_renamed(w, method->renamed) != SYMC_OK ||
        insert(w, method->name, &r->name) != SYMC_OK ||
        insert(w, method->arguments, &r->arguments) != SYMC_OK ||
        (method->class.data != NULL &&
         insert(w, method->class, &r->class) != SYMC_OK)) {
        return SYMC_NO_MEMORY;
    }
    r->renamed = w->renamed;
    w->num_members++;
    w->headers[w->num_headers - 1].count++;
    return SYMC_OK;
}

static struct proguardcache_record *last(struct proguardcache_writer *w)
{
    return record_at(w, (uint32_t)w->num_members - 1);
}

void proguardcache_writer_inlined(struct proguardcache_writer *w)
{
    last(w)->flags |= PROGUARDCACHE_INLINED;
}

enum symc_status proguardcache_writer_mark(struct proguardcache_writer *w,
                                              uint32_t flags)
{
    struct proguardcache_marked *marked, key;

    key = marked_key(last(w));
    marked = find_marked(w, &key);
    if (marked != NULL) {
        marked->flags |= flags;
        return SYMC_OK;
    }
    key.flags = flags;
    if (array_need(&w->marked, &w->marked_room, w->num_marked + 1,
                   sizeof(*w->marked)) != 0) {
        return SYMC_NO_MEMORY;
    }
    w->marked[w->num_marked++] = key;
    return table_add(&w->marks, hash_marked(w, &key), w->num_marked) == 0
               ? SYMC_OK
               : SYMC_NO_MEMORY;
}

/* The extra of the last method, which gets one unless it has one. */
static struct proguardcache_extra *extra_of(struct proguardcache_writer *w)
{
    struct proguardcache_record *r = last(w);

    if (r->extra == 0) {
        if (array_need(&w->extras, &w->extra_room, w->num_extras + 1,
                       sizeof(*w->extras)) != 0) {
            return NULL;
        }
        w->extras[w->num_extras] = (struct proguardcache_extra){0, 0, 0, 0};
        r->extra = (uint32_t)++w->num_extras;
    }
    return &w->extras[r->extra - 1];
}

enum symc_status
proguardcache_writer_pairs(struct proguardcache_writer *w,
                           const struct proguardcache_pair *pairs, size_t n)
{
    struct proguardcache_extra *extra = extra_of(w);

    if (extra == NULL || n > UINT32_MAX - w->num_pairs ||
        array_need(&w->pairs, &w->pair_room, w->num_pairs + n,
                   sizeof(*w->pairs)) != 0) {
        return SYMC_NO_MEMORY;
    }
    if (n > 0) {
        memcpy(w->pairs + w->num_pairs, pairs, n * sizeof(*pairs));
    }
    extra->first_pair = (uint32_t)w->num_pairs;
    extra->num_pairs = (uint32_t)n;
    w->num_pairs += n;
    return SYMC_OK;
}

enum symc_status proguardcache_writer_rule(struct proguardcache_writer *w,
                                              struct symc_text descriptor,
                                              uint32_t removed)
{
    struct proguardcache_extra *extra = extra_of(w);
    struct proguardcache_rule_record rule = {0, removed};

    if (extra == NULL || w->num_rules >= UINT32_MAX ||
        array_need(&w->rules, &w->rule_room, w->num_rules + 1,
                   sizeof(*w->rules)) != 0 ||
        insert(w, descriptor, &rule.descriptor) != SYMC_OK) {
        return SYMC_NO_MEMORY;
    }
    if (extra->num_rules++ == 0) {
        extra->first_rule = (uint32_t)w->num_rules;
    }
    w->rules[w->num_rules++] = rule;
    return SYMC_OK;
}

/*
 * In which order a ProguardCache has what a mapping says.
 */

struct proguardcache_class_record {
    uint32_t renamed;
    uint32_t original;
    uint32_t file;
    uint32_t first;
    uint32_t count;
    uint32_t first_parameter;
    uint32_t num_parameters;
};

/* Must be all zero at the beginning. */
struct proguardcache_order {
    struct table infos; /* by original name: the last header of it + 1 */
    struct proguardcache_class_record *classes;
    size_t num_classes;
    uint32_t *members;    /* by place in the file: the index */
    uint32_t *places;     /* by index: the place in the file */
    uint32_t *parameters; /* indices */
    size_t num_parameters;
};

/* Returns a number below, equal to or above 0, as texts compare by bytes. */
static int compare_texts(const struct proguardcache_writer *w, uint32_t a,
                         uint32_t b)
{
    struct symc_string x, y;

    if (a == b) {
        return 0;
    }
    (void)symc_string_find(w->strings.data, w->strings.size, a,
                           SYMC_LEB128_VERSION, &x);
    (void)symc_string_find(w->strings.data, w->strings.size, b,
                           SYMC_LEB128_VERSION, &y);
    return byte_compare(x.data, x.size, y.data, y.size);
}

static int compare_numbers(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_headers(const void *a, const void *b, void *writer)
{
    const struct proguardcache_writer *w = writer;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int c = compare_texts(w, w->headers[x].renamed, w->headers[y].renamed);

    return c != 0 ? c : compare_numbers(x, y);
}

static int compare_members(const void *a, const void *b, void *writer)
{
    const struct proguardcache_writer *w = writer;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int c =
        compare_texts(w, record_at(w, x)->renamed, record_at(w, y)->renamed);

    return c != 0 ? c : compare_numbers(x, y);
}

static int compare_parameters(const void *a, const void *b, void *writer)
{
    const struct proguardcache_writer *w = writer;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const struct proguardcache_record *r = record_at(w, x);
    const struct proguardcache_record *s = record_at(w, y);
    int c = compare_texts(w, r->renamed, s->renamed);

    if (c == 0) {
        c = compare_texts(w, r->arguments, s->arguments);
    }
    return c != 0 ? c : compare_numbers(x, y);
}

/* Returns the header whose members the one with this index is of. */
static size_t header_of(const struct proguardcache_writer *w, uint32_t index)
{
    size_t low = 0, high = w->num_headers, middle;

    while (high - low > 1) {
        middle = low + (high - low) / 2;
        if (w->headers[middle].first <= index) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static int compare_overloads(const void *a, const void *b, void *writer)
{
    const struct proguardcache_writer *w = writer;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    size_t i = header_of(w, x), j = header_of(w, y);
    int c = i < j ? -1 : i > j;

    if (c == 0) {
        c = compare_numbers(record_at(w, x)->name, record_at(w, y)->name);
    }
    return c != 0 ? c : compare_numbers(x, y);
}

static int compare_indices(const void *a, const void *b)
{
    return compare_numbers(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* Of members with equal names and arguments, those that were called the same
 * before count once for each header of the class.  Returns how many stay. */
static size_t thin_out(const struct proguardcache_writer *w, uint32_t *list,
                       size_t n)
{
    size_t i, kept = 0;

    qsort_r(list, n, sizeof(*list), compare_overloads, (void *)w);
    for (i = 0; i < n; i++) {
        if (kept == 0 ||
            header_of(w, list[kept - 1]) != header_of(w, list[i]) ||
            record_at(w, list[kept - 1])->name !=
                record_at(w, list[i])->name) {
            list[kept++] = list[i];
        }
    }
    qsort(list, kept, sizeof(*list), compare_indices);
    return kept;
}

static size_t order_parameters(const struct proguardcache_writer *w,
                               uint32_t *list, size_t n)
{
    size_t i, end, count, kept = 0;
    const struct proguardcache_record *r, *s;

    qsort_r(list, n, sizeof(*list), compare_parameters, (void *)w);
    for (i = 0; i < n; i = end) {
        r = record_at(w, list[i]);
        for (end = i + 1; end < n; end++) {
            s = record_at(w, list[end]);
            if (r->renamed != s->renamed || r->arguments != s->arguments) {
                break;
            }
        }
        count = end - i > 1 ? thin_out(w, list + i, end - i) : 1;
        memmove(list + kept, list + i, count * sizeof(*list));
        kept += count;
    }
    return kept;
}

/* The last header of an original name; NULL: there is none. */
static const struct proguardcache_header *
find_info(const struct proguardcache_order *o,
          const struct proguardcache_writer *w, uint32_t original)
{
    size_t at = 0;
    uintptr_t value =
        table_next(&o->infos, table_hash_number(&o->infos, original), &at);

    return value != 0 ? &w->headers[value - 1] : NULL;
}

/* Adds the class of n headers with the same renamed name. */
static void add_class(struct proguardcache_order *o,
                      const struct proguardcache_writer *w,
                      const uint32_t *headers, size_t n, size_t *num_members)
{
    const struct proguardcache_header *h = &w->headers[headers[n - 1]];
    struct proguardcache_class_record *c = &o->classes[o->num_classes++];
    uint32_t *members = o->members + *num_members;
    uint32_t *parameters = o->parameters + o->num_parameters;
    uint32_t index;
    size_t i, count = 0, found = 0;

    for (i = 0; i < n; i++) {
        h = &w->headers[headers[i]];
        for (index = h->first; index < h->first + h->count; index++) {
            members[count++] = index;
            if (!(record_at(w, index)->flags & PROGUARDCACHE_INLINED)) {
                parameters[found++] = index;
            }
        }
    }
    qsort_r(members, count, sizeof(*members), compare_members, (void *)w);
    for (i = 0; i < count; i++) {
        o->places[members[i]] = (uint32_t)(*num_members + i);
    }
    found = order_parameters(w, parameters, found);
    *c =
        (struct proguardcache_class_record){h->renamed,
                                            h->original,
                                            find_info(o, w, h->original)->file,
                                            (uint32_t)*num_members,
                                            (uint32_t)count,
                                            (uint32_t)o->num_parameters,
                                            (uint32_t)found};
    o->num_parameters += found;
    *num_members += count;
}

static int read_infos(struct proguardcache_order *o,
                      const struct proguardcache_writer *w)
{
    size_t i, at;
    uint64_t hash;

    for (i = w->num_headers; i > 0; i--) {
        hash = table_hash_number(&o->infos, w->headers[i - 1].original);
        at = 0;
        if (table_next(&o->infos, hash, &at) == 0 &&
            table_add(&o->infos, hash, i) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Puts everything in order.  Returns 0, or -1 when out of memory. */
static int order_all(struct proguardcache_order *o,
                     const struct proguardcache_writer *w)
{
    size_t i, end, num_members = 0, n = w->num_headers;
    uint32_t *headers = calloc(n + 1, sizeof(*headers));
    const size_t room = (w->num_members + 1) * sizeof(uint32_t);

    o->classes = calloc(n + 1, sizeof(*o->classes));
    o->members = w->allocate(room);
    o->places = w->allocate(room);
    o->parameters = w->allocate(room);
    if (headers == NULL || o->classes == NULL || o->members == NULL ||
        o->places == NULL || o->parameters == NULL || read_infos(o, w) != 0) {
        free(headers);
        return -1;
    }
    for (i = 0; i < n; i++) {
        headers[i] = (uint32_t)i;
    }
    qsort_r(headers, n, sizeof(*headers), compare_headers, (void *)w);
    for (i = 0; i < n; i = end) {
        for (end = i + 1; end < n && w->headers[headers[end]].renamed ==
                                         w->headers[headers[i]].renamed;
             end++) {
        }
        add_class(o, w, headers + i, end - i, &num_members);
    }
    free(headers);
    return 0;
}

static void free_order(struct proguardcache_order *o,
                       const struct proguardcache_writer *w)
{
    table_free(&o->infos);
    free(o->classes);
    w->release(o->members);
    w->release(o->places);
    w->release(o->parameters);
}

/* Writes a member, with the data that other parts of the mapping have for
 * it. */
static void put_member(struct symc_output *out,
                       const struct proguardcache_writer *w,
                       const struct proguardcache_order *o, uint32_t index)
{
    const struct proguardcache_record *r = record_at(w, index);
    const struct proguardcache_marked key = marked_key(r);
    const struct proguardcache_marked *marked = NULL;
    const struct proguardcache_header *info;
    uint32_t flags;

    info = find_info(o, w, r->class);
    if (w->num_marked > 0) {
        marked = find_marked(w, &key);
    }
    flags = marked != NULL ? marked->flags : 0;
    if (info != NULL && info->is_synthesized) {
        flags |= PROGUARDCACHE_SYNTHESIZED;
    }
    symc_output_words(
        out,
        (const uint32_t[]){
            r->renamed, r->lines[0], r->lines[1],
            r->flags & PROGUARDCACHE_HAS_CLASS ? r->class : PROGUARDCACHE_NONE,
            info != NULL ? info->file : PROGUARDCACHE_NONE, r->name,
            r->originals[0], r->originals[1], r->arguments, r->extra, flags},
        PROGUARDCACHE_MEMBER_SIZE / 4);
}

static void put_classes(struct symc_output *out,
                        const struct proguardcache_writer *w,
                        const struct proguardcache_order *o)
{
    size_t i;
    uint32_t k;
    const struct proguardcache_class_record *c;

    for (i = 0; i < o->num_classes; i++) {
        c = &o->classes[i];
        symc_output_words(out,
                          (const uint32_t[]){
                              c->renamed, c->original, c->file, c->first,
                              c->count, c->first_parameter, c->num_parameters},
                          PROGUARDCACHE_CLASS_SIZE / 4);
    }
    for (i = 0; i < o->num_classes; i++) {
        c = &o->classes[i];
        for (k = c->first; k < c->first + c->count; k++) {
            put_member(out, w, o, o->members[k]);
        }
    }
    for (i = 0; i < o->num_parameters; i++) {
        symc_output_words(out, &o->places[o->parameters[i]], 1);
    }
}

static void put_extras(struct symc_output *out,
                       const struct proguardcache_writer *w)
{
    size_t i;
    const struct proguardcache_extra *e;

    for (i = 0; i < w->num_extras; i++) {
        e = &w->extras[i];
        symc_output_words(out,
                          (const uint32_t[]){e->first_pair, e->num_pairs,
                                             e->first_rule, e->num_rules},
                          4);
    }
    for (i = 0; i < w->num_pairs; i++) {
        symc_output_words(
            out, (const uint32_t[]){w->pairs[i].position, w->pairs[i].line},
            2);
    }
    for (i = 0; i < w->num_rules; i++) {
        symc_output_words(
            out,
            (const uint32_t[]){w->rules[i].descriptor, w->rules[i].removed},
            2);
    }
}

static enum symc_status write_file(const struct proguardcache_writer *w,
                                   const struct proguardcache_order *o,
                                   const struct symc_sink *sink)
{
    struct symc_output out;

    symc_output_init(&out, sink);
    symc_output_bytes(&out, PROGUARDCACHE_MAGIC, 4);
    symc_output_words(&out,
                      (const uint32_t[PROGUARDCACHE_HEADER / 4 - 1]){
                          PROGUARDCACHE_VERSION, (uint32_t)o->num_classes,
                          (uint32_t)w->num_members,
                          (uint32_t)o->num_parameters, (uint32_t)w->num_extras,
                          (uint32_t)w->num_pairs, (uint32_t)w->num_rules,
                          (uint32_t)w->strings.size},
                      PROGUARDCACHE_HEADER / 4 - 1);
    put_classes(&out, w, o);
    put_extras(&out, w);
    symc_output_bytes(&out, w->strings.data, w->strings.size);
    symc_output_flush(&out);
    return out.has_failed ? SYMC_NO_WRITE : SYMC_OK;
}

enum symc_status proguardcache_writer_finish(struct proguardcache_writer *w,
                                             const struct symc_sink *sink)
{
    struct proguardcache_order order = {0};
    enum symc_status status;

    symc_strings_forget(&w->strings);
    status = order_all(&order, w) == 0 ? write_file(w, &order, sink)
                                       : SYMC_NO_MEMORY;
    free_order(&order, w);
    return status;
}
