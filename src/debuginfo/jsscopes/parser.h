/*
 * Copyright (C) the ngx_symcache authors
 *
 * The parts of the parser, for each other.  A function that parses begins at
 * the token js->t, and leaves there the one after what it has read.  It
 * returns false if that is not what it should be; then js->error says why.
 */
#pragma once

#include "base/hash_table.h"
#include "jsscopes.h"
#include "lexer.h"

/* A key of a member, as its name has it. */
struct key {
    unsigned count; /* of parts; 0: it gives no name */
    bool is_plain;  /* an identifier */
    bool is_private;
    bool is_constructor;
    struct jsscopes_part parts[2];
};

/* The surroundings of a function that can give it a name. */
enum node_kind {
    NODE_FUNCTION, /* no name comes from beyond it */
    NODE_CLASS,    /* a class declaration with a name */
    NODE_CLASS_EXPRESSION,
    NODE_OBJECT,    /* an object literal */
    NODE_PROPERTY,  /* a value in it, or one of its methods */
    NODE_METHOD,    /* of a class */
    NODE_VARIABLE,  /* what a variable is initialized with */
    NODE_ASSIGNMENT /* what is assigned to a name or member */
};

struct node {
    const struct node *up;
    enum node_kind kind;
    char accessor;             /* of NODE_METHOD: 'g' or 's', else 0 */
    struct jsscopes_part name; /* of classes and variables */
    const struct key *key;     /* of properties and methods */
    bool is_member;   /* of NODE_ASSIGNMENT: not to a name; its parts are */
    size_t first_ref; /* js->refs[first_ref..first_ref + num_refs) */
    size_t num_refs;
};

/* The kind of an expression that was read, as the left side of an
 * assignment. */
enum ref_kind {
    REF_NONE,   /* nothing that has a name */
    REF_NAME,   /* an identifier */
    REF_OBJECT, /* "this" */
    REF_MEMBER  /* a member of what consists of names, "this" and members */
};

struct jsparser {
    struct lexer lexer;
    struct token t;
    uint32_t last_start; /* of the token before */
    uint32_t last_end;
    struct jsscopes *scopes;
    struct jsscopes_error *error;
    enum jsscopes_status status;
    const struct node *node; /* the innermost one */
    unsigned depth;
    uint64_t work; /* tokens that were read */
    uint64_t work_max;
    bool is_async;     /* "await" is an operator */
    bool is_generator; /* "yield" is one */
    bool has_no_in;    /* "in" is none, but part of a loop */
    bool was_arrow;    /* the last operand was an arrow function */
    enum ref_kind ref; /* of the last operand */
    size_t ref_base;   /* its parts are refs[ref_base..num_refs) */
    struct jsscopes_part *refs;
    size_t num_refs;
    size_t ref_room;
    struct table patterns; /* places + 1 that are known to begin a pattern */
};

/* Where the parser is, to go back there. */
struct state {
    uint32_t at;
    struct token t;
    uint32_t last_start;
    uint32_t last_end;
    size_t num_scopes;
    size_t num_parts;
};

bool parser_fail(struct jsparser *js, enum jsscopes_status status,
                 const char *reason);
bool parser_unexpected(struct jsparser *js);
bool parser_next(struct jsparser *js);
bool parser_accept(struct jsparser *js, uint32_t sign, bool *is_there);
bool parser_expect(struct jsparser *js, uint32_t sign);
struct state parser_state(const struct jsparser *js);
void parser_restore(struct jsparser *js, const struct state *state);

/* The token after js->t. */
struct token parser_peek(const struct jsparser *js);

/* Counts a level.  If it returns true, the caller must call parser_leave(). */
bool parser_enter(struct jsparser *js);
void parser_leave(struct jsparser *js);

static inline bool is_sign(const struct token *t, uint32_t sign)
{
    return t->sign == sign && t->type == TOKEN_SIGN;
}

/* May a token be an identifier? */
static inline bool is_identifier(const struct token *t)
{
    return t->type == TOKEN_NAME &&
           (t->word == WORD_NONE || t->word >= WORD_AWAIT);
}

struct jsscopes_part parser_identifier(const struct jsparser *js,
                                       const struct token *t);

/* Notes a name that the expression refers to. */
bool parser_refer(struct jsparser *js, const struct jsscopes_part *part);

/* Is it noted that a pattern begins at start? */
bool parser_is_pattern(const struct jsparser *js, uint32_t start);
bool parser_note_pattern(struct jsparser *js, uint32_t start);

/* function_names.c */
/* Adds a scope that begins at start, of a function without or with a name of
 * its own; its end is set later.  Returns its number, or -1. */
long scope_function(struct jsparser *js, uint32_t start,
                    const struct jsscopes_part *own);
long scope_class(struct jsparser *js, uint32_t start,
                 const struct jsscopes_part *own);
long scope_accessor(struct jsparser *js, uint32_t start, bool is_getter,
                    const struct key *key);

/* literal_names.c */
/* Makes the part of a name for a literal: "<literal>" if it is the key of a
 * member, "[literal]" if it is used as an index. */
bool literal_part(struct jsparser *js, const struct token *t, bool is_key,
                  struct jsscopes_part *part);

/* expressions.c */
bool jsparse_expression(struct jsparser *js);
bool jsparse_assignment(struct jsparser *js);

/* member_expressions.c */
bool jsparse_operand(struct jsparser *js);
bool jsparse_template(struct jsparser *js);

/* primary.c */
bool jsparse_primary(struct jsparser *js);

/* patterns.c */
bool jsparse_pattern(struct jsparser *js);
/* Reads elements with commas between up to a bracket. */
bool jsparse_elements(struct jsparser *js, uint32_t end);
/* Reads a key of a literal, class or pattern. */
bool jsparse_key(struct jsparser *js, struct key *key);

/* functions_and_classes.c */
/* Reads a function after "function", which began at start. */
bool jsparse_function(struct jsparser *js, uint32_t start, bool is_async);
/* Reads a class from "class" on. */
bool jsparse_class(struct jsparser *js, bool is_declaration);
bool jsparse_object(struct jsparser *js);
/* Reads the body of an arrow function that began at start, from "=>" on. */
bool jsparse_arrow(struct jsparser *js, uint32_t start, bool is_async);
/* Reads an arrow function from its parameters on. */
bool jsparse_arrow_parameters(struct jsparser *js, uint32_t start,
                              bool is_async);

/* statements.c */
bool jsparse_statement(struct jsparser *js);
bool jsparse_block(struct jsparser *js);
bool jsparse_semicolon(struct jsparser *js);
