/*
 * Copyright (C) the ngx_symcache authors
 *
 * Types as C++ text.  Each of these appends to signature->text and counts the
 * depth at which it was called, because types may contain each other in
 * circles.
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

/* Keeps the kind of an unknown record for the message. */
enum function_name_status type_text_is_unknown(struct function_names *s,
                                               const struct leaf *leaf);

enum function_name_status type_text_load(struct function_names *s,
                                         uint32_t index, struct leaf *leaf);

/* A type by its index; what is missing or unknown is said in the text. */
enum function_name_status type_text_index(struct function_names *s,
                                          uint32_t index, unsigned depth);

/* The same for one that mostly is an argument list, and often the same. */
enum function_name_status type_text_arguments(struct function_names *s,
                                              uint32_t index, unsigned depth);

/* The argument list of a method, and " const" if it is one and wanted. */
enum function_name_status type_text_method(struct function_names *s,
                                           const struct leaf *method,
                                           int with_const, unsigned depth);

void type_text_missing(struct function_names *s);
void type_text_unknown(struct function_names *s);

#endif
