/*
 * Copyright (C) the ngx_symcache authors
 */
#include "parser.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define DEPTH_MAX 2000

/* Each token may be read this often: patterns are read again where it turns
 * out that they are some. */
#define WORK_FACTOR 8

bool parser_fail(struct jsparser *js, enum jsscopes_status status,
                 const char *reason)
{
    if (js->status == JSSCOPES_OK) {
        js->status = status;
        js->error->reason = reason;
        js->error->at = js->t.start;
    }
    return false;
}

bool parser_unexpected(struct jsparser *js)
{
    return parser_fail(js, JSSCOPES_BAD_SYNTAX,
                       js->t.type == TOKEN_END ? "unexpected end"
                                               : "unexpected token");
}

bool parser_next(struct jsparser *js)
{
    js->last_start = js->t.start;
    js->last_end = js->t.end;
    lexer_next(&js->lexer, &js->t);
    if (js->t.type == TOKEN_BAD) {
        return parser_unexpected(js);
    }
    return ++js->work <= js->work_max ||
           parser_fail(js, JSSCOPES_LIMIT, "too much work for its size");
}

bool parser_accept(struct jsparser *js, uint32_t sign, bool *is_there)
{
    *is_there = is_sign(&js->t, sign);
    return !*is_there || parser_next(js);
}

bool parser_expect(struct jsparser *js, uint32_t sign)
{
    return is_sign(&js->t, sign) ? parser_next(js) : parser_unexpected(js);
}

struct token parser_peek(const struct jsparser *js)
{
    struct lexer lexer = js->lexer;
    struct token t;

    lexer_next(&lexer, &t);
    return t;
}

struct state parser_state(const struct jsparser *js)
{
    struct state state = {js->lexer.at,      js->t,
                          js->last_start,    js->last_end,
                          js->scopes->count, js->scopes->num_parts};

    return state;
}

void parser_restore(struct jsparser *js, const struct state *state)
{
    js->lexer.at = state->at;
    js->t = state->t;
    js->last_start = state->last_start;
    js->last_end = state->last_end;
    js->scopes->count = state->num_scopes;
    js->scopes->num_parts = state->num_parts;
}

bool parser_enter(struct jsparser *js)
{
    return ++js->depth <= DEPTH_MAX ||
           parser_fail(js, JSSCOPES_LIMIT, "too deep");
}

void parser_leave(struct jsparser *js)
{
    js->depth--;
}

struct jsscopes_part parser_identifier(const struct jsparser *js,
                                       const struct token *t)
{
    struct jsscopes_part part = {js->lexer.text + t->start, t->end - t->start,
                                 true};

    return part;
}

bool parser_refer(struct jsparser *js, const struct jsscopes_part *part)
{
    if (array_need(&js->refs, &js->ref_room, js->num_refs + 1,
                   sizeof(*js->refs)) != 0) {
        return parser_fail(js, JSSCOPES_NO_MEMORY, "out of memory");
    }
    js->refs[js->num_refs++] = *part;
    return true;
}

bool parser_is_pattern(const struct jsparser *js, uint32_t start)
{
    size_t at = 0;

    return table_next(&js->patterns, table_hash_number(&js->patterns, start),
                      &at) != 0;
}

bool parser_note_pattern(struct jsparser *js, uint32_t start)
{
    return table_add(&js->patterns, table_hash_number(&js->patterns, start),
                     (uintptr_t)start + 1) == 0 ||
           parser_fail(js, JSSCOPES_NO_MEMORY, "out of memory");
}

static int compare(const void *a, const void *b)
{
    const struct jsscope *x = a, *y = b;

    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return x->end > y->end ? -1 : x->end < y->end;
}

enum jsscopes_status jsscopes_read(struct jsscopes *scopes, const char *script,
                                   size_t size, struct jsscopes_error *error)
{
    bool ok;
    struct jsparser js;

    memset(&js, 0, sizeof(js));
    js.lexer.text = script;
    js.scopes = scopes;
    js.error = error;
    if (size > JSSCOPES_SIZE_MAX) {
        parser_fail(&js, JSSCOPES_LIMIT, "too large");
        return js.status;
    }
    js.lexer.size = (uint32_t)size;
    js.work_max = WORK_FACTOR * (uint64_t)size + 1000;
    js.is_async = true;
    ok = parser_next(&js);
    while (ok && js.t.type != TOKEN_END) {
        ok = jsparse_statement(&js);
    }
    if (!ok) { /* if no other reason was given */
        parser_unexpected(&js);
    }
    free(js.refs);
    table_free(&js.patterns);
    if (js.status == JSSCOPES_OK && scopes->count > 1) {
        qsort(scopes->list, scopes->count, sizeof(*scopes->list), compare);
    }
    return js.status;
}

void jsscopes_free(struct jsscopes *scopes)
{
    free(scopes->list);
    free(scopes->parts);
    arena_free(&scopes->arena);
    memset(scopes, 0, sizeof(*scopes));
}
