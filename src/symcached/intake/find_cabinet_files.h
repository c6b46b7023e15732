/*
 * Copyright (C) the ngx_symcache authors
 *
 * The files of a folder in which cabinets go on.
 */
#ifndef SYMCACHED_INTAKE_FIND_CABINET_FILES_H
#define SYMCACHED_INTAKE_FIND_CABINET_FILES_H

#include "cabinet.h"
#include "dir_places.h"

/*
 * Opens them for each of the open places that is the first of a set, by the
 * names in the headers of cabinets.  parts is all zeroes.
 */
void find_cabinet_files(struct cabinet_parts parts[UNPACK_PLACES],
                        const struct dir_places *places,
                        const struct dir_search *search);

#endif
