/*
 * Copyright (C) the ngx_symcache authors
 */
#include "msvc_parser.h"

#include <string.h>

static void remember_name(struct msvc_parser *msvc, struct text name)
{
    size_t i;

    for (i = 0; i < msvc->refs.nnames; i++) {
        if (msvc->refs.names[i].size == name.size &&
            memcmp(msvc->refs.names[i].data, name.data, name.size) == 0) {
            return;
        }
    }
    if (msvc->refs.nnames < DEMANGLE_BACKREFS) {
        msvc->refs.names[msvc->refs.nnames++] = name;
    }
}

/* Characters up to "@". */
static struct text parse_simple_name(struct msvc_parser *msvc)
{
    const char *at;
    struct text name;

    at = memchr(msvc->p, '@', (size_t)(msvc->end - msvc->p));
    if (at == NULL || at == msvc->p) {
        demangle_fail(msvc);
        return TEXT("");
    }
    name = (struct text){msvc->p, (size_t)(at - msvc->p)};
    msvc->p = at + 1;
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

static struct text find_operator_name(struct msvc_parser *msvc)
{
    size_t i;

    for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        if (take(msvc, operators[i].code)) {
            return (struct text){operators[i].text, strlen(operators[i].text)};
        }
    }
    demangle_fail(msvc);
    return TEXT("");
}

/* Special names that bring a part of their own. */
static struct text parse_operator_name(struct msvc_parser *msvc,
                                       enum special *special)
{
    int i;
    struct text text;

    if (take(msvc, "0")) {
        *special = SPECIAL_CTOR;
        return TEXT("ctor");
    }
    if (take(msvc, "1")) {
        *special = SPECIAL_DTOR;
        return TEXT("dtor");
    }
    if (take(msvc, "B")) {
        *special = SPECIAL_CONVERSION;
        return TEXT("operator ");
    }
    if (take(msvc, "_R1")) {
        text = TEXT("`RTTI Base Class Descriptor at (");
        for (i = 0; i < 4; i++) {
            text = text_join3(msvc, text, i > 0 ? TEXT(", ") : TEXT(""),
                              text_of_number(msvc));
        }
        return text_join(msvc, text, TEXT(")'"));
    }
    if (take(msvc, "__K")) {
        return text_join(msvc, TEXT("operator \"\" "),
                         parse_simple_name(msvc));
    }
    return find_operator_name(msvc);
}

/* One argument of a template; empty for a pack that is. */
static struct text parse_argument_name(struct msvc_parser *msvc)
{
    struct text a, b;

    if (take(msvc, "$0")) {
        return text_of_number(msvc);
    }
    if (take(msvc, "$1?")) {
        return text_join(msvc, TEXT("&"), parse_symbol(msvc));
    }
    if (take(msvc, "$E?")) {
        return parse_symbol(msvc);
    }
    if (take(msvc, "$F") || take(msvc, "$2")) {
        a = text_of_number(msvc);
        b = text_of_number(msvc);
        return text_join(
            msvc,
            text_join3(msvc, text_join(msvc, TEXT("{"), a), TEXT(","), b),
            TEXT("}"));
    }
    if (take(msvc, "$M")) {
        parse_type(msvc);
        return take(msvc, "0") ? text_of_number(msvc) : TEXT("");
    }
    if (take(msvc, "$S") || take(msvc, "$$V") || take(msvc, "$$$V") ||
        take(msvc, "$$Z")) {
        return TEXT("");
    }
    return type_whole(msvc, parse_type(msvc));
}

/* Arguments up to "@", between "<" and ">". */
static struct text parse_names_arguments(struct msvc_parser *msvc)
{
    size_t i;
    bool is_type;
    const char *begin;
    struct text list, argument;

    list = TEXT("<");
    while (!msvc->has_failed && !take(msvc, "@")) {
        begin = msvc->p;
        if (is_digit(peek(msvc))) {
            i = (size_t)(*msvc->p++ - '0');
            if (i >= msvc->refs.ntypes) {
                demangle_fail(msvc);
                break;
            }
            argument = type_whole(msvc, msvc->refs.types[i]);
        } else {
            is_type = peek(msvc) != '$' || peek_second(msvc) == '$';
            argument = parse_argument_name(msvc);
            if (is_type) {
                remember_type(msvc, type_plain(argument),
                              (size_t)(msvc->p - begin));
            }
        }
        if (argument.size > 0) {
            list = text_join3(msvc, list,
                              list.size > 1 ? TEXT(", ") : TEXT(""), argument);
        }
    }
    if (list.data[list.size - 1] == '>') {
        list = text_join(msvc, list, TEXT(" "));
    }
    return text_join(msvc, list, TEXT(">"));
}

/* A template's name and arguments, after "?$". */
static struct text parse_template_name(struct msvc_parser *msvc)
{
    struct text name;
    struct backrefs outer;
    enum special special = SPECIAL_NONE;

    outer = msvc->refs;
    msvc->refs.nnames = msvc->refs.ntypes = 0;
    if (take(msvc, "?")) {
        name = parse_operator_name(msvc, &special);
        if (special == SPECIAL_CONVERSION) {
            name = TEXT("operatorcast");
        }
    } else {
        name = parse_simple_name(msvc);
        remember_name(msvc, name);
    }
    name = text_join(msvc, name, parse_names_arguments(msvc));
    msvc->refs = outer;
    return name;
}

/* One part of a name that is not special. */
struct text parse_name_part(struct msvc_parser *msvc)
{
    size_t i;
    struct text name;

    if (is_digit(peek(msvc))) {
        i = (size_t)(*msvc->p++ - '0');
        if (i >= msvc->refs.nnames) {
            demangle_fail(msvc);
            return TEXT("");
        }
        return msvc->refs.names[i];
    }
    if (take(msvc, "?$")) {
        name = parse_template_name(msvc);
    } else if (take(msvc, "?A")) {
        msvc->p--;
        name = parse_simple_name(msvc);
        remember_name(msvc, name);
        return TEXT("`anonymous namespace'");
    } else {
        name = parse_simple_name(msvc);
    }
    remember_name(msvc, name);
    return name;
}

/* A part that names a place inside a function: "`f(int)'::`2'". */
static struct text parse_local_name(struct msvc_parser *msvc)
{
    struct text n, symbol;

    n = text_of_number(msvc);
    if (!take(msvc, "??")) {
        demangle_fail(msvc);
    }
    symbol = text_join3(msvc, TEXT("`"), parse_symbol(msvc), TEXT("'"));
    return text_join3(msvc, text_join(msvc, symbol, TEXT("::`")), n,
                      TEXT("'"));
}

static bool is_local_name(const struct msvc_parser *msvc)
{
    return msvc->end - msvc->p > 2 && msvc->p[0] == '?' && msvc->p[1] != '$' &&
           (is_digit(msvc->p[1]) || (msvc->p[1] >= 'B' && msvc->p[1] <= 'P') ||
            msvc->p[1] == '?');
}

/* The parts up to "@", outermost last in the text and first in the result. */
struct text parse_name_scope(struct msvc_parser *msvc)
{
    struct text scope, part;

    scope = TEXT("");
    while (!msvc->has_failed && !take(msvc, "@")) {
        if (is_local_name(msvc)) {
            msvc->p++;
            part = parse_local_name(msvc);
        } else {
            part = parse_name_part(msvc);
        }
        scope =
            scope.size == 0 ? part : text_join3(msvc, part, TEXT("::"), scope);
    }
    return scope;
}

/* Constructors and destructors have the name of their class. */
static struct text name_last_part(struct text scope)
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
static bool parse_dynamic_name(struct msvc_parser *msvc, struct name *name)
{
    struct text what;

    if (take(msvc, "?__E")) {
        what = TEXT("`dynamic initializer'");
    } else if (take(msvc, "?__F")) {
        what = TEXT("`dynamic atexit destructor'");
    } else {
        return false;
    }
    name->scope = text_join(msvc, TEXT(""), parse_name_part(msvc));
    name->last = parse_name_scope(msvc);
    if (name->last.size > 0) {
        name->scope = text_join3(msvc, name->last, TEXT("::"), name->scope);
    }
    name->last = what;
    return true;
}

struct name parse_name(struct msvc_parser *msvc)
{
    struct name name = {0};

    if (parse_dynamic_name(msvc, &name)) {
        return name;
    }
    if (take(msvc, "?_R0")) {
        name.scope = type_whole(msvc, parse_type(msvc));
        name.last = TEXT("`RTTI Type Descriptor'");
        if (!take(msvc, "@")) {
            demangle_fail(msvc);
        }
        return name;
    }
    if (peek(msvc) == '?' && peek_second(msvc) != '$' &&
        peek_second(msvc) != -1) {
        msvc->p++;
        name.last = parse_operator_name(msvc, &name.special);
    } else if (take(msvc, "?$")) {
        name.last = parse_template_name(msvc); /* no digit refers to it */
    } else {
        name.last = parse_name_part(msvc);
    }
    name.scope = parse_name_scope(msvc);
    if (name.special == SPECIAL_CTOR) {
        name.last = name_last_part(name.scope);
    } else if (name.special == SPECIAL_DTOR) {
        name.last = text_join(msvc, TEXT("~"), name_last_part(name.scope));
    }
    return name;
}

struct text full_name(struct msvc_parser *msvc, const struct name *name)
{
    return name->scope.size == 0
               ? name->last
               : text_join3(msvc, text_join(msvc, name->scope, TEXT("::")),
                            name->last, TEXT(""));
}
