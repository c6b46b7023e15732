/*
 * Copyright (C) the ngx_symcache authors
 */

#include "leaf.h"

#include <string.h>

#include "leaf_bytes.h"
#include "member.h"
#include "debuginfo/supplement.h"

#define PROP_FORWARD 0x0080
#define PROP_UNIQUE_NAME 0x0200

/* clang-format off */
enum {
    LF_MODIFIER = 0x1001, LF_POINTER = 0x1002, LF_ARRAY_ST = 0x1003,
    LF_CLASS_ST = 0x1004, LF_STRUCTURE_ST = 0x1005, LF_UNION_ST = 0x1006,
    LF_ENUM_ST = 0x1007, LF_PROCEDURE = 0x1008, LF_MFUNCTION = 0x1009,
    LF_ARGLIST = 0x1201, LF_ENUMERATE_ST = 0x0403, LF_ENUMERATE = 0x1502,
    LF_ARRAY = 0x1503, LF_CLASS = 0x1504, LF_STRUCTURE = 0x1505,
    LF_UNION = 0x1506, LF_ENUM = 0x1507, LF_STRIDED_ARRAY = 0x1516,
    LF_INTERFACE = 0x1519, LF_FUNC_ID = 0x1601, LF_MFUNC_ID = 0x1602,
    LF_BUILDINFO = 0x1603, LF_SUBSTR_LIST = 0x1604, LF_STRING_ID = 0x1605,
    LF_UDT_SRC_LINE = 0x1606, LF_UDT_MOD_SRC_LINE = 0x1607,
    LF_STRUCTURE19 = 0x1609
};

static const struct {
    uint8_t size;
    const char *name; /* NULL: no such type */
} primitives[256] = {
    [0x00] = { 0, "<NoType>" },
    [0x03] = { 0, "void" },
    [0x08] = { 4, "HRESULT" },
    [0x10] = { 1, "signed char" },
    [0x20] = { 1, "unsigned char" },
    [0x68] = { 1, "int8_t" },
    [0x69] = { 1, "uint8_t" },
    [0x70] = { 1, "char" },
    [0x71] = { 2, "wchar_t" },
    [0x7A] = { 2, "char16_t" },
    [0x7B] = { 4, "char32_t" },
    [0x11] = { 2, "short" },
    [0x21] = { 2, "unsigned short" },
    [0x72] = { 2, "int16_t" },
    [0x73] = { 2, "uint16_t" },
    [0x12] = { 4, "long" },
    [0x22] = { 4, "unsigned long" },
    [0x74] = { 4, "int" },
    [0x75] = { 4, "unsigned int" },
    [0x13] = { 8, "long long" },
    [0x23] = { 8, "unsigned long long" },
    [0x76] = { 8, "int64_t" },
    [0x77] = { 8, "uint64_t" },
    [0x14] = { 16, "int128_t" },
    [0x24] = { 16, "uint128_t" },
    [0x78] = { 16, "int128_t" },
    [0x79] = { 16, "uint128_t" },
    [0x46] = { 2, "float16_t" },
    [0x40] = { 4, "float" },
    [0x45] = { 4, "float" },
    [0x44] = { 6, "float48_t" },
    [0x41] = { 8, "double" },
    [0x42] = { 10, "long double" },
    [0x43] = { 16, "long double" },
    [0x50] = { 8, "complex<float>" },
    [0x51] = { 16, "complex<double>" },
    [0x52] = { 20, "complex<long double>" },
    [0x53] = { 32, "complex<long double>" },
    [0x30] = { 1, "bool" },
    [0x31] = { 2, "bool16_t" },
    [0x32] = { 4, "bool32_t" },
    [0x33] = { 8, "bool64_t" },
};
/* clang-format on */

/* Reads the index of an optional type, of which 0 and 0xFFFF both say that
 * there is none.  Returns 0 then. */
static uint32_t leaf_take_optional(struct bytes *b)
{
    uint32_t index;

    index = take(b, 4);
    return index == 0xFFFF ? 0 : index;
}

static void leaf_take_names(struct bytes *b, uint32_t kind,
                            uint32_t properties, struct leaf *leaf)
{
    leaf->is_forward = (properties & PROP_FORWARD) != 0;
    take_name(b, kind, &leaf->name, &leaf->name_size);
    if ((properties & PROP_UNIQUE_NAME) != 0) {
        take_name(b, kind, &leaf->unique_name, &leaf->unique_size);
    }
}

static void leaf_read_class(struct bytes *b, uint32_t kind, struct leaf *leaf)
{
    uint32_t properties;

    leaf->kind = LEAF_CLASS;
    if (kind == LF_STRUCTURE19) {
        properties = take(b, 4);
        take(b, 4);
        take(b, 4);
        take(b, 4);
        take(b, 2);
    } else {
        take(b, 2);
        properties = take(b, 2);
        take(b, 4);
        take(b, 4);
        take(b, 4);
    }
    leaf->size = take_numeric(b);
    leaf_take_names(b, kind, properties, leaf);
}

static void leaf_read_union(struct bytes *b, uint32_t kind, struct leaf *leaf)
{
    uint32_t properties;

    leaf->kind = LEAF_UNION;
    take(b, 2);
    properties = take(b, 2);
    take(b, 4);
    leaf->size = take_numeric(b);
    leaf_take_names(b, kind, properties, leaf);
}

static void leaf_read_enum(struct bytes *b, uint32_t kind, struct leaf *leaf)
{
    uint32_t properties;

    leaf->kind = LEAF_ENUM;
    take(b, 2);
    properties = take(b, 2);
    leaf->type = take(b, 4);
    take(b, 4);
    leaf_take_names(b, kind, properties, leaf);
}

/* Reads the name of a number.  As a type it is an enum as large as the number.
 */
static void leaf_read_enumerate(struct bytes *b, uint32_t kind,
                                struct leaf *leaf)
{
    struct member_number number;

    leaf->kind = LEAF_ENUM;
    take(b, 2);
    number = member_take_number(b);
    leaf->type = number.primitive;
    take_name(b, kind, &leaf->name, &leaf->name_size);
}

static void leaf_read_array(struct bytes *b, uint32_t kind, struct leaf *leaf)
{
    int is_first;

    leaf->kind = LEAF_ARRAY;
    leaf->type = take(b, 4);
    take(b, 4);
    if (kind == LF_STRIDED_ARRAY) {
        take(b, 4);
    }
    /* There is one size and a name.  The reference reads sizes up to a zero
     * byte, which is the NUL of an empty name. */
    for (is_first = 1; !b->is_short; is_first = 0) {
        leaf->last_size = take_numeric(b);
        leaf->size = is_first ? leaf->last_size : leaf->size;
        if (leaf->last_size > UINT32_MAX || b->left == 0) {
            b->is_short = 1;
        } else if (!supplement_get()->is_like_symbolic) {
            break;
        } else if (*b->p == 0) {
            take(b, 1);
            take_padding(b);
            break;
        }
    }
}

static void leaf_read_pointer(struct bytes *b, struct leaf *leaf)
{
    leaf->kind = LEAF_POINTER;
    leaf->type = take(b, 4);
    leaf->attributes = take(b, 4);
    if (leaf_pointer_mode(leaf) == LEAF_MEMBER_POINTER ||
        leaf_pointer_mode(leaf) == LEAF_METHOD_POINTER) {
        take(b, 4);
    }
}

static void leaf_read_function(struct bytes *b, uint32_t kind,
                               struct leaf *leaf)
{
    leaf->kind = LEAF_PROCEDURE;
    leaf->type = kind == LF_PROCEDURE ? leaf_take_optional(b) : take(b, 4);
    if (kind == LF_MFUNCTION) {
        leaf->kind = LEAF_METHOD;
        leaf->owner = take(b, 4);
        leaf->this_type = leaf_take_optional(b);
    }
    leaf->attributes = take(b, 2);
    take(b, 2);
    leaf->arguments = take(b, 4);
    if (kind == LF_MFUNCTION) {
        take(b, 4);
    }
}

static void leaf_read_list(struct bytes *b, unsigned count_bytes,
                           struct leaf *leaf)
{
    leaf->count = take(b, count_bytes);
    leaf->list = b->p;
    if (leaf->count > b->left / 4) {
        b->is_short = 1;
    }
}

int leaf_read_type(const struct types_record *record, struct leaf *leaf)
{
    uint32_t kind;
    struct bytes b;

    b.p = record->data;
    b.left = record->size;
    b.is_short = 0;
    memset(leaf, 0, sizeof(*leaf));
    kind = take(&b, 2);
    switch (kind) {
    case LF_CLASS:
    case LF_CLASS_ST:
    case LF_STRUCTURE:
    case LF_STRUCTURE_ST:
    case LF_INTERFACE:
    case LF_STRUCTURE19:
        leaf_read_class(&b, kind, leaf);
        break;
    case LF_UNION:
    case LF_UNION_ST:
        leaf_read_union(&b, kind, leaf);
        break;
    case LF_ENUM:
    case LF_ENUM_ST:
        leaf_read_enum(&b, kind, leaf);
        break;
    case LF_ARRAY:
    case LF_ARRAY_ST:
    case LF_STRIDED_ARRAY:
        leaf_read_array(&b, kind, leaf);
        break;
    case LF_POINTER:
        leaf_read_pointer(&b, leaf);
        break;
    case LF_MODIFIER:
        leaf->kind = LEAF_MODIFIER;
        leaf->type = take(&b, 4);
        leaf->is_const = (take(&b, 2) & 1) != 0;
        break;
    case LF_PROCEDURE:
    case LF_MFUNCTION:
        leaf_read_function(&b, kind, leaf);
        break;
    case LF_ARGLIST:
        leaf->kind = LEAF_ARGUMENTS;
        leaf_read_list(&b, 4, leaf);
        break;
    case LF_ENUMERATE:
    case LF_ENUMERATE_ST:
        leaf_read_enumerate(&b, kind, leaf);
        break;
    default:
        leaf->kind = member_is(kind) ? LEAF_MEMBER : LEAF_UNKNOWN;
        leaf->number = kind;
        leaf->list = record->data;
        leaf->count = record->size;
        break;
    }
    return b.is_short ? -1 : 0;
}

int leaf_read_id(const struct types_record *record, struct leaf *leaf)
{
    uint32_t kind;
    struct bytes b;

    b.p = record->data;
    b.left = record->size;
    b.is_short = 0;
    memset(leaf, 0, sizeof(*leaf));
    kind = take(&b, 2);
    switch (kind) {
    case LF_FUNC_ID:
    case LF_MFUNC_ID:
        leaf->kind = kind == LF_FUNC_ID ? LEAF_FUNCTION_ID : LEAF_METHOD_ID;
        leaf->owner = take(&b, 4);
        leaf->type = take(&b, 4);
        take_name(&b, kind, &leaf->name, &leaf->name_size);
        break;
    case LF_STRING_ID:
        leaf->kind = LEAF_STRING_ID;
        take(&b, 4);
        take_name(&b, kind, &leaf->name, &leaf->name_size);
        break;
    case LF_SUBSTR_LIST:
        leaf->kind = LEAF_STRING_LIST;
        leaf_read_list(&b, 4, leaf);
        break;
    case LF_BUILDINFO:
        leaf->kind = LEAF_BUILD_INFO;
        leaf_read_list(&b, 2, leaf);
        break;
    case LF_UDT_SRC_LINE:
    case LF_UDT_MOD_SRC_LINE:
        leaf->kind =
            kind == LF_UDT_SRC_LINE ? LEAF_SOURCE : LEAF_MODULE_SOURCE;
        leaf->type = take(&b, 4);
        leaf->file = take(&b, 4);
        leaf->line = take(&b, 4);
        leaf->module = kind == LF_UDT_SRC_LINE ? 0 : take(&b, 2);
        break;
    default:
        leaf->kind = LEAF_UNKNOWN;
        leaf->number = kind;
        break;
    }
    return b.is_short ? -1 : 0;
}

bool leaf_primitive(uint32_t index, const char **name, unsigned *size,
                    int *is_pointer)
{
    uint32_t low;

    low = index & 0xFF;
    if ((index & 0xF00) > 0x700 || primitives[low].name == NULL) {
        return false;
    }
    *name = primitives[low].name;
    *size = primitives[low].size;
    *is_pointer = (index & 0xF00) != 0;
    return true;
}

enum leaf_mode leaf_pointer_mode(const struct leaf *leaf)
{
    return (enum leaf_mode)((leaf->attributes >> 5) & 7);
}

unsigned leaf_pointer_size(const struct leaf *leaf)
{
    unsigned size;

    size = (leaf->attributes >> 13) & 0x3F;
    if (size != 0) {
        return size;
    }
    switch (leaf->attributes & 0x1F) {
    case 0x0A: /* near 32 */
    case 0x0B: /* far 32 */
        return 4;
    case 0x0C:
        return 8;
    default:
        return 0;
    }
}
