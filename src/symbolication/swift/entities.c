/*
 * Copyright (C) the ngx_symcache authors
 */
#include <string.h>

#include "node.h"

swift_ref swift_entity_nominal(struct swift *s, char kind)
{
    swift_ref name = swift_pop_name(s), context = swift_pop_context(s);
    swift_ref ref = swift_make(s, SWIFT_NOMINAL, 2, context, name);

    swift_at(s, ref)->number = (uint32_t)kind;
    return swift_share(s, swift_type(s, ref));
}

swift_ref swift_entity_extension(struct swift *s)
{
    swift_ref signature = swift_pop_kind(s, SWIFT_SIGNATURE);
    swift_ref module = swift_pop_module(s);
    swift_ref type = swift_kid(s, swift_pop_type(s), 0);

    return swift_make(s, SWIFT_EXTENSION, 3, module, type, signature);
}

/* names -------------------------------------------------------------------- */

/* What the importer of C makes beside a declaration: its name is private, and
 * the letter is the reason. */
static swift_ref related_entity(struct swift *s, char letter)
{
    swift_ref name = swift_pop_kind(s, SWIFT_IDENTIFIER), ref;

    if (name == 0) {
        return swift_fail(s);
    }
    ref = swift_make(s, SWIFT_RELATED, 1, name);
    swift_at(s, ref)->number = (uint32_t)(unsigned char)letter;
    return ref;
}

swift_ref swift_entity_local(struct swift *s)
{
    swift_ref first, ref;
    uint32_t number;

    if (swift_skip(s, 'L')) {
        first = swift_pop_kind(s, SWIFT_IDENTIFIER);
        return first != 0
                   ? swift_make(s, SWIFT_PRIVATE, 2, first, swift_pop_name(s))
                   : swift_fail(s);
    }
    if (swift_skip(s, 'l')) {
        first = swift_pop_kind(s, SWIFT_IDENTIFIER);
        return first != 0 ? swift_make(s, SWIFT_PRIVATE, 2, first, 0)
                          : swift_fail(s);
    }
    if (s->p < s->end &&
        ((*s->p >= 'a' && *s->p <= 'j') || (*s->p >= 'A' && *s->p <= 'J'))) {
        return related_entity(s, swift_next(s));
    }
    number = swift_index(s);
    ref = swift_make(s, SWIFT_LOCAL, 1, swift_pop_name(s));
    swift_at(s, ref)->number = number;
    return ref;
}

/* The characters of an operator are letters of its identifier. */
swift_ref swift_entity_operator(struct swift *s)
{
    static const char characters[] = "& @/= >    <*!|+?%-~   ^ .";
    swift_ref ref = swift_pop_kind(s, SWIFT_IDENTIFIER), made;
    char *to = s->text + s->text_size;
    const char *from = swift_at(s, ref)->text;
    size_t i, n = swift_at(s, ref)->size;

    if (ref == 0 || n > SWIFT_TEXT - s->text_size) {
        return swift_fail(s);
    }
    for (i = 0; i < n; i++) {
        if (from[i] < 'a' || from[i] > 'z' ||
            characters[from[i] - 'a'] == ' ') {
            return swift_fail(s);
        }
        to[i] = characters[from[i] - 'a'];
    }
    s->text_size += n;
    made = swift_make(s, SWIFT_OPERATOR, 0);
    swift_at(s, made)->text = to;
    swift_at(s, made)->size = (uint16_t)n;
    swift_at(s, made)->number = (uint32_t)(unsigned char)swift_next(s);
    switch (swift_at(s, made)->number) {
    case 'i': swift_at(s, made)->behind = " infix"; return made;
    case 'p': swift_at(s, made)->behind = " prefix"; return made;
    case 'P': swift_at(s, made)->behind = " postfix"; return made;
    default: return swift_fail(s);
    }
}

/* functions and what is like them ------------------------------------------ */

/* The type of a function, after signatures; 0: it is none, or of another
 * convention, which has no labels. */
static swift_ref entity_function_type(struct swift *s, swift_ref type)
{
    swift_ref ref = swift_kid(s, type, 0);

    if (swift_at(s, ref)->kind == SWIFT_GENERIC) {
        ref = swift_kid(s, swift_kid(s, ref, 1), 0);
    }
    return swift_at(s, ref)->kind == SWIFT_FUNCTION_TYPE &&
                   swift_at(s, ref)->text[0] == '\0'
               ? ref
               : 0;
}

/* Labels of parameters: an empty list, or one for each parameter. */
static swift_ref pop_entity_labels(struct swift *s, swift_ref type)
{
    swift_ref list[SWIFT_STACK], function, params, label;
    size_t i, n = 1;

    if (swift_pop_kind(s, SWIFT_EMPTY_LIST) != 0) {
        return swift_make(s, SWIFT_LIST, 0);
    }
    function = entity_function_type(s, type);
    if (function == 0) {
        return 0;
    }
    params = swift_kid(s, swift_kid(s, function, 0), 0);
    if (swift_at(s, params)->kind == SWIFT_TUPLE) {
        n = swift_at(s, params)->num_kids;
    }
    for (i = 0; i < n && i < SWIFT_STACK; i++) {
        label = swift_pop_kind(s, SWIFT_IDENTIFIER);
        label = label != 0 ? label : swift_pop_kind(s, SWIFT_FIRST);
        if (label == 0) {
            return swift_fail(s);
        }
        list[i] = label;
    }
    return n > 0 ? swift_make_list(s, SWIFT_LIST, list, i) : 0;
}

swift_ref swift_entity_function(struct swift *s)
{
    swift_ref signature = swift_pop_kind(s, SWIFT_SIGNATURE);
    swift_ref type = swift_function_type(s, ""), labels, name, context;

    labels = pop_entity_labels(s, type);
    if (signature != 0) {
        type =
            swift_type(s, swift_make(s, SWIFT_GENERIC, 2, signature, type));
    }
    name = swift_pop_name(s);
    context = swift_pop_context(s);
    return swift_make(s, SWIFT_FUNCTION, 4, context, name, labels, type);
}

static swift_ref accessor_entity(struct swift *s, swift_ref of)
{
    static const struct {
        char letter;
        const char *name;
    } names[] = {{'g', "getter"}, {'s', "setter"}, {'r', "read"},
                 {'M', "modify"}, {'w', "willset"}, {'W', "didset"},
                 {'m', "materializeForSet"}, {'G', "getter"}, {'i', "init"},
                 {'x', "modify2"}, {'y', "read2"}};
    char c = swift_next(s);
    size_t i;

    if (c == 'p') {
        return of;
    }
    if (c == 'a' || c == 'l') {
        if (!swift_skip(s, 'u')) {
            return swift_fail(s);
        }
        return swift_make_text(s, SWIFT_ACCESSOR,
                               c == 'a' ? "unsafeMutableAddressor"
                                        : "unsafeAddressor", of);
    }
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].letter == c) {
            return swift_make_text(s, SWIFT_ACCESSOR, names[i].name, of);
        }
    }
    return swift_fail(s);
}

swift_ref swift_entity_variable(struct swift *s)
{
    swift_ref type = swift_pop_type(s), labels = pop_entity_labels(s, type);
    swift_ref name = swift_pop_name(s), context = swift_pop_context(s);

    return accessor_entity(
        s, swift_make(s, SWIFT_VARIABLE, 4, context, name, labels, type));
}

swift_ref swift_entity_subscript(struct swift *s)
{
    swift_ref name = swift_pop_kind(s, SWIFT_PRIVATE);
    swift_ref type = swift_pop_type(s), labels = pop_entity_labels(s, type);
    swift_ref context = swift_pop_context(s);

    return accessor_entity(
        s, swift_make(s, SWIFT_SUBSCRIPT, 4, context, name, labels, type));
}

static swift_ref initializer_entity(struct swift *s, bool is_allocating)
{
    swift_ref name = swift_pop_kind(s, SWIFT_PRIVATE);
    swift_ref type = swift_pop_type(s), labels = pop_entity_labels(s, type);
    swift_ref context = swift_pop_context(s), ref;

    ref = swift_make(s, SWIFT_INIT, 4, context, name, labels, type);
    swift_at(s, ref)->text =
        is_allocating && swift_at(s, context)->number == 'C'
            ? "__allocating_init"
            : "init";
    return ref;
}

static swift_ref closure_entity(struct swift *s, const char *text)
{
    uint32_t number = swift_index(s);
    swift_ref type = swift_pop_type(s), context = swift_pop_context(s);
    swift_ref ref = swift_make(s, SWIFT_CLOSURE, 2, context, type);

    swift_at(s, ref)->number = number;
    swift_at(s, ref)->text = text;
    return ref;
}

/* Structures that cannot be copied have a deinit, too, but no memory of their
 * own. */
static bool is_class_entity(struct swift *s, swift_ref ref)
{
    return swift_at(s, ref)->kind == SWIFT_NOMINAL &&
           swift_at(s, ref)->number == 'C';
}

swift_ref swift_entity_member(struct swift *s)
{
    uint32_t number;
    swift_ref ref;

    switch (swift_next(s)) {
    case 'C':
        return initializer_entity(s, true);
    case 'c':
        return initializer_entity(s, false);
    case 'U':
        return closure_entity(s, "closure #");
    case 'u':
        return closure_entity(s, "implicit closure #");
    case 'D':
        ref = swift_pop_context(s);
        return swift_make_text(
            s, SWIFT_MEMBER,
            is_class_entity(s, ref) ? "__deallocating_deinit" : "deinit", ref);
    case 'Z':
        return swift_make_text(s, SWIFT_MEMBER,
                               "__isolated_deallocating_deinit",
                               swift_pop_context(s));
    case 'd':
        return swift_make_text(s, SWIFT_MEMBER, "deinit",
                               swift_pop_context(s));
    case 'E':
        return swift_make_text(s, SWIFT_MEMBER, "__ivar_destroyer",
                               swift_pop_context(s));
    case 'e':
        return swift_make_text(s, SWIFT_MEMBER, "__ivar_initializer",
                               swift_pop_context(s));
    case 'i':
        return swift_make_text(s, SWIFT_INITIAL,
                               "variable initialization expression of ",
                               swift_pop_context(s));
    case 'F':
        return swift_make_text(s, SWIFT_INITIAL,
                               "property wrapped field init accessor of ",
                               swift_pop_context(s));
    case 'P':
        return swift_make_text(s, SWIFT_INITIAL,
                               "property wrapper backing initializer of ",
                               swift_pop_context(s));
    case 'W':
        return swift_make_text(
            s, SWIFT_INITIAL, "property wrapper init from projected value of ",
            swift_pop_context(s));
    case 'A':
        number = swift_index(s);
        ref = swift_make(s, SWIFT_DEFAULT_ARGUMENT, 1, swift_pop_context(s));
        swift_at(s, ref)->number = number;
        return ref;
    default: return swift_fail(s);
    }
}
