/*
 * Copyright (C) the ngx_symcache authors
 */
#include "msvc_parser.h"

/* Of a virtual table: the bases that it is for. */
static struct text symbol_bases(struct msvc_parser *msvc, struct text name)
{
    bool is_first;

    parse_type_cv(msvc);
    for (is_first = true; !msvc->has_failed && !take(msvc, "@");
         is_first = false) {
        name = text_join(msvc, name, is_first ? TEXT("{for `") : TEXT("'s `"));
        name = text_join(msvc, name, type_whole(msvc, parse_class_type(msvc)));
        if (peek(msvc) == '@' && msvc->p + 1 == msvc->end) {
            name = text_join(msvc, name, TEXT("'}"));
        }
    }
    return name;
}

/* The function after its name; the letter tells the kind of function. */
static struct text symbol_method(struct msvc_parser *msvc, struct name *name)
{
    int code;
    struct text cv, text;
    struct type result;

    code = *msvc->p++;
    cv = TEXT("");
    if (code < 'Y' && (code - 'A') % 8 / 2 == 3) {
        text_of_number(msvc); /* by how much a thunk moves the object */
    }
    if (code < 'Y' && (code - 'A') % 8 / 2 != 1) {
        cv = parse_type_qualifiers(msvc);
    }
    msvc->p += msvc->p < msvc->end; /* the calling convention */
    result = take(msvc, "@") ? type_plain(TEXT("")) : parse_type(msvc);
    if (name->special == SPECIAL_CONVERSION) {
        name->last = text_join(msvc, name->last, type_whole(msvc, result));
    }
    text = full_name(msvc, name);
    text = text_join3(msvc, text, parse_parameter_types(msvc), cv);
    skip_throw(msvc);
    return text_join(msvc, text, result.after); /* see demangle.h */
}

/* A call of the virtual function at an offset of the table, after its name. */
static struct text symbol_vcall(struct msvc_parser *msvc, struct text name)
{
    name = text_join3(msvc, name, TEXT("{"), text_of_number(msvc));
    if (!take(msvc, "A") || msvc->p >= msvc->end) {
        demangle_fail(msvc);
        return name;
    }
    msvc->p++; /* the calling convention */
    return text_join(msvc, name, TEXT(", {flat}}"));
}

struct text parse_symbol(struct msvc_parser *msvc)
{
    struct name name;
    struct text text;

    if (!demangle_enter(msvc)) {
        return TEXT("");
    }
    name = parse_name(msvc);
    if (take(msvc, "$B")) {
        text = symbol_vcall(msvc, full_name(msvc, &name));
    } else if (peek(msvc) >= 'A' && peek(msvc) <= 'Z') {
        text = symbol_method(msvc, &name);
    } else {
        text = full_name(msvc, &name);
        switch (msvc->p < msvc->end ? *msvc->p++ : '\0') {
        case '0':
        case '1':
        case '2':
        case '3':
        case '4':
            text = text_join(msvc, text, parse_type(msvc).after);
            skip_type_modifiers(msvc);
            parse_type_cv(msvc);
            break;
        case '5':
            text = text_join3(msvc, text, TEXT("{"), text_of_number(msvc));
            text = text_join(msvc, text, TEXT("}"));
            break;
        case '6':
        case '7':
            text = symbol_bases(msvc, text);
            break;
        case '8':
        case '9':
            break;
        default:
            demangle_fail(msvc);
        }
    }
    msvc->depth--;
    return text;
}

/* Does LLVM's word for a copy or a part of a function come next, as in
 * ".llvm.123" or ".resume"?  It is not told. */
static bool symbol_is_at_suffix(const struct msvc_parser *msvc)
{
    return msvc->end - msvc->p > 1 && *msvc->p == '.';
}

bool msvc_demangle(const struct symc_string *name, char *room,
                   struct symc_string *readable)
{
    struct msvc_parser msvc = {0};
    struct text text;

    if (name->size < 2) {
        return false;
    }
    text = (struct text){name->data, name->size};
    if (text_starts_with(text, TEXT("??_C@_"))) {
        if (!text_ends_with(text, TEXT("?$AA@"))) {
            return false; /* the beginning of a longer one */
        }
        readable->data = "`string'";
        readable->size = 8;
        return true;
    }
    msvc.p = name->data + 1;
    msvc.end = name->data + name->size;
    msvc.room = room;
    text = parse_symbol(&msvc);
    if (msvc.has_failed ||
        (msvc.p != msvc.end && !symbol_is_at_suffix(&msvc))) {
        return false;
    }
    readable->data = text.data;
    readable->size = text.size;
    return true;
}
