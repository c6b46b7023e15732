/*
 * Copyright (C) the ngx_symcache authors
 */
#include <string.h>

#include "node.h"

/* A function's type is what is after its annotations, which are on top. */
swift_ref swift_function_type(struct swift *s, const char *text)
{
    unsigned flags =
        swift_pop_kind(s, SWIFT_SENDING_RESULT) != 0 ? SWIFT_IS_SENDING : 0;
    swift_ref actor = swift_pop_kind(s, SWIFT_ACTOR), ref, params, result;
    swift_ref error;

    flags |=
        swift_pop_kind(s, SWIFT_ISOLATED_ANY) != 0 ? SWIFT_IS_ISOLATED_ANY : 0;
    error = swift_pop_kind(s, SWIFT_THROWS);
    flags |= error != 0 ? SWIFT_IS_THROWING : 0;
    flags |= swift_pop_kind(s, SWIFT_SENDABLE) != 0 ? SWIFT_IS_SENDABLE : 0;
    flags |= swift_pop_kind(s, SWIFT_ASYNC) != 0 ? SWIFT_IS_ASYNC : 0;
    params = swift_pop_kind(s, SWIFT_EMPTY_LIST) != 0
                 ? swift_type(s, swift_make(s, SWIFT_TUPLE, 0))
                 : swift_pop_type(s);
    result = swift_pop_kind(s, SWIFT_EMPTY_LIST) != 0
                 ? swift_type(s, swift_make(s, SWIFT_TUPLE, 0))
                 : swift_pop_type(s);
    ref = swift_make(s, SWIFT_FUNCTION_TYPE, 4, params, result, actor,
                     swift_kid(s, error, 0));
    swift_at(s, ref)->text = text;
    swift_at(s, ref)->flags = (uint8_t)flags;
    return swift_type(s, ref);
}

/* Type, name, and "d" if it is variadic; the first element ends with "_". */
swift_ref swift_tuple(struct swift *s)
{
    swift_ref elements[SWIFT_STACK], element, name;
    bool is_first = swift_pop_kind(s, SWIFT_EMPTY_LIST) != 0, is_variadic;
    size_t n = 0;

    while (!is_first && !s->has_failed && n < SWIFT_STACK) {
        is_first = swift_pop_kind(s, SWIFT_FIRST) != 0;
        is_variadic = swift_pop_kind(s, SWIFT_VARIADIC) != 0;
        name = swift_pop_kind(s, SWIFT_IDENTIFIER);
        element = swift_make(s, SWIFT_ELEMENT, 2, swift_pop_type(s), name);
        swift_at(s, element)->number = is_variadic;
        elements[n++] = element;
    }
    return swift_type(s, swift_make_list(s, SWIFT_TUPLE, elements, n));
}

/* The nominal type that a type is; or fails. */
static swift_ref pop_nominal(struct swift *s)
{
    swift_ref ref = swift_kid(s, swift_pop_type(s), 0);

    return swift_at(s, ref)->kind == SWIFT_NOMINAL ? ref : swift_fail(s);
}

/* How many contexts a type has that may have arguments, itself included. */
static size_t count_levels(struct swift *s, swift_ref ref)
{
    size_t n = 0;

    while (ref != 0 && swift_at(s, ref)->kind != SWIFT_MODULE &&
           n < SWIFT_DEPTH) {
        n += swift_at(s, ref)->kind != SWIFT_EXTENSION;
        ref = swift_kid(s, ref, swift_at(s, ref)->kind == SWIFT_EXTENSION);
    }
    return n;
}

/* Types for each level, the innermost first; the first level has an empty
 * list, the others "_".  Proofs of conformances are on top. */
static size_t pop_levels(struct swift *s, swift_ref *parts, size_t room)
{
    swift_ref types[SWIFT_STACK], type;
    bool is_last = false;
    size_t n, num_parts = 0;

    while (swift_pop_kind(s, SWIFT_RETROACTIVE) != 0) {
    }
    while (!is_last && !s->has_failed) {
        for (n = 0; n < SWIFT_STACK; n++) {
            type = swift_pop_kind(s, SWIFT_TYPE);
            if (type == 0) {
                break;
            }
            types[n] = type;
        }
        if (num_parts == room) {
            s->has_failed = true;
            break;
        }
        parts[num_parts++] = swift_make_list(s, SWIFT_LIST, types, n);
        is_last = swift_pop_kind(s, SWIFT_EMPTY_LIST) != 0;
        if (!is_last && swift_pop_kind(s, SWIFT_FIRST) == 0) {
            s->has_failed = true;
        }
    }
    return num_parts;
}

swift_ref swift_pop_arguments(struct swift *s)
{
    swift_ref parts[15];
    size_t n = pop_levels(s, parts, 15);

    return swift_make_list(s, SWIFT_LIST, parts, n);
}

/* Arguments of a type alias in a function, or in a protocol, are those of what
 * is around it, and are written elsewhere. */
static bool has_others_arguments(struct swift *s, swift_ref nominal)
{
    const struct swift_node *context = swift_at(s, swift_kid(s, nominal, 0));

    return swift_at(s, nominal)->number == 'a' &&
           context->kind != SWIFT_MODULE &&
           (context->kind != SWIFT_NOMINAL || context->number == 'P');
}

swift_ref swift_bound(struct swift *s)
{
    swift_ref parts[16];
    size_t num_parts = pop_levels(s, parts, 15);

    parts[num_parts] = pop_nominal(s);
    if (num_parts > count_levels(s, parts[num_parts]) ||
        has_others_arguments(s, parts[num_parts])) {
        return swift_fail(s);
    }
    num_parts++;
    return swift_share(s, swift_type(s, swift_make_list(s, SWIFT_BOUND, parts,
                                                        num_parts)));
}

swift_ref swift_builtin(struct swift *s)
{
    static const struct {
        char letter;
        const char *name;
    } names[] = {{'b', "Builtin.BridgeObject"},
                 {'B', "Builtin.UnsafeValueBuffer"},
                 {'O', "Builtin.UnknownObject"}, {'o', "Builtin.NativeObject"},
                 {'p', "Builtin.RawPointer"}, {'t', "Builtin.SILToken"},
                 {'w', "Builtin.Word"}, {'e', "Builtin.Executor"},
                 {'D', "Builtin.DefaultActorStorage"}, {'j', "Builtin.Job"},
                 {'c', "Builtin.RawUnsafeContinuation"},
                 {'I', "Builtin.IntLiteral"}};
    char c = swift_next(s);
    swift_ref ref;
    size_t i;

    if (c == 'i' || c == 'f') {
        ref = swift_make_text(s, SWIFT_BUILTIN,
                              c == 'i' ? "Builtin.Int" : "Builtin.FPIEEE", 0);
        swift_natural(s, &swift_at(s, ref)->number);
        return swift_skip(s, '_') ? swift_type(s, ref) : swift_fail(s);
    }
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].letter == c) {
            return swift_type(
                s, swift_make_text(s, SWIFT_BUILTIN, names[i].name, 0));
        }
    }
    return swift_fail(s);
}

/* protocols ---------------------------------------------------------------- */

swift_ref swift_pop_protocol(struct swift *s)
{
    swift_ref type = swift_pop_kind(s, SWIFT_TYPE), name, context, ref;

    if (type != 0) {
        return swift_at(s, swift_kid(s, type, 0))->number == 'P'
                   ? type
                   : swift_fail(s);
    }
    name = swift_pop_name(s);
    context = swift_pop_context(s);
    ref = swift_make(s, SWIFT_NOMINAL, 2, context, name);
    swift_at(s, ref)->number = 'P';
    return swift_type(s, ref);
}

/* Protocols, of which the first ends with "_", and what is in front of them. */
static swift_ref protocol_list(struct swift *s, swift_ref first)
{
    swift_ref list[64];
    bool is_first = swift_pop_kind(s, SWIFT_EMPTY_LIST) != 0;
    size_t n = 0;

    while (!is_first && !s->has_failed && n < 63) {
        is_first = swift_pop_kind(s, SWIFT_FIRST) != 0;
        list[n++] = swift_pop_protocol(s);
    }
    if (!is_first) {
        return swift_fail(s);
    }
    if (first != 0) {
        list[n++] = first;
    }
    return swift_type(s, swift_make_list(s, SWIFT_PROTOCOLS, list, n));
}

swift_ref swift_protocols(struct swift *s)
{
    return protocol_list(s, 0);
}

static swift_ref around(struct swift *s, const char *text, const char *behind)
{
    swift_ref ref = swift_make_text(s, SWIFT_AROUND, text, swift_pop_type(s));

    swift_at(s, ref)->behind = behind;
    return swift_type(s, ref);
}

/* A protocol with what is asked of its types, each but the first with "_"
 * behind it, in the order of the text. */
static swift_ref constrained(struct swift *s)
{
    swift_ref list[64], ref;
    bool is_first = false;
    size_t n = 0;

    while (!is_first && n < 63) {
        is_first = swift_pop_kind(s, SWIFT_FIRST) != 0;
        ref = swift_pop_kind(s, SWIFT_REQUIREMENT);
        if (ref == 0) {
            return swift_fail(s);
        }
        list[n++] = ref;
    }
    list[n++] = swift_pop_type(s);
    return is_first
               ? swift_type(s, swift_make_list(s, SWIFT_CONSTRAINED, list, n))
               : swift_fail(s);
}

static void pop_type_list(struct swift *s)
{
    bool is_first = swift_pop_kind(s, SWIFT_EMPTY_LIST) != 0;

    while (!is_first && !s->has_failed) {
        is_first = swift_pop_kind(s, SWIFT_FIRST) != 0;
        swift_pop_type(s);
    }
}

/* What a closure captured, of which nothing is written. */
static swift_ref box(struct swift *s)
{
    swift_pop_kind(s, SWIFT_SIGNATURE);
    pop_type_list(s);
    pop_type_list(s);
    return swift_type(s, swift_make_text(s, SWIFT_BUILTIN, "{ ... }", 0));
}

swift_ref swift_special(struct swift *s)
{
    switch (swift_next(s)) {
    case 'A':
    case 'K': return swift_function_type(s, "@autoclosure ");
    case 'B': return swift_function_type(s, "@convention(block) ");
    case 'C': return swift_function_type(s, "@convention(c) ");
    case 'E':
    case 'U': return swift_function_type(s, "");
    case 'f': return swift_function_type(s, "@convention(thin) ");
    case 'D':
        swift_pop_type(s);
        return swift_type(s, swift_make_text(s, SWIFT_BUILTIN, "Self", 0));
    case 'o': return around(s, "unowned ", NULL);
    case 'u': return around(s, "unowned(unsafe) ", NULL);
    case 'w': return around(s, "weak ", NULL);
    case 'P':
        return constrained(s);
    case 'X':
        return box(s);
    case 'p': return around(s, "", ".Type");
    case 'c': {
        swift_ref superclass = swift_pop_type(s);

        return protocol_list(s, superclass);
    }
    case 'l':
        return protocol_list(
            s, swift_type(s, swift_make_text(s, SWIFT_BUILTIN,
                                             "Swift.AnyObject", 0)));
    default: return swift_fail(s);
    }
}

swift_ref swift_annotation(struct swift *s)
{
    switch (swift_next(s)) {
    case 'a': return swift_make(s, SWIFT_ASYNC, 0);
    case 'b': return swift_make(s, SWIFT_SENDABLE, 0);
    case 'c': return swift_make(s, SWIFT_ACTOR, 1, swift_pop_type(s));
    case 'K': return swift_make(s, SWIFT_THROWS, 1, swift_pop_type(s));
    case 'A':
        return swift_make(s, SWIFT_ISOLATED_ANY, 0);
    case 'T':
        return swift_make(s, SWIFT_SENDING_RESULT, 0);
    case 'i': return around(s, "isolated ", NULL);
    case 't':
        return around(s, "_const ", NULL);
    case 'u': return around(s, "sending ", NULL);
    default: return swift_fail(s);
    }
}

/* generics ----------------------------------------------------------------- */

static swift_ref parameter(struct swift *s)
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

swift_ref swift_parameter(struct swift *s)
{
    return swift_type(s, parameter(s));
}

/* A name, and a protocol that has it on top of it, perhaps. */
static swift_ref associated(struct swift *s, swift_ref base)
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
static swift_ref compound(struct swift *s, swift_ref base)
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
static swift_ref opaque_return_type(struct swift *s)
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

swift_ref swift_associated(struct swift *s)
{
    char c = swift_next(s);

    switch (c) {
    case 'x':
        return swift_share(s, associated(s, 0));
    case 'y':
        return swift_share(s, associated(s, swift_parameter(s)));
    case 'z':
        return swift_share(
            s, associated(s, swift_type(s, swift_make(s, SWIFT_PARAMETER, 0))));
    case 'Y':
        return swift_share(s, compound(s, swift_parameter(s)));
    case 'Z':
        return swift_share(
            s, compound(s, swift_type(s, swift_make(s, SWIFT_PARAMETER, 0))));
    case 'r':
        return swift_type(s, swift_make_text(s, SWIFT_BUILTIN, "some", 0));
    case 'O':
        return swift_make(s, SWIFT_OPAQUE_RESULT, 1, swift_pop_context(s));
    case 'o':
        return opaque_return_type(s);
    case 'p': /* of a pack: its shape, and the type of each */
        swift_pop_type(s);
        return around(s, "repeat ", NULL);
    default:
        return swift_fail(s);
    }
}

/* The type that something is required of, by the letter of the requirement. */
static swift_ref required_type(struct swift *s, char c)
{
    switch (c) {
    case 'c':
    case 't':
    case 'p':
    case 'j':
        return swift_share(s, associated(s, swift_parameter(s)));
    case 'C':
    case 'T':
    case 'P':
    case 'J':
        return swift_share(s, compound(s, swift_parameter(s)));
    case 'B':
    case 'S':
    case 'Q':
    case 'I':
        return swift_pop_type(s);
    default:
        return swift_parameter(s);
    }
}

swift_ref swift_requirement(struct swift *s)
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
        return swift_make(s, SWIFT_PACK, 1, swift_parameter(s));
    }
    for (i = 0; kinds[i] != '\0' && kinds[i] != c; i++) {
    }
    if (kinds[i] == '\0' && !is_layout && !is_inverse) {
        s->p--;
    }
    subject = required_type(s, c);
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
swift_ref swift_signature(struct swift *s, bool has_counts)
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
