/*
 * Copyright (C) the ngx_symcache authors
 *
 * Formats names of functions with their argument lists as C++ text, without
 * return types and class keys.
 */
#pragma once

#include <stdint.h>

#include "type_text.h"

void function_name_free(struct type_names *names);

/*
 * Writes the name and arguments of a function of the given type to text.
 * Returns TYPE_TEXT_OK, or what is wrong; then the caller should use the
 * plain name.
 */
enum type_text_status function_name_function(struct type_names *names,
                                             const char *name,
                                             uint32_t name_size,
                                             uint32_t type);

/* Writes scope, name and arguments of the function with this id to text.  If
 * this fails, the caller should leave out the inlined call. */
enum type_text_status function_name_id(struct type_names *names, uint32_t id);

/* Translates an id of this module to an index in the id stream.  Returns 0, or
 * -1 if there is none. */
int function_name_resolve(struct type_names *names, uint32_t id,
                          uint32_t *index);
