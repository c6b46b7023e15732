/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is made of an uploaded file is made before somebody asks for it.
 */
#ifndef SYMCACHED_UPLOAD_WARM_H
#define SYMCACHED_UPLOAD_WARM_H

#include <stdbool.h>
#include "debuginfo/identity/identity.h"

struct scheduler;

/* Starts a job for each kind that the stores make of the file, under the key by
 * which clients ask for it. */
void warm_file(struct scheduler *scheduler, const struct symstore_path *place,
               bool is_try);

#endif
