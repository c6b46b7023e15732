/*
 * Copyright (C) the ngx_symcache authors
 *
 * What an operator sees of uploads that are not taken.
 */
#ifndef SYMCACHED_UPLOAD_REFUSAL_H
#define SYMCACHED_UPLOAD_REFUSAL_H

#include <stddef.h>
#include <stdint.h>

struct config;
struct upload;

/* Prints that something is larger than an upload can be. */
void refusal_print_size(char *text, size_t size, const struct config *config,
                        const char *what);

/* Logs that there is no room for one, if it was not said just before.  A thread
 * looks at the disk, which may hang. */
void refusal_log_space(const struct upload *u);

/* Counts one that is refused with this status. */
void refusal_count(int status);

/* All that were counted, without those that are only to come again. */
uint64_t refusals_counted(void);

#endif
