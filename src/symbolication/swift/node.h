/*
 * Copyright (C) the ngx_symcache authors
 *
 * A name of Swift as a tree.  Its notation is postfix: what was read is on a
 * stack, and an operator takes what it needs from there.  Subtrees are shared.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SWIFT_NODES 4096
#define SWIFT_KIDS 8192
#define SWIFT_STACK 512
#define SWIFT_TEXT 16384
#define SWIFT_WORDS 26
#define SWIFT_DEPTH 128

enum swift_kind {
    SWIFT_NONE,
    SWIFT_IDENTIFIER,
    SWIFT_MODULE,
    SWIFT_OPERATOR,  /* text and number: 'i', 'p' or 'P' */
    SWIFT_PRIVATE,   /* discriminator, name or NONE */
    SWIFT_LOCAL,     /* name; number */
    SWIFT_NOMINAL,   /* context, name; number: the letter of its kind */
    SWIFT_EXTENSION, /* module, type, signature or NONE */
    SWIFT_FUNCTION,  /* context, name, labels, type */
    SWIFT_VARIABLE,  /* the same */
    SWIFT_SUBSCRIPT, /* context, NONE, labels, type */
    SWIFT_INIT,      /* context, private name or NONE, labels, type; text */
    SWIFT_MEMBER,    /* context; text, such as "deinit" */
    SWIFT_ACCESSOR,  /* of what it is; text */
    SWIFT_CLOSURE,   /* context, type; number, text */
    SWIFT_DEFAULT_ARGUMENT, /* context; number */
    SWIFT_INITIAL,          /* of a variable; text in front */
    SWIFT_STATIC,           /* what is static */
    SWIFT_TYPE,             /* the type itself */
    SWIFT_FUNCTION_TYPE, /* parameters, result, actor or NONE; text, flags */
    SWIFT_TUPLE,         /* elements */
    SWIFT_ELEMENT,       /* type, name or NONE; number: it is variadic */
    SWIFT_BOUND, /* nominal type, a list for each level, outermost first */
    SWIFT_LIST,
    SWIFT_AROUND,      /* type; text and text after it, such as ".Type" */
    SWIFT_PROTOCOLS,   /* protocols */
    SWIFT_CONSTRAINED, /* protocols, requirements */
    SWIFT_PARAMETER,   /* number: depth << 16 | index */
    SWIFT_ASSOCIATED,  /* type, name, protocol or NONE */
    SWIFT_BUILTIN,     /* text */
    SWIFT_SIGNATURE,   /* requirements and packs; counts are in SWIFT_COUNT */
    SWIFT_COUNT,       /* number */
    SWIFT_REQUIREMENT, /* type, other type; text between them */
    SWIFT_PACK,        /* type of a parameter that stands for several */
    SWIFT_GENERIC,     /* signature, type */
    SWIFT_CONFORMANCE, /* signature or NONE, type, protocol, module */
    SWIFT_WITNESS,     /* entity, conformance */
    SWIFT_FOR,         /* of what it is; text in front */
    SWIFT_VALUE_WITNESS, /* type; text: what is done to its values */
    SWIFT_ATTRIBUTE,   /* text in front of the name; children are in <> */
    SWIFT_EMPTY_LIST,
    SWIFT_FIRST,
    SWIFT_VARIADIC,
    SWIFT_THROWS, /* type or NONE */
    SWIFT_ASYNC,
    SWIFT_SENDABLE,
    SWIFT_ACTOR,        /* type */
    SWIFT_LOWERED,      /* ATTRIBUTES, signature, substituted signature and its
                         * arguments, each or NONE, and parts in their order */
    SWIFT_ATTRIBUTES,   /* text: letters of the name */
    SWIFT_LOWERED_PART, /* type; text, text in front of it, flags */
    SWIFT_THUNK,  /* signature or NONE, type, type that is asked for; text */
    SWIFT_OPAQUE, /* entity or OPAQUE_RESULT; number */
    SWIFT_OPAQUE_RESULT,      /* entity */
    SWIFT_RELATED,            /* name; number: a letter */
    SWIFT_KEY_PATH,           /* entity, types; text */
    SWIFT_PROOF,              /* of a conformance */
    SWIFT_PROTOCOL_REFERENCE, /* protocol */
    SWIFT_RETROACTIVE,
    SWIFT_ISOLATED_ANY,
    SWIFT_SENDING_RESULT
};

#define SWIFT_IS_ASYNC 1u
#define SWIFT_IS_THROWING 2u
#define SWIFT_IS_SENDABLE 4u
#define SWIFT_IS_SENDING 8u
#define SWIFT_IS_ISOLATED_ANY 16u
#define SWIFT_IS_RESULT 32u
#define SWIFT_IS_NO_DERIVATIVE 64u

struct swift_node {
    uint8_t kind;
    uint8_t flags;
    uint16_t num_kids;
    uint16_t kids; /* index of the first */
    uint32_t number;
    const char *text;
    const char *behind;
    uint16_t size; /* of text */
};

typedef uint16_t swift_ref; /* of a node; 0 is SWIFT_NONE */

struct swift {
    const char *p;
    const char *end;
    bool has_failed;
    struct swift_node nodes[SWIFT_NODES];
    swift_ref kids[SWIFT_KIDS];
    swift_ref stack[SWIFT_STACK];
    swift_ref shared[SWIFT_STACK]; /* what letters and "A" stand for */
    struct {
        const char *text;
        size_t size;
    } words[SWIFT_WORDS];
    size_t num_nodes, num_kids, depth, num_shared, num_words, text_size;
    char text[SWIFT_TEXT];
};

/* The tree (node.c) -------------------------------------------------------- */

/* Returns 0 after noting that the name cannot be read. */
swift_ref swift_fail(struct swift *s);

/* A node with n children, which are after it. */
swift_ref swift_make(struct swift *s, enum swift_kind kind, size_t n, ...);
swift_ref swift_make_text(struct swift *s, enum swift_kind kind,
                          const char *text, swift_ref kid);
swift_ref swift_make_list(struct swift *s, enum swift_kind kind,
                          const swift_ref *reversed, size_t n);
swift_ref swift_type(struct swift *s, swift_ref kid);

static inline struct swift_node *swift_at(struct swift *s, swift_ref ref)
{
    return &s->nodes[ref];
}

static inline swift_ref swift_kid(struct swift *s, swift_ref ref, size_t i)
{
    return i < s->nodes[ref].num_kids ? s->kids[s->nodes[ref].kids + i] : 0;
}

/* The stack. */
void swift_push(struct swift *s, swift_ref ref);
swift_ref swift_pop(struct swift *s); /* 0: it is empty */
swift_ref swift_pop_kind(struct swift *s, enum swift_kind kind); /* or 0 */
swift_ref swift_pop_name(struct swift *s);    /* or fails */
swift_ref swift_pop_context(struct swift *s); /* or fails */
swift_ref swift_pop_module(struct swift *s);  /* or fails */
swift_ref swift_pop_type(struct swift *s);    /* or fails */
bool swift_is_entity(const struct swift *s, swift_ref ref);

swift_ref swift_share(struct swift *s, swift_ref ref); /* returns ref */

/* The text (parse.c). */
char swift_next(struct swift *s); /* NUL at the end */
bool swift_skip(struct swift *s, char c);
bool swift_natural(struct swift *s, uint32_t *number);
uint32_t swift_index(struct swift *s); /* or fails */

/* Pushes a node that is repeated, all but the last time. */
void swift_push_repeated(struct swift *s, swift_ref ref, uint32_t count);

/* The type on top between two texts, of which the second may be NULL. */
swift_ref swift_around(struct swift *s, const char *text, const char *behind);

/* Lists of types, one for each level of a generic type; or fails. */
swift_ref swift_pop_arguments(struct swift *s);

/* Operators; each returns a node to be pushed (types.c, standard_types.c,
 * generics.c, lowered_type.c, conformance.c, entities.c, and thunks.c for
 * thunks and data). */

swift_ref swift_standard_type(struct swift *s);         /* S */
swift_ref swift_lowered_type(struct swift *s);          /* I */
swift_ref swift_conformance_reference(struct swift *s); /* H */
swift_ref swift_retroactive(struct swift *s);           /* g */
swift_ref swift_function_type(struct swift *s, const char *text);
swift_ref swift_type_tuple(struct swift *s); /* t */
swift_ref swift_type_bound(struct swift *s); /* G */
swift_ref swift_builtin(struct swift *s);    /* B */
swift_ref swift_protocols(struct swift *s);  /* p */
swift_ref swift_type_special(struct swift *s);               /* X */
swift_ref swift_type_annotation(struct swift *s);            /* Y */
swift_ref swift_generic_parameter(struct swift *s);          /* q */
swift_ref swift_generic_associated(struct swift *s);         /* Q */
swift_ref swift_generic_signature(struct swift *s, bool has_counts); /* l, r */
swift_ref swift_generic_requirement(struct swift *s);                /* R */
swift_ref swift_pop_protocol(struct swift *s);

swift_ref swift_entity_nominal(struct swift *s, char kind); /* C, O, P, V, a */
swift_ref swift_entity_extension(struct swift *s);          /* E */
swift_ref swift_entity_function(struct swift *s);           /* F */
swift_ref swift_entity_variable(struct swift *s);           /* v */
swift_ref swift_entity_subscript(struct swift *s);          /* i */
swift_ref swift_entity_member(struct swift *s);             /* f */
swift_ref swift_entity_local(struct swift *s);              /* L */
swift_ref swift_entity_operator(struct swift *s);           /* o */
swift_ref swift_thunk(struct swift *s);      /* T */
swift_ref swift_witness(struct swift *s);    /* W */
swift_ref swift_metadata(struct swift *s);   /* M */
swift_ref swift_value_witness(struct swift *s); /* w */

/* Reads a whole name after its prefix.  Returns false if it cannot. */
bool swift_parse(struct swift *s);

/* Writes the nodes of the stack (print_entities.c).  Returns the length, or 0.
 */
size_t swift_print(struct swift *s, bool is_full, char *room, size_t size);
