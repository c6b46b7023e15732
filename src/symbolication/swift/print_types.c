/*
 * Copyright (C) the ngx_symcache authors
 */
#include "print.h"

/* types ------------------------------------------------------------------- */

static void print_type_element(struct swift_printer *p, swift_ref ref)
{
    if (kid(p, ref, 1) != 0) {
        swift_print_node(p, kid(p, ref, 1));
        put_text(p, ": ");
    }
    swift_print_node(p, kid(p, ref, 0));
    put_text(p, at(p, ref)->number != 0 ? "..." : "");
}

/* A list of parameters; labels may be 0. */
void swift_print_parameters(struct swift_printer *p, swift_ref type,
                            swift_ref labels)
{
    swift_ref tuple = inner(p, type), label;
    size_t i, n = at(p, tuple)->num_kids;
    bool is_tuple = at(p, tuple)->kind == SWIFT_TUPLE;
    bool has_labels = false;

    for (i = 0; i < at(p, labels)->num_kids; i++) {
        has_labels =
            has_labels || at(p, kid(p, labels, i))->kind == SWIFT_IDENTIFIER;
    }
    put_text(p, "(");
    for (i = 0; i < (is_tuple ? n : 1) && !p->has_failed; i++) {
        label = has_labels ? kid(p, labels, i) : 0;
        put_text(p, i > 0 ? ", " : "");
        if (at(p, label)->kind == SWIFT_IDENTIFIER) {
            swift_print_node(p, label);
        }
        put_text(p, !has_labels                              ? ""
                    : at(p, label)->kind == SWIFT_IDENTIFIER ? ": "
                                                             : "_: ");
        swift_print_node(p, is_tuple ? kid(p, tuple, i) : type);
    }
    put_text(p, ")");
}

void swift_print_result(struct swift_printer *p, swift_ref function)
{
    unsigned flags = at(p, function)->flags;

    if (!p->is_full) {
        return;
    }
    put_text(p, (flags & SWIFT_IS_ASYNC) != 0 ? " async" : "");
    put_text(p, (flags & SWIFT_IS_THROWING) != 0 ? " throws" : "");
    if (kid(p, function, 3) != 0) {
        put_text(p, "(");
        swift_print_node(p, kid(p, function, 3));
        put_text(p, ")");
    }
    put_text(p, (flags & SWIFT_IS_SENDING) != 0 ? " -> sending " : " -> ");
    swift_print_node(p, kid(p, function, 1));
}

void swift_print_function_attributes(struct swift_printer *p, swift_ref ref)
{
    if (kid(p, ref, 2) != 0) {
        put_text(p, "@");
        swift_print_node(p, kid(p, kid(p, ref, 2), 0));
        put_text(p, " ");
    }
    put_text(p, (at(p, ref)->flags & SWIFT_IS_ISOLATED_ANY) != 0
                    ? "@isolated(any) "
                    : "");
    put_text(p,
             (at(p, ref)->flags & SWIFT_IS_SENDABLE) != 0 ? "@Sendable " : "");
}

static void print_function_type(struct swift_printer *p, swift_ref ref)
{
    put_text(p, at(p, ref)->text);
    swift_print_function_attributes(p, ref);
    swift_print_parameters(p, kid(p, ref, 0), 0);
    swift_print_result(p, ref);
}

static bool is_standard_type(struct swift_printer *p, swift_ref nominal,
                             const char *name)
{
    const struct swift_node *module = at(p, kid(p, nominal, 0));
    const struct swift_node *node = at(p, kid(p, nominal, 1));

    return module->kind == SWIFT_MODULE && module->size == 5 &&
           memcmp(module->text, "Swift", 5) == 0 && node->text != NULL &&
           node->size == strlen(name) &&
           memcmp(node->text, name, node->size) == 0;
}

/* Does what stands after a type need brackets around it? */
static bool is_simple_type(struct swift_printer *p, swift_ref type)
{
    swift_ref ref = inner(p, type);

    return at(p, ref)->kind != SWIFT_FUNCTION_TYPE &&
           (at(p, ref)->kind != SWIFT_PROTOCOLS || at(p, ref)->num_kids < 2);
}

static void print_type_argument(struct swift_printer *p, swift_ref type)
{
    bool is_plain = is_simple_type(p, type);

    put_text(p, is_plain ? "" : "(");
    swift_print_node(p, type);
    put_text(p, is_plain ? "" : ")");
}

/* Types of the standard library that have a short form.  Returns false for
 * others. */
static bool print_standard_type(struct swift_printer *p, swift_ref nominal,
                                swift_ref list)
{
    if (is_standard_type(p, nominal, "Optional") &&
        at(p, list)->num_kids == 1) {
        print_type_argument(p, kid(p, list, 0));
        put_text(p, "?");
        return true;
    }
    if (is_standard_type(p, nominal, "Array") && at(p, list)->num_kids == 1) {
        put_text(p, "[");
        swift_print_node(p, kid(p, list, 0));
        put_text(p, "]");
        return true;
    }
    if (is_standard_type(p, nominal, "Dictionary") &&
        at(p, list)->num_kids == 2) {
        put_text(p, "[");
        swift_print_kids(p, list, " : ");
        put_text(p, "]");
        return true;
    }
    return false;
}

/* Prints a nested type with its generic arguments: the child of this level has
 * the arguments of the type itself, lower ones those of the types around it.
 */
static void print_type_level(struct swift_printer *p, swift_ref ref,
                             swift_ref nominal, size_t level)
{
    swift_ref context = kid(p, nominal, 0), outer = context;

    if (at(p, context)->kind == SWIFT_EXTENSION) {
        outer = kid(p, context, 1);
    }
    if (level > 1 && at(p, outer)->kind == SWIFT_NOMINAL) {
        if (p->is_full && outer != context) {
            put_text(p, "(extension in ");
            swift_print_node(p, kid(p, context, 0));
            put_text(p, "):");
        }
        if (level == 2 && print_standard_type(p, outer, kid(p, ref, 1))) {
            put_text(p, "."); /* [A : B] of Dictionary<A, B> */
        } else {
            print_type_level(p, ref, outer, level - 1);
            put_text(p, ".");
        }
    } else {
        swift_print_in_front(p, context);
    }
    swift_print_node(p, kid(p, nominal, 1));
    if (at(p, kid(p, ref, level))->num_kids > 0) {
        put_text(p, "<");
        swift_print_kids(p, kid(p, ref, level), ", ");
        put_text(p, ">");
    }
    swift_print_behind(p, context);
}

static void print_type_parameter(struct swift_printer *p, unsigned number)
{
    unsigned index = number & 0xffff, depth = number >> 16;
    char c;

    do {
        c = (char)('A' + index % 26);
        put(p, &c, 1);
        index /= 26;
    } while (index > 0);
    if (depth > 0) {
        put_number(p, depth);
    }
}

/* Does a parameter of a signature stand for several? */
static bool is_pack_type(struct swift_printer *p, swift_ref ref,
                         unsigned number)
{
    swift_ref item;
    size_t i;

    for (i = 0; i < at(p, ref)->num_kids; i++) {
        item = kid(p, ref, i);
        if (at(p, item)->kind == SWIFT_PACK &&
            at(p, inner(p, kid(p, item, 0)))->number == number) {
            return true;
        }
    }
    return false;
}

void swift_print_signature(struct swift_printer *p, swift_ref ref)
{
    unsigned depth, i;
    bool has_requirements = false;
    swift_ref item;

    put_text(p, "<");
    for (depth = 0; depth < at(p, ref)->num_kids; depth++) {
        item = kid(p, ref, depth);
        if (at(p, item)->kind != SWIFT_COUNT) {
            break;
        }
        put_text(p, depth > 0 ? "><" : "");
        for (i = 0; i < at(p, item)->number && !p->has_failed; i++) {
            put_text(p, i > 0 ? ", " : "");
            put_text(p, is_pack_type(p, ref, depth << 16 | i) ? "each " : "");
            print_type_parameter(p, depth << 16 | i);
        }
    }
    for (; p->is_full && depth < at(p, ref)->num_kids; depth++) {
        if (at(p, kid(p, ref, depth))->kind == SWIFT_PACK) {
            continue;
        }
        put_text(p, has_requirements ? ", " : " where ");
        has_requirements = true;
        swift_print_node(p, kid(p, ref, depth));
    }
    put_text(p, ">");
}

static void print_associated_type(struct swift_printer *p, swift_ref ref)
{
    swift_print_node(p, kid(p, ref, 0));
    put_text(p, ".");
    if (kid(p, ref, 2) != 0) {
        swift_print_node(p, kid(p, ref, 2));
        put_text(p, ".");
    }
    swift_print_node(p, kid(p, ref, 1));
}

static void print_around_type(struct swift_printer *p, swift_ref ref)
{
    const struct swift_node *node = at(p, ref);

    put_text(p, node->text);
    if (node->behind != NULL) {
        print_type_argument(p, kid(p, ref, 0));
    } else {
        swift_print_node(p, kid(p, ref, 0));
    }
    put_text(p, node->behind);
}

/* lowered types ----------------------------------------------------------- */

static const char *type_attribute_text(char letter, bool is_first)
{
    switch (letter) {
    case 'e':
        return "@escaping ";
    case 'd':
        return "@differentiable ";
    case 'l':
        return "@differentiable(_linear) ";
    case 'f':
        return "@differentiable(_forward) ";
    case 'r':
        return "@differentiable(reverse) ";
    case 'y':
        return "@callee_unowned ";
    case 'g':
        return "@callee_guaranteed ";
    case 'x':
        return "@callee_owned ";
    case 't':
        return "@convention(thin) ";
    case 'B':
        return "@convention(block) ";
    case 'C':
        return "@convention(c) ";
    case 'M':
        return "@convention(method) ";
    case 'O':
        return "@convention(objc_method) ";
    case 'K':
        return "@convention(closure) ";
    case 'W':
        return "@convention(witness_method) ";
    case 'A':
        return is_first ? "@isolated(any) " : "@yield_once ";
    case 'G':
        return "@yield_many ";
    case 'h':
        return "@Sendable ";
    case 'H':
        return "@async ";
    default:
        return "";
    }
}

/* Parameters, or results. */
static void print_type_parts(struct swift_printer *p, swift_ref ref,
                             bool are_results)
{
    const struct swift_node *part;
    bool is_next = false;
    size_t i;

    put_text(p, "(");
    for (i = 4; i < at(p, ref)->num_kids; i++) {
        part = at(p, kid(p, ref, i));
        if (((part->flags & SWIFT_IS_RESULT) != 0) != are_results) {
            continue;
        }
        put_text(p, is_next ? ", " : "");
        is_next = true;
        put_text(p, part->behind);
        put_text(p, part->text);
        put_text(p, (part->flags & SWIFT_IS_NO_DERIVATIVE) != 0
                        ? "@noDerivative "
                        : "");
        put_text(p, (part->flags & SWIFT_IS_SENDING) != 0 ? "sending " : "");
        swift_print_node(p, kid(p, kid(p, ref, i), 0));
    }
    put_text(p, ")");
}

static void print_lowered_type(struct swift_printer *p, swift_ref ref)
{
    const struct swift_node *attributes = at(p, kid(p, ref, 0));
    bool is_sending = false;
    size_t i;

    for (i = 0; i < attributes->size; i++) {
        put_text(p, type_attribute_text(attributes->text[i], i < 2));
        is_sending = attributes->text[i] == 'T';
    }
    if (kid(p, ref, 1) != 0) {
        swift_print_signature(p, kid(p, ref, 1));
        put_text(p, " ");
    }
    if (kid(p, ref, 2) != 0) {
        put_text(p, "@substituted ");
        swift_print_signature(p, kid(p, ref, 2));
        put_text(p, " ");
    }
    print_type_parts(p, ref, false);
    put_text(p, is_sending ? " -> sending " : " -> ");
    print_type_parts(p, ref, true);
    for (i = 0; i < at(p, kid(p, ref, 3))->num_kids; i++) {
        put_text(p, " for <");
        swift_print_kids(p, kid(p, kid(p, ref, 3), i), ", ");
        put_text(p, ">");
    }
}

static void print_opaque_type(struct swift_printer *p, swift_ref ref)
{
    if (!p->is_full) {
        put_text(p, "some");
        return;
    }
    put_text(p, "<<opaque return type of ");
    swift_print_node(p, kid(p, kid(p, ref, 0), 0));
    put_text(p, ">>.");
    put_number(p, at(p, ref)->number);
}

static void print_constrained_type(struct swift_printer *p, swift_ref ref)
{
    size_t i;

    put_text(p, "any ");
    swift_print_node(p, kid(p, ref, 0));
    put_text(p, "<");
    for (i = 1; i < at(p, ref)->num_kids; i++) {
        put_text(p, i > 1 ? ", " : "");
        swift_print_node(p, kid(p, ref, i));
    }
    put_text(p, ">");
}

static void print_type_requirement(struct swift_printer *p, swift_ref ref)
{
    swift_print_node(p, kid(p, ref, 0));
    put_text(p, at(p, ref)->behind);
    swift_print_node(p, kid(p, ref, 1));
}

static void print_builtin_type(struct swift_printer *p, swift_ref ref)
{
    put_text(p, at(p, ref)->text);
    if (at(p, ref)->number != 0) {
        put_number(p, at(p, ref)->number);
    }
}

void swift_print_type(struct swift_printer *p, swift_ref ref)
{
    const struct swift_node *node = at(p, ref);

    switch (node->kind) {
    case SWIFT_TYPE:
        swift_print_node(p, kid(p, ref, 0));
        break;
    case SWIFT_FUNCTION_TYPE:
        print_function_type(p, ref);
        break;
    case SWIFT_TUPLE:
        put_text(p, "(");
        swift_print_kids(p, ref, ", ");
        put_text(p, ")");
        break;
    case SWIFT_ELEMENT:
        print_type_element(p, ref);
        break;
    case SWIFT_BOUND:
        if (node->num_kids != 2 ||
            !print_standard_type(p, kid(p, ref, 0), kid(p, ref, 1))) {
            print_type_level(p, ref, kid(p, ref, 0), node->num_kids - 1u);
        }
        break;
    case SWIFT_AROUND:
        print_around_type(p, ref);
        break;
    case SWIFT_CONSTRAINED:
        print_constrained_type(p, ref);
        break;
    case SWIFT_LOWERED:
        print_lowered_type(p, ref);
        break;
    case SWIFT_OPAQUE:
        print_opaque_type(p, ref);
        break;
    case SWIFT_PROTOCOLS:
        put_text(p, node->num_kids == 0 ? "Any" : "");
        swift_print_kids(p, ref, " & ");
        break;
    case SWIFT_PARAMETER:
        print_type_parameter(p, node->number);
        break;
    case SWIFT_ASSOCIATED:
        print_associated_type(p, ref);
        break;
    case SWIFT_BUILTIN:
        print_builtin_type(p, ref);
        break;
    case SWIFT_REQUIREMENT:
        print_type_requirement(p, ref);
        break;
    case SWIFT_GENERIC:
        swift_print_signature(p, kid(p, ref, 0));
        swift_print_node(p, kid(p, ref, 1));
        break;
    default:
        p->has_failed = true;
        break;
    }
}
