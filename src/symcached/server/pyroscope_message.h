/*
 * Copyright (C) the ngx_symcache authors
 *
 * The requests of Pyroscope's DebuginfoService, version v1alpha1
 * (api/debuginfo/v1alpha1/debuginfo.proto of grafana/pyroscope), in protobuf or
 * in its JSON form.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "proto/key.h"

#define PYROSCOPE_BUILD_ID_MAX 40 /* hex digits */

struct pyroscope_file {
    char build_id[PYROSCOPE_BUILD_ID_MAX + 1]; /* in lower case, or "" */
    char name[SYMCACHE_NAME_MAX + 1];          /* or "" */
};

/*
 * Reads a ShouldInitiateUploadRequest, whose file is its field 1; or with
 * is_flat an UploadFinishedRequest or DeleteDebuginfoRequest, whose build id
 * is.  Returns what is wrong, or NULL.
 */
const char *pyroscope_read_proto(const void *data, size_t size, bool is_flat,
                                 struct pyroscope_file *file);
const char *pyroscope_read_json(const char *text, size_t size, bool is_flat,
                                struct pyroscope_file *file);

/* Copies a build id of 2 to 40 hex digits in lower case.  Returns false if it
 * is none; an empty one is. */
bool pyroscope_build_id(char to[PYROSCOPE_BUILD_ID_MAX + 1], const char *text,
                        size_t size);
