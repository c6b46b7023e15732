/*
 * Copyright (C) the ngx_symcache authors
 */
#include "demangle.h"

#include "msvc_parser.h"

/* Of a virtual table: the bases that it is for. */
static struct text parse_bases(struct msvc_parser *demangler, struct text name)
{
    bool is_first;

    parse_cv(demangler);
    for (is_first = true; !demangler->has_failed && !take(demangler, "@");
         is_first = false) {
        name = text_join(demangler, name,
                         is_first ? TEXT("{for `") : TEXT("'s `"));
        name = text_join(demangler, name,
                         type_whole(demangler, parse_class(demangler)));
        if (peek(demangler) == '@' && demangler->p + 1 == demangler->end) {
            name = text_join(demangler, name, TEXT("'}"));
        }
    }
    return name;
}

/* The function after its name; the letter tells the kind of function. */
static struct text parse_method(struct msvc_parser *demangler,
                                struct name *name)
{
    int code;
    struct text cv, text;
    struct type result;

    code = *demangler->p++;
    cv = TEXT("");
    if (code < 'Y' && (code - 'A') % 8 / 2 == 3) {
        parse_number(demangler); /* by how much a thunk moves the object */
    }
    if (code < 'Y' && (code - 'A') % 8 / 2 != 1) {
        cv = parse_qualifiers(demangler);
    }
    demangler->p += demangler->p < demangler->end; /* the calling convention */
    result =
        take(demangler, "@") ? type_plain(TEXT("")) : parse_type(demangler);
    if (name->special == SPECIAL_CONVERSION) {
        name->last =
            text_join(demangler, name->last, type_whole(demangler, result));
    }
    text = full_name(demangler, name);
    text = text_join3(demangler, text, parse_parameters(demangler), cv);
    skip_throw(demangler);
    return text_join(demangler, text, result.after); /* see demangle.h */
}

/* A call of the virtual function at an offset of the table, after its name. */
static struct text parse_vcall(struct msvc_parser *demangler, struct text name)
{
    name = text_join3(demangler, name, TEXT("{"), parse_number(demangler));
    if (!take(demangler, "A") || demangler->p >= demangler->end) {
        demangle_fail(demangler);
        return name;
    }
    demangler->p++; /* the calling convention */
    return text_join(demangler, name, TEXT(", {flat}}"));
}

struct text parse_symbol(struct msvc_parser *demangler)
{
    struct name name;
    struct text text;

    if (!demangle_enter(demangler)) {
        return TEXT("");
    }
    name = parse_name(demangler);
    if (take(demangler, "$B")) {
        text = parse_vcall(demangler, full_name(demangler, &name));
    } else if (peek(demangler) >= 'A' && peek(demangler) <= 'Z') {
        text = parse_method(demangler, &name);
    } else {
        text = full_name(demangler, &name);
        switch (demangler->p < demangler->end ? *demangler->p++ : '\0') {
        case '0':
        case '1':
        case '2':
        case '3':
        case '4':
            text = text_join(demangler, text, parse_type(demangler).after);
            skip_modifiers(demangler);
            parse_cv(demangler);
            break;
        case '5':
            text = text_join3(demangler, text, TEXT("{"),
                              parse_number(demangler));
            text = text_join(demangler, text, TEXT("}"));
            break;
        case '6':
        case '7':
            text = parse_bases(demangler, text);
            break;
        case '8':
        case '9':
            break;
        default:
            demangle_fail(demangler);
        }
    }
    demangler->depth--;
    return text;
}

/* Does LLVM's word for a copy or a part of a function come next, as in
 * ".llvm.123" or ".resume"?  It is not told. */
static bool is_at_suffix(const struct msvc_parser *demangler)
{
    return demangler->end - demangler->p > 1 && *demangler->p == '.';
}

/* The same for a name of Microsoft's compilers, which begins with "?". */
static bool demangle_msvc(const struct symc_string *name, char *room,
                          struct symc_string *readable)
{
    struct msvc_parser demangler = {0};
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
    demangler.p = name->data + 1;
    demangler.end = name->data + name->size;
    demangler.room = room;
    text = parse_symbol(&demangler);
    if (demangler.has_failed ||
        (demangler.p != demangler.end && !is_at_suffix(&demangler))) {
        return false;
    }
    readable->data = text.data;
    readable->size = text.size;
    return true;
}

bool demangle(const struct symc_string *name, uint32_t language, char *room,
              struct symc_string *readable)
{
    size_t size;

    *readable = *name;
    if (name->size > 0 && name->data[0] == '?') {
        return demangle_msvc(name, room, readable);
    }
    if (!linkage_sniff(name, language) ||
        !linkage_ask(name, language, room, &size)) {
        return false;
    }
    readable->data = room;
    readable->size = size;
    return true;
}
