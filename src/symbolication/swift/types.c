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
swift_ref swift_type_tuple(struct swift *s)
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
static swift_ref pop_nominal_type(struct swift *s)
{
    swift_ref ref = swift_kid(s, swift_pop_type(s), 0);

    return swift_at(s, ref)->kind == SWIFT_NOMINAL ? ref : swift_fail(s);
}

/* How many contexts a type has that may have arguments, itself included. */
static size_t count_type_levels(struct swift *s, swift_ref ref)
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
static size_t pop_type_levels(struct swift *s, swift_ref *parts, size_t room)
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
    size_t n = pop_type_levels(s, parts, 15);

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

swift_ref swift_type_bound(struct swift *s)
{
    swift_ref parts[16];
    size_t num_parts = pop_type_levels(s, parts, 15);

    parts[num_parts] = pop_nominal_type(s);
    if (num_parts > count_type_levels(s, parts[num_parts]) ||
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

swift_ref swift_around(struct swift *s, const char *text, const char *behind)
{
    swift_ref ref = swift_make_text(s, SWIFT_AROUND, text, swift_pop_type(s));

    swift_at(s, ref)->behind = behind;
    return swift_type(s, ref);
}

/* A protocol with what is asked of its types, each but the first with "_"
 * behind it, in the order of the text. */
static swift_ref constrained_type(struct swift *s)
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
static swift_ref box_type(struct swift *s)
{
    swift_pop_kind(s, SWIFT_SIGNATURE);
    pop_type_list(s);
    pop_type_list(s);
    return swift_type(s, swift_make_text(s, SWIFT_BUILTIN, "{ ... }", 0));
}

/* A metatype that says what it is made of. */
static swift_ref metatype(struct swift *s)
{
    switch (swift_next(s)) {
    case 't': return swift_around(s, "@thin ", ".Type");
    case 'T': return swift_around(s, "@thick ", ".Type");
    case 'o': return swift_around(s, "@objc_metatype ", ".Type");
    default: return swift_fail(s);
    }
}

swift_ref swift_type_special(struct swift *s)
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
    case 'o': return swift_around(s, "unowned ", NULL);
    case 'u': return swift_around(s, "unowned(unsafe) ", NULL);
    case 'w': return swift_around(s, "weak ", NULL);
    case 'P':
        return constrained_type(s);
    case 'X':
        return box_type(s);
    case 'M':
    case 'm': return metatype(s);
    case 'p': return swift_around(s, "", ".Type");
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

swift_ref swift_type_annotation(struct swift *s)
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
    case 'i': return swift_around(s, "isolated ", NULL);
    case 't':
        return swift_around(s, "_const ", NULL);
    case 'u': return swift_around(s, "sending ", NULL);
    default: return swift_fail(s);
    }
}
