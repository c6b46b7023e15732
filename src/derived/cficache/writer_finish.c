/*
 * Copyright (C) the ngx_symcache authors
 */
#include <stdlib.h>
#include <string.h>

#include "writer.h"

/* Writes bytes, and zeros up to a multiple of 4. */
static void put_bytes(struct symc_output *out, const void *data, size_t size)
{
    symc_output_bytes(out, data, size);
    symc_output_align(out, 4);
}

static void put_map(struct symc_output *out, const struct cficache_points *map)
{
    size_t i;

    for (i = 0; i < map->count; i++) {
        symc_output_number(out, map->data[i].start);
    }
    for (i = 0; i < map->count; i++) {
        symc_output_number(out, map->data[i].value);
    }
}

static void put_header(struct symc_output *out,
                       const struct cficache_writer *w,
                       const struct cficache_identity *identity,
                       const struct cficache_points *maps, size_t name_bytes)
{
    unsigned i;
    uint8_t *p = symc_output_room(out, CFICACHE_HEADER);

    memset(p, 0, CFICACHE_HEADER);
    memcpy(p, CFICACHE_MAGIC, 4);
    symc_store(p + CFICACHE_AT_VERSION, CFICACHE_VERSION);
    memcpy(p + CFICACHE_AT_GUID, identity->guid, 16);
    symc_store(p + CFICACHE_AT_AGE, identity->age);
    symc_store(p + CFICACHE_AT_ARCH, identity->arch);
    for (i = 0; i < CFICACHE_MAPS; i++) {
        symc_store(p + CFICACHE_AT_MAPS + (size_t)i * 4,
                   (uint32_t)maps[i].count);
    }
    symc_store(p + CFICACHE_AT_SETS, (uint32_t)w->sets.count);
    symc_store(p + CFICACHE_AT_RULES,
               (uint32_t)(w->sets.size / CFICACHE_RULE_SIZE));
    symc_store(p + CFICACHE_AT_WINS, (uint32_t)w->num_records);
    symc_store(p + CFICACHE_AT_PROGRAMS, (uint32_t)w->programs.size);
    symc_store(p + CFICACHE_AT_NAMES, (uint32_t)name_bytes);
    symc_store(p + CFICACHE_AT_FILE, (uint32_t)identity->file_size);
}

/* Writes all names into a buffer for as many as there can be; returns their
 * size. */
static size_t write_names(const struct cficache_names *names, uint8_t *p)
{
    unsigned i;
    uint8_t *begin = p;

    for (i = 0; i < names->count; i++) {
        *p++ = names->sizes[i];
        memcpy(p, names->texts[i], names->sizes[i]);
        p += names->sizes[i];
    }
    return (size_t)(p - begin);
}

static enum symc_status write_file(struct cficache_writer *w,
                                   const struct cficache_identity *identity,
                                   const struct cficache_points *maps,
                                   const struct symc_sink *sink)
{
    size_t i, name_bytes;
    uint8_t names[sizeof(w->names.texts) + CFICACHE_NAMES];
    struct symc_output out;

    symc_output_init(&out, sink);
    name_bytes = write_names(&w->names, names);
    put_header(&out, w, identity, maps, name_bytes);
    for (i = 0; i < CFICACHE_MAPS; i++) {
        put_map(&out, &maps[i]);
    }
    symc_output_number(&out, 0);
    for (i = 0; i < w->sets.count; i++) {
        symc_output_number(&out, w->sets.ends[i] / CFICACHE_RULE_SIZE);
    }
    put_bytes(&out, w->sets.data, w->sets.size);
    put_bytes(&out, w->records, w->num_records * CFICACHE_WIN_SIZE);
    put_bytes(&out, w->programs.data, w->programs.size);
    put_bytes(&out, names, name_bytes);
    put_bytes(&out, identity->file, identity->file_size);
    symc_output_flush(&out);
    return out.has_failed ? SYMC_NO_WRITE : SYMC_OK;
}

/* Makes the map of STACK WIN records: those with programs hide the others. */
static int make_win(const struct cficache_writer *w,
                    struct cficache_points *map)
{
    int rc;
    struct cficache_points fpo = {0}, programs = {0};

    rc = cficache_points_map(&fpo, &w->wins[0], &w->rows) != 0 ||
         cficache_points_map(&programs, &w->wins[1], &w->rows) != 0 ||
         cficache_points_merge(map, &programs, &fpo) != 0;
    free(fpo.data);
    free(programs.data);
    return rc;
}

enum symc_status
cficache_writer_finish(struct cficache_writer *w,
                       const struct cficache_identity *identity,
                       const struct symc_sink *sink)
{
    unsigned i;
    struct cficache_points maps[CFICACHE_MAPS] = {{0}};
    enum symc_status status = cficache_writer_close(w);

    for (i = 0; i < CFICACHE_WIN && status == SYMC_OK; i++) {
        if (cficache_points_map(&maps[i], &w->spans[i], &w->rows) != 0) {
            status = SYMC_NO_MEMORY;
        }
    }
    if (status == SYMC_OK && make_win(w, &maps[CFICACHE_WIN]) != 0) {
        status = SYMC_NO_MEMORY;
    }
    if (status == SYMC_OK) {
        status = write_file(w, identity, maps, sink);
    }
    for (i = 0; i < CFICACHE_MAPS; i++) {
        free(maps[i].data);
    }
    return status;
}
