/*
 * Copyright (C) the ngx_symcache authors
 *
 * Drops all malformed entries of a store that were written since a time: a
 * transcoder was broken then, and is mended.  A child process walks the store,
 * which may have a million folders.
 */
#ifndef SYMCACHED_NEGCACHE_FORGET_H
#define SYMCACHED_NEGCACHE_FORGET_H

#include <stdbool.h>
#include <time.h>

struct event_base;
struct forget;

/* error: a sentence if not all were looked at, or NULL. */
typedef void (*forget_done_fn)(void *arg, unsigned long n, const char *error);

/*
 * "malformed_since=TIME", a whole query: Unix seconds, or how long ago, as
 * "90m".  Returns NULL, or what is wrong with it.
 */
const char *forget_parse(const char *query, time_t *since);

/* done is called once, never from inside.  NULL with errno. */
struct forget *forget_start(struct event_base *base, const char *root,
                            time_t since, forget_done_fn done, void *arg);

/* Kills the process; no callback comes afterwards. */
void forget_cancel(struct forget *forget);

/* The child: main() of "symcached --forget ROOT SINCE". */
int forget_main(int argc, char **argv);

#endif
