/*
 * Copyright (C) the ngx_symcache authors
 *
 * In which order a ProguardCache has what a mapping says.
 */
#ifndef DERIVED_PROGUARDCACHE_RECORD_ORDER_H
#define DERIVED_PROGUARDCACHE_RECORD_ORDER_H

#include "writer.h"

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

/* Puts everything in order.  Returns 0, or -1 when out of memory. */
int proguardcache_order(struct proguardcache_order *order,
                        const struct proguardcache_writer *writer);
void proguardcache_order_free(struct proguardcache_order *order,
                              const struct proguardcache_writer *writer);

/* The last header of an original name; NULL: there is none. */
const struct proguardcache_header *
proguardcache_info(const struct proguardcache_order *order,
                   const struct proguardcache_writer *writer,
                   uint32_t original);

#endif
