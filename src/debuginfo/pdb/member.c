/*
 * Copyright (C) the ngx_symcache authors
 */

#include "member.h"

enum { LF_FIELDLIST = 0x1203, LF_METHODLIST = 0x1206, LF_INDEX = 0x1404 };

/*
 * How each kind of record is written.  The conversions stand for the fields of
 * the record, in their order.  %a: attributes; %h, %b: 16 and 8 bits; %t: a
 * type; %n, %N: a number, in 32 or 64 bits; %v: a number with its width; %i:
 * the place in the table of virtual methods, which only a method that is new
 * there has; %s: a name; %_: two bytes of padding.
 */
static const struct {
    uint32_t kinds[2]; /* the first one has a length before the name */
    const char *form;
} forms[] = {
    {{0x0403, 0x1502},
     "Enumerate(EnumerateType { attributes: %a, value: %v, name: %s })"},
    {{0, 0x1205},
     "Bitfield(BitfieldType { underlying_type: %t, length: %b, "
     "position: %b })"},
    {{0, 0x1400},
     "BaseClass(BaseClassType { kind: Class, attributes: %a, base_class: %t, "
     "offset: %n })"},
    {{0, 0x151A},
     "BaseClass(BaseClassType { kind: Interface, attributes: %a, "
     "base_class: %t, offset: %n })"},
    {{0, 0x1401},
     "VirtualBaseClass(VirtualBaseClassType { direct: true, attributes: %a, "
     "base_class: %t, base_pointer: %t, base_pointer_offset: %n, "
     "virtual_base_offset: %n })"},
    {{0, 0x1402},
     "VirtualBaseClass(VirtualBaseClassType { direct: false, attributes: %a, "
     "base_class: %t, base_pointer: %t, base_pointer_offset: %n, "
     "virtual_base_offset: %n })"},
    {{0x1405, 0x150D},
     "Member(MemberType { attributes: %a, field_type: %t, offset: %N, "
     "name: %s })"},
    {{0x1406, 0x150E},
     "StaticMember(StaticMemberType { attributes: %a, field_type: %t, "
     "name: %s })"},
    {{0x1407, 0x150F},
     "OverloadedMethod(OverloadedMethodType { count: %h, method_list: %t, "
     "name: %s })"},
    {{0x1408, 0x1510},
     "Nested(NestedType { attributes: FieldAttributes(0)%_, nested_type: %t, "
     "name: %s })"},
    {{0x140D, 0x1512},
     "Nested(NestedType { attributes: %a, nested_type: %t, name: %s })"},
    {{0, 0x1409},
     "VirtualFunctionTablePointer(VirtualFunctionTablePointerType { "
     "%_table: %t })"},
    {{0x140B, 0x1511},
     "Method(MethodType { attributes: %a, method_type: %t, "
     "vtable_offset: %i, name: %s })"},
};

#define METHOD_FORM                                                           \
    "MethodListEntry { attributes: %a%_, method_type: %t, vtable_offset: %i " \
    "}"

static const char *member_find_form(uint32_t kind)
{
    size_t i;

    for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (kind != 0 &&
            (forms[i].kinds[0] == kind || forms[i].kinds[1] == kind)) {
            return forms[i].form;
        }
    }
    return NULL;
}

bool member_is(uint32_t kind)
{
    return kind == LF_FIELDLIST || kind == LF_METHODLIST ||
           member_find_form(kind) != NULL;
}

struct member_number member_take_number(struct bytes *b)
{
    uint32_t kind;

    kind = take(b, 2);
    switch (kind) {
    case LF_CHAR:
        return (struct member_number){"U8(%llu)", 0x20, take(b, 1)};
    case LF_SHORT:
        return (struct member_number){"I16(%lld)", 0x11,
                                      (uint64_t)(int64_t)(int16_t)take(b, 2)};
    case LF_USHORT:
        return (struct member_number){"U16(%llu)", 0x21, take(b, 2)};
    case LF_LONG:
        return (struct member_number){"I32(%lld)", 0x12,
                                      (uint64_t)(int64_t)(int32_t)take(b, 4)};
    case LF_ULONG:
        return (struct member_number){"U32(%llu)", 0x22, take(b, 4)};
    case LF_QUADWORD:
        return (struct member_number){"I64(%lld)", 0x13, take_eight(b)};
    case LF_UQUADWORD:
        return (struct member_number){"U64(%llu)", 0x23, take_eight(b)};
    default:
        if (kind < LF_CHAR) {
            return (struct member_number){"U16(%llu)", 0x21, kind};
        }
        b->is_short = 1;
        return (struct member_number){NULL, 0, 0};
    }
}

/* writing; nothing is written if text is NULL ----------------------------- */

static void member_put(struct text *text, const char *data, size_t size)
{
    if (text != NULL) {
        text_add(text, data, size);
    }
}

static void member_put_string(struct text *text, const char *string)
{
    member_put(text, string, strlen(string));
}

static void member_put_number(struct text *text, const char *form,
                              uint64_t number)
{
    if (text != NULL && form != NULL) {
        text_add_number(text, form, number);
    }
}

/* Writes the character at p in escaped form.  Returns how many bytes were
 * used. */
static size_t member_put_escaped(struct text *text, const char *p, size_t left)
{
    const char *at;
    uint8_t c, next;
    static const char plain[] = "\t\r\n\"\\", letters[] = "trn\"\\";

    c = (uint8_t)p[0];
    next = left > 1 ? (uint8_t)p[1] : 0;
    at = c == 0 ? NULL : strchr(plain, c);
    if (at != NULL) {
        member_put(text, "\\", 1);
        member_put(text, &letters[at - plain], 1);
    } else if (c == 0) {
        member_put(text, "\\0", 2);
    } else if (c < 0x20 || c == 0x7F) {
        member_put_number(text, "\\u{%llx}", c);
    } else if (c == 0xC2 && next >= 0x80 && next < 0xA0) {
        member_put_number(text, "\\u{%llx}", next);
        return 2;
    } else {
        member_put(text, p, 1);
    }
    return 1;
}

static void member_put_name(struct text *text, struct bytes *b, uint32_t kind)
{
    size_t i;
    const char *name;
    uint32_t size;

    take_name(b, kind, &name, &size);
    member_put_string(text, "RawString(\"");
    for (i = 0; i < size;) {
        i += member_put_escaped(text, name + i, size - i);
    }
    member_put_string(text, "\")");
}

static bool is_new_virtual(uint32_t attributes)
{
    return (attributes >> 2 & 7) == 4 || (attributes >> 2 & 7) == 6;
}

static void member_put_form(struct text *text, struct bytes *b, uint32_t kind,
                            const char *form)
{
    const char *end;
    uint32_t attributes;
    struct member_number number;

    attributes = 0;
    for (; *form != '\0'; form = end + 2) {
        end = strchr(form, '%');
        if (end == NULL) {
            member_put_string(text, form);
            return;
        }
        member_put(text, form, (size_t)(end - form));
        switch (end[1]) {
        case 'a':
            attributes = take(b, 2);
            member_put_number(text, "FieldAttributes(%llu)", attributes);
            break;
        case 'h':
            member_put_number(text, "%llu", take(b, 2));
            break;
        case 'b':
            member_put_number(text, "%llu", take(b, 1));
            break;
        case 't':
            member_put_number(text, "TypeIndex(0x%llx)", take(b, 4));
            break;
        case 'n':
            member_put_number(text, "%llu", (uint32_t)take_numeric(b));
            break;
        case 'N':
            member_put_number(text, "%llu", take_numeric(b));
            break;
        case 'v':
            number = member_take_number(b);
            member_put_number(text, number.form, number.value);
            break;
        case 'i':
            if (is_new_virtual(attributes)) {
                member_put_number(text, "Some(%llu)", take(b, 4));
            } else {
                member_put_string(text, "None");
            }
            break;
        case 's':
            member_put_name(text, b, kind);
            break;
        default:
            take(b, 2);
            break;
        }
    }
}

/* Writes a list of members.  The reference would also read classes, pointers
 * and other types between members; here these are unknown. */
static enum member_status put_fields(struct text *text, struct bytes *b,
                                     uint32_t *unknown)
{
    int has_more;
    uint32_t kind, more;
    const char *form, *comma;

    comma = "";
    has_more = 0;
    more = 0;
    member_put_string(text, "FieldList(FieldList { fields: [");
    while (b->left > 0) {
        kind = take(b, 2);
        form = member_find_form(kind);
        if (kind == LF_INDEX) {
            has_more = 1;
            more = take(b, 4);
        } else if (b->is_short || member_is(kind) != (form != NULL)) {
            return MEMBER_DAMAGED; /* ends, or has a list inside */
        } else if (form == NULL) {
            *unknown = kind;
            return MEMBER_UNKNOWN;
        } else {
            member_put_string(text, comma);
            member_put_form(text, b, kind, form);
            comma = ", ";
        }
        take_padding(b);
    }
    member_put_string(text, "], continuation: ");
    if (has_more) {
        member_put_number(text, "Some(TypeIndex(0x%llx)) })", more);
    } else {
        member_put_string(text, "None })");
    }
    return MEMBER_OK;
}

static void put_methods(struct text *text, struct bytes *b)
{
    const char *comma;

    member_put_string(text, "MethodList(MethodList { methods: [");
    for (comma = ""; b->left > 0; comma = ", ") {
        member_put_string(text, comma);
        member_put_form(text, b, LF_METHODLIST, METHOD_FORM);
    }
    member_put_string(text, "] })");
}

enum member_status member_write(struct text *text, const uint8_t *record,
                                uint32_t size, uint32_t *unknown)
{
    uint32_t kind;
    enum member_status status;
    struct bytes b = {record, size, 0};

    kind = take(&b, 2);
    status = MEMBER_OK;
    if (kind == LF_FIELDLIST) {
        status = put_fields(text, &b, unknown);
    } else if (kind == LF_METHODLIST) {
        put_methods(text, &b);
    } else {
        member_put_form(text, &b, kind, member_find_form(kind));
    }
    return b.is_short ? MEMBER_DAMAGED : status;
}
