/*
 * Copyright (C) the ngx_symcache authors
 *
 * A process that makes names of linkers readable, for demangle().  Such names
 * are from files of anybody, and what takes them apart may crash or find no
 * end (see symbolication/demangle/linkage_name.h).
 *
 *   threads  --name-->  supervisor  --name-->  worker, without rights
 *
 * The supervisor does not look at names.  It replaces a worker that has
 * crashed, or has used too much time; that name stays as it is.  It ends with
 * the daemon.  What threads were answered is remembered, so that a function
 * costs a question once and not once a frame.
 */
#ifndef SYMBOLICATED_DEMANGLER_H
#define SYMBOLICATED_DEMANGLER_H

#include <stddef.h>

/* Starts it.  To be called before the daemon gives up its rights and before
 * there are threads.  Returns 0, or -1 with a sentence in error. */
int demangler_start(char *error, size_t size);

/* Ends it, when there are no threads any more. */
void demangler_stop(void);

#endif
