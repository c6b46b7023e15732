/*
 * Copyright (C) the ngx_symcache authors
 *
 * Writes types as C++ text, which is appended to s->text.  The functions limit
 * the depth of their recursion, since the types of a bad file may contain each
 * other in circles.
 */
#ifndef DEBUGINFO_PDB_TYPE_TEXT_H
#define DEBUGINFO_PDB_TYPE_TEXT_H

#include <stdint.h>

#include "function_name.h"

/* Turns a reference of link-time generated code into an index. */
enum function_name_status type_text_resolve(struct function_names *s,
                                            uint32_t *index);

/* Finds a record of the type or id stream. */
enum function_name_status type_text_find(struct function_names *s,
                                         struct types *types, uint32_t index,
                                         struct types_record *record);

/* Stores the kind of an unknown record for the message, and returns the
 * status for it. */
enum function_name_status type_text_is_unknown(struct function_names *s,
                                               const struct leaf *leaf);

enum function_name_status type_text_load(struct function_names *s,
                                         uint32_t index, struct leaf *leaf);

/* Writes the type with this index.  If it is missing or unknown, the text says
 * so. */
enum function_name_status type_text_index(struct function_names *s,
                                          uint32_t index, unsigned depth);

/* As type_text_index(), for an index that is usually an argument list.  These
 * are cached, since many functions have the same. */
enum function_name_status type_text_arguments(struct function_names *s,
                                              uint32_t index, unsigned depth);

/* Writes the argument list of a method, and " const" after it if the method
 * is const and with_const is set. */
enum function_name_status type_text_method(struct function_names *s,
                                           const struct leaf *method,
                                           int with_const, unsigned depth);

void type_text_missing(struct function_names *s);
void type_text_unknown(struct function_names *s);

#endif
