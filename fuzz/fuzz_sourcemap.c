/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a script and its source map.  Behind a byte 0 the script, a NUL
 * and the map; behind another one the text of "mappings" alone, or, from 128
 * on, that of the functions of Hermes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo/sourcemap/sourcemap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct memory {
    uint8_t *data;
    size_t size;
    size_t room;
};

static int append(void *context, const void *data, size_t size)
{
    struct memory *m = context;

    if (m->size + size > m->room) {
        m->room = 2 * (m->size + size);
        m->data = realloc(m->data, m->room);
        if (m->data == NULL) {
            abort();
        }
    }
    memcpy(m->data + m->size, data, size);
    m->size += size;
    return 0;
}

static bool is_last_there(const struct jscache_reader *r, uint32_t i,
                          const struct jscache_token *token)
{
    struct jscache_token next;

    if (i + 1 == r->num_positions) {
        return true;
    }
    jscache_reader_token(r, i + 1, &next);
    return next.minified_line != token->minified_line ||
           next.minified_column != token->minified_column;
}

/* The last token at each place is found there, if it has an original. */
static void look(const struct jscache_reader *r)
{
    uint32_t i;
    struct jscache_token token, found;
    struct jscache_file file;
    struct symc_string line;

    for (i = 0; i < r->num_positions; i++) {
        jscache_reader_token(r, i, &token);
        if (jscache_reader_lookup(r, token.minified_line,
                                  token.minified_column, true, &found)
                ? found.minified_line != token.minified_line ||
                      found.minified_column != token.minified_column
                : is_last_there(r, i, &token) &&
                      jscache_reader_file(r, token.file, &file)) {
            abort();
        }
        jscache_reader_lookup(r, token.minified_line, token.minified_column,
                              false, &found);
        jscache_reader_line(r, token.file, token.line, &line);
    }
}

static void convert(const uint8_t *script, size_t script_size,
                    const uint8_t *map, size_t map_size)
{
    char error[200] = "";
    struct memory memory = {NULL, 0, 0};
    const struct symc_sink sink = {append, &memory};
    struct debuginfo_result result = {0};
    struct failure failure = {FAILURE_NONE, ""};
    struct jscache_reader reader;

    if (sourcemap_convert(script, script_size, map, map_size, &sink, &result,
                          &failure) != 0) {
        if (failure.text[0] == '\0') {
            abort();
        }
    } else if (jscache_reader_open(&reader, memory.data, memory.size, error,
                                   sizeof(error)) != SYMC_OPENED ||
               jscache_verify(&reader, error, sizeof(error)) != SYMC_SOUND) {
        fprintf(stderr, "%s\n", error);
        abort();
    } else {
        look(&reader);
    }
    free(memory.data);
}

/* A map that is sound, but for a text in it. */
static void convert_text(const uint8_t *data, size_t size, const char *before,
                         const char *after)
{
    size_t i, n = strlen(before);
    char *map = malloc(n + size + strlen(after));

    if (map == NULL) {
        abort();
    }
    memcpy(map, before, n);
    for (i = 0; i < size; i++) {
        if (data[i] > ' ' && data[i] < 0x7F && data[i] != '"' &&
            data[i] != '\\') {
            map[n++] = (char)data[i];
        }
    }
    memcpy(map + n, after, strlen(after));
    convert((const uint8_t *)"a=()=>b", 7, (const uint8_t *)map,
            n + strlen(after));
    free(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul;

    if (size == 0) {
        return 0;
    }
    nul = memchr(data + 1, '\0', size - 1);
    if (data[0] == 0) {
        convert(data + 1,
                (size_t)((nul != NULL ? nul : data + size) - data) - 1,
                nul != NULL ? nul + 1 : NULL,
                nul != NULL ? size - (size_t)(nul + 1 - data) : 0);
    } else if (data[0] < 128) {
        convert_text(
            data + 1, size - 1,
            "{\"sources\": [\"a\", \"b\"], \"names\": [\"c\", \"d\"], "
            "\"mappings\": \"",
            "\"}");
    } else {
        convert_text(data + 1, size - 1,
                     "{\"sources\": [\"a\"], \"names\": [], \"mappings\": "
                     "\"AAAA,CACA,CACC\", \"x_facebook_sources\": [[{\"names\""
                     ": [\"c\", \"d\"], \"mappings\": \"",
                     "\"}]]}");
    }
    return 0;
}
