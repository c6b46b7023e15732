/*
 * Copyright (C) the ngx_symcache authors
 *
 * The metadata of files, as debuginfod serves it (/metadata): of downloads
 * that came here by their build id, and from the debuginfod servers among the
 * sources.  A thread walks the downloads; the sources are asked at the same
 * time.
 */
#pragma once

#include <cjson/cJSON.h>
#include "config/config.h"

struct event_base;
struct metadata;

#define METADATA_VALUE_MAX 1024

/* By what files are looked for. */
enum metadata_key {
    METADATA_BUILDID,
    METADATA_FILE, /* the path in a package, as it is written */
    METADATA_GLOB, /* a pattern for it, whose "*" takes slashes, too */
    METADATA_KEYS
};

extern const char *const metadata_keys[METADATA_KEYS];

/*
 * The answer, the caller's: {"results": [{"type", "buildid", "file",
 * "archive"}...], "complete": BOOL}, without "file" and "archive" where nobody
 * has said them.  It is not complete if a source could not tell or there are
 * too many results; NULL without memory, or as the helper stops.
 */
typedef void (*metadata_fn)(void *arg, cJSON *answer);

/* NULL when out of memory. */
struct metadata *metadata_new(struct event_base *base);

/* Ends all queries, whose functions are called with NULL. */
void metadata_stop(struct metadata *metadata);
void metadata_free(struct metadata *metadata); /* after that; NULL is allowed */

/*
 * Asks.  Of a build id, value has lower-case hex digits; it has at most
 * METADATA_VALUE_MAX bytes.  fn is called once, and never from inside this
 * function.  Returns false if too many inquiries run, or without memory.
 */
bool metadata_ask(struct metadata *metadata, const struct config *config,
                  enum metadata_key key, const char *value, metadata_fn fn,
                  void *arg);

/* The inquiries that run. */
unsigned metadata_running(const struct metadata *metadata);
