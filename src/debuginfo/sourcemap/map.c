/*
 * Copyright (C) the ngx_symcache authors
 */
#include "map.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "internal.h"

#define VALUES_MAX ((size_t)1 << 24) /* of JSON: names, sources, sections */

static struct symc_string map_text_of(const struct json *json, uint32_t value)
{
    struct symc_string text = {json_text(json, value),
                               json->values[value].size};

    return text;
}

uint32_t sourcemap_member(const struct json *json, uint32_t object,
                          const char *name, enum json_type type,
                          struct failure *failure)
{
    uint32_t value = json_member(json, object, name);

    if (value == 0 || json->values[value].type == JSON_NULL) {
        return 0;
    }
    if (json->values[value].type != (uint32_t)type) {
        failure_set(failure, FAILURE_DAMAGED,
                    "is not a source map: \"%s\" is of another type", name);
        return 0;
    }
    return value;
}

/* The name of a source after the map's sourceRoot, if it has one, without a
 * slash at its end; its data is NULL when out of memory. */
static struct symc_string join_root(struct sourcemap *map,
                                    struct symc_string root,
                                    struct symc_string name)
{
    char *p;

    if (root.data == NULL || (name.size > 0 && name.data[0] == '/') ||
        (name.size >= 5 && memcmp(name.data, "http:", 5) == 0) ||
        (name.size >= 6 && memcmp(name.data, "https:", 6) == 0)) {
        return name;
    }
    p = arena_take(&map->arena, root.size + 1 + name.size);
    if (p != NULL) {
        memcpy(p, root.data, root.size);
        p[root.size] = '/';
        memcpy(p + root.size + 1, name.data, name.size);
    }
    name.data = p;
    name.size += root.size + 1;
    return name;
}

/* The text of an item of a list of texts and nulls.  Returns -1, with failure
 * set, if it is neither. */
static int take_text(const struct json *json, uint32_t item, const char *what,
                     struct symc_string *text, struct failure *failure)
{
    text->data = NULL;
    text->size = 0;
    if (json->values[item].type == JSON_STRING) {
        *text = map_text_of(json, item);
    } else if (json->values[item].type != JSON_NULL) {
        return failure_set(failure, FAILURE_DAMAGED,
                           "is not a source map: \"%s\" has something that is "
                           "no text",
                           what);
    }
    return 0;
}

static int read_sources(struct sourcemap *map, uint32_t object,
                        struct failure *failure)
{
    uint32_t i, n, list, roots;
    const struct json *json = &map->json;
    struct symc_string name, root = {NULL, 0};

    list = sourcemap_member(json, object, "sources", JSON_ARRAY, failure);
    roots = sourcemap_member(json, object, "sourceRoot", JSON_STRING, failure);
    if (roots != 0 && json->values[roots].size > 0) {
        root = map_text_of(json, roots);
    }
    if (failure->code != FAILURE_NONE || list == 0) {
        return failure->code != FAILURE_NONE ? -1 : 0;
    }
    if (root.size > 0 && root.data[root.size - 1] == '/') {
        root.size--;
    }
    n = json->values[list].size;
    if (array_need(&map->sources, &map->source_room, n,
                   sizeof(*map->sources)) != 0) {
        return failure_memory(failure);
    }
    for (i = list + 1; i < json->values[list].end; i = json->values[i].end) {
        struct sourcemap_source *source = &map->sources[map->num_sources++];

        memset(source, 0, sizeof(*source));
        if (take_text(json, i, "sources", &name, failure) != 0) {
            return -1;
        }
        if (name.data == NULL) {
            name.data = "";
        }
        source->name = join_root(map, root, name);
        if (source->name.data == NULL) {
            return failure_memory(failure);
        }
    }
    return 0;
}

static int read_contents(struct sourcemap *map, uint32_t object,
                         struct failure *failure)
{
    size_t n = 0;
    uint32_t i, list;
    const struct json *json = &map->json;
    struct symc_string text;

    list =
        sourcemap_member(json, object, "sourcesContent", JSON_ARRAY, failure);
    for (i = list + 1; list != 0 && i < json->values[list].end;
         i = json->values[i].end) {
        if (take_text(json, i, "sourcesContent", &text, failure) != 0) {
            return -1;
        }
        if (n < map->num_sources) {
            map->sources[n++].text = text;
        }
    }
    return failure->code != FAILURE_NONE ? -1 : 0;
}

/* Both names of the list of files that are not the program's own.  The older
 * one was never a part of the standard, so what is wrong with it is ignored.
 */
static int read_ignored(struct sourcemap *map, uint32_t object,
                        struct failure *failure)
{
    uint64_t number;
    uint32_t i, list;
    bool is_standard;
    const struct json *json = &map->json;

    list = sourcemap_member(json, object, "ignoreList", JSON_ARRAY, failure);
    if (failure->code != FAILURE_NONE) {
        return -1;
    }
    is_standard = list != 0;
    if (list == 0) {
        list = json_member(json, object, "x_google_ignoreList");
    }
    if (list == 0 || json->values[list].type != JSON_ARRAY) {
        return 0;
    }
    for (i = list + 1; i < json->values[list].end; i = json->values[i].end) {
        if (json_integer(json, i, &number) == JSON_INTEGER_POSITIVE) {
            if (number < map->num_sources) {
                map->sources[number].is_ignored = true;
            }
        } else if (is_standard) {
            return failure_set(failure, FAILURE_DAMAGED,
                               "is not a source map: \"ignoreList\" has "
                               "something that is no index");
        }
    }
    return 0;
}

/* Names may be anything: of what is neither text nor a number, they are empty.
 */
static int read_map_names(struct sourcemap *map, uint32_t object,
                          struct failure *failure)
{
    uint32_t i, list, type;
    const struct json *json = &map->json;
    const struct symc_string nothing = {"", 0};

    list = sourcemap_member(json, object, "names", JSON_ARRAY, failure);
    if (list == 0) {
        return failure->code != FAILURE_NONE ? -1 : 0;
    }
    if (array_need(&map->names, &map->name_room, json->values[list].size,
                   sizeof(*map->names)) != 0) {
        return failure_memory(failure);
    }
    for (i = list + 1; i < json->values[list].end; i = json->values[i].end) {
        type = json->values[i].type;
        map->names[map->num_names++] =
            type == JSON_STRING || type == JSON_NUMBER ? map_text_of(json, i)
                                                       : nothing;
    }
    return 0;
}

static int read_plain_map(struct sourcemap *map, uint32_t object,
                          struct failure *failure)
{
    uint32_t mappings, facebook;
    const struct json *json = &map->json;

    if (read_sources(map, object, failure) != 0 ||
        read_contents(map, object, failure) != 0 ||
        read_ignored(map, object, failure) != 0 ||
        read_map_names(map, object, failure) != 0) {
        return -1;
    }
    facebook = sourcemap_member(json, object, "x_facebook_sources", JSON_ARRAY,
                                failure);
    mappings =
        sourcemap_member(json, object, "mappings", JSON_STRING, failure);
    if (failure->code != FAILURE_NONE ||
        (mappings != 0 &&
         sourcemap_read_mappings(map, map_text_of(json, mappings), failure) !=
             0)) {
        return -1;
    }
    return facebook != 0 ? sourcemap_read_functions(map, facebook, failure)
                         : 0;
}

/* Does a text have the digits of a debug id? */
static bool is_debug_id(struct symc_string text)
{
    size_t i, digits = 0;

    for (i = 0; i < text.size; i++) {
        if (strchr("0123456789abcdefABCDEF", text.data[i]) != NULL &&
            text.data[i] != '\0') {
            digits++;
        } else if (text.data[i] != '-') {
            return false;
        }
    }
    return digits > 8;
}

/* Members that have no effect here, but a type by which Symbolicator refuses
 * a map. */
static void check_types(const struct json *json, uint32_t object,
                        struct failure *failure)
{
    static const char *const ids[] = {"debugId", "debug_id"};
    uint32_t value;
    uint64_t number;
    size_t i;

    value = sourcemap_member(json, object, "version", JSON_NUMBER, failure);
    if (value != 0 &&
        (json_integer(json, value, &number) != JSON_INTEGER_POSITIVE ||
         number > UINT32_MAX)) {
        failure_set(failure, FAILURE_DAMAGED,
                    "is not a source map: \"version\" is no version");
    }
    (void)sourcemap_member(json, object, "rangeMappings", JSON_STRING,
                           failure);
    for (i = 0; i < COUNT(ids); i++) {
        value = sourcemap_member(json, object, ids[i], JSON_STRING, failure);
        if (value != 0 && !is_debug_id(map_text_of(json, value))) {
            failure_set(failure, FAILURE_DAMAGED,
                        "is not a source map: \"%s\" is no debug id", ids[i]);
        }
    }
}

int sourcemap_read_object(struct sourcemap *map, uint32_t object,
                          unsigned depth, struct failure *failure)
{
    uint32_t sections;

    if (map->json.values[object].type != JSON_OBJECT) {
        return failure_set(failure, FAILURE_DAMAGED,
                           "is not a source map: no JSON object");
    }
    check_types(&map->json, object, failure);
    sections =
        sourcemap_member(&map->json, object, "sections", JSON_ARRAY, failure);
    if (failure->code != FAILURE_NONE) {
        return -1;
    }
    return sections != 0
               ? sourcemap_read_sections(map, sections, depth, failure)
               : read_plain_map(map, object, failure);
}

/*
 * A first line that begins with one of these bytes keeps a map from being run
 * as a script, and is skipped.  Returns its size, or SIZE_MAX if it does not
 * end as it should.
 */
static size_t protection_size(const char *text, size_t size)
{
    const char *p, *end = text + size;

    if (size == 0 || strchr(")]}'", text[0]) == NULL || text[0] == '\0') {
        return 0;
    }
    for (p = text; p < end && *p != '\n'; p++) {
        if (*p == '\r' && (p + 1 == end || p[1] != '\n')) {
            return SIZE_MAX;
        }
    }
    return p == end ? SIZE_MAX : (size_t)(p - text);
}

/* The name of the standard wins. */
static void read_debug_id(struct sourcemap *map)
{
    uint32_t id = json_member(&map->json, 0, "debugId");

    if (id == 0 || map->json.values[id].type != JSON_STRING) {
        id = json_member(&map->json, 0, "debug_id");
    }
    if (id != 0 && map->json.values[id].type == JSON_STRING) {
        map->debug_id = map_text_of(&map->json, id);
    }
}

int sourcemap_read(struct sourcemap *map, char *text, size_t size,
                   struct failure *failure)
{
    size_t skipped = protection_size(text, size), used;
    struct json_error error;

    if (skipped == SIZE_MAX) {
        return failure_set(failure, FAILURE_DAMAGED,
                           "is not a source map: there is no JSON behind its "
                           "first line");
    }
    used = json_read(&map->json, text + skipped, size - skipped, VALUES_MAX,
                     &error);
    if (used == 0 && error.out_of_memory) {
        return failure_memory(failure);
    }
    if (used == 0) {
        return failure_set(failure, FAILURE_DAMAGED,
                           "is not a source map: line %u, column %zu: %s",
                           error.line, error.column, error.reason);
    }
    if (used != size - skipped) {
        return failure_set(
            failure, FAILURE_DAMAGED,
            "is not a source map: something follows the JSON, at "
            "byte %zu",
            skipped + used);
    }
    if (sourcemap_read_object(map, 0, 0, failure) != 0) {
        return -1;
    }
    read_debug_id(map);
    sourcemap_sort(map);
    return 0;
}

void sourcemap_free(struct sourcemap *map)
{
    size_t i;

    for (i = 0; map->functions != NULL && i < map->num_sources; i++) {
        free(map->functions[i].list);
    }
    free(map->functions);
    free(map->sources);
    free(map->names);
    sourcemap_free_tokens(map);
    json_free(&map->json);
    arena_free(&map->arena);
    memset(map, 0, sizeof(*map));
}
