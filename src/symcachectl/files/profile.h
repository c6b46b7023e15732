/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl symbolicate of profiles.
 */
#ifndef SYMCACHECTL_FILES_PROFILE_H
#define SYMCACHECTL_FILES_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "symcachectl/settings.h"

/* Does it look like a profile?  The text has a NUL behind it. */
bool profile_is_one(const char *text, size_t size);

/*
 * Prints a profile with names, of the store or the symbolicated that settings
 * tell; where none is told and none runs, as it is.  Returns an exit code,
 * after printing what is wrong.
 */
int profile_show(const struct settings *settings, const char *file, char *data,
                 size_t size);

#endif
