/*
 * Copyright (C) the ngx_symcache authors
 *
 * Patterns, which parameters are too, and the keys in them.
 */
#include <string.h>

#include "parser.h"

bool jsparse_key(struct parser *p, struct key *key)
{
    static const struct jsscopes_part computed = {"<computed>", 10, false};
    static const struct jsscopes_part hash = {"#", 1, false};
    const char *text = p->lexer.text + p->t.start;
    uint32_t size = p->t.end - p->t.start;

    memset(key, 0, sizeof(*key));
    key->count = 1;
    switch (p->t.type) {
    case TOKEN_NAME:
        key->is_plain = true;
        key->parts[0] = parser_identifier(p, &p->t);
        key->is_constructor =
            size == 11 && memcmp(text, "constructor", 11) == 0;
        return parser_next(p);
    case TOKEN_PRIVATE:
        key->is_private = true;
        key->count = 2;
        key->parts[0] = hash;
        key->parts[1] = parser_identifier(p, &p->t);
        key->parts[1].text++; /* after the "#" */
        key->parts[1].size--;
        return parser_next(p);
    case TOKEN_STRING:
        key->is_constructor =
            size == 13 && memcmp(text + 1, "constructor", 11) == 0;
        return literal_part(p, &p->t, true, &key->parts[0]) && parser_next(p);
    case TOKEN_NUMBER:
    case TOKEN_BIGINT:
        return literal_part(p, &p->t, true, &key->parts[0]) && parser_next(p);
    default:
        key->parts[0] = computed;
        return parser_expect(p, '[') && jsparse_assignment(p) &&
               parser_expect(p, ']');
    }
}

/* Reads a target of a pattern, and its default. */
static bool parse_element(struct parser *p)
{
    bool is_there;

    if (is_sign(&p->t, '[') || is_sign(&p->t, '{')) {
        if (!jsparse_pattern(p)) {
            return false;
        }
    } else {
        /* a name; in an assignment, it may be a member of something */
        size_t base = p->ref_base;
        bool ok;

        p->ref_base = p->num_refs;
        ok = jsparse_operand(p) && !p->was_arrow;
        p->num_refs = p->ref_base;
        p->ref_base = base;
        if (!ok) {
            return parser_unexpected(p);
        }
    }
    return parser_accept(p, '=', &is_there) &&
           (!is_there || jsparse_assignment(p));
}

/* Reads what is between the braces of a pattern. */
static bool parse_properties(struct parser *p)
{
    bool is_there;
    struct key key;

    while (!is_sign(&p->t, '}')) {
        if (!parser_accept(p, SIGN_SPREAD, &is_there)) {
            return false;
        }
        if (is_there) {
            if (!parse_element(p)) {
                return false;
            }
        } else {
            if (!jsparse_key(p, &key) || !parser_accept(p, ':', &is_there)) {
                return false;
            }
            if (is_there) {
                if (!parse_element(p)) {
                    return false;
                }
            } else if (!parser_accept(p, '=', &is_there) ||
                       (is_there && !jsparse_assignment(p))) {
                return false;
            }
        }
        if (!is_sign(&p->t, '}') && !parser_expect(p, ',')) {
            return false;
        }
    }
    return parser_next(p);
}

bool jsparse_elements(struct parser *p, uint32_t end)
{
    bool is_there;

    while (!is_sign(&p->t, end)) {
        if (is_sign(&p->t, ',') && end == ']') {
            if (!parser_next(p)) {
                return false;
            }
            continue;
        }
        if (!parser_accept(p, SIGN_SPREAD, &is_there) || !parse_element(p)) {
            return false;
        }
        if (!is_sign(&p->t, end) && !parser_expect(p, ',')) {
            return false;
        }
    }
    return parser_next(p);
}

bool jsparse_pattern(struct parser *p)
{
    bool ok, is_array = is_sign(&p->t, '[');

    if (!parser_enter(p) || !parser_next(p)) {
        return false;
    }
    ok = is_array ? jsparse_elements(p, ']') : parse_properties(p);
    parser_leave(p);
    return ok;
}
