/*
 * Copyright (C) the ngx_symcache authors
 */
#include <string.h>

#include "members.h"
#include "record_order.h"
#include "writer.h"

#define PIECE 16384 /* bytes that are written at a time */

/* Output that is collected until there is a piece of it. */
struct piece {
    const struct symc_sink *sink;
    size_t used;
    bool has_failed;
    uint8_t data[PIECE];
};

static void flush(struct piece *piece)
{
    if (piece->used > 0 && !piece->has_failed) {
        piece->has_failed =
            piece->sink->write(piece->sink->context, piece->data,
                               piece->used) != 0;
    }
    piece->used = 0;
}

static void put(struct piece *piece, const uint32_t *numbers, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (piece->used == PIECE) {
            flush(piece);
        }
        symc_store(piece->data + piece->used, numbers[i]);
        piece->used += 4;
    }
}

/* Writes a member, with the data that other parts of the mapping have for
 * it. */
static void put_member(struct piece *piece,
                       const struct proguardcache_writer *w,
                       const struct proguardcache_order *o, uint32_t index)
{
    const struct proguardcache_record *r = proguardcache_record(w, index);
    const struct proguardcache_marked key = proguardcache_marked_key(r);
    const struct proguardcache_marked *marked = NULL;
    const struct proguardcache_header *info;
    uint32_t flags;

    info = proguardcache_info(o, w, r->class);
    if (w->num_marked > 0) {
        marked = proguardcache_marked_find(w, &key);
    }
    flags = marked != NULL ? marked->flags : 0;
    if (info != NULL && info->is_synthesized) {
        flags |= PROGUARDCACHE_SYNTHESIZED;
    }
    put(piece,
        (const uint32_t[]){
            r->renamed, r->lines[0], r->lines[1],
            r->flags & PROGUARDCACHE_HAS_CLASS ? r->class : PROGUARDCACHE_NONE,
            info != NULL ? info->file : PROGUARDCACHE_NONE, r->name,
            r->originals[0], r->originals[1], r->arguments, r->extra, flags},
        PROGUARDCACHE_MEMBER_SIZE / 4);
}

static void put_classes(struct piece *piece,
                        const struct proguardcache_writer *w,
                        const struct proguardcache_order *o)
{
    size_t i;
    uint32_t k;
    const struct proguardcache_class_record *c;

    for (i = 0; i < o->num_classes; i++) {
        c = &o->classes[i];
        put(piece,
            (const uint32_t[]){c->renamed, c->original, c->file, c->first,
                               c->count, c->first_parameter,
                               c->num_parameters},
            PROGUARDCACHE_CLASS_SIZE / 4);
    }
    for (i = 0; i < o->num_classes; i++) {
        c = &o->classes[i];
        for (k = c->first; k < c->first + c->count; k++) {
            put_member(piece, w, o, o->members[k]);
        }
    }
    for (i = 0; i < o->num_parameters; i++) {
        put(piece, &o->places[o->parameters[i]], 1);
    }
}

static void put_extras(struct piece *piece,
                       const struct proguardcache_writer *w)
{
    size_t i;
    const struct proguardcache_extra *e;

    for (i = 0; i < w->num_extras; i++) {
        e = &w->extras[i];
        put(piece,
            (const uint32_t[]){e->first_pair, e->num_pairs, e->first_rule,
                               e->num_rules},
            4);
    }
    for (i = 0; i < w->num_pairs; i++) {
        put(piece,
            (const uint32_t[]){w->pairs[i].position, w->pairs[i].line}, 2);
    }
    for (i = 0; i < w->num_rules; i++) {
        put(piece,
            (const uint32_t[]){w->rules[i].descriptor, w->rules[i].removed},
            2);
    }
}

static enum symc_status write_file(const struct proguardcache_writer *w,
                                      const struct proguardcache_order *o,
                                      const struct symc_sink *sink)
{
    struct piece piece;

    piece.sink = sink;
    piece.has_failed = false;
    piece.used = PROGUARDCACHE_HEADER;
    memset(piece.data, 0, PROGUARDCACHE_HEADER);
    memcpy(piece.data, PROGUARDCACHE_MAGIC, 4);
    piece.used = PROGUARDCACHE_AT_VERSION;
    put(&piece,
        (const uint32_t[]){PROGUARDCACHE_VERSION, (uint32_t)o->num_classes,
                           (uint32_t)w->num_members,
                           (uint32_t)o->num_parameters,
                           (uint32_t)w->num_extras, (uint32_t)w->num_pairs,
                           (uint32_t)w->num_rules,
                           (uint32_t)w->strings.size},
        8);
    piece.used = PROGUARDCACHE_HEADER;
    put_classes(&piece, w, o);
    put_extras(&piece, w);
    flush(&piece);
    if (w->strings.size > 0) {
        piece.has_failed = piece.has_failed ||
                           sink->write(sink->context, w->strings.data,
                                       w->strings.size) != 0;
    }
    return piece.has_failed ? SYMC_NO_WRITE : SYMC_OK;
}

enum symc_status
proguardcache_writer_finish(struct proguardcache_writer *w,
                            const struct symc_sink *sink)
{
    struct proguardcache_order order = {0};
    enum symc_status status;

    symc_strings_forget(&w->strings);
    status = proguardcache_order(&order, w) == 0
                 ? write_file(w, &order, sink)
                 : SYMC_NO_MEMORY;
    proguardcache_order_free(&order, w);
    return status;
}
