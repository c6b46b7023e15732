/*
 * Copyright (C) the ngx_symcache authors
 *
 * The keys of a source in an object store, S3 or Google Cloud Storage, and
 * what they come to: a base URL and a way to sign requests, so that the rest
 * is a symbol server like others.
 */
#ifndef CONFIG_BUCKET_H
#define CONFIG_BUCKET_H

#include "config.h"
#include "field.h"

/*
 * Fills url and transport of the source from its bucket; item is the source.
 * Returns 0, or -1 with error set.
 */
int config_bucket(struct config_reader *r, const cJSON *item,
                  struct source_config *source);

/* Frees what the struct points to, secrets wiped. */
void config_bucket_clear(struct bucket_config *bucket);

#endif
