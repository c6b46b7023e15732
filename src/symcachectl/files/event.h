/*
 * Copyright (C) the ngx_symcache authors
 *
 * Events as Sentry exports them, in JSON.
 */
#ifndef SYMCACHECTL_FILES_EVENT_H
#define SYMCACHECTL_FILES_EVENT_H

#include <stdbool.h>

#include "symcachectl/settings.h"

/* Is a text the JSON of an event, with stacks or images? */
bool event_is_one(const char *text);

/*
 * Prints the native stacks of an event, with names from where the settings
 * say; file is what messages call it.  Returns an exit code,
 * COMMAND_INCOMPLETE if a frame has no name.
 */
int event_show(struct settings *settings, const char *file, const char *text);

#endif
