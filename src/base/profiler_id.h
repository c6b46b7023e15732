/*
 * Copyright (C) the ngx_symcache authors
 *
 * Ids by which Elastic's profiler and OpenTelemetry's know an executable (their
 * "FileID"), of 16 bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "proto/key.h"

/* Bytes of a file's head, and of its tail, that its id is made of. */
#define PROFILER_ID_PART 4096

/*
 * Makes the id of a file of size bytes, of its first and its last ones, which
 * are PROFILER_ID_PART, or size if that is less.  Only the id of the key is
 * set.
 */
void profiler_id_of_file(symcache_key_t *key, const uint8_t *head,
                         const uint8_t *tail, uint64_t size);

/* Makes that of an open file.  Returns false if it cannot be read. */
bool profiler_id_of_fd(symcache_key_t *key, int fd, uint64_t size);

/*
 * Makes the id of a Linux kernel or one of its modules, which is not made of
 * the file but of its build id; that of its debug file is another one.
 */
void profiler_id_of_kernel(symcache_key_t *key, const uint8_t *build_id,
                           size_t size, bool is_debug_file);
