/*
 * Copyright (C) the ngx_symcache authors
 */
#include "demangle.h"

#include "msvc_parser.h"

/* Of a virtual table: the bases that it is for. */
static struct text parse_bases(struct demangler *d, struct text name)
{
    bool is_first;

    parse_cv(d);
    for (is_first = true; !d->has_failed && !take(d, "@"); is_first = false) {
        name = text_join(d, name, is_first ? TEXT("{for `") : TEXT("'s `"));
        name = text_join(d, name, type_whole(d, parse_class(d)));
        if (peek(d) == '@' && d->p + 1 == d->end) {
            name = text_join(d, name, TEXT("'}"));
        }
    }
    return name;
}

/* The function after its name; the letter tells the kind of function. */
static struct text parse_method(struct demangler *d, struct name *name)
{
    int code;
    struct text cv, text;
    struct type result;

    code = *d->p++;
    cv = TEXT("");
    if (code < 'Y' && (code - 'A') % 8 / 2 == 3) {
        parse_number(d); /* by how much a thunk moves the object */
    }
    if (code < 'Y' && (code - 'A') % 8 / 2 != 1) {
        cv = parse_qualifiers(d);
    }
    d->p += d->p < d->end; /* the calling convention */
    result = take(d, "@") ? type_plain(TEXT("")) : parse_type(d);
    if (name->special == SPECIAL_CONVERSION) {
        name->last = text_join(d, name->last, type_whole(d, result));
    }
    text = full_name(d, name);
    text = text_join3(d, text, parse_parameters(d), cv);
    skip_throw(d);
    return text_join(d, text, result.after); /* see demangle.h */
}

/* A call of the virtual function at an offset of the table, after its name. */
static struct text parse_vcall(struct demangler *d, struct text name)
{
    name = text_join3(d, name, TEXT("{"), parse_number(d));
    if (!take(d, "A") || d->p >= d->end) {
        demangle_fail(d);
        return name;
    }
    d->p++; /* the calling convention */
    return text_join(d, name, TEXT(", {flat}}"));
}

struct text parse_symbol(struct demangler *d)
{
    struct name name;
    struct text text;

    if (!demangle_enter(d)) {
        return TEXT("");
    }
    name = parse_name(d);
    if (take(d, "$B")) {
        text = parse_vcall(d, full_name(d, &name));
    } else if (peek(d) >= 'A' && peek(d) <= 'Z') {
        text = parse_method(d, &name);
    } else {
        text = full_name(d, &name);
        switch (d->p < d->end ? *d->p++ : '\0') {
        case '0':
        case '1':
        case '2':
        case '3':
        case '4':
            text = text_join(d, text, parse_type(d).after);
            skip_modifiers(d);
            parse_cv(d);
            break;
        case '5':
            text = text_join3(d, text, TEXT("{"), parse_number(d));
            text = text_join(d, text, TEXT("}"));
            break;
        case '6':
        case '7':
            text = parse_bases(d, text);
            break;
        case '8':
        case '9':
            break;
        default:
            demangle_fail(d);
        }
    }
    d->depth--;
    return text;
}

/* Does LLVM's word for a copy or a part of a function come next, as in
 * ".llvm.123" or ".resume"?  It is not told. */
static bool is_at_suffix(const struct demangler *d)
{
    return d->end - d->p > 1 && *d->p == '.';
}

/* The same for a name of Microsoft's compilers, which begins with "?". */
static bool demangle_msvc(const struct symc_string *name, char *room,
                          struct symc_string *readable)
{
    struct demangler d = {0};
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
    d.p = name->data + 1;
    d.end = name->data + name->size;
    d.room = room;
    text = parse_symbol(&d);
    if (d.has_failed || (d.p != d.end && !is_at_suffix(&d))) {
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
