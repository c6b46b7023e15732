/*
 * Copyright (C) the ngx_symcache authors
 */
#include "record_order.h"

#include <stdlib.h>
#include <string.h>

#include "writer_members.h"

/* Returns a number below, equal to or above 0, as texts compare by bytes. */
static int compare_texts(const struct proguardcache_writer *w, uint32_t a,
                         uint32_t b)
{
    struct symc_string x, y;
    int c;

    if (a == b) {
        return 0;
    }
    (void)symc_string_find(w->strings.data, w->strings.size, a,
                           SYMC_LEB128_VERSION, &x);
    (void)symc_string_find(w->strings.data, w->strings.size, b,
                           SYMC_LEB128_VERSION, &y);
    c = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
    if (c != 0) {
        return c;
    }
    return x.size < y.size ? -1 : x.size > y.size;
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
    int c = compare_texts(w, proguardcache_record(w, x)->renamed,
                          proguardcache_record(w, y)->renamed);

    return c != 0 ? c : compare_numbers(x, y);
}

static int compare_parameters(const void *a, const void *b, void *writer)
{
    const struct proguardcache_writer *w = writer;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const struct proguardcache_record *r = proguardcache_record(w, x);
    const struct proguardcache_record *s = proguardcache_record(w, y);
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
        c = compare_numbers(proguardcache_record(w, x)->name,
                            proguardcache_record(w, y)->name);
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
            proguardcache_record(w, list[kept - 1])->name !=
                proguardcache_record(w, list[i])->name) {
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
        r = proguardcache_record(w, list[i]);
        for (end = i + 1; end < n; end++) {
            s = proguardcache_record(w, list[end]);
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
            if (!(proguardcache_record(w, index)->flags &
                  PROGUARDCACHE_INLINED)) {
                parameters[found++] = index;
            }
        }
    }
    qsort_r(members, count, sizeof(*members), compare_members, (void *)w);
    for (i = 0; i < count; i++) {
        o->places[members[i]] = (uint32_t)(*num_members + i);
    }
    found = order_parameters(w, parameters, found);
    *c = (struct proguardcache_class_record){
        h->renamed,
        h->original,
        proguardcache_info(o, w, h->original)->file,
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

const struct proguardcache_header *
proguardcache_info(const struct proguardcache_order *o,
                   const struct proguardcache_writer *w, uint32_t original)
{
    size_t at = 0;
    uintptr_t value =
        table_next(&o->infos, table_hash_number(&o->infos, original), &at);

    return value != 0 ? &w->headers[value - 1] : NULL;
}

int proguardcache_order(struct proguardcache_order *o,
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

void proguardcache_order_free(struct proguardcache_order *o,
                              const struct proguardcache_writer *w)
{
    table_free(&o->infos);
    free(o->classes);
    w->release(o->members);
    w->release(o->places);
    w->release(o->parameters);
}
