/*
 * Copyright (C) the ngx_symcache authors
 */
#include <stdlib.h>
#include <string.h>

#include "debuginfo/scratch.h"
#include "internal.h"
#include "vlq.h"

#define TOKENS_MAX ((size_t)1 << 31)

/* How many segments there are that are not empty. */
static size_t mapping_count_segments(const char *p, const char *end)
{
    size_t n = 0;
    bool was_empty = true, is_empty;

    for (; p < end; p++) {
        is_empty = *p == ',' || *p == ';';
        n += was_empty && !is_empty;
        was_empty = is_empty;
    }
    return n;
}

int sourcemap_need_tokens(struct sourcemap *map, size_t n,
                          struct failure *failure)
{
    size_t room;
    struct jscache_row *tokens;

    if (n <= map->token_room - map->num_tokens) {
        return 0;
    }
    if (n > TOKENS_MAX - map->num_tokens) {
        return failure_set(failure, FAILURE_LIMIT,
                           "has more than %zu segments", TOKENS_MAX);
    }
    room = map->num_tokens + n;
    room = room > 2 * map->num_tokens ? room : 2 * map->num_tokens;
    tokens = scratch_allocate(room * sizeof(*tokens));
    if (tokens == NULL) {
        return failure_memory(failure);
    }
    if (map->num_tokens > 0) {
        memcpy(tokens, map->tokens, map->num_tokens * sizeof(*tokens));
    }
    sourcemap_free_tokens(map);
    map->tokens = tokens;
    map->token_room = room;
    return 0;
}

void sourcemap_free_tokens(struct sourcemap *map)
{
    if (map->tokens != NULL) {
        scratch_free(map->tokens);
    }
}

static int mapping_bad_segment(const struct jscache_row *at, size_t offset,
                               const char *reason, struct failure *failure)
{
    return failure_set(failure, FAILURE_DAMAGED,
                       "is damaged: mappings, byte %zu, of line %u of the "
                       "script: %s",
                       offset, at->minified_line, reason);
}

/* Makes a token of the n numbers of a segment, relative to last, the numbers
 * so far. */
static const char *mapping_take_segment(const struct sourcemap *map,
                                        const uint32_t *numbers, int n,
                                        struct jscache_row *last,
                                        struct jscache_row *token)
{
    if (n != 1 && n != 4 && n != 5) {
        return "a segment of neither 1, 4 nor 5 numbers";
    }
    last->minified_column += numbers[0];
    *token = *last;
    token->file = token->line = token->column = JSCACHE_NONE;
    token->name = token->scope = JSCACHE_NONE;
    if (n == 1) {
        return NULL;
    }
    last->file += numbers[1];
    last->line += numbers[2];
    last->column += numbers[3];
    if (last->file >= map->num_sources) {
        return "a source that does not exist";
    }
    token->file = last->file;
    token->line = last->line;
    token->column = last->column;
    if (n == 5) {
        last->name += numbers[4];
        if (last->name >= map->num_names) {
            return "a name that does not exist";
        }
        token->name = last->name;
    }
    return NULL;
}

int sourcemap_read_mappings(struct sourcemap *map, struct symc_string mappings,
                            struct failure *failure)
{
    int n;
    const char *reason, *p = mappings.data, *end = p + mappings.size;
    uint32_t numbers[VLQ_FIELDS];
    struct jscache_row last = {0, 0, 0, 0, 0, 0, JSCACHE_NONE};

    if (sourcemap_need_tokens(map, mapping_count_segments(p, end), failure) !=
        0) {
        return -1;
    }
    while (p < end) {
        if (*p == ',') {
            p++;
            continue;
        }
        if (*p == ';') {
            p++;
            last.minified_line++;
            last.minified_column = 0;
            continue;
        }
        n = vlq_segment(&p, end, numbers);
        reason = n < 0 ? "no number in Base64"
                       : mapping_take_segment(map, numbers, n, &last,
                                              &map->tokens[map->num_tokens]);
        if (reason != NULL) {
            return mapping_bad_segment(&last, (size_t)(p - mappings.data),
                                       reason, failure);
        }
        map->num_tokens++;
    }
    return 0;
}

static uint64_t mapping_key_of(const struct jscache_row *token)
{
    return (uint64_t)token->minified_line << 32 | token->minified_column;
}

static int mapping_compare_rows(const void *a, const void *b)
{
    const struct jscache_row *x = a, *y = b;

    if (mapping_key_of(x) != mapping_key_of(y)) {
        return mapping_key_of(x) < mapping_key_of(y) ? -1 : 1;
    }
    return x->scope < y->scope ? -1 : 1; /* which is their order for now */
}

void sourcemap_sort(struct sourcemap *map)
{
    size_t i;

    for (i = 1; i < map->num_tokens; i++) {
        if (mapping_key_of(&map->tokens[i - 1]) >
            mapping_key_of(&map->tokens[i])) {
            break;
        }
    }
    if (i >= map->num_tokens) {
        return;
    }
    for (i = 0; i < map->num_tokens; i++) {
        map->tokens[i].scope = (uint32_t)i;
    }
    qsort(map->tokens, map->num_tokens, sizeof(*map->tokens),
          mapping_compare_rows);
    for (i = 0; i < map->num_tokens; i++) {
        map->tokens[i].scope = JSCACHE_NONE;
    }
}

const struct jscache_row *sourcemap_find(const struct sourcemap *map,
                                         uint32_t line, uint32_t column)
{
    size_t half, base = 0, count = map->num_tokens;
    uint64_t key = (uint64_t)line << 32 | column;

    while (count > 0) {
        half = count / 2;
        if (mapping_key_of(&map->tokens[base + half]) < key) {
            base += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    if (base < map->num_tokens && mapping_key_of(&map->tokens[base]) == key) {
        return &map->tokens[base];
    }
    return base > 0 ? &map->tokens[base - 1] : NULL;
}
