/*
 * Copyright (C) the ngx_symcache authors
 */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "writer_members.h"

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
    r = proguardcache_record(w, (uint32_t)w->num_members);
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
    return proguardcache_record(w, (uint32_t)w->num_members - 1);
}

void proguardcache_writer_inlined(struct proguardcache_writer *w)
{
    last(w)->flags |= PROGUARDCACHE_INLINED;
}

enum symc_status proguardcache_writer_mark(struct proguardcache_writer *w,
                                              uint32_t flags)
{
    struct proguardcache_marked *marked, key;

    key = proguardcache_marked_key(last(w));
    marked = proguardcache_marked_find(w, &key);
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
    return table_add(&w->marks, proguardcache_marked_hash(w, &key),
                     w->num_marked) == 0
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
