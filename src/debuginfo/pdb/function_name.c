/*
 * Copyright (C) the ngx_symcache authors
 */

#include "function_name.h"

#include <stdbool.h>
#include <string.h>

#include "base/le.h"

#define MAX_DEPTH 128
#define TEXT_PER_WORK 16 /* bytes of text that count as one type */

void function_name_free(struct type_names *names)
{
    types_free(&names->types);
    types_free(&names->ids);
    crossref_free(&names->crossref);
    class_size_free(&names->forward);
    text_free(&names->text);
    arena_free(&names->arena);
    memset(names, 0, sizeof(*names));
}

int function_name_resolve(struct type_names *names, uint32_t id,
                          uint32_t *index)
{
    if ((id & CROSSREF_BIT) == 0) {
        *index = id;
        return 0;
    }
    return crossref_resolve(&names->crossref, id, index);
}

static inline void put_string(struct type_names *names, const char *string)
{
    text_add_string(&names->text, string);
}

static void put_name(struct type_names *names, const char *name, uint32_t size)
{
    if (size == 0) {
        put_string(names, "<name omitted>");
    } else {
        text_add(&names->text, name, size);
    }
}

static enum type_text_status load_id(struct type_names *names, uint32_t index,
                                     struct leaf *leaf)
{
    enum type_text_status status;
    struct types_record record;

    names->work++;
    status = type_text_resolve(names, &index);
    if (status != TYPE_TEXT_OK) {
        return status;
    }
    if (index < names->ids.first) {
        names->number = 0xFFFF;
        return TYPE_TEXT_UNKNOWN;
    }
    status = type_text_find(names, &names->ids, index, &record);
    if (status != TYPE_TEXT_OK) {
        return status;
    }
    if (leaf_read_id(&record, leaf) != 0) {
        return TYPE_TEXT_FAILED;
    }
    return leaf->kind == LEAF_UNKNOWN ? type_text_is_unknown(names, leaf)
                                      : TYPE_TEXT_OK;
}

static enum type_text_status put_procedure_arguments(struct type_names *names,
                                                     const struct leaf *leaf)
{
    enum type_text_status status;

    put_string(names, "(");
    status = type_text_arguments(names, leaf->arguments, 0);
    put_string(names, ")");
    return status;
}

static enum type_text_status begin_function_name(struct type_names *names)
{
    names->text.size = 0;
    names->text.is_cut = 0;
    names->is_local = 0;
    arena_reset(&names->arena);
    return TYPE_TEXT_OK;
}

static enum type_text_status end_name(struct type_names *names,
                                      enum type_text_status status)
{
    names->work += names->text.size / TEXT_PER_WORK;
    return names->text.is_cut ? TYPE_TEXT_FAILED : status;
}

enum type_text_status function_name_function(struct type_names *names,
                                             const char *name,
                                             uint32_t name_size, uint32_t type)
{
    struct leaf leaf;
    enum type_text_status status;

    status = begin_function_name(names);
    leaf.kind = LEAF_OTHER;
    if (type != 0) {
        status = type_text_load(names, type, &leaf);
        if (status != TYPE_TEXT_OK) {
            return status;
        }
    }
    if (leaf.kind == LEAF_METHOD) {
        put_name(names, name, name_size);
        status = type_text_method(names, &leaf, 1, 0);
    } else if (leaf.kind == LEAF_PROCEDURE) {
        put_name(names, name, name_size);
        status = put_procedure_arguments(names, &leaf);
    } else if (type == 0) {
        put_name(names, name, name_size);
    } else {
        text_add(&names->text, name, name_size);
    }
    return end_name(names, status);
}

/* Is this the name of an anonymous namespace: "?A0x" and a hexadecimal number?
 */
static bool is_anonymous(const char *name, uint32_t size)
{
    uint32_t i;
    uint64_t value;
    const char *digit;
    static const char digits[] = "0123456789abcdefABCDEF";

    if (size < 5 || memcmp(name, "?A0x", 4) != 0) {
        return false;
    }
    i = name[4] == '+' && size > 5 ? 5 : 4;
    for (value = 0; i < size; i++) {
        digit = name[i] == '\0' ? NULL : strchr(digits, name[i]);
        if (digit == NULL) {
            return false;
        }
        value = 16 * value + (uint64_t)(digit - digits) % 16;
        if (value > UINT32_MAX) {
            return false;
        }
    }
    return true;
}

static enum type_text_status put_string_list(struct type_names *names,
                                             const struct leaf *list)
{
    uint32_t i, index;
    const uint8_t *p;
    enum type_text_status status;

    put_string(names, "\"");
    for (i = 0; i < list->count; i++) {
        if (i > 0) {
            put_string(names, "\" \"");
        }
        p = list->list + 4 * (size_t)i;
        index = le32(p);
        status = type_text_index(names, index, 0);
        if (status != TYPE_TEXT_OK) {
            return status;
        }
    }
    put_string(names, "\"");
    return TYPE_TEXT_OK;
}

/* Writes a record that cannot be a scope in the form in which the reference
 * writes it: its parser's debug output. */
static void put_no_scope(struct type_names *names, const struct leaf *leaf)
{
    uint32_t i;

    put_string(names, "<unhandled id scope ");
    if (leaf->kind == LEAF_BUILD_INFO) {
        put_string(names, "BuildInfo(BuildInfoId { arguments: [");
        for (i = 0; i < leaf->count; i++) {
            text_add_number(&names->text,
                            i == 0 ? "IdIndex(0x%llx)" : ", IdIndex(0x%llx)",
                            le32(leaf->list + 4 * (size_t)i));
        }
        put_string(names, "] })>::");
        return;
    }
    text_add_number(&names->text,
                    "UserDefinedTypeSource(UserDefinedTypeSourceId { "
                    "udt: TypeIndex(0x%llx), source_file: ",
                    leaf->type);
    if (leaf->kind == LEAF_SOURCE) {
        text_add_number(&names->text, "Local(IdIndex(0x%llx))", leaf->file);
    } else {
        text_add_number(&names->text, "Remote(%llu, ", leaf->module);
        text_add_number(&names->text, "StringRef(0x%llx))", leaf->file);
    }
    text_add_number(&names->text, ", line: %llu })>::", leaf->line);
}

static enum type_text_status put_id(struct type_names *names, uint32_t id,
                                    unsigned depth);

static enum type_text_status put_function_id(struct type_names *names,
                                             const struct leaf *id,
                                             unsigned depth)
{
    struct leaf type;
    enum type_text_status status;

    status = type_text_load(names, id->type, &type);
    if (status != TYPE_TEXT_OK) {
        return status;
    }
    if (type.kind !=
        (id->kind == LEAF_FUNCTION_ID ? LEAF_PROCEDURE : LEAF_METHOD)) {
        return TYPE_TEXT_FAILED;
    }
    if (id->kind == LEAF_METHOD_ID) {
        status = type_text_index(names, id->owner, 0);
    } else if (id->owner != 0) {
        status = put_id(names, id->owner, depth + 1);
    }
    if (status != TYPE_TEXT_OK) {
        return status;
    }
    if (id->kind == LEAF_METHOD_ID || id->owner != 0) {
        put_string(names, "::");
    }
    put_name(names, id->name, id->name_size);
    return id->kind == LEAF_METHOD_ID ? type_text_method(names, &type, 1, 0)
                                      : put_procedure_arguments(names, &type);
}

static enum type_text_status put_id(struct type_names *names, uint32_t id,
                                    unsigned depth)
{
    struct leaf leaf;
    enum type_text_status status;

    if (depth > MAX_DEPTH || names->text.is_cut) {
        return TYPE_TEXT_FAILED;
    }
    status = load_id(names, id, &leaf);
    if (status == TYPE_TEXT_MISSING) {
        type_text_missing(names);
        return TYPE_TEXT_OK;
    }
    if (status == TYPE_TEXT_UNKNOWN) {
        type_text_unknown(names);
        return TYPE_TEXT_OK;
    }
    if (status != TYPE_TEXT_OK) {
        return status;
    }
    switch (leaf.kind) {
    case LEAF_FUNCTION_ID:
    case LEAF_METHOD_ID:
        return put_function_id(names, &leaf, depth);
    case LEAF_STRING_ID:
        if (is_anonymous(leaf.name, leaf.name_size)) {
            put_string(names, "`anonymous namespace'");
        } else {
            text_add(&names->text, leaf.name, leaf.name_size);
        }
        return TYPE_TEXT_OK;
    case LEAF_STRING_LIST:
        return put_string_list(names, &leaf);
    default:
        put_no_scope(names, &leaf);
        return TYPE_TEXT_OK;
    }
}

enum type_text_status function_name_id(struct type_names *names, uint32_t id)
{
    begin_function_name(names);
    return end_name(names, put_id(names, id, 0));
}
