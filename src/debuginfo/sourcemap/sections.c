/*
 * Copyright (C) the ngx_symcache authors
 *
 * Maps with sections: each section has a map of its own, for what follows a
 * place of the script.  They become one map, in which sources of one name are
 * one source, and names are once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "internal.h"

struct section {
    uint32_t line;
    uint32_t column;
    uint32_t map; /* a JSON value */
    uint32_t order;
};

/* The contents of the joined map so far: indices + 1 of sources and names. */
struct joined {
    struct table sources;
    struct table names;
};

static int compare_sections(const void *a, const void *b)
{
    const struct section *x = a, *y = b;
    uint64_t l = (uint64_t)x->line << 32 | x->column;
    uint64_t r = (uint64_t)y->line << 32 | y->column;

    if (l != r) {
        return l < r ? -1 : 1;
    }
    return x->order < y->order ? -1 : 1;
}

/* Reads a number of an offset, of 32 bits. */
static bool section_number(const struct json *json, uint32_t object,
                           const char *name, uint32_t *number)
{
    uint64_t n;
    uint32_t value = json_member(json, object, name);

    if (value == 0 || json_integer(json, value, &n) != JSON_INTEGER_POSITIVE ||
        n > UINT32_MAX) {
        return false;
    }
    *number = (uint32_t)n;
    return true;
}

static int read_sourcemap_section(const struct json *json, uint32_t item,
                                  struct section *section,
                                  struct failure *failure)
{
    uint32_t offset = json_member(json, item, "offset");

    if (offset == 0 || !section_number(json, offset, "line", &section->line) ||
        !section_number(json, offset, "column", &section->column)) {
        return failure_set(failure, FAILURE_DAMAGED,
                           "is not a source map: section %u has no offset",
                           section->order);
    }
    section->map = sourcemap_member(json, item, "map", JSON_OBJECT, failure);
    if (section->map == 0) {
        return failure_set(failure, FAILURE_DAMAGED,
                           "cannot be used: section %u has no map in this "
                           "file",
                           section->order);
    }
    return 0;
}

/* Finds a text among sources or names, or adds it as the next one, whose index
 * is in *index then.  Returns 1 if it was added, -1 when out of memory. */
static int section_intern(struct table *table, const struct sourcemap *map,
                          bool is_source, struct symc_string text,
                          uint32_t *index)
{
    size_t at = 0;
    uint64_t hash = table_hash((uintptr_t)table, text.data, text.size);
    uintptr_t found;
    const struct symc_string *other;

    while ((found = table_next(table, hash, &at)) != 0) {
        other =
            is_source ? &map->sources[found - 1].name : &map->names[found - 1];
        if (other->size == text.size &&
            memcmp(other->data, text.data, text.size) == 0) {
            *index = (uint32_t)found - 1;
            return 0;
        }
    }
    *index = (uint32_t)(is_source ? map->num_sources : map->num_names);
    return table_add(table, hash, (uintptr_t)*index + 1) == 0 ? 1 : -1;
}

/* Joins sources; numbers[i] becomes the number of the part's source i. */
static int section_sources(struct sourcemap *map, struct joined *joined,
                           const struct sourcemap *part, uint32_t *numbers)
{
    int rc;
    size_t i;

    for (i = 0; i < part->num_sources; i++) {
        if (array_need(&map->sources, &map->source_room, map->num_sources + 1,
                       sizeof(*map->sources)) != 0) {
            return -1;
        }
        rc = section_intern(&joined->sources, map, true, part->sources[i].name,
                            &numbers[i]);
        if (rc < 0) {
            return -1;
        }
        if (rc > 0) {
            map->sources[map->num_sources++] = part->sources[i];
            continue;
        }
        if (part->sources[i].text.data != NULL) {
            map->sources[numbers[i]].text = part->sources[i].text;
        }
        map->sources[numbers[i]].is_ignored =
            map->sources[numbers[i]].is_ignored || part->sources[i].is_ignored;
    }
    return 0;
}

static int section_names(struct sourcemap *map, struct joined *joined,
                         const struct sourcemap *part, uint32_t *numbers)
{
    int rc;
    size_t i;

    for (i = 0; i < part->num_names; i++) {
        if (array_need(&map->names, &map->name_room, map->num_names + 1,
                       sizeof(*map->names)) != 0) {
            return -1;
        }
        rc = section_intern(&joined->names, map, false, part->names[i],
                            &numbers[i]);
        if (rc < 0) {
            return -1;
        }
        if (rc > 0) {
            map->names[map->num_names++] = part->names[i];
        }
    }
    return 0;
}

/* Joins the tokens of a part, which begins at a section's place. */
static int section_tokens(struct sourcemap *map, const struct section *section,
                          const struct sourcemap *part,
                          const uint32_t *sources, const uint32_t *names,
                          struct failure *failure)
{
    size_t i;
    struct jscache_row *token;

    if (sourcemap_need_tokens(map, part->num_tokens, failure) != 0) {
        return -1;
    }
    for (i = 0; i < part->num_tokens; i++) {
        token = &map->tokens[map->num_tokens++];
        *token = part->tokens[i];
        token->minified_column +=
            token->minified_line == 0 ? section->column : 0;
        token->minified_line += section->line;
        if (token->file != JSCACHE_NONE) {
            token->file = sources[token->file];
        }
        if (token->name != JSCACHE_NONE) {
            token->name = names[token->name];
        }
    }
    return 0;
}

static int join_section(struct sourcemap *map, struct joined *joined,
                        const struct section *section,
                        const struct sourcemap *part, struct failure *failure)
{
    int rc = -1;
    uint32_t *sources = calloc(part->num_sources + 1, sizeof(*sources));
    uint32_t *names = calloc(part->num_names + 1, sizeof(*names));

    if (sources == NULL || names == NULL ||
        section_sources(map, joined, part, sources) != 0 ||
        section_names(map, joined, part, names) != 0) {
        failure_memory(failure);
    } else {
        rc = section_tokens(map, section, part, sources, names, failure);
    }
    free(sources);
    free(names);
    return rc;
}

/* Reads the map of a section and joins it to the others.  The part borrows the
 * JSON, and its arena's texts stay with the joined map. */
static int add_sourcemap_section(struct sourcemap *map, struct joined *joined,
                                 const struct section *section, unsigned depth,
                                 struct failure *failure)
{
    int rc;
    struct sourcemap part;
    static const struct json no_json;

    memset(&part, 0, sizeof(part));
    part.json = map->json;
    part.arena = map->arena;
    rc = sourcemap_read_object(&part, section->map, depth + 1, failure);
    map->arena = part.arena;
    if (rc == 0) {
        rc = join_section(map, joined, section, &part, failure);
    }
    part.json = no_json;
    memset(&part.arena, 0, sizeof(part.arena));
    sourcemap_free(&part);
    return rc;
}

int sourcemap_read_sections(struct sourcemap *map, uint32_t list,
                            unsigned depth, struct failure *failure)
{
    int rc = 0;
    uint32_t i, n = 0;
    const struct json *json = &map->json;
    struct section *sections;
    struct joined joined = {{0}, {0}};

    if (depth == SOURCEMAP_DEPTH_MAX) {
        return failure_set(failure, FAILURE_LIMIT,
                           "has sections in sections, more than %u deep",
                           SOURCEMAP_DEPTH_MAX);
    }
    sections = calloc(json->values[list].size + 1, sizeof(*sections));
    if (sections == NULL) {
        return failure_memory(failure);
    }
    for (i = list + 1; rc == 0 && i < json->values[list].end;
         i = json->values[i].end) {
        sections[n].order = n;
        rc = read_sourcemap_section(json, i, &sections[n++], failure);
    }
    if (rc == 0 && n > 1) {
        qsort(sections, n, sizeof(*sections), compare_sections);
    }
    for (i = 0; rc == 0 && i < n; i++) {
        rc = add_sourcemap_section(map, &joined, &sections[i], depth, failure);
    }
    table_free(&joined.sources);
    table_free(&joined.names);
    free(sections);
    return rc;
}
