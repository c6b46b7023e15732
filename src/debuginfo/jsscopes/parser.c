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

bool parser_fail(struct parser *p, enum jsscopes_status status,
                 const char *reason)
{
    if (p->status == JSSCOPES_OK) {
        p->status = status;
        p->error->reason = reason;
        p->error->at = p->t.start;
    }
    return false;
}

bool parser_unexpected(struct parser *p)
{
    return parser_fail(p, JSSCOPES_BAD_SYNTAX,
                       p->t.type == TOKEN_END ? "unexpected end"
                                              : "unexpected token");
}

bool parser_next(struct parser *p)
{
    p->last_start = p->t.start;
    p->last_end = p->t.end;
    lexer_next(&p->lexer, &p->t);
    if (p->t.type == TOKEN_BAD) {
        return parser_unexpected(p);
    }
    return ++p->work <= p->work_max ||
           parser_fail(p, JSSCOPES_LIMIT, "too much work for its size");
}

bool parser_accept(struct parser *p, uint32_t sign, bool *is_there)
{
    *is_there = is_sign(&p->t, sign);
    return !*is_there || parser_next(p);
}

bool parser_expect(struct parser *p, uint32_t sign)
{
    return is_sign(&p->t, sign) ? parser_next(p) : parser_unexpected(p);
}

struct token parser_peek(const struct parser *p)
{
    struct lexer lexer = p->lexer;
    struct token t;

    lexer_next(&lexer, &t);
    return t;
}

struct state parser_state(const struct parser *p)
{
    struct state state = {p->lexer.at,      p->t,
                          p->last_start,    p->last_end,
                          p->scopes->count, p->scopes->num_parts};

    return state;
}

void parser_restore(struct parser *p, const struct state *state)
{
    p->lexer.at = state->at;
    p->t = state->t;
    p->last_start = state->last_start;
    p->last_end = state->last_end;
    p->scopes->count = state->num_scopes;
    p->scopes->num_parts = state->num_parts;
}

bool parser_enter(struct parser *p)
{
    return ++p->depth <= DEPTH_MAX ||
           parser_fail(p, JSSCOPES_LIMIT, "too deep");
}

void parser_leave(struct parser *p)
{
    p->depth--;
}

struct jsscopes_part parser_identifier(const struct parser *p,
                                       const struct token *t)
{
    struct jsscopes_part part = {p->lexer.text + t->start, t->end - t->start,
                                 true};

    return part;
}

bool parser_refer(struct parser *p, const struct jsscopes_part *part)
{
    if (array_need(&p->refs, &p->ref_room, p->num_refs + 1,
                   sizeof(*p->refs)) != 0) {
        return parser_fail(p, JSSCOPES_NO_MEMORY, "out of memory");
    }
    p->refs[p->num_refs++] = *part;
    return true;
}

bool parser_is_pattern(const struct parser *p, uint32_t start)
{
    size_t at = 0;

    return table_next(&p->patterns, table_hash_number(&p->patterns, start),
                      &at) != 0;
}

bool parser_note_pattern(struct parser *p, uint32_t start)
{
    return table_add(&p->patterns, table_hash_number(&p->patterns, start),
                     (uintptr_t)start + 1) == 0 ||
           parser_fail(p, JSSCOPES_NO_MEMORY, "out of memory");
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
    struct parser p;

    memset(&p, 0, sizeof(p));
    p.lexer.text = script;
    p.scopes = scopes;
    p.error = error;
    if (size > JSSCOPES_SIZE_MAX) {
        parser_fail(&p, JSSCOPES_LIMIT, "too large");
        return p.status;
    }
    p.lexer.size = (uint32_t)size;
    p.work_max = WORK_FACTOR * (uint64_t)size + 1000;
    p.is_async = true;
    ok = parser_next(&p);
    while (ok && p.t.type != TOKEN_END) {
        ok = jsparse_statement(&p);
    }
    if (!ok) { /* if no other reason was given */
        parser_unexpected(&p);
    }
    free(p.refs);
    table_free(&p.patterns);
    if (p.status == JSSCOPES_OK && scopes->count > 1) {
        qsort(scopes->list, scopes->count, sizeof(*scopes->list), compare);
    }
    return p.status;
}

void jsscopes_free(struct jsscopes *scopes)
{
    free(scopes->list);
    free(scopes->parts);
    arena_free(&scopes->arena);
    memset(scopes, 0, sizeof(*scopes));
}
