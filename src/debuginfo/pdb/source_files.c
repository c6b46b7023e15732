/*
 * Copyright (C) the ngx_symcache authors
 */

#include "source_files.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "debuginfo/source_path_split.h"

#define OVERLAP 4 /* how many paths may share a byte of /names, on average */

void source_files_free(struct source_files *s)
{
    free(s->list);
    table_free(&s->by_path);
    table_free(&s->by_offset);
    memset(s, 0, sizeof(*s));
}

static bool same_text(const struct symc_text *a, const struct symc_text *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

static uint64_t hash_of(const struct source_files *s,
                        const struct symc_source *source)
{
    uint64_t h;

    h = table_hash((uintptr_t)s, source->directory.data,
                   source->directory.size);
    return table_hash(h, source->name.data, source->name.size);
}

/* Finds a path.  Returns its index + 1, or 0. */
static size_t find_path(const struct source_files *s,
                        const struct symc_source *source, uint64_t hash)
{
    size_t found, at = 0;
    const struct symc_source *other;

    while ((found = table_next(&s->by_path, hash, &at)) != 0) {
        other = &s->list[found - 1];
        if (same_text(&other->name, &source->name) &&
            same_text(&other->directory, &source->directory)) {
            break;
        }
    }
    return found;
}

/* Looks a file up in the source server stream, by its cleaned path. */
static int find_srcsrv(const struct source_files *s,
                       const struct symc_source *source,
                       struct srcsrv_info *info)
{
    int found;
    char *path;
    size_t size;
    struct symc_string comp_dir = {NULL, 0}, directory, name;

    directory.data = source->directory.data;
    directory.size = source->directory.size;
    name.data = source->name.data;
    name.size = source->name.size;
    path = malloc(symc_path_room(&comp_dir, &directory, &name) + 1);
    if (path == NULL) {
        return 0;
    }
    size = symc_path_join(&comp_dir, &directory, &name, path);
    found = srcsrv_find(s->srcsrv, path, (uint32_t)size, info);
    free(path);
    return found;
}

static void add_srcsrv(const struct source_files *s,
                       struct symc_source *source)
{
    struct srcsrv_info info;

    if (s->srcsrv->count == 0 || !find_srcsrv(s, source, &info)) {
        return;
    }
    source_path_split(info.path, info.path_size, &source->srcsrv_directory,
                      &source->srcsrv_name);
    if (source->srcsrv_directory.size == 0) {
        source->srcsrv_directory.data = NULL;
    }
    source->srcsrv_revision.data = info.revision;
    source->srcsrv_revision.size = info.revision_size;
}

static int intern_path(struct source_files *s, const char *path, uint32_t size,
                       uint32_t *index)
{
    size_t found;
    uint64_t hash;
    struct symc_source source;

    memset(&source, 0, sizeof(source));
    source.comp_dir.data = "";
    source_path_split(path, size, &source.directory, &source.name);
    source.file = SYMC_NONE;
    hash = hash_of(s, &source);
    found = find_path(s, &source, hash);
    if (found == 0) {
        if (array_need(&s->list, &s->room, s->count + 1, sizeof(*s->list)) !=
                0 ||
            table_add(&s->by_path, hash, s->count + 1) != 0) {
            return -1;
        }
        add_srcsrv(s, &source);
        s->list[s->count++] = source;
        found = s->count;
    }
    *index = (uint32_t)(found - 1);
    return 0;
}

int source_files_find(struct source_files *s, uint32_t offset, uint32_t *index)
{
    uint32_t size;
    const char *path;
    size_t found, at = 0;
    uint64_t hash;

    hash = table_hash_number(&s->by_offset, offset);
    found = table_next(&s->by_offset, hash, &at);
    if (found != 0) {
        *index = (uint32_t)(found - 1);
        return 0;
    }
    path = "";
    size = 0;
    if (s->info->has_table &&
        (s->bytes > OVERLAP * (uint64_t)s->info->table_size ||
         info_stream_text(s->info, offset, &path, &size) != 0)) {
        return -1;
    }
    s->bytes += size;
    return intern_path(s, path, size, index) != 0
               ? -1
               : table_add(&s->by_offset, hash, (uintptr_t)*index + 1);
}
