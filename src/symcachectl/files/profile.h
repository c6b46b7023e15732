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

/* Does it look like a profile?  The text has a NUL after it. */
bool profile_is_one(const char *text, size_t size);

/* Prints a profile with names, from the store or the symbolicated that
 * settings name; if they name none and none runs, the profile is printed
 * unchanged.  Returns an exit code, after printing the error. */
int profile_show(const struct settings *settings, const char *file, char *data,
                 size_t size);

#endif
