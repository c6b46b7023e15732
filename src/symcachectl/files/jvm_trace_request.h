/*
 * Copyright (C) the ngx_symcache authors
 */
#ifndef SYMCACHECTL_FILES_JVM_TRACE_REQUEST_H
#define SYMCACHECTL_FILES_JVM_TRACE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "symcachectl/settings.h"

#define JVM_UUID 36 /* characters, hyphens included */

/* Whether a text is the UUID of a mapping. */
bool jvm_trace_is_uuid(const char *text);

/*
 * Prints a stack trace of the JVM with the names of the mapping of this UUID,
 * or of the one that the trace itself names if it is NULL, which a server or
 * the store of the settings has.  Where none is named, the trace is printed as
 * it is.  Returns an exit code.
 */
int jvm_trace_request_show(struct settings *settings, const char *uuid,
                           const char *file, const char *text, size_t size);

#endif
