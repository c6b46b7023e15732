/*
 * Copyright (C) the ngx_symcache authors
 *
 * How a type meets a protocol, as arguments of generic types name it; it is not
 * written, but takes what it needs from the stack.
 */
#include "node.h"

static swift_ref pop_conformance_proof(struct swift *s)
{
    swift_ref ref = swift_pop_kind(s, SWIFT_PROOF);

    return ref != 0 ? ref : swift_fail(s);
}

static swift_ref make_conformance_proof(struct swift *s)
{
    return swift_make(s, SWIFT_PROOF, 0);
}

/* Proofs of what the conformance asks for, the protocol, the type. */
static swift_ref concrete_conformance(struct swift *s)
{
    bool is_first = swift_pop_kind(s, SWIFT_EMPTY_LIST) != 0;

    while (!is_first && !s->has_failed) {
        is_first = swift_pop_kind(s, SWIFT_FIRST) != 0;
        pop_conformance_proof(s);
    }
    if (swift_pop_kind(s, SWIFT_PROTOCOL_REFERENCE) == 0) {
        swift_pop_module(s);
        swift_pop_protocol(s);
    }
    swift_pop_type(s);
    return make_conformance_proof(s);
}

swift_ref swift_conformance_reference(struct swift *s)
{
    switch (swift_next(s)) {
    case 'P':
    case 'p':
        return swift_make(s, SWIFT_PROTOCOL_REFERENCE, 1,
                          swift_pop_protocol(s));
    case 'C':
        return concrete_conformance(s);
    case 'D':
        swift_index(s);
        swift_pop_protocol(s);
        swift_pop_type(s);
        return make_conformance_proof(s);
    case 'I':
        swift_index(s);
        swift_pop_protocol(s);
        pop_conformance_proof(s);
        return make_conformance_proof(s);
    case 'A':
        swift_index(s);
        swift_pop_protocol(s);
        swift_pop_type(s);
        pop_conformance_proof(s);
        return make_conformance_proof(s);
    default:
        return swift_fail(s);
    }
}

/* g: the proof of a conformance that another module than those of the type and
 * the protocol has. */
swift_ref swift_retroactive(struct swift *s)
{
    swift_index(s);
    pop_conformance_proof(s);
    return swift_make(s, SWIFT_RETROACTIVE, 0);
}
