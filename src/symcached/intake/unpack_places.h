/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which of the places that were opened has the file of the key.
 */
#ifndef SYMCACHED_INTAKE_UNPACK_PLACES_H
#define SYMCACHED_INTAKE_UNPACK_PLACES_H

#include "unpack_file.h"

#define UNPACK_POINTER_MAX 4096

/* Unpacks the files of the places, in their order, up to the first that is
 * right, and says of each what became of it. */
void unpack_places(struct unpack_job *job);

#endif
