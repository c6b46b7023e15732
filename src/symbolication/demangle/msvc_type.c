/*
 * Copyright (C) the ngx_symcache authors
 */
#include "msvc_parser.h"

#include <string.h>

struct text parse_type_cv(struct msvc_parser *msvc)
{
    switch (msvc->p < msvc->end ? *msvc->p++ : '\0') {
    case 'A':
    case 'Q':
        return TEXT("");
    case 'B':
    case 'R':
        return TEXT(" const");
    case 'C':
    case 'S':
        return TEXT(" volatile");
    case 'D':
    case 'T':
        return TEXT(" const volatile");
    default:
        demangle_fail(msvc);
        return TEXT("");
    }
}

/* A constant type does not become constant twice. */
static void qualify_type(struct msvc_parser *msvc, struct type *type,
                         struct text cv)
{
    if (!text_ends_with(type->before, cv)) {
        type->before = text_join(msvc, type->before, cv);
    }
}

void skip_type_modifiers(struct msvc_parser *msvc)
{
    while (peek(msvc) == 'E' || peek(msvc) == 'F' || peek(msvc) == 'I') {
        msvc->p++;
    }
}

struct text parse_type_qualifiers(struct msvc_parser *msvc)
{
    struct text reference = TEXT("");

    skip_type_modifiers(msvc);
    if (take(msvc, "G")) {
        reference = TEXT(" &");
    } else if (take(msvc, "H")) {
        reference = TEXT(" &&");
    }
    return text_join(msvc, parse_type_cv(msvc), reference);
}

void remember_type(struct msvc_parser *msvc, struct type type, size_t size)
{
    if (size > 1 && msvc->refs.ntypes < DEMANGLE_BACKREFS) {
        msvc->refs.types[msvc->refs.ntypes++] = type;
    }
}

/* Parameters up to "@" or "Z", between brackets. */
struct text parse_parameter_types(struct msvc_parser *msvc)
{
    size_t i;
    const char *begin;
    struct text list;
    struct type type;

    if (take(msvc, "X")) {
        return TEXT("(void)");
    }
    list = TEXT("(");
    while (!msvc->has_failed && !take(msvc, "@")) {
        if (list.size > 1) {
            list = text_join(msvc, list, TEXT(", "));
        }
        if (take(msvc, "Z")) {
            list = text_join(msvc, list, TEXT("..."));
            break;
        }
        if (is_digit(peek(msvc))) {
            i = (size_t)(*msvc->p++ - '0');
            if (i >= msvc->refs.ntypes) {
                demangle_fail(msvc);
                break;
            }
            type = msvc->refs.types[i];
        } else {
            begin = msvc->p;
            type = parse_type(msvc);
            remember_type(msvc, type, (size_t)(msvc->p - begin));
        }
        list = text_join3(msvc, list, type.before, type.after);
    }
    return text_join(msvc, list, TEXT(")"));
}

/* "Z" or "_E" after the parameters: what may be thrown. */
void skip_throw(struct msvc_parser *msvc)
{
    if (!take(msvc, "Z") && !take(msvc, "_E")) {
        demangle_fail(msvc);
    }
}

/* A function after "6", "8" and the like: convention, result, parameters. */
static struct type parse_function_type(struct msvc_parser *msvc,
                                       struct text cv)
{
    struct type result, type;
    struct text parameters;

    if (peek(msvc) < 'A' || peek(msvc) > 'Z') {
        demangle_fail(msvc);
    }
    msvc->p += msvc->p < msvc->end;
    result = take(msvc, "@") ? type_plain(TEXT("")) : parse_type(msvc);
    parameters = parse_parameter_types(msvc);
    skip_throw(msvc);
    type.before = result.before;
    type.after = text_join3(msvc, parameters, cv, result.after);
    type.needs_brackets = true;
    return type;
}

/* "*" and the like, with brackets where the rest needs them. */
static struct type point_to_type(struct msvc_parser *msvc, struct type to,
                                 struct text sign)
{
    struct type type = {.after = to.after};

    if (!to.needs_brackets) {
        type.before = text_join(msvc, to.before, sign);
        return type;
    }
    type.before = text_join3(msvc, to.before, TEXT(" ("), sign);
    type.after = text_join(msvc, TEXT(")"), to.after);
    return type;
}

/* A pointer or reference after its letter. */
static struct type parse_pointer_type(struct msvc_parser *msvc,
                                      struct text sign)
{
    struct type to;
    struct text cv;
    struct text scope;

    if (take(msvc, "6")) {
        return point_to_type(msvc, parse_function_type(msvc, TEXT("")), sign);
    }
    if (take(msvc, "8")) {
        scope = parse_name_scope(msvc);
        cv = parse_type_qualifiers(msvc);
        sign = text_join3(msvc, scope, TEXT("::"), sign);
        return point_to_type(msvc, parse_function_type(msvc, cv), sign);
    }
    skip_type_modifiers(msvc);
    if (peek(msvc) >= 'Q' && peek(msvc) <= 'T') {
        cv = parse_type_cv(msvc);
        scope = parse_name_scope(msvc);
        to = parse_type(msvc);
        qualify_type(msvc, &to, cv);
        sign = text_join3(msvc, text_join(msvc, TEXT(" "), scope), TEXT("::"),
                          sign);
        return point_to_type(msvc, to, sign);
    }
    cv = parse_type_cv(msvc);
    to = parse_type(msvc);
    qualify_type(msvc, &to, cv);
    return point_to_type(msvc, to, sign);
}

/* An array after "Y": the number of dimensions, these, the type. */
static struct type parse_array_type(struct msvc_parser *msvc)
{
    size_t i, count;
    struct text n;
    struct text dimensions;
    struct type type;

    n = text_of_number(msvc);
    for (i = count = 0; i < n.size && count < DEMANGLE_DEPTH_MAX; i++) {
        count = 10 * count + (size_t)(n.data[i] - '0');
    }
    if (n.data[0] == '-' || count > DEMANGLE_DEPTH_MAX) {
        demangle_fail(msvc);
    }
    dimensions = TEXT("");
    for (i = 0; i < count && !msvc->has_failed; i++) {
        dimensions = text_join(
            msvc,
            text_join3(msvc, dimensions, TEXT("["), text_of_number(msvc)),
            TEXT("]"));
    }
    type = parse_type(msvc);
    type.after = text_join(msvc, dimensions, type.after);
    type.needs_brackets = true;
    return type;
}

/* A class, union or enumeration: its name. */
struct type parse_class_type(struct msvc_parser *msvc)
{
    struct text last, scope;

    last = parse_name_part(msvc);
    scope = parse_name_scope(msvc);
    return type_plain(
        scope.size == 0 ? last : text_join3(msvc, scope, TEXT("::"), last));
}

/* Types after "$$". */
static struct type parse_extended_type(struct msvc_parser *msvc)
{
    struct type type;
    struct text cv;

    if (take(msvc, "Q")) {
        return parse_pointer_type(msvc, TEXT("&&"));
    }
    if (take(msvc, "R")) {
        return parse_pointer_type(msvc, TEXT("&& volatile"));
    }
    if (take(msvc, "A6") || take(msvc, "A8@@")) {
        cv = msvc->p[-1] == '6' ? TEXT("") : parse_type_qualifiers(msvc);
        type = parse_function_type(msvc, cv);
        type.before = text_join(msvc, type.before, TEXT(" "));
        return type;
    }
    if (take(msvc, "B")) {
        return parse_type(msvc);
    }
    if (take(msvc, "C")) {
        cv = parse_type_cv(msvc);
        type = parse_type(msvc);
        qualify_type(msvc, &type, cv);
        return type;
    }
    if (take(msvc, "T")) {
        return type_plain(TEXT("std::nullptr_t"));
    }
    demangle_fail(msvc);
    return type_plain(TEXT(""));
}

static struct type parse_basic_type(struct msvc_parser *msvc)
{
    size_t i;
    static const struct {
        const char *code;
        const char *text;
    } types[] = {
        {"X", "void"},          {"C", "signed char"},  {"D", "char"},
        {"E", "unsigned char"}, {"F", "short"},        {"G", "unsigned short"},
        {"H", "int"},           {"I", "unsigned int"}, {"J", "long"},
        {"K", "unsigned long"}, {"M", "float"},        {"N", "double"},
        {"O", "long double"},   {"_D", "int8_t"},      {"_E", "uint8_t"},
        {"_F", "int16_t"},      {"_G", "uint16_t"},    {"_H", "int32_t"},
        {"_I", "uint32_t"},     {"_J", "int64_t"},     {"_K", "uint64_t"},
        {"_L", "int128_t"},     {"_M", "uint128_t"},   {"_N", "bool"},
        {"_Q", "char8_t"},      {"_S", "char16_t"},    {"_U", "char32_t"},
        {"_W", "wchar_t"},
    };

    for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (take(msvc, types[i].code)) {
            return type_plain(
                (struct text){types[i].text, strlen(types[i].text)});
        }
    }
    demangle_fail(msvc);
    return type_plain(TEXT(""));
}

/* "<auto>", which is written like a class without a scope. */
static struct type parse_deduced_type(struct msvc_parser *msvc)
{
    struct type type = type_plain(parse_name_part(msvc));

    if (!take(msvc, "@")) {
        demangle_fail(msvc);
    }
    return type;
}

static struct type parse_any_type(struct msvc_parser *msvc)
{
    struct type type;
    struct text cv;

    switch (peek(msvc)) {
    case 'A':
        msvc->p++;
        return parse_pointer_type(msvc, TEXT("&"));
    case 'B':
        msvc->p++;
        return parse_pointer_type(msvc, TEXT("& volatile"));
    case 'P':
        msvc->p++;
        return parse_pointer_type(msvc, TEXT("*"));
    case 'Q':
        msvc->p++;
        return parse_pointer_type(msvc, TEXT("* const"));
    case 'R':
        msvc->p++;
        return parse_pointer_type(msvc, TEXT("* volatile"));
    case 'S':
        msvc->p++;
        return parse_pointer_type(msvc, TEXT("* const volatile"));
    case 'T':
    case 'U':
    case 'V':
        msvc->p++;
        return parse_class_type(msvc);
    case 'W':
        msvc->p += msvc->end - msvc->p > 1 ? 2 : 1;
        return parse_class_type(msvc);
    case 'Y':
        msvc->p++;
        return parse_array_type(msvc);
    case '?':
        msvc->p++;
        cv = parse_type_cv(msvc);
        type = take(msvc, "?") ? parse_deduced_type(msvc) : parse_type(msvc);
        qualify_type(msvc, &type, cv);
        return type;
    }
    if (take(msvc, "$$")) {
        return parse_extended_type(msvc);
    }
    return parse_basic_type(msvc);
}

struct type parse_type(struct msvc_parser *msvc)
{
    struct type type;

    if (!demangle_enter(msvc)) {
        return type_plain(TEXT(""));
    }
    type = parse_any_type(msvc);
    msvc->depth--;
    return type;
}
