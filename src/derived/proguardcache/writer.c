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

static uint64_t hash_marked(const struct proguardcache_writer *writer,
                            const struct proguardcache_marked *key)
{
    return table_hash((uintptr_t)writer, key,
                      offsetof(struct proguardcache_marked, flags));
}

/* Returns what has this key, or NULL. */
static struct proguardcache_marked *
find_marked(const struct proguardcache_writer *writer,
            const struct proguardcache_marked *key)
{
    struct proguardcache_marked *marked;
    uint64_t hash = hash_marked(writer, key);
    uintptr_t value;
    size_t at = 0;

    while ((value = table_next(&writer->marks, hash, &at)) != 0) {
        marked = &writer->marked[value - 1];
        if (memcmp(marked, key,
                   offsetof(struct proguardcache_marked, flags)) == 0) {
            return marked;
        }
    }
    return NULL;
}

void proguardcache_writer_free(struct proguardcache_writer *writer)
{
    size_t i;

    for (i = 0; i < writer->num_pieces; i++) {
        writer->release(writer->members[i]);
    }
    free(writer->members);
    free(writer->headers);
    free(writer->extras);
    free(writer->pairs);
    free(writer->rules);
    free(writer->marked);
    table_free(&writer->marks);
    symc_string_table_free(&writer->strings);
}

static enum symc_status insert(struct proguardcache_writer *writer,
                               struct symc_text text, uint32_t *offset)
{
    return symc_string_table_insert(&writer->strings, text.data, text.size,
                                    offset) == 0
               ? SYMC_OK
               : SYMC_NO_MEMORY;
}

enum symc_status
proguardcache_writer_class(struct proguardcache_writer *writer,
                           struct symc_text original, struct symc_text renamed)
{
    struct proguardcache_header header = {
        .file = PROGUARDCACHE_NONE, .first = (uint32_t)writer->num_members};

    if (writer->num_headers >= UINT32_MAX ||
        array_need(&writer->headers, &writer->header_room,
                   writer->num_headers + 1, sizeof(*writer->headers)) != 0 ||
        insert(writer, renamed, &header.renamed) != SYMC_OK ||
        insert(writer, original, &header.original) != SYMC_OK) {
        return SYMC_NO_MEMORY;
    }
    writer->headers[writer->num_headers++] = header;
    return SYMC_OK;
}

enum symc_status proguardcache_writer_file(struct proguardcache_writer *writer,
                                           struct symc_text name)
{
    return insert(writer, name,
                  &writer->headers[writer->num_headers - 1].file);
}

void proguardcache_writer_synthesized_class(
    struct proguardcache_writer *writer)
{
    writer->headers[writer->num_headers - 1].is_synthesized = true;
}

static enum symc_status add_piece(struct proguardcache_writer *writer)
{
    if (array_need(&writer->members, &writer->piece_room,
                   writer->num_pieces + 1, sizeof(*writer->members)) != 0) {
        return SYMC_NO_MEMORY;
    }
    writer->members[writer->num_pieces] =
        writer->allocate(PROGUARDCACHE_PIECE * sizeof(**writer->members));
    if (writer->members[writer->num_pieces] == NULL) {
        return SYMC_NO_MEMORY;
    }
    writer->num_pieces++;
    return SYMC_OK;
}

static enum symc_status insert_renamed(struct proguardcache_writer *writer,
                                       struct symc_text text)
{
    if (writer->renamed_text != NULL && writer->renamed_size == text.size &&
        memcmp(writer->renamed_text, text.data, text.size) == 0) {
        return SYMC_OK;
    }
    writer->renamed_text = text.data;
    writer->renamed_size = text.size;
    return insert(writer, text, &writer->renamed);
}

enum symc_status
proguardcache_writer_method(struct proguardcache_writer *writer,
                            const struct proguardcache_method *method)
{
    struct proguardcache_record *r;

    if (writer->num_members >= UINT32_MAX - 1 ||
        (writer->num_members == writer->num_pieces * PROGUARDCACHE_PIECE &&
         add_piece(writer) != SYMC_OK)) {
        return SYMC_NO_MEMORY;
    }
    r = record_at(writer, (uint32_t)writer->num_members);
    *r = (struct proguardcache_record){
        .lines = {method->lines[0], method->lines[1]},
        .originals = {method->originals[0], method->originals[1]},
        .class = writer->headers[writer->num_headers - 1].original,
        .flags = method->class.data != NULL ? PROGUARDCACHE_HAS_CLASS : 0,
    };
    if (insert_renamed(writer, method->renamed) != SYMC_OK ||
        insert(writer, method->name, &r->name) != SYMC_OK ||
        insert(writer, method->arguments, &r->arguments) != SYMC_OK ||
        (method->class.data != NULL &&
         insert(writer, method->class, &r->class) != SYMC_OK)) {
        return SYMC_NO_MEMORY;
    }
    r->renamed = writer->renamed;
    writer->num_members++;
    writer->headers[writer->num_headers - 1].count++;
    return SYMC_OK;
}

static struct proguardcache_record *last(struct proguardcache_writer *writer)
{
    return record_at(writer, (uint32_t)writer->num_members - 1);
}

void proguardcache_writer_inlined(struct proguardcache_writer *writer)
{
    last(writer)->flags |= PROGUARDCACHE_INLINED;
}

enum symc_status proguardcache_writer_mark(struct proguardcache_writer *writer,
                                           uint32_t flags)
{
    struct proguardcache_marked *marked, key;

    key = marked_key(last(writer));
    marked = find_marked(writer, &key);
    if (marked != NULL) {
        marked->flags |= flags;
        return SYMC_OK;
    }
    key.flags = flags;
    if (array_need(&writer->marked, &writer->marked_room,
                   writer->num_marked + 1, sizeof(*writer->marked)) != 0) {
        return SYMC_NO_MEMORY;
    }
    writer->marked[writer->num_marked++] = key;
    return table_add(&writer->marks, hash_marked(writer, &key),
                     writer->num_marked) == 0
               ? SYMC_OK
               : SYMC_NO_MEMORY;
}

/* The extra of the last method, which gets one unless it has one. */
static struct proguardcache_extra *
extra_of(struct proguardcache_writer *writer)
{
    struct proguardcache_record *r = last(writer);

    if (r->extra == 0) {
        if (array_need(&writer->extras, &writer->extra_room,
                       writer->num_extras + 1, sizeof(*writer->extras)) != 0) {
            return NULL;
        }
        writer->extras[writer->num_extras] =
            (struct proguardcache_extra){0, 0, 0, 0};
        r->extra = (uint32_t)++writer->num_extras;
    }
    return &writer->extras[r->extra - 1];
}

enum symc_status
proguardcache_writer_pairs(struct proguardcache_writer *writer,
                           const struct proguardcache_pair *pairs, size_t n)
{
    struct proguardcache_extra *extra = extra_of(writer);

    if (extra == NULL || n > UINT32_MAX - writer->num_pairs ||
        array_need(&writer->pairs, &writer->pair_room, writer->num_pairs + n,
                   sizeof(*writer->pairs)) != 0) {
        return SYMC_NO_MEMORY;
    }
    if (n > 0) {
        memcpy(writer->pairs + writer->num_pairs, pairs, n * sizeof(*pairs));
    }
    extra->first_pair = (uint32_t)writer->num_pairs;
    extra->num_pairs = (uint32_t)n;
    writer->num_pairs += n;
    return SYMC_OK;
}

enum symc_status proguardcache_writer_rule(struct proguardcache_writer *writer,
                                           struct symc_text descriptor,
                                           uint32_t removed)
{
    struct proguardcache_extra *extra = extra_of(writer);
    struct proguardcache_rule_record rule = {0, removed};

    if (extra == NULL || writer->num_rules >= UINT32_MAX ||
        array_need(&writer->rules, &writer->rule_room, writer->num_rules + 1,
                   sizeof(*writer->rules)) != 0 ||
        insert(writer, descriptor, &rule.descriptor) != SYMC_OK) {
        return SYMC_NO_MEMORY;
    }
    if (extra->num_rules++ == 0) {
        extra->first_rule = (uint32_t)writer->num_rules;
    }
    writer->rules[writer->num_rules++] = rule;
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
static int compare_texts(const struct proguardcache_writer *writer, uint32_t a,
                         uint32_t b)
{
    struct symc_string x, y;

    if (a == b) {
        return 0;
    }
    (void)symc_string_find(writer->strings.data, writer->strings.size, a,
                           SYMC_LEB128_VERSION, &x);
    (void)symc_string_find(writer->strings.data, writer->strings.size, b,
                           SYMC_LEB128_VERSION, &y);
    return byte_compare(x.data, x.size, y.data, y.size);
}

static int compare_numbers(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_headers(const void *a, const void *b, void *arg)
{
    const struct proguardcache_writer *writer = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int c = compare_texts(writer, writer->headers[x].renamed,
                          writer->headers[y].renamed);

    return c != 0 ? c : compare_numbers(x, y);
}

static int compare_members(const void *a, const void *b, void *arg)
{
    const struct proguardcache_writer *writer = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int c = compare_texts(writer, record_at(writer, x)->renamed,
                          record_at(writer, y)->renamed);

    return c != 0 ? c : compare_numbers(x, y);
}

static int compare_parameters(const void *a, const void *b, void *arg)
{
    const struct proguardcache_writer *writer = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const struct proguardcache_record *r = record_at(writer, x);
    const struct proguardcache_record *s = record_at(writer, y);
    int c = compare_texts(writer, r->renamed, s->renamed);

    if (c == 0) {
        c = compare_texts(writer, r->arguments, s->arguments);
    }
    return c != 0 ? c : compare_numbers(x, y);
}

/* Returns the header whose members the one with this index is of. */
static size_t header_of(const struct proguardcache_writer *writer,
                        uint32_t index)
{
    size_t low = 0, high = writer->num_headers, middle;

    while (high - low > 1) {
        middle = low + (high - low) / 2;
        if (writer->headers[middle].first <= index) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static int compare_overloads(const void *a, const void *b, void *arg)
{
    const struct proguardcache_writer *writer = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    size_t i = header_of(writer, x), j = header_of(writer, y);
    int c = i < j ? -1 : i > j;

    if (c == 0) {
        c = compare_numbers(record_at(writer, x)->name,
                            record_at(writer, y)->name);
    }
    return c != 0 ? c : compare_numbers(x, y);
}

static int compare_indices(const void *a, const void *b)
{
    return compare_numbers(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* Of members with equal names and arguments, those that were called the same
 * before count once for each header of the class.  Returns how many stay. */
static size_t thin_out(const struct proguardcache_writer *writer,
                       uint32_t *list, size_t n)
{
    size_t i, kept = 0;

    qsort_r(list, n, sizeof(*list), compare_overloads, (void *)writer);
    for (i = 0; i < n; i++) {
        if (kept == 0 ||
            header_of(writer, list[kept - 1]) != header_of(writer, list[i]) ||
            record_at(writer, list[kept - 1])->name !=
                record_at(writer, list[i])->name) {
            list[kept++] = list[i];
        }
    }
    qsort(list, kept, sizeof(*list), compare_indices);
    return kept;
}

static size_t order_parameters(const struct proguardcache_writer *writer,
                               uint32_t *list, size_t n)
{
    size_t i, end, count, kept = 0;
    const struct proguardcache_record *r, *s;

    qsort_r(list, n, sizeof(*list), compare_parameters, (void *)writer);
    for (i = 0; i < n; i = end) {
        r = record_at(writer, list[i]);
        for (end = i + 1; end < n; end++) {
            s = record_at(writer, list[end]);
            if (r->renamed != s->renamed || r->arguments != s->arguments) {
                break;
            }
        }
        count = end - i > 1 ? thin_out(writer, list + i, end - i) : 1;
        memmove(list + kept, list + i, count * sizeof(*list));
        kept += count;
    }
    return kept;
}

/* The last header of an original name; NULL: there is none. */
static const struct proguardcache_header *
find_info(const struct proguardcache_order *o,
          const struct proguardcache_writer *writer, uint32_t original)
{
    size_t at = 0;
    uintptr_t value =
        table_next(&o->infos, table_hash_number(&o->infos, original), &at);

    return value != 0 ? &writer->headers[value - 1] : NULL;
}

/* Adds the class of n headers with the same renamed name. */
static void add_class(struct proguardcache_order *o,
                      const struct proguardcache_writer *writer,
                      const uint32_t *headers, size_t n, size_t *num_members)
{
    const struct proguardcache_header *h = &writer->headers[headers[n - 1]];
    struct proguardcache_class_record *c = &o->classes[o->num_classes++];
    uint32_t *members = o->members + *num_members;
    uint32_t *parameters = o->parameters + o->num_parameters;
    uint32_t index;
    size_t i, count = 0, found = 0;

    for (i = 0; i < n; i++) {
        h = &writer->headers[headers[i]];
        for (index = h->first; index < h->first + h->count; index++) {
            members[count++] = index;
            if (!(record_at(writer, index)->flags & PROGUARDCACHE_INLINED)) {
                parameters[found++] = index;
            }
        }
    }
    qsort_r(members, count, sizeof(*members), compare_members, (void *)writer);
    for (i = 0; i < count; i++) {
        o->places[members[i]] = (uint32_t)(*num_members + i);
    }
    found = order_parameters(writer, parameters, found);
    *c = (struct proguardcache_class_record){
        h->renamed,
        h->original,
        find_info(o, writer, h->original)->file,
        (uint32_t)*num_members,
        (uint32_t)count,
        (uint32_t)o->num_parameters,
        (uint32_t)found};
    o->num_parameters += found;
    *num_members += count;
}

static int read_infos(struct proguardcache_order *o,
                      const struct proguardcache_writer *writer)
{
    size_t i, at;
    uint64_t hash;

    for (i = writer->num_headers; i > 0; i--) {
        hash = table_hash_number(&o->infos, writer->headers[i - 1].original);
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
                     const struct proguardcache_writer *writer)
{
    size_t i, end, num_members = 0, n = writer->num_headers;
    uint32_t *headers = calloc(n + 1, sizeof(*headers));
    const size_t room = (writer->num_members + 1) * sizeof(uint32_t);

    o->classes = calloc(n + 1, sizeof(*o->classes));
    o->members = writer->allocate(room);
    o->places = writer->allocate(room);
    o->parameters = writer->allocate(room);
    if (headers == NULL || o->classes == NULL || o->members == NULL ||
        o->places == NULL || o->parameters == NULL ||
        read_infos(o, writer) != 0) {
        free(headers);
        return -1;
    }
    for (i = 0; i < n; i++) {
        headers[i] = (uint32_t)i;
    }
    qsort_r(headers, n, sizeof(*headers), compare_headers, (void *)writer);
    for (i = 0; i < n; i = end) {
        for (end = i + 1; end < n && writer->headers[headers[end]].renamed ==
                                         writer->headers[headers[i]].renamed;
             end++) {
        }
        add_class(o, writer, headers + i, end - i, &num_members);
    }
    free(headers);
    return 0;
}

static void free_order(struct proguardcache_order *o,
                       const struct proguardcache_writer *writer)
{
    table_free(&o->infos);
    free(o->classes);
    writer->release(o->members);
    writer->release(o->places);
    writer->release(o->parameters);
}

/* Writes a member, with the data that other parts of the mapping have for
 * it. */
static void put_member(struct symc_output *out,
                       const struct proguardcache_writer *writer,
                       const struct proguardcache_order *o, uint32_t index)
{
    const struct proguardcache_record *r = record_at(writer, index);
    const struct proguardcache_marked key = marked_key(r);
    const struct proguardcache_marked *marked = NULL;
    const struct proguardcache_header *info;
    uint32_t flags;

    info = find_info(o, writer, r->class);
    if (writer->num_marked > 0) {
        marked = find_marked(writer, &key);
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
                        const struct proguardcache_writer *writer,
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
            put_member(out, writer, o, o->members[k]);
        }
    }
    for (i = 0; i < o->num_parameters; i++) {
        symc_output_words(out, &o->places[o->parameters[i]], 1);
    }
}

static void put_extras(struct symc_output *out,
                       const struct proguardcache_writer *writer)
{
    size_t i;
    const struct proguardcache_extra *e;

    for (i = 0; i < writer->num_extras; i++) {
        e = &writer->extras[i];
        symc_output_words(out,
                          (const uint32_t[]){e->first_pair, e->num_pairs,
                                             e->first_rule, e->num_rules},
                          4);
    }
    for (i = 0; i < writer->num_pairs; i++) {
        symc_output_words(out,
                          (const uint32_t[]){writer->pairs[i].position,
                                             writer->pairs[i].line},
                          2);
    }
    for (i = 0; i < writer->num_rules; i++) {
        symc_output_words(out,
                          (const uint32_t[]){writer->rules[i].descriptor,
                                             writer->rules[i].removed},
                          2);
    }
}

static enum symc_status write_file(const struct proguardcache_writer *writer,
                                   const struct proguardcache_order *o,
                                   const struct symc_sink *sink)
{
    struct symc_output out;

    symc_output_init(&out, sink);
    symc_output_bytes(&out, PROGUARDCACHE_MAGIC, 4);
    symc_output_words(
        &out,
        (const uint32_t[PROGUARDCACHE_HEADER / 4 - 1]){
            PROGUARDCACHE_VERSION, (uint32_t)o->num_classes,
            (uint32_t)writer->num_members, (uint32_t)o->num_parameters,
            (uint32_t)writer->num_extras, (uint32_t)writer->num_pairs,
            (uint32_t)writer->num_rules, (uint32_t)writer->strings.size},
        PROGUARDCACHE_HEADER / 4 - 1);
    put_classes(&out, writer, o);
    put_extras(&out, writer);
    symc_output_bytes(&out, writer->strings.data, writer->strings.size);
    symc_output_flush(&out);
    return out.has_failed ? SYMC_NO_WRITE : SYMC_OK;
}

enum symc_status
proguardcache_writer_finish(struct proguardcache_writer *writer,
                            const struct symc_sink *sink)
{
    struct proguardcache_order order = {0};
    enum symc_status status;

    symc_string_table_forget(&writer->strings);
    status = order_all(&order, writer) == 0 ? write_file(writer, &order, sink)
                                            : SYMC_NO_MEMORY;
    free_order(&order, writer);
    return status;
}
