/*
 * Copyright (C) the ngx_symcache authors
 */

#include "arena.h"

#include <stdlib.h>

#define CHUNK 65536

struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
    max_align_t data[];
};

void *arena_take(struct arena *arena, size_t size)
{
    size_t n;
    char *p;
    struct arena_chunk *chunk;

    if (size > ((size_t)-1) / 4) {
        return NULL;
    }
    size = (size + 15) & ~(size_t)15;
    chunk = arena->chunks;
    if (chunk == NULL || chunk->size - arena->used < size) {
        n = size > CHUNK ? size : CHUNK;
        chunk = malloc(sizeof(*chunk) + n);
        if (chunk == NULL) {
            return NULL;
        }
        chunk->size = n;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->used = 0;
    }
    p = (char *)chunk->data + arena->used;
    arena->used += size;
    return p;
}

void arena_reset(struct arena *arena)
{
    struct arena_chunk *chunk;

    while (arena->chunks != NULL &&
           (arena->chunks->next != NULL || arena->chunks->size > CHUNK)) {
        chunk = arena->chunks;
        arena->chunks = chunk->next;
        free(chunk);
    }
    arena->used = 0;
}

void arena_free(struct arena *arena)
{
    struct arena_chunk *chunk;

    while (arena->chunks != NULL) {
        chunk = arena->chunks;
        arena->chunks = chunk->next;
        free(chunk);
    }
    arena->used = 0;
}
