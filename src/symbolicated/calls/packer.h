/*
 * Copyright (C) the ngx_symcache authors
 *
 * Packs an answer part by part, each of which can be read without the next one.
 */
#pragma once

#include "symbolicated/api/api.h"

struct packer;

/* API_GZIP or API_ZSTD.  NULL without memory. */
struct packer *packer_new(enum api_packing packing);

/* Packs what a buffer has, in place of it.  Failures are noted there. */
void packer_pack(struct packer *packer, struct json_writer *part, bool is_last);

void packer_free(struct packer *packer); /* NULL is allowed */
