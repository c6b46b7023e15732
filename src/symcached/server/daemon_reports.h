/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the daemons that ask this helper say of themselves: every symbolicated
 * reports now and then, and is forgotten when it does so no more.
 */
#pragma once

#include <stddef.h>
#include <cjson/cJSON.h>

/* Most bytes of a report. */
#define REPORT_SIZE_MAX 2048

struct daemon_reports;

struct daemon_reports *daemon_reports_new(void); /* NULL without memory */
void daemon_reports_free(struct daemon_reports *reports); /* NULL is allowed */

/*
 * Takes a report, an object with
 *
 *   name, version, listen    texts of 1 to 128 bytes
 *   started                  Unix time
 *   requests, frames         counts
 *   config_stale             optional: true, if the configuration that it uses
 *                            is not the file's
 *   valid                    seconds, 1 to 300, after which it is forgotten
 *
 * in the place of the last one with this name and listen.  The size of a kept
 * report is fixed, whatever is sent.  Returns NULL, or what is wrong with it.
 */
const char *daemon_reports_take(struct daemon_reports *reports,
                                const char *text, size_t size);

/* An array of those that are valid now; the caller's.  NULL without memory. */
cJSON *daemon_reports_json(struct daemon_reports *reports);
