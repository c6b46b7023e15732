/*
 * Copyright (C) the ngx_symcache authors
 *
 * Generic parameters, types that belong to them, and what is required of both.
 */
#include <string.h>

#include "node.h"

static swift_ref generic_parameter(struct swift *s)
{
    swift_ref ref = swift_make(s, SWIFT_PARAMETER, 0);
    uint32_t depth = 0, index;

    if (swift_skip(s, 'z')) {
        return ref;
    }
    if (swift_skip(s, 's')) {
        return swift_make_text(s, SWIFT_BUILTIN, "Self", 0);
    }
    if (swift_skip(s, 'd')) {
        depth = swift_index(s) + 1;
        index = swift_index(s);
    } else {
        index = swift_index(s) + 1;
    }
    if (depth > 255 || index > 65535) {
        return swift_fail(s);
    }
    swift_at(s, ref)->number = depth << 16 | index;
    return ref;
}

swift_ref swift_generic_parameter(struct swift *s)
{
    return swift_type(s, generic_parameter(s));
}

/* A name, and a protocol that has it on top of it, perhaps. */
static swift_ref generic_associated(struct swift *s, swift_ref base)
{
    swift_ref protocol = swift_pop_kind(s, SWIFT_TYPE);
    swift_ref name = swift_pop_kind(s, SWIFT_IDENTIFIER);

    if (name == 0) {
        return swift_fail(s);
    }
    if (base == 0) {
        base = swift_pop_type(s);
    }
    return swift_type(s,
                      swift_make(s, SWIFT_ASSOCIATED, 3, base, name, protocol));
}

/* The same of several, the first of which ends with "_". */
static swift_ref generic_compound(struct swift *s, swift_ref base)
{
    swift_ref names[16], protocols[16];
    bool is_first = false;
    size_t n = 0;

    while (!is_first && !s->has_failed && n < 16) {
        is_first = swift_pop_kind(s, SWIFT_FIRST) != 0;
        protocols[n] = swift_pop_kind(s, SWIFT_TYPE);
        names[n] = swift_pop_kind(s, SWIFT_IDENTIFIER);
        if (names[n++] == 0) {
            return swift_fail(s);
        }
    }
    for (; n > 0; n--) {
        base = swift_type(s, swift_make(s, SWIFT_ASSOCIATED, 3, base,
                                        names[n - 1], protocols[n - 1]));
    }
    return is_first ? base : swift_fail(s);
}

/* The type that an entity returns without telling which. */
static swift_ref generic_opaque_return(struct swift *s)
{
    uint32_t number = swift_index(s);
    swift_ref result, ref;

    swift_pop_arguments(s);
    result = swift_pop_kind(s, SWIFT_OPAQUE_RESULT);
    if (result == 0) {
        return swift_fail(s);
    }
    ref = swift_make(s, SWIFT_OPAQUE, 1, result);
    swift_at(s, ref)->number = number;
    return swift_share(s, swift_type(s, ref));
}

swift_ref swift_generic_associated(struct swift *s)
{
    char c = swift_next(s);

    switch (c) {
    case 'x':
        return swift_share(s, generic_associated(s, 0));
    case 'y':
        return swift_share(s,
                           generic_associated(s, swift_generic_parameter(s)));
    case 'z':
        return swift_share(
            s, generic_associated(
                   s, swift_type(s, swift_make(s, SWIFT_PARAMETER, 0))));
    case 'Y':
        return swift_share(s, generic_compound(s, swift_generic_parameter(s)));
    case 'Z':
        return swift_share(
            s, generic_compound(
                   s, swift_type(s, swift_make(s, SWIFT_PARAMETER, 0))));
    case 'r':
        return swift_type(s, swift_make_text(s, SWIFT_BUILTIN, "some", 0));
    case 'O':
        return swift_make(s, SWIFT_OPAQUE_RESULT, 1, swift_pop_context(s));
    case 'o':
        return generic_opaque_return(s);
    case 'p': /* of a pack: its shape, and the type of each */
        swift_pop_type(s);
        return swift_around(s, "repeat ", NULL);
    default:
        return swift_fail(s);
    }
}

/* The type that something is required of, by the letter of the requirement. */
static swift_ref generic_required_type(struct swift *s, char c)
{
    switch (c) {
    case 'c':
    case 't':
    case 'p':
    case 'j':
        return swift_share(s,
                           generic_associated(s, swift_generic_parameter(s)));
    case 'C':
    case 'T':
    case 'P':
    case 'J':
        return swift_share(s, generic_compound(s, swift_generic_parameter(s)));
    case 'B':
    case 'S':
    case 'Q':
    case 'I':
        return swift_pop_type(s);
    default:
        return swift_generic_parameter(s);
    }
}

swift_ref swift_generic_requirement(struct swift *s)
{
    static const char kinds[] = "cCbBtTsSpPQ";
    static const char *const words[] = {": ", ": ", ": ", ": ", " == ", " == ",
                                        " == ", " == ", ": ", ": ", ": "};
    char c = swift_next(s);
    bool is_layout = c == 'l';
    bool is_inverse = c != '\0' && strchr("iIjJ", c) != NULL;
    uint32_t inverse = is_inverse ? swift_index(s) : 0;
    swift_ref subject, other, ref;
    size_t i;

    if (c == 'v') {
        return swift_make(s, SWIFT_PACK, 1, swift_generic_parameter(s));
    }
    for (i = 0; kinds[i] != '\0' && kinds[i] != c; i++) {
    }
    if (kinds[i] == '\0' && !is_layout && !is_inverse) {
        s->p--;
    }
    subject = generic_required_type(s, c);
    if (is_inverse) {
        other = swift_make_text(
            s, SWIFT_BUILTIN,
            inverse == 0 ? "~Swift.Copyable" : "~Swift.Escapable", 0);
    } else if (is_layout) {
        other = swift_skip(s, 'C') ? swift_make_text(s, SWIFT_BUILTIN,
                                                     "AnyObject", 0)
                                   : swift_fail(s);
    } else {
        other = kinds[i] == '\0' || i >= 8 ? swift_pop_protocol(s)
                                           : swift_pop_type(s);
    }
    ref = swift_make(s, SWIFT_REQUIREMENT, 2, subject, other);
    swift_at(s, ref)->behind = kinds[i] == '\0' ? ": " : words[i];
    return ref;
}

/* How many parameters there are at each depth, and what is required of them. */
swift_ref swift_generic_signature(struct swift *s, bool has_counts)
{
    swift_ref list[SWIFT_STACK], counts[16], ref;
    size_t n = 0, num_counts = 0;

    if (!has_counts) {
        counts[0] = swift_make(s, SWIFT_COUNT, 0);
        swift_at(s, counts[num_counts++])->number = 1;
    }
    /* none, if only what the context has is required of */
    while (has_counts && !s->has_failed && !swift_skip(s, 'l')) {
        if (num_counts == 16) {
            return swift_fail(s);
        }
        counts[num_counts] = swift_make(s, SWIFT_COUNT, 0);
        swift_at(s, counts[num_counts++])->number =
            swift_skip(s, 'z') ? 0 : swift_index(s) + 1;
    }
    while (n < SWIFT_STACK - 16 &&
           ((ref = swift_pop_kind(s, SWIFT_REQUIREMENT)) != 0 ||
            (ref = swift_pop_kind(s, SWIFT_PACK)) != 0)) {
        list[n++] = ref;
    }
    for (; num_counts > 0; num_counts--) {
        list[n++] = counts[num_counts - 1];
    }
    return swift_make_list(s, SWIFT_SIGNATURE, list, n);
}
