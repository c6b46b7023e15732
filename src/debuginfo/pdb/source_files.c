/*
 * Copyright (C) the ngx_symcache authors
 */
#include <stdlib.h>
#include <string.h>

#include "source_files.h"
#include "base/array.h"
#include "symcache/symcache.h"

#define FIRST_SLOTS 256
#define OVERLAP 4 /* as often may a byte of /names belong to a path */

struct sources_offset {
    uint32_t offset;
    uint32_t index; /* + 1; 0 = free */
};

void source_files_free(struct source_files *s)
{
    free(s->list);
    free(s->by_path);
    free(s->by_offset);
    memset(s, 0, sizeof(*s));
}

static int is_separator(char c)
{
    return c == '/' || c == '\\';
}

/* Directory and name; separators at the end belong to neither. */
static void split_path(const char *path, uint32_t size,
                       struct symfile_text *directory,
                       struct symfile_text *name)
{
    uint32_t i, end;

    for (end = size; end > 0 && is_separator(path[end - 1]); end--) {
    }
    end = end == 0 ? size : end;
    for (i = end; i > 0 && !is_separator(path[i - 1]); i--) {
    }
    directory->data = path;
    directory->size = i == 0 ? 0 : i == 1 ? 1 : i - 1;
    name->data = path + i;
    name->size = end - i;
}

static uint64_t hash_text(uint64_t h, const struct symfile_text *text)
{
    uint32_t left;
    uint64_t eight;
    const char *p;

    p = text->data;
    for (left = text->size; left >= 8; left -= 8, p += 8) {
        memcpy(&eight, p, 8);
        h = (h ^ eight) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    eight = (uint64_t)text->size << 56;
    memcpy(&eight, p, left);
    h = (h ^ eight) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

static int same_text(const struct symfile_text *a,
                     const struct symfile_text *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

static uint32_t *path_slot(const struct source_files *s,
                           const struct symfile_source *source)
{
    size_t i;
    uint64_t h;
    const struct symfile_source *other;

    h = hash_text((uint64_t)(uintptr_t)s, &source->directory);
    h = hash_text(h, &source->name);
    i = (size_t)(h ^ h >> 32) & (s->num_paths - 1);
    while (s->by_path[i] != 0) {
        other = &s->list[s->by_path[i] - 1];
        if (same_text(&other->name, &source->name) &&
            same_text(&other->directory, &source->directory)) {
            break;
        }
        i = (i + 1) & (s->num_paths - 1);
    }
    return &s->by_path[i];
}

static int grow_paths(struct source_files *s)
{
    size_t i;
    uint32_t *slots;

    s->num_paths = s->num_paths == 0 ? FIRST_SLOTS : 2 * s->num_paths;
    slots = calloc(s->num_paths, sizeof(*slots));
    free(s->by_path);
    s->by_path = slots;
    if (slots == NULL) {
        return -1;
    }
    for (i = 0; i < s->count; i++) {
        *path_slot(s, &s->list[i]) = (uint32_t)i + 1;
    }
    return 0;
}

static struct sources_offset *offset_slot(const struct source_files *s,
                                          uint32_t offset)
{
    size_t i;
    uint64_t h;

    h = (offset ^ (uint64_t)(uintptr_t)s) * 0x9E3779B97F4A7C15u;
    i = (size_t)(h >> 32) & (s->num_offsets - 1);
    while (s->by_offset[i].index != 0 && s->by_offset[i].offset != offset) {
        i = (i + 1) & (s->num_offsets - 1);
    }
    return &s->by_offset[i];
}

static int grow_offsets(struct source_files *s)
{
    size_t i, n;
    struct sources_offset *old;

    old = s->by_offset;
    n = s->num_offsets;
    s->num_offsets = n == 0 ? FIRST_SLOTS : 2 * n;
    s->by_offset = calloc(s->num_offsets, sizeof(*s->by_offset));
    if (s->by_offset == NULL) {
        s->by_offset = old;
        s->num_offsets = n;
        return -1;
    }
    for (i = 0; i < n; i++) {
        if (old[i].index != 0) {
            *offset_slot(s, old[i].offset) = old[i];
        }
    }
    free(old);
    return 0;
}

/* The stream is asked for the path in its cleaned form. */
static int find_srcsrv(const struct source_files *s,
                       const struct symfile_source *source,
                       struct srcsrv_info *info)
{
    int found;
    char *path;
    size_t size;
    struct symfile_string comp_dir = {NULL, 0}, directory, name;

    directory.data = source->directory.data;
    directory.size = source->directory.size;
    name.data = source->name.data;
    name.size = source->name.size;
    path = malloc(symfile_path_room(&comp_dir, &directory, &name) + 1);
    if (path == NULL) {
        return 0;
    }
    size = symfile_path_join(&comp_dir, &directory, &name, path);
    found = srcsrv_find(s->srcsrv, path, (uint32_t)size, info);
    free(path);
    return found;
}

static void add_srcsrv(const struct source_files *s,
                       struct symfile_source *source)
{
    struct srcsrv_info info;

    if (s->srcsrv->count == 0 || !find_srcsrv(s, source, &info)) {
        return;
    }
    split_path(info.path, info.path_size, &source->srcsrv_directory,
               &source->srcsrv_name);
    if (source->srcsrv_directory.size == 0) {
        source->srcsrv_directory.data = NULL;
    }
    source->srcsrv_revision.data = info.revision;
    source->srcsrv_revision.size = info.revision_size;
}

static int intern(struct source_files *s, const char *path, uint32_t size,
                  uint32_t *index)
{
    uint32_t *slot;
    struct symfile_source source;

    memset(&source, 0, sizeof(source));
    split_path(path, size, &source.directory, &source.name);
    source.file = SYMFILE_NONE;
    if (s->count >= s->num_paths / 2 && grow_paths(s) != 0) {
        return -1;
    }
    slot = path_slot(s, &source);
    if (*slot == 0) {
        if (symfile_array_need(&s->list, &s->room, s->count + 1,
                               sizeof(*s->list)) != 0) {
            return -1;
        }
        add_srcsrv(s, &source);
        s->list[s->count++] = source;
        *slot = (uint32_t)s->count;
    }
    *index = *slot - 1;
    return 0;
}

int source_files_find(struct source_files *s, uint32_t offset, uint32_t *index)
{
    uint32_t size;
    const char *path;
    struct sources_offset *slot;

    if (s->count_offsets >= s->num_offsets / 2 && grow_offsets(s) != 0) {
        return -1;
    }
    slot = offset_slot(s, offset);
    if (slot->index == 0) {
        path = "";
        size = 0;
        if (s->info->has_table &&
            (s->bytes > OVERLAP * (uint64_t)s->info->table_size ||
             info_stream_text(s->info, offset, &path, &size) != 0)) {
            return -1;
        }
        s->bytes += size;
        if (intern(s, path, size, index) != 0) {
            return -1;
        }
        slot->offset = offset;
        slot->index = *index + 1;
        s->count_offsets++;
    }
    *index = slot->index - 1;
    return 0;
}
