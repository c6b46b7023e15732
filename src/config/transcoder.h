/*
 * Copyright (C) the ngx_symcache authors
 *
 * The key "transcoders" of a store.
 */
#ifndef CONFIG_TRANSCODER_H
#define CONFIG_TRANSCODER_H

#include "config.h"
#include "field.h"

/* A config_read_fn that fills the transcoders of a struct store_config. */
int config_transcoders(struct config_reader *r, const cJSON *item,
                       const struct config_field *field, void *at);

void config_transcoder_clear(struct transcoder_config *transcoder);

#endif
