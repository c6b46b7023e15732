/*
 * Copyright (C) the ngx_symcache authors
 *
 * Drops all malformed entries of a store that were written after a certain
 * time, for an operator whose transcoder was broken then and works again.  A
 * store may have a million folders, so a child process walks through it.
 */
#pragma once

#include <time.h>

struct event_base;
struct forget_malformed;

/* error is a sentence if some entries could not be looked at, or NULL. */
typedef void (*forget_done_fn)(void *arg, unsigned long n, const char *error);

/*
 * Parses the query "malformed_since=TIME", where TIME is Unix seconds or a
 * duration before now, such as "90m".  Returns NULL, or a sentence that says
 * what is wrong.
 */
const char *forget_parse(const char *query, time_t *since);

/*
 * Calls done once, but never from inside.  Returns NULL with errno on failure.
 */
struct forget_malformed *forget_malformed_start(struct event_base *base,
                                                const char *root, time_t since,
                                                forget_done_fn done,
                                                void *arg);

/* Kills the child process; done is not called any more. */
void forget_malformed_cancel(struct forget_malformed *forget);

/* The child: main() of "symcached --forget ROOT SINCE". */
int forget_main(int argc, char **argv);
