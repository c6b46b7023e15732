/*
 * Copyright (C) the ngx_symcache authors
 */
#include <string.h>

#include "node.h"

/* the text ----------------------------------------------------------------- */

char swift_next(struct swift *s)
{
    return s->p < s->end ? *s->p++ : '\0';
}

bool swift_skip(struct swift *s, char c)
{
    if (s->p < s->end && *s->p == c) {
        s->p++;
        return true;
    }
    return false;
}

bool swift_natural(struct swift *s, uint32_t *number)
{
    const char *from = s->p;

    for (*number = 0; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++) {
        if (*number > 100000) {
            s->has_failed = true;
            return false;
        }
        *number = *number * 10 + (uint32_t)(*s->p - '0');
    }
    return s->p > from;
}

uint32_t swift_index(struct swift *s)
{
    uint32_t number;

    if (swift_skip(s, '_')) {
        return 0;
    }
    if (!swift_natural(s, &number) || !swift_skip(s, '_')) {
        s->has_failed = true;
        return 0;
    }
    return number + 1;
}

/* identifiers -------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static void parse_append(struct swift *s, const char *text, size_t size)
{
    if (size > SWIFT_TEXT - s->text_size) {
        s->has_failed = true;
        return;
    }
    memcpy(s->text + s->text_size, text, size);
    s->text_size += size;
}

/* Later identifiers refer to words of this one. */
static void parse_words(struct swift *s, const char *text, size_t size)
{
    size_t i, start = size + 1;
    char c, before = '\0';

    for (i = 0; i <= size; i++, before = c) {
        c = i < size ? text[i] : '\0';
        if (start <= size && (c == '_' || c == '\0' ||
                              (!is_upper(before) && is_upper(c)))) {
            if (i - start >= 2 && s->num_words < SWIFT_WORDS) {
                s->words[s->num_words].text = text + start;
                s->words[s->num_words++].size = i - start;
            }
            start = size + 1;
        }
        if (start > size && c != '_' && c != '\0' && !(c >= '0' && c <= '9')) {
            start = i;
        }
    }
}

static bool parse_append_word(struct swift *s, size_t word)
{
    if (word >= s->num_words) {
        s->has_failed = true;
        return false;
    }
    parse_append(s, s->words[word].text, s->words[word].size);
    return true;
}

/* Words by letters, of which the last is a capital, and text between them. */
static void parse_parts(struct swift *s, bool has_words)
{
    uint32_t size;
    char c;

    do {
        while (has_words && s->p < s->end && is_letter(*s->p)) {
            c = *s->p++;
            has_words = !is_upper(c);
            if (!parse_append_word(s, (size_t)(c - (has_words ? 'a' : 'A')))) {
                return;
            }
        }
        if (swift_skip(s, '0')) {
            return;
        }
        if (!swift_natural(s, &size) || size > (size_t)(s->end - s->p)) {
            s->has_failed = true;
            return;
        }
        parse_append(s, s->p, size);
        parse_words(s, s->p, size);
        s->p += size;
    } while (has_words && !s->has_failed);
}

static swift_ref parse_identifier(struct swift *s)
{
    size_t from = s->text_size;
    bool has_words = false;
    swift_ref ref;

    if (s->p == s->end || *s->p < '0' || *s->p > '9') {
        return swift_fail(s);
    }
    if (swift_skip(s, '0')) {
        if (swift_skip(s, '0')) {
            return swift_fail(s); /* Punycode */
        }
        has_words = true;
    }
    parse_parts(s, has_words);
    ref = s->text_size > from ? swift_make(s, SWIFT_IDENTIFIER, 0) : 0;
    s->nodes[ref].text = s->text + from;
    s->nodes[ref].size = (uint16_t)(s->text_size - from);
    return swift_share(s, ref);
}

/* what was read before ----------------------------------------------------- */

static swift_ref parse_shared_at(struct swift *s, size_t index)
{
    return index < s->num_shared ? s->shared[index] : swift_fail(s);
}

void swift_push_repeated(struct swift *s, swift_ref ref, uint32_t count)
{
    if (count > 64) {
        s->has_failed = true;
        return;
    }
    for (; count > 1; count--) {
        swift_push(s, ref);
    }
}

/* A: letters, the last of which is a capital; a number repeats. */
static swift_ref parse_shared(struct swift *s)
{
    uint32_t count = 0;
    swift_ref ref;
    char c;

    while (!s->has_failed) {
        c = swift_next(s);
        if (is_letter(c)) {
            ref = parse_shared_at(s, (size_t)(c - (is_upper(c) ? 'A' : 'a')));
            swift_push_repeated(s, ref, count);
            if (is_upper(c)) {
                return ref;
            }
            swift_push(s, ref);
            count = 0;
        } else if (c == '_') {
            return parse_shared_at(s, 26);
        } else if (c >= '0' && c <= '9') {
            s->p--;
            swift_natural(s, &count);
            if (swift_skip(s, '_')) {
                return parse_shared_at(s, (size_t)count + 27);
            }
        } else {
            return swift_fail(s);
        }
    }
    return 0;
}

/* operators ---------------------------------------------------------------- */

static swift_ref parse_prefixed(struct swift *s, const char *text)
{
    return swift_type(s, swift_make_text(s, SWIFT_AROUND, text,
                                         swift_pop_type(s)));
}

static swift_ref parse_metatype(struct swift *s)
{
    swift_ref of = swift_pop_type(s);
    swift_ref ref = swift_make_text(s, SWIFT_AROUND, "", of);

    s->nodes[ref].behind =
        swift_at(s, swift_kid(s, of, 0))->kind == SWIFT_PROTOCOLS
            ? ".Protocol"
            : ".Type";
    return swift_type(s, ref);
}

static swift_ref parse_generic_type(struct swift *s)
{
    swift_ref signature = swift_pop_kind(s, SWIFT_SIGNATURE);
    swift_ref type = swift_pop_type(s);

    return signature != 0
               ? swift_type(s, swift_make(s, SWIFT_GENERIC, 2, signature, type))
               : swift_fail(s);
}

static swift_ref parse_static_entity(struct swift *s)
{
    swift_ref ref = swift_pop(s);

    return swift_is_entity(s, ref) ? swift_make(s, SWIFT_STATIC, 1, ref)
                                   : swift_fail(s);
}

static swift_ref parse_type(struct swift *s, char c)
{
    switch (c) {
    case 'A':
        return parse_shared(s);
    case 'B': return swift_builtin(s);
    case 'G':
        return swift_type_bound(s);
    case 'I':
        return swift_lowered_type(s);
    case 'Q':
        return swift_generic_associated(s);
    case 'R':
        return swift_generic_requirement(s);
    case 'S':
        return swift_standard_type(s);
    case 'X':
        return swift_type_special(s);
    case 'Y':
        return swift_type_annotation(s);
    case 'c': return swift_function_type(s, "");
    case 'h':
        return parse_prefixed(s, "__shared ");
    case 'l':
        return swift_generic_signature(s, false);
    case 'm':
        return parse_metatype(s);
    case 'n':
        return parse_prefixed(s, "__owned ");
    case 'p': return swift_protocols(s);
    case 'q':
        return swift_generic_parameter(s);
    case 'r':
        return swift_generic_signature(s, true);
    case 't':
        return swift_type_tuple(s);
    case 'u':
        return parse_generic_type(s);
    case 'x': return swift_type(s, swift_make(s, SWIFT_PARAMETER, 0));
    case 'z':
        return parse_prefixed(s, "inout ");
    default:
        s->p--;
        return parse_identifier(s);
    }
}

static swift_ref parse_operator(struct swift *s, char c)
{
    switch (c) {
    case 'C':
    case 'O':
    case 'P':
    case 'V':
    case 'a':
        return swift_entity_nominal(s, c);
    case 'D': return swift_pop_type(s);
    case 'E':
        return swift_entity_extension(s);
    case 'F':
        return swift_entity_function(s);
    case 'H':
        return swift_conformance_reference(s);
    case 'K': return swift_make(s, SWIFT_THROWS, 0);
    case 'L':
        return swift_entity_local(s);
    case 'M': return swift_metadata(s);
    case 'N':
        return swift_make_text(s, SWIFT_FOR, "type metadata for ",
                               swift_pop_type(s));
    case 'T': return swift_thunk(s);
    case 'W': return swift_witness(s);
    case 'Z':
        return parse_static_entity(s);
    case 'd': return swift_make(s, SWIFT_VARIADIC, 0);
    case 'f':
        return swift_entity_member(s);
    case 'g':
        return swift_retroactive(s);
    case 'i':
        return swift_entity_subscript(s);
    case 'o':
        return swift_entity_operator(s);
    case 's': return swift_make_text(s, SWIFT_MODULE, "Swift", 0);
    case 'v':
        return swift_entity_variable(s);
    case 'w': return swift_value_witness(s);
    case 'y': return swift_make(s, SWIFT_EMPTY_LIST, 0);
    case '_': return swift_make(s, SWIFT_FIRST, 0);
    default:
        return parse_type(s, c);
    }
}

bool swift_parse(struct swift *s)
{
    while (s->p < s->end && *s->p != '.' && !s->has_failed) {
        swift_push(s, parse_operator(s, swift_next(s)));
    }
    return !s->has_failed && s->depth > 0;
}
