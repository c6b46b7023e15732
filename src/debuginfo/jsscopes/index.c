/*
 * Copyright (C) the ngx_symcache authors
 */
#include <stdlib.h>

#include "jsscopes.h"

struct index {
    const struct jsscopes *scopes;
    struct jsscopes_change *list;
    size_t count;
    uint32_t *open; /* numbers of open scopes, the innermost last */
    size_t depth;
};

static void add_scope_start(struct index *index, uint32_t at, uint32_t scope)
{
    index->list[index->count].at = at;
    index->list[index->count++].scope = scope;
}

static uint32_t innermost_scope(const struct index *index)
{
    return index->depth > 0 ? index->open[index->depth - 1] : JSSCOPES_OUTSIDE;
}

/* Closes the scopes that end at a place or before. */
static void close_until(struct index *index, uint32_t at)
{
    uint32_t end;

    while (index->depth > 0) {
        end = index->scopes->list[innermost_scope(index)].end;
        if (end > at) {
            return;
        }
        index->depth--;
        add_scope_start(index, end, innermost_scope(index));
    }
}

ssize_t jsscopes_index(const struct jsscopes *scopes,
                       struct jsscopes_change **list)
{
    size_t i, n = scopes->count;
    struct index index = {scopes, NULL, 0, NULL, 0};
    const struct jsscope *scope;

    /* each scope has a beginning and an end */
    index.list = calloc(2 * n + 1, sizeof(*index.list));
    index.open = calloc(n + 1, sizeof(*index.open));
    if (index.list == NULL || index.open == NULL) {
        free(index.list);
        free(index.open);
        return -1;
    }
    if (n > 0 && scopes->list[0].start != 0) {
        add_scope_start(&index, 0, JSSCOPES_OUTSIDE);
    }
    for (i = 0; i < n; i++) {
        scope = &scopes->list[i];
        close_until(&index, scope->start);
        add_scope_start(&index, scope->start, (uint32_t)i);
        if (index.depth > 0 &&
            scopes->list[innermost_scope(&index)].end == scope->end) {
            index.depth--; /* its end tells nothing new */
        }
        index.open[index.depth++] = (uint32_t)i;
    }
    close_until(&index, UINT32_MAX);
    free(index.open);
    *list = index.list;
    return (ssize_t)index.count;
}
