/*
 * Copyright (C) the ngx_symcache authors
 *
 * Events by their ids, from a Sentry or a server with its API.
 */
#pragma once

#include <stdio.h>

struct sentry_event {
    const char *url; /* of the Sentry, without /api/0 */
    const char *org;
    const char *project;
    const char *token; /* as an option names it; NULL: that of the environment,
                          SENTRY_AUTH_TOKEN, if there is one */
};

/*
 * Fetches an event; or, if it has one, the minidump or the report of Apple's
 * that is attached to it.  Returns a temporary file, at its beginning, or NULL
 * with *code set after printing what is wrong.
 */
FILE *event_download(const struct sentry_event *event, const char *id,
                     int *code);
