/*
 * Copyright (C) the ngx_symcache authors
 */
#ifndef SYMCACHECTL_FILES_MINIDUMP_H
#define SYMCACHECTL_FILES_MINIDUMP_H

#include "symcachectl/settings.h"

/* Prints the threads of a minidump, with names from where the settings say.
 * Returns an exit code, after printing what is wrong. */
int minidump_show(struct settings *settings, const char *file);

#endif
