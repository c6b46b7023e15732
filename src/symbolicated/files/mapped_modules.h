/*
 * Copyright (C) the ngx_symcache authors
 *
 * The modules that are mapped, at most so many files and bytes: the least
 * recently used ones go first, nearly in that order.  What is in use stays
 * mapped until its last user is through.  For all threads.
 */
#pragma once

#include <time.h>

#include "module.h"

struct mapped_modules;

struct mapped_modules_sizes {
    size_t files;
    uint64_t bytes;
    uint64_t opened; /* since the start */
    uint64_t evicted;
    uint64_t returned; /* opened again after they were evicted */
};

/* For as long as the process lives.  NULL without memory. */
struct mapped_modules *mapped_modules_new(void);

/* How many files this machine lets a process map: by vm.max_map_count, and by
 * its memory. */
size_t mapped_modules_allowed(void);

/* Evicts what is too much. */
void mapped_modules_limit(struct mapped_modules *mapped, size_t files,
                          uint64_t bytes);

/* Returns the module of a file of an open folder, with a reference, and maps
 * it if it is not mapped; or NULL with errno.  root and path are for
 * module_open(). */
struct module *mapped_modules_open(struct mapped_modules *mapped, int folder,
                                   int root, const char *path,
                                   symcache_kind_e kind);

/* The folder of a key as it was when it was read. */
struct folder_state {
    dev_t device;
    ino_t inode;
    struct timespec changed;
    bool settled;
};

/* The files in a key's folder. */
struct module_sight {
    struct module *module; /* with a reference, or NULL: nothing for us */
    int error;             /* errno: it could not be looked at; or 0 */
    struct folder_state folder;
};

/* Looks into the store whose folder is open as root, and opens the files that
 * are there. stays: root stays open; else it is closed some time later.  The
 * call can block; any thread can make it. */
void mapped_modules_open_newest(struct mapped_modules *mapped, int root,
                                bool stays, const symcache_key_t *key,
                                struct module_sight *sight);

/* Removes a module whose file has changed. */
void mapped_modules_remove(struct mapped_modules *mapped,
                           struct module *module);

/* Removes modules whose files were removed, replaced or cut short, so that
 * their disk space is freed even if they are never requested again.  One call
 * checks some of them, and the next one continues from there. */
void mapped_modules_evict_stale(struct mapped_modules *mapped);

/* Changes with each module that goes. */
unsigned mapped_modules_generation(struct mapped_modules *mapped);

void mapped_modules_sizes(struct mapped_modules *mapped,
                          struct mapped_modules_sizes *sizes);
