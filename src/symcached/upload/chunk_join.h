/*
 * Copyright (C) the ngx_symcache authors
 *
 * An upload that is made of chunks: they become one file.
 */
#pragma once

#include <limits.h>
#include "assembly.h"
#include "base/artifact_list.h"

struct upload;

/* Puts the chunks together, compares the SHA-1, and begins to unpack; or
 * refuses the upload. */
void chunk_join_start(struct upload *upload);

/* Returns NULL without memory. */
struct upload_sum *chunk_sums_copy(const struct upload_sum *sums, size_t n);

void chunk_print_sum(char text[ARTIFACTS_SUM + 1],
                     const struct upload_sum *sum);

/* Where a chunk is below the folder of uploads. */
void chunk_print_path(char path[PATH_MAX], const char *root,
                      const struct upload_sum *chunk);
