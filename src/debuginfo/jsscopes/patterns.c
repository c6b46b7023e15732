/*
 * Copyright (C) the ngx_symcache authors
 *
 * Patterns, which parameters are too, and the keys in them.
 */
#include <string.h>

#include "parser.h"

bool jsparse_key(struct jsparser *js, struct key *key)
{
    static const struct jsscopes_part computed = {"<computed>", 10, false};
    static const struct jsscopes_part hash = {"#", 1, false};
    const char *text = js->lexer.text + js->t.start;
    uint32_t size = js->t.end - js->t.start;

    memset(key, 0, sizeof(*key));
    key->count = 1;
    switch (js->t.type) {
    case TOKEN_NAME:
        key->is_plain = true;
        key->parts[0] = parser_identifier(js, &js->t);
        key->is_constructor =
            size == 11 && memcmp(text, "constructor", 11) == 0;
        return parser_next(js);
    case TOKEN_PRIVATE:
        key->is_private = true;
        key->count = 2;
        key->parts[0] = hash;
        key->parts[1] = parser_identifier(js, &js->t);
        key->parts[1].text++; /* after the "#" */
        key->parts[1].size--;
        return parser_next(js);
    case TOKEN_STRING:
        key->is_constructor =
            size == 13 && memcmp(text + 1, "constructor", 11) == 0;
        return literal_part(js, &js->t, true, &key->parts[0]) &&
               parser_next(js);
    case TOKEN_NUMBER:
    case TOKEN_BIGINT:
        return literal_part(js, &js->t, true, &key->parts[0]) &&
               parser_next(js);
    default:
        key->parts[0] = computed;
        return parser_expect(js, '[') && jsparse_assignment(js) &&
               parser_expect(js, ']');
    }
}

/* Reads a target of a pattern, and its default. */
static bool parse_pattern_element(struct jsparser *js)
{
    bool is_there;

    if (is_sign(&js->t, '[') || is_sign(&js->t, '{')) {
        if (!jsparse_pattern(js)) {
            return false;
        }
    } else {
        /* a name; in an assignment, it may be a member of something */
        size_t base = js->ref_base;
        bool ok;

        js->ref_base = js->num_refs;
        ok = jsparse_operand(js) && !js->was_arrow;
        js->num_refs = js->ref_base;
        js->ref_base = base;
        if (!ok) {
            return parser_unexpected(js);
        }
    }
    return parser_accept(js, '=', &is_there) &&
           (!is_there || jsparse_assignment(js));
}

/* Reads what is between the braces of a pattern. */
static bool parse_pattern_properties(struct jsparser *js)
{
    bool is_there;
    struct key key;

    while (!is_sign(&js->t, '}')) {
        if (!parser_accept(js, SIGN_SPREAD, &is_there)) {
            return false;
        }
        if (is_there) {
            if (!parse_pattern_element(js)) {
                return false;
            }
        } else {
            if (!jsparse_key(js, &key) || !parser_accept(js, ':', &is_there)) {
                return false;
            }
            if (is_there) {
                if (!parse_pattern_element(js)) {
                    return false;
                }
            } else if (!parser_accept(js, '=', &is_there) ||
                       (is_there && !jsparse_assignment(js))) {
                return false;
            }
        }
        if (!is_sign(&js->t, '}') && !parser_expect(js, ',')) {
            return false;
        }
    }
    return parser_next(js);
}

bool jsparse_elements(struct jsparser *js, uint32_t end)
{
    bool is_there;

    while (!is_sign(&js->t, end)) {
        if (is_sign(&js->t, ',') && end == ']') {
            if (!parser_next(js)) {
                return false;
            }
            continue;
        }
        if (!parser_accept(js, SIGN_SPREAD, &is_there) ||
            !parse_pattern_element(js)) {
            return false;
        }
        if (!is_sign(&js->t, end) && !parser_expect(js, ',')) {
            return false;
        }
    }
    return parser_next(js);
}

bool jsparse_pattern(struct jsparser *js)
{
    bool ok, is_array = is_sign(&js->t, '[');

    if (!parser_enter(js) || !parser_next(js)) {
        return false;
    }
    ok = is_array ? jsparse_elements(js, ']') : parse_pattern_properties(js);
    parser_leave(js);
    return ok;
}
