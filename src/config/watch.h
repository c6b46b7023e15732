/*
 * Copyright (C) the ngx_symcache authors
 *
 * Whether a daemon runs on the configuration that is in its file.  It does not
 * after a reload that failed, as long as the file stays as it was then, nor
 * while a change waits for a reload, and the next start would find another
 * configuration, or none.
 */
#pragma once

struct config;
struct config_watch;
struct event_base;

/* Gets a sentence that says why the configuration in use is not the file's, or
 * "" if it is. */
typedef void (*config_watch_fn)(void *arg, const char *why);

/*
 * Looks at the file of config every few seconds, in a thread, as its disk may
 * hang.  Calls fn in the loop whenever the sentence is another one; the first
 * is "" and not reported.  Takes a reference to config.  Returns NULL when out
 * of memory.
 */
struct config_watch *config_watch_new(struct event_base *base,
                                      struct config *config,
                                      config_watch_fn fn, void *arg);

/* A reload has ended: with another configuration, or with an error and the
 * former one (config is NULL).  Calls fn as above. */
void config_watch_reloaded(struct config_watch *watch, struct config *config,
                           const char *error);

void config_watch_free(struct config_watch *watch); /* NULL is allowed */
