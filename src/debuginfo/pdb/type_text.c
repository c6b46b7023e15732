/*
 * Copyright (C) the ngx_symcache authors
 *
 * There is one function for each form of type.  They are recursive, since
 * types contain other types, and limit their depth, since the records of a bad
 * file may refer to each other in circles.
 */

#include "type_text.h"

#include <stdbool.h>
#include <string.h>

#include "function_name.h"
#include "member.h"
#include "base/le.h"

#define MAX_DEPTH 128
#define MAX_POINTERS 64
#define BYTES_PER_WORK 256 /* bytes of a record, which may need copying */

/* One level of a pointer, the outermost first. */
struct type_text_level {
    enum leaf_mode mode;
    int is_const;         /* the pointer itself */
    int is_pointee_const; /* what it points to */
};

struct type_text_levels {
    struct type_text_level level[MAX_POINTERS];
    unsigned count;
};

static enum type_text_status put_type(struct type_names *s,
                                      const struct leaf *leaf, unsigned depth);
static enum type_text_status put_loaded(struct type_names *s,
                                        const struct leaf *leaf,
                                        enum type_text_status status,
                                        unsigned depth);

static inline void put_type_string(struct type_names *s, const char *string)
{
    text_add_string(&s->text, string);
}

enum type_text_status type_text_find(struct type_names *s, struct types *types,
                                     uint32_t index,
                                     struct types_record *record)
{
    enum types_status status;

    status = types_find(types, index, &s->arena, record);
    s->work += status == TYPES_OK ? record->size / BYTES_PER_WORK : 0;
    if (status == TYPES_MISSING || index > types->end) {
        s->is_local = 1; /* a later attempt may have another result */
    }
    if (status == TYPES_MISSING) {
        s->number = index;
        return TYPE_TEXT_MISSING;
    }
    return status == TYPES_OK ? TYPE_TEXT_OK : TYPE_TEXT_FAILED;
}

enum type_text_status type_text_resolve(struct type_names *s, uint32_t *index)
{
    if ((*index & CROSSREF_BIT) == 0) {
        return TYPE_TEXT_OK;
    }
    s->is_local = 1;
    return function_name_resolve(s, *index, index) == 0 ? TYPE_TEXT_OK
                                                        : TYPE_TEXT_FAILED;
}

enum type_text_status type_text_is_unknown(struct type_names *s,
                                           const struct leaf *leaf)
{
    s->number = leaf->number;
    return TYPE_TEXT_UNKNOWN;
}

static enum type_text_status check_type_member(struct type_names *s,
                                               const struct leaf *leaf)
{
    uint32_t unknown;

    s->work += leaf->count / BYTES_PER_WORK;
    switch (member_write(NULL, leaf->list, leaf->count, &unknown)) {
    case MEMBER_OK:
        return TYPE_TEXT_OK;
    case MEMBER_UNKNOWN:
        s->number = unknown;
        return TYPE_TEXT_UNKNOWN;
    default:
        return TYPE_TEXT_FAILED;
    }
}

enum type_text_status type_text_load(struct type_names *s, uint32_t index,
                                     struct leaf *leaf)
{
    enum type_text_status status;
    struct types_record record;
    const char *name;
    unsigned size;
    int is_pointer;

    s->work++;
    status = type_text_resolve(s, &index);
    if (status != TYPE_TEXT_OK) {
        return status;
    }
    if (index >= TYPES_FIRST && index < s->types.first) {
        s->number = 0xFFFF;
        return TYPE_TEXT_UNKNOWN;
    }
    if (index < s->types.first) {
        memset(leaf, 0, sizeof(*leaf));
        leaf->kind = LEAF_PRIMITIVE;
        leaf->number = index;
        s->number = index;
        return leaf_primitive(index, &name, &size, &is_pointer)
                   ? TYPE_TEXT_OK
                   : TYPE_TEXT_MISSING;
    }
    status = type_text_find(s, &s->types, index, &record);
    if (status != TYPE_TEXT_OK) {
        return status;
    }
    if (leaf_read_type(&record, leaf) != 0) {
        return TYPE_TEXT_FAILED;
    }
    if (leaf->kind == LEAF_MEMBER) {
        return check_type_member(s, leaf);
    }
    return leaf->kind == LEAF_UNKNOWN ? type_text_is_unknown(s, leaf)
                                      : TYPE_TEXT_OK;
}

void type_text_missing(struct type_names *s)
{
    text_add_number(&s->text, "<missing type 0x%llx>", s->number);
}

void type_text_unknown(struct type_names *s)
{
    text_add_number(&s->text, "<unimplemented type kind 0x%llx>", s->number);
}

/* sizes, for the dimensions of arrays ------------------------------------- */

static uint64_t type_size_of(struct type_names *s, uint32_t index,
                             const struct leaf *leaf, unsigned depth);

static uint64_t size_of_index(struct type_names *s, uint32_t index,
                              unsigned depth)
{
    struct leaf leaf;

    if (depth > MAX_DEPTH || type_text_load(s, index, &leaf) != TYPE_TEXT_OK) {
        return 0;
    }
    return type_size_of(s, index, &leaf, depth + 1);
}

static uint64_t type_size_of(struct type_names *s, uint32_t index,
                             const struct leaf *leaf, unsigned depth)
{
    int is_pointer;
    unsigned bytes;
    uint64_t size;
    const char *name;

    switch (leaf->kind) {
    case LEAF_PRIMITIVE:
        leaf_primitive(leaf->number, &name, &bytes, &is_pointer);
        return is_pointer ? s->pointer_size : bytes;
    case LEAF_CLASS:
    case LEAF_UNION:
        if (leaf->is_forward &&
            class_size_find(&s->forward, index, leaf, &size)) {
            return size;
        }
        return leaf->size;
    case LEAF_PROCEDURE:
    case LEAF_METHOD:
        return s->pointer_size;
    case LEAF_POINTER:
        return leaf_pointer_size(leaf);
    case LEAF_ARRAY:
        return leaf->last_size;
    case LEAF_ENUM:
    case LEAF_MODIFIER:
        return size_of_index(s, leaf->type, depth + 1);
    default:
        return 0;
    }
}

/* arguments --------------------------------------------------------------- */

static enum type_text_status put_arguments(struct type_names *s,
                                           const struct leaf *list,
                                           int comma_first, unsigned depth)
{
    uint32_t i, index;
    const uint8_t *p;
    enum type_text_status status;

    for (i = 0; i < list->count; i++) {
        if (i > 0 || comma_first) {
            put_type_string(s, ", ");
        }
        p = list->list + 4 * (size_t)i;
        index = le32(p);
        status = type_text_index(s, index, depth + 1);
        if (status != TYPE_TEXT_OK) {
            return status;
        }
    }
    return TYPE_TEXT_OK;
}

static struct type_text_list *list_slot(struct type_names *s, uint32_t index)
{
    return &s->lists[index % TYPE_TEXT_LISTS];
}

static bool is_known_list(struct type_names *s, uint32_t index)
{
    return index >= TYPES_FIRST && list_slot(s, index)->index == index;
}

/* Puts the argument list that was written from begin on into the cache. */
static void keep_list(struct type_names *s, uint32_t index, size_t begin,
                      unsigned depth)
{
    size_t size;
    struct type_text_list *list;

    size = s->text.size - begin;
    if (index < TYPES_FIRST || s->is_local || s->text.is_cut || depth > 2 ||
        size > TYPE_TEXT_LIST_MAX) {
        return;
    }
    list = list_slot(s, index);
    list->index = index;
    list->size = (uint32_t)size;
    if (size > 0) {
        memcpy(list->text, s->text.data + begin, size);
    }
}

static void put_known_list(struct type_names *s, uint32_t index)
{
    const struct type_text_list *list;

    list = list_slot(s, index);
    text_add(&s->text, list->text, list->size);
}

enum type_text_status type_text_arguments(struct type_names *s, uint32_t index,
                                          unsigned depth)
{
    size_t begin;
    struct leaf leaf;
    enum type_text_status status;

    if (is_known_list(s, index)) {
        put_known_list(s, index);
        return TYPE_TEXT_OK;
    }
    status = type_text_load(s, index, &leaf);
    if (status != TYPE_TEXT_OK || leaf.kind != LEAF_ARGUMENTS) {
        return put_loaded(s, &leaf, status, depth);
    }
    begin = s->text.size;
    status = put_arguments(s, &leaf, 0, depth + 1);
    if (status == TYPE_TEXT_OK) {
        keep_list(s, index, begin, depth);
    }
    return status;
}

static enum type_text_status look_at_this(struct type_names *s,
                                          const struct leaf *method,
                                          int *is_this, int *is_const)
{
    enum type_text_status status;
    struct leaf pointer, target;

    *is_this = *is_const = 0;
    status = type_text_load(s, method->this_type, &pointer);
    if (status != TYPE_TEXT_OK || pointer.kind != LEAF_POINTER) {
        return status;
    }
    if (pointer.type == method->owner) {
        *is_this = 1;
        return TYPE_TEXT_OK;
    }
    status = type_text_load(s, pointer.type, &target);
    if (status == TYPE_TEXT_OK && target.kind == LEAF_MODIFIER &&
        target.type == method->owner) {
        *is_this = 1;
        *is_const = target.is_const;
    }
    return status;
}

/* Checks whether the type of "this" is a pointer to the class of the method,
 * as it should be, and whether it points to a const object. */
static enum type_text_status check_this(struct type_names *s,
                                        const struct leaf *method,
                                        int *is_this, int *is_const)
{
    enum type_text_status status;
    struct type_text_this *known;

    known = &s->thises[method->this_type % TYPE_TEXT_THISES];
    if (known->index == method->this_type && known->owner == method->owner) {
        *is_this = known->is_this;
        *is_const = known->is_const;
        return TYPE_TEXT_OK;
    }
    status = look_at_this(s, method, is_this, is_const);
    if (status == TYPE_TEXT_OK && !s->is_local) {
        known->index = method->this_type;
        known->owner = method->owner;
        known->is_this = (uint8_t)*is_this;
        known->is_const = (uint8_t)*is_const;
    }
    return status;
}

enum type_text_status type_text_method(struct type_names *s,
                                       const struct leaf *method,
                                       int with_const, unsigned depth)
{
    int is_this, is_const, is_known;
    size_t begin;
    struct leaf list;
    enum type_text_status status;

    is_known = is_known_list(s, method->arguments);
    if (!is_known) {
        status = type_text_load(s, method->arguments, &list);
        if (status != TYPE_TEXT_OK) {
            return status;
        }
        if (list.kind != LEAF_ARGUMENTS) {
            return TYPE_TEXT_FAILED;
        }
    }
    is_this = 1;
    is_const = 0;
    if (method->this_type != 0) {
        status = check_this(s, method, &is_this, &is_const);
        if (status != TYPE_TEXT_OK) {
            return status;
        }
    }
    put_type_string(s, "(");
    if (!is_this) {
        /* Rust compilers store the type of the first argument here */
        status = type_text_index(s, method->this_type, depth + 1);
        if (status != TYPE_TEXT_OK) {
            return status;
        }
    }
    if (is_known && is_this) {
        put_known_list(s, method->arguments);
    } else {
        if (is_known &&
            type_text_load(s, method->arguments, &list) != TYPE_TEXT_OK) {
            return TYPE_TEXT_FAILED;
        }
        begin = s->text.size;
        status = put_arguments(s, &list, !is_this, depth + 1);
        if (status != TYPE_TEXT_OK) {
            return status;
        }
        if (is_this) {
            keep_list(s, method->arguments, begin, depth);
        }
    }
    put_type_string(s, is_const && with_const ? ") const" : ")");
    return TYPE_TEXT_OK;
}

/* pointers ---------------------------------------------------------------- */

static void put_levels(struct type_names *s,
                       const struct type_text_levels *levels, int space_first)
{
    unsigned i;
    const struct type_text_level *level;
    static const char *const sigils[] = {"*", "&", "::*", "::*", "&&"};

    for (i = levels->count; i > 0; i--) {
        level = &levels->level[i - 1];
        if (level->is_pointee_const) {
            put_type_string(s, space_first || i < levels->count ? " const"
                                                                : "const");
        }
        put_type_string(s, sigils[level->mode]);
        if (level->is_const) {
            put_type_string(s, " const");
        }
    }
}

static enum type_text_status
put_return(struct type_names *s, const struct leaf *function, unsigned depth)
{
    enum type_text_status status;

    /* a constructor has no return type, and a procedure may have none */
    if ((function->attributes & 0x0200) != 0 ||
        (function->kind == LEAF_PROCEDURE && function->type == 0)) {
        return TYPE_TEXT_OK;
    }
    status = type_text_index(s, function->type, depth + 1);
    put_type_string(s, " ");
    return status;
}

static enum type_text_status put_target(struct type_names *s,
                                        const struct type_text_levels *levels,
                                        const struct leaf *leaf,
                                        unsigned depth)
{
    enum type_text_status status;

    if (leaf->kind != LEAF_METHOD && leaf->kind != LEAF_PROCEDURE) {
        status = put_type(s, leaf, depth + 1);
        put_levels(s, levels, 1);
        return status;
    }
    status = put_return(s, leaf, depth);
    if (status != TYPE_TEXT_OK) {
        return status;
    }
    put_type_string(s, "(");
    if (leaf->kind == LEAF_METHOD) {
        status = type_text_index(s, leaf->owner, depth + 1);
        if (status != TYPE_TEXT_OK) {
            return status;
        }
    }
    put_levels(s, levels, 0);
    put_type_string(s, ")");
    if (leaf->kind == LEAF_METHOD) {
        return type_text_method(s, leaf, 0, depth + 1);
    }
    put_type_string(s, "(");
    status = type_text_index(s, leaf->arguments, depth + 1);
    put_type_string(s, ")");
    return status;
}

static int push_level(struct type_text_levels *levels,
                      const struct leaf *pointer, int is_const)
{
    struct type_text_level *level;

    if (levels->count == MAX_POINTERS ||
        leaf_pointer_mode(pointer) > LEAF_RVALUE_REFERENCE) {
        return -1;
    }
    level = &levels->level[levels->count++];
    level->mode = leaf_pointer_mode(pointer);
    level->is_const = is_const || (pointer->attributes & 0x400) != 0;
    level->is_pointee_const = 0;
    return 0;
}

static enum type_text_status put_pointer(struct type_names *s,
                                         const struct leaf *pointer,
                                         int is_const, unsigned depth)
{
    enum type_text_status status;
    struct leaf leaf;
    struct type_text_levels levels;

    levels.count = 0;
    leaf = *pointer;
    if (push_level(&levels, &leaf, is_const) != 0) {
        return TYPE_TEXT_FAILED;
    }
    for (;;) {
        status = type_text_load(s, leaf.type, &leaf);
        if (status == TYPE_TEXT_OK && leaf.kind == LEAF_MODIFIER) {
            levels.level[levels.count - 1].is_pointee_const = leaf.is_const;
            status = type_text_load(s, leaf.type, &leaf);
        }
        if (status != TYPE_TEXT_OK) {
            return status;
        }
        if (leaf.kind != LEAF_POINTER) {
            return put_target(s, &levels, &leaf, depth);
        }
        if (push_level(&levels, &leaf, 0) != 0) {
            return TYPE_TEXT_FAILED;
        }
    }
}

/* other types ------------------------------------------------------------- */

static enum type_text_status
put_array(struct type_names *s, const struct leaf *array, unsigned depth)
{
    unsigned i, count;
    uint32_t index;
    uint64_t size, sizes[MAX_POINTERS];
    struct leaf leaf;
    enum type_text_status status;

    leaf = *array;
    index = 0;
    for (count = 0; leaf.kind == LEAF_ARRAY; count++) {
        if (count == MAX_POINTERS) {
            return TYPE_TEXT_FAILED;
        }
        sizes[count] = leaf.size;
        index = leaf.type;
        status = type_text_load(s, index, &leaf);
        if (status != TYPE_TEXT_OK) {
            return status;
        }
    }
    size = type_size_of(s, index, &leaf, depth);
    status = put_type(s, &leaf, depth + 1);
    if (status != TYPE_TEXT_OK) {
        return status;
    }
    for (i = 0; i < count; i++) {
        uint64_t below = i + 1 < count ? sizes[i + 1] : size;

        if (below == 0) {
            put_type_string(s, "[]");
        } else {
            text_add_number(&s->text, "[%llu]", sizes[i] / below);
        }
    }
    return TYPE_TEXT_OK;
}

static void put_primitive(struct type_names *s, const struct leaf *leaf,
                          int is_const)
{
    int is_pointer;
    unsigned size;
    const char *name;

    leaf_primitive(leaf->number, &name, &size, &is_pointer);
    if (is_const && !is_pointer) {
        put_type_string(s, "const ");
    }
    put_type_string(s, name);
    if (is_pointer) {
        put_type_string(s, is_const ? " const*" : "*");
    }
}

static enum type_text_status
put_modifier(struct type_names *s, const struct leaf *modifier, unsigned depth)
{
    struct leaf leaf;
    enum type_text_status status;

    status = type_text_load(s, modifier->type, &leaf);
    if (status != TYPE_TEXT_OK) {
        return status;
    }
    if (leaf.kind == LEAF_POINTER) {
        return put_pointer(s, &leaf, modifier->is_const, depth + 1);
    }
    if (leaf.kind == LEAF_PRIMITIVE) {
        put_primitive(s, &leaf, modifier->is_const);
        return TYPE_TEXT_OK;
    }
    if (modifier->is_const) {
        put_type_string(s, "const ");
    }
    return put_type(s, &leaf, depth + 1);
}

/* Writes a record that is not a type in the form that the reference uses. */
static enum type_text_status put_type_member(struct type_names *s,
                                             const struct leaf *leaf)
{
    uint32_t unknown;

    put_type_string(s, "unhandled type /* ");
    member_write(&s->text, leaf->list, leaf->count, &unknown);
    put_type_string(s, " */");
    return TYPE_TEXT_OK;
}

static enum type_text_status put_form(struct type_names *s,
                                      const struct leaf *leaf, unsigned depth)
{
    switch (leaf->kind) {
    case LEAF_PRIMITIVE:
        put_primitive(s, leaf, 0);
        return TYPE_TEXT_OK;
    case LEAF_CLASS:
    case LEAF_UNION:
    case LEAF_ENUM:
        text_add(&s->text, leaf->name, leaf->name_size);
        return TYPE_TEXT_OK;
    case LEAF_METHOD:
        put_type_string(s, "()");
        return type_text_method(s, leaf, 0, depth + 1);
    case LEAF_PROCEDURE:
        /* the closing parenthesis is missing in the reference, too */
        put_type_string(s, "()(");
        return type_text_index(s, leaf->arguments, depth + 1);
    case LEAF_ARGUMENTS:
        return put_arguments(s, leaf, 0, depth + 1);
    case LEAF_POINTER:
        return put_pointer(s, leaf, 0, depth + 1);
    case LEAF_ARRAY:
        return put_array(s, leaf, depth + 1);
    case LEAF_MODIFIER:
        return put_modifier(s, leaf, depth + 1);
    default:
        return put_type_member(s, leaf);
    }
}

static enum type_text_status put_type(struct type_names *s,
                                      const struct leaf *leaf, unsigned depth)
{
    enum type_text_status status;

    if (depth > MAX_DEPTH || s->text.is_cut) {
        return TYPE_TEXT_FAILED;
    }
    status = put_form(s, leaf, depth);
    if (status == TYPE_TEXT_MISSING) {
        type_text_missing(s);
        return TYPE_TEXT_OK;
    }
    return status;
}

static enum type_text_status put_loaded(struct type_names *s,
                                        const struct leaf *leaf,
                                        enum type_text_status status,
                                        unsigned depth)
{
    if (status == TYPE_TEXT_MISSING) {
        type_text_missing(s);
        return TYPE_TEXT_OK;
    }
    if (status == TYPE_TEXT_UNKNOWN) {
        type_text_unknown(s);
        return TYPE_TEXT_OK;
    }
    return status == TYPE_TEXT_OK ? put_type(s, leaf, depth + 1) : status;
}

enum type_text_status type_text_index(struct type_names *s, uint32_t index,
                                      unsigned depth)
{
    struct leaf leaf;
    enum type_text_status status;

    status = type_text_load(s, index, &leaf);
    return put_loaded(s, &leaf, status, depth);
}
