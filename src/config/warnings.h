/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a configuration has that is wrong in all likelihood, but may be meant,
 * or right on another machine: no reason not to start.
 */
#ifndef CONFIG_WARNINGS_H
#define CONFIG_WARNINGS_H

#include <stdbool.h>

struct config;

struct event_base;

/* One line with the key, and what follows from it. */
typedef void (*warnings_fn)(const char *text);

/*
 * Calls tell for each warning; returns their number.  thorough: it looks at
 * the directories of sources, too.  Shares that hang take their time here.
 */
unsigned warnings_tell(const struct config *config, bool thorough,
                       warnings_fn tell);

/*
 * The same beside the loop, and not thorough; tell is called in a thread of
 * its own.
 */
void warnings_look(struct event_base *base, struct config *config,
                   warnings_fn tell);

#endif
