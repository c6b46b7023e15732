/*
 * Copyright (C) the ngx_symcache authors
 *
 * Types of functions as the compiler lowers them, with a convention for each
 * parameter and result: those of thunks.
 */
#include <string.h>

#include "node.h"

#define PARTS 64 /* parameters and results of one function */

/* What a letter stands for, or NULL. */
static const char *lowered_parameter_text(char letter)
{
    switch (letter) {
    case 'i': return "@in ";
    case 'c': return "@in_constant ";
    case 'l': return "@inout ";
    case 'b': return "@inout_aliasable ";
    case 'n': return "@in_guaranteed ";
    case 'X': return "@in_cxx ";
    case 'x': return "@owned ";
    case 'g': return "@guaranteed ";
    case 'e': return "@deallocating ";
    case 'y': return "@unowned ";
    default: return NULL;
    }
}

static const char *lowered_result_text(char letter)
{
    switch (letter) {
    case 'r': return "@out ";
    case 'o': return "@owned ";
    case 'd': return "@unowned ";
    case 'u': return "@unowned_inner_pointer ";
    case 'a': return "@autoreleased ";
    default: return NULL;
    }
}

/* Reads what is known of one parameter or result; its type is popped later.
 * Returns 0 if there is none here. */
static swift_ref read_lowered_part(struct swift *s)
{
    char c = s->p < s->end ? *s->p : '\0';
    const char *text = lowered_parameter_text(c), *behind = NULL;
    swift_ref ref;
    unsigned flags = 0;

    if (c == 'z' || c == 'Y') {
        s->p++;
        behind = c == 'z' ? "@error " : "@yields ";
        text = NULL;
    }
    if (text == NULL) {
        flags = SWIFT_IS_RESULT;
        c = s->p < s->end ? *s->p : '\0';
        text = c == 'z' || behind == NULL || *behind != '@' || behind[1] == 'e'
                   ? lowered_result_text(c)
                   : lowered_parameter_text(c);
    }
    if (text == NULL) {
        return behind == NULL ? 0 : swift_fail(s);
    }
    s->p++;
    flags |= swift_skip(s, 'w') ? SWIFT_IS_NO_DERIVATIVE : 0;
    flags |= swift_skip(s, 'T') ? SWIFT_IS_SENDING : 0;
    ref = swift_make(s, SWIFT_LOWERED_PART, 1, 0);
    swift_at(s, ref)->text = text;
    swift_at(s, ref)->behind = behind;
    swift_at(s, ref)->flags = (uint8_t)flags;
    return ref;
}

/* Attributes are kept as the letters that they have in the name. */
static bool read_lowered_attributes(struct swift *s)
{
    swift_skip(s, 'P'); /* of Objective-C's generics */
    swift_skip(s, 'e');
    swift_skip(s, 'A');
    if (s->p < s->end && strchr("dlfr", *s->p) != NULL) {
        s->p++;
    }
    if (s->p == s->end || strchr("ygxt", *s->p) == NULL) {
        return false;
    }
    s->p++;
    if (s->p < s->end && strchr("BCMOKW", *s->p) != NULL) {
        s->p++;
    }
    if (!swift_skip(s, 'A')) {
        swift_skip(s, 'G');
    }
    swift_skip(s, 'h');
    swift_skip(s, 'H');
    swift_skip(s, 'T');
    return true;
}

swift_ref swift_lowered_type(struct swift *s)
{
    swift_ref parts[PARTS], substituted = 0, arguments = 0, signature, ref;
    const char *from;
    size_t n = 0, i;

    if (swift_skip(s, 's')) {
        arguments = swift_pop_arguments(s);
        substituted = swift_pop_kind(s, SWIFT_SIGNATURE);
        if (substituted == 0) {
            return swift_fail(s);
        }
    }
    signature = swift_pop_kind(s, SWIFT_SIGNATURE);
    from = s->p;
    if (!read_lowered_attributes(s)) {
        return swift_fail(s);
    }
    ref = swift_make(s, SWIFT_ATTRIBUTES, 0);
    swift_at(s, ref)->text = from;
    swift_at(s, ref)->size = (uint16_t)(s->p - from);
    parts[PARTS - 1] = ref;
    while (n < PARTS - 5 && (ref = read_lowered_part(s)) != 0) {
        parts[PARTS - 5 - n++] = ref;
    }
    if (!swift_skip(s, '_')) {
        return swift_fail(s);
    }
    for (i = n; i > 0; i--) {
        ref = parts[PARTS - 4 - i];
        s->kids[swift_at(s, ref)->kids] = swift_pop_type(s);
    }
    parts[PARTS - 2] = signature;
    parts[PARTS - 3] = substituted;
    parts[PARTS - 4] = arguments;
    return swift_type(s, swift_make_list(s, SWIFT_LOWERED,
                                         parts + PARTS - 4 - n, n + 4));
}
