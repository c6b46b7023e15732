/*
 * Copyright (C) the ngx_symcache authors
 */
#include <string.h>

#include "writer_members.h"
#include "record_order.h"
#include "writer.h"

/* Writes a member, with the data that other parts of the mapping have for
 * it. */
static void put_member(struct symc_output *out,
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
