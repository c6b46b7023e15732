/*
 * Copyright (C) the ngx_symcache authors
 *
 * Prints what is in a JsCache, for lookup and dump.
 */
#ifndef SYMCACHECTL_FILES_SCRIPT_H
#define SYMCACHECTL_FILES_SCRIPT_H

#include <stdbool.h>

#include "derived/jscache/jscache.h"
#include "symcachectl/terminal/output.h"

/* Reads LINE:COLUMN, both from 1, as stack traces have them, into the halves
 * of a number.  Returns 0, or -1 if it is something else. */
int script_parse(const char *text, size_t size, uint64_t *place);

/* Prints what a place comes from; returns whether it is of an original. */
bool script_print(struct output *output, const struct jscache_reader *reader,
                  uint64_t place, bool is_json);

/* Prints all that is in the file. */
void script_dump(struct output *output, const struct jscache_reader *reader);

#endif
