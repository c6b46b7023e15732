/*
 * Copyright (C) the ngx_symcache authors
 *
 * Finds the places of a _NT_SYMBOL_PATH on this machine.
 */
#pragma once

#include "config.h"
#include "field.h"
#include "sympath.h"

/* a folder as one of PDBs and as a store, and two below it that a debugger
   looks into as well */
#define CONFIG_SYMPATH_FOLDERS 4

struct config_sympath {
    struct sympath path;
    size_t n; /* number of folders of the latest place */
    enum source_layout layouts[CONFIG_SYMPATH_FOLDERS];
    char folders[CONFIG_SYMPATH_FOLDERS][CONFIG_PATH_MAX];
};

/* A config_read_fn that only checks that the value is a text. */
config_read_fn config_sympath_value;

/* Reads "value" of the source item.  Returns 0, or -1 with error set. */
int config_sympath_read(struct config_reader *r, const cJSON *item,
                        struct config_sympath *sympath);

/*
 * Finds the folders of a place that is not a URL, with the map of the source.
 * There are none if the place is a debugger's cache that this machine does not
 * have.  Any other folder that is missing may be on a share that is down, so
 * all folders and layouts that it might have are added; lookups there fail as
 * long as it is missing.  Returns 0, or -1 with error set.
 */
int config_sympath_folders(struct config_reader *r, const cJSON *item,
                           const struct source_config *source,
                           const struct sympath_place *place,
                           struct config_sympath *sympath);
