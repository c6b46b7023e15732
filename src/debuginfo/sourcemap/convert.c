/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sourcemap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo/scratch.h"
#include "map.h"
#include "scopes.h"
#include "symbolication/js/js.h"

/* Copies the map, which is read in place, or takes it out of the script. */
static char *convert_map(const uint8_t *script, size_t script_size,
                         const uint8_t *map, size_t *size,
                         struct failure *failure)
{
    char *text;
    struct symc_string url =
        js_source_mapping_url((const char *)script, script_size);

    if (map == NULL && !js_is_data_url(url)) {
        failure_set(failure, FAILURE_DAMAGED,
                    "has no map in it, and none was named");
        return NULL;
    }
    text = scratch_allocate(map != NULL ? *size : url.size);
    if (text == NULL) {
        failure_memory(failure);
        return NULL;
    }
    if (map != NULL) {
        scratch_copy(text, map, *size);
    } else if (!js_data_url_read(url, text, size)) {
        failure_set(failure, FAILURE_DAMAGED,
                    "has a map in it that is not a valid \"data:\" URL");
        scratch_free(text);
        return NULL;
    }
    return text;
}

static enum symc_status convert_files(struct jscache_writer *writer,
                                      const struct sourcemap *map)
{
    size_t i;
    enum symc_status status = SYMC_OK;

    for (i = 0; i < map->num_sources && status == SYMC_OK; i++) {
        status = jscache_writer_file(writer, map->sources[i].name,
                                     map->sources[i].text,
                                     map->sources[i].is_ignored);
    }
    return status;
}

/* Gives tokens the functions that a Hermes map knows.  Of several tokens at
 * one place, the first one's counts. */
static enum symc_status convert_functions(struct jscache_writer *writer,
                                          struct sourcemap *map)
{
    size_t i;
    struct jscache_row *token;
    struct symc_string name;

    for (i = 0; i < map->num_tokens; i++) {
        token = &map->tokens[i];
        name = sourcemap_function(map, token);
        if (name.data != NULL &&
            jscache_writer_text(writer, name, &token->scope) != SYMC_OK) {
            return SYMC_NO_MEMORY;
        }
    }
    return SYMC_OK;
}

/* Makes offsets of the indices of names.  Most names are those of many tokens,
 * so each index is looked up once. */
static enum symc_status convert_names(struct jscache_writer *writer,
                                      struct sourcemap *map)
{
    size_t i;
    uint32_t *offsets, *offset;
    struct jscache_row *token;
    enum symc_status status = SYMC_OK;

    offsets = malloc((map->num_names + 1) * sizeof(*offsets));
    if (offsets == NULL) {
        return SYMC_NO_MEMORY;
    }
    memset(offsets, 0xFF, (map->num_names + 1) * sizeof(*offsets));
    for (i = 0; i < map->num_tokens && status == SYMC_OK; i++) {
        token = &map->tokens[i];
        if (token->name == JSCACHE_NONE) {
            continue;
        }
        offset = &offsets[token->name];
        if (*offset == JSCACHE_NONE) {
            status =
                jscache_writer_text(writer, map->names[token->name], offset);
        }
        token->name = *offset;
    }
    free(offsets);
    return status;
}

static int convert_write(struct sourcemap *map, const char *script,
                         size_t size, const struct symc_sink *sink,
                         struct debuginfo_result *result,
                         struct failure *failure)
{
    enum symc_status status;
    struct jscache_writer writer;

    jscache_writer_init(&writer);
    status = convert_files(&writer, map);
    if (status == SYMC_OK && map->is_hermes) {
        status = convert_functions(&writer, map);
    } else if (status == SYMC_OK) {
        (void)scopes_add(map, script, size, &writer, result->note,
                         sizeof(result->note), failure);
    }
    if (status == SYMC_OK) {
        status = convert_names(&writer, map);
    }
    if (status == SYMC_OK && failure->code == FAILURE_NONE) {
        status =
            jscache_writer_finish(&writer, map->tokens, map->num_tokens, sink);
    }
    jscache_writer_free(&writer);
    return failure->code == FAILURE_NONE ? failure_writer(failure, status)
                                         : -1;
}

/* The next hexadecimal digit of an id, or '\0'. */
static char convert_next_digit(struct symc_string *id)
{
    char c;

    while (id->size > 0) {
        c = *id->data++;
        id->size--;
        if (c != '-') {
            return c >= 'A' && c <= 'F' ? (char)(c | 0x20) : c;
        }
    }
    return '\0';
}

/* Says so, if a script and a map have debug ids that differ: they are not of
 * one build, or a tool changed one of them later. */
static void convert_compare_ids(const struct sourcemap *map,
                                struct symc_string id,
                                struct debuginfo_result *result)
{
    char digit;
    struct symc_string of_script = id, of_map = map->debug_id;

    if (id.data == NULL || map->debug_id.data == NULL ||
        result->note[0] != '\0') {
        return;
    }
    do {
        digit = convert_next_digit(&of_script);
        if (digit != convert_next_digit(&of_map)) {
            snprintf(result->note, sizeof(result->note),
                     "the script has the debug id %.*s, and its map %.*s: "
                     "they may not belong together",
                     id.size < 36 ? (int)id.size : 36, id.data,
                     map->debug_id.size < 36 ? (int)map->debug_id.size : 36,
                     map->debug_id.data);
            return;
        }
    } while (digit != '\0');
}

/* Failures are told of the script, which may be sound. */
static void convert_name_map(struct failure *failure)
{
    static const char subject[] = "its map ";
    const size_t n = sizeof(subject) - 1;

    memmove(failure->text + n, failure->text, sizeof(failure->text) - n - 1);
    memcpy(failure->text, subject, n);
    failure->text[sizeof(failure->text) - 1] = '\0';
}

int sourcemap_convert(const uint8_t *script, size_t script_size,
                      const uint8_t *map, size_t map_size,
                      const struct symc_sink *sink,
                      struct debuginfo_result *result, struct failure *failure)
{
    int rc;
    char *text;
    struct sourcemap read;

    result->output = SYMCACHE_KIND_JSCACHE;
    text = convert_map(script, script_size, map, &map_size, failure);
    if (text == NULL) {
        return -1;
    }
    memset(&read, 0, sizeof(read));
    rc = sourcemap_read(&read, text, map_size, failure);
    if (rc == 0) {
        rc = convert_write(&read, (const char *)script, script_size, sink,
                           result, failure);
        convert_compare_ids(
            &read, js_debug_id((const char *)script, script_size), result);
    } else {
        convert_name_map(failure);
    }
    sourcemap_free(&read);
    scratch_free(text);
    return rc;
}
