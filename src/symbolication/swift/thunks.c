/*
 * Copyright (C) the ngx_symcache authors
 */
#include <string.h>

#include "node.h"

static swift_ref thunk_conformance(struct swift *s)
{
    swift_ref signature = swift_pop_kind(s, SWIFT_SIGNATURE);
    swift_ref module = swift_pop_module(s), protocol = swift_pop_protocol(s);
    swift_ref type = swift_pop_type(s);

    return swift_make(s, SWIFT_CONFORMANCE, 4, signature, type, protocol,
                      module);
}

static swift_ref thunk_of_entity(struct swift *s, const char *text)
{
    swift_ref ref = swift_pop(s);

    return swift_is_entity(s, ref) ? swift_make_text(s, SWIFT_FOR, text, ref)
                                   : swift_fail(s);
}

static swift_ref thunk_attribute(struct swift *s, const char *text)
{
    return swift_make_text(s, SWIFT_ATTRIBUTE, text, 0);
}

static swift_ref thunk_resume(struct swift *s, const char *text)
{
    uint32_t number = swift_index(s);
    swift_ref ref = thunk_attribute(s, text);

    swift_at(s, ref)->number = number + 1;
    return ref;
}

/* Flags, and the number of the pass that has made it. */
static void thunk_read_pass(struct swift *s)
{
    char c;

    swift_skip(s, 'm');
    swift_skip(s, 'q');
    swift_skip(s, 'a');
    c = swift_next(s);
    if (c < '0' || c > '9') {
        s->has_failed = true;
    }
}

static swift_ref thunk_specialization(struct swift *s, const char *text)
{
    swift_ref types[SWIFT_STACK], ref;
    bool is_first;
    size_t n = 0;

    thunk_read_pass(s);
    is_first = swift_pop_kind(s, SWIFT_EMPTY_LIST) != 0;
    while (!is_first && !s->has_failed && n < SWIFT_STACK) {
        is_first = swift_pop_kind(s, SWIFT_FIRST) != 0;
        types[n++] = swift_pop_type(s);
    }
    ref = swift_make_list(s, SWIFT_ATTRIBUTE, types, n);
    swift_at(s, ref)->text = text;
    swift_at(s, ref)->size = (uint16_t)strlen(text);
    return ref;
}

/* Its only argument is the type that the function has then. */
static swift_ref thunk_partial_specialization(struct swift *s, const char *text)
{
    thunk_read_pass(s);
    return swift_make_text(s, SWIFT_ATTRIBUTE, text, swift_pop_type(s));
}

/* The specialization of one parameter, or of the result. */
static void thunk_read_specialized(struct swift *s)
{
    char c = swift_next(s);

    switch (c) {
    case 'n':
        return;
    case 'c':
        while (swift_pop_kind(s, SWIFT_TYPE) != 0) {
        }
        break;
    case 'p':
        c = swift_next(s);
        if (c == 's') {
            swift_next(s);
        } else if (c == 'k') {
            while (swift_pop_kind(s, SWIFT_TYPE) != 0) {
            }
        } else if (c != 'f' && c != 'g' && c != 'i' && c != 'd') {
            s->has_failed = true;
        }
        break;
    case 'd':
    case 'e':
    case 'g':
    case 'o':
        while (swift_skip(s, 'D') || swift_skip(s, 'G') ||
               swift_skip(s, 'O') || swift_skip(s, 'X')) {
        }
        return;
    case 'i':
    case 'r':
    case 's':
    case 'x':
        return;
    default:
        s->has_failed = true;
        return;
    }
    if (swift_pop_kind(s, SWIFT_IDENTIFIER) == 0) {
        s->has_failed = true;
    }
}

static swift_ref thunk_signature_specialization(struct swift *s)
{
    thunk_read_pass(s);
    while (!s->has_failed && !swift_skip(s, '_')) {
        thunk_read_specialized(s);
    }
    thunk_read_specialized(s);
    return thunk_attribute(s, "function signature specialization of ");
}

static swift_ref thunk_protocol_witness(struct swift *s)
{
    swift_ref entity = swift_pop(s);

    return swift_is_entity(s, entity)
               ? swift_make(s, SWIFT_WITNESS, 2, entity, thunk_conformance(s))
               : swift_fail(s);
}

/* Two parts of which the second was read first. */
static swift_ref thunk_of_two(struct swift *s, const char *text, swift_ref of,
                              const char *between, swift_ref other)
{
    swift_ref ref = swift_make(s, SWIFT_FOR, 2, of, other);

    swift_at(s, ref)->text = text;
    swift_at(s, ref)->size = (uint16_t)strlen(text);
    swift_at(s, ref)->behind = between;
    return ref;
}

/* What a subclass overrides with another type. */
static swift_ref thunk_vtable(struct swift *s)
{
    swift_ref base = swift_pop(s), derived = swift_pop(s);

    return swift_is_entity(s, base) && swift_is_entity(s, derived)
               ? thunk_of_two(s, "vtable thunk for ", base, " dispatching to ",
                              derived)
               : swift_fail(s);
}

/* The block that an asynchronous call gives to a method of Objective-C; the
 * number says how the block is told of an error. */
static swift_ref thunk_completion_handler(struct swift *s, const char *text)
{
    static const char *const errors[] = {NULL, " nonzero on error",
                                         " zero on error"};
    uint32_t number = swift_index(s);
    swift_ref signature = swift_pop_kind(s, SWIFT_SIGNATURE), result, type;

    if (number >= sizeof(errors) / sizeof(errors[0])) {
        return swift_fail(s);
    }
    result = swift_around(s, "", errors[number]);
    type = swift_pop_type(s);
    if (signature != 0) {
        type = swift_make(s, SWIFT_GENERIC, 2, signature, type);
    }
    return thunk_of_two(s, text, type, " with result type ", result);
}

/* From one lowered type to another one. */
static swift_ref thunk_reabstraction(struct swift *s, const char *text)
{
    swift_ref signature = swift_pop_kind(s, SWIFT_SIGNATURE), to, from, ref;

    to = swift_pop_type(s);
    from = swift_pop_type(s);
    ref = swift_make(s, SWIFT_THUNK, 3, signature, from, to);
    swift_at(s, ref)->text = text;
    return ref;
}

/* The accessor of a key path: of an entity, with types. */
static swift_ref thunk_key_path(struct swift *s, const char *text)
{
    swift_ref types[8], ref;
    bool is_serialized = swift_skip(s, 'q');
    size_t n = 0;

    swift_pop_kind(s, SWIFT_SIGNATURE);
    while (n < 7 && (ref = swift_pop_kind(s, SWIFT_TYPE)) != 0) {
        types[n++] = ref;
    }
    types[n++] = swift_pop(s);
    if (!swift_is_entity(s, types[n - 1])) {
        return swift_fail(s);
    }
    ref = swift_make_list(s, SWIFT_KEY_PATH, types, n);
    swift_at(s, ref)->text = text;
    swift_at(s, ref)->flags = is_serialized;
    return ref;
}

/* The letters of a method that is bridged to Objective-C, for an attribute. */
static swift_ref thunk_bridged(struct swift *s)
{
    const char *from = s->p;
    swift_ref ref;
    char c;

    do {
        c = swift_next(s);
    } while (c == 'a' || c == 'b' || c == 'g' || c == 'm' || c == 'n' ||
             c == 'o' || c == 'p');
    if (c != '_') {
        return swift_fail(s);
    }
    ref = thunk_attribute(s, "outlined bridged method (");
    swift_at(s, ref)->behind = from;
    swift_at(s, ref)->size = (uint16_t)(s->p - 1 - from);
    return ref;
}

static swift_ref thunk_back_deployment(struct swift *s)
{
    switch (swift_next(s)) {
    case 'b':
        return thunk_attribute(s, "back deployment thunk for ");
    case 'B':
        return thunk_attribute(s, "back deployment fallback for ");
    case 'S':
        return thunk_attribute(s, "#_hasSymbol query for ");
    default:
        return swift_fail(s);
    }
}

static swift_ref thunk_specialized(struct swift *s, char c)
{
    uint32_t number;

    while (c == 't') { /* the number of an argument that is left out */
        swift_natural(s, &number);
        c = swift_next(s);
    }
    switch (c) {
    case 'B':
    case 'g':
        return thunk_specialization(s, "generic specialization");
    case 'G':
        return thunk_specialization(
            s, "generic not re-abstracted specialization");
    case 'P':
        return thunk_partial_specialization(
            s, "generic not-reabstracted partial specialization");
    case 'p':
        return thunk_partial_specialization(
            s, "generic partial specialization");
    case 'f':
        return thunk_signature_specialization(s);
    case 's':
        return thunk_specialization(s, "generic pre-specialization");
    case 'i':
        return thunk_specialization(s, "inlined generic function");
    default:
        return swift_fail(s);
    }
}

swift_ref swift_thunk(struct swift *s)
{
    char c = swift_next(s);

    switch (c) {
    case 'R':
        return thunk_reabstraction(s, "reabstraction thunk helper ");
    case 'r':
        return thunk_reabstraction(s, "reabstraction thunk ");
    case 'K':
        return thunk_key_path(s, "key path getter for ");
    case 'k':
        return thunk_key_path(s, "key path setter for ");
    case 'e':
        return thunk_bridged(s);
    case 'w':
        return thunk_back_deployment(s);
    case 'A':
        return thunk_attribute(s, "partial apply forwarder for ");
    case 'a':
        return thunk_attribute(s, "partial apply ObjC forwarder for ");
    case 'c':
        return thunk_of_entity(s, "curry thunk of ");
    case 'D':
        return thunk_attribute(s, "dynamic ");
    case 'E':
        return thunk_attribute(s, "distributed thunk ");
    case 'j':
        return thunk_of_entity(s, "dispatch thunk of ");
    case 'm':
        return thunk_attribute(s, "merged ");
    case 'O':
        return thunk_attribute(s, "@nonobjc ");
    case 'o':
        return thunk_attribute(s, "@objc ");
    case 'Q':
        return thunk_resume(s, "await resume partial function for ");
    case 'q':
        return thunk_of_entity(s, "method descriptor for ");
    case 'u':
        return thunk_attribute(s, "async function pointer to ");
    case 'V':
        return thunk_vtable(s);
    case 'W':
        return thunk_protocol_witness(s);
    case 'Y':
        return thunk_resume(s, "suspend resume partial function for ");
    case 'Z':
        return thunk_completion_handler(
            s, "checked @objc completion handler block implementation for ");
    case 'z':
        return thunk_completion_handler(
            s, "@objc completion handler block implementation for ");
    default:
        return thunk_specialized(s, c);
    }
}

static swift_ref thunk_of_type(struct swift *s, const char *text)
{
    swift_pop_kind(s, SWIFT_SIGNATURE);
    return swift_make_text(s, SWIFT_FOR, text, swift_pop_type(s));
}

/* A capital: the same without a table of values' functions. */
static swift_ref thunk_outlined(struct swift *s)
{
    static const struct {
        char letters[3];
        const char *text;
    } names[] = {{"y", "outlined copy of "},
                 {"e", "outlined consume of "},
                 {"r", "outlined retain of "},
                 {"s", "outlined release of "},
                 {"bB", "outlined init with take of "},
                 {"cC", "outlined init with copy of "},
                 {"dD", "outlined assign with take of "},
                 {"fF", "outlined assign with copy of "},
                 {"hH", "outlined destroy of "},
                 {"g", "outlined enum get tag of "},
                 {"i", "outlined enum tag store of "},
                 {"j", "outlined enum project data for load of "}};
    char c = swift_next(s);
    size_t i;

    if (c == 'i' || c == 'j') {
        swift_index(s);
    }
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (c != '\0' && strchr(names[i].letters, c) != NULL) {
            return thunk_of_type(s, names[i].text);
        }
    }
    return swift_fail(s);
}

static swift_ref thunk_of_conformance(struct swift *s, const char *text)
{
    return swift_make_text(s, SWIFT_FOR, text, thunk_conformance(s));
}

/* A type's table for a protocol that is made when it is needed. */
static swift_ref thunk_lazy_table(struct swift *s, const char *text)
{
    swift_ref protocol = thunk_conformance(s), type = swift_pop_type(s);

    return thunk_of_two(s, text, type, " and conformance ", protocol);
}

static swift_ref thunk_base_table(struct swift *s)
{
    swift_ref protocol = swift_pop_type(s), of = thunk_conformance(s);

    return thunk_of_two(s, "base witness table accessor for ", protocol,
                        " in ", of);
}

/* The variables that are initialized together, each with "_"; their context is
 * not written. */
static swift_ref thunk_once(struct swift *s, const char *text)
{
    swift_ref names[16], ref;
    size_t n = 0;

    while (n < 16 && swift_pop_kind(s, SWIFT_FIRST) != 0) {
        names[n++] = swift_pop_name(s);
    }
    swift_pop_context(s);
    ref = n == 1 ? names[0] : swift_make_list(s, SWIFT_TUPLE, names, n);
    return swift_make_text(s, SWIFT_FOR, text, ref);
}

swift_ref swift_witness(struct swift *s)
{
    switch (swift_next(s)) {
    case 'O':
        return thunk_outlined(s);
    case 'P':
        return thunk_of_conformance(s, "protocol witness table for ");
    case 'V':
        return thunk_of_type(s, "value witness table for ");
    case 'a':
        return thunk_of_conformance(s, "protocol witness table accessor for ");
    case 'I':
        return thunk_of_conformance(
            s, "instantiation function for generic protocol "
               "witness table for ");
    case 'L':
        return thunk_lazy_table(
            s, "lazy protocol witness table cache variable for "
               "type ");
    case 'l':
        return thunk_lazy_table(
            s, "lazy protocol witness table accessor for type ");
    case 'b':
        return thunk_base_table(s);
    case 'Z':
        return thunk_once(s, "one-time initialization function for ");
    case 'z':
        return thunk_once(s, "one-time initialization token for ");
    default:
        return swift_fail(s);
    }
}

swift_ref swift_metadata(struct swift *s)
{
    switch (swift_next(s)) {
    case 'a':
        return thunk_of_type(s, "type metadata accessor for ");
    case 'c':
        return thunk_of_conformance(s, "protocol conformance descriptor for ");
    case 'i':
        return thunk_of_type(s, "type metadata instantiation function for ");
    case 'm':
        return thunk_of_type(s, "metaclass for ");
    case 'n':
        return thunk_of_type(s, "nominal type descriptor for ");
    case 'r':
        return thunk_of_type(s, "type metadata completion function for ");
    case 'p':
        return swift_make_text(s, SWIFT_FOR, "protocol descriptor for ",
                               swift_pop_protocol(s));
    default:
        return swift_fail(s);
    }
}

swift_ref swift_value_witness(struct swift *s)
{
    static const struct {
        char letters[3];
        const char *text;
    } names[] = {{"al", "allocateBuffer"},
                 {"ca", "assignWithCopy"},
                 {"ta", "assignWithTake"},
                 {"xx", "destroy"},
                 {"CP", "initializeBufferWithCopyOfBuffer"},
                 {"cp", "initializeWithCopy"},
                 {"tk", "initializeWithTake"},
                 {"ug", "getEnumTag"},
                 {"up", "destructiveProjectEnumData"},
                 {"ui", "destructiveInjectEnumTag"},
                 {"et", "getEnumTagSinglePayload"},
                 {"st", "storeEnumTagSinglePayload"}};
    char letters[2];
    swift_ref ref;
    size_t i;

    letters[0] = swift_next(s);
    letters[1] = swift_next(s);
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (memcmp(letters, names[i].letters, 2) == 0) {
            ref = thunk_of_type(s, names[i].text);
            swift_at(s, ref)->kind = SWIFT_VALUE_WITNESS;
            return ref;
        }
    }
    return swift_fail(s);
}
