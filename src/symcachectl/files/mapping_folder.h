/*
 * Copyright (C) the ngx_symcache authors
 *
 * The mapping of a stack trace among those in a folder: R8 can write an id of
 * the mapping in place of a source file, r8-map-id-<hex>, and has it at the
 * begin of the mapping.
 */
#ifndef SYMCACHECTL_FILES_MAPPING_FOLDER_H
#define SYMCACHECTL_FILES_MAPPING_FOLDER_H

#include <limits.h>
#include <stddef.h>

/*
 * Finds the mapping in a folder, at any depth, that a trace names, and writes
 * its path.  Returns an exit code: COMMAND_NOT_FOUND after printing that the
 * trace names none, or which one is not there; or that it names several.
 */
int mapping_folder_find(const char *folder, const char *trace, size_t size,
                        char path[PATH_MAX]);

#endif
