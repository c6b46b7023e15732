/*
 * Copyright (C) the ngx_symcache authors
 */
#include "signature.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "remap.h"

/* The name of a base type; NULL: the letter is none. */
static const char *base_type(char letter)
{
    switch (letter) {
    case 'Z':
        return "boolean";
    case 'B':
        return "byte";
    case 'C':
        return "char";
    case 'S':
        return "short";
    case 'I':
        return "int";
    case 'J':
        return "long";
    case 'F':
        return "float";
    case 'D':
        return "double";
    case 'V':
        return "void";
    default:
        return NULL;
    }
}

/* Appends to the text, for which there is room unless it returns false. */
static bool append_signature(struct jvm_signature *signature, const char *data,
                             size_t size)
{
    if (array_need(&signature->text, &signature->room, signature->size + size,
                   1) != 0) {
        return false;
    }
    if (size > 0) {
        memcpy(signature->text + signature->size, data, size);
    }
    signature->size += size;
    return true;
}

/* Appends the class that stands in the file's form in name. */
static bool append_class(struct jvm_signature *signature,
                         const struct proguardcache_reader *reader,
                         const char *name, size_t size)
{
    const size_t at = signature->size;
    struct symc_string original;
    size_t i;

    if (!append_signature(signature, name, size)) {
        return false;
    }
    for (i = at; i < signature->size; i++) {
        signature->text[i] =
            signature->text[i] == '/' ? '.' : signature->text[i];
    }
    if (!jvm_remap_class(reader,
                         (struct symc_string){signature->text + at, size},
                         &original)) {
        return true;
    }
    signature->size = at;
    return append_signature(signature, original.data, original.size);
}

/* Appends a type.  Letters that mean nothing are passed over. */
static enum jvm_signature_status
append_type(struct jvm_signature *signature,
            const struct proguardcache_reader *reader, const char *type,
            size_t size)
{
    size_t i, dimensions = 0;
    const char *name = NULL;
    bool is_done;

    for (i = 0; i < size && type[i] != 'L' && name == NULL; i++) {
        dimensions += type[i] == '[';
        name = base_type(type[i]);
    }
    if (name != NULL) {
        is_done = append_signature(signature, name, strlen(name));
    } else if (i < size && type[size - 1] == ';') {
        is_done = append_class(signature, reader, type + i + 1, size - i - 2);
    } else {
        return JVM_SIGNATURE_INVALID;
    }
    while (is_done && dimensions-- > 0) {
        is_done = append_signature(signature, "[]", 2);
    }
    return is_done ? JVM_SIGNATURE_READ : JVM_SIGNATURE_NO_MEMORY;
}

/* Finds the end of the type at p; NULL: there is none. */
static const char *find_type_end(const char *p, const char *end)
{
    for (; p < end; p++) {
        if (*p == 'L') {
            p = memchr(p, ';', (size_t)(end - p));
            return p != NULL ? p + 1 : NULL;
        }
        if (base_type(*p) != NULL) {
            return p + 1;
        }
    }
    return end;
}

/* Appends the types of all parameters, which ends lists. */
static enum jvm_signature_status
append_parameters(struct jvm_signature *signature,
                  const struct proguardcache_reader *reader, const char *p,
                  const char *end)
{
    const char *next;
    enum jvm_signature_status status;
    size_t before, first = signature->size;

    for (; p < end; p = next) {
        next = find_type_end(p, end);
        if (next == NULL) {
            return JVM_SIGNATURE_INVALID;
        }
        before = signature->size;
        if (before > first && !append_signature(signature, ", ", 2)) {
            return JVM_SIGNATURE_NO_MEMORY;
        }
        status = append_type(signature, reader, p, (size_t)(next - p));
        if (status == JVM_SIGNATURE_NO_MEMORY) {
            return status;
        }
        if (status == JVM_SIGNATURE_INVALID) {
            signature->size = before;
        }
    }
    return JVM_SIGNATURE_READ;
}

/* Copies the parameters without blanks after their commas. */
static bool copy_parameters(struct jvm_signature *signature, size_t first)
{
    size_t i, n = signature->size - first;

    if (array_need(&signature->parameters, &signature->parameters_room, n + 1,
                   1) != 0) {
        return false;
    }
    signature->parameters_size = 0;
    for (i = first; i < signature->size; i++) {
        if (signature->text[i] != ' ' || signature->text[i - 1] != ',') {
            signature->parameters[signature->parameters_size++] =
                signature->text[i];
        }
    }
    return true;
}

enum jvm_signature_status
jvm_signature_read(struct jvm_signature *signature,
                   const struct proguardcache_reader *reader,
                   struct symc_string text)
{
    const char *end = text.data + text.size, *close;
    enum jvm_signature_status status;
    size_t at;

    signature->size = 0;
    close = text.size > 0 ? memrchr(text.data, ')', text.size) : NULL;
    if (close == NULL || text.data[0] != '(' || close + 1 == end) {
        return JVM_SIGNATURE_INVALID;
    }
    if (!append_signature(signature, "(", 1)) {
        return JVM_SIGNATURE_NO_MEMORY;
    }
    status = append_parameters(signature, reader, text.data + 1, close);
    if (status != JVM_SIGNATURE_READ) {
        return status;
    }
    if (!copy_parameters(signature, 1) ||
        !append_signature(signature, "): ", 3)) {
        return JVM_SIGNATURE_NO_MEMORY;
    }
    at = signature->size;
    status =
        append_type(signature, reader, close + 1, (size_t)(end - close - 1));
    if (status == JVM_SIGNATURE_READ && signature->size - at == 4 &&
        memcmp(signature->text + at, "void", 4) == 0) {
        signature->size = at - 2;
    }
    return status;
}

void jvm_signature_free(struct jvm_signature *signature)
{
    free(signature->text);
    free(signature->parameters);
}
