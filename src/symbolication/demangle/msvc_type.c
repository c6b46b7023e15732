/*
 * Copyright (C) the ngx_symcache authors
 */
#include "msvc_parser.h"

#include <string.h>

struct text parse_cv(struct demangler *d)
{
    switch (d->p < d->end ? *d->p++ : '\0') {
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
        demangle_fail(d);
        return TEXT("");
    }
}

/* A constant type does not become constant twice. */
static void qualify_type(struct demangler *d, struct type *type,
                         struct text cv)
{
    if (!text_ends_with(type->before, cv)) {
        type->before = text_join(d, type->before, cv);
    }
}

void skip_modifiers(struct demangler *d)
{
    while (peek(d) == 'E' || peek(d) == 'F' || peek(d) == 'I') {
        d->p++;
    }
}

struct text parse_qualifiers(struct demangler *d)
{
    struct text reference = TEXT("");

    skip_modifiers(d);
    if (take(d, "G")) {
        reference = TEXT(" &");
    } else if (take(d, "H")) {
        reference = TEXT(" &&");
    }
    return text_join(d, parse_cv(d), reference);
}

void remember_type(struct demangler *d, struct type type, size_t size)
{
    if (size > 1 && d->refs.ntypes < DEMANGLE_BACKREFS) {
        d->refs.types[d->refs.ntypes++] = type;
    }
}

/* Parameters up to "@" or "Z", between brackets. */
struct text parse_parameters(struct demangler *d)
{
    size_t i;
    const char *begin;
    struct text list;
    struct type type;

    if (take(d, "X")) {
        return TEXT("(void)");
    }
    list = TEXT("(");
    while (!d->has_failed && !take(d, "@")) {
        if (list.size > 1) {
            list = text_join(d, list, TEXT(", "));
        }
        if (take(d, "Z")) {
            list = text_join(d, list, TEXT("..."));
            break;
        }
        if (is_digit(peek(d))) {
            i = (size_t)(*d->p++ - '0');
            if (i >= d->refs.ntypes) {
                demangle_fail(d);
                break;
            }
            type = d->refs.types[i];
        } else {
            begin = d->p;
            type = parse_type(d);
            remember_type(d, type, (size_t)(d->p - begin));
        }
        list = text_join3(d, list, type.before, type.after);
    }
    return text_join(d, list, TEXT(")"));
}

/* "Z" or "_E" after the parameters: what may be thrown. */
void skip_throw(struct demangler *d)
{
    if (!take(d, "Z") && !take(d, "_E")) {
        demangle_fail(d);
    }
}

/* A function after "6", "8" and the like: convention, result, parameters. */
static struct type parse_function(struct demangler *d, struct text cv)
{
    struct type result, type;
    struct text parameters;

    if (peek(d) < 'A' || peek(d) > 'Z') {
        demangle_fail(d);
    }
    d->p += d->p < d->end;
    result = take(d, "@") ? type_plain(TEXT("")) : parse_type(d);
    parameters = parse_parameters(d);
    skip_throw(d);
    type.before = result.before;
    type.after = text_join3(d, parameters, cv, result.after);
    type.needs_brackets = true;
    return type;
}

/* "*" and the like, with brackets where the rest needs them. */
static struct type point_to_type(struct demangler *d, struct type to,
                                 struct text sign)
{
    struct type type = {.after = to.after};

    if (!to.needs_brackets) {
        type.before = text_join(d, to.before, sign);
        return type;
    }
    type.before = text_join3(d, to.before, TEXT(" ("), sign);
    type.after = text_join(d, TEXT(")"), to.after);
    return type;
}

/* A pointer or reference after its letter. */
static struct type parse_pointer(struct demangler *d, struct text sign)
{
    struct type to;
    struct text cv;
    struct text scope;

    if (take(d, "6")) {
        return point_to_type(d, parse_function(d, TEXT("")), sign);
    }
    if (take(d, "8")) {
        scope = parse_scope(d);
        cv = parse_qualifiers(d);
        sign = text_join3(d, scope, TEXT("::"), sign);
        return point_to_type(d, parse_function(d, cv), sign);
    }
    skip_modifiers(d);
    if (peek(d) >= 'Q' && peek(d) <= 'T') {
        cv = parse_cv(d);
        scope = parse_scope(d);
        to = parse_type(d);
        qualify_type(d, &to, cv);
        sign = text_join3(d, text_join(d, TEXT(" "), scope), TEXT("::"), sign);
        return point_to_type(d, to, sign);
    }
    cv = parse_cv(d);
    to = parse_type(d);
    qualify_type(d, &to, cv);
    return point_to_type(d, to, sign);
}

/* An array after "Y": the number of dimensions, these, the type. */
static struct type parse_array(struct demangler *d)
{
    size_t i, count;
    struct text n;
    struct text dimensions;
    struct type type;

    n = parse_number(d);
    for (i = count = 0; i < n.size && count < DEMANGLE_DEPTH_MAX; i++) {
        count = 10 * count + (size_t)(n.data[i] - '0');
    }
    if (n.data[0] == '-' || count > DEMANGLE_DEPTH_MAX) {
        demangle_fail(d);
    }
    dimensions = TEXT("");
    for (i = 0; i < count && !d->has_failed; i++) {
        dimensions =
            text_join(d, text_join3(d, dimensions, TEXT("["), parse_number(d)),
                      TEXT("]"));
    }
    type = parse_type(d);
    type.after = text_join(d, dimensions, type.after);
    type.needs_brackets = true;
    return type;
}

/* A class, union or enumeration: its name. */
struct type parse_class(struct demangler *d)
{
    struct text last, scope;

    last = parse_part(d);
    scope = parse_scope(d);
    return type_plain(
        scope.size == 0 ? last : text_join3(d, scope, TEXT("::"), last));
}

/* Types after "$$". */
static struct type parse_extended(struct demangler *d)
{
    struct type type;
    struct text cv;

    if (take(d, "Q")) {
        return parse_pointer(d, TEXT("&&"));
    }
    if (take(d, "R")) {
        return parse_pointer(d, TEXT("&& volatile"));
    }
    if (take(d, "A6") || take(d, "A8@@")) {
        cv = d->p[-1] == '6' ? TEXT("") : parse_qualifiers(d);
        type = parse_function(d, cv);
        type.before = text_join(d, type.before, TEXT(" "));
        return type;
    }
    if (take(d, "B")) {
        return parse_type(d);
    }
    if (take(d, "C")) {
        cv = parse_cv(d);
        type = parse_type(d);
        qualify_type(d, &type, cv);
        return type;
    }
    if (take(d, "T")) {
        return type_plain(TEXT("std::nullptr_t"));
    }
    demangle_fail(d);
    return type_plain(TEXT(""));
}

static struct type parse_basic(struct demangler *d)
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
        if (take(d, types[i].code)) {
            return type_plain(
                (struct text){types[i].text, strlen(types[i].text)});
        }
    }
    demangle_fail(d);
    return type_plain(TEXT(""));
}

/* "<auto>", which is written like a class without a scope. */
static struct type parse_deduced(struct demangler *d)
{
    struct type type = type_plain(parse_part(d));

    if (!take(d, "@")) {
        demangle_fail(d);
    }
    return type;
}

static struct type parse_any_type(struct demangler *d)
{
    struct type type;
    struct text cv;

    switch (peek(d)) {
    case 'A':
        d->p++;
        return parse_pointer(d, TEXT("&"));
    case 'B':
        d->p++;
        return parse_pointer(d, TEXT("& volatile"));
    case 'P':
        d->p++;
        return parse_pointer(d, TEXT("*"));
    case 'Q':
        d->p++;
        return parse_pointer(d, TEXT("* const"));
    case 'R':
        d->p++;
        return parse_pointer(d, TEXT("* volatile"));
    case 'S':
        d->p++;
        return parse_pointer(d, TEXT("* const volatile"));
    case 'T':
    case 'U':
    case 'V':
        d->p++;
        return parse_class(d);
    case 'W':
        d->p += d->end - d->p > 1 ? 2 : 1;
        return parse_class(d);
    case 'Y':
        d->p++;
        return parse_array(d);
    case '?':
        d->p++;
        cv = parse_cv(d);
        type = take(d, "?") ? parse_deduced(d) : parse_type(d);
        qualify_type(d, &type, cv);
        return type;
    }
    if (take(d, "$$")) {
        return parse_extended(d);
    }
    return parse_basic(d);
}

struct type parse_type(struct demangler *d)
{
    struct type type;

    if (!demangle_enter(d)) {
        return type_plain(TEXT(""));
    }
    type = parse_any_type(d);
    d->depth--;
    return type;
}
