/*
 * Copyright (C) the ngx_symcache authors
 *
 * Functions in the maps of Hermes: x_facebook_sources has for each source
 * null, or a list of which the first item is {names, mappings}.
 */
#include <stdlib.h>

#include "base/array.h"
#include "internal.h"
#include "vlq.h"

/*
 * Reads the places of one source: groups by ";", segments by ",", of column,
 * index of a name, and line; of these the column begins anew with each group.
 * Returns 1 if they are damaged.
 */
static int read_places(struct sourcemap_functions *functions,
                       struct symc_string text, struct failure *failure)
{
    int n;
    const char *p = text.data, *end = p + text.size;
    uint32_t numbers[VLQ_FIELDS];
    struct sourcemap_function last = {1, 0, 0};

    while (p < end) {
        if (*p == ',' || *p == ';') {
            last.column = *p == ';' ? 0 : last.column;
            p++;
            continue;
        }
        n = vlq_segment(&p, end, numbers);
        if (n < 0) {
            return 1;
        }
        last.column += numbers[0];
        last.name += n > 1 ? numbers[1] : 0;
        last.line += n > 2 ? numbers[2] : 0;
        if (array_need(&functions->list, &functions->room,
                       functions->count + 1, sizeof(*functions->list)) != 0) {
            return failure_memory(failure);
        }
        functions->list[functions->count++] = last;
    }
    return 0;
}

static int read_source(struct sourcemap *map, uint32_t item,
                       struct sourcemap_functions *functions,
                       struct failure *failure)
{
    int rc;
    uint32_t mappings;
    const struct json *json = &map->json;
    const struct json_value *list = &json->values[item];
    struct symc_string text;

    if (list->type == JSON_NULL ||
        (list->type == JSON_ARRAY && list->size == 0)) {
        return 0;
    }
    if (list->type != JSON_ARRAY ||
        json->values[item + 1].type != JSON_OBJECT) {
        return list->type == JSON_ARRAY &&
                       json->values[item + 1].type == JSON_NULL
                   ? 0
                   : failure_set(failure, FAILURE_DAMAGED,
                                 "is not a source map: \"x_facebook_sources\" "
                                 "has something that is not a function map");
    }
    functions->names =
        sourcemap_member(json, item + 1, "names", JSON_ARRAY, failure);
    mappings =
        sourcemap_member(json, item + 1, "mappings", JSON_STRING, failure);
    if (failure->code != FAILURE_NONE || functions->names == 0 ||
        mappings == 0) {
        return failure->code != FAILURE_NONE ? -1 : 0;
    }
    text.data = json_text(json, mappings);
    text.size = json->values[mappings].size;
    rc = read_places(functions, text, failure);
    if (rc > 0) {
        functions->count = 0;
    }
    return rc < 0 ? -1 : 0;
}

int sourcemap_read_functions(struct sourcemap *map, uint32_t list,
                             struct failure *failure)
{
    size_t n = 0;
    uint32_t i;
    const struct json *json = &map->json;

    map->is_hermes = true;
    map->functions = calloc(map->num_sources + 1, sizeof(*map->functions));
    if (map->functions == NULL) {
        return failure_memory(failure);
    }
    for (i = list + 1; i < json->values[list].end && n < map->num_sources;
         i = json->values[i].end) {
        if (read_source(map, i, &map->functions[n++], failure) != 0) {
            return -1;
        }
    }
    return 0;
}

static uint64_t key_of(const struct sourcemap_function *f)
{
    return (uint64_t)f->line << 32 | f->column;
}

/* The name with an index; items of JSON need not be of one size, but texts
 * are. */
static struct symc_string name_at(const struct json *json, uint32_t list,
                                  uint32_t index)
{
    uint32_t at = list + 1 + index;
    struct symc_string name = {NULL, 0};

    if (index < json->values[list].size && at < json->values[list].end &&
        json->values[at].type == JSON_STRING) {
        name.data = json_text(json, at);
        name.size = json->values[at].size;
    }
    return name;
}

struct symc_string sourcemap_function(const struct sourcemap *map,
                                      const struct jscache_row *token)
{
    size_t half, base = 0, count;
    uint64_t key = (uint64_t)(token->line + 1) << 32 | token->column;
    const struct sourcemap_functions *functions;
    struct symc_string nothing = {NULL, 0};

    if (token->file >= map->num_sources) {
        return nothing;
    }
    functions = &map->functions[token->file];
    for (count = functions->count; count > 0;) {
        half = count / 2;
        if (key_of(&functions->list[base + half]) <= key) {
            base += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return base > 0 ? name_at(&map->json, functions->names,
                              functions->list[base - 1].name)
                    : nothing;
}
