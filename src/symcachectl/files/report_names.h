/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names and lines for the frames of a crash report.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "symcachectl/settings.h"

/* Are names read in this process: from the store of the settings, or, where
 * no server is named and none runs, not at all?  To be asked before the
 * sandbox is entered. */
bool report_names_here(const struct settings *settings);

/*
 * Sends a request that is posted to path, such as "/symbolicate", to the daemon
 * or the server of the settings, or answers it from the files of their store;
 * and where none of them is named, and none runs, without files: then a line
 * says what that means ("without").  Has the answer printed.  The text is
 * changed; file is what messages call it.  Returns an exit code.
 */
int report_names(const struct settings *settings, const char *path,
                 const char *file, char *text, const char *without,
                 void (*print)(const cJSON *answer));
