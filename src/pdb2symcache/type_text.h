/*
 * Copyright (C) the ngx_symcache authors
 *
 * Types as C++ text.  Each of these appends to signature->text and counts the
 * depth at which it was called, because types may contain each other in
 * circles.
 */
#ifndef TYPE_TEXT_H
#define TYPE_TEXT_H

#include <stdint.h>

#include "signature.h"

/* Turns a reference of link-time generated code into an index. */
enum signature_status type_text_resolve(struct signature *s, uint32_t *index);

/* Finds a record of the type or id stream. */
enum signature_status type_text_find(struct signature *s, struct types *types,
                                     uint32_t index,
                                     struct types_record *record);

/* Keeps the kind of an unknown record for the message. */
enum signature_status type_text_is_unknown(struct signature *s,
                                           const struct leaf *leaf);

enum signature_status type_text_load(struct signature *s, uint32_t index,
                                     struct leaf *leaf);

/* A type by its index; what is missing or unknown is said in the text. */
enum signature_status type_text_index(struct signature *s, uint32_t index,
                                      unsigned depth);

/* The same for one that mostly is an argument list, and often the same. */
enum signature_status type_text_arguments(struct signature *s, uint32_t index,
                                          unsigned depth);

/* The argument list of a method, and " const" if it is one and wanted. */
enum signature_status type_text_method(struct signature *s,
                                       const struct leaf *method,
                                       int with_const, unsigned depth);

void type_text_missing(struct signature *s);
void type_text_unknown(struct signature *s);

#endif
