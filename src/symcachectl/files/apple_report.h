/*
 * Copyright (C) the ngx_symcache authors
 */
#ifndef SYMCACHECTL_FILES_APPLE_REPORT_H
#define SYMCACHECTL_FILES_APPLE_REPORT_H

#include "symcachectl/settings.h"

/* Prints the threads of a crash report of Apple's, with names from where the
 * settings say; file is what messages call it.  Returns an exit code, after
 * printing what is wrong. */
int apple_report_show(struct settings *settings, const char *file,
                      const char *text, size_t size);

#endif
