/*
 * Copyright (C) the ngx_symcache authors
 *
 * What each source answered since the start, by its name: survives a reload
 * that has it.
 */
#ifndef SYMCACHED_TALLY_H
#define SYMCACHED_TALLY_H

#include <cjson/cJSON.h>
#include <event2/buffer.h>
#include "source.h"

struct tally;

struct tally *tally_new(void);
void tally_free(struct tally *tally);

/* Counts one attempt. */
void tally_add(struct tally *tally, const struct source_attempt *attempt);

/* Forgets the sources that config does not have. */
void tally_keep(struct tally *tally, const struct config *config);

/* For each source of the configuration, without any secret. */
cJSON *tally_json(const struct tally *tally, const struct config *config);

/* Appends symcached_source_attempts_total{source=,outcome=}. */
void tally_print(const struct tally *tally, struct evbuffer *buf);

#endif
