/*
 * Copyright (C) the ngx_symcache authors
 *
 * The transcoders of a store, as the configuration has them.
 */
#ifndef CONFIG_TRANSCODER_H
#define CONFIG_TRANSCODER_H

#include "config.h"
#include "field.h"

/* A config_read_fn for the list of a struct store_config. */
int config_transcoders(struct config_reader *r, const cJSON *item,
                       const struct config_field *field, void *at);

void config_transcoder_clear(struct transcoder_config *transcoder);

#endif
