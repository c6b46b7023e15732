/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where the places of a _NT_SYMBOL_PATH are on this machine.
 */
#ifndef CONFIG_SYMPATH_FOLDERS_H
#define CONFIG_SYMPATH_FOLDERS_H

#include "config.h"
#include "field.h"
#include "sympath.h"

/* a folder, and two below it that a debugger looks into as well */
#define CONFIG_SYMPATH_FOLDERS 4

struct config_sympath {
    struct sympath path;
    size_t n; /* folders of the latest place */
    enum source_layout layouts[CONFIG_SYMPATH_FOLDERS];
    char folders[CONFIG_SYMPATH_FOLDERS][CONFIG_PATH_MAX];
};

/* A config_read_fn that only looks whether there is a text. */
int config_sympath_value(struct config_reader *r, const cJSON *item,
                         const struct config_field *field, void *at);

/* Reads "value" of the source item.  Returns 0, or -1 with error set. */
int config_sympath_read(struct config_reader *r, const cJSON *item,
                        struct config_sympath *sympath);

/*
 * Fills the folders of a place that is no URL, by the map of the source.
 * None: it is a debugger's cache that this machine has not.  Of a folder that
 * is missing, on a share that is down perhaps, all that it may come to:
 * lookups fail on what it has not.  Returns 0, or -1 with error set.
 */
int config_sympath_folders(struct config_reader *r, const cJSON *item,
                           const struct source_config *source,
                           const struct sympath_place *place,
                           struct config_sympath *sympath);

#endif
