/*
 * Copyright (C) the ngx_symcache authors
 */
#include "msvc_parser.h"

#include <string.h>

static void remember_name(struct demangler *d, struct text name)
{
    size_t i;

    for (i = 0; i < d->refs.nnames; i++) {
        if (d->refs.names[i].size == name.size &&
            memcmp(d->refs.names[i].data, name.data, name.size) == 0) {
            return;
        }
    }
    if (d->refs.nnames < DEMANGLE_BACKREFS) {
        d->refs.names[d->refs.nnames++] = name;
    }
}

/* Characters up to "@". */
static struct text parse_simple(struct demangler *d)
{
    const char *at;
    struct text name;

    at = memchr(d->p, '@', (size_t)(d->end - d->p));
    if (at == NULL || at == d->p) {
        demangle_fail(d);
        return TEXT("");
    }
    name = (struct text){d->p, (size_t)(at - d->p)};
    d->p = at + 1;
    return name;
}

static const struct {
    const char *code;
    const char *text;
} operators[] = {
    {"2", "operator new"},
    {"3", "operator delete"},
    {"4", "operator="},
    {"5", "operator>>"},
    {"6", "operator<<"},
    {"7", "operator!"},
    {"8", "operator=="},
    {"9", "operator!="},
    {"A", "operator[]"},
    {"C", "operator->"},
    {"D", "operator*"},
    {"E", "operator++"},
    {"F", "operator--"},
    {"G", "operator-"},
    {"H", "operator+"},
    {"I", "operator&"},
    {"J", "operator->*"},
    {"K", "operator/"},
    {"L", "operator%"},
    {"M", "operator<"},
    {"N", "operator<="},
    {"O", "operator>"},
    {"P", "operator>="},
    {"Q", "operator,"},
    {"R", "operator()"},
    {"S", "operator~"},
    {"T", "operator^"},
    {"U", "operator|"},
    {"V", "operator&&"},
    {"W", "operator||"},
    {"X", "operator*="},
    {"Y", "operator+="},
    {"Z", "operator-="},
    {"_0", "operator/="},
    {"_1", "operator%="},
    {"_2", "operator>>="},
    {"_3", "operator<<="},
    {"_4", "operator&="},
    {"_5", "operator|="},
    {"_6", "operator^="},
    {"_7", "`vftable'"},
    {"_8", "`vbtable'"},
    {"_9", "`vcall'"},
    {"_A", "`typeof'"},
    {"_B", "`local static guard'"},
    {"_D", "`vbase destructor'"},
    {"_E", "`vector deleting destructor'"},
    {"_F", "`default constructor closure'"},
    {"_G", "`scalar deleting destructor'"},
    {"_H", "`vector constructor iterator'"},
    {"_I", "`vector destructor iterator'"},
    {"_J", "`vector vbase constructor iterator'"},
    {"_K", "`virtual displacement map'"},
    {"_L", "`eh vector constructor iterator'"},
    {"_M", "`eh vector destructor iterator'"},
    {"_N", "`eh vector vbase constructor iterator'"},
    {"_O", "`copy constructor closure'"},
    {"_R2", "`RTTI Base Class Array'"},
    {"_R3", "`RTTI Class Hierarchy Descriptor'"},
    {"_R4", "`RTTI Complete Object Locator'"},
    {"_S", "`local vftable'"},
    {"_T", "`local vftable constructor closure'"},
    {"_U", "operator new[]"},
    {"_V", "operator delete[]"},
    {"_X", "`placement delete closure'"},
    {"_Y", "`placement delete[] closure'"},
    {"__L", "operator co_await"},
    {"__M", "operator<=>"},
};

static struct text find_operator(struct demangler *d)
{
    size_t i;

    for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        if (take(d, operators[i].code)) {
            return (struct text){operators[i].text, strlen(operators[i].text)};
        }
    }
    demangle_fail(d);
    return TEXT("");
}

/* Special names that bring a part of their own. */
static struct text parse_operator(struct demangler *d, enum special *special)
{
    int i;
    struct text text;

    if (take(d, "0")) {
        *special = SPECIAL_CTOR;
        return TEXT("ctor");
    }
    if (take(d, "1")) {
        *special = SPECIAL_DTOR;
        return TEXT("dtor");
    }
    if (take(d, "B")) {
        *special = SPECIAL_CONVERSION;
        return TEXT("operator ");
    }
    if (take(d, "_R1")) {
        text = TEXT("`RTTI Base Class Descriptor at (");
        for (i = 0; i < 4; i++) {
            text = text_join3(d, text, i > 0 ? TEXT(", ") : TEXT(""),
                              parse_number(d));
        }
        return text_join(d, text, TEXT(")'"));
    }
    if (take(d, "__K")) {
        return text_join(d, TEXT("operator \"\" "), parse_simple(d));
    }
    return find_operator(d);
}

/* One argument of a template; empty for a pack that is. */
static struct text parse_argument(struct demangler *d)
{
    struct text a, b;

    if (take(d, "$0")) {
        return parse_number(d);
    }
    if (take(d, "$1?")) {
        return text_join(d, TEXT("&"), parse_symbol(d));
    }
    if (take(d, "$E?")) {
        return parse_symbol(d);
    }
    if (take(d, "$F") || take(d, "$2")) {
        a = parse_number(d);
        b = parse_number(d);
        return text_join(
            d, text_join3(d, text_join(d, TEXT("{"), a), TEXT(","), b),
            TEXT("}"));
    }
    if (take(d, "$M")) {
        parse_type(d);
        return take(d, "0") ? parse_number(d) : TEXT("");
    }
    if (take(d, "$S") || take(d, "$$V") || take(d, "$$$V") || take(d, "$$Z")) {
        return TEXT("");
    }
    return type_whole(d, parse_type(d));
}

/* Arguments up to "@", between "<" and ">". */
static struct text parse_template_arguments(struct demangler *d)
{
    size_t i;
    bool is_type;
    const char *begin;
    struct text list, argument;

    list = TEXT("<");
    while (!d->has_failed && !take(d, "@")) {
        begin = d->p;
        if (is_digit(peek(d))) {
            i = (size_t)(*d->p++ - '0');
            if (i >= d->refs.ntypes) {
                demangle_fail(d);
                break;
            }
            argument = type_whole(d, d->refs.types[i]);
        } else {
            is_type = peek(d) != '$' || peek_second(d) == '$';
            argument = parse_argument(d);
            if (is_type) {
                remember_type(d, type_plain(argument), (size_t)(d->p - begin));
            }
        }
        if (argument.size > 0) {
            list = text_join3(d, list, list.size > 1 ? TEXT(", ") : TEXT(""),
                              argument);
        }
    }
    if (list.data[list.size - 1] == '>') {
        list = text_join(d, list, TEXT(" "));
    }
    return text_join(d, list, TEXT(">"));
}

/* A template's name and arguments, after "?$". */
static struct text parse_template(struct demangler *d)
{
    struct text name;
    struct backrefs outer;
    enum special special = SPECIAL_NONE;

    outer = d->refs;
    d->refs.nnames = d->refs.ntypes = 0;
    if (take(d, "?")) {
        name = parse_operator(d, &special);
        if (special == SPECIAL_CONVERSION) {
            name = TEXT("operatorcast");
        }
    } else {
        name = parse_simple(d);
        remember_name(d, name);
    }
    name = text_join(d, name, parse_template_arguments(d));
    d->refs = outer;
    return name;
}

/* One part of a name that is not special. */
struct text parse_part(struct demangler *d)
{
    size_t i;
    struct text name;

    if (is_digit(peek(d))) {
        i = (size_t)(*d->p++ - '0');
        if (i >= d->refs.nnames) {
            demangle_fail(d);
            return TEXT("");
        }
        return d->refs.names[i];
    }
    if (take(d, "?$")) {
        name = parse_template(d);
    } else if (take(d, "?A")) {
        d->p--;
        name = parse_simple(d);
        remember_name(d, name);
        return TEXT("`anonymous namespace'");
    } else {
        name = parse_simple(d);
    }
    remember_name(d, name);
    return name;
}

/* A part that names a place inside a function: "`f(int)'::`2'". */
static struct text parse_local(struct demangler *d)
{
    struct text n, symbol;

    n = parse_number(d);
    if (!take(d, "??")) {
        demangle_fail(d);
    }
    symbol = text_join3(d, TEXT("`"), parse_symbol(d), TEXT("'"));
    return text_join3(d, text_join(d, symbol, TEXT("::`")), n, TEXT("'"));
}

static bool is_local(const struct demangler *d)
{
    return d->end - d->p > 2 && d->p[0] == '?' && d->p[1] != '$' &&
           (is_digit(d->p[1]) || (d->p[1] >= 'B' && d->p[1] <= 'P') ||
            d->p[1] == '?');
}

/* The parts up to "@", outermost last in the text and first in the result. */
struct text parse_scope(struct demangler *d)
{
    struct text scope, part;

    scope = TEXT("");
    while (!d->has_failed && !take(d, "@")) {
        if (is_local(d)) {
            d->p++;
            part = parse_local(d);
        } else {
            part = parse_part(d);
        }
        scope =
            scope.size == 0 ? part : text_join3(d, part, TEXT("::"), scope);
    }
    return scope;
}

/* Constructors and destructors have the name of their class. */
static struct text last_part(struct text scope)
{
    size_t i, depth;

    depth = 0;
    for (i = scope.size; i > 1; i--) {
        depth += scope.data[i - 1] == '>' || scope.data[i - 1] == '\'';
        depth -= (scope.data[i - 1] == '<' || scope.data[i - 1] == '`') &&
                 depth > 0;
        if (depth == 0 && scope.data[i - 1] == ':' &&
            scope.data[i - 2] == ':') {
            return (struct text){scope.data + i, scope.size - i};
        }
    }
    return scope;
}

/* `dynamic initializer for 'x'' and its like, of a name or a symbol. */
static bool parse_dynamic(struct demangler *d, struct name *name)
{
    struct text what;

    if (take(d, "?__E")) {
        what = TEXT("`dynamic initializer'");
    } else if (take(d, "?__F")) {
        what = TEXT("`dynamic atexit destructor'");
    } else {
        return false;
    }
    name->scope = text_join(d, TEXT(""), parse_part(d));
    name->last = parse_scope(d);
    if (name->last.size > 0) {
        name->scope = text_join3(d, name->last, TEXT("::"), name->scope);
    }
    name->last = what;
    return true;
}

struct name parse_name(struct demangler *d)
{
    struct name name = {0};

    if (parse_dynamic(d, &name)) {
        return name;
    }
    if (take(d, "?_R0")) {
        name.scope = type_whole(d, parse_type(d));
        name.last = TEXT("`RTTI Type Descriptor'");
        if (!take(d, "@")) {
            demangle_fail(d);
        }
        return name;
    }
    if (peek(d) == '?' && peek_second(d) != '$' && peek_second(d) != -1) {
        d->p++;
        name.last = parse_operator(d, &name.special);
    } else if (take(d, "?$")) {
        name.last = parse_template(d); /* no digit refers to it */
    } else {
        name.last = parse_part(d);
    }
    name.scope = parse_scope(d);
    if (name.special == SPECIAL_CTOR) {
        name.last = last_part(name.scope);
    } else if (name.special == SPECIAL_DTOR) {
        name.last = text_join(d, TEXT("~"), last_part(name.scope));
    }
    return name;
}

struct text full_name(struct demangler *d, const struct name *name)
{
    return name->scope.size == 0
               ? name->last
               : text_join3(d, text_join(d, name->scope, TEXT("::")),
                            name->last, TEXT(""));
}
