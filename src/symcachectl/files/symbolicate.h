/*
 * Copyright (C) the ngx_symcache authors
 *
 * What symcachectl symbolicate prints with names, by the form of the file.
 * Each returns an exit code, after printing what is wrong.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "symcachectl/settings.h"

/* Prints the threads of a crash report of Apple's, with names from where the
 * settings say; file is what messages call it.  Returns an exit code, after
 * printing what is wrong. */
int apple_report_show(struct settings *settings, const char *file,
                      const char *text, size_t size);

/* Is a text the JSON of an event, with stacks or images? */
bool event_is_one(const char *text);

/*
 * Prints the native stacks of an event, with names from where the settings
 * say; file is what messages call it.  Returns an exit code,
 * COMMAND_INCOMPLETE if a frame has no name.
 */
int event_show(struct settings *settings, const char *file, const char *text);

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

/* Prints the threads of a minidump, with names from where the settings say.
 * Returns an exit code, after printing what is wrong. */
int minidump_show(struct settings *settings, const char *file);

/* Does it look like a profile?  The text has a NUL after it. */
bool profile_is_one(const char *text, size_t size);

/* Prints a profile with names, from the store or the symbolicated that
 * settings name; if they name none and none runs, the profile is printed
 * unchanged.  Returns an exit code, after printing the error. */
int profile_show(const struct settings *settings, const char *file, char *data,
                 size_t size);

/*
 * Prints a stack trace of the JVM, from a file or standard input ("-"), with
 * the names that a mapping has, or a ProguardCache, or that mapping of a
 * folder which the trace names.  The process has no rights
 * afterwards.  Returns an exit code.
 */
int retrace_show(const char *mapping, const char *file);

struct script_options {
    const char *maps; /* a folder */
    const char *release;
    const char *dist;
    const char *debug_id; /* of scripts: "[NAME=]ID[,[NAME=]ID...]" */
    int why;
};

/*
 * Prints a text with original places in its frames, or, as JSON, one object
 * for each frame; other lines, and frames without a map, stay as they are.
 *
 * If the settings name a server, it is asked (POST /symbolicate-js) for the
 * files of a release and dist (NULL: none is given) and of debug ids, and if
 * wanted also for the attempts for each file.  Otherwise scripts and maps are
 * looked for in a folder (NULL: there is none), by as many parts of their paths
 * as match; or else at the path in the trace, if that is a file on this
 * machine.  Returns an exit code; "nothing found" is reported only if a folder
 * or a server is named.
 */
int script_trace_show(const struct settings *settings,
                      const struct script_options *options, const char *text,
                      size_t size);
