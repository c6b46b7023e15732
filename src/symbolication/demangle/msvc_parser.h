/*
 * Copyright (C) the ngx_symcache authors
 *
 * The parser of decorated names, by what it reads: msvc_text.c characters and
 * pieces of text, msvc_name.c names and templates, msvc_type.c types and
 * parameters, msvc_symbol.c whole symbols.  Where something is not understood,
 * the parser goes to the end and has_failed is set; nobody needs to look
 * before that.
 */
#pragma once

#include "demangle.h"

#define DEMANGLE_BACKREFS 10
#define DEMANGLE_DEPTH_MAX 64

struct text {
    const char *data;
    size_t size;
};

#define TEXT(literal) ((struct text){literal, sizeof(literal) - 1})

/* A type is written around a name: "int (*" NAME ")[3]". */
struct type {
    struct text before;
    struct text after;
    bool needs_brackets; /* around "*": functions and arrays */
};

/* The names and types that digits refer to; an argument list of a template has
 * its own. */
struct backrefs {
    struct text names[DEMANGLE_BACKREFS];
    struct type types[DEMANGLE_BACKREFS];
    size_t nnames;
    size_t ntypes;
};

struct msvc_parser {
    const char *p;
    const char *end;
    char *room; /* of DEMANGLE_ROOM bytes */
    size_t used;
    unsigned depth;
    bool has_failed;
    struct backrefs refs;
};

/* Names that get a part from elsewhere. */
enum special { SPECIAL_NONE, SPECIAL_CTOR, SPECIAL_DTOR, SPECIAL_CONVERSION };

struct name {
    struct text last;
    struct text scope; /* "A::B", or empty */
    enum special special;
};

void demangle_fail(struct msvc_parser *msvc);

/* One level deeper; the caller takes it back.  False: too deep. */
bool demangle_enter(struct msvc_parser *msvc);

struct text text_join(struct msvc_parser *msvc, struct text a, struct text b);
struct text text_join3(struct msvc_parser *msvc, struct text a, struct text b,
                       struct text c);
bool text_starts_with(struct text text, struct text begin);
bool text_ends_with(struct text text, struct text end);

/* The next character and the one after it; -1 at the end. */
int peek(const struct msvc_parser *msvc);
int peek_second(const struct msvc_parser *msvc);

/* Passes over these characters if they come next. */
bool take(struct msvc_parser *msvc, const char *what);

/* A number, as decimal digits. */
struct text text_of_number(struct msvc_parser *msvc);

/* One part of a name, and all parts up to "@", the outermost first. */
struct text parse_name_part(struct msvc_parser *msvc);
struct text parse_name_scope(struct msvc_parser *msvc);
struct name parse_name(struct msvc_parser *msvc);
struct text full_name(struct msvc_parser *msvc, const struct name *name);

struct type type_plain(struct text text);
struct text type_whole(struct msvc_parser *msvc, struct type type);
struct type parse_type(struct msvc_parser *msvc);
struct type parse_class_type(struct msvc_parser *msvc);

/* " const" and the like. */
struct text parse_type_cv(struct msvc_parser *msvc);

/* Words of pointers that are not told: 64 bits, unaligned, restrict. */
void skip_type_modifiers(struct msvc_parser *msvc);

/* Of a member function: these words, " const" and the like, " &". */
struct text parse_type_qualifiers(struct msvc_parser *msvc);

/* Digits may refer to a type that had size characters. */
void remember_type(struct msvc_parser *msvc, struct type type, size_t size);

/* Parameters up to "@" or "Z", with their brackets, and what may be thrown. */
struct text parse_parameter_types(struct msvc_parser *msvc);
void skip_throw(struct msvc_parser *msvc);

/* A symbol after its "?". */
struct text parse_symbol(struct msvc_parser *msvc);

/* As demangle(), of a name that begins with "?". */
bool msvc_demangle(const struct symc_string *name, char *room,
                   struct symc_string *readable);

static inline bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}
